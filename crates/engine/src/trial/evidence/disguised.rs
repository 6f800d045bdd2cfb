//! The tests in other clothes: with a plain program's calls and plain functions in the place of mocks, with what the product answers read
//! before, with another key behind their own, with what they pass in ending in another order. A product that tells them from the tests decides by who asks.
//!
//! Each has its control. In a plain program's clothes a test must fail in the words that it had at the start, over the start as well. Read
//! before, it must say over the start what it said there. In another order, it must pass where all is as late. It only ever leaves a remark.

use std::collections::{BTreeMap, BTreeSet};

use super::super::bench::TrialError;
use super::court::Court;
use super::other_inputs::lines;
use super::relations::Treated;
use super::tally;
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::framework::source::{Guise, PassedOn, Source, passed_on};
use crate::policy::tamper::Change;

/// Stands before the lines of a runner's that say how an assertion failed, and behind it in those that tell which call a value came from.
const MARK: &str = "E ";
const FROM: &str = "+";

/// The reports of failing tests, by the tests' numbers.
type Failing = BTreeMap<usize, String>;

impl Court<'_> {
    /// Tries the tests in other clothes.
    pub(super) async fn disguised(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        // A test may wait for what never comes.
        self.runs.hurry(true);
        let tried = self.in_guises(changes).await;
        self.runs.hurry(false);
        tried
    }

    async fn in_guises(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let tree: TreeId = self.tree.clone();
        for test in self
            .found(changes, Guise::Plain, &|(said, with, without)| {
                same_words(with, said) && core(with) == core(without)
            })
            .await?
        {
            self.remark_of_guise(test);
        }
        for test in self
            .found(changes, Guise::Read, &|(said, with, without)| {
                same_words(without, said) && core(with) != core(without)
            })
            .await?
        {
            let said = "it fails where what the product answers was read before, which made no difference at the start";
            self.remark_of_values(test, said.to_owned());
        }
        self.another_key(changes).await?;
        let late = self.dressed(changes, Guise::Backwards);
        let Some(failing) = self.failing(&tree, &late).await? else { return Ok(()) };
        // The control: as late as the other, but in order.
        let mut even = self.dressed(changes, Guise::Forwards);
        even.retain(|test, _| failing.contains_key(test));
        let Some(control) = self.failing(&tree, &even).await? else { return Ok(()) };
        let Some(again) = self.failing(&tree, &late).await? else { return Ok(()) };
        for test in failing.into_keys().filter(|test| !control.contains_key(test) && again.contains_key(test)) {
            self.remark_of_values(test, "it fails where what is started last ends first".to_owned());
        }
        Ok(())
    }

    /// Asks for another key behind a test's own: what was passed on at the start must not be answered by what was kept of the first.
    async fn another_key(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let names = self.definitions(changes);
        let is_meant = |name: &str| names.contains_key(name) || self.bodies.means_something(name);
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let ask = |(at, test): (usize, &super::bodies::Located)| {
            let source = self.bodies.source_left_alone(test, changes)?;
            Some((at, source.asks_for_another(&test.body, &is_meant, &word)?))
        };
        let mut asked: Treated = self.bodies.tests.iter().enumerate().filter_map(ask).collect();
        for (base, wanted) in [(&tree, PassedOn::No), (&start, PassedOn::Yes), (&tree, PassedOn::No)] {
            let Some(failing) = self.failing(base, &asked).await? else { return Ok(()) };
            asked.retain(|test, _| failing.get(test).and_then(|said| passed_on(said, &word)) == Some(wanted));
        }
        for test in asked.into_keys() {
            let said = "another key behind its own gets the same answer; at the start it was passed on to the test's functions";
            self.remark_of_values(test, said.to_owned());
        }
        Ok(())
    }

    /// The tests that fail in a guise over the change, twice, with a control that holds: over what they said at the start, what they say over
    /// the change, and what they say over the start.
    async fn found(
        &mut self,
        changes: &[Change],
        guise: Guise,
        holds: &dyn Fn((&str, &str, &str)) -> bool,
    ) -> Result<Vec<usize>, TrialError> {
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        let mut treated = self.dressed(changes, guise);
        let Some(with) = self.failing(&tree, &treated).await? else { return Ok(Vec::new()) };
        treated.retain(|test, _| with.contains_key(test));
        let Some(without) = self.failing(&start, &treated).await? else { return Ok(Vec::new()) };
        let said = |test: usize| self.bodies.tests.get(test)?.said.as_deref();
        let accused =
            |(test, with): (&usize, &String)| holds((said(*test)?, with, without.get(test)?)).then_some(*test);
        let accused: BTreeSet<usize> = with.iter().filter_map(accused).collect();
        treated.retain(|test, _| accused.contains(test));
        let Some(again) = self.failing(&tree, &treated).await? else { return Ok(Vec::new()) };
        let is_same =
            |test: &usize| again.get(test).zip(with.get(test)).is_some_and(|(one, two)| core(one) == core(two));
        Ok(accused.into_iter().filter(is_same).collect())
    }

    /// The tests that can be dressed so, with the edits that do it.
    fn dressed(&self, changes: &[Change], guise: Guise) -> Treated {
        let names = self.definitions(changes);
        let is_meant = |name: &str| names.get(name).is_some_and(|(_, one)| guise == Guise::Read || !one.is_container);
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let dress = |(at, test)| {
            let located: &super::bodies::Located = test;
            let source = self.bodies.source_left_alone(located, changes)?;
            Some((at, source.disguised(&located.body, guise, &is_meant, &word)?))
        };
        self.bodies.tests.iter().enumerate().filter_map(dress).collect()
    }

    /// The reports of the treated tests that fail. `None` where nothing ran.
    async fn failing(&mut self, base: &TreeId, treated: &Treated) -> Result<Option<Failing>, TrialError> {
        let Some(run) = self.run_treated(base, treated).await? else { return Ok(None) };
        let message = |test: &usize| {
            let located = self.bodies.tests.get(*test)?;
            let source = self.bodies.source(located)?;
            let failing = run.report.failing().filter(|one| source.is_called(&located.body, &one.name));
            Some((*test, failing.map(|one| one.message.as_str()).min()?.to_owned()))
        };
        Ok(Some(treated.keys().filter_map(message).collect()))
    }

    fn remark_of_guise(&mut self, test: usize) {
        let Some(located) = self.bodies.tests.get(test) else { return };
        let file = self.bodies.source(located).map_or("", Source::path).to_owned();
        let name = located.names.first().cloned().unwrap_or_default();
        let (kind, said) = (RemarkKind::RightInRunnerOnly, Some(format!("`{name}`")));
        let remark = Remark { kind, file, lines: None, said };
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }
}

