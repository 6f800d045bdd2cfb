//! The order of the experiments, and what they prove.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::bench::{Bench, TrialError};
use super::super::fresh;
use super::super::judging::Judged;
use super::bodies::{self, Bodies};
use super::direct::{self, Calls, Shows};
use super::outcome::{self, Shown};
use super::overfit;
use super::rounds::{self, Chance, Round, Treatment};
use super::runs::Runs;
use super::shape;
use super::tally::{self, Demand, Tally, kind_of};
use crate::domain::proof::{Evidence, EvidenceKind, EvidenceStatus};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::framework::source::{Means, Place, Source};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::policy::verdict::Baseline;
use crate::test_run::TestRun;

/// Experiments take at most as long as so many whole suites.
const MOST_SUITES: u64 = 4;
/// The same where the change has made the suite so many times as slow: it may not buy experiments off.
const MOST_SLOWED: u64 = 16;
const SLOWED: u64 = 3;
/// A suite that takes no longer is not slow, in milliseconds.
const SLOW: u64 = 7_500;
/// Below this, nobody notices beside a model's call.
const UNNOTICED: Duration = Duration::from_secs(60);

/// The result of the evidence.
#[derive(Debug)]
pub struct Proven {
    /// Each kind that was tried or could not be.
    pub evidence: Vec<Evidence>,
    /// Runs of the tests that it took.
    pub runs: u32,
    /// The time that it took, in milliseconds.
    pub duration_ms: u64,
}

/// The time for all experiments, by that of the suite before the change and with it, in milliseconds.
fn allowed_ms((before, now): (u64, u64), most: Duration) -> u64 {
    let [unnoticed, most] = [UNNOTICED, most].map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let suites = if now > SLOW && now > before.saturating_mul(SLOWED) { MOST_SLOWED } else { MOST_SUITES };
    now.saturating_mul(suites).max(unnoticed).min(most)
}

/// The time that the suite took before the change, in milliseconds. `None` where it ended early at the start, as Cargo does behind the first
/// program of tests that fails: it took less time for that.
pub(super) fn before_ms(bench: &Bench<'_>, baseline: &Baseline, green: &TestRun) -> Option<u64> {
    let ran_as_many = baseline.total.zip(green.report.total).is_some_and(|(before, now)| before >= now);
    ran_as_many.then_some(bench.baseline_ms)
}

/// Asks of a green whether its tests could still say no. Refuses it in place where they could not. The files on disk are afterwards those
/// of its tree.
///
/// # Errors
/// When the tree cannot be put in order or the tests cannot be started.
pub async fn prove(bench: &Bench<'_>, judged: &mut Judged, demand: Demand) -> Result<Option<Proven>, TrialError> {
    let green = judged.judgement.verdict == Verdict::Green;
    let (Some(start), Some(baseline), true) = (bench.start, bench.baseline, green) else { return Ok(None) };
    let tree = judged.candidate.tree.clone();
    let mut bodies = bodies::find(bench, &tree, baseline, &judged.run)?;
    let changes = bench.workspace.changed_files(start, &tree).await?;
    bodies.missing.retain(|name| bench.tests.checks.iter().all(|check| check.name != *name));
    bodies.product = bodies::product(&changes, &bodies.sources);
    judged.remarks.extend(overfit::remarks(&changes, &bodies));
    judged.remarks.extend(shape::remarks(&changes));
    if bodies.tests.is_empty() {
        let judges = bodies::files_of_tests(bench, start)?.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        judged.remarks.extend(overfit::remarks_by_text(&changes, &judges));
    }
    let before = before_ms(bench, baseline, &judged.run).unwrap_or(u64::MAX);
    let allowed = allowed_ms((before, judged.run.duration_ms), demand.most);
    let mut court = Court {
        start,
        tree: &tree,
        baseline,
        bodies: &bodies,
        runs: Runs::new(bench, allowed),
        chance: Chance(uuid::Uuid::new_v4().as_u128()),
        tally: BTreeMap::new(),
        // What is remarked already is not looked at again.
        remarks: std::mem::take(&mut judged.remarks),
    };
    court.gather(&judged.run, judged.stirred.as_deref(), &changes).await?;
    judged.remarks.append(&mut court.remarks);
    let proven = court.conclude(&judged.run);
    if proven.runs > 0 {
        // What the runs left that is ignored stays, as after any run of the tests.
        fresh::restore_tests(bench, &tree).await?;
    }
    if let Some(verdict) = tally::refusal(&proven.evidence, demand) {
        judged.refuse(verdict, bench.workspace.root());
    }
    Ok(Some(proven))
}

