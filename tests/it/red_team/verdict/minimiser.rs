//! The parts of a fix that its tests pass without: they stay and are named, unless the configuration has them dropped.

use serde_json::json;

use super::{python, unpack};
use crate::world::model_server::{ModelServer, Say, Scripted};
use crate::world::program::{Program, Said};

/// A fix among two changes that nothing needs, and a new file.
const FIX: &str = "import os\n\n\ndef total(prices):\n    return sum(prices)\n";

fn script(folder: &std::path::Path, args: &[&str], crash: Option<&str>) -> Said {
    let server = ModelServer::start(|request| -> Scripted {
        let write = |path: &str, content: &str| {
            Say::call("write_file", json!({ "path": path, "content": content })).usage(900, 40).into()
        };
        match request.turn() {
            0 => write("shop/cart.py", FIX),
            1 => write("shop/other.py", "VALUE = True\n"),
            2 => write("shop/new.py", "VALUE = False\n"),
            _ => Say::call("final_report", json!({ "summary": "fixed", "status": "done" })).usage(900, 40).into(),
        }
    });
    let program = Program::with_anthropic(&server.url());
    let mut command = program.command(folder, args);
    let mut said =
        Said::from(command.envs(crash.map(|event| ("UPSHIFT_CRASH_AFTER", event))).output().expect("started"));
    if crash.is_some() {
        assert_eq!(said.code, -9, "{}", said.all());
        said = program.run(folder, &["resume", "--audit-db", args[2]]);
    }
    server.finish();
    said
}

/// The repository after a fix that holds more than it needs, and what was said.
fn fixed(config: &str, crash: Option<&str>) -> (tempfile::TempDir, std::path::PathBuf, Said) {
    let outer = tempfile::tempdir().expect("a folder");
    let folder = outer.path().join("repository");
    unpack(&folder, &python().files);
    unpack(&folder, &[("shop/other.py", "VALUE = None\n"), (".github/upshift.yml", config)]);
    let database = outer.path().join("audit.db").to_str().expect("text").to_owned();
    let args = ["run", "--audit-db", &database, "--tiers", "claude-haiku-4-5 x1", "--test-command", python().command];
    let said = script(&folder, &args, crash);
    assert_eq!(said.code, 0, "{crash:?} {}", said.all());
    (outer, folder, said)
}

fn read(folder: &std::path::Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_default()
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_the_tests_pass_without_stays_and_is_named_to_reviewers_also_after_a_kill() {
    for crash in [None, Some("remarked:1"), Some("tests_finished:1")] {
        let (_outer, folder, said) = fixed("{}\n", crash);
        let files = ["shop/cart.py", "shop/other.py", "shop/new.py"].map(|name| read(&folder, name));
        assert_eq!(files, [FIX, "VALUE = True\n", "VALUE = False\n"], "{crash:?}");
        let told = "  ⚠ 2 places to look at:\n    - `shop/new.py`: the tests pass without this part of the change\n    - \
                    `shop/other.py:1`: the tests pass without this part of the change\n";
        assert!(said.out.contains(told), "{crash:?} {}", said.all());
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn it_is_dropped_and_counted_where_that_is_asked_for_also_after_a_kill() {
    for crash in [None, Some("patch_minimised:1"), Some("tests_finished:1")] {
        let (_outer, folder, said) = fixed("safety: { minimise: drop }\n", crash);
        let dropped = "1 file, +1 −1; 2 hunks that green does not need dropped";
        assert!(said.out.contains(dropped), "{crash:?} {}", said.all());
        let files = ["shop/cart.py", "shop/other.py", "shop/new.py"].map(|name| read(&folder, name));
        assert_eq!(files, [FIX, "VALUE = None\n", ""], "{crash:?}");
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn it_is_not_looked_for_where_that_is_asked_for() {
    let (_outer, folder, said) = fixed("safety: { minimise: off }\n", None);
    assert_eq!(read(&folder, "shop/new.py"), "VALUE = False\n");
    assert!(!said.all().contains("to look at") && !said.all().contains("Minimised"), "{}", said.all());
}