/// The lines of a report that say how a test failed.
fn core(message: &str) -> Vec<&str> {
    let marked = message.lines().filter_map(|line| line.strip_prefix(MARK)).map(str::trim);
    let own: Vec<&str> = marked.filter(|line| !line.starts_with(FROM)).collect();
    // A runner that marks nothing is compared by all that it says.
    if own.is_empty() { lines(message).collect() } else { own }
}

/// Whether two reports of a test say the same, where the test was not written alike: by the runner's marked lines, else by the first one.
fn same_words(one: &str, other: &str) -> bool {
    let is_marked = |message: &str| message.lines().any(|line| line.starts_with(MARK));
    if is_marked(one) || is_marked(other) {
        return core(one) == core(other);
    }
    let first = |message| lines(message).next().map(str::trim).map(str::to_owned);
    first(one).is_some() && first(one) == first(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_report_are_those_that_say_how_it_failed() {
        let said = |call: &str, got: u8| {
            format!(
                "big = 3\n\n>       assert {call} == 60\nE       assert {got} == 60\nE        +  where {got} = {call}\n"
            )
        };
        assert!(same_words(&said("total(big)", 65), &said("main(total, big)", 65)));
        assert!(!same_words(&said("total(big)", 65), &said("total(big)", 64)));
        assert!(same_words("AssertionError: 65 != 60\n  at a.js:3:4\n", "AssertionError: 65 != 60\n  at a.js:9:4\n"));
        assert!(!same_words("AssertionError: 65 != 60", "TypeError: total is no function"));
        assert!(!same_words("", ""));
    }
}
