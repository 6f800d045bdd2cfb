//! Properties of a test's body that stand in the way of an experiment: functions inside of it, which a poll or a retry may call several
//! times, and its own name.

use std::ops::Range;

use super::{Expectation, Source, TestBody};

/// The nodes that are functions, of all languages that have them inside of others.
const FUNCTIONS: [&str; 9] = [
    "lambda",
    "function_definition",
    "arrow_function",
    "function_expression",
    "function_declaration",
    "closure_expression",
    "func_literal",
    "lambda_expression",
    "anonymous_function",
];

impl Source {
    /// Whether an expectation of a test stands in a function of its own there.
    #[must_use]
    pub fn is_asked_by_another(&self, test: &TestBody, expectation: &Expectation) -> bool {
        expectation.places.iter().any(|place| self.is_nested(test, place))
    }

    /// Whether a test spells its own name in its body: it expects to be called so.
    #[must_use]
    pub fn spells_its_name(&self, test: &TestBody) -> bool {
        let (name, body) = (self.text.get(test.name.clone()), self.text.get(test.body.clone()));
        name.zip(body).is_some_and(|(name, body)| {
            ["'", "\"", "`"].iter().any(|quote| body.contains(&format!("{quote}{name}{quote}")))
        })
    }

    fn is_nested(&self, test: &TestBody, place: &Range<usize>) -> bool {
        let Some(root) = self.root() else { return false };
        let mut node = root.descendant_for_byte_range(place.start, place.end);
        while let Some(at) = node {
            if at.start_byte() <= test.body.start && at.end_byte() >= test.body.end {
                return false;
            }
            if FUNCTIONS.contains(&at.kind()) {
                return true;
            }
            node = at.parent();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(path: &str, text: &str, place: &str) -> bool {
        let source = Source::read(path, text).expect("read");
        let start = text.find(place).expect("there");
        source.is_nested(&source.tests()[0], &(start..start + place.len()))
    }

    #[test]
    fn a_test_that_spells_its_name_is_known() {
        let spells = |text: &str| {
            let source = Source::read("test_a.py", text).expect("read");
            source.spells_its_name(&source.tests()[0])
        };
        assert!(spells("def test_a():\n    assert caller() == 'test_a'\n"));
        assert!(!spells("def test_a():\n    assert caller() == 'test_ab' and test_a\n"));
    }

    #[test]
    fn a_function_in_a_test_is_told_from_the_test() {
        let python = "class A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 71)\n        poll(lambda: self.assertEqual(g(), 72))\n\n        def late():\n            self.assertEqual(h(), 73)\n";
        assert!(!nested("test_a.py", python, "71"));
        assert!(nested("test_a.py", python, "72") && nested("test_a.py", python, "73"));
        let script = "import test from 'node:test';\ntest('a', async () => {\n  assert.equal(f(), 71);\n  await poll(() => assert.equal(g(), 72));\n});\n";
        assert!(!nested("a.test.js", script, "71") && nested("a.test.js", script, "72"));
    }
}
