//! Functions inside of a test: a poll or a retry may call them several times.

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
    fn a_function_in_a_test_is_told_from_the_test() {
        let python = "class A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 71)\n        poll(lambda: self.assertEqual(g(), 72))\n\n        def late():\n            self.assertEqual(h(), 73)\n";
        assert!(!nested("test_a.py", python, "71"));
        assert!(nested("test_a.py", python, "72") && nested("test_a.py", python, "73"));
        let script = "import test from 'node:test';\ntest('a', async () => {\n  assert.equal(f(), 71);\n  await poll(() => assert.equal(g(), 72));\n});\n";
        assert!(!nested("a.test.js", script, "71") && nested("a.test.js", script, "72"));
    }
}
