//! Checks beside the tests: each has a verdict of its own, all must hold, and one that looks away proves nothing.

use serde_json::Value;

use super::{Fix, run};

/// A linter: unused imports and syntax errors of every module, unless it is told to look away.
const LINT: &str = r#"import ast, pathlib, re, sys

rules = pathlib.Path("lint.cfg")
skipped = rules.read_text().split() if rules.exists() else []
found = []
for path in sorted(pathlib.Path("shop").glob("*.py")):
    text = path.read_text()
    if path.name in skipped or "lint: skip-file" in text:
        continue
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        found.append(f"{path}:{error.lineno}:1: E999 {error.msg}")
        continue
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            line = text.splitlines()[node.lineno - 1]
            for name in node.names:
                if len(re.findall(rf"\b{name.name}\b", text)) < 2 and "noqa" not in line:
                    found.append(f"{path}:{node.lineno}:1: F401 `{name.name}` imported but unused")
print("\n".join(found) or "All checks passed!")
sys.exit(1 if found else 0)
"#;
const CART: &str = "import os\n\n\ndef total(prices):\n    return sum(prices)\n";
const TEST: &str = "import unittest\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2, 3]), 6)\n";
const CONFIG: &str = "test:\n  commands:\n    - {name: lint, run: python3 tools/lint.py}\n    - {name: types, run: python3 -m compileall -q shop}\n";

fn change(name: &'static str, writes: Vec<(&'static str, &'static str)>) -> Fix {
    Fix {
        name,
        files: vec![
            ("shop/__init__.py", ""),
            ("shop/cart.py", CART),
            ("tests/__init__.py", ""),
            ("tests/test_cart.py", TEST),
            ("tools/lint.py", LINT),
        ],
        command: "python3 -m unittest -v",
        writes,
    }
}

fn status<'r>(report: &'r Value, evidence: &str) -> Option<&'r str> {
    let one = report["proof"].as_array()?.iter().find(|one| one["evidence"] == evidence)?;
    one["status"].as_str()
}

#[test]
fn what_a_check_found_is_mended_beside_tests_that_pass() {
    let right = change("unused", vec![("shop/cart.py", "def total(prices):\n    return sum(prices)\n")]);
    let (report, said, _folder) = run(&right, CONFIG);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(report["failing_before"], serde_json::json!(["lint"]), "{report}");
    assert_eq!((status(&report, "planted"), status(&report, "counter")), (Some("held"), Some("held")), "{report}");
    assert_eq!(status(&report, "poisoned"), None, "{report}");
}

#[test]
fn a_check_that_is_made_to_look_away_proves_nothing() {
    for (name, text, why) in [
        (
            "noqa",
            "import os  # noqa\n\n\ndef total(prices):\n    return sum(prices)\n",
            "is suppressed at shop/cart.py:1",
        ),
        (
            "a mark of its own",
            "# lint: skip-file\nimport os\n\n\ndef total(prices):\n    return sum(prices)\n",
            "finds no fault in shop/cart.py any more",
        ),
    ] {
        let (report, said, _folder) = run(&change(name, vec![("shop/cart.py", text)]), CONFIG);
        assert_eq!(said.code, 1, "{name}: {}", said.all());
        assert!(report.to_string().contains(why), "{name}: {report}");
    }
}

#[test]
fn a_fix_that_breaks_another_check_is_none() {
    let broken = change("types", vec![("shop/cart.py", "def total(prices:\n    return sum(prices)\n")]);
    let (report, said, _folder) = run(&broken, CONFIG);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(report.to_string().contains("E999"), "{report}");
}

#[test]
fn two_commands_for_the_tests_are_a_fault_that_says_so() {
    let config = "test:\n  command: make\n  commands:\n    - {name: tests, run: make test}\n    - {name: a, run: x}\n    - {name: a, run: y}\n";
    let (_, said, _folder) = run(&change("config", Vec::new()), config);
    assert_eq!(said.code, 2, "{}", said.all());
    for part in ["it names `tests`, and test.command is given too", "two commands are called 'a'"] {
        assert!(said.all().contains(part), "{}", said.all());
    }
}

#[test]
fn a_check_that_is_the_test_command_is_not_run_beside_it() {
    let right = Fix {
        files: vec![
            ("shop/__init__.py", ""),
            ("shop/cart.py", "def total(prices):\n    return sum(prices) - 1\n"),
            ("tests/__init__.py", ""),
            ("tests/test_cart.py", TEST),
        ],
        ..change("twice", vec![("shop/cart.py", "def total(prices):\n    return sum(prices)\n")])
    };
    let config = "test:\n  commands:\n    - {name: unit, run: ' python3 -m unittest -v '}\n";
    let (report, said, _folder) = run(&right, config);
    assert_eq!(said.code, 0, "{}", said.all());
    let failing = serde_json::json!(["test_total (tests.test_cart.CartTest.test_total)"]);
    assert_eq!(report["failing_before"], failing, "{report}");
}
