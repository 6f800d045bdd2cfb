//! Experiments on the change as a whole: whether files that judge were left alone, and whether the tests fail without it.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::court::Court;
use crate::domain::proof::EvidenceKind;
use crate::domain::test_report::RunKind;

/// Whether files of the start could not be loaded.
const fn does_not_load(kind: RunKind) -> bool {
    matches!(kind, RunKind::CompileError | RunKind::CollectionError | RunKind::ImportError)
}

impl Court<'_> {
    /// How many tests failed at the start. The command stands for a failure without a name.
    pub(super) fn all(&self) -> u32 {
        u32::try_from(self.baseline.failing.len().max(1)).unwrap_or(u32::MAX)
    }

    /// Asks which files that judge changed in the green run. An accusation is seen twice.
    pub(super) async fn look_at_judges(&mut self, stirred: Option<&[String]>) -> Result<(), TrialError> {
        let again = match stirred {
            Some(stirred) if !stirred.is_empty() => self.runs.watch(self.tree).await?,
            Some(_) | None => None,
        };
        let all = self.all();
        let tally = self.tally.entry(EvidenceKind::Untouched).or_default();
        let Some(stirred) = stirred else {
            tally.not_had.push("it is not known which files the tests change by themselves".to_owned());
            return Ok(());
        };
        tally.tried = all;
        match again {
            None if stirred.is_empty() => tally.noticed = all,
            None => (tally.tried, tally.out_of_time) = (0, true),
            Some(again) => {
                // A file that changed in one of two runs alone may be somebody's at work.
                tally.accused = stirred.iter().filter(|file| again.contains(file)).cloned().collect();
                tally.noticed = if tally.accused.is_empty() { all } else { 0 };
            }
        }
        Ok(())
    }

    /// Without the change, the tests must fail again.
    pub(super) async fn counter(&mut self) -> Result<(), TrialError> {
        let all = self.all();
        let wanted = self.baseline.failing.join("\n");
        for last in [false, true] {
            // Over the start, files may not load: a run that says nothing by name is taken for what its exit says.
            // What passes so is seen again among all tests: another one may leave what it fails by.
            let run = if last {
                self.runs.whole(self.start, &BTreeMap::new()).await?
            } else {
                self.runs.run(self.start, &BTreeMap::new(), &wanted, &|_| true).await?
            };
            let Some(run) = run else {
                self.tally.entry(EvidenceKind::Counter).or_default().out_of_time = true;
                return Ok(());
            };
            let failing: Vec<&str> = run.report.failing().map(|test| test.name.as_str()).collect();
            // A pipe or `|| true` in the command hides the exit of the tests, and names them all the same.
            let red = !run.exit.is_success() || !failing.is_empty() || does_not_load(run.report.kind);
            let silent: Vec<String> = if red && failing.is_empty() {
                Vec::new()
            } else if !red && self.baseline.failing.is_empty() {
                // No test had a name at the start: the command as a whole failed.
                vec![self.runs.bench.tests.command.clone()]
            } else if red {
                // In TAP many tests have one name: one of them that fails is enough.
                let passes = |name: &&String| {
                    !failing.contains(&name.as_str())
                        && run.report.passing_names().any(|passing| passing == name.as_str())
                };
                self.baseline.failing.iter().filter(passes).cloned().collect()
            } else {
                // What is not there without the change does not pass there.
                let is_there = |name: &&String| {
                    !self.baseline.absent.contains(*name)
                        || run.report.passing_names().any(|passing| passing == name.as_str())
                };
                self.baseline.failing.iter().filter(is_there).cloned().collect()
            };
            if silent.is_empty() || last {
                let tally = self.tally.entry(EvidenceKind::Counter).or_default();
                tally.tried = all;
                tally.noticed = tally.tried.saturating_sub(u32::try_from(silent.len()).unwrap_or(u32::MAX));
                tally.accused = silent;
                return Ok(());
            }
        }
        Ok(())
    }
}
