//! Treated tests, carried out: their files are edited, and they are run.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::bodies;
use super::court::{Carried, Court, Tried};
use super::outcome::{self, Shown};
use super::rounds::{self, Treatment};
use super::tally::{self, kind_of};
use crate::domain::units::TreeId;
use crate::framework::source::{Edit, Means, Place, Poison, Source, TestBody};
use crate::test_run::TestRun;

/// The texts of files by their paths, and what was done to which tests in them.
type Edited = (BTreeMap<String, String>, Vec<(usize, Treatment)>);

/// Whether a test passed in a run. `None` where the run says nothing about it.
fn passes(run: &TestRun, source: &Source, located: &bodies::Located) -> Option<bool> {
    match outcome::of(run, source, located) {
        _ if outcome::did_not_run(run) => None,
        Shown::Passed => Some(true),
        Shown::Failed => Some(false),
        Shown::Unknown => None,
    }
}

impl<'b> Court<'b> {
    /// Changes the tests and runs them on a tree. Treatments that cannot be had are tallied and left out.
    pub(super) async fn carry_out(
        &mut self,
        base: &TreeId,
        treatments: &[(usize, Treatment)],
        means: Means,
    ) -> Result<Carried, TrialError> {
        self.carry_out_with(base, treatments, means, tally::word(uuid::Uuid::new_v4().as_u128())).await
    }

    /// The same with a word of the caller's.
    pub(super) async fn carry_out_with(
        &mut self,
        base: &TreeId,
        treatments: &[(usize, Treatment)],
        means: Means,
        word: String,
    ) -> Result<Carried, TrialError> {
        let (texts, treated) = self.edited(base, treatments, means, &word)?;
        if treated.is_empty() {
            return Ok(Carried::Nothing);
        }
        let selected: Vec<_> = treated.iter().map(|(test, treatment)| (*test, Some(*treatment))).collect();
        let selection = rounds::selection(self.bodies, &selected, &word);
        let told = self.told(&selected, &word);
        let run = self.runs.run(base, &texts, &selection, &|run| outcome::tells_of(run, &told)).await?;
        Ok(run.map_or(Carried::OutOfTime, |run| Carried::Out(Box::new(Tried { run, word, means, treated }))))
    }

    /// The files of tests with the treatments, and those that could be had.
    fn edited(
        &mut self,
        base: &TreeId,
        treatments: &[(usize, Treatment)],
        means: Means,
        word: &str,
    ) -> Result<Edited, TrialError> {
        let mut texts = BTreeMap::new();
        let mut treated = Vec::new();
        for (at, source) in self.bodies.sources.iter().enumerate() {
            // A file of the product that holds tests is another one at the start.
            let other = if base == self.tree { None } else { self.at(base, source)? };
            let source = other.as_ref().unwrap_or(source);
            let mut edits: Vec<Edit> = Vec::new();
            let mut edited = None;
            for (test, treatment) in treatments {
                let Some(located) = self.bodies.tests.get(*test).filter(|located| located.source == at) else {
                    continue;
                };
                let body = source.tests().iter().find(|body| body.names == located.body.names);
                let located = body.map(|body| bodies::Located { body: body.clone(), ..located.clone() });
                let more =
                    located.and_then(|located| rounds::edits(self.bodies, source, &located, *treatment, means, word));
                // What one test needs may stand in another one's way, where it is a part of that.
                // Data that two tests share is varied once.
                let is_shared = matches!(treatment, Treatment::OtherInputs(_));
                let both = more.map(|more| {
                    let fresh = more.into_iter().filter(|edit| !(is_shared && edits.contains(edit)));
                    edits.iter().cloned().chain(fresh).collect::<Vec<Edit>>()
                });
                match both.and_then(|both| Some((source.edited(&both)?, both))) {
                    Some((text, both)) => {
                        (edits, edited) = (both, Some(text));
                        treated.push((*test, *treatment));
                    }
                    // What the start's report does not name is nothing that is missing.
                    None if matches!(treatment, Treatment::AsItWas | Treatment::OtherInputs(_)) => {}
                    None => {
                        let name = self.name_of(*test);
                        let spells = body.is_some_and(|body| source.spells_its_name(body));
                        let why = if spells && *treatment == Treatment::Renamed {
                            format!("{name} expects its own name")
                        } else {
                            tally::not_understood(*treatment, &name)
                        };
                        self.tally.entry(kind_of(*treatment)).or_default().not_had.push(why);
                    }
                }
            }
            if let Some(text) = edited {
                texts.insert(source.path().to_owned(), text);
            }
        }
        Ok((texts, treated))
    }

