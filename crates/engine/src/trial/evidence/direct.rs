//! The tests called without their runner: what asks for the runner in any way is wrong there.
//!
//! A test accuses where, outside of its runner, it fails in the same words with the change and without it, while another test of its file
//! that needs no more passes there. One that fails there in other words, and gets no further than it did without the change, is remarked.

use std::collections::BTreeSet;

use super::super::bench::{Bench, TrialError};
use super::bodies::Bodies;
use super::example::Wanted;
use super::runs::Runs;
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::framework::source::Source;
use crate::policy::verdict::Baseline;
use crate::test_run::TestRun;
use crate::test_run::direct::{self, Became, Called, End, Outcome, Surroundings, cargo};

/// How many other tests of a file show that its tests need no runner.
const MOST_CONTROLS: usize = 4;

/// The result of the calls of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shows {
    /// It passes.
    Passes,
    /// It fails in the words that it had without the change, and a control passes.
    Accuses,
    /// So it does, but there is no control; or it fails in other words, and gets no further.
    PassesInRunner,
    /// It passes when it is called first, and fails in those words when it is called again.
    PassesOnce,
    /// It passes in these surroundings, and fails in others as it does there without the change, or no later.
    PassesHere,
    /// It needs its runner, in these words.
    Needs(String),
}

/// The result of making the calls.
#[derive(Debug)]
pub(super) enum Had {
    /// The result of each test that failed at the start.
    Each(Vec<Shows>),
    /// Nothing, and why.
    Not(String),
    /// No time was left.
    OutOfTime,
}

/// The tests to be called: those that failed at the start, then the controls, each with the number of its source.
#[derive(Debug)]
pub(super) struct Calls {
    tests: Vec<Called>,
    sources: Vec<usize>,
    /// How many of them failed at the start.
    failed: usize,
}

impl Calls {
    /// Chooses them. Paths are from the tests' working directory.
    pub(super) fn of(bench: &Bench<'_>, bodies: &Bodies, baseline: &Baseline, green: &TestRun) -> Self {
        let mut calls = Self { tests: Vec::new(), sources: Vec::new(), failed: bodies.tests.len() };
        for located in &bodies.tests {
            calls.add(bench, bodies, located.source, &located.body.names);
        }
        let used: BTreeSet<usize> = bodies.tests.iter().map(|located| located.source).collect();
        for at in used {
            let Some(source) = bodies.sources.get(at) else { continue };
            let passes = |name: &str| green.report.passing_names().any(|passing| passing == name);
            // Only tests that passed at the start as well: no control may hang on the change.
            let steady = baseline.passing.keys().filter(|name| passes(name));
            let named = steady.filter_map(|name| source.tests().iter().find(|body| source.is_called(body, name)));
            let mut controls: Vec<&[String]> = named.map(|body| body.names.as_slice()).collect();
            if controls.is_empty() && baseline.passing.is_empty() {
                // A runner that names no passing test has all of the file's pass in a green run.
                controls.extend(source.tests().iter().map(|body| body.names.as_slice()));
            }
            // The rows of a table are one test.
            controls.dedup();
            let fails = |names: &[String]| bodies.tests.iter().any(|one| one.source == at && one.body.names == names);
            for names in controls.into_iter().filter(|names| !fails(names)).take(MOST_CONTROLS) {
                calls.add(bench, bodies, at, names);
            }
        }
        calls
    }

    fn add(&mut self, bench: &Bench<'_>, bodies: &Bodies, source: usize, names: &[String]) {
        let path = bodies.sources.get(source).map_or("", Source::path);
        self.tests.push(Called { at: self.tests.len(), file: bench.path_from_tests(path), names: names.to_vec() });
        self.sources.push(source);
    }

    /// The results over the changed tree, in the light of those over the start's. An accusation is seen twice. `named` are variables that
    /// the change asks for and nobody set.
    pub(super) async fn show(
        &self,
        runs: &mut Runs<'_>,
        bodies: &Bodies,
        (tree, start): (&TreeId, &TreeId),
        named: &[String],
    ) -> Result<Had, TrialError> {
        let built = self.built(bodies);
        if !(direct::can_call(runs.bench.tests) || cargo::can_call(runs.bench.tests)) {
            return Ok(Had::Not("their runner cannot be left out of this command".to_owned()));
        }
        let nothing = || Had::Not("they cannot be called without their runner".to_owned());
        // Controls are called where there is a question alone: they may take long.
        let (asked, asked_built) = (self.tests().0, self.built_of_failed(bodies));
        let Some(now) = runs.call(tree, asked, &asked_built, Surroundings::Same, &[]).await? else {
            return Ok(Had::OutOfTime);
        };
        let Some(now) = now else { return Ok(nothing()) };
        let other = self.elsewhere(runs, bodies, tree, named).await?;
        if !self.asks(&now) && !self.asks(&other) {
            return Ok(Had::Each(self.shows(&now, &other, &Before::default())));
        }
        let Some(now) = runs.call(tree, &self.tests, &built, Surroundings::Same, &[]).await? else {
            return Ok(Had::OutOfTime);
        };
        let Some(now) = now else { return Ok(nothing()) };
        let Some(before) = runs.call(start, &self.tests, &built, Surroundings::Same, &[]).await? else {
            return Ok(Had::OutOfTime);
        };
        let Some(here) = before else { return Ok(nothing()) };
        let there = if self.asks(&other) { self.elsewhere(runs, bodies, start, named).await? } else { Vec::new() };
        let before = Before { here, there };
        let first = self.shows(&now, &other, &before);
        let Some(Some(again)) = runs.call(tree, &self.tests, &built, Surroundings::Same, &[]).await? else {
            return Ok(Had::OutOfTime);
        };
        let second = self.shows(&again, &other, &before);
        let both = |(one, other): (Shows, Shows)| {
            if one == other { one } else { Shows::Needs("it does not end the same way each time".to_owned()) }
        };
        Ok(Had::Each(first.into_iter().zip(second).map(both).collect()))
    }

