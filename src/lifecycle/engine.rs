//! The engine: the run's state, the journal it is recorded in, and the world it acts on.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::listening::Listening;
use super::outside::Outside;
use super::state::{Phase, RunState};
use crate::audit::{AuditError, Cap, Journal, Scope};
use crate::config::{EndpointPlan, Plan};
use crate::domain::account::{Account, Accounts};
use crate::domain::budget::{Beneficiary, SharedCaps, Spent};
use crate::domain::clock::{Clock, Steady};
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::domain::stop::{Stop, StopCause, WrapUp, signal_name};
use crate::domain::units::{Charge, MicroUsd};
use crate::domain::waiting::Waiting;
use crate::model::Providers;
use crate::policy::budget;
use crate::policy::guard::Guards;
use crate::process::confine::Arranged;
use crate::process::{ProcessError, Spec};
use crate::redact::Redactor;
use crate::session::{Memory, Replay};
use crate::test_run::TestCommand;
use crate::trial::TrialError;
use crate::workspace::{Workspace, WorkspaceError};

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
    /// The outside, where something is delivered.
    pub outside: Option<&'a Outside>,
    /// Takes secrets out.
    pub redactor: Arc<Redactor>,
    /// The folder for what a run leaves beside its audit log.
    pub keep: PathBuf,
    /// What stands between a change and a green that it did not earn.
    pub guards: Guards,
    /// Folders in which Python looks for modules when the tests run, beside the usual ones.
    pub import_roots: BTreeSet<String>,
}

/// What runs share is counted also where nothing caps it, so that a cap that is set tomorrow knows of today.
const NO_CAP: MicroUsd = MicroUsd(u64::MAX);

/// A run under way.
#[derive(Debug)]
pub struct Engine<'a> {
    /// The world.
    pub world: World<'a>,
    /// Where everything is recorded.
    pub journal: Journal,
    /// What is durable of the run.
    pub state: RunState,
    /// Replies of an iteration that a killed process had under way.
    pub(super) replay: Replay,
    /// What the run has learnt of its targets.
    pub(super) memory: Memory,
    /// What is known of those who comment.
    pub(super) listening: Listening,
    /// Whether the files on disk are those of the tier's tree; unknown after a resume.
    pub(super) tree_is_current: bool,
    started: Steady,
    active_before_ms: u64,
}

impl<'a> Engine<'a> {
    /// An engine at the beginning of a run, or where the state says.
    #[must_use]
    pub fn new(world: World<'a>, journal: Journal, state: RunState, replay: Replay) -> Self {
        let started = Steady::read(world.clock);
        let active_before_ms = state.active_ms;
        let memory = Memory { accounts: accounts(&state.plan), waiting: world.waiting.clone(), ..Memory::default() };
        let listening = Listening::default();
        Self { world, journal, state, replay, memory, listening, tree_is_current: false, started, active_before_ms }
    }

    /// Active milliseconds so far, over all invocations.
    #[must_use]
    pub fn active_ms(&self) -> u64 {
        let waited = self.world.waiting.total_ms(self.world.clock.monotonic_ms());
        self.active_before_ms + self.started.elapsed_ms(self.world.clock).saturating_sub(waited)
    }

    /// What of the budget is used.
    #[must_use]
    pub fn spent(&self) -> Spent {
        Spent {
            cost: self.cost(),
            unknown_cost: self.charge().unknown,
            iterations: self.state.run_iterations,
            active_ms: self.active_ms(),
        }
    }

    /// What the receipts of the run add up to.
    #[must_use]
    pub fn cost(&self) -> MicroUsd {
        self.journal.store().spent(&Scope::Run(self.state.run_id.clone()))
    }

    /// The same, parted into what is known and what is not.
    #[must_use]
    pub fn charge(&self) -> Charge {
        self.journal.store().charge(&self.state.run_id, None)
    }

    /// What the receipts of the iteration under way add up to, lost calls included.
    #[must_use]
    pub fn iteration_charge(&self) -> Charge {
        let of = (self.state.position.tier_index, self.state.iteration());
        self.journal.store().charge(&self.state.run_id, Some(of))
    }

