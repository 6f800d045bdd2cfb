//! The tests with other values of which it is known how the answer must follow, so that they can still pass: other numbers in the same
//! order where the answer is a choice or an order of them, and a text twice where the start treats both halves alike.
//!
//! Each has its control. Numbers of as many digits must pass over the change, so that a limit, or a count, among the test's own numbers is
//! no fault. A text twice must have twice the start's answer over the start. It leaves a remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::court::Court;
use super::other_inputs::names_an_error;
use super::outcome::{self, Shown};
use super::rounds;
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::framework::source::{Edit, Numbers};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::test_run::TestRun;

/// Whether a test, by its number, fails in certain words.
pub(super) type Says<'s> = &'s dyn Fn(usize, &str) -> bool;

/// Treated tests, by their number.
pub(super) type Treated = BTreeMap<usize, Vec<Edit>>;

impl Court<'_> {
    /// Tries the tests with values from which the answer must follow.
    pub(super) async fn relations(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        self.other_numbers().await?;
        self.twice(changes).await
    }

    async fn other_numbers(&mut self) -> Result<(), TrialError> {
        let tree: TreeId = self.tree.clone();
        for (numbers, said) in [
            (Numbers::Longer, "other numbers in the same order, some longer than others"),
            (Numbers::Decimal, "other numbers in the same order, with decimals"),
        ] {
            let treated = self.with_numbers(numbers, None);
            // To refuse a value is an answer, too.
            let failing = self.that_show(&tree, &treated, (Shown::Failed, &|_, said| !names_an_error(said))).await?;
            let control = self.with_numbers(Numbers::Alike, Some(&failing));
            let held = self.that_show(&tree, &control, (Shown::Passed, &|_, _| true)).await?;
            for test in &held {
                self.remark_of_values(*test, format!("it fails with {said}"));
            }
            // One sort of numbers is enough for a reviewer.
            if !held.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn with_numbers(&self, numbers: Numbers, only: Option<&[usize]>) -> Treated {
        let tests = self.bodies.tests.iter().enumerate();
        let meant = tests.filter(|(at, _)| only.is_none_or(|only| only.contains(at)));
        let treat = |(at, test)| {
            let source = self.bodies.source(test)?;
            Some((at, source.with_numbers(&test.body, &rounds::decisive(source, test), numbers)?))
        };
        meant.filter_map(treat).collect()
    }

    async fn twice(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let (mut texts, mut half_mended) = (BTreeMap::new(), BTreeMap::new());
        let (mut right, mut as_it_was) = (Treated::new(), Treated::new());
        for (at, test) in self.bodies.tests.iter().enumerate() {
            let source = self.bodies.source_left_alone(test, changes);
            let (Some(source), Some(said)) = (source, test.said.as_deref()) else { continue };
            if let Some(twice) = source.twice(&test.body, &rounds::decisive(source, test), said) {
                texts.insert(at, twice.text);
                half_mended.insert(at, twice.half_mended);
                right.insert(at, twice.right);
                as_it_was.insert(at, twice.as_it_was);
            }
        }
        // One half as it should be and the other as it was is the fault that is looked for: a whole text may be written otherwise than its parts.
        let mends_half = |at: usize, said: &str| {
            half_mended.get(&at).is_some_and(|halves| halves.iter().any(|half| said.contains(half)))
        };
        let failing = self.that_show(&tree, &right, (Shown::Failed, &mends_half)).await?;
        as_it_was.retain(|at, _| failing.contains(at));
        for test in self.that_show(&start, &as_it_was, (Shown::Passed, &|_, _| true)).await? {
            let text = texts.get(&test).cloned().unwrap_or_default().replace('`', "'");
            self.remark_of_values(test, format!("it fails with `{text}` twice"));
        }
        Ok(())
    }

    /// The tests that show this when they are treated. Those that fail do so in certain words.
    pub(super) async fn that_show(
        &mut self,
        base: &TreeId,
        treated: &Treated,
        (shown, says): (Shown, Says<'_>),
    ) -> Result<Vec<usize>, TrialError> {
        let Some(run) = self.run_treated(base, treated).await? else { return Ok(Vec::new()) };
        let shows = |test: &usize| {
            let located = self.bodies.tests.get(*test)?;
            let source = self.bodies.source(located)?;
            let mut failing = run.report.failing().filter(|one| source.is_called(&located.body, &one.name));
            let says = shown == Shown::Passed || failing.any(|one| says(*test, &one.message));
            (outcome::of(&run, source, located) == shown && says).then_some(*test)
        };
        Ok(treated.keys().filter_map(shows).collect())
    }

    /// The tests that failed at the start, some of them treated. `None` where nothing ran.
    pub(super) async fn run_treated(
        &mut self,
        base: &TreeId,
        treated: &Treated,
    ) -> Result<Option<TestRun>, TrialError> {
        if treated.is_empty() {
            return Ok(None);
        }
        let mut texts = BTreeMap::new();
        for (at, source) in self.bodies.sources.iter().enumerate() {
            let is_inside = |test: &usize| self.bodies.tests.get(*test).is_some_and(|test| test.source == at);
            let edits = treated.iter().filter(|(test, _)| is_inside(test)).flat_map(|(_, edits)| edits.iter().cloned());
            let edits: Vec<Edit> = edits.collect();
            if !edits.is_empty()
                && let Some(text) = source.edited(&edits)
            {
                texts.insert(source.path().to_owned(), text);
            }
        }
        if texts.is_empty() {
            return Ok(None);
        }
        Ok(self.of_failed_on(base, &texts).await?.filter(|run| !outcome::did_not_run(run)))
    }

    pub(super) fn remark_of_values(&mut self, test: usize, said: String) {
        let Some(located) = self.bodies.tests.get(test) else { return };
        let file = self.bodies.source(located).map(|source| source.path().to_owned()).unwrap_or_default();
        let (kind, lines) = (RemarkKind::FailsForOthers, Some(located.body.lines));
        self.remarks.push(Remark { kind, file, lines, said: Some(said) });
    }
}
