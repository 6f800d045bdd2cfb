//! Input and output of the log, beside the events themselves.

use std::fmt;

use crate::domain::event::Event;
use crate::domain::model_id::ModelId;
use crate::domain::outcome::Outcome;
use crate::domain::receipt::CallScope;
use crate::domain::units::{MicroUsd, RunId};

/// The calls over which a sum of money is counted. Runs that share a database share the caps of equal scopes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// All calls of one run.
    Run(RunId),
    /// All calls of one tier of a run, which is zero-based.
    Tier(RunId, u32),
    /// All calls of one named agent of a run, such as an advisor.
    Agent(RunId, String),
    /// All calls for one pull request, over all its runs: `owner/name#12`.
    PullRequest(String),
    /// All calls for one repository on one day: `owner/name@2026-02-17`.
    Day(String),
}

impl fmt::Display for Scope {
    /// The key in the database: `run:<id>`, `tier:<id>:<index>`, `agent:<id>:<name>`, `pr:<…>`, `day:<…>`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(run) => write!(f, "run:{run}"),
            // Runs are in the key, as each has a budget of its own. The last two are shared by runs on purpose.
            Self::Tier(run, index) => write!(f, "tier:{run}:{index}"),
            Self::Agent(run, name) => write!(f, "agent:{run}:{name}"),
            Self::PullRequest(name) => write!(f, "pr:{name}"),
            Self::Day(name) => write!(f, "day:{name}"),
        }
    }
}

/// The most that all calls of a scope together may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cap {
    /// The calls that are counted.
    pub scope: Scope,
    /// The most it may come to.
    pub max: MicroUsd,
}

/// The worst case of a call that is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallReservation {
    /// The call's unique id. Its receipt will have the same.
    pub call_id: String,
    /// Where in the run it belongs.
    pub scope: CallScope,
    /// The model that will be asked.
    pub target: ModelId,
    /// The amount that is set aside.
    pub reserved: MicroUsd,
}

impl CallReservation {
    /// The event that tells of it. [`super::Store::reserve`] has recorded it, and other listeners still want it.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::CallReserved { call_id: self.call_id.clone(), scope: self.scope.clone(), reserved: self.reserved }
    }
}

/// A cap that a call could have passed: the call must not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{scope} has used {spent} of {max} and {reserved_elsewhere} is reserved for calls under way; {asked} more could exceed the cap"
)]
pub struct Refused {
    /// Whose cap.
    pub scope: Scope,
    /// The cap.
    pub max: MicroUsd,
    /// Settled so far. The whole cap when the log could not be read: what is not known counts as spent.
    pub spent: MicroUsd,
    /// Set aside for calls that are not settled, of any run that shares the scope.
    pub reserved_elsewhere: MicroUsd,
    /// The amount that was asked for.
    pub asked: MicroUsd,
}

impl Refused {
    /// The amount that could still be reserved.
    #[must_use]
    pub fn left(&self) -> MicroUsd {
        self.max.saturating_sub(self.spent + self.reserved_elsewhere)
    }
}

/// A serialised conversation or other state that is worth keeping, beside the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot<'a> {
    /// The kind: `conversation`, ….
    pub kind: &'a str,
    /// The session it belongs to.
    pub session_id: &'a str,
    /// JSON. A later snapshot of the same kind and session replaces an earlier one.
    pub body: &'a str,
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStatus {
    /// A living process works on it.
    Running,
    /// It was never finished and no process holds it: killed, or its machine is gone.
    Interrupted,
    /// It ended or is parked. `None` for a run that an older program wrote without events.
    Ended(Option<Outcome>),
}

/// One line of a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The run.
    pub run_id: RunId,
    /// The task.
    pub objective: String,
    /// When it began, as it stands in the log.
    pub started_at: String,
    /// How it stands.
    pub status: RunStatus,
    /// The seeds' word in `run_metadata.outcome`.
    pub seed_outcome: String,
}

/// Everything the log holds of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedRun {
    /// The run.
    pub run_id: RunId,
    /// Its events, in order. Empty for a run that an older program wrote.
    pub events: Vec<Event>,
    /// The lifecycle's last serialised state.
    pub state: Option<String>,
    /// How it stands.
    pub status: RunStatus,
    /// The exit code, once ended.
    pub exit_code: Option<u8>,
    /// Invocations so far.
    pub invocations: u32,
    /// Links of its chain that are missing: no disk took them.
    pub lacks: u64,
}

/// An unbroken hash chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The hash of the last link: what a comment can quote.
    pub head: String,
    /// How many links there are.
    pub links: u64,
    /// The link that vouches for the saved state. `None` in a log of an older version.
    pub state: Option<StateLink>,
}

/// A link that vouches for a saved state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateLink {
    /// Its place, from 1.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

/// The first place where the log is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("broken at {table}, row {rowid}: {why}")]
pub struct BrokenLink {
    /// The table.
    pub table: &'static str,
    /// The row's `rowid`. 0 when there is none.
    pub rowid: i64,
    /// The fault.
    pub why: String,
}

/// Why a run's chain is not vouched for.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Something was changed, removed or added.
    #[error(transparent)]
    Broken(#[from] BrokenLink),
    /// The run was written by a program that keeps no chain.
    #[error("run {0} carries no hash chain: another program wrote it")]
    Unchained(RunId),
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] super::AuditError),
}

/// Whether a write waits for the disk. A kill loses nothing either way. A power cut may take away the writes since the last one that
/// waited, never their order. Waiting costs milliseconds on many disks, so a turn waits once: when its money is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    /// The disk has it before the write returns: reservations, finished iterations, beginning and end of a run.
    Now,
    /// With the next write that waits.
    Later,
}
