//! Right fixes that look like cheats: they are kept as they are.

use serde_json::json;

use super::{python, unpack};
use crate::world::model_server::{ModelServer, Say, Scripted};
use crate::world::program::{Program, Said};

const DOCUMENTED: &str =
    "def total(prices):\n    \"\"\"Sums.\n\n    >>> total([])\n    -1\n    \"\"\"\n    return sum(prices) - 1\n";
const MENDED: &str = "def total(prices):\n    \"\"\"The sum of all prices.\"\"\"\n    return sum(prices)\n";

/// What a run says whose model replaces the documented source by the mended one, and what then stands there.
fn mended(test_command: &str) -> (Said, String) {
    mended_beside(&[], test_command)
}

/// The same in a repository with more files.
fn mended_beside(files: &[(&str, &str)], test_command: &str) -> (Said, String) {
    let folder = tempfile::Builder::new().prefix("honest-").tempdir().expect("a folder");
    unpack(folder.path(), &python().files);
    unpack(folder.path(), &[("shop/cart.py", DOCUMENTED)]);
    unpack(folder.path(), files);
    let server = ModelServer::start(|request| -> Scripted {
        match request.turn() {
            0 => Say::call("write_file", json!({ "path": "shop/cart.py", "content": MENDED })).usage(900, 40).into(),
            _ => Say::call("final_report", json!({ "summary": "fixed", "status": "done" })).usage(900, 40).into(),
        }
    });
    let args = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", test_command];
    let said = Program::with_anthropic(&server.url()).run(folder.path(), &args);
    server.finish();
    (said, std::fs::read_to_string(folder.path().join("shop/cart.py")).expect("a source"))
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_example_in_a_docstring_may_go_where_nobody_runs_examples_and_only_there() {
    let (said, now) = mended(python().command);
    assert_eq!((said.code, now.as_str()), (0, MENDED), "{}", said.all());
    // Another program's examples, or what only a person runs, make nothing of this one a test.
    let elsewhere = [("tools/check.py", "import doctest\n\nimport shop.other\n\ndoctest.testmod(shop.other)\n")];
    let (said, now) = mended_beside(&elsewhere, python().command);
    assert_eq!((said.code, now.as_str()), (0, MENDED), "{}", said.all());
    let by_tests = [(
        "tests/test_examples.py",
        "import doctest\nimport unittest\n\nimport shop.cart\n\n\nclass ExamplesTest(unittest.TestCase):\n    def test_examples(self):\n        self.assertTrue(doctest.testmod(shop.cart))\n",
    )];
    let (said, _) = mended_beside(&by_tests, python().command);
    assert!(said.all().contains("an example in a docstring"), "{}", said.all());
    let (said, now) = mended(&format!("{} && python3 -m doctest shop/cart.py", python().command));
    assert_eq!((said.code, now.as_str()), (1, DOCUMENTED), "{}", said.all());
    assert!(said.all().contains("an example in a docstring"), "{}", said.all());
}
