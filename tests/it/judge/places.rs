//! Places that a person should look at, and tests that cannot begin.

use super::{COMMAND, Repository};

#[test]
fn the_first_line_tells_of_places_to_look_at_and_a_job_may_fail_for_them() {
    let repository = Repository::python();
    repository.mend();
    let strict = ["--test-command", COMMAND, "--fail-on-remarks"];
    let said = repository.judge(&strict);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.starts_with("✔ Proven: the tests fail without the change"), "{}", said.out);
    repository.write(&[("package.json", "{\"private\": true}\n")]);
    let said = repository.judge(&strict);
    assert_eq!(said.code, 1, "{}", said.all());
    let first =
        "⚠ Proven, with 1 place to look at: the tests fail without the change, pass with it, and can still fail";
    assert_eq!(said.out.lines().next(), Some(first), "{}", said.out);
    assert_eq!(repository.judge(&strict[..2]).code, 0, "the flag alone makes it fail");
}

#[test]
fn a_declared_package_that_is_not_installed_is_no_finding_about_the_change() {
    let repository = Repository::python();
    repository.mend();
    let package = "no_such_package_of_upshift";
    repository.write(&[
        ("requirements.txt", &format!("{package}==1\n")),
        ("shop/__init__.py", &format!("import {package}\n")),
    ]);
    let said = repository.judge(&["--test-command", COMMAND]);
    assert_eq!(said.code, 7, "{}", said.all());
    let told = format!("`{package}` is declared in requirements.txt and is not installed");
    assert!(said.out.contains(&told), "{}", said.out);
    assert!(!said.all().contains("by its exit alone"), "{}", said.all());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_command_that_hides_the_exit_of_the_tests_is_judged_by_the_tests_it_names() {
    let repository = Repository::python();
    repository.mend();
    for tail in [" 2>&1 | tee out.log", " || true"] {
        let said = repository.judge(&["--test-command", &format!("{COMMAND}{tail}")]);
        assert_eq!(said.code, 0, "{tail}: {}", said.all());
        assert!(said.out.contains("✓ without the change the tests fail again (1 of 1 test)"), "{tail}: {}", said.out);
        assert!(!said.err.contains("put back"), "{}", said.err);
    }
}

/// A Python package with one test file, wrong at first and right in the files.
fn story(wrong: &str, right: &str, test: &str) -> Repository {
    let repository = Repository::with(&[
        ("app/__init__.py", ""),
        ("app/core.py", wrong),
        ("tests/__init__.py", ""),
        ("tests/test_core.py", test),
    ]);
    repository.write(&[("app/core.py", right)]);
    repository
}

#[test]
fn an_assertion_that_a_poll_asks_again_and_again_may_hold_on_the_way() {
    let wrong = "class Counter:\n    n = 0\n\n    def tick(self):\n        pass\n";
    let test = "import unittest\nfrom app.core import Counter\n\n\ndef eventually(ask, tick):\n    for _ in range(5):\n        try:\n            return ask()\n        except AssertionError:\n            tick()\n    ask()\n\n\nclass CounterTest(unittest.TestCase):\n    def test_counts(self):\n        counter = Counter()\n        eventually(lambda: self.assertEqual(counter.n, 2), counter.tick)\n\n    def test_starts(self):\n        self.assertEqual(Counter().n, 0)\n";
    let said = story(wrong, &wrong.replace("pass", "self.n += 1"), test).judge(&["--test-command", COMMAND]);
    assert_eq!(said.code, 0, "{}", said.all());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_test_that_needs_those_before_it_is_asked_among_all_of_them() {
    let wrong = "STOCK = []\n\n\ndef add(item):\n    STOCK.append(item)\n\n\ndef clear():\n    STOCK.pop()\n";
    let test = "import unittest\nfrom app import core\n\n\nclass StoryTest(unittest.TestCase):\n    def test_1_adds(self):\n        core.add('a')\n        core.add('b')\n        self.assertEqual(len(core.STOCK), 2)\n\n    def test_2_clears(self):\n        if not core.STOCK:\n            core.add('x')\n            core.add('y')\n            core.add('z')\n        else:\n            core.clear()\n        self.assertTrue(len(core.STOCK) == 0)\n";
    let said = story(wrong, &wrong.replace("pop", "clear"), test).judge(&["--test-command", COMMAND]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("✔ Proven") || said.out.contains("⚠ Proven"), "{}", said.out);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_script_that_needs_the_tests_before_it_is_not_held_to_a_call_by_itself() {
    let core = "export class Cart {\n  items = [];\n  add(...items) {\n    this.items = items;\n  }\n}\n";
    let test = "import { before, describe, it } from 'node:test';\nimport assert from 'node:assert';\nimport { Cart } from '../src/core.js';\n\ndescribe('a cart', () => {\n  let cart;\n  before(() => { cart = new Cart(); });\n  it('takes an item', () => {\n    cart.add('tea');\n    assert.equal(cart.items.length, 1);\n  });\n  it('takes more', () => {\n    cart.add('milk', 'sugar');\n    assert.equal(cart.items.length, 3);\n  });\n});\n";
    let repository = Repository::with(&[
        ("package.json", "{ \"type\": \"module\" }\n"),
        ("src/core.js", core),
        ("test/core.test.js", test),
    ]);
    repository.write(&[("src/core.js", &core.replace("= items;", "= this.items.concat(items);"))]);
    let said = repository.judge(&["--test-command", "node --test"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("a cart > takes more needs the tests before it"), "{}", said.out);
}

const SUM: &str = "export const add = (a, b) => a - b\nexport const later = () => 1\n";

/// A module with a suite of two tests, one of them not done yet, right in the files.
fn suite(options: &str, kind: &str, body: &str) -> Repository {
    let tests = format!(
        "import {{ describe, it }} from 'node:test'\nimport assert from 'node:assert'\nimport {{ add, later }} from './add.js'\n\n\
         describe('numbers', () => {{\n  it('adds', () => {{\n    assert.equal(add(1, 2), 3)\n  }})\n\n  \
         it('is not done yet', {options}{kind}() => {{\n    {body}\n  }})\n}})\n"
    );
    let package = ("package.json", "{ \"type\": \"module\" }\n");
    let repository = Repository::with(&[package, ("add.js", SUM), ("add.test.js", &tests)]);
    repository.write(&[("add.js", &SUM.replace("a - b", "a + b"))]);
    repository
}

/// Node tells of a failing test's suite beside it, and its result file calls the tests by their own names alone.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_failing_test_of_a_suite_that_failed_before_says_nothing_of_the_change() {
    for (kind, body) in [("", "assert.equal(later(), 2)"), ("async ", "await new Promise(() => {})")] {
        let said = suite("", kind, body).judge(&["--test-command", "node --test"]);
        assert_eq!(said.code, 0, "{body}: {}", said.all());
        assert!(said.out.contains("set aside: numbers > is not done yet"), "{}", said.out);
        assert!(!said.out.contains("more test is skipped"), "{}", said.out);
    }
}

/// Node's result file has the failure of such a test alone, and not that it is excused.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_test_that_is_still_to_be_done_may_fail() {
    let said = suite("{ todo: true }, ", "", "assert.equal(later(), 2)").judge(&["--test-command", "node --test"]);
    assert_eq!(said.code, 0, "{}", said.all());
}