    /// The caps that hold for a call of this tier, and the sums that it counts towards although nothing caps them yet.
    #[must_use]
    pub fn caps(&self) -> Vec<Cap> {
        let state = &self.state;
        let run = &state.run_id;
        let mut caps = vec![Cap { scope: Scope::Run(run.clone()), max: state.plan.budget.max_cost }];
        if let Some(max) = state.tier().and_then(|tier| tier.max_cost) {
            caps.push(Cap { scope: Scope::Tier(run.clone(), state.position.tier_index), max });
        }
        let SharedCaps { per_pull_request, per_day } = state.plan.shared_caps;
        let Beneficiary { repository, pull_request } = &state.beneficiary;
        if repository.is_empty() {
            return caps;
        }
        if let Some(number) = pull_request {
            let scope = Scope::PullRequest(format!("{repository}#{number}"));
            let before = state.runs.as_ref().map_or(MicroUsd::ZERO, |runs| runs.spent_before);
            caps.push(Cap { scope, max: per_pull_request.unwrap_or(NO_CAP).saturating_sub(before) });
        }
        let scope = Scope::Day(format!("{repository}@{}", self.started.day(self.world.clock)));
        caps.push(Cap { scope, max: per_day.unwrap_or(NO_CAP) });
        caps
    }

    /// Makes events and the state that follows from them durable, in one transaction.
    pub(super) fn record(&mut self, events: &[Event]) {
        self.state.active_ms = self.active_ms();
        let state = serde_json::to_string(&self.state).unwrap_or_default();
        self.journal.record(events, Some(&state));
    }

    /// Decides how the run ends; the ending itself is the next phase.
    pub(super) fn end_with(&mut self, outcome: Outcome, stop_reason: String, events: &[Event]) {
        self.state.phase = Phase::Ending { outcome, stop_reason };
        self.record(events);
    }

    /// The cap that is reached, in words, if one is.
    #[must_use]
    pub fn over_budget(&self) -> Option<String> {
        budget::check(&self.state.plan.budget, &self.spent()).reason
    }

    /// Events for caps of which 80 % are used; each once.
    pub(super) fn budget_warnings(&mut self) -> Vec<Event> {
        let spent = self.spent();
        let warnings = self.state.warned.observe(&self.state.plan.budget, &spent);
        let event = |warning: budget::Warning| Event::BudgetWarning {
            dimension: warning.dimension.as_str().to_owned(),
            percent: warning.percent,
        };
        warnings.into_iter().map(event).collect()
    }

    /// The pull request that the fix is on its way through.
    pub(super) fn pull_request(&self) -> Option<u64> {
        self.state.delivery.pull_request.or(self.state.destination.as_ref()?.pull_request)
    }

    /// The signal that came, if one did; the clock of the active time does not count here.
    pub(super) fn signals(&self) -> Option<StopCause> {
        self.world.outside.map_or_else(|| self.world.stop.raised(), |outside| outside.signals.raised())
    }

    /// The signal that ends the run, if one came.
    pub(super) fn signal(&self) -> Option<i32> {
        match self.world.stop.raised().or(self.world.wrap_up.wished()) {
            Some(StopCause::Signal(signal)) => Some(signal),
            Some(StopCause::TimeUp | StopCause::Asked) | None => None,
        }
    }
}

/// The accounts of a plan's providers; recordings have none.
fn accounts(plan: &Plan) -> Accounts {
    let reached = plan.endpoints.iter().filter(|(_, endpoint)| !endpoint.base_url.is_empty());
    let account = |endpoint: &EndpointPlan| Account::new(&endpoint.base_url, endpoint.key_var.as_deref());
    Accounts(reached.map(|(name, endpoint)| (name.clone(), account(endpoint))).collect())
}

/// The end of a run that a signal stopped.
pub(super) fn interrupted(signal: i32) -> (Outcome, String) {
    (Outcome::Interrupted { signal }, format!("interrupted by {}", signal_name(signal)))
}

/// The paths that models wrote, as the workspace takes them.
pub(super) fn paths(touched: &BTreeSet<String>) -> Vec<PathBuf> {
    touched.iter().map(PathBuf::from).collect()
}
