//! The value that a test had at the start, taken from the words in which it failed, as a literal like the one that it expects.
//!
//! A taken value differs from the expected one, so that a right product fails an assertion of it. A wrong product that only compares
//! generously passes.

use std::sync::LazyLock;

use regex::Regex;

/// The longest text that is taken.
const MOST_CHARS: usize = 200;

/// Texts whose numbers are no values: places, lines, addresses.
static PLACES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\S+\.\w+:\d+(:\d+)?|\bline \d+|\b0x[0-9a-fA-F]+|\(\d+(\.\d+)? ?(s|ms)\)").ok());
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"-?\b\d+(\.\d+)?\b").ok());
static TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"'([^'"`\\\n${}]*)'|"([^'"`\\\n${}]*)""#).ok());

/// Another literal of the same kind as `literal`, with the first other value that is named in `said`.
pub(super) fn actual(literal: &str, said: &str) -> Option<String> {
    let of = |said: &str| number(literal, said).or_else(|| text(literal, said));
    // A runner shows the code, too, whose values are what the test passes in.
    let is_code = |line: &&str| line.contains('(');
    let words: Vec<&str> = said.lines().filter(|line| !is_code(line)).collect();
    of(&words.join("\n")).or_else(|| of(said))
}

fn number(literal: &str, said: &str) -> Option<String> {
    let is_whole = |text: &str| text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    // Digits alone: `parse` would also take `inf`, `nan` and `1e5`.
    let expected: f64 = literal.parse().ok().filter(|_| is_whole(&literal.replacen('.', "", 1)))?;
    let said = PLACES.as_ref()?.replace_all(said, " ");
    let mut named = NUMBER.as_ref()?.find_iter(&said).map(|found| found.as_str());
    let other = named.find(|other| other.parse::<f64>().is_ok_and(|other| (other - expected).abs() > f64::EPSILON))?;
    match (is_whole(literal), is_whole(other)) {
        (true, true) | (false, false) => Some(other.to_owned()),
        // A runner may print 3.0 as 3, and in a typed language `3` would not compile in its place.
        (false, true) => Some(format!("{other}.0")),
        // No value of the literal's type.
        (true, false) => None,
    }
}

fn text(literal: &str, said: &str) -> Option<String> {
    let quote = literal.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let expected = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut named = TEXT.as_ref()?.captures_iter(said).filter_map(|found| found.get(1).or(found.get(2)));
    let other = named.find(|other| other.as_str() != expected && other.as_str().chars().count() <= MOST_CHARS)?;
    Some(format!("{quote}{}{quote}", other.as_str()))
}

#[cfg(test)]
mod tests {
    use super::actual;

    #[test]
    fn the_first_other_value_of_the_same_kind_is_taken() {
        for (literal, said, value) in [
            ("6", "AssertionError: 5 != 6 : the cart's total", Some("5")),
            ("6", "line 8, in test_total\n  self.assertEqual(total([1, 2, 3]), 6)\nAssertionError: 5 != 6", Some("5")),
            ("5", "expect(received).toBe(expected)\n\nExpected: 5\nReceived: 4", Some("4")),
            ("42", "assertion `left == right` failed: the sum\n  left: -2\n right: 42", Some("-2")),
            ("5", "price_test.go:7: got 4, want 5", Some("4")),
            ("6.5", "File \"a.py\", line 12, in test\nassert 6.25 == 6.5", Some("6.25")),
            ("6.5", "assert 6 == 6.5", Some("6.0")),
            ("6", "assert 5.5 == 6", None),
            ("6", "at 0x7f1c (3 ms)", None),
            ("'Hello, Ada'", "+ 'Hello Ada'\n- 'Hello, Ada'", Some("'Hello Ada'")),
            ("\"x\"", "expected 'x' to be \"y\"", Some("\"y\"")),
            ("'x'", "no quotes", None),
            ("[1]", "1 != 2", None),
            ("0x1f", "3 != 31", None),
        ] {
            assert_eq!(actual(literal, said).as_deref(), value, "{literal} in {said:?}");
        }
    }
}
