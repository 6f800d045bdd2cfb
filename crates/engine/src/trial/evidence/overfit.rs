//! A change that holds both what a test passes in and what it expects may be right for that test alone: a remark. Pure.

use std::collections::BTreeSet;

use super::bodies::Bodies;
use super::rounds;
use crate::domain::remark::{Remark, RemarkKind};
use crate::framework::source::Outline;
use crate::policy::tamper::Change;
use crate::policy::tamper::remarks::added_lines;

/// Values that stand in every second line of any program.
const COMMON: [&str; 12] = ["0", "1", "2", "-1", "true", "false", "True", "False", "\"\"", "''", "[]", "{}"];

/// A text in quotes that says something, and a word, are at least so long.
const SHORTEST_TEXT: usize = 4;
const SHORTEST_WORD: usize = 3;

/// The places at which a change's new lines hold an input and the expected value of one test.
pub(super) fn remarks(changes: &[Change], bodies: &Bodies) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    for change in changes.iter().filter(|change| change.after.is_some() && !change.may_edit_tests) {
        let added = added_lines(change);
        if let Some(lines) = bodies.tests.iter().find_map(|test| {
            // A file with its tests inside holds their values anyway.
            let source = bodies.source(test).filter(|source| source.path() != change.path)?;
            let expected: BTreeSet<&str> = rounds::expected(source, test).into_iter().collect();
            let inputs = source.literals(&test.body);
            let is_inside = |value: &str| stands_inside(value, &inputs, &expected);
            let others = inputs
                .iter()
                .filter(|value| !expected.contains(*value) && !is_inside(value) && !COMMON.contains(value));
            let with_input: BTreeSet<u32> = others.into_iter().flat_map(|value| lines_with(&added, value)).collect();
            // `exit(0)` says something of an input on its line, or on the one before, alone.
            let is_meant = |value: &str, line: u32| {
                !COMMON.contains(&value) || with_input.contains(&line) || with_input.contains(&line.saturating_sub(1))
            };
            let found = |value| lines_with(&added, value).filter(move |line| is_meant(value, *line));
            let with_expected: Vec<u32> = expected.iter().flat_map(|value| found(value)).collect();
            nearest(&with_input, &with_expected)
        }) {
            let (kind, file) = (RemarkKind::HoldsExpectation, change.path.clone());
            remarks.push(Remark { kind, file, lines: Some(lines), said: None });
        }
    }
    remarks.extend(changes.iter().filter_map(|change| own_name(change, bodies)));
    remarks
}

/// Whether a value of a test stands nowhere but inside of what is expected: the number of `{ status: 404 }` is no input.
fn stands_inside(value: &str, literals: &[&str], expected: &BTreeSet<&str>) -> bool {
    let holding = expected.iter().filter(|whole| holds(whole, value));
    let inside: usize = holding.map(|whole| whole.matches(value).count()).sum();
    inside > 0 && literals.iter().filter(|other| **other == value).count() <= inside
}

/// The lines to look at: the input and the expected value that stand nearest to each other, or the expected value alone where the input is far
/// away.
fn nearest(inputs: &BTreeSet<u32>, expected: &[u32]) -> Option<(u32, u32)> {
    /// A reader still sees both as one place.
    const NEAR: u32 = 4;
    let pairs = expected.iter().flat_map(|&value| inputs.iter().map(move |&input| (value, input)));
    let (value, input) = pairs.min_by_key(|(value, input)| value.abs_diff(*input))?;
    Some(if value.abs_diff(input) <= NEAR { (value.min(input), value.max(input)) } else { (value, value) })
}

/// The place at which a change's new lines hold, as a text, the name of something that a file of tests defines for itself.
fn own_name(change: &Change, bodies: &Bodies) -> Option<Remark> {
    if change.after.is_none() || change.may_edit_tests || bodies.sources.iter().any(|one| one.path() == change.path) {
        return None;
    }
    let added = added_lines(change);
    let of_failed = bodies.tests.iter().filter_map(|test| bodies.source(test));
    let names: BTreeSet<String> = of_failed
        .filter_map(|source| Outline::read(source.path(), source.text()))
        .flat_map(|outline| outline.definitions().iter().map(|one| one.name.clone()).collect::<Vec<_>>())
        .filter(|name| name.len() >= SHORTEST_TEXT)
        .collect();
    let before = change.before.as_deref().unwrap_or_default();
    let held = |line: &str, name: &str| ["\"", "'"].iter().any(|quote| line.contains(&format!("{quote}{name}{quote}")));
    names.iter().filter(|name| !before.contains(name.as_str())).find_map(|name| {
        let (line, _) = added.iter().find(|(_, line)| held(line, name))?;
        let (kind, file, lines) = (RemarkKind::HoldsExpectation, change.path.clone(), Some((*line, *line)));
        Some(Remark { kind, file, lines, said: Some(format!("`{name}`")) })
    })
}

/// The numbers of the lines that hold a value.
fn lines_with<'a>(lines: &'a [(u32, String)], value: &'a str) -> impl Iterator<Item = u32> + 'a {
    lines.iter().filter(move |(_, line)| holds(line, value)).map(|(number, _)| *number)
}