pub(super) struct Court<'b> {
    pub(super) start: &'b TreeId,
    pub(super) tree: &'b TreeId,
    pub(super) baseline: &'b Baseline,
    pub(super) bodies: &'b Bodies,
    pub(super) runs: Runs<'b>,
    pub(super) chance: Chance,
    pub(super) tally: BTreeMap<EvidenceKind, Tally>,
    /// Remarks of the experiments for a reviewer to look at.
    pub(super) remarks: Vec<Remark>,
}

/// A round as it was carried out.
pub(super) struct Tried {
    pub(super) run: TestRun,
    pub(super) word: String,
    pub(super) means: Means,
    pub(super) treated: Vec<(usize, Treatment)>,
}

/// The result of a round.
pub(super) enum Carried {
    /// It ran.
    Out(Box<Tried>),
    /// No test could be treated in that way, which is tallied.
    Nothing,
    /// No time was left.
    OutOfTime,
}

impl<'b> Court<'b> {
    async fn gather(
        &mut self,
        green: &TestRun,
        stirred: Option<&[String]>,
        changes: &[Change],
    ) -> Result<(), TrialError> {
        if self.has(Guard::Manifests) {
            self.starts_rules(changes).await?;
            if self.is_refused() {
                return Ok(());
            }
        }
        if self.has(Guard::Untouched) {
            self.look_at_judges(stirred).await?;
            if self.is_refused() {
                return Ok(());
            }
        }
        if !self.bodies.tests.is_empty() {
            // Each test fails by both means, each in one place.
            let raised = if self.chance.coin() { Place::First } else { Place::Last };
            for round in rounds::rounds(self.bodies.tests.len(), &mut self.chance) {
                let round = self.wanted(round);
                let raises = round.treatments.iter().any(|(_, treatment)| *treatment == Treatment::Poisoned(raised));
                self.round(&round, if raises { Means::Raise } else { Means::Assertion }).await?;
                if self.is_refused() {
                    return Ok(());
                }
            }
        }
        if self.has(Guard::Planted) {
            self.planted(changes).await?;
            if self.is_refused() {
                return Ok(());
            }
        }
        let is_about_tests = !self.only_checks_failed();
        if self.bodies.tests.is_empty() && is_about_tests && self.has(Guard::Poisoned) {
            self.append().await?;
            if self.is_refused() {
                return Ok(());
            }
        }
        if self.has(Guard::Counter) {
            self.counter().await?;
            if self.is_refused() {
                return Ok(());
            }
        }
        if self.has(Guard::Direct) && !self.bodies.tests.is_empty() {
            self.direct(green, changes).await?;
        }
        if self.is_refused() || !is_about_tests {
            return Ok(());
        }
        // What leaves remarks alone comes last: it takes no time from what decides.
        if self.has(Guard::Direct) {
            self.shared(changes).await?;
            self.shared_in_calls(green, changes).await?;
        }
        self.macros(green, changes).await?;
        self.choices(green, changes).await?;
        self.displaced(green, changes).await?;
        self.other_inputs().await?;
        self.refusals(changes).await?;
        if self.has(Guard::Direct) {
            self.disguised(changes).await?;
        }
        self.constants(green, changes).await?;
        self.relations(changes).await?;
        self.repeated(changes).await?;
        self.larger_numbers(changes).await?;
        self.fitted(changes);
        self.other_parts(changes).await?;
        self.callers(changes).await?;
        self.other_options(green).await?;
        self.texts_twice().await?;
        self.order(changes).await?;
        self.numbers(green, changes).await?;
        self.removals(green, changes).await?;
        if self.has(Guard::Direct) {
            self.elsewhere(changes).await?;
        }
        Ok(())
    }

    fn is_refused(&self) -> bool {
        self.tally.values().any(|tally| !tally.accused.is_empty())
    }

