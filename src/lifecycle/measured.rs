//! The first phase and what it settles: how the tests are run, and what they said before any change.

use std::collections::BTreeSet;

use super::allowance::{Allowance, Comments};
use super::context::{Charter, Context};
use super::state::{Phase, RunState};
use crate::config::is_only;
use crate::domain::ci::RedCi;
use crate::domain::units::{CommitSha, TreeId};
use crate::policy::verdict::Baseline;
use crate::process::confine::Arranged;
use crate::test_run::{Check, TestCommand};

/// How the tests are run: settled with the baseline.
#[derive(Debug, Clone)]
pub(super) struct TestSetup {
    /// The command with its environment and confinement.
    pub(super) tests: TestCommand,
    /// Whether they were given the network because they do not run without it.
    pub(super) network_opened: bool,
    /// Whether the command does not work when its runner is told to write a result file.
    pub(super) no_result_files: bool,
    /// Whether what failed in CI is run beside them.
    pub(super) with_checks: bool,
}

impl TestSetup {
    /// The tests as they are to be run, with the network where an earlier process had opened it.
    pub(super) fn of(context: &Context<'_>, state: &RunState) -> Self {
        let tests = context.world.tests.clone();
        let (network_opened, no_result_files) = (state.network_opened, state.no_result_files);
        let mut setup = Self { tests, network_opened, no_result_files, with_checks: false };
        if state.with_checks {
            setup.add_checks(context);
        }
        if setup.network_opened { setup.opened(&context.world.children) } else { setup }
    }

    /// Runs what failed in CI beside the tests from now on, where something of that runs here.
    pub(super) fn add_checks(&mut self, context: &Context<'_>) -> bool {
        let failed = context.charter.red_ci.as_ref().map(RedCi::checks).unwrap_or_default();
        for (job, run) in failed {
            // The configuration may have the same command beside the tests already.
            if self.tests.checks.iter().any(|check| check.run == run) || self.is_test_command(context, run) {
                continue;
            }
            // Checks are told apart by their names.
            let is_taken = self.tests.checks.iter().any(|check| check.name == job);
            let name = if is_taken { format!("{job} (CI)") } else { job.to_owned() };
            let cwd = context.world.workspace.root().to_owned();
            self.tests.checks.push(Check { name, run: run.to_owned(), cwd });
            self.with_checks = true;
        }
        self.with_checks
    }

    /// Whether a failed step runs the tests as they are run here anyway: once more would say nothing more.
    fn is_test_command(&self, context: &Context<'_>, step: &str) -> bool {
        let folder = self.tests.cwd.strip_prefix(context.world.workspace.root());
        // A folder with such a name is in no workflow.
        let Some(folder) = folder.ok().and_then(|folder| folder.to_str()) else { return false };
        is_only(step, &self.tests.command, Some(folder).filter(|folder| !folder.is_empty()))
    }

    /// The same tests with the network.
    pub(super) fn opened(mut self, children: &Arranged) -> Self {
        if let Some(open) = children.open.clone() {
            self.tests.confinement = open.confinement;
            self.tests.env = open.env;
        }
        self
    }

    fn save(&self, state: &mut RunState) {
        state.network_opened = self.network_opened;
        state.no_result_files = self.no_result_files;
        state.with_checks = self.with_checks;
    }
}

/// The tree as the user had it.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    /// Its recording.
    pub(super) tree: TreeId,
    /// The commit that it is told by in the log.
    pub(super) base: Option<CommitSha>,
    /// Its files that the tests themselves rewrote at the baseline: nobody's change.
    pub(super) by_products: BTreeSet<String>,
    /// Its files that judge and that the tests touched at the baseline. `None` where that is not known.
    pub(super) stirred: Option<BTreeSet<String>>,
}

impl Origin {
    /// The origin that a saved state tells of.
    pub(super) fn of(state: &RunState) -> Option<Self> {
        let (base, by_products, stirred) = (state.base.clone(), state.by_products.clone(), state.stirred.clone());
        Some(Self { tree: state.start.clone()?, base, by_products, stirred })
    }

    fn save(&self, state: &mut RunState) {
        state.start = Some(self.tree.clone());
        state.base.clone_from(&self.base);
        state.by_products.clone_from(&self.by_products);
        state.stirred.clone_from(&self.stirred);
    }
}

/// The phase in which it is found out what fails.
#[derive(Debug)]
pub(super) struct Measuring {
    /// How the tests are run, as far as that is known.
    pub(super) setup: TestSetup,
    /// The tree as the user had it, once it is recorded.
    pub(super) origin: Option<Origin>,
    /// The money and the iterations that may be spent.
    pub(super) allowance: Allowance,
    /// The comments that were heard.
    pub(super) comments: Comments,
}

impl Measuring {
    /// The phase that a saved state tells of.
    pub(super) fn of(setup: &TestSetup, state: &RunState) -> Self {
        Self {
            setup: setup.clone(),
            origin: Origin::of(state),
            allowance: Allowance::of(state),
            comments: Comments::of(state),
        }
    }

    /// The saved form, as it is in a phase.
    pub(super) fn saved(&self, charter: &Charter, phase: Phase) -> RunState {
        let mut state = RunState { phase, ..charter.saved() };
        self.allowance.save(&mut state);
        self.comments.save(&mut state);
        self.setup.save(&mut state);
        if let Some(origin) = &self.origin {
            origin.save(&mut state);
        }
        state
    }
}

/// The facts that the baseline settled. Nothing of them changes while the run climbs and delivers.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// How the tests are run.
    pub(super) setup: TestSetup,
    /// The tree as the user had it.
    pub(super) origin: Origin,
    /// Whether the tests passed, so that CI alone judges the changes.
    pub(super) judged_by_ci: bool,
    /// Names of what the run is to mend: failing tests, or where CI alone judges, what failed there.
    pub(super) failure: Vec<String>,
    /// The tests' result before any change.
    pub(super) baseline: Baseline,
    /// How long they took, in milliseconds.
    pub(super) duration_ms: u64,
    /// The framework that was recognised in their output.
    pub(super) framework: Option<String>,
}

impl Measured {
    /// The facts that a saved state tells of a baseline that is over.
    pub(super) fn of(setup: &TestSetup, state: &RunState) -> Option<Self> {
        let baseline = state.baseline.clone()?;
        // A run of an earlier version knows its failing tests alone.
        let failure = if state.failure.is_empty() { baseline.failing.clone() } else { state.failure.clone() };
        Some(Self {
            setup: setup.clone(),
            origin: Origin::of(state)?,
            judged_by_ci: state.judged_by_ci,
            failure,
            baseline,
            duration_ms: state.baseline_ms,
            framework: state.framework_seen.clone(),
        })
    }

    /// Puts it into the saved form.
    pub(super) fn save(&self, state: &mut RunState) {
        self.setup.save(state);
        self.origin.save(state);
        state.judged_by_ci = self.judged_by_ci;
        state.failure.clone_from(&self.failure);
        state.baseline = Some(self.baseline.clone());
        state.baseline_ms = self.duration_ms;
        state.framework_seen.clone_from(&self.framework);
    }
}
