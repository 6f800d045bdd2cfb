//! A command's tests with a text twice, where no test's body is known: a text that is passed in, beside the one that is expected of it. What
//! mends one half of it, and not the other, mends what comes first. It leaves a remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::court::Court;
use super::{bodies, outcome};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::policy::guard::Guard;

/// Pairs that are tried at most.
const MOST_PAIRS: usize = 2;
/// A text has at least so many characters.
const SHORTEST: usize = 4;
/// An end of a line, as a shell's `printf` is given it.
const END: &str = "\\n";

impl Court<'_> {
    /// Tries a command's tests with a text twice.
    pub(super) async fn texts_twice(&mut self) -> Result<(), TrialError> {
        if !self.bodies.tests.is_empty() || !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let mut tried = 0;
        for (path, text) in bodies::files_of_tests(self.runs.bench, self.start)? {
            for (passed, expected) in pairs(&text) {
                tried += 1;
                if tried > MOST_PAIRS {
                    return Ok(());
                }
                let twice = |text: &str| format!("{text}{text}");
                let with = |answer: &str| {
                    let text = text.replace(passed, &twice(passed));
                    BTreeMap::from([(path.clone(), text.replace(expected, answer))])
                };
                let Some(right) = self.runs.whole(&tree, &with(&twice(expected))).await? else { return Ok(()) };
                let half = [format!("{expected}{passed}"), format!("{passed}{expected}")];
                if right.exit.is_success()
                    || outcome::did_not_run(&right)
                    || !half.iter().any(|half| right.output.contains(half))
                {
                    continue;
                }
                // What the start hands on as it is, it hands on twice.
                let Some(was) = self.runs.whole(&start, &with(&twice(passed))).await? else { return Ok(()) };
                if was.exit.is_success() {
                    let said = format!("it fails with `{}` twice", passed.replace('`', "'"));
                    let (kind, file) = (RemarkKind::FailsForOthers, path.clone());
                    self.remarks.push(Remark { kind, file, lines: None, said: Some(said) });
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// The texts in quotes that begin and end alike, and differ between: one is the other's answer.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut quoted: Vec<&str> = Vec::new();
    for line in text.lines() {
        for quote in ['"', '\''] {
            // Every second part stands between two quotes.
            let inside = line.split(quote).skip(1).step_by(2);
            quoted.extend(inside.map(|text| text.strip_suffix(END).unwrap_or(text)));
        }
    }
    let is_text = |text: &&str| {
        text.len() >= SHORTEST && text.contains(char::is_alphabetic) && !text.contains(['$', '`', '\\', '"', '\''])
    };
    quoted.retain(is_text);
    quoted.dedup();
    let alike = |one: &str, other: &str| {
        one != other
            && one.chars().next() == other.chars().next()
            && one.chars().next_back() == other.chars().next_back()
            && other.len() > one.len()
            && !other.contains(one)
    };
    let mut found = Vec::new();
    for one in &quoted {
        found.extend(quoted.iter().filter(|other| alike(one, other)).map(|other| (*one, *other)));
    }
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_and_its_answer_are_a_pair() {
        let text = "said=$(printf 'fish & chips\\n' | sh a.sh)\n[ \"$said\" = \"fish &amp; chips\" ] || exit 1\n";
        assert_eq!(pairs(text), [("fish & chips", "fish &amp; chips")]);
        assert!(pairs("sh a.sh 'Ada' \"Bo\" 'Ada Lovelace'\n").is_empty());
    }
}
