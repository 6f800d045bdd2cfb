//! A person looks into a run and over all of them.

use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use regex::Regex;
use serde_json::{Value, json};

use super::{database, mend, run_json};
use crate::world::model_server::ModelServer;
use crate::world::program::Program;
use crate::world::project::Project;
use crate::world::timeless;

#[test]
fn c12_a_person_can_look_into_a_run_and_over_all_of_them() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = database(folder.path());
    let path = database.to_str().expect("text");
    let server = ModelServer::start(mend(&project));
    let program = Program::with_anthropic(&server.url());
    let (said, report) = run_json(&program, &project, &database);
    assert_eq!(said.code, 0, "{}", said.all());
    let run = report["run_id"].as_str().expect("an id");
    let short = run.get(..8).expect("a long id");
    let ask = |args: &[&str]| program.run(project.path(), &[args, &["--audit-db", path]].concat());

    let all = ask(&["show", short, "--conversation", "--tests", "--patch"]);
    assert_eq!(all.code, 0, "{}", all.all());
    let parts = [
        "Tier 1 (claude-haiku-4-5), iteration 1\n  passed  |  0 failing tests  |  $0.00",
        "  upshift, instructions:\n    You repair a repository",
        "  artisan (claude-haiku-4-5) calls edit_file:\n    {\"path\":\"shop/cart.py\"",
        "    Ran 2 tests in ",
        "  -    return sum(prices) - 1\n  +    return sum(prices)\n",
    ];
    for part in parts {
        assert!(all.out.contains(part), "{part}\n{}", all.out);
    }
    let narrow = Program::with_anthropic(&server.url()).with("COLUMNS", "60");
    let narrow = narrow.run(project.path(), &["show", short, "--conversation", "--audit-db", path]).out;
    let too_wide = narrow.lines().find(|line| line.chars().count() > 60 && line.trim().contains(' '));
    assert_eq!(too_wide, None, "{narrow}");
    assert!(narrow.lines().count() > 20, "{narrow}");
    let brief = ask(&["show"]).out;
    assert!(brief.lines().count() < 6 && brief.contains("mended"), "{brief}");
    let none = ask(&["show", "--tier", "2"]);
    assert_eq!(none.code, 2, "{}", none.all());
    assert!(none.err.contains("it has --tier 1 --iteration 1"), "{}", none.err);

    let table = ask(&["runs"]).out;
    assert!(table.contains(short) && table.contains("  fixed  ") && table.contains("1 of 1 fixed"), "{table}");
    let rows: Value = serde_json::from_str(&ask(&["runs", "--format", "json"]).out).expect("JSON");
    assert_eq!((&rows[0]["run_id"], &rows[0]["cost_usd"]), (&json!(run), &report["cost_usd"]), "{rows:#}");
    let figures: Value = serde_json::from_str(&ask(&["stats", "--format", "json"]).out).expect("JSON");
    assert_eq!((&figures["fixed"], &figures["cost_usd"]), (&json!(1), &report["cost_usd"]), "{figures:#}");
    assert_eq!(figures["models"][0]["calls"], 2, "{figures:#}");
    let advised = ask(&["stats"]).out;
    assert!(advised.contains("This log has too few tasks yet") && advised.contains("claude-opus-4-5"), "{advised}");
    server.finish();
}

