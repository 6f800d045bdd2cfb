//! Tests that need a service which is not there: they sink no right fix.

use serde_json::json;

use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;

/// A test of a database on its usual port, where nothing listens.
const DATABASE: &str = "import socket\nimport unittest\n\n\nclass DatabaseTest(unittest.TestCase):\n    def test_connects(self):\n        try:\n            socket.create_connection(('127.0.0.1', 5432)).close()\n        except OSError as error:\n            raise ConnectionError(f'connection to server at \"127.0.0.1\", port 5432 failed: Connection refused ({error})')\n";

#[test]
fn tests_for_which_a_service_is_missing_are_set_aside_by_name_and_the_fix_counts() {
    let project = Project::python();
    project.write("tests/test_database.py", DATABASE);
    let (old, new, source) = (project.wrong, project.right, project.source);
    let server = ModelServer::start(move |request| match request.turn() {
        0 => Say::call("edit_file", json!({ "path": source, "old_text": old, "new_text": new })).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.all().contains("1 test set aside for lack of a service"), "{}", said.all());
    let named = said.all().lines().any(|line| line.contains("set aside, since") && line.contains("test_connects"));
    assert!(named, "{}", said.all());
    let asked = server.requests().first().expect("a request").last_user_text();
    let failing =
        asked.split("FAILING TESTS").nth(1).and_then(|rest| rest.split(">>").next()).expect("the failing tests");
    assert!(
        failing.contains("test_total") && !failing.contains("test_connects"),
        "the model is not sent after it: {asked}"
    );
    server.finish();
}

#[test]
fn where_all_that_fails_is_for_want_of_a_service_no_model_is_asked() {
    let project = Project::python();
    project.write(project.source, "def total(prices):\n    return sum(prices)\n");
    project.write("tests/test_database.py", DATABASE);
    let args = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = Program::with_anthropic("http://127.0.0.1:9").without_court().run(project.path(), &args);
    assert_eq!(said.code, 7, "{}", said.all());
    assert!(said.all().contains("5432"), "{}", said.all());
}
