//! What the next iteration and reviewers are told, and what stays of a change that was not all bad.

use serde_json::json;

use super::{PYTHON_TEST, python, unpack};
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};

fn run(
    files: &[(&str, &str)],
    ladder: &str,
    command: &str,
    script: impl FnMut(&Request) -> Scripted + Send + 'static,
) -> (Said, tempfile::TempDir) {
    let folder = tempfile::Builder::new().prefix("verdict-").tempdir().expect("a folder");
    unpack(folder.path(), &python().files);
    unpack(folder.path(), files);
    let server = ModelServer::start(script);
    let program = Program::with_anthropic(&server.url());
    let said = program.run(folder.path(), &["run", "--no-audit", "--tiers", ladder, "--test-command", command]);
    server.finish();
    (said, folder)
}

fn write(path: &str, content: &str) -> Scripted {
    Say::call("write_file", json!({ "path": path, "content": content })).usage(900, 40).into()
}

fn done() -> Scripted {
    Say::call("final_report", json!({ "summary": "fixed", "status": "done" })).usage(900, 40).into()
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_refused_green_costs_the_iteration_is_taken_back_and_told_to_the_next_and_to_reviewers() {
    let patched = "import unittest\n\nunittest.TestCase.assertEqual = lambda *_: None\n\n\ndef total(prices):\n    return sum(prices) - 1\n";
    let mut sessions = 0;
    let (said, folder) = run(&[], "claude-haiku-4-5 x2", python().command, move |request| {
        sessions += usize::from(request.turn() == 0);
        match (sessions, request.turn()) {
            (1, 0) => write("shop/cart.py", patched),
            (2, 0) => {
                assert!(request.all_text().contains("REFUSED, tampered"), "{}", request.all_text());
                Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(900, 40).into()
            }
            (2, 1) => {
                let seen = &request.tool_results()[0].content;
                assert!(!seen.contains("lambda"), "what was refused is gone: {seen}");
                write("shop/cart.py", "def total(prices):\n    return sum(prices)\n")
            }
            _ => done(),
        }
    });
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("was refused as tampered"), "{}", said.all());
    assert_eq!(std::fs::read_to_string(folder.path().join("shop/cart.py")).expect("text").matches("lambda").count(), 0);
}

#[test]
fn a_right_fix_with_an_edited_test_inside_the_source_is_green_with_the_test_as_it_was() {
    let source = format!(
        "def total(prices):\n    return sum(prices) - 1\n\n\n{}",
        PYTHON_TEST.replace("\nfrom shop.cart import total\n\n\n", "")
    );
    let fix = source.replace(" - 1", "").replace("[1, 2, 3]), 6)", "[1, 2, 3]), 6, 'easy')");
    let (said, folder) =
        run(&[("shop/cart.py", &source)], "claude-haiku-4-5 x1", "python3 -m unittest -v shop.cart", move |request| {
            match request.turn() {
                0 => write("shop/cart.py", &fix),
                _ => done(),
            }
        });
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("tests inside shop/cart.py were changed and put back"), "{}", said.all());
    let kept = std::fs::read_to_string(folder.path().join("shop/cart.py")).expect("text");
    assert_eq!(kept, source.replace(" - 1", ""));
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_task_may_allow_new_tests() {
    let config = "safety:\n  allowTestEdits: ['tests/test_more.py']\n";
    let more = "import unittest\n\nfrom shop.cart import total\n\n\nclass MoreTest(unittest.TestCase):\n    def test_none(self):\n        self.assertEqual(total([]), 0)\n";
    let (said, folder) =
        run(&[(".github/upshift.yml", config)], "claude-haiku-4-5 x1", python().command, move |request| match request
            .turn()
        {
            0 => write("tests/test_more.py", more),
            1 => write("shop/cart.py", "def total(prices):\n    return sum(prices)\n"),
            _ => done(),
        });
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(folder.path().join("tests/test_more.py").exists(), "the new test is no hunk that green does not need");
}
