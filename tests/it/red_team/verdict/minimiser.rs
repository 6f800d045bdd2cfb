//! What a fix holds beside what it needs is left out again.

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
            1 => write("shop/other.py", "VALUE = 2\n"),
            2 => write("shop/new.py", "VALUE = 3\n"),
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

#[test]
fn what_green_does_not_need_is_dropped_and_counted_also_after_a_kill() {
    for crash in [None, Some("patch_minimised:1"), Some("tests_finished:1")] {
        let outer = tempfile::tempdir().expect("a folder");
        let folder = outer.path().join("repository");
        unpack(&folder, &python().files);
        unpack(&folder, &[("shop/other.py", "VALUE = 1\n")]);
        let database = outer.path().join("audit.db").to_str().expect("text").to_owned();
        let args =
            ["run", "--audit-db", &database, "--tiers", "claude-haiku-4-5 x1", "--test-command", python().command];
        let said = script(&folder, &args, crash);
        assert_eq!(said.code, 0, "{crash:?} {}", said.all());
        assert!(
            said.out.contains("1 file, +1 −1; 2 hunks that green does not need dropped"),
            "{crash:?} {}",
            said.all()
        );
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert_eq!((read("shop/cart.py").as_str(), read("shop/other.py").as_str()), (FIX, "VALUE = 1\n"), "{crash:?}");
        assert!(!folder.join("shop/new.py").exists(), "{crash:?}");
    }
}