    /// The calls of the tests that failed at the start in other surroundings, and with variables that are not set here. They only ever leave
    /// a remark, and are left out without time.
    async fn elsewhere(
        &self,
        runs: &mut Runs<'_>,
        bodies: &Bodies,
        tree: &TreeId,
        named: &[String],
    ) -> Result<Vec<Outcome>, TrialError> {
        let (asked, built) = (self.tests().0, self.built_of_failed(bodies));
        let other = runs.call(tree, asked, &built, Surroundings::Other, &[]).await?;
        let mut other = other.flatten().unwrap_or_default();
        if !named.is_empty() {
            let with_them = runs.call(tree, asked, &built, Surroundings::Same, named).await?;
            other.extend(with_them.flatten().unwrap_or_default());
        }
        Ok(other)
    }

    /// The tests that failed at the start, and all of them.
    pub(super) fn tests(&self) -> (&[Called], &[Called]) {
        (self.tests.get(..self.failed).unwrap_or(&self.tests), &self.tests)
    }

    /// The same tests with their sources.
    fn built<'w>(&'w self, bodies: &'w Bodies) -> Vec<Wanted<'w>> {
        let with_source =
            |(test, source): (&'w Called, &usize)| Some((test.at, bodies.sources.get(*source)?, test.names.as_slice()));
        self.tests.iter().zip(&self.sources).filter_map(with_source).collect()
    }

    /// The tests that failed at the start, with their sources.
    fn built_of_failed<'w>(&'w self, bodies: &'w Bodies) -> Vec<Wanted<'w>> {
        let mut built = self.built(bodies);
        built.retain(|wanted| wanted.0 < self.failed);
        built
    }

    /// Whether the calls over the changed product leave a question that those over the start's answer.
    fn asks(&self, now: &[Outcome]) -> bool {
        // An error before the test's own first line is of a test that needs its runner.
        let failed = |became: &Became| became.end == End::Failed || became.end == End::Error && became.line > 0;
        now.iter()
            .filter(|outcome| outcome.at < self.failed)
            .any(|outcome| failed(&outcome.first) || outcome.again.as_ref().is_some_and(failed))
    }

    /// The results of each test that failed at the start.
    fn shows(&self, now: &[Outcome], other: &[Outcome], before: &Before) -> Vec<Shows> {
        (0..self.failed).map(|at| self.shows_of(at, now, other, before)).collect()
    }

    fn shows_of(&self, at: usize, now: &[Outcome], other: &[Outcome], before: &Before) -> Shows {
        let Some(now_of) = now.iter().find(|outcome| outcome.at == at) else {
            return Shows::Needs("nothing came back".to_owned());
        };
        // One that fails when it is called again keeps a state of its own, which surroundings call for more often.
        let is_steady = now_of.again.as_ref().is_none_or(|again| again.end == End::Passed);
        let elsewhere = |other: &Outcome| {
            let same = before.is_same(at, &other.first);
            other.at == at && (same || is_steady && before.is_wrong_elsewhere(at, &other.first))
        };
        match now_of.first.end {
            End::Passed if now_of.again.as_ref().is_some_and(|again| before.is_same(at, again)) => Shows::PassesOnce,
            End::Passed if other.iter().any(elsewhere) => Shows::PassesHere,
            End::Passed => Shows::Passes,
            End::Failed if before.is_same(at, &now_of.first) => {
                if self.has_control(at, now) {
                    Shows::Accuses
                } else {
                    Shows::PassesInRunner
                }
            }
            End::Failed | End::Error if before.is_no_further(at, &now_of.first) && self.has_control(at, now) => {
                Shows::PassesInRunner
            }
            End::Failed | End::Error => Shows::Needs(now_of.first.said.lines().next().unwrap_or_default().to_owned()),
        }
    }

    /// Whether another test of the same file passes without its runner.
    fn has_control(&self, at: usize, now: &[Outcome]) -> bool {
        let passes = |other: usize| now.iter().any(|outcome| outcome.at == other && outcome.first.end == End::Passed);
        let same = |other: &usize| self.sources.get(*other) == self.sources.get(at);
        (self.failed..self.tests.len()).filter(same).any(passes)
    }
}

/// The calls over the start's product.
#[derive(Debug, Default)]
struct Before {
    here: Vec<Outcome>,
    /// The same in other surroundings.
    there: Vec<Outcome>,
}

impl Before {
    fn failure(&self, at: usize) -> Option<&Became> {
        let here = self.here.iter().find(|outcome| outcome.at == at)?;
        (here.first.end == End::Failed).then_some(&here.first)
    }

