//! Experiments carried out: files are changed, the tests are run, everything is put back.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::super::bench::{Bench, TrialError};
use super::super::{fresh, judging};
use super::example::{self, Wanted};
use super::{outcome, tally};
use crate::domain::test_report::RunKind;
use crate::domain::units::TreeId;
use crate::domain::verdict::Exit;
use crate::test_run::direct::shared::{self, Loaded, Watched};
use crate::test_run::direct::{self, Called, Outcome, Surroundings, cargo};
use crate::test_run::elsewhere::{self, Elsewhere};
use crate::test_run::{self, TestCommand, TestRun};

/// Build tools compare times of files: what an experiment writes is this much later than what was written before.
const STEP: Duration = Duration::from_secs(2);

/// An experiment that may go on for ever ends after so many times what one of its kind takes, and so much more, in milliseconds.
const HURRIED: u64 = 4;
const HURRIED_MS: u64 = 1_000;

/// The kinds of experiments: each takes a time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Some of the tests.
    Selected,
    /// All of them.
    Whole,
    /// Calls without the runner.
    Call,
}

/// The time that the longest experiment of each kind took, in milliseconds. One that was cut short says nothing of it.
#[derive(Debug, Default)]
struct Longest {
    selected: u64,
    whole: u64,
    call: u64,
}

impl Longest {
    fn of(&mut self, scale: Scale) -> &mut u64 {
        match scale {
            Scale::Selected => &mut self.selected,
            Scale::Whole => &mut self.whole,
            Scale::Call => &mut self.call,
        }
    }
}

/// The experiments on one green.
#[derive(Debug)]
pub(super) struct Runs<'b> {
    pub(super) bench: &'b Bench<'b>,
    tests: TestCommand,
    began_ms: u64,
    allowed_ms: u64,
    longest: Longest,
    /// Whether an experiment may be one that goes on for ever.
    hurries: bool,
    /// How many were carried out.
    pub(super) count: u32,
    /// Whether single tests can be selected.
    selects: bool,
    /// Whether a selection was seen to work.
    selected: bool,
}

impl<'b> Runs<'b> {
    /// Experiments that may take so long together.
    pub(super) fn new(bench: &'b Bench<'b>, allowed_ms: u64) -> Self {
        let began_ms = bench.clock.monotonic_ms();
        Self {
            bench,
            tests: bench.selectable(),
            began_ms,
            allowed_ms,
            longest: Longest::default(),
            hurries: false,
            count: 0,
            selects: true,
            selected: false,
        }
    }

    /// How long they took so far.
    pub(super) fn elapsed_ms(&self) -> u64 {
        self.bench.clock.monotonic_ms().saturating_sub(self.began_ms)
    }

    /// Whether more than half of their time is over: what is left is for other kinds.
    pub(super) fn is_half_spent(&self) -> bool {
        self.elapsed_ms() > self.allowed_ms / 2
    }

    /// From now on an experiment ends soon after the time that one of its kind takes, or no longer so: where a condition is settled, a loop
    /// may have no end. A test that does not come to its end needs what was settled.
    pub(super) const fn hurry(&mut self, hurries: bool) {
        self.hurries = hurries;
    }

    /// The time that an experiment is expected to take, in milliseconds.
    fn expected(&mut self, scale: Scale) -> u64 {
        // Before the first whole suite was measured here, the one at the start tells.
        let least = if scale == Scale::Whole { self.bench.baseline_ms } else { 0 };
        (*self.longest.of(scale)).max(least)
    }

    fn has_time(&mut self, scale: Scale) -> bool {
        // An experiment that may not end in time is not begun.
        self.elapsed_ms() + self.expected(scale) <= self.allowed_ms && self.bench.stop.raised().is_none()
    }

    /// A command that ends little later than the time is up: what ends in a test need not end in an experiment.
    fn in_time(&mut self, command: TestCommand, scale: Scale) -> TestCommand {
        let expected = self.expected(scale);
        let left = self.allowed_ms.saturating_sub(self.elapsed_ms()) + expected;
        let soon = if self.hurries && expected > 0 { expected * HURRIED + HURRIED_MS } else { left };
        TestCommand { timeout: command.timeout.min(Duration::from_millis(left.min(soon))), ..command }
    }

