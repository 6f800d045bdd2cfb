//! The plain numbers of a program, and its like with the next number in the place of one.

use std::ops::Range;

use super::edit::Edit;
use super::nodes::{descendants, lines_of};
use super::parse::parse;
use super::{Language, nodes, scan};

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

/// The endings of files of data.
const OF_DATA: [&str; 7] = ["json", "sql", "yaml", "yml", "toml", "csv", "ini"];

/// The plain numbers of a file, in its order. None where its text is not understood.
#[must_use]
pub fn numbers(path: &str, text: &str) -> Vec<Number> {
    if OF_DATA.contains(&path.rsplit('.').next().unwrap_or_default()) {
        return in_data(text);
    }
    let Some(language) = Language::of(path) else { return Vec::new() };
    if !language.has_grammar() {
        return scan::numbers(language, text)
            .into_iter()
            .filter_map(|(line, range)| of_literal(text, line, range))
            .collect();
    }
    let Some(tree) = parse(language, text) else { return Vec::new() };
    let found = descendants(tree.root_node()).filter(is_number);
    found.filter_map(|node| of_literal(text, lines_of(node).0, node.byte_range())).collect()
}

fn of_literal(text: &str, line: u32, range: Range<usize>) -> Option<Number> {
    let spelled = text.get(range.clone())?;
    Some(Number { line, spelled: spelled.to_owned(), next: Edit { range, text: next(spelled)? } })
}

/// The plain numbers of a text that stand in no quotes, no comment, and in no date, version or time.
fn in_data(text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let mut start = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        // Behind `#` and `--` stand comments of YAML, TOML and SQL.
        let code = line.split('#').next().and_then(|line| line.split("--").next()).unwrap_or_default();
        let mut at = 0;
        let is_apart = |c: char| !(c.is_alphanumeric() || "._:\"'-/".contains(c));
        for piece in code.split_inclusive(is_apart) {
            let word = piece.trim_end_matches(is_apart);
            let is_outside = code.get(..at).is_some_and(|before| before.matches(['"', '\'']).count() % 2 == 0);
            // A key and its value may stand together.
            let own = word.rsplit(':').next().unwrap_or_default();
            let from = start + at + (word.len() - own.len());
            // `qty:3` is a key and its value, `12:30` is a time.
            let is_pair = word.len() == own.len() || !word.starts_with(|c: char| c.is_ascii_digit());
            let bare = own.strip_prefix('-').unwrap_or(own);
            let from = from + (own.len() - bare.len());
            if let Some(next) = next(bare).filter(|_| is_outside && is_pair) {
                let range = from..from + bare.len();
                found.push(Number { line: number, spelled: bare.to_owned(), next: Edit { range, text: next } });
            }
            at += piece.len();
        }
        start += line.len();
    }
    found
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
            // The place before must not change, as it would from 1.9 to 2.0.
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
        assert_eq!(found("A.java", "class A { int b = 7; // 8\n}\n"), wanted(&[(1, "7", "8")]));
        assert_eq!(found("a.go", "package a\n\nconst b = 7\n"), wanted(&[(3, "7", "8")]));
        assert_eq!(found("a.rs", "const A: u8 = 0;\n"), wanted(&[(1, "0", "1")]));
        let data = "{\"a\":0.1902, \"b\": [3, -4],\n \"c 5\": \"6\", \"d\": 7 }\n";
        let all = [(1, "0.1902", "0.1903"), (1, "3", "4"), (1, "4", "5"), (2, "7", "8")];
        assert_eq!(found("a.json", data), wanted(&all));
        let query = "SELECT a FROM b WHERE c < 3 AND d = '9' -- 5\n";
        assert_eq!(found("a.sql", query), wanted(&[(1, "3", "4")]));
        assert_eq!(found("a.yml", "a: 2024-01-05\nb: 1.2.3\nc: 10:30\nd: 8 # 9\n"), wanted(&[(4, "8", "9")]));
    }
}
