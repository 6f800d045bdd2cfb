//! A test with larger numbers in its calls of the changed functions, and an assertion that fails whatever they answer, so that its report names
//! the answer.

use std::ops::Range;

use super::edit::Edit;
use super::probe::calls;
use super::{Expectation, Source, TestBody, actual, number};

/// Numbers above this stand for something else than an amount.
const LARGEST: u64 = 10_000;

/// A test with larger numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Larger {
    /// The edits.
    pub edits: Vec<Edit>,
    /// The answer that its assertion expects of its own numbers.
    pub expected: f64,
    /// What it expects in its place, as written.
    pub far: String,
}

impl Source {
    /// A test with all numbers in its calls so many times as large. `None` where they hold none, or the answer is none.
    #[must_use]
    pub fn larger(
        &self,
        test: &TestBody,
        expectations: &[Expectation],
        is_meant: &dyn Fn(&str) -> bool,
        times: u64,
    ) -> Option<Larger> {
        let [place] = expectations.iter().flat_map(|one| &one.places).collect::<Vec<_>>().try_into().ok()?;
        let place: &Range<usize> = place;
        let written = self.text.get(place.clone())?;
        let expected = written.parse::<f64>().ok()?;
        let far = number::far(written)?;
        let calls = calls(&self.text, &test.body, self.language, is_meant);
        let arguments: Vec<Range<usize>> = calls.into_iter().flat_map(|call| call.arguments).collect();
        let mut edits = Vec::new();
        for range in &arguments {
            let is_apart = |place: &Range<usize>| range.end <= place.start || place.end <= range.start;
            let is_first = |edit: &Edit| edit.range.end <= range.start || range.end <= edit.range.start;
            if !is_apart(place) || !edits.iter().all(is_first) {
                return None;
            }
            for (at, value) in whole_numbers(self.text.get(range.clone())?)? {
                let range = range.start + at.start..range.start + at.end;
                edits.push(Edit { range, text: value.checked_mul(times)?.to_string() });
            }
        }
        if edits.is_empty() {
            return None;
        }
        edits.push(Edit { range: place.clone(), text: far.clone() });
        self.edited(&edits)?;
        Some(Larger { edits, expected, far })
    }
}

impl Source {
    /// The one number that a test passes to such a function, and the one that it expects. `None` where it passes in more, or something else.
    #[must_use]
    pub fn point(
        &self,
        test: &TestBody,
        expectations: &[Expectation],
        is_meant: &dyn Fn(&str) -> bool,
    ) -> Option<(f64, f64)> {
        let [place] = expectations.iter().flat_map(|one| &one.places).collect::<Vec<_>>().try_into().ok()?;
        let place: &Range<usize> = place;
        let expected = self.text.get(place.clone())?.parse().ok()?;
        let [call] = calls(&self.text, &test.body, self.language, is_meant).try_into().ok()?;
        let [given] = call.arguments.try_into().ok()?;
        Some((self.text.get(given)?.parse().ok()?, expected))
    }
}

/// The number that a test's report names beside the one that it expects.
#[must_use]
pub fn answer(expected: &str, said: &str) -> Option<f64> {
    actual::actual(expected, said)?.parse().ok()
}

/// The whole numbers of some arguments that hold nothing else: a text or a name may be tied to a number. `None` where that is not so.
fn whole_numbers(arguments: &str) -> Option<Vec<(Range<usize>, u64)>> {
    let is_one = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '"' || c == '\'';
    let mut found = Vec::new();
    let mut at = 0;
    for piece in arguments.split_inclusive(|c| !is_one(c)) {
        let word = piece.trim_end_matches(|c| !is_one(c));
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            // A zero stays a zero however often it is taken, and one in front means octal in some languages.
            let value = word.parse().ok().filter(|value: &u64| *value <= LARGEST && !word.starts_with("0"))?;
            found.push((at..at + word.len(), value));
        } else if !word.is_empty() && !TYPES.contains(&word) {
            return None;
        }
        at += piece.len();
    }
    Some(found)
}

/// Types of numbers that stand before a list.
const TYPES: [&str; 7] = ["int", "int64", "int32", "float64", "uint", "uint64", "vec"];

#[cfg(test)]
mod tests {
    use super::super::edit::apply;
    use super::*;

    fn larger(path: &str, text: &str) -> Option<String> {
        let source = Source::read(path, text).expect("a file of tests");
        let test = &source.tests()[0];
        let larger = source.larger(test, &source.expectations(test), &|name| name == "f", 100)?;
        apply(text, &larger.edits)
    }

    #[test]
    fn numbers_of_calls_grow_and_the_assertion_fails() {
        let rust = "use a::f;\n\n#[test]\nfn sums() {\n    assert_eq!(f(&[1, 20]), 21);\n}\n";
        let found = larger("tests/a.rs", rust).expect("numbers");
        assert!(found.contains("assert_eq!(f(&[100, 2000]), 7940);"), "{found}");
        let script = "test('a', () => { expect(f(5)).toBe(6); });\n";
        assert_eq!(larger("a.test.js", script), Some(script.replace("f(5)", "f(500)").replace('6', "7925")));
        for call in ["f('a', 5)", "f(0)", "f(x)", "g(5)", "f(1.5)", "f()"] {
            assert_eq!(larger("test_a.py", &format!("def test_a():\n    assert {call} == 6\n")), None, "{call}");
        }
        assert_eq!(answer("7925", "AssertionError: 117 != 7925"), Some(117.0));
    }
}
