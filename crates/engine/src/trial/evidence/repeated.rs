//! The tests with their own list a thousand times, and twice, where the start's answer followed it. An answer that follows a short list and
//! not a long one has a limit that nobody asked for. One that stays, where it grew before, has lost what is there twice. It leaves a remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::court::Court;
use super::other_inputs::names_an_error;
use super::outcome::Shown;
use super::relations::Treated;
use super::rounds;
use crate::domain::units::TreeId;
use crate::framework::source::{Growth, Repeated};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;

/// A long list is so many times the test's own.
const MANY: usize = 1_000;

impl Court<'_> {
    /// Tries the tests with longer lists.
    pub(super) async fn repeated(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        // A product that takes far longer for a long list is no wrong one.
        self.runs.hurry(true);
        let tried = self.longer_lists(changes).await;
        self.runs.hurry(false);
        tried
    }

    async fn longer_lists(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let mut open: Vec<usize> = (0..self.bodies.tests.len()).collect();
        for growth in [Growth::Stays, Growth::Whole, Growth::Each] {
            let long = self.with_lists(changes, &open, (growth, MANY));
            let as_it_was = long.iter().map(|(at, one)| (*at, one.as_it_was.clone())).collect();
            let follows = self.that_show(&start, &as_it_was, (Shown::Passed, &|_, _| true)).await?;
            open.retain(|test| !follows.contains(test));
            let short = right(self.with_lists(changes, &follows, (growth, 2)));
            let (short, lost): (Vec<usize>, Vec<usize>) = {
                let passing = self.that_show(&tree, &short, (Shown::Passed, &|_, _| true)).await?;
                follows.into_iter().partition(|test| passing.contains(test))
            };
            let long = right(long).into_iter().filter(|(test, _)| short.contains(test)).collect();
            // To refuse a value is an answer, too.
            for test in self.that_show(&tree, &long, (Shown::Failed, &|_, said| !names_an_error(said))).await? {
                self.remark_of_values(test, format!("it passes with its list twice, and fails with it {MANY} times"));
            }
            if growth == Growth::Stays {
                continue;
            }
            let once = right(self.with_lists(changes, &lost, (Growth::Stays, 2)));
            for test in self.that_show(&tree, &once, (Shown::Passed, &|_, _| true)).await? {
                self.remark_of_values(
                    test,
                    "what is in its list twice counts once, and counted twice before".to_owned(),
                );
            }
        }
        Ok(())
    }

    /// Some tests with their lists so many times.
    fn with_lists(&self, changes: &[Change], tests: &[usize], how: (Growth, usize)) -> BTreeMap<usize, Repeated> {
        let with_list = |at: &usize| {
            let test = self.bodies.tests.get(*at)?;
            let source = self.bodies.source_left_alone(test, changes)?;
            let repeated = source.repeated(&test.body, &rounds::decisive(source, test), test.said.as_deref()?, how)?;
            Some((*at, repeated))
        };
        tests.iter().filter_map(with_list).collect()
    }
}

/// The tests as a right product passes them.
fn right(tests: BTreeMap<usize, Repeated>) -> Treated {
    tests.into_iter().map(|(at, one)| (at, one.right)).collect()
}