    /// Has the tests called without their runner.
    async fn direct(&mut self, green: &TestRun, changes: &[Change]) -> Result<(), TrialError> {
        let calls = Calls::of(self.runs.bench, self.bodies, self.baseline, green);
        let named = self.named(changes);
        let shown = calls.show(&mut self.runs, self.bodies, (self.tree, self.start), &named).await?;
        let tally = self.tally.entry(EvidenceKind::Direct).or_default();
        let shown = match shown {
            direct::Had::Not(why) => {
                tally.not_had.push(why);
                return Ok(());
            }
            direct::Had::OutOfTime => {
                tally.out_of_time = true;
                return Ok(());
            }
            direct::Had::Each(shown) => shown,
        };
        for (test, shows) in shown.into_iter().enumerate() {
            let name = self.name_of(test);
            // By its runner, too, it may need what those before it leave.
            let fails_alone = matches!(shows, Shows::Accuses | Shows::PassesInRunner);
            let needs_others = fails_alone && self.passes_without_others(test).await? == Some(false);
            let tally = self.tally.entry(EvidenceKind::Direct).or_default();
            tally.tried += 1;
            match shows {
                Shows::Accuses | Shows::PassesInRunner if needs_others => {
                    tally.not_had.push(format!("{name} needs the tests before it"))
                }
                Shows::Passes => tally.noticed += 1,
                Shows::Accuses => tally.accused.push(name),
                Shows::Needs(why) => tally.not_had.push(format!("{name} needs its runner: {why}")),
                Shows::PassesOnce => {
                    tally.noticed += 1;
                    self.remark(test, RemarkKind::RightInRunnerOnly);
                }
                Shows::PassesHere => {
                    tally.noticed += 1;
                    self.remark(test, RemarkKind::RightHereOnly);
                }
                Shows::PassesInRunner => {
                    tally.not_had.push(format!("nothing shows that {name} needs no runner"));
                    self.remark(test, RemarkKind::RightInRunnerOnly);
                }
            }
        }
        Ok(())
    }

    pub(super) fn remark(&mut self, test: usize, kind: RemarkKind) {
        let source = self.bodies.tests.get(test).and_then(|test| self.bodies.source(test));
        let remark = direct::remark(source.map_or("", Source::path), &self.name_of(test), kind);
        self.remarks.push(remark);
    }

    fn has(&self, guard: Guard) -> bool {
        self.runs.bench.guards.has(guard)
    }

    /// A round without the treatments that are switched off.
    fn wanted(&self, round: Round) -> Round {
        let on = |treatment: Treatment| match treatment {
            Treatment::Poisoned(_) => self.has(Guard::Poisoned),
            Treatment::Altered | Treatment::AsItWas | Treatment::OtherInputs(_) => self.has(Guard::AlteredExpectation),
            Treatment::Renamed => self.has(Guard::Renamed),
        };
        Round { treatments: round.treatments.into_iter().filter(|(_, treatment)| on(*treatment)).collect() }
    }

    fn tally(&mut self, treatment: Treatment) -> &mut Tally {
        self.tally.entry(kind_of(treatment)).or_default()
    }

    async fn round(&mut self, round: &Round, means: Means) -> Result<(), TrialError> {
        if round.treatments.is_empty() {
            return Ok(());
        }
        let mut carried = self.carry_out(self.tree, &round.treatments, means).await?;
        let not_run = matches!(&carried, Carried::Out(tried) if outcome::did_not_run(&tried.run));
        if not_run && means == Means::Assertion {
            // What the file calls an assertion may be something else.
            carried = self.carry_out(self.tree, &round.treatments, Means::Raise).await?;
        }
        let tried = match carried {
            Carried::Out(tried) => tried,
            Carried::Nothing => return Ok(()),
            Carried::OutOfTime => {
                for (_, treatment) in &round.treatments {
                    self.tally(*treatment).out_of_time = true;
                }
                return Ok(());
            }
        };
        if outcome::did_not_run(&tried.run) {
            for (_, treatment) in &tried.treated {
                self.tally(*treatment).not_had.push("the changed tests do not compile or load".to_owned());
            }
            return Ok(());
        }
        for (test, treatment) in tried.treated.clone() {
            self.read(&tried, test, treatment).await?;
        }
        Ok(())
    }

    /// Takes in the result of a test in a run. Where it accuses, the test is run once more and with its control.
    async fn read(&mut self, tried: &Tried, test: usize, treatment: Treatment) -> Result<(), TrialError> {
        self.tally(treatment).tried += 1;
        if self.is_as_it_must(tried, test, treatment) == Some(true) {
            self.tally(treatment).noticed += 1;
            return Ok(());
        }
        // Alone: other tests of the round, and chance, have no part in it.
        let Carried::Out(alone) = self.carry_out(self.tree, &[(test, treatment)], tried.means).await? else {
            self.tally(treatment).out_of_time = true;
            return Ok(());
        };
        let name = self.name_of(test);
        match self.is_as_it_must(&alone, test, treatment) {
            Some(true) => self.tally(treatment).noticed += 1,
            Some(false) if self.control(test, treatment, tried.means).await? => {
                self.tally(treatment).accused.push(name)
            }
            Some(false) => self.tally(treatment).not_had.push(format!("its control does not hold for {name}")),
            None => self.tally(treatment).not_had.push(format!("the runner says nothing about {name}")),
        }
        Ok(())
    }

