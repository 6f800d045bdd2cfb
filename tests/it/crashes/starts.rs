//! A run that cannot begin leaves no run behind.

use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;
use serde_json::json;

#[test]
fn what_cannot_work_is_said_before_a_run_is_recorded() {
    let project = Project::python();
    let program = Program::with_anthropic("http://127.0.0.1:9").with("ACTIONS_SECRET_FOR_TESTS", "x");
    std::fs::create_dir(project.path().join("sub")).expect("a folder");
    let tape = project.path().join("there.json");
    std::fs::write(&tape, "{}").expect("written");
    for (args, said) in [
        (&["--record", "missing/tape.json"][..], "missing/tape.json"),
        (&["--record", "there.json"], "there.json"),
        (&["--pass-env", "ACTIONS_SECRET_FOR_TESTS"], "ACTIONS_SECRET_FOR_TESTS"),
        (&["--working-directory", "nowhere"], "nowhere"),
        (&["--working-directory", ".."], "outside the checkout"),
        (&["--tiers", "cassette/nowhere.json x1"], "nowhere.json"),
    ] {
        let mut all = vec!["run", "--test-command", project.test_command];
        all.extend_from_slice(args);
        let refused = program.run(project.path(), &all);
        assert_eq!(refused.code, 2, "{args:?}: {}", refused.all());
        assert!(refused.err.contains(said) && refused.err.contains("Fix:"), "{args:?}: {}", refused.all());
        let listed = program.run(project.path(), &["report", "--list"]);
        assert!(listed.code == 2 || listed.out == "The log has no runs.\n", "{args:?}: {}", listed.all());
    }
}

#[test]
fn a_recording_that_cannot_be_written_is_told_and_the_run_goes_on() {
    let project = Project::python();
    let folder = tempfile::tempdir().expect("a folder");
    let tapes = folder.path().join("tapes");
    std::fs::create_dir(&tapes).expect("a folder");
    let gone = tapes.clone();
    let server = ModelServer::start(move |request| {
        let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
        match request.turn() {
            0 => {
                std::fs::remove_dir_all(&gone).expect("removed");
                Say::call("edit_file", edit).usage(900, 40).into()
            }
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(900, 40).into(),
        }
    });
    let tape = tapes.join("tape.json");
    let program = Program::with_anthropic(&server.url());
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &[&args[..], &["--record", tape.to_str().expect("text")]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    for place in [&said.out, &said.err] {
        assert_eq!(place.matches("does not contain every call").count(), 1, "{}", said.all());
    }
    server.finish();
}

/// The file lies where the tests run: what they leave behind is taken away, and the tape is not.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_tape_in_the_checkout_holds_every_call_and_can_be_played() {
    let project = Project::python();
    let (source, wrong, right) = (project.source, project.wrong, project.right);
    let server = ModelServer::start(move |request| {
        match request.turn() {
            0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right })).usage(900, 40),
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(900, 40),
        }
        .into()
    });
    let program = Program::with_anthropic(&server.url());
    let with = ["--test-command", project.test_command];
    let run = |ladder: &str, more: &[&str]| {
        program.run(project.path(), &[&["run", "--tiers", ladder][..], &with, more].concat())
    };
    let said = run("claude-haiku-4-5 x1", &["--record", "tape.json"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let text = std::fs::read_to_string(project.path().join("tape.json")).expect("a tape");
    let tape: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(tape["calls"].as_array().map(Vec::len), Some(2), "{text}");
    assert!(!said.all().contains("+++ b/tape.json"), "it is no part of the change: {}", said.all());
    project.write(source, &project.read(source).replace(right, wrong));
    let said = run("cassette/tape.json x1", &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    server.finish();
}
