//! Suites that do not end because of the bug: red, with the test that was under way, and mended like any other.

use serde_json::json;

use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;

const EATS: &str = "def total(prices):\n    seen = []\n    while True:\n        seen.append(bytearray(1 << 20))\n    return sum(seen)\n";
const HANGS: &str = "def total(prices):\n    while True:\n        pass\n";

/// A bug that meets a limit of the tests is mended with both forms of the command: one names each test, the other dies saying where it stands.
/// `told` are the words and the places that the model is told, of each one at least.
fn is_mended(cart: &str, limit: &str, bug: &str, told: [&[&str]; 2]) {
    for (command, test) in [
        ("python3 -m unittest -v", "test_total (tests.test_cart.CartTest.test_total)"),
        ("python3 -m unittest", "`test_total` was under way"),
    ] {
        let project = Project::python();
        project.write("shop/cart.py", cart);
        project.write(".github/upshift.yml", limit);
        let edit = json!({ "path": "shop/cart.py", "old_text": bug, "new_text": "    return sum(prices)" });
        let server = ModelServer::start(move |request| match request.turn() {
            0 => Say::call("edit_file", edit.clone()).into(),
            _ => Say::call("final_report", json!({ "summary": "it ends", "status": "done" })).into(),
        });
        let program = Program::with_anthropic(&server.url()).without_court();
        let args = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", command];
        let said = program.run(project.path(), &args);
        assert_eq!(said.code, 0, "{command}: {}", said.all());
        let asked = server.requests().first().expect("a request").all_text();
        let is_told = |one_of: &[&str]| one_of.iter().any(|words| asked.contains(words));
        assert!(asked.contains(test) && told.iter().all(|one_of| is_told(one_of)), "{command}: {asked}");
        server.finish();
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_suite_that_hangs_names_the_test_that_was_under_way_and_is_mended() {
    let places: &[&str] = &["shop/cart.py:2", "shop/cart.py:3"];
    let bug = "    while True:\n        pass";
    is_mended(HANGS, "test: { timeoutSeconds: 3 }\n", bug, [&["test.timeoutSeconds"], places]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_suite_that_takes_all_memory_names_the_test_that_was_under_way_and_is_mended() {
    let limit = "took more than 512 MB in one process (test.memoryMb)";
    let bug = "    seen = []\n    while True:\n        seen.append(bytearray(1 << 20))\n    return sum(seen)";
    is_mended(EATS, "test: { memoryMb: 128 }\n", bug, [&[limit], &["shop/cart.py:4"]]);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_limit_that_is_too_small_for_the_tests_is_for_a_person_to_raise() {
    let project = Project::python();
    project.write("shop/cart.py", "import time\n\n\ndef total(prices):\n    kept = bytearray(120 << 20)\n    time.sleep(1.5)\n    return sum(prices) + len(kept) * 0\n");
    project.write(".github/upshift.yml", "test: { memoryMb: 96 }\n");
    let args = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", "python3 -m unittest -v"];
    let server = ModelServer::start(|_| Say::text("nobody asks").into());
    let said = Program::with_anthropic(&server.url()).without_court().run(project.path(), &args);
    assert_eq!(said.code, 7, "{}", said.all());
    assert!(said.all().contains("a larger number raises it"), "{}", said.all());
    assert!(server.requests().is_empty(), "nobody is paid for it");
}

#[test]
fn a_command_that_takes_all_memory_before_any_test_is_the_commands_fault() {
    let project = Project::python();
    project.write(".github/upshift.yml", "test: { memoryMb: 64 }\n");
    let command = "awk 'BEGIN { for (;;) kept[i++] = sprintf(\"%1000s\", i) }'";
    let args = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", command];
    let said = Program::with_anthropic("http://127.0.0.1:9").without_court().run(project.path(), &args);
    assert_eq!(said.code, 7, "{}", said.all());
    assert!(
        said.all().contains("the memory limit of 64 MB for one process (`test.memoryMb`) was reached"),
        "{}",
        said.all()
    );
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
