//! The context that every phase reads and none changes: the request of the run, the world it acts on, and the clock of its active time.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use super::comment::Naming;
use super::lost::LostServers;
use super::outside::Outside;
use super::state::{Hearing, PullRequestRuns, RunState};
use crate::agent::Beside;
use crate::audit::AuditError;
use crate::config::SharedPlan;
use crate::domain::budget::Beneficiary;
use crate::domain::ci::RedCi;
use crate::domain::clock::{Clock, Steady};
use crate::domain::delivery::Destination;
use crate::domain::event::RunFinished;
use crate::domain::ladder::Tier;
use crate::domain::outcome::Outcome;
use crate::domain::stop::{Stop, StopCause, WrapUp, signal_name};
use crate::domain::units::RunId;
use crate::domain::verdict::Verdict;
use crate::domain::waiting::Waiting;
use crate::hosted::Hosting;
use crate::model::Providers;
use crate::policy::guard::Guards;
use crate::process::confine::Arranged;
use crate::process::{ProcessError, Spec};
use crate::redact::Redactor;
use crate::report::elsewhere::Elsewhere;
use crate::test_run::TestCommand;
use crate::trial::TrialError;
use crate::workspace::{Workspace, WorkspaceError};

/// Milliseconds in a minute.
const MINUTE_MS: u64 = 60_000;
/// How much of a job is left for its end, and for the step behind ours that keeps the log.
const LAST_MS: u64 = 5 * MINUTE_MS;

/// Why a run could not go on. Its state is durable: `upshift resume` tries again.
#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    /// The working tree cannot be read, recorded or restored.
    #[error("the working tree: {0}")]
    Workspace(#[from] WorkspaceError),
    /// The tests could not be started.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The audit log does not allow going on.
    #[error("the audit log: {0}")]
    Audit(#[from] AuditError),
    /// The saved state cannot be continued.
    #[error("the saved state of the run cannot be continued: {0}")]
    State(String),
}

impl From<TrialError> for LifecycleError {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::Workspace(error) => Self::Workspace(error),
            TrialError::Process(error) => Self::Process(error),
        }
    }
}

/// The world a run acts on.
#[derive(Debug)]
pub struct World<'a> {
    /// The tree.
    pub workspace: Arc<Workspace>,
    /// The models.
    pub providers: &'a Providers,
    /// Where coding agents live.
    pub hosting: &'a Hosting,
    /// The tests.
    pub tests: TestCommand,
    /// The command that is run once before the baseline, if any.
    pub setup: Option<Spec>,
    /// How children are confined.
    pub children: Arranged,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Raised by signals and when the active time is up.
    pub stop: Stop,
    /// The wish to end in good order.
    pub wrap_up: WrapUp,
    /// Counts the time that is spent waiting for the outside.
    pub waiting: Waiting,
    /// The environment for asking the user's git.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// The outside, where something is delivered.
    pub outside: Option<&'a Outside>,
    /// Takes secrets out.
    pub redactor: Arc<Redactor>,
    /// The folder for what a run leaves beside its audit log.
    pub keep: PathBuf,
    /// The guards between a change and a green that it did not earn.
    pub guards: Guards,
    /// Folders in which Python looks for modules when the tests run, beside the usual ones.
    pub import_roots: BTreeSet<String>,
    /// Whether what happens outside starts a job that goes on with a parked run.
    pub is_woken: bool,
    /// Whether what is pushed starts CI: a token was given for it that is not the job's own.
    pub starts_ci: bool,
    /// The writer's word on whether a comment names the run. `None` where nobody writes one.
    pub naming: Option<Naming>,
    /// How the run was last told to stand, where this process has none of its files: it only hears what the outside says.
    pub only_hears: Option<&'a RunFinished>,
}

/// The request of a run, settled before its first test.
#[derive(Debug)]
pub(super) struct Charter {
    /// The run.
    pub(super) run_id: RunId,
    /// The plan as it was when this process took the run up. More that comments allow is in [`super::climb::Allowance`].
    pub(super) plan: SharedPlan,
    /// The test command.
    pub(super) test_command: String,
    /// The framework, if it was configured or detected.
    pub(super) framework: Option<String>,
    /// The beneficiary that the run works for.
    pub(super) beneficiary: Beneficiary,
    /// Where a fix goes. `None` where it stays.
    pub(super) destination: Option<Destination>,
    /// Tells the run's comment from others on the same pull request. `None` outside of a job.
    pub(super) comment_key: Option<String>,
    /// The runs for the pull request that this one is about.
    pub(super) runs: Option<PullRequestRuns>,
    /// The red CI that started the run, if that did.
    pub(super) red_ci: Option<RedCi>,
    /// The words that are told beside the task.
    pub(super) beside: Vec<Beside>,
    /// From when on comments count (RFC 3339).
    pub(super) heard_since: String,
    /// The folder in which a later process took the run up, where that is another than it began in.
    pub(super) moved_to: Option<String>,
}

impl Charter {
    /// The charter of a saved state.
    pub(super) fn of(state: &RunState) -> Self {
        Self {
            run_id: state.run_id.clone(),
            plan: state.plan.clone(),
            test_command: state.test_command.clone(),
            framework: state.framework.clone(),
            beneficiary: state.beneficiary.clone(),
            destination: state.destination.clone(),
            comment_key: state.comment_key.clone(),
            runs: state.runs.clone(),
            red_ci: state.red_ci.clone(),
            beside: state.beside.clone(),
            heard_since: state.hearing.since.clone(),
            moved_to: state.moved_to.clone(),
        }
    }

