//! The tests with the lines of their data files in another order, where the start's answer is a number that follows those lines and not their
//! order: a change whose answer hangs on the order counts places, and not what stands there. It leaves a remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::bodies::{self, Located};
use super::court::Court;
use super::other_inputs::{lines, names_an_error};
use super::rounds;
use crate::domain::units::TreeId;
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;

/// Files that are tried at most.
const MOST_FILES: usize = 2;
/// Files of data end so.
const OF_DATA: [&str; 6] = ["csv", "tsv", "txt", "jsonl", "ndjson", "log"];

/// Words of the tests that fail, by their numbers.
type Words = BTreeMap<usize, Vec<String>>;

impl Court<'_> {
    /// Tries the tests with their data in another order.
    pub(super) async fn order(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        let is_changed = |path: &str| changes.iter().any(|change| change.path == path);
        let files = bodies::files_of_tests(self.runs.bench, self.start)?;
        let is_data = |path: &str| OF_DATA.contains(&path.rsplit('.').next().unwrap_or_default());
        let files = files.into_iter().filter(|(path, _)| is_data(path) && !is_changed(path));
        let read: Vec<(String, String)> = files.filter(|(path, _)| !self.readers(path).is_empty()).collect();
        for (path, text) in read.into_iter().take(MOST_FILES) {
            self.order_of(&path, &text).await?;
        }
        Ok(())
    }

    async fn order_of(&mut self, path: &str, text: &str) -> Result<(), TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let (Some(other), Some(fewer)) = (in_other_order(text), without_last(text)) else { return Ok(()) };
        let mut tests = self.readers(path);
        let own: Words = tests.iter().filter_map(|test| Some((*test, self.said_at_the_start(*test)?))).collect();
        tests.retain(|test| own.contains_key(test));
        for (base, text, is_meant) in [
            // What passes in another order needs no control.
            (&tree, &other, None),
            (&start, &other, Some(true)),
            (&start, &fewer, Some(false)),
            (&tree, &other, None),
        ] {
            if tests.is_empty() {
                return Ok(());
            }
            let texts = BTreeMap::from([(path.to_owned(), text.clone())]);
            let Some(run) = self.of_failed_on(base, &texts).await? else { return Ok(()) };
            let said = |test: &usize| {
                let located = self.bodies.tests.get(*test)?;
                let source = self.bodies.source(located)?;
                let mut failing = run.report.failing().filter(|one| source.is_called(&located.body, &one.name));
                failing.next().map(|one| words(&one.message)).filter(|_| !names_an_error(&run.output))
            };
            tests.retain(|test| match (said(test), is_meant) {
                (Some(said), Some(is_same)) => (own.get(test) == Some(&said)) == is_same,
                (Some(_), None) => true,
                (None, _) => false,
            });
        }
        for test in tests {
            let said = format!(
                "it fails where the lines of `{path}` stand in another order, which made no difference without the change"
            );
            self.remark_of_values(test, said);
        }
        Ok(())
    }

    /// The tests in whose file a file of data is named, and which expect a number.
    fn readers(&self, path: &str) -> Vec<usize> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let reads = |test: &Located| {
            let source = self.bodies.source(test)?;
            let expected = rounds::expected(source, test);
            let is_number = !expected.is_empty() && expected.iter().all(|value| value.parse::<f64>().is_ok());
            (is_number && source.text().contains(name)).then_some(())
        };
        self.bodies.tests.iter().enumerate().filter_map(|(at, test)| reads(test).map(|()| at)).collect()
    }

    fn said_at_the_start(&self, test: usize) -> Option<Vec<String>> {
        let said = self.bodies.tests.get(test)?.said.as_deref()?;
        (!names_an_error(said)).then(|| words(said))
    }
}

fn words(message: &str) -> Vec<String> {
    lines(message).map(|line| line.trim().to_owned()).collect()
}

/// The text with its last line first.
fn in_other_order(text: &str) -> Option<String> {
    let mut all: Vec<&str> = text.lines().collect();
    // A last line that stands elsewhere as well would hardly make another order.
    let last = all.pop().filter(|last| all.len() > 1 && !all.contains(last))?;
    all.insert(0, last);
    Some(format!("{}\n", all.join("\n")))
}

/// The text without its last line.
fn without_last(text: &str) -> Option<String> {
    let mut all: Vec<&str> = text.lines().collect();
    all.pop().filter(|last| !last.trim().is_empty())?;
    Some(format!("{}\n", all.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_in_another_order_or_are_fewer() {
        assert_eq!(in_other_order("a;1\nb;2\nc;3\n").as_deref(), Some("c;3\na;1\nb;2\n"));
        assert_eq!(in_other_order("a\nb\n").as_deref(), None);
        assert_eq!(in_other_order("a\nb\na\n").as_deref(), None);
        assert_eq!(without_last("a\nb\n").as_deref(), Some("a\n"));
    }
}
