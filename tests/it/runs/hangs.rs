//! Suites that do not end because of the bug: red, with the test that was under way, and mended like any other.

use serde_json::json;

use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;

const HANGS: &str = "def total(prices):\n    while True:\n        pass\n";

#[test]
fn a_suite_that_hangs_names_the_test_that_was_under_way_and_is_mended() {
    for (command, told) in [
        ("python3 -m unittest -v", "test_total (tests.test_cart.CartTest.test_total)"),
        ("python3 -m unittest", "`test_total` was under way"),
    ] {
        let project = Project::python();
        project.write("shop/cart.py", HANGS);
        project.write(".github/upshift.yml", "test: { timeoutSeconds: 3 }\n");
        let server = ModelServer::start(|request| {
            match request.turn() {
            0 => Say::call("edit_file", json!({ "path": "shop/cart.py", "old_text": "    while True:\n        pass", "new_text": "    return sum(prices)" })).into(),
            _ => Say::call("final_report", json!({ "summary": "it ends", "status": "done" })).into(),
        }
        });
        let program = Program::with_anthropic(&server.url()).without_court();
        let args = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", command];
        let said = program.run(project.path(), &args);
        assert_eq!(said.code, 0, "{command}: {}", said.all());
        let asked = server.requests().first().expect("a request").all_text();
        assert!(asked.contains(told) && asked.contains("test.timeoutSeconds"), "{command}: {asked}");
        assert!(
            asked.contains("shop/cart.py:2") || asked.contains("shop/cart.py:3"),
            "the place in the product: {asked}"
        );
        server.finish();
    }
}

#[test]
fn a_command_that_hangs_before_any_test_is_the_commands_fault() {
    let project = Project::python();
    project.write(".github/upshift.yml", "test: { timeoutSeconds: 1 }\n");
    let args = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", "tail -f /dev/null"];
    let said = Program::with_anthropic("http://127.0.0.1:9").without_court().run(project.path(), &args);
    assert_eq!(said.code, 7, "{}", said.all());
    assert!(said.all().contains("did not end within their time limit (test.timeoutSeconds)"), "{}", said.all());
}