/// The places at which a change's new lines hold both what a file of tests expects and what it passes in, where no test's body is known.
pub(super) fn remarks_by_text(changes: &[Change], judges: &[String]) -> Vec<Remark> {
    let told: Vec<Told> = judges.iter().map(|text| told(text)).collect();
    let changed = changes.iter().filter(|change| change.after.is_some() && !change.may_edit_tests);
    let remark = |change: &Change| {
        let added = added_lines(change);
        let line = told.iter().find_map(|told| held_by(&added, told))?;
        let (kind, file) = (RemarkKind::HoldsExpectation, change.path.clone());
        Some(Remark { kind, file, lines: Some((line, line)), said: None })
    };
    changed.filter_map(remark).collect()
}

/// The words of a file of tests in an unknown language: texts in quotes, and single words outside of them that are passed to something.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) quoted: BTreeSet<String>,
    pub(super) passed: BTreeSet<String>,
}

pub(super) fn told(text: &str) -> Told {
    let mut told = Told::default();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let mut rest = line;
        let mut outside = String::new();
        while let Some(at) = rest.find(['"', '\'']) {
            let (plain, from) = rest.split_at(at);
            outside.push_str(plain);
            let mut inside = from.chars();
            let quote = inside.next().unwrap_or('"');
            // A quote that does not end on its line is an apostrophe, or a text of several lines.
            let Some((value, after)) = inside.as_str().split_once(quote) else { break };
            // What holds variables is put together only when it runs.
            if value.len() >= SHORTEST_TEXT && !value.contains(['$', '`']) && value.contains(char::is_alphanumeric) {
                told.quoted.insert(value.to_owned());
            }
            // Keeps the words before and behind the text apart.
            outside.push_str(" ; ");
            rest = after;
        }
        outside.push_str(rest);
        let mut before: Option<&str> = None;
        for word in outside.split_whitespace() {
            let bare = word.trim_end_matches([')', ';', ',']);
            let is_plain = bare.len() >= SHORTEST_WORD && bare.chars().all(char::is_alphanumeric);
            if is_plain && before.is_some_and(|before| before.ends_with(char::is_alphanumeric)) {
                told.passed.insert(bare.to_owned());
            }
            before = Some(word);
        }
    }
    told
}

/// The line that holds what is expected, where the new lines hold a word that is passed in beside it.
fn held_by(added: &[(u32, String)], told: &Told) -> Option<u32> {
    let mut expected = told.quoted.iter().filter_map(|value| {
        let (number, _) = added.iter().find(|(_, line)| line.contains(value.as_str()))?;
        let holds_input = |line: &str| {
            let beside = line.replace(value.as_str(), " ; ");
            told.passed.iter().any(|word| holds(&beside, word))
        };
        added.iter().any(|(_, line)| holds_input(line)).then_some(*number)
    });
    expected.next()
}

/// Whether a line holds a value as a whole. Blanks and the sort of quotes make no difference.
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
    use super::*;

    #[test]
    fn a_file_without_known_tests_says_what_it_passes_and_expects() {
        let told = told(
            "# not \"this one\"\nsaid=$(sh bin/greet.sh Ada)\n[ \"$said\" = \"Hello, Ada\" ] || { echo \"said $said\"; exit 1; }\n",
        );
        assert_eq!(told.quoted.iter().collect::<Vec<_>>(), ["Hello, Ada"]);
        assert!(told.passed.contains("Ada"), "{told:?}");
        let line = |text: &str| vec![(1, text.to_owned())];
        assert_eq!(held_by(&line("Ada,Hello, Ada"), &told), Some(1));
        assert_eq!(held_by(&line("echo \"Hello, $1\""), &told), None);
        assert_eq!(held_by(&line("echo \"Hello, Ada\""), &told), None);
    }

    #[test]
    fn a_part_of_what_is_expected_is_no_input_unless_it_is_passed_in_too() {
        let expected = BTreeSet::from(["{ status: 404, text: 'no' }"]);
        assert!(stands_inside("404", &["'/a'", "404", "'no'"], &expected));
        assert!(stands_inside("'no'", &["'/a'", "404", "'no'"], &expected));
        assert!(!stands_inside("404", &["404", "404", "'no'"], &expected), "it is passed in");
        assert!(!stands_inside("40", &["40", "404", "'no'"], &expected));
    }

    #[test]
    fn the_lines_to_look_at_are_those_in_which_both_stand() {
        let inputs = BTreeSet::from([3, 40]);
        assert_eq!(nearest(&inputs, &[12, 41]), Some((40, 41)));
        assert_eq!(nearest(&inputs, &[3]), Some((3, 3)));
        assert_eq!(nearest(&inputs, &[20]), Some((20, 20)));
        assert_eq!(nearest(&BTreeSet::new(), &[20]), None);
    }

    #[test]
    fn a_value_is_held_as_a_whole() {
        assert!(holds("if name == 'Ada': return \"x\"", "\"Ada\""));
        assert!(holds("    [1, 2,3]: 6", "[1, 2, 3]") && holds("    [1, 2,3]: 6", "6"));
        assert!(holds("        return 6", "6"));
        assert!(!holds("total = 16 + 6.5", "6") && !holds("x6", "6"));
    }
}
