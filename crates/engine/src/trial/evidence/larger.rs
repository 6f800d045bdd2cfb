//! The tests with numbers in their calls a hundred times as large, and more. Where the start's answer grows with them and the change's answer
//! falls far behind it, though it was no less for the test's own numbers, the change is right for small numbers alone. It leaves a remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::court::Court;
use super::relations::Treated;
use super::rounds;
use crate::domain::units::TreeId;
use crate::framework::source::{Larger, answer};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;

/// How many times as large the numbers are.
const TIMES: [u64; 2] = [100, 100_000];
/// An answer grows with its numbers where it is so many times as large for numbers a hundred times as large.
const GROWS: f64 = 10.0;
/// An answer is far behind another where it is less than this part of it.
const FAR_BEHIND: f64 = 0.5;

/// Answers by the tests' numbers.
type Answers = BTreeMap<usize, f64>;

impl Court<'_> {
    /// Tries the tests with larger numbers.
    pub(super) async fn larger_numbers(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        // A program may take far longer for larger numbers.
        self.runs.hurry(true);
        let tried = self.with_larger_numbers(changes).await;
        self.runs.hurry(false);
        tried
    }

    async fn with_larger_numbers(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let mut own = self.own_answers(changes);
        for times in TIMES {
            let mut larger = self.with_numbers_of(changes, times);
            larger.retain(|test, _| own.contains_key(test));
            let before = self.answers(&start, &larger).await?;
            own.retain(|test, (was, _)| before.get(test).is_some_and(|now| *now >= *was * GROWS));
            larger.retain(|test, _| own.contains_key(test));
            let behind = |after: &Answers, test: &usize| {
                before.get(test).zip(after.get(test)).is_some_and(|(was, is)| *is < *was * FAR_BEHIND)
            };
            let after = self.answers(&tree, &larger).await?;
            larger.retain(|test, _| behind(&after, test));
            let again = self.answers(&tree, &larger).await?;
            // Twice the same answer, so that chance has no part in it.
            for test in larger.into_keys().filter(|test| behind(&again, test) && after.get(test) == again.get(test)) {
                let told = |answers: &Answers| answers.get(&test).copied().unwrap_or_default();
                let said = format!(
                    "with its numbers {times} times as large the answer is {}, and was {} without the change",
                    told(&after),
                    told(&before)
                );
                self.remark_of_values(test, said);
                own.remove(&test);
            }
            for (test, (was, _)) in &mut own {
                // The next step is measured by the answers to this one.
                *was = before.get(test).copied().unwrap_or(*was);
            }
        }
        Ok(())
    }

    /// The answers for the tests' own numbers: at the start, and as they should be. Those that are no less with the change alone.
    fn own_answers(&self, changes: &[Change]) -> BTreeMap<usize, (f64, f64)> {
        let answers = |(test, larger): (usize, Larger)| {
            let located = self.bodies.tests.get(test)?;
            let source = self.bodies.source(located)?;
            let written = rounds::expected(source, located).first().copied()?.to_owned();
            let was = answer(&written, located.said.as_deref()?)?;
            (was > 0.0 && larger.expected >= was).then_some((test, (was, larger.expected)))
        };
        self.with_numbers_of(changes, 1).into_iter().filter_map(answers).collect()
    }

    fn with_numbers_of(&self, changes: &[Change], times: u64) -> BTreeMap<usize, Larger> {
        let names = self.definitions(changes);
        let is_meant = |name: &str| names.get(name).is_some_and(|(_, one)| !one.is_container);
        let with = |(at, test): (usize, &super::bodies::Located)| {
            let source = self.bodies.source_left_alone(test, changes)?;
            Some((at, source.larger(&test.body, &rounds::decisive(source, test), &is_meant, times)?))
        };
        self.bodies.tests.iter().enumerate().filter_map(with).collect()
    }

    /// The answers that the treated tests report.
    async fn answers(&mut self, base: &TreeId, larger: &BTreeMap<usize, Larger>) -> Result<Answers, TrialError> {
        let treated: Treated = larger.iter().map(|(test, one)| (*test, one.edits.clone())).collect();
        let Some(run) = self.run_treated(base, &treated).await? else { return Ok(Answers::new()) };
        let told = |(test, one): (&usize, &Larger)| {
            let located = self.bodies.tests.get(*test)?;
            let source = self.bodies.source(located)?;
            let mut failing = run.report.failing().filter(|one| source.is_called(&located.body, &one.name));
            Some((*test, failing.find_map(|failed| answer(&one.far, &failed.message))?))
        };
        Ok(larger.iter().filter_map(told).collect())
    }
}
