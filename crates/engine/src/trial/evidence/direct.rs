//! The tests called without their runner: what asks for the runner in any way is wrong there.
//!
//! A test accuses where, outside of its runner, it fails in the same words with the change and without it, while another test of its file
//! that needs no more passes there.

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
    /// So it does, but there is no control.
    PassesInRunner,
    /// It passes when it is called first, and fails in those words when it is called again.
    PassesOnce,
    /// It passes in these surroundings, and fails in those words in others.
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
        // What they show in other surroundings is only ever a remark: without time it is left out.
        let other = runs.call(tree, asked, &asked_built, Surroundings::Other, &[]).await?;
        let mut other = other.flatten().unwrap_or_default();
        if !named.is_empty() {
            let with_them = runs.call(tree, asked, &asked_built, Surroundings::Same, named).await?;
            other.extend(with_them.flatten().unwrap_or_default());
        }
        if !self.asks(&now) && !self.asks(&other) {
            return Ok(Had::Each(self.shows(&now, &other, &[])));
        }
        let Some(now) = runs.call(tree, &self.tests, &built, Surroundings::Same, &[]).await? else {
            return Ok(Had::OutOfTime);
        };
        let Some(now) = now else { return Ok(nothing()) };
        let Some(before) = runs.call(start, &self.tests, &built, Surroundings::Same, &[]).await? else {
            return Ok(Had::OutOfTime);
        };
        let Some(before) = before else { return Ok(nothing()) };
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
        let failed = |became: &Became| became.end == End::Failed;
        now.iter()
            .filter(|outcome| outcome.at < self.failed)
            .any(|outcome| failed(&outcome.first) || outcome.again.as_ref().is_some_and(failed))
    }

    /// The results of each test that failed at the start.
    fn shows(&self, now: &[Outcome], other: &[Outcome], before: &[Outcome]) -> Vec<Shows> {
        (0..self.failed).map(|at| self.shows_of(at, now, other, before)).collect()
    }

    fn shows_of(&self, at: usize, now: &[Outcome], other: &[Outcome], before: &[Outcome]) -> Shows {
        let of = |all: &'_ [Outcome]| all.iter().find(|outcome| outcome.at == at).cloned();
        let Some(now_of) = of(now) else { return Shows::Needs("nothing came back".to_owned()) };
        let as_before = |became: &Became| {
            let before = of(before);
            before.is_some_and(|before| became.end == End::Failed && before.first == *became)
        };
        match now_of.first.end {
            End::Passed if now_of.again.as_ref().is_some_and(as_before) => Shows::PassesOnce,
            End::Passed if other.iter().any(|other| other.at == at && as_before(&other.first)) => Shows::PassesHere,
            End::Passed => Shows::Passes,
            End::Failed if as_before(&now_of.first) => {
                if self.has_control(at, now) {
                    Shows::Accuses
                } else {
                    Shows::PassesInRunner
                }
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
        let shows = |calls: Calls, now: &[Outcome]| calls.shows(now, &[], &before).remove(0);
        assert_eq!(shows(calls(1), &[same.clone(), control(End::Passed)]), Shows::Accuses);
        assert_eq!(shows(calls(1), &[same.clone(), control(End::Error)]), Shows::PassesInRunner);
        assert_eq!(shows(calls(0), std::slice::from_ref(&same)), Shows::PassesInRunner);
        assert_eq!(shows(calls(1), &[other, control(End::Passed)]), Shows::Needs("7 != 6".to_owned()));
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
        assert_eq!(calls(0).shows(&passes, &breaks, &before), [Shows::Passes]);
    }
}
