//! The tests that a person's change brings or takes away, told by their own text: many runners name only what fails. Pure.

use crate::framework::source::{Source, TestBody};
use crate::policy::tamper::Change;

/// Tests by the names under which their runner prints them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedTests {
    /// Those that stood in no changed file before.
    pub brought: Vec<String>,
    /// Those that stand in no changed file any more.
    pub gone: Vec<String>,
}

/// The tests that differ between the two sides of a change.
#[must_use]
pub fn changed_tests(changes: &[Change], framework: &str) -> ChangedTests {
    let read = |path: &str, text: &Option<String>| Source::read(path, text.as_deref()?);
    let before: Vec<Source> = changes.iter().filter_map(|change| read(&change.path, &change.before)).collect();
    let after: Vec<Source> = changes.iter().filter_map(|change| read(&change.path, &change.after)).collect();
    ChangedTests { brought: missing(&after, &before, framework), gone: missing(&before, &after, framework) }
}

/// The tests of some files that others do not have. One that was moved is there.
fn missing(sources: &[Source], others: &[Source], framework: &str) -> Vec<String> {
    let is_there = |test: &TestBody| others.iter().any(|other| other.tests().iter().any(|one| one.names == test.names));
    let named = |source: &Source| {
        let missing = source.tests().iter().filter(|test| source.is_collected(test) && !is_there(test));
        missing.filter_map(|test| source.printed_name(test, framework)).collect::<Vec<String>>()
    };
    sources.iter().flat_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> Change {
        let text = |text: Option<&str>| text.map(str::to_owned);
        Change { path: path.to_owned(), before: text(before), after: text(after), may_edit_tests: true }
    }

    #[test]
    fn what_stood_nowhere_is_brought_and_what_stands_nowhere_is_gone() {
        let before = "def test_a():\n    assert f(1) == 1\n\ndef test_b():\n    assert f(2) == 2\n\ndef test_m():\n    assert 1\n";
        let after = "from app import g\n\ndef test_a():\n    assert f(1) == 1\n\ndef test_c():\n    assert g(2) == 2\n";
        let moved = change("tests/test_m.py", None, Some("def test_m():\n    assert 1\n"));
        let all = [change("tests/test_x.py", Some(before), Some(after)), moved];
        let found = changed_tests(&all, "pytest");
        assert_eq!(found.brought, ["tests/test_x.py::test_c"]);
        assert_eq!(found.gone, ["tests/test_x.py::test_b"]);
        let case =
            "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 1)\n";
        let found = changed_tests(&[change("tests/test_y.py", None, Some(case))], "unittest");
        assert_eq!(found.brought, ["test_a (tests.test_y.T.test_a)"]);
    }
}
