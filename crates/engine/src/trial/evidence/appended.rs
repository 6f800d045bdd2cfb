//! A failure for tests whose bodies are not found: a failing test is added to their files, or a failing command to a script.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::court::Court;
use super::{bodies, outcome, tally};
use crate::domain::proof::EvidenceKind;
use crate::domain::units::TreeId;
use crate::framework::source::appended;
use crate::test_run::TestRun;

/// Files that are changed at most.
const MOST_FILES: usize = 8;

impl Court<'_> {
    /// Adds a failing test to the files that judge, all at once: the suite must fail.
    pub(super) async fn append(&mut self) -> Result<(), TrialError> {
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let texts = self.with_a_failing_test(&word)?;
        if texts.is_empty() {
            let tally = self.tally.entry(EvidenceKind::Poisoned).or_default();
            tally.not_had.push("no file of tests was found to which a failing one could be added".to_owned());
            return Ok(());
        }
        // What accuses is seen twice.
        for last in [false, true] {
            let Some(run) = self.runs.whole(self.tree, &texts).await? else { return self.out_of_time() };
            if !run.exit.is_success() {
                let noticed = says(&run, &word) && !outcome::did_not_run(&run);
                self.end(noticed.then_some(true), "the changed tests do not run");
                return Ok(());
            }
            if last {
                break;
            }
        }
        let start: TreeId = self.start.clone();
        // The control: over the start the same failing test has to be reported, in its own word.
        let Some(control) = self.runs.whole(&start, &texts).await? else { return self.out_of_time() };
        let held = !control.exit.is_success() && says(&control, &word);
        self.end(
            held.then_some(false),
            "a failing test that is added to the start's files is not reported there either",
        );
        Ok(())
    }

    fn out_of_time(&mut self) -> Result<(), TrialError> {
        self.tally.entry(EvidenceKind::Poisoned).or_default().out_of_time = true;
        Ok(())
    }

    /// Tallies whether it was noticed, or why that is not known.
    fn end(&mut self, noticed: Option<bool>, why_not: &str) {
        let all = self.all();
        let command = self.runs.bench.tests.command.clone();
        let tally = self.tally.entry(EvidenceKind::Poisoned).or_default();
        match noticed {
            Some(true) => (tally.tried, tally.noticed) = (all, all),
            Some(false) => {
                tally.tried = all;
                tally.accused.push(command);
            }
            None => tally.not_had.push(why_not.to_owned()),
        }
    }

    /// The files of tests in which one failed, or all where none is named, each with a failing test.
    fn with_a_failing_test(&self, word: &str) -> Result<BTreeMap<String, String>, TrialError> {
        let bench = self.runs.bench;
        // What judges is the start's in both trees.
        let texts = bodies::files_of_tests(bench, self.start)?;
        let failing = texts.iter().filter_map(|(path, text)| Some((path, appended::failing(path, text, word)?)));
        let (named, others): (Vec<_>, Vec<_>) = failing.partition(|(path, _)| bench.is_named(path));
        let chosen = if named.is_empty() { others } else { named };
        Ok(chosen.into_iter().take(MOST_FILES).map(|(path, text)| (path.clone(), text)).collect())
    }
}

fn says(run: &TestRun, word: &str) -> bool {
    run.output.contains(word)
        || run.report.failing().any(|test| test.name.contains(word) || test.message.contains(word))
}