    fn took(&mut self, scale: Scale, ms: u64) {
        let longest = self.longest.of(scale);
        *longest = (*longest).max(ms);
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
            // A runner may know a test by another name than the one that it prints.
            let selected_none = matches!(run.report.kind, RunKind::NoTests | RunKind::BadCommand)
                || (!outcome::did_not_run(&run) && !tells(&run));
            if !(selects && selected_none) {
                self.selected |= selects && !outcome::did_not_run(&run) && tells(&run);
                return Ok(Some(run));
            }
            // Where a selection has worked before, it is this one that finds nothing.
            self.selects = self.selected;
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
        let scale = if wanted.is_some() { Scale::Selected } else { Scale::Whole };
        if !self.has_time(scale) {
            return Ok(None);
        }
        fresh::freshen(self.bench, base).await?;
        self.count += 1;
        // Behind the freshening, which would take the texts away again.
        let later = self.later();
        for (path, text) in texts {
            self.bench.workspace.plant(path, text, later)?;
        }
        let Some(Elsewhere { command, folder }) = command() else { return Ok(None) };
        let run = test_run::run(&self.in_time(command, scale), wanted, self.bench.stop).await?;
        // The run works in it until here.
        drop(folder);
        if run.exit != Exit::Timeout {
            self.took(scale, run.duration_ms);
        }
        Ok(run.stopped.is_none().then_some(run))
    }

    /// Runs the whole suite on a tree once more. Returns which files that judge changed meanwhile, and `None` when the time is up.
    pub(super) async fn watch(&mut self, base: &TreeId) -> Result<Option<Vec<String>>, TrialError> {
        if !self.has_time(Scale::Whole) {
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
        if !self.has_time(Scale::Call) {
            return Ok(None);
        }
        fresh::freshen(self.bench, base).await?;
        self.count += 1;
        // Random, so that code under test cannot wait for it.
        let name = tally::word(uuid::Uuid::new_v4().as_u128());
        let began = self.bench.clock.monotonic_ms();
        let own = self.tests.clone();
        let mut command = self.in_time(own, Scale::Call);
        elsewhere::set(&mut command.env, set);
        let became = if cargo::can_call(&command) {
            self.built(&command, base, built, &name, surroundings).await?
        } else {
            direct::call(&command, &name, tests, surroundings, self.bench.stop).await?
        };
        if became.is_some() {
            self.took(Scale::Call, self.bench.clock.monotonic_ms().saturating_sub(began));
        }
        Ok(Some(became))
    }

    /// Loads files of a tree without any runner. `None` when the time is up or nothing came back.
    pub(super) async fn load(&mut self, base: &TreeId, files: &[String]) -> Result<Option<Vec<Loaded>>, TrialError> {
        if !self.has_time(Scale::Call) {
            return Ok(None);
        }
        fresh::freshen(self.bench, base).await?;
        self.count += 1;
        let name = tally::word(uuid::Uuid::new_v4().as_u128());
        let own = self.tests.clone();
        let command = self.in_time(own, Scale::Call);
        Ok(shared::load(&command, &name, files, self.bench.stop).await?)
    }

    /// Calls tests without their runner on a tree, and tells what they change of all that is shared. `None` as in [`Self::load`].
    pub(super) async fn changes_in_calls(
        &mut self,
        base: &TreeId,
        tests: &[Called],
        preload: &[String],
    ) -> Result<Option<Vec<Watched>>, TrialError> {
        if !self.has_time(Scale::Call) {
            return Ok(None);
        }
        fresh::freshen(self.bench, base).await?;
        self.count += 1;
        let name = tally::word(uuid::Uuid::new_v4().as_u128());
        let own = self.tests.clone();
        let command = self.in_time(own, Scale::Call);
        Ok(shared::watch(&command, &name, tests, preload, self.bench.stop).await?)
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
