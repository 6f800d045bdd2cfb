//! `--only-tests`: a run for some of the failing tests leaves the others as they are.

use serde_json::json;

use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;

/// A second bug beside the project's own, with its test.
fn with_another_bug(project: &Project) {
    project.write("names.py", "def first(names):\n    return names[1]\n");
    project.write(
        "tests/test_names.py",
        "import unittest\n\nfrom names import first\n\n\nclass NamesTest(unittest.TestCase):\n    def test_first(self):\n        self.assertEqual(first(['a', 'b']), 'a')\n",
    );
}

const OTHER: &str = "test_first (tests.test_names.NamesTest.test_first)";

#[test]
fn a_run_for_one_test_is_done_while_another_fails_still() {
    let project = Project::python();
    with_another_bug(&project);
    let (source, wrong) = ("names.py", "names[1]");
    let server = ModelServer::start(move |request| match request.turn() {
        0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": "names[0]" })).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command, "--only-tests", OTHER];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.all().contains("1 other failing test is left alone, since the run is for some tests only"),
        "{}",
        said.all()
    );
    let asked = server.requests().first().expect("a request").last_user_text();
    let failing = asked.split("FAILING TESTS").nth(1).and_then(|rest| rest.split(">>").next());
    let failing = failing.expect("the failing tests");
    assert!(failing.contains("test_first") && !failing.contains("test_total"), "{asked}");
    server.finish();
}

/// The result file calls the tests otherwise than the print does, and one's name begins as the other's.
#[test]
fn a_test_is_left_alone_whose_name_begins_as_that_of_the_one_asked_for() {
    let project = Project::python();
    let tests = project.read("tests/test_cart.py").replace(
        "    def test_type(",
        "    def test_total_of_one(self):\n        self.assertEqual(total([1]), 5)\n\n    def test_type(",
    );
    project.write("tests/test_cart.py", &tests);
    let mended = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
    let server = ModelServer::start(move |request| match request.turn() {
        0 => Say::call("edit_file", mended.clone()).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let asked = project.failing[0];
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command, "--only-tests", asked];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.all().contains("left alone, since the run is for some tests only: test_total_of_one"),
        "{}",
        said.all()
    );
    server.finish();
}

#[test]
fn a_test_that_passes_is_nothing_to_mend_though_others_fail() {
    let project = Project::python();
    with_another_bug(&project);
    project.write("names.py", "def first(names):\n    return names[0]\n");
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command, "--only-tests", OTHER];
    let said = Program::with_anthropic("http://127.0.0.1:9").without_court().run(project.path(), &args);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.all().contains("none of the named tests fails (1 other test fails)"), "{}", said.all());
}

#[test]
fn a_fix_that_breaks_what_passed_does_not_count_for_one_test_either() {
    let project = Project::python();
    with_another_bug(&project);
    project.write(
        "tests/test_last.py",
        "import unittest\n\nfrom names import first\n\n\nclass LastTest(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(first(['a', 'b', 'c'])[0:1], 'b')\n",
    );
    let server = ModelServer::start(move |request| match request.turn() {
        0 => {
            Say::call("edit_file", json!({ "path": "names.py", "old_text": "names[1]", "new_text": "names[0]" })).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command, "--only-tests", OTHER];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 1, "{}", said.all());
    server.finish();
}