    /// Whether a call ended in the very words.
    fn is_same(&self, at: usize, became: &Became) -> bool {
        became.end == End::Failed && self.failure(at) == Some(became)
    }

    /// Whether a call that did not pass came no further in the test: the product is as wrong as it was, if in other words.
    fn is_no_further(&self, at: usize, became: &Became) -> bool {
        let not_passed = became.end != End::Passed && became.line > 0;
        not_passed && self.failure(at).is_some_and(|before| became.line <= before.line)
    }

    /// Whether a call in other surroundings came no further, where the surroundings themselves make no difference.
    fn is_wrong_elsewhere(&self, at: usize, became: &Became) -> bool {
        let mut there = self.there.iter().filter(|outcome| outcome.at == at).peekable();
        let is_alike = there.peek().is_some() && there.all(|outcome| self.is_same(at, &outcome.first));
        is_alike && self.is_no_further(at, became)
    }
}

/// The remark on a test that is right in one way of calling it.
pub(super) fn remark(file: &str, test: &str, kind: RemarkKind) -> Remark {
    Remark { kind, file: file.to_owned(), lines: None, said: Some(format!("`{test}`")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(at: usize, end: End, said: &str, again: End) -> Outcome {
        let became = |end| Became { end, line: 3, said: said.to_owned() };
        Outcome { at, first: became(end), again: Some(became(again)) }
    }

    /// One test that failed, and a control in the same file if there is one.
    fn calls(controls: usize) -> Calls {
        let test = |at| Called { at, file: "test_a.py".to_owned(), names: vec!["test".to_owned()] };
        Calls { tests: (0..=controls).map(test).collect(), sources: vec![0; controls + 1], failed: 1 }
    }

    #[test]
    fn only_a_failure_in_the_same_words_beside_a_control_accuses() {
        let before = [outcome(0, End::Failed, "5 != 6", End::Failed)];
        let same = outcome(0, End::Failed, "5 != 6", End::Failed);
        let other = outcome(0, End::Failed, "7 != 6", End::Failed);
        let control = |end| outcome(1, end, "", end);
        let before = Before { here: before.to_vec(), there: Vec::new() };
        let shows = |calls: Calls, now: &[Outcome]| calls.shows(now, &[], &before).remove(0);
        assert_eq!(shows(calls(1), &[same.clone(), control(End::Passed)]), Shows::Accuses);
        assert_eq!(shows(calls(1), &[same.clone(), control(End::Error)]), Shows::PassesInRunner);
        assert_eq!(shows(calls(0), std::slice::from_ref(&same)), Shows::PassesInRunner);
        assert_eq!(shows(calls(1), &[other.clone(), control(End::Passed)]), Shows::PassesInRunner);
        assert_eq!(shows(calls(0), std::slice::from_ref(&other)), Shows::Needs("7 != 6".to_owned()));
        let mut further = other;
        further.first.line = 9;
        assert_eq!(shows(calls(1), &[further, control(End::Passed)]), Shows::Needs("7 != 6".to_owned()));
        let needs = outcome(0, End::Error, "it asks for a fixture", End::Error);
        assert_eq!(shows(calls(0), &[needs]), Shows::Needs("it asks for a fixture".to_owned()));
        assert_eq!(shows(calls(0), &[]), Shows::Needs("nothing came back".to_owned()));
        assert_eq!(shows(calls(0), &[outcome(0, End::Passed, "", End::Passed)]), Shows::Passes);
        assert_eq!(shows(calls(0), &[outcome(0, End::Passed, "", End::Error)]), Shows::Passes);
        let again = Outcome {
            again: Some(Became { end: End::Failed, line: 3, said: "5 != 6".to_owned() }),
            ..outcome(0, End::Passed, "", End::Passed)
        };
        assert_eq!(shows(calls(0), &[again]), Shows::PassesOnce);
        let passes = [outcome(0, End::Passed, "", End::Passed)];
        assert_eq!(calls(0).shows(&passes, &[same], &before), [Shows::PassesHere]);
        let breaks = [outcome(0, End::Error, "no such file", End::Error)];
        let worn = [outcome(0, End::Passed, "", End::Failed)];
        assert_eq!(calls(0).shows(&passes, &breaks, &before), [Shows::Passes]);
        let alike = Before { there: before.here.clone(), ..before };
        assert_eq!(calls(0).shows(&passes, &breaks, &alike), [Shows::PassesHere]);
        assert_eq!(
            calls(0).shows(&worn, &breaks, &alike),
            [Shows::Passes],
            "it fails here, too, when it is called again"
        );
        let apart = Before { there: breaks.to_vec(), ..alike };
        assert_eq!(calls(0).shows(&passes, &breaks, &apart), [Shows::Passes], "it breaks there anyway");
    }
}
