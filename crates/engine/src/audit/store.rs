//! A log that is open for writing: what a run tells it, in order, as links of its chain. How that reaches the disk is [`writes`].

mod writes;

pub(super) use writes::replay;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::batch::{Batch, Chain, Extra, digest};
use super::error::{explain, explain_io};
use super::lock::{self, Held};
use super::remembered::Remembered;
use super::reserve::Reserve;
use super::spool::Spool;
use super::totals::Totals;
use super::types::Sync;
use super::{AuditError, Location, place, query, schema, scrub, trees};
use crate::domain::chat::Reply;
use crate::domain::clock::{Clock, SystemClock, Timestamp};
use crate::domain::event::{Event, RunStarted};
use crate::domain::receipt::Receipt;
use crate::domain::tree_patch::RecordedTree;
use crate::domain::units::RunId;
use crate::redact::Redactor;

/// While writes are spooled, each first tries the database, but waits no longer than this: a run goes on at its pace.
pub(super) const DEGRADED_BUSY_TIMEOUT: Duration = Duration::from_millis(5);

/// Settings of a store, changed by tests above all.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a write waits for another program's lock before it is spooled. Short enough that an interrupted run
    /// still ends within its 7 seconds.
    pub busy_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(2) }
    }
}

/// The audit log of one process, open for writing.
#[derive(Debug)]
pub struct Store {
    pub(super) db: Connection,
    /// How `db` is set.
    sync: Sync,
    /// `None` in memory.
    location: Option<Location>,
    pub(super) redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
    pub(super) settings: Settings,
    current: Option<Current>,
    /// Events that came before a run began.
    early: Vec<Event>,
    pub(super) spool: Option<Spool>,
    /// Batches that neither the database nor the spool took.
    pub(super) held_back: Vec<Batch>,
    /// The newest snapshots, wherever they were written.
    pub(super) remembered: Remembered,
    degraded: bool,
    /// Whether nothing was written since the log was put in order.
    in_order: bool,
    /// Room for what is written once the disk is full.
    reserve: Reserve,
    pub(super) totals: Totals,
    /// Calls settled by this process. Their receipts may be in the spool.
    pub(super) settled: BTreeMap<String, Receipt>,
    warnings: Vec<String>,
    copy_failed: bool,
    /// Whose the runs in it are.
    theirs: Theirs,
    /// When the last events were recorded: those of one decision at one time.
    recorded_at: Option<Timestamp>,
    /// Shows others that the log is open.
    _presence: Option<File>,
}

/// The runs of a log that others may have written. They are shown and counted, and nothing in them is used as if we had written it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Theirs {
    /// Their ids, as they are written beside the log.
    taken: BTreeSet<String>,
    /// Whether all runs are meant but the one at hand.
    all_others: bool,
}

/// How a log stands when everything was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// How many records of the run are in no place that outlives the process.
    pub lacks: u64,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// The run that is being recorded.
#[derive(Debug)]
struct Current {
    chain: Chain,
    /// Shows others that the run lives.
    _lock: Option<Held>,
}

/// The part of a link that vouches for a state.
fn vouching(state: &str) -> Extra {
    Extra::State { digest: digest(state) }
}

/// The event that tells of a tree.
pub(super) fn recorded(tree: &RecordedTree) -> Event {
    Event::TreeRecorded { tree: tree.patch.tree.clone(), withheld: None }
}

/// An event's JSON with the time of its recording.
fn dated(mut body: String, at: &Timestamp) -> String {
    // Into the finished text, as the time is no part of the event and must not be masked.
    if body.ends_with('}') {
        body.pop();
        body.push_str(&format!(",\"recorded_at\":\"{at}\"}}"));
    }
    body
}

impl Store {
    /// Opens or creates the log, brings its schema up to date, replays what was spooled and publishes a copy.
    ///
    /// # Errors
    /// Says what is wrong with the file, its folder or its disk, and how to mend it. No money is spent yet.
    pub fn open(location: &Location, redactor: Arc<Redactor>) -> Result<Self, AuditError> {
        Self::open_with(location, redactor, &Settings::default())
    }

