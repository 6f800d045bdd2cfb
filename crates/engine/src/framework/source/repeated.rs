//! A test's own list many times over, where it is known how the answer must follow: it stays, it is there as often as the list, or each part
//! of it is.
//!
//! Whole numbers and texts alone: a sum of decimals is another one when it has more parts.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::edit::Edit;
use super::nodes::{children, descendants, text_of};
use super::{Expectation, Language, Source, TestBody, actual};

/// How an answer follows its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Growth {
    /// It is the same.
    Stays,
    /// It is there as often as the list, or so many times as large.
    Whole,
    /// Each of its parts is there as often as the list.
    Each,
}

/// A test with its list many times over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated {
    /// The edits under which a right product passes.
    pub right: Vec<Edit>,
    /// The edits under which the product of the start passes, where its answer follows so.
    pub as_it_was: Vec<Edit>,
}

/// A list of plain values.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static LIST: LazyLock<Regex> = LazyLock::new(|| {
    let value = r#"(?:-?\d+|"[^"'\\\n]*"|'[^"'\\\n]*')"#;
    Regex::new(&format!(r"\[(?:{value}(?:, {value})*)?\]")).unwrap()
});

impl Source {
    /// A test with the one list that it passes in so many times. `said` are the words in which it failed at the start. `None` where it
    /// passes in no list or several, or where the answer is not understood.
    #[must_use]
    pub fn repeated(
        &self,
        test: &TestBody,
        expectations: &[Expectation],
        said: &str,
        (growth, times): (Growth, usize),
    ) -> Option<Repeated> {
        // In the others a list's length may be a part of its type, and `*` means something else.
        if !matches!(self.language, Language::Python | Language::JavaScript) || self.expectations(test).len() != 1 {
            return None;
        }
        let [place] = expectations.iter().flat_map(|one| &one.places).collect::<Vec<_>>().try_into().ok()?;
        let place: &Range<usize> = place;
        let written = self.text.get(place.clone())?;
        let was = actual::actual(written, said).or_else(|| list(written, said))?;
        let inside = |node: &Node<'_>| test.body.start <= node.start_byte() && node.end_byte() <= test.body.end;
        let apart = |node: &Node<'_>| node.end_byte() <= place.start || place.end <= node.start_byte();
        let is_list = |node: &Node<'_>| matches!(node.kind(), "list" | "array");
        let lists: Vec<Node<'_>> =
            descendants(self.root()?).filter(|node| is_list(node) && inside(node) && apart(node)).collect();
        let [only] = lists.as_slice() else { return None };
        let values: Vec<&str> = children(*only).into_iter().map(|one| text_of(one, &self.text)).collect();
        let is_whole = |value: &&str| !value.contains('.') || value.starts_with(['"', '\'']);
        let is_plain = |node: Node<'_>| matches!(node.kind(), "integer" | "number" | "string");
        let mut apart: Vec<&str> = values.clone();
        apart.sort_unstable();
        apart.dedup();
        // Values that differ: of a list of equal ones an answer in parts looks like one of the whole.
        let is_understood = values.len() > 1
            && apart.len() == values.len()
            && children(*only).into_iter().all(is_plain)
            && values.iter().chain([&written, &was.as_str()]).all(is_whole);
        if !is_understood {
            return None;
        }
        let list = Edit { range: only.byte_range(), text: self.whole(text_of(*only, &self.text), times) };
        let answer = |text: &str| Some(Edit { range: place.clone(), text: self.grown(text, growth, times)? });
        Some(Repeated { right: vec![list.clone(), answer(written)?], as_it_was: vec![list, answer(&was)?] })
    }

    /// An answer as it is then.
    fn grown(&self, text: &str, growth: Growth, times: usize) -> Option<String> {
        match growth {
            Growth::Stays => Some(text.to_owned()),
            Growth::Whole => Some(self.whole(text, times)),
            Growth::Each if !text.starts_with('[') => None,
            Growth::Each if self.language == Language::Python => {
                Some(format!("[one for one in {text} for _ in range({times})]"))
            }
            Growth::Each => Some(format!("{text}.flatMap((one) => Array({times}).fill(one))")),
        }
    }