    /// A tier of the ladder.
    pub(super) fn tier(&self, index: u32) -> Option<&Tier> {
        self.plan.tiers.get(usize::try_from(index).ok()?)
    }

    /// The saved form of a run of which nothing else is known.
    pub(super) fn saved(&self) -> RunState {
        let state =
            RunState::new(self.run_id.clone(), self.plan.clone(), self.test_command.clone(), self.framework.clone());
        RunState {
            beneficiary: self.beneficiary.clone(),
            destination: self.destination.clone(),
            comment_key: self.comment_key.clone(),
            runs: self.runs.clone(),
            red_ci: self.red_ci.clone(),
            beside: self.beside.clone(),
            moved_to: self.moved_to.clone(),
            hearing: Hearing { since: self.heard_since.clone(), ..Hearing::default() },
            ..state
        }
    }
}

/// The context that every phase reads and none changes.
#[derive(Debug)]
pub(super) struct Context<'a> {
    /// The world.
    pub(super) world: World<'a>,
    /// The request of the run.
    pub(super) charter: Charter,
    /// The servers of tools that sessions do without.
    pub(super) lost: LostServers,
    started: Steady,
    active_before_ms: u64,
}

impl<'a> Context<'a> {
    /// The context of a run that this process takes up now.
    pub(super) fn new(world: World<'a>, state: &RunState) -> Self {
        let started = Steady::read(world.clock);
        let lost = LostServers::default();
        Self { charter: Charter::of(state), lost, started, active_before_ms: state.active_ms, world }
    }

    /// Active milliseconds so far, over all invocations.
    pub(super) fn active_ms(&self) -> u64 {
        // Waits for limits and for the outside are no work.
        let waited = self.world.waiting.total_ms(self.world.clock.monotonic_ms());
        self.active_before_ms + self.started.elapsed_ms(self.world.clock).saturating_sub(waited)
    }

    /// Whether the job that this process is in has hardly any time left: a run that waits is parked then, or the runner would end it.
    pub(super) fn is_job_ending(&self) -> bool {
        self.job_left_ms() == 0
    }

    /// Milliseconds until the job has hardly any time left. Without end outside of a job.
    pub(super) fn job_left_ms(&self) -> u64 {
        // Outside of a job nothing ends the process at a given time.
        if self.charter.comment_key.is_none() {
            return u64::MAX;
        }
        let allowed = u64::from(self.charter.plan.github.job_timeout_minutes).saturating_mul(MINUTE_MS);
        allowed.saturating_sub(self.started.elapsed_ms(self.world.clock).saturating_add(LAST_MS))
    }

    /// The day, for what is capped per day.
    pub(super) fn day(&self) -> String {
        self.started.day(self.world.clock)
    }

    /// The text with paths of the checkout as the repository names them, and those of homes and temporary folders as a shell does: a reader
    /// elsewhere has no such folder.
    pub(super) fn beneath(&self, text: &str) -> String {
        let root = self.world.workspace.root().display().to_string();
        let own = [("HOME", "~"), ("TMPDIR", "$TMPDIR"), ("RUNNER_TEMP", "$RUNNER_TEMP")];
        let of = |env: &BTreeMap<OsString, OsString>, (variable, name)| {
            Some((env.get(OsStr::new(variable))?.to_str()?.to_owned(), name))
        };
        // The tests may have a home of their own.
        let folders = [&self.world.tests.env, self.world.environment].into_iter();
        let folders = folders.flat_map(|env| own.into_iter().filter_map(move |one| of(env, one)));
        Elsewhere::new(&root, folders.chain(of(self.world.environment, ("GITHUB_WORKSPACE", "$GITHUB_WORKSPACE"))))
            .told(text)
    }

    /// A verdict whose reason is told elsewhere.
    pub(super) fn verdict_beneath(&self, verdict: &Verdict) -> Verdict {
        match verdict {
            Verdict::Green | Verdict::Red { reason: None } => verdict.clone(),
            Verdict::Red { reason: Some(reason) } => Verdict::Red { reason: Some(self.beneath(reason)) },
            Verdict::Broken { reason } => Verdict::Broken { reason: self.beneath(reason) },
            Verdict::Tampered { reason } => Verdict::Tampered { reason: self.beneath(reason) },
        }
    }

    /// The text without secrets.
    pub(super) fn redact(&self, text: &str) -> String {
        self.world.redactor.redact(text).into_owned()
    }

    /// The signal that came, if one did. The clock of the active time does not count here.
    pub(super) fn signals(&self) -> Option<StopCause> {
        self.world.outside.map_or_else(|| self.world.stop.raised(), |outside| outside.signals.raised())
    }

    /// The signal that ends the run, if one came.
    pub(super) fn signal(&self) -> Option<i32> {
        // A signal may only have asked for an end in good order so far: then it stands among the wishes.
        match self.world.stop.raised().or(self.world.wrap_up.wished()) {
            Some(StopCause::Signal(signal)) => Some(signal),
            Some(StopCause::TimeUp | StopCause::Asked | StopCause::OwnTime(_)) | None => None,
        }
    }
}

/// The end of a run that a signal stopped.
pub(super) fn interrupted(signal: i32) -> (Outcome, String) {
    (Outcome::Interrupted { signal }, format!("interrupted by {}", signal_name(signal)))
}

/// The paths that models wrote, as the workspace takes them.
pub(super) fn paths(touched: &BTreeSet<String>) -> Vec<PathBuf> {
    touched.iter().map(PathBuf::from).collect()
}
