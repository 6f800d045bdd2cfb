//! The plain numbers of a program, and its like with the next number in the place of one.

use super::edit::Edit;
use super::nodes::{descendants, lines_of, text_of};
use super::parse::parse;
use super::{Language, nodes};

/// The grammars' names for numbers.
const NUMBERS: [&str; 6] = ["integer", "float", "number", "integer_literal", "float_literal", "int_literal"];

/// A number in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// Its one-based line.
    pub line: u32,
    /// The number as written.
    pub spelled: String,
    /// The edit that puts the next one in its place.
    pub next: Edit,
}

/// The plain numbers of a file, in its order. None where its text is not understood.
#[must_use]
pub fn numbers(path: &str, text: &str) -> Vec<Number> {
    let Some(language) = Language::of(path).filter(|language| language.has_grammar()) else { return Vec::new() };
    let Some(tree) = parse(language, text) else { return Vec::new() };
    let number = |node: tree_sitter::Node<'_>| {
        let spelled = text_of(node, text);
        let next = Edit { range: node.byte_range(), text: next(spelled)? };
        Some(Number { line: lines_of(node).0, spelled: spelled.to_owned(), next })
    };
    let found = descendants(tree.root_node()).filter(is_number);
    found.filter_map(number).collect()
}

/// Whether a node is a number's literal.
pub(super) fn is_number(node: &tree_sitter::Node<'_>) -> bool {
    NUMBERS.contains(&node.kind()) && nodes::children(*node).is_empty()
}

/// The next number of as many places. `None` for other notations than the plain one.
fn next(literal: &str) -> Option<String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    match literal.split_once('.') {
        None => {
            let is_plain = digits(literal) && (literal == "0" || !literal.starts_with('0'));
            let number: u64 = literal.replace('_', "").parse().ok().filter(|_| is_plain)?;
            number.checked_add(1).map(|next| next.to_string())
        }
        Some((whole, fraction)) => {
            let last = fraction.chars().next_back().filter(|_| digits(whole) && digits(fraction))?;
            let other = if last == '9' { '8' } else { char::from_digit(last.to_digit(10)? + 1, 10)? };
            Some(format!("{whole}.{}{other}", fraction.strip_suffix(last)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plain_number_has_a_next_one() {
        let found = |path: &str, text: &str| {
            let found = numbers(path, text).into_iter();
            found.map(|one| (one.line, one.spelled, one.next.text)).collect::<Vec<_>>()
        };
        let wanted = |all: &[(u32, &str, &str)]| {
            all.iter().map(|(line, one, next)| (*line, (*one).to_owned(), (*next).to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(found("a.py", "a = 9\nb = 0.9\nc = 0x1f\n"), wanted(&[(1, "9", "10"), (2, "0.9", "0.8")]));
        assert_eq!(found("a.ts", "f(1_000, 'x 5');\n"), wanted(&[(1, "1_000", "1001")]));
        assert_eq!(found("a.go", "package a\n\nconst b = 7\n"), wanted(&[(3, "7", "8")]));
        assert_eq!(found("a.rs", "const A: u8 = 0;\n"), wanted(&[(1, "0", "1")]));
    }
}
