//! A change that holds both what a test passes in and what it expects may be right for that test alone: a remark. Pure.

use std::collections::BTreeSet;

use similar::{ChangeTag, TextDiff};

use super::bodies::Bodies;
use super::rounds;
use crate::domain::remark::{Remark, RemarkKind};
use crate::policy::tamper::Change;

/// Values that stand in every second line of any program.
const COMMON: [&str; 12] = ["0", "1", "2", "-1", "true", "false", "True", "False", "\"\"", "''", "[]", "{}"];

/// The places at which a change's new lines hold an input and the expected value of one test.
pub(super) fn remarks(changes: &[Change], bodies: &Bodies) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    for change in changes.iter().filter(|change| change.after.is_some() && !change.may_edit_tests) {
        let added = added_lines(change);
        if let Some(line) = bodies.tests.iter().find_map(|test| {
            let source = bodies.source(test).filter(|source| source.path() != change.path)?;
            let expected: BTreeSet<&str> = rounds::expected(source, test).into_iter().collect();
            let inputs = source.literals(&test.body);
            let others = inputs.iter().filter(|value| !expected.contains(*value) && !COMMON.contains(value));
            let holds_input = others.into_iter().any(|value| added.iter().any(|(_, line)| holds(line, value)));
            let at = |value: &&str| added.iter().find(|(_, line)| holds(line, value)).map(|(number, _)| *number);
            holds_input.then(|| expected.iter().find_map(at)).flatten()
        }) {
            remarks.push(Remark {
                kind: RemarkKind::HoldsExpectation,
                file: change.path.clone(),
                lines: Some((line, line)),
                said: None,
            });
        }
    }
    remarks
}

/// The lines that a change adds, with their one-based numbers.
fn added_lines(change: &Change) -> Vec<(u32, String)> {
    let (before, after) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default());
    let diff = TextDiff::from_lines(before, after);
    let added = diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Insert);
    let numbered = added.filter_map(|line| Some((u32::try_from(line.new_index()? + 1).ok()?, line.value().to_owned())));
    numbered.collect()
}

/// Whether a line holds a value as a whole; blanks and the sort of quotes make no difference.
fn holds(line: &str, value: &str) -> bool {
    let (line, value) = (plain(line), plain(value));
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
    !value.is_empty()
        && line.match_indices(value.as_str()).any(|(at, found)| {
            let (before, after) = (line.get(..at), line.get(at + found.len()..));
            let left = before.and_then(|text| text.chars().next_back());
            let right = after.and_then(|text| text.chars().next());
            value.starts_with(['"', '[', '{', '(']) || !(is_part(left) || is_part(right))
        })
}

/// A text without blanks but those between two words, and with one sort of quotes.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if blank && c.is_alphanumeric() && plain.ends_with(char::is_alphanumeric) {
            plain.push(' ');
        }
        blank = false;
        plain.push(if c == '\'' || c == '`' { '"' } else { c });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::holds;

    #[test]
    fn a_value_is_held_as_a_whole() {
        assert!(holds("if name == 'Ada': return \"x\"", "\"Ada\""));
        assert!(holds("    [1, 2,3]: 6", "[1, 2, 3]") && holds("    [1, 2,3]: 6", "6"));
        assert!(holds("        return 6", "6"));
        assert!(!holds("total = 16 + 6.5", "6") && !holds("x6", "6"));
    }
}
