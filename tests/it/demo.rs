//! The demo: what a stranger sees first, and how its recording was made.

use std::path::Path;

use serde_json::{Value, json};

use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::Program;

const SOURCE: &str = "split.awk";
const BUG: &str = "        print int(cents / people)\n";
/// Rounds up: no cent is lost, but too many are found.
const WRONG: &str = "        print int((cents + people - 1) / people)\n";
/// The whole remainder for the first: the sum is right, the shares are not fair.
const WRONG_AGAIN: &str = "        print int(cents / people) + (i == 0 ? cents % people : 0)\n";
/// One more cent for as many people as there are cents left over.
const RIGHT: &str = "        print int(cents / people) + (i < cents % people)\n";

#[test]
fn the_demo_is_fixed_at_the_second_tier_without_key_or_network() {
    let program = Program::new();
    let said = program.run(program.home(), &["demo"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("\n✔ Fixed by Tier 2 (strong) in iteration 1"), "{}", said.all());
    let folder = said.err.lines().find_map(|line| line.split_once("unpacked into ")).expect("where").1;
    let folder = folder.split(": ").next().expect("a folder");
    for told in [
        // What failed, by whom it was mended, and the change.
        "1000 cents among 3 people: expected 334 333 333, got 333 333 333",
        "small (recorded)",
        "  -        print int(cents / people)",
        "  +        print int(cents / people) + (i < cents % people)",
    ] {
        assert!(said.err.contains(told), "{told}: {}", said.all());
    }
    assert!(!said.err.contains("cassette/"), "{}", said.err);
    let left: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left.len(), 4, "no build output: {left:?}");
    let again = said.err.lines().find_map(|line| line.split_once("Read the report again: ")).expect("a command").1;
    let shell = std::process::Command::new("sh").args(["-c", again]).current_dir("/").output().expect("sh");
    // The log is named by where it lies for who reads it.
    let elsewhere = said.out.replace(".upshift/audit.db", &format!("{folder}/.upshift/audit.db"));
    assert_eq!(String::from_utf8_lossy(&shell.stdout), elsewhere, "it works from anywhere: {again}");
    let fixed = std::fs::read_to_string(Path::new(folder).join(SOURCE)).expect("the project stays");
    assert!(fixed.contains(RIGHT), "{fixed}");
    assert!(Path::new(folder).join(".upshift/audit.db").is_file(), "and so does its log");
    let again = program.run(Path::new(folder), &["report"]);
    assert_eq!(again.out, said.out, "the log alone says the same");
    std::fs::remove_dir_all(folder).expect("tidied up");
}

fn edit(old: &str, new: &str) -> Say {
    Say::call("edit_file", json!({ "path": SOURCE, "old_text": old, "new_text": new }))
}

fn report(summary: &str) -> Scripted {
    Say::call("final_report", json!({ "summary": summary, "status": "done" })).usage(1_900, 60).into()
}

fn script(request: &Request) -> Scripted {
    let system = request.system();
    if system.contains("You brief") {
        return report(
            "split.awk now hands the whole remainder to the first person: nothing is lost, but somebody pays two cents more than the \
             others. Give one more cent each to the first cents % people.",
        );
    }
    if system.contains("You review") {
        let review = json!({ "verdict": "approve", "summary": "Distributes the remainder one cent each; right for every bill with at least one person." });
        return Say::call("final_report", review).usage(1_500, 70).into();
    }
    if request.model == "strong" {
        return match request.turn() {
            0 => edit(WRONG_AGAIN, RIGHT).usage(2_100, 150).into(),
            1 => Say::call("run_tests", json!({})).usage(2_300, 30).into(),
            _ => report(
                "The first cents % people people get one more cent, so that nothing is lost and shares differ by one at most.",
            ),
        };
    }
    match (request.turn(), request.all_text().contains("YOUR CHANGE SO FAR")) {
        (0, false) => edit(BUG, WRONG).usage(1_600, 120).into(),
        (0, true) => edit(WRONG, WRONG_AGAIN).usage(2_000, 140).into(),
        (_, false) => report("Shares are rounded up, so no cent is lost."),
        (_, true) => report("The first person pays the remainder."),
    }
}

/// Makes `src/cli/demo/cassette.json` anew, from the replies above; to be run when prompts or tools have changed:
/// `cargo test --test it -- --ignored record_the_demo`.
#[test]
#[ignore = "writes a source file; run it when a prompt has changed"]
fn record_the_demo() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/demo");
    let project = tempfile::tempdir().expect("a folder");
    for name in ["split.awk", "tests/split.sh"] {
        let target = project.path().join(name);
        std::fs::create_dir_all(target.parent().expect("a parent")).expect("folders");
        std::fs::copy(root.join("project").join(name), target).expect("copied");
    }
    std::fs::write(project.path().join(".gitignore"), "/.upshift\n").expect("written");
    let server = ModelServer::start(script);
    let tiers: Value =
        serde_json::from_str(&std::fs::read_to_string(root.join("tiers.json")).expect("tiers")).expect("JSON");
    let tiers = tiers.to_string().replace("cassette/.upshift/demo.json#", "demo/");
    let price = json!({ "inputPer1M": 1, "outputPer1M": 5, "contextWindow": 200_000, "maxOutputTokens": 64_000 });
    let config = json!({
        "providers": { "demo": { "wire": "anthropic", "baseUrl": server.url(), "apiKeyEnv": "DEMO_KEY" } },
        "models": { "demo/small": price, "demo/strong": price }
    });
    let config_path = project.path().join("../demo-config.json");
    std::fs::write(&config_path, config.to_string()).expect("written");
    let tape = project.path().join("../demo-tape.json");
    let _absent = std::fs::remove_file(&tape);
    let program = Program::new().with("DEMO_KEY", "no-key-of-value");
    let args = [
        "run",
        "--config",
        "../demo-config.json",
        "--tiers",
        &tiers,
        "--test-command",
        "sh tests/split.sh",
        "--record",
        "../demo-tape.json",
    ];
    let said = program.run(project.path(), &args);
    assert!(said.out.contains("\n✔ Fixed by Tier 2"), "{}", said.all());
    let mut cassette: Value = serde_json::from_str(&std::fs::read_to_string(&tape).expect("a tape")).expect("JSON");
    cassette["models"] = json!({
        "demo/small": { "pricedAs": "anthropic/claude-haiku-4-5" },
        "demo/strong": { "pricedAs": "anthropic/claude-sonnet-4-5" }
    });
    // The demo must run on every system, whose paths differ: its replies are given whatever the requests look like.
    for call in cassette["calls"].as_array_mut().expect("calls") {
        call.as_object_mut().expect("a call").remove("request");
    }
    let text = serde_json::to_string_pretty(&cassette).expect("JSON");
    std::fs::write(root.join("cassette.json"), text + "\n").expect("written");
    server.finish();
}
