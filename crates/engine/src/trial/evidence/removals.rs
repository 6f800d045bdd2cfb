//! Statements that the change takes out (a check, a lock, a wait, a call) and values that it sets otherwise beside other lines, each put back
//! alone into the changed product: where all tests still pass, none of them asked for it to be gone. It leaves a remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::choices::is_green;
use super::court::Court;
use super::outcome;
use crate::domain::remark::{Remark, RemarkKind};
use crate::framework::source::removed::{Removed, removed, replaced};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::test_run::TestRun;

/// Statements that are tried at most.
const MOST_TRIED: usize = 6;
/// Remarks that are left at most.
const MOST_REMARKS: usize = 3;

impl Court<'_> {
    /// Puts back what the change takes out, one statement after another.
    pub(super) async fn removals(&mut self, green: &TestRun, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::Choices) {
            return Ok(());
        }
        let product = changes.iter().filter(|change| !change.may_edit_tests && !self.is_judge(&change.path));
        let gone: Vec<(&str, Removed)> = product
            .filter_map(|change| Some((change.path.as_str(), change.before.as_deref()?, change.after.as_deref()?)))
            .flat_map(|(path, before, after)| {
                let gone = removed(path, before, after).into_iter().chain(replaced(path, before, after));
                gone.map(move |one| (path, one))
            })
            .take(MOST_TRIED)
            .collect();
        // A lock may be one that nobody gives back.
        self.runs.hurry(true);
        let tried = self.put_back(green, gone).await;
        self.runs.hurry(false);
        tried
    }

    async fn put_back(&mut self, green: &TestRun, gone: Vec<(&str, Removed)>) -> Result<(), TrialError> {
        let mut remarks = 0;
        for (path, one) in gone {
            let texts = BTreeMap::from([(path.to_owned(), one.text)]);
            let Some(run) = self.of_failed(&texts).await? else { return Ok(()) };
            if outcome::did_not_run(&run) || !is_green(&run, green) {
                continue;
            }
            let Some(run) = self.runs.whole(self.tree, &texts).await? else { return Ok(()) };
            // With fewer tests than before nobody knows what the others would say.
            if outcome::did_not_run(&run) || !is_green(&run, green) || run.report.passed != green.report.passed {
                continue;
            }
            let said = Some(format!("`{}`", one.spelled.replace('`', "'")));
            let (kind, lines) = (RemarkKind::RemovalNotNeeded, Some((one.line, one.line)));
            self.remarks.push(Remark { kind, file: path.to_owned(), lines, said });
            remarks += 1;
            if remarks == MOST_REMARKS {
                break;
            }
        }
        Ok(())
    }
}