    /// The tests that a run is to tell of, under the names that they have in it.
    pub(super) fn told(&self, tests: &[(usize, Option<Treatment>)], word: &str) -> Vec<(&'b Source, TestBody)> {
        let told = |(test, treatment): &(usize, Option<Treatment>)| {
            let located = self.bodies.tests.get(*test)?;
            let source = self.bodies.source(located)?;
            let renamed = *treatment == Some(Treatment::Renamed);
            let body = if renamed { outcome::renamed(source, &located.body, word) } else { located.body.clone() };
            Some((source, body))
        };
        tests.iter().filter_map(told).collect()
    }

    fn at(&self, base: &TreeId, source: &Source) -> Result<Option<Source>, TrialError> {
        let text = self.runs.bench.workspace.text_at(base, source.path())?;
        Ok(text.and_then(|text| Source::read(source.path(), &text)))
    }

    /// Whether a test passes over the change as it is, where it is run as an experiment runs it: without those that passed all along. `None`
    /// where that is not known.
    pub(super) async fn passes_alone(&mut self, test: usize) -> Result<Option<bool>, TrialError> {
        let selected = [(test, None)];
        let selection = rounds::selection(self.bodies, &selected, "");
        let (told, texts) = (self.told(&selected, ""), self.untouched(test));
        let run = self.runs.run(self.tree, &texts, &selection, &|run| outcome::tells_of(run, &told)).await?;
        let (Some(run), Some(located)) = (run, self.bodies.tests.get(test)) else { return Ok(None) };
        Ok(self.bodies.source(located).and_then(|source| passes(&run, source, located)))
    }

    /// Whether a test passes over the change where the other tests of its file fail before their bodies: what they would leave is missing, as
    /// it is where a test is called by itself. `None` where that is not known.
    pub(super) async fn passes_without_others(&mut self, test: usize) -> Result<Option<bool>, TrialError> {
        let Some(located) = self.bodies.tests.get(test) else { return Ok(None) };
        let Some(source) = self.bodies.source(located) else { return Ok(None) };
        let poison =
            Poison { place: Place::First, means: Means::Raise, word: tally::word(uuid::Uuid::new_v4().as_u128()) };
        let is_other = |other: &&TestBody| other.names != located.body.names && source.is_collected(other);
        // What sets tests up (`setUp`, a fixture) is no other test: without it none would pass.
        let others = source.tests().iter().filter(is_other);
        let edits: Vec<Edit> = others.filter_map(|other| source.poisoned(other, &poison)).flatten().collect();
        let Some(text) = source.edited(&edits).filter(|_| !edits.is_empty()) else { return Ok(None) };
        let texts = BTreeMap::from([(source.path().to_owned(), text)]);
        Ok(self.runs.whole(self.tree, &texts).await?.and_then(|run| passes(&run, source, located)))
    }

    /// Whether a treated test passes where all tests are run.
    pub(super) async fn passes_among_all(
        &mut self,
        test: usize,
        treatment: Treatment,
        means: Means,
    ) -> Result<bool, TrialError> {
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let (texts, treated) = self.edited(self.tree, &[(test, treatment)], means, &word)?;
        if treated.is_empty() {
            return Ok(false);
        }
        let run = self.runs.whole(self.tree, &texts).await?;
        let (Some(run), Some(located)) = (run, self.bodies.tests.get(test)) else { return Ok(false) };
        let Some(source) = self.bodies.source(located) else { return Ok(false) };
        Ok(!outcome::did_not_run(&run) && outcome::of(&run, source, located) == Shown::Passed)
    }
}