#[test]
fn c11_raw_streams_and_the_final_change_of_a_fixed_run_are_kept() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = database(folder.path());
    let path = database.to_str().expect("text");
    let server = ModelServer::start(mend(&project));
    let program = Program::with_anthropic(&server.url());
    let (said, _) = run_json(&program, &project, &database);
    assert_eq!(said.code, 0, "{}", said.all());
    let shown = program.run(project.path(), &["show", "--tests", "--patch", "--audit-db", path]).out;
    let end = shown.split("The change in the end\n").nth(1).expect("the final change");
    assert!(end.contains("  -    return sum(prices) - 1\n  +    return sum(prices)\n"), "{shown}");
    let raw = shown.lines().filter_map(|line| line.trim().strip_prefix("gunzip -c "));
    let texts: Vec<(String, String)> = raw.map(|path| (path.to_owned(), unpacked(path.trim_matches('\'')))).collect();
    let of = |what: &str| texts.iter().find(|(path, _)| path.contains(what)).map(|(_, text)| text.as_str());
    let tests = of("-tier1-iteration1-tests").expect("the judging run");
    assert!(tests.contains("Ran 2 tests in") && tests.contains("OK"), "{tests}");
    let answer = of("-tier1-iteration1-answer").expect("the model's answer");
    assert!(answer.contains("event: message_start") && answer.contains("edit_file"), "{answer}");
    server.finish();

    // As they lie in a downloaded artifact, also one with the logs of several ladders.
    let kept = Path::new(texts[0].0.trim_matches('\'')).parent().and_then(Path::parent).expect("a run's folder");
    let artifact = tempfile::tempdir().expect("a folder");
    let name = kept.file_name().expect("a name");
    std::fs::rename(kept, artifact.path().join(name)).expect("moved");
    for place in ["audit.db", "audit/other/audit.db"] {
        let log = artifact.path().join(place);
        std::fs::create_dir_all(log.parent().expect("a parent")).expect("folders");
        std::fs::copy(&database, &log).expect("copied");
        let shown = program.run(project.path(), &["show", "--tests", "--audit-db", log.to_str().expect("text")]).out;
        let found = shown.lines().filter_map(|line| line.trim().strip_prefix("gunzip -c "));
        let found: Vec<&str> = found.filter(|path| path.contains(artifact.path().to_str().expect("text"))).collect();
        assert_eq!(found.len(), texts.len(), "{place}: {shown}");
    }
}

fn unpacked(path: &str) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("a kept stream");
    GzDecoder::new(file).read_to_string(&mut text).expect("gzip of text");
    text
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn c13_a_run_is_one_page_that_loads_nothing_and_holds_no_key() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = database(folder.path());
    let path = database.to_str().expect("text");
    let server = ModelServer::start(mend(&project));
    let program = Program::with_anthropic(&server.url());
    let (said, _) = run_json(&program, &project, &database);
    assert_eq!(said.code, 0, "{}", said.all());
    let page = program.run(project.path(), &["report", "--format", "html", "--audit-db", path]);
    assert_eq!(page.code, 0, "{}", page.all());
    let parts = [
        "<title>✔ 1 test fixed in ",
        "<h2>Time and money</h2>",
        "<span class=\"added\">+    return sum(prices)\n</span>",
        "Conversation with the artisan",
        "Ran 2 tests in ",
        "default-src 'none'",
    ];
    for part in parts {
        assert!(page.out.contains(part), "{part}\n{}", page.out);
    }
    assert!(!page.out.contains("<script") && !page.out.contains("src="), "{}", page.out);
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn c15_the_recorded_example_shows_what_is_rendered_today() {
    let example = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/recorded"));
    let folder = tempfile::tempdir().expect("a folder");
    for file in ["cart.py", "test_cart.py", ".github/upshift.yml", ".github/models.json"] {
        let place = folder.path().join(file);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("made");
        std::fs::copy(example.join("project").join(file), place).expect("the example");
    }
    for args in [&["init", "--quiet", "."][..], &["add", "--all"], &["commit", "--quiet", "--message", "start"]] {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"];
        let git = std::process::Command::new("git").args(identity).args(args).current_dir(folder.path()).status();
        assert!(git.expect("git").success());
    }
    let program = Program::new();
    let said = program.run(folder.path(), &["run"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let page = std::fs::read_to_string(example.join("report.html")).expect("the rendered page");
    assert!(page.contains("<title>✔ 3 tests fixed in cart.py (+1 −1), $0.04</title>"));
    let today = program.run(folder.path(), &["report", "--format", "html"]).out;
    assert_eq!(outline(&today), outline(&page), "run: .ci/page keep");
    let text = std::fs::read_to_string(example.join("report.txt")).expect("the rendered report");
    let today = program.run(folder.path(), &["report"]).out;
    let first = |report: &str| timeless(report).lines().next().map(str::to_owned);
    assert_eq!(first(&today), first(&text), "run: .ci/page keep");
}

/// The looks of a page and the titles of its parts, without what differs from run to run.
fn outline(page: &str) -> Vec<String> {
    let parts = Regex::new("(?s)<(style|h2|summary)>(.*?)</").expect("a pattern");
    parts.captures_iter(page).map(|part| timeless(&part[2])).collect()
}
