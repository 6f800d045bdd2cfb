//! Experiments carried out: files are changed, the tests are run, everything is put back.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::super::bench::{Bench, TrialError};
use super::super::{fresh, judging};
use super::example::{self, Wanted};
use super::{outcome, tally};
use crate::domain::test_report::RunKind;
use crate::domain::units::TreeId;
use crate::test_run::direct::{self, Called, Outcome, Surroundings, cargo};
use crate::test_run::elsewhere::{self, Elsewhere};
use crate::test_run::{self, TestCommand, TestRun};

/// Build tools compare times of files: what an experiment writes is this much later than what was written before.
const STEP: Duration = Duration::from_secs(2);

/// The experiments on one green.
#[derive(Debug)]
pub(super) struct Runs<'b> {
    pub(super) bench: &'b Bench<'b>,
    tests: TestCommand,
    began_ms: u64,
    allowed_ms: u64,
    /// How long the longest run took.
    longest_ms: u64,
    /// How many were carried out.
    pub(super) count: u32,
    /// Whether single tests can be selected.
    selects: bool,
}

impl<'b> Runs<'b> {
    /// Experiments that may take so long together.
    pub(super) fn new(bench: &'b Bench<'b>, allowed_ms: u64) -> Self {
        let began_ms = bench.clock.monotonic_ms();
        Self { bench, tests: bench.selectable(), began_ms, allowed_ms, longest_ms: 0, count: 0, selects: true }
    }

    /// How long they took so far.
    pub(super) fn elapsed_ms(&self) -> u64 {
        self.bench.clock.monotonic_ms().saturating_sub(self.began_ms)
    }

    /// A command that ends little later than the time is up: what ends in a test need not end in an experiment.
    fn in_time(&self, command: TestCommand) -> TestCommand {
        let left = self.allowed_ms.saturating_sub(self.elapsed_ms()) + self.longest_ms;
        TestCommand { timeout: command.timeout.min(Duration::from_millis(left)), ..command }
    }

    /// Runs the wanted tests on a tree with some files' texts replaced. `None` when the time is up or the run is to end. Where a run of a
    /// selection tells nothing of them, all tests run, now and from then on.
    pub(super) async fn run(
        &mut self,
        base: &TreeId,
        texts: &BTreeMap<String, String>,
        wanted: &str,
        tells: &dyn Fn(&TestRun) -> bool,
    ) -> Result<Option<TestRun>, TrialError> {
        let selects = self.selects && test_run::can_select(&self.tests, wanted);
        if let Some(run) = self.attempt(base, texts, selects.then_some(wanted)).await? {
            let selected_none = matches!(run.report.kind, RunKind::NoTests | RunKind::BadCommand)
                || (!outcome::did_not_run(&run) && !tells(&run));
            if !(selects && selected_none) {
                return Ok(Some(run));
            }
            self.selects = false;
            return self.attempt(base, texts, None).await;
        }
        Ok(None)
    }

    /// Runs all tests on a tree with some files' texts replaced. `None` as in [`Self::run`].
    pub(super) async fn whole(
        &mut self,
        base: &TreeId,
        texts: &BTreeMap<String, String>,
    ) -> Result<Option<TestRun>, TrialError> {
        self.attempt(base, texts, None).await
    }

    async fn attempt(
        &mut self,
        base: &TreeId,
        texts: &BTreeMap<String, String>,
        wanted: Option<&str>,
    ) -> Result<Option<TestRun>, TrialError> {
        let tests = self.tests.clone();
        self.by(&|| Some(tests.clone().into()), base, texts, wanted).await
    }