    fn whole(&self, text: &str, times: usize) -> String {
        match text.chars().next() {
            _ if self.language == Language::Python => format!("({text} * {times})"),
            Some('[') => format!("Array({times}).fill({text}).flat()"),
            Some('"' | '\'' | '`') => format!("{text}.repeat({times})"),
            _ => format!("({text} * {times})"),
        }
    }
}

/// The first other list of plain values that a report names.
fn list(written: &str, said: &str) -> Option<String> {
    if !LIST.is_match(written) {
        return None;
    }
    // A runner shows the code, too, whose values are what the test passes in.
    let lines = said.lines().filter(|line| !line.contains('('));
    let mut named = lines.flat_map(|line| LIST.find_iter(line).map(|found| found.as_str()));
    // A runner prints a list in its own way, with other blanks and quotes.
    let squeezed = |text: &str| text.replace([' ', '\n', '\t'], "").replace('"', "'");
    named.find(|other| squeezed(other) != squeezed(written)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::edit::apply;
    use super::*;

    fn repeated(path: &str, text: &str, said: &str, growth: Growth) -> Option<[String; 2]> {
        let source = Source::read(path, text).expect("a file of tests");
        let test = &source.tests()[0];
        let repeated = source.repeated(test, &source.expectations(test), said, (growth, 9))?;
        Some([repeated.right, repeated.as_it_was].map(|edits| apply(text, &edits).expect("a text")))
    }

    #[test]
    fn a_list_is_repeated_and_the_answer_follows() {
        let text = "def test_a():\n    assert f([3, 1, 2]) == 6\n";
        let of = |growth| repeated("test_a.py", text, "assert 5 == 6", growth);
        let is = |list: &str, answer: &str| {
            Some(
                [answer, &answer.replace('6', "5")]
                    .map(|answer| format!("def test_a():\n    assert f({list}) == {answer}\n")),
            )
        };
        assert_eq!(of(Growth::Stays), is("([3, 1, 2] * 9)", "6"));
        assert_eq!(of(Growth::Whole), is("([3, 1, 2] * 9)", "(6 * 9)"));
        assert_eq!(of(Growth::Each), None);
        let sorted = "def test_a():\n    assert f([3, 1, 2]) == [1, 2, 3]\n";
        let each =
            repeated("test_a.py", sorted, "assert [3, 2, 1] == [1, 2, 3]\n + where [3] = f([3, 1, 2])", Growth::Each);
        let [right, was] = each.expect("a list");
        assert!(right.ends_with("== [one for one in [1, 2, 3] for _ in range(9)]\n"), "{right}");
        assert!(was.ends_with("== [one for one in [3, 2, 1] for _ in range(9)]\n"), "{was}");
        let script = "test('a', () => { expect(f(['b', 'c'])).toBe('b-c'); });\n";
        let [right, _] =
            repeated("a.test.js", script, "Expected: 'b-c'\nReceived: 'bc'", Growth::Whole).expect("a list");
        assert!(right.contains("f(Array(9).fill(['b', 'c']).flat())).toBe('b-c'.repeat(9))"), "{right}");
    }

    #[test]
    fn decimals_and_what_is_there_twice_already_are_left_alone() {
        for text in [
            "f([3, 3]) == 6",
            "f([0.1, 2]) == 6",
            "f([3]) == 6",
            "f([1, 2], [3, 4]) == 6",
            "f([1, 2]) == 6.5",
            "f([x, 2]) == 6",
        ] {
            let text = format!("def test_a():\n    assert {text}\n");
            assert_eq!(repeated("test_a.py", &text, "assert 5 == 6", Growth::Whole), None, "{text}");
        }
    }
}