    /// Whether a test shows the required result. `None` where the run says nothing about it.
    fn is_as_it_must(&self, tried: &Tried, test: usize, treatment: Treatment) -> Option<bool> {
        let located = self.bodies.tests.get(test)?;
        let source = self.bodies.source(located)?;
        if outcome::did_not_run(&tried.run) {
            return None;
        }
        match treatment {
            Treatment::Poisoned(_) | Treatment::Altered | Treatment::AsItWas | Treatment::OtherInputs(_) => {
                match outcome::of(&tried.run, source, located) {
                    Shown::Failed => Some(true),
                    Shown::Passed => Some(false),
                    Shown::Unknown => None,
                }
            }
            Treatment::Renamed => match outcome::of_renamed(&tried.run, source, located, &tried.word) {
                Shown::Passed => Some(true),
                Shown::Failed => Some(false),
                Shown::Unknown => None,
            },
        }
    }

    /// Whether what a test did not show must be held against the change.
    async fn control(&mut self, test: usize, treatment: Treatment, means: Means) -> Result<bool, TrialError> {
        let Some(located) = self.bodies.tests.get(test) else { return Ok(false) };
        match treatment {
            // Over the start's product the same failure is reported, in its own word.
            Treatment::Poisoned(_) => {
                let Carried::Out(tried) = self.carry_out(self.start, &[(test, treatment)], means).await? else {
                    return Ok(false);
                };
                let failed = self.is_as_it_must(&tried, test, treatment) == Some(true);
                let said = tried.run.output.contains(&tried.word)
                    || tried.run.report.failing().any(|test| test.message.contains(&tried.word));
                Ok(failed && said)
            }
            Treatment::Altered | Treatment::AsItWas | Treatment::OtherInputs(_) => {
                if !self.bodies.source(located).is_some_and(|source| rounds::accuses(source, located)) {
                    return Ok(false);
                }
                // A test that needs those before it is another one alone. Among all of them it must say no.
                Ok(self.passes_alone(test).await? != Some(false)
                    || self.passes_among_all(test, treatment, means).await?)
            }
            Treatment::Renamed => self.names_do_not_matter(test).await,
        }
    }

    /// The file of a test as it is, to be written anew.
    pub(super) fn untouched(&self, test: usize) -> BTreeMap<String, String> {
        let source = self.bodies.tests.get(test).and_then(|test| self.bodies.source(test));
        source.map(|source| (source.path().to_owned(), source.text().to_owned())).into_iter().collect()
    }

    pub(super) fn name_of(&self, test: usize) -> String {
        self.bodies.tests.get(test).and_then(|test| test.names.first()).cloned().unwrap_or_default()
    }

    /// Concludes from all experiments.
    fn conclude(self, green: &TestRun) -> Proven {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let failing = count(self.baseline.failing.len());
        let unreadable = green.report.passing_names().next().is_none() && green.report.passed.is_none();
        let mut evidence = vec![Evidence {
            evidence: EvidenceKind::Seen,
            status: if unreadable { EvidenceStatus::NotPossible } else { EvidenceStatus::Held },
            tried: failing,
            noticed: if unreadable { 0 } else { failing },
            why: unreadable.then(|| "the test command says nothing about single tests".to_owned()),
        }];
        let kinds = [
            (EvidenceKind::StartsRules, Guard::Manifests),
            (EvidenceKind::Untouched, Guard::Untouched),
            (EvidenceKind::Poisoned, Guard::Poisoned),
            (EvidenceKind::AlteredExpectation, Guard::AlteredExpectation),
            (EvidenceKind::Renamed, Guard::Renamed),
            (EvidenceKind::Direct, Guard::Direct),
            (EvidenceKind::Planted, Guard::Planted),
            (EvidenceKind::Counter, Guard::Counter),
            (EvidenceKind::Choices, Guard::Choices),
        ];
        let end = self.is_refused();
        let is_asked = |kind| self.is_asked(kind);
        for (kind, _) in kinds.into_iter().filter(|(kind, guard)| self.has(*guard) && is_asked(*kind)) {
            evidence.push(tally::piece(kind, self.tally.get(&kind), &self.bodies.missing, end));
        }
        Proven { evidence, runs: self.runs.count, duration_ms: self.runs.elapsed_ms() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_slows_its_tests_buys_no_experiments_off() {
        let allowed = |before, now| allowed_ms((before, now), Duration::from_secs(600));
        assert_eq!(allowed(1_000, 1_000), 60_000);
        assert_eq!(allowed(20_000, 21_000), 84_000);
        assert_eq!(allowed(400, 10_000), 160_000);
        assert_eq!(allowed(400, 3_000), 60_000, "a minute is enough for these");
        assert_eq!(allowed(u64::MAX, 10_000), 60_000);
        assert_eq!(allowed(400, 90_000), 600_000);
    }
}