    /// The same by another command, which is made when the world is as it was at the start. `None` where there is none.
    pub(super) async fn by(
        &mut self,
        command: &dyn Fn() -> Option<Elsewhere>,
        base: &TreeId,
        texts: &BTreeMap<String, String>,
        wanted: Option<&str>,
    ) -> Result<Option<TestRun>, TrialError> {
        let expected = self.longest_ms.max(if wanted.is_none() { self.bench.baseline_ms } else { 0 });
        if self.elapsed_ms() + expected > self.allowed_ms || self.bench.stop.raised().is_some() {
            return Ok(None);
        }
        fresh::freshen(self.bench, base).await?;
        self.count += 1;
        let later = self.later();
        for (path, text) in texts {
            self.bench.workspace.plant(path, text, later)?;
        }
        let Some(Elsewhere { command, folder }) = command() else { return Ok(None) };
        let run = test_run::run(&self.in_time(command), wanted, self.bench.stop).await?;
        drop(folder);
        self.longest_ms = self.longest_ms.max(run.duration_ms);
        Ok(run.stopped.is_none().then_some(run))
    }

    /// Runs the whole suite on a tree once more. Returns which files that judge changed meanwhile, and `None` when the time is up.
    pub(super) async fn watch(&mut self, base: &TreeId) -> Result<Option<Vec<String>>, TrialError> {
        if self.elapsed_ms() + self.bench.baseline_ms > self.allowed_ms || self.bench.stop.raised().is_some() {
            return Ok(None);
        }
        fresh::freshen(self.bench, base).await?;
        self.count += 1;
        let watched = judging::watched(self.bench).await?;
        Ok(watched.stirred.filter(|_| watched.run.stopped.is_none()))
    }

    /// Calls tests without their runner on a tree, with some variables set: `None` when the time is up, nothing inside where nothing came
    /// back.
    pub(super) async fn call(
        &mut self,
        base: &TreeId,
        tests: &[Called],
        built: &[Wanted<'_>],
        surroundings: Surroundings,
        set: &[String],
    ) -> Result<Option<Option<Vec<Outcome>>>, TrialError> {
        if self.elapsed_ms() + self.longest_ms > self.allowed_ms || self.bench.stop.raised().is_some() {
            return Ok(None);
        }
        fresh::freshen(self.bench, base).await?;
        self.count += 1;
        let name = tally::word(uuid::Uuid::new_v4().as_u128());
        let began = self.bench.clock.monotonic_ms();
        let mut command = self.in_time(self.tests.clone());
        elsewhere::set(&mut command.env, set);
        let became = if cargo::can_call(&command) {
            self.built(&command, base, built, &name, surroundings).await?
        } else {
            direct::call(&command, &name, tests, surroundings, self.bench.stop).await?
        };
        self.longest_ms = self.longest_ms.max(self.bench.clock.monotonic_ms().saturating_sub(began));
        Ok(Some(became))
    }

    /// Calls Rust's tests by an example of their crate.
    async fn built(
        &self,
        tests: &TestCommand,
        base: &TreeId,
        wanted: &[Wanted<'_>],
        word: &str,
        surroundings: Surroundings,
    ) -> Result<Option<Vec<Outcome>>, TrialError> {
        let bench = self.bench;
        let Some((secret_dir, results)) = cargo::secret_dir(tests) else { return Ok(None) };
        let Some(example) = example::write(bench, base, wanted, word, &results)? else { return Ok(None) };
        let later = self.later();
        for (path, text) in &example.texts {
            bench.workspace.plant(path, text, later)?;
        }
        let built = cargo::Built {
            word,
            package: &example.package,
            folder: &example.folder,
            workspace: &example.workspace,
            root: bench.workspace.root(),
        };
        Ok(cargo::call(tests, &built, &secret_dir, surroundings, bench.stop).await?)
    }

    /// A time after all that earlier experiments wrote.
    fn later(&self) -> SystemTime {
        let now = u64::try_from(self.bench.clock.unix_ms()).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::from_millis(now) + STEP * self.count
    }

    /// Runs as [`Self::run`]. A run in which no test ran says nothing.
    pub(super) async fn telling(
        &mut self,
        base: &TreeId,
        texts: &BTreeMap<String, String>,
        wanted: &str,
        tells: &dyn Fn(&TestRun) -> bool,
    ) -> Result<Option<TestRun>, TrialError> {
        Ok(self.run(base, texts, wanted, tells).await?.filter(|run| !outcome::did_not_run(run)))
    }
}