    /// As [`Self::open`], with other settings.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(location: &Location, redactor: Arc<Redactor>, settings: &Settings) -> Result<Self, AuditError> {
        let (presence, warnings) = place::prepare(location)?;
        let db = schema::open(&location.live, settings.busy_timeout)?;
        let mut store = Self::over(db, redactor, settings.clone(), presence);
        store.spool = Some(Spool::of(location));
        store.location = Some(location.clone());
        // Asked after `prepare`, which may just have taken in a stranger's copy.
        let taken = place::taken_in(&location.live).map_err(|error| explain_io(&location.live, &error))?;
        store.theirs.taken = taken;
        store.warnings = warnings;
        // With no batch of its own: it replays what waited.
        store.commit(None, Sync::Later).map_err(|error| explain(&location.live, &error))?;
        if !place::is_published(location) {
            store.try_publish(Sync::Later)?;
        }
        Ok(store)
    }

    /// Takes another clock than the machine's for the times of events.
    #[must_use]
    pub fn timed_by(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Takes all runs in it but the one at hand for another's: who wrote the file cannot be told.
    #[must_use]
    pub fn distrusted(mut self) -> Self {
        self.theirs.all_others = true;
        self
    }

    /// Whether nobody else can have written a run: it did not come with a log that was found in the checkout.
    #[must_use]
    pub fn is_ours(&self, run: &RunId) -> bool {
        let is_at_hand = || self.chain().is_some_and(|chain| chain.run_id == *run);
        !self.theirs.taken.contains(&run.0.escape_default().to_string()) && (!self.theirs.all_others || is_at_hand())
    }

    /// A log that is gone with the process: `--no-audit`. Caps hold all the same.
    ///
    /// # Errors
    /// Only when memory runs out.
    pub fn in_memory(redactor: Arc<Redactor>) -> Result<Self, AuditError> {
        Ok(Self::over(schema::open_in_memory()?, redactor, Settings::default(), None))
    }

    fn over(db: Connection, redactor: Arc<Redactor>, settings: Settings, presence: Option<File>) -> Self {
        Self {
            db,
            sync: Sync::Now,
            location: None,
            redactor,
            clock: Arc::new(SystemClock::new()),
            settings,
            current: None,
            early: Vec::new(),
            spool: None,
            held_back: Vec::new(),
            remembered: Remembered::default(),
            degraded: false,
            in_order: false,
            reserve: Reserve::default(),
            totals: Totals(BTreeMap::new()),
            settled: BTreeMap::new(),
            warnings: Vec::new(),
            copy_failed: false,
            theirs: Theirs::default(),
            recorded_at: None,
            _presence: presence,
        }
    }

    /// Records the start of a run with the lifecycle's first state, and takes the lock that shows it alive. `RunStarted` and the returned
    /// `InvocationStarted` are recorded by this. Other listeners still want them, and [`Self::append`] ignores them.
    ///
    /// # Errors
    /// When the log cannot be written: the run must not start. [`AuditError::Alive`] for a run that another process
    /// has begun.
    pub fn begin_run(&mut self, started: &RunStarted, pid: u32, state: &str) -> Result<Event, AuditError> {
        let invocation = Event::InvocationStarted { invocation: 1, pid };
        // Before the first row, so that no reader ever sees the run as interrupted.
        let lock = self.lock_run(&started.run_id)?;
        let at = started.started_at.clone();
        let events =
            vec![(Event::RunStarted(started.clone()), Extra::None), (invocation.clone(), Extra::Invocation { at })];
        self.settled.clear();
        self.begin(Chain::new(started.run_id.clone()), lock, events, Some(state))?;
        Ok(invocation)
    }

    /// Takes up a run that was killed or parked. The returned `InvocationStarted` is recorded by this.
    ///
    /// # Errors
    /// [`AuditError::Alive`] while another process works on it, and [`AuditError::NoSuchRun`].
    pub fn continue_run(&mut self, run: &RunId, pid: u32, at: &Timestamp) -> Result<Event, AuditError> {
        if self.chain().is_some_and(|chain| chain.run_id == *run) {
            // Our own, parked and taken up again.
            // It gives up the lock, which would keep us out as it keeps others.
            self.current = None;
        }
        let lock = self.lock_run(run)?;
        let chain = self.asked(&run.0, query::chain(&self.db, run))?;
        let invocations = self.load_run(run)?.invocations;
        // Before anything is reserved: the database may be gone when the caps are asked about.
        self.recall(run).map_err(|error| explain(self.path(), &error))?;
        let invocation = Event::InvocationStarted { invocation: invocations + 1, pid };
        self.begin(chain, lock, vec![(invocation.clone(), Extra::Invocation { at: at.clone() })], None)?;
        Ok(invocation)
    }

    fn begin(
        &mut self,
        mut chain: Chain,
        lock: Option<Held>,
        events: Vec<(Event, Extra)>,
        state: Option<&str>,
    ) -> Result<(), AuditError> {
        // The run before, if any, is no longer ours.
        self.current = None;
        let mut batch = Batch::new(chain.run_id.clone());
        self.stamp();
        batch.state = state.map(|state| scrub::document(&self.redactor, state));
        for (event, extra) in events {
            let begins = matches!(event, Event::RunStarted(_));
            let extra = batch.state.as_deref().filter(|_| begins).map_or(extra, vouching);
            self.link(&mut chain, &mut batch, &event, extra);
        }
        // The one write that must not be spooled: a run that no log knows must not cost anything.
        self.commit(Some(&batch), Sync::Now).map_err(|error| explain(self.path(), &error))?;
        self.current = Some(Current { chain, _lock: lock });
        // Only for a run, and only after its start is on disk: room for the end may be the last there is.
        if let Some(folder) = self.location.as_ref().and_then(|location| location.live.parent()) {
            self.reserve = Reserve::on_the_disk_of(folder);
        }
        self.publish(Sync::Later);
        // After the start, as they are links behind it.
        let early = std::mem::take(&mut self.early);
        self.append_all(&early, None);
        Ok(())
    }

    fn lock_run(&self, run: &RunId) -> Result<Option<Held>, AuditError> {
        let Some(location) = &self.location else { return Ok(None) };
        let path = lock::of_run(&location.live, run);
        match lock::take(&path) {
            Ok(Some(held)) => Ok(Some(held)),
            Ok(None) => Err(AuditError::Alive { run: run.clone() }),
            Err(error) => Err(explain_io(&path, &error)),
        }
    }

    /// Makes one event durable with every row that follows from it, and the lifecycle's serialised state if given,
    /// in one transaction. Never fails: what cannot be written is spooled and a warning noted.
    ///
    /// `RunStarted`, `InvocationStarted` and `CallReserved` are ignored: they are recorded where they come from. A
    /// `CallSettled` is settled without a reply, unless [`Self::settle`] had it. Events before a run begins wait for it.
    pub fn append(&mut self, event: &Event, state: Option<&str>) {
        self.append_all(std::slice::from_ref(event), state);
    }

    /// As [`Self::append`] for events that one decision made: all of them in one transaction, with the state.
    pub fn append_all(&mut self, events: &[Event], state: Option<&str>) {
        self.append_with(&[], events, state);
    }

    /// As [`Self::append_all`], with trees that the state builds on. The event of each comes first.
    pub fn append_with(&mut self, trees: &[RecordedTree], events: &[Event], state: Option<&str>) {
        let Some(current) = &self.current else {
            self.early.extend_from_slice(events);
            return;
        };
        let mut chain = current.chain.clone();
        let mut batch = Batch::new(chain.run_id.clone());
        let mut told: Vec<&Event> = Vec::new();
        for event in events {
            let recorded_elsewhere =
                matches!(event, Event::RunStarted(_) | Event::InvocationStarted { .. } | Event::CallReserved { .. });
            // A caller may tell again of a call that `settle` has recorded with its reply.
            let is_new = if let Event::CallSettled(receipt) = event { self.settles(receipt).is_some() } else { true };
            if is_new && !recorded_elsewhere {
                told.push(event);
            }
        }
        let milestone = told.iter().any(|event| matches!(event, Event::IterationFinished(_) | Event::RunFinished(_)));
        batch.state = state.map(|state| scrub::document(&self.redactor, state));
        // A receipt's link vouches for its reply already.
        let vouches = |event: &&&Event| !matches!(event, Event::CallSettled(_));
        // Each state needs a link that vouches for it.
        if batch.state.is_some() && told.last().filter(vouches).is_none() {
            told.push(&Event::StateSaved);
        }
        let Some((last, before)) = told.split_last() else { return };
        self.stamp();
        trees.iter().for_each(|tree| self.link_tree(&mut chain, &mut batch, tree));
        before.iter().for_each(|event| self.link(&mut chain, &mut batch, event, Extra::None));
        let extra = batch.state.as_deref().map_or(Extra::None, vouching);
        // The last link vouches for the state, which is that after all of them.
        self.link(&mut chain, &mut batch, last, extra);
        self.write(chain, batch, if milestone { Sync::Now } else { Sync::Later });
        if milestone {
            self.publish(Sync::Later);
        }
    }

    /// Adds a tree to a batch and a chain. Nothing of it is masked: whoever made the patch has looked for secrets, and what was masked
    /// would not be the tree.
    fn link_tree(&mut self, chain: &mut Chain, batch: &mut Batch, tree: &RecordedTree) {
        match trees::extra(tree) {
            Ok(extra) => self.link(chain, batch, &recorded(tree), extra),
            Err(error) => self.warnings.push(format!("a tree could not be written to the audit log: {error}")),
        }
    }

    /// An event as it is recorded: without secrets.
    pub(super) fn masked<'e>(&self, event: &'e Event) -> Cow<'e, Event> {
        scrub::event(&self.redactor, event).map_or(Cow::Borrowed(event), |(_, masked)| masked)
    }

    /// Sets the time of the events that are linked next.
    pub(super) fn stamp(&mut self) {
        self.recorded_at = Some(self.clock.timestamp());
    }

    /// When the events that were linked last were recorded.
    pub(super) const fn recorded_at(&self) -> Option<&Timestamp> {
        self.recorded_at.as_ref()
    }

    /// Adds an event to a batch and a chain.
    pub(super) fn link(&mut self, chain: &mut Chain, batch: &mut Batch, event: &Event, extra: Extra) {
        let Some((body, _)) = scrub::event(&self.redactor, event) else {
            self.warnings.push("an event could not be written to the audit log".to_owned());
            return;
        };
        let body = match &self.recorded_at {
            Some(at) => dated(body, at),
            None => body,
        };
        let link = chain.next(body, extra);
        chain.advance(&link);
        batch.links.push(link);
    }

    /// Moves the current run's chain to its new end.
    pub(super) fn advance(&mut self, chain: Chain) {
        if let Some(current) = &mut self.current {
            current.chain = chain;
        }
    }

    /// From now on no write waits for another program's lock: everything is to end. Writes that the database does not take at once are
    /// spooled, as ever, and replayed when the log is opened next.
    pub fn hasten(&mut self) {
        if self.settings.busy_timeout > DEGRADED_BUSY_TIMEOUT {
            self.settings.busy_timeout = DEGRADED_BUSY_TIMEOUT;
            // A database that refuses a setting is slow, no more.
            drop(self.db.busy_timeout(DEGRADED_BUSY_TIMEOUT));
        }
    }

    /// Whether writes wait to be replayed.
    pub(super) fn is_degraded(&self) -> bool {
        self.degraded
    }

    /// The current run's chain. `None` before a run.
    pub(super) fn chain(&self) -> Option<Chain> {
        self.current.as_ref().map(|current| current.chain.clone())
    }

    /// Settles a reservation: receipt, event and sums in one transaction. The redacted reply is kept for [`Self::recorded_replies`].
    /// Settling the same call again changes nothing.
    pub fn settle(&mut self, receipt: &Receipt, reply: Option<&Reply>) {
        let Some(mut chain) = self.chain() else { return };
        // Twice would bill twice: a retry after a doubtful write comes here again.
        let Some(scopes) = self.settles(receipt) else { return };
        let reply = reply
            .and_then(|reply| serde_json::to_string(reply).ok())
            .map(|reply| scrub::document(&self.redactor, &reply));
        let mut batch = Batch::new(chain.run_id.clone());
        self.stamp();
        self.link(&mut chain, &mut batch, &Event::CallSettled(receipt.clone()), Extra::Reply { reply });
        self.write(chain, batch, Sync::Later);
        if self.is_degraded() {
            self.totals.note_unsaved(&scopes, (receipt.reserved, receipt.charge().total()));
        }
    }

    /// Notes that a call is being settled. Returns the scopes that it was reserved for, or `None` if it was settled before.
    fn settles(&mut self, receipt: &Receipt) -> Option<Vec<String>> {
        let known = self.settled.contains_key(&receipt.call_id)
            // An earlier process of the run may have settled it.
            || query::is_settled(&self.db, &receipt.call_id).unwrap_or(false);
        if known {
            return None;
        }
        self.settled.insert(receipt.call_id.clone(), receipt.clone());
        Some(self.totals.settle(receipt))
    }

    pub(super) fn path(&self) -> &Path {
        self.location.as_ref().map_or(Path::new(":memory:"), |location| &location.live)
    }

    /// Where this log is written. `None` in memory.
    #[must_use]
    pub fn live_path(&self) -> Option<PathBuf> {
        self.location.as_ref().map(|location| location.live.clone())
    }

    /// The hash of the current run's last link. `None` before a run.
    #[must_use]
    pub fn chain_head(&self) -> Option<&str> {
        self.current.as_ref().map(|current| current.chain.head.as_str())
    }

    /// Warnings for a person about the log since last asked: spooled writes, an unwritable copy.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Replays what is spooled, folds the WAL into the database and publishes it. Returns how the log stands.
    pub fn settle_up(&mut self) -> Standing {
        self.in_order = true;
        match self.commit(None, Sync::Now) {
            Ok(()) => self.recovered(),
            Err(error) => self.left_waiting(&error),
        }
        // Another process may be reading; then the WAL stays, and nothing is lost by it.
        // The file alone is then the whole log, which is what people copy.
        drop(self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
        self.publish(Sync::Now);
        Standing { lacks: self.lacks(), warnings: self.take_warnings() }
    }

    /// As [`Self::settle_up`], and gives up the run's lock. Returns the last warnings.
    pub fn close(mut self) -> Vec<String> {
        if self.in_order { self.take_warnings() } else { self.settle_up().warnings }
    }
}
