//! The tests of a command line with another option in the place of one that the changed files do not name: where they pass all the same, the
//! program does for any option what it should do for this one. It leaves a remark.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::bench::TrialError;
use super::choices::is_green;
use super::court::Court;
use super::{bodies, outcome, tally};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::policy::guard::Guard;
use crate::test_run::TestRun;

/// Options that are tried at most.
const MOST_OPTIONS: usize = 3;
const SHORTEST_OPTION: usize = 5;

impl Court<'_> {
    /// Tries the tests with other options.
    pub(super) async fn other_options(&mut self, green: &TestRun) -> Result<(), TrialError> {
        if !self.bodies.tests.is_empty() || !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        let mut texts = bodies::files_of_tests(self.runs.bench, self.start)?;
        // The options in other tests than those that failed are other tests' business, where it is known which these are.
        let failed_at: Vec<&str> = self.baseline.failed_at.values().map(|(file, _)| file.as_str()).collect();
        texts.retain(|(path, _)| failed_at.is_empty() || failed_at.iter().any(|file| Path::new(file).ends_with(path)));
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let named = |(_, text): &(String, String)| options(text).map(str::to_owned).collect::<Vec<_>>();
        let mut all: BTreeSet<String> = texts.iter().flat_map(named).collect();
        all.retain(|option| !self.bodies.means_something(option));
        for option in all.into_iter().take(MOST_OPTIONS) {
            let replaced = |(path, text): &(String, String)| {
                let other = replaced(text, &option, &format!("--{word}"));
                (other != *text).then(|| (path.clone(), other))
            };
            let others: BTreeMap<String, String> = texts.iter().filter_map(replaced).collect();
            let Some((file, _)) = others.first_key_value() else { continue };
            let Some(with) = self.runs.whole(&tree, &others).await? else { return Ok(()) };
            if outcome::did_not_run(&with) || !is_green(&with, green) {
                continue;
            }
            let Some(without) = self.runs.whole(&start, &others).await? else { return Ok(()) };
            // Tests that pass over the start, too, say nothing of the change.
            if without.exit.is_success() {
                continue;
            }
            // An option of another program, as in a tool's settings, is in a line that these tests do not need.
            let left_out = texts.iter().filter(|(path, _)| others.contains_key(path));
            let left_out = left_out.map(|(path, text)| (path.clone(), without_lines(text, &option))).collect();
            let Some(shorter) = self.runs.whole(&tree, &left_out).await? else { return Ok(()) };
            if !is_green(&shorter, green) {
                let said = format!("the tests pass with any other option in the place of `{option}`");
                let (kind, file) = (RemarkKind::UntestedChoice, file.clone());
                self.remarks.push(Remark { kind, file, lines: None, said: Some(said) });
            }
        }
        Ok(())
    }
}

/// The options that a text names.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| word.len() >= SHORTEST_OPTION && word.starts_with("--") && !word.starts_with("---"))
}

/// A text with another option in the place of one.
fn replaced(text: &str, option: &str, other: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(option) {
        whole.push_str(before);
        let is_inside = whole.ends_with(is_part) || after.starts_with(is_part);
        whole.push_str(if is_inside { option } else { other });
        rest = after;
    }
    whole.push_str(rest);
    whole
}

/// A text without the lines that name an option.
fn without_lines(text: &str, option: &str) -> String {
    text.split_inclusive('\n').filter(|line| replaced(line, option, "") == **line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_replaced_as_a_whole() {
        let text = "sh a.sh --name Ada --names x --no-name y\n# ----- a -b\n";
        assert_eq!(options(text).collect::<Vec<_>>(), ["--name", "--names", "--no-name"]);
        assert_eq!(replaced(text, "--name", "--q"), text.replace("--name Ada", "--q Ada"));
        assert_eq!(without_lines(text, "--name"), "# ----- a -b\n");
        assert_eq!(without_lines(text, "--nam"), text);
    }
}
