//! A test's own values in another form of which it is known how the answer must follow: other numbers in the same order, where the answer
//! consists of some of them, and a text twice.

use std::collections::BTreeMap;
use std::ops::Range;

use super::edit::Edit;
use super::nodes::{children, descendants, text_of};
use super::numbers::is_number;
use super::{Expectation, Language, Source, TestBody, actual};

/// A text that is written twice has at least so many letters.
const SHORTEST_TEXT: usize = 3;
/// More numbers than these are data.
const MOST_NUMBERS: usize = 24;

/// Other numbers in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Numbers {
    /// Each has as many digits as the one whose place it takes.
    Alike,
    /// Some have more digits than others, so that words are in another order.
    Longer,
    /// They have decimals, some fewer than others.
    Decimal,
}

/// A test with a text twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twice {
    /// The text, as written.
    pub text: String,
    /// The edits under which a right product passes.
    pub right: Vec<Edit>,
    /// The edits under which the product of the start passes, where it treats both halves alike.
    pub as_it_was: Vec<Edit>,
    /// The answers of a product that mends one half of it.
    pub half_mended: [String; 2],
}

impl Source {
    /// The edits that put other numbers in the same order into a test. `None` where its answer does not consist of numbers from a list.
    #[must_use]
    pub fn with_numbers(&self, test: &TestBody, expectations: &[Expectation], numbers: Numbers) -> Option<Vec<Edit>> {
        let is_typed = matches!(self.language, Language::Rust | Language::Go);
        // Where whole numbers have a type of their own, decimals do not compile in their place.
        if is_typed && numbers == Numbers::Decimal {
            return None;
        }
        let inside = |node: &tree_sitter::Node<'_>| {
            test.body.start <= node.start_byte() && node.end_byte() <= test.body.end && is_number(node)
        };
        let found: Vec<_> = descendants(self.root()?).filter(inside).collect();
        let places: Vec<&Range<usize>> = expectations.iter().flat_map(|one| &one.places).collect();
        let is_expected = |node: &tree_sitter::Node<'_>| {
            places.iter().any(|place| place.start <= node.start_byte() && node.end_byte() <= place.end)
        };
        let (expected, passed): (Vec<_>, Vec<_>) = found.iter().partition(|node| is_expected(node));
        // In a list, so that their order or their choice is the answer.
        let in_list =
            |node: &&tree_sitter::Node<'_>| node.parent().is_some_and(|list| children(list).len() > 1 && is_list(list));
        let lists: BTreeMap<u64, &str> =
            passed.iter().filter(|node| in_list(node)).filter_map(|node| whole(text_of(*node, &self.text))).collect();
        let all: Option<BTreeMap<u64, &str>> = found.iter().map(|node| whole(text_of(*node, &self.text))).collect();
        let all = all.filter(|all| all.len() <= MOST_NUMBERS)?;
        // Every expected number comes from a list, or the answer is computed and does not follow the order.
        let is_chosen = expected
            .iter()
            .all(|node| whole(text_of(*node, &self.text)).is_some_and(|(value, _)| lists.contains_key(&value)));
        // A place that expects more than numbers is not understood.
        let is_understood = places.iter().all(|place| {
            self.text.get((*place).clone()).is_some_and(|text| !text.contains(['"', '\'', '`', '-', '.']))
        });
        if expected.is_empty() || lists.len() < 2 || !is_chosen || !is_understood {
            return None;
        }
        let others = others(&all, numbers)?;
        found
            .iter()
            .map(|node| {
                let (value, _) = whole(text_of(*node, &self.text))?;
                Some(Edit { range: node.byte_range(), text: others.get(&value)?.clone() })
            })
            .collect()
    }

    /// A test with the one text that it passes in twice, where the answer differs from the start's in the midst of it. `None` where that is
    /// not so.
    #[must_use]
    pub fn twice(&self, test: &TestBody, expectations: &[Expectation], said: &str) -> Option<Twice> {
        let [place] = expectations.iter().flat_map(|one| &one.places).collect::<Vec<_>>().try_into().ok()?;
        let place: &Range<usize> = place;
        let written = self.text.get(place.clone())?;
        let was = actual::actual(written, said)?;
        let (right, was) = (inner(written)?, inner(&was)?.to_owned());
        if !differ_in_the_midst(right, &was) {
            return None;
        }
        let is_text = |node: &tree_sitter::Node<'_>| {
            matches!(node.kind(), "string" | "string_literal" | "interpreted_string_literal")
        };
        let inside =
            |node: &tree_sitter::Node<'_>| test.body.start <= node.start_byte() && node.end_byte() <= test.body.end;
        let apart = |node: &tree_sitter::Node<'_>| node.end_byte() <= place.start || place.end <= node.start_byte();
        let passed: Vec<_> =
            descendants(self.root()?).filter(|node| is_text(node) && inside(node) && apart(node)).collect();
        let [only] = passed.as_slice() else { return None };
        let text = inner(text_of(*only, &self.text))?;
        let doubled = |range: Range<usize>, text: &str| Edit {
            // Between the quotes, which stay.
            range: range.start + 1..range.end - 1,
            text: format!("{text}{text}"),
        };
        let input = doubled(only.byte_range(), text);
        Some(Twice {
            text: text.to_owned(),
            right: vec![input.clone(), doubled(place.clone(), right)],
            as_it_was: vec![input, doubled(place.clone(), &was)],
            half_mended: [format!("{right}{was}"), format!("{was}{right}")],
        })
    }
}

