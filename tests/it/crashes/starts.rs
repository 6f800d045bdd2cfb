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
        assert!(listed.code == 2 || listed.out == "The log holds no runs.\n", "{args:?}: {}", listed.all());
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
        assert_eq!(place.matches("does not hold every call").count(), 1, "{}", said.all());
    }
    server.finish();
}