fn is_list(node: tree_sitter::Node<'_>) -> bool {
    matches!(node.kind(), "list" | "array" | "array_expression" | "literal_value" | "tuple" | "literal_element")
}

/// A plain whole number and how it is written. Nought is a case of its own.
fn whole(text: &str) -> Option<(u64, &str)> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| is_plain).map(|value| (value, text))
}

/// Other numbers for these, in the same order.
fn others(all: &BTreeMap<u64, &str>, numbers: Numbers) -> Option<BTreeMap<u64, String>> {
    let mut others = BTreeMap::new();
    for (at, (value, text)) in (0_u64..).zip(all) {
        let other = match numbers {
            Numbers::Alike => {
                let of_length = |(_, other): &(&u64, &&str)| other.len() == text.len();
                let count = u64::try_from(all.iter().filter(of_length).count()).ok()?;
                let before =
                    u64::try_from(all.iter().filter(of_length).filter(|(other, _)| *other < value).count()).ok()?;
                let least = 10_u64.checked_pow(u32::try_from(text.len() - 1).ok()?)?;
                // Spread evenly over the numbers of that length, so that none of two falls together.
                let step = (least * 9).checked_div(count + 1).filter(|step| *step > 0)?;
                (least + step * (before + 1)).to_string()
            }
            Numbers::Longer => match at {
                // As words they are in another order, which is not the reverse one: that has the same midst.
                0 => "20".to_owned(),
                1 => "100".to_owned(),
                2 => "1000".to_owned(),
                3 => "3000".to_owned(),
                _ => (40_000 + 13 * at).to_string(),
            },
            // Fractions of powers of two, which floats hold exactly.
            Numbers::Decimal if at % 2 == 0 => format!("{}.125", at + 2),
            Numbers::Decimal => format!("{}.5", at + 2),
        };
        others.insert(*value, other);
    }
    Some(others)
}

/// What stands between a literal's quotes, where it needs no reading.
fn inner(literal: &str) -> Option<&str> {
    let quote = literal.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let inner = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    let is_plain = !inner.contains([quote, '\\', '\n', '{', '$', '%']) && inner.chars().count() >= SHORTEST_TEXT;
    is_plain.then_some(inner)
}

/// Whether two texts begin and end alike, so that what one lacks stands in its midst.
fn differ_in_the_midst(one: &str, other: &str) -> bool {
    one != other && one.chars().next() == other.chars().next() && one.chars().next_back() == other.chars().next_back()
}

#[cfg(test)]
mod tests {
    use super::super::edit::apply;
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source::read(path, text).expect("a file of tests")
    }

    fn with_numbers(path: &str, text: &str, numbers: Numbers) -> Option<String> {
        let source = source(path, text);
        let test = &source.tests()[0];
        source.with_numbers(test, &source.expectations(test), numbers).map(|edits| apply(text, &edits).expect("a text"))
    }

    #[test]
    fn numbers_are_replaced_in_their_order_where_the_answer_is_made_of_them() {
        let text = "test('a', () => { expect(f([3, 1, 2])).toEqual([1, 2, 3]); });\n";
        let changed = |numbers| with_numbers("a.test.js", text, numbers).expect("other numbers");
        assert_eq!(changed(Numbers::Alike), text.replace("[3, 1, 2]", "[7, 3, 5]").replace("[1, 2, 3]", "[3, 5, 7]"));
        assert_eq!(
            changed(Numbers::Longer),
            text.replace("[3, 1, 2]", "[1000, 20, 100]").replace("[1, 2, 3]", "[20, 100, 1000]")
        );
        assert!(changed(Numbers::Decimal).contains("[4.125, 2.125, 3.5]"));
        let python = "def test_a():\n    assert f([10, 9, 1]) == 9\n";
        assert_eq!(
            with_numbers("test_a.py", python, Numbers::Longer).as_deref(),
            Some("def test_a():\n    assert f([1000, 100, 20]) == 100\n")
        );
        for text in [
            "def test_a():\n    assert f([1, 2, 3]) == 6\n",
            "def test_a():\n    assert f(1, 2) == 1\n",
            "def test_a():\n    assert f([0, 2]) == 2\n",
            "def test_a():\n    assert f([1, 2]) == -2\n",
            "def test_a():\n    assert f([1, 2]) == 'b'\n",
        ] {
            assert_eq!(with_numbers("test_a.py", text, Numbers::Longer), None, "{text}");
        }
    }

    #[test]
    fn a_text_is_doubled_where_the_answer_differs_in_its_midst() {
        let text = "def test_a():\n    assert f('fish & chips') == 'fish &amp; chips'\n";
        let source = source("test_a.py", text);
        let test = &source.tests()[0];
        let all = source.expectations(test);
        let twice =
            source.twice(test, &all, "AssertionError: assert 'fish & chips' == 'fish &amp; chips'").expect("twice");
        let right = apply(text, &twice.right).expect("a text");
        assert!(right.contains("f('fish & chipsfish & chips') == 'fish &amp; chipsfish &amp; chips'"), "{right}");
        let was = apply(text, &twice.as_it_was).expect("a text");
        assert!(was.contains("f('fish & chipsfish & chips') == 'fish & chipsfish & chips'"), "{was}");
        assert_eq!(source.twice(test, &all, "assert '1 fish & chips' == 'fish &amp; chips'"), None);
        assert_eq!(source.twice(test, &all, "assert 3 == 4"), None);
    }
}
