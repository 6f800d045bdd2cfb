//! Reading a log: through a [`Reader`], or through the [`Store`] that writes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use tempfile::TempDir;

use super::error::{explain, explain_io};
use super::query::{self, told};
use super::spool::{Spool, is_empty};
use super::store::{Store, replay};
use super::types::{CallReservation, LoadedRun, RunSummary, Sync, Verified, VerifyError};
use super::{AuditError, Location, kept_trees, lock, place, publish, rows, schema, verify};
use crate::domain::chat::Reply;
use crate::domain::clock::Timestamp;
use crate::domain::kept_report::KeptReport;
use crate::domain::receipt::Receipt;
use crate::domain::tree_patch::RecordedTree;
use crate::domain::units::{RunId, TreeId};

/// How long a reader waits for a writer's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it waits for one in order to take in what waits beside the log.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// A log opened for reading only: `upshift report`, or a database that came from elsewhere.
#[derive(Debug)]
pub struct Reader {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
    /// Holds the private copy of a log that cannot be opened where it is.
    _copy: Option<TempDir>,
}

impl Reader {
    /// Opens the live log, or the published copy where there is no live one. Its schema stays as it is: a log of an older upshift is brought
    /// up to date in memory. Spooled writes are taken into the log where it can be written, so that every program sees them, else into memory.
    ///
    /// # Errors
    /// [`AuditError::Missing`], [`AuditError::NotADatabase`], [`AuditError::Newer`], [`AuditError::Damaged`] ….
    pub fn open(location: &Location) -> Result<Self, AuditError> {
        let spool = Spool::of(location);
        let path = place_of(location);
        if !path.exists() {
            return Err(AuditError::Missing { path: location.shown.clone() });
        }
        let (mut db, copy) = connect(&path)?;
        schema::check_owner(&db, &path)?;
        let failed = |error: rusqlite::Error| explain(&path, &error);
        // A process that was killed has left what its copy in the checkout lacks.
        let is_behind = || location.published.is_some() && !is_empty(&lock::beside(&location.live, "-wal"));
        let may_write = copy.is_none() && path == location.live;
        // Only into a log of the newest schema, since a reader migrates nothing.
        if may_write && (!spool.is_empty() || is_behind()) && schema::version(&db).map_err(failed)? == schema::newest()
        {
            // Whatever is in the way: what waits is shown all the same.
            drop(drain(location, &spool));
        }
        if schema::version(&db).map_err(failed)? < schema::newest() || !spool.is_empty() {
            let mut memory = Connection::open_in_memory().map_err(failed)?;
            publish::run_backup(&db, &mut memory).map_err(failed)?;
            schema::harden(&memory).map_err(failed)?;
            schema::migrate(&mut memory, &path)?;
            // Without a lock: a process that drains it meanwhile does no harm, as a batch may be applied twice.
            for batch in spool.peek() {
                rows::apply(&memory, &batch).map_err(failed)?;
            }
            db = memory;
        }
        Ok(Self { db, path: location.live.clone(), _copy: copy })
    }

    /// Whether a run could write its log there, as far as a look tells. Nothing is made, taken in or brought up to date.
    ///
    /// # Errors
    /// [`AuditError::NotADatabase`], [`AuditError::Foreign`], [`AuditError::Newer`], [`AuditError::Unwritable`] ….
    pub fn look(location: &Location) -> Result<(), AuditError> {
        let path = place_of(location);
        if !path.exists() {
            // The first run makes it.
            return Ok(());
        }
        let db = attempt(&path).map_err(|error| explain(&path, &error))?;
        schema::check_owner(&db, &path)
    }

    /// Everything the log holds of one run.
    ///
    /// # Errors
    /// [`AuditError::NoSuchRun`], or [`AuditError::Damaged`] when an event cannot be read.
    pub fn load_run(&self, run: &RunId) -> Result<LoadedRun, AuditError> {
        query::load(&self.db, run, |run| self.is_alive(run)).map_err(|error| told(&self.path, &run.0, error))
    }

    /// When each event of a run was recorded, in their order. `None` for one of an older version.
    ///
    /// # Errors
    /// [`AuditError::Damaged`].
    pub fn times(&self, run: &RunId) -> Result<Vec<Option<Timestamp>>, AuditError> {
        query::times(&self.db, run).map_err(|error| told(&self.path, &run.0, error))
    }

    /// The run whose id is or begins with `prefix`.
    ///
    /// # Errors
    /// [`AuditError::NoSuchRun`], [`AuditError::Ambiguous`].
    pub fn find_run(&self, prefix: &str) -> Result<RunId, AuditError> {
        find_run(&self.db, &self.path, prefix)
    }

    /// The run that began last.
    ///
    /// # Errors
    /// [`AuditError::NoRuns`] when there is none.
    pub fn latest_run(&self) -> Result<RunId, AuditError> {
        query::latest(&self.db).map_err(|error| told(&self.path, "", error))?.ok_or(AuditError::NoRuns)
    }

    /// The run to be verified: the one that `prefix` names, else the last. One whose own row was removed is found by what else it left.
    ///
    /// # Errors
    /// As [`Self::find_run`] and [`Self::latest_run`].
    pub fn run_to_verify(&self, prefix: Option<&str>) -> Result<RunId, AuditError> {
        let found = prefix.map_or_else(|| self.latest_run(), |prefix| self.find_run(prefix));
        let Err(error @ (AuditError::NoSuchRun { .. } | AuditError::NoRuns)) = found else { return found };
        let left = query::without_name(&self.db, prefix.unwrap_or_default());
        left.map_err(|error| told(&self.path, "", error))?.into_iter().next().ok_or(error)
    }

    /// Whether a run was joined from another log: nothing in it is believed.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn is_joined(&self, run: &RunId) -> Result<bool, AuditError> {
        query::is_joined(&self.db, run).map_err(|error| told(&self.path, &run.0, error))
    }

    /// All runs, the latest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn list_runs(&self) -> Result<Vec<RunSummary>, AuditError> {
        query::list(&self.db, |run| self.is_alive(run)).map_err(|error| told(&self.path, "", error))
    }

    /// Walks a run's hash chain and compares every row that follows from it.
    ///
    /// # Errors
    /// The first broken link, or why there is nothing to vouch for.
    pub fn verify(&self, run: &RunId) -> Result<Verified, VerifyError> {
        verify::verify(&self.db, &self.path, run)
    }

    /// Whether a hash is that of a link in a run's chain, as a comment quoted it while the run went on. Says nothing about the chain. See
    /// [`Self::verify`].
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn holds_link(&self, run: &RunId, hash: &str) -> Result<bool, AuditError> {
        query::holds_link(&self.db, run, hash).map_err(|error| explain(&self.path, &error))
    }

    /// A tree of a run, with the contents that stand in the log. `None` where the tree does not.
    ///
    /// # Errors
    /// When it cannot be read, or a content is not what it is called.
    pub fn load_tree(&self, run: &RunId, tree: &TreeId) -> Result<Option<RecordedTree>, AuditError> {
        kept_trees::load(&self.db, run, tree).map_err(|error| told(&self.path, &run.0, error))
    }

    /// The place of a link in a run's chain, from 1, by its hash. `None` where there is none. Says nothing about the chain.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn place_of_link(&self, run: &RunId, hash: &str) -> Result<Option<u64>, AuditError> {
        query::place_of_link(&self.db, run, hash).map_err(|error| explain(&self.path, &error))
    }

    /// A snapshot of a run: the last of its kind and session.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn load_snapshot(&self, run: &RunId, kind: &str, session_id: &str) -> Result<Option<String>, AuditError> {
        query::snapshot(&self.db, run, kind, session_id).map_err(|error| told(&self.path, &run.0, error))
    }

    /// The settled calls of one iteration in order, with their replies.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn recorded_replies(
        &self,
        run: &RunId,
        tier_index: u32,
        iteration: u32,
    ) -> Result<RecordedReplies, AuditError> {
        query::replies(&self.db, run, tier_index, iteration).map_err(|error| told(&self.path, &run.0, error))
    }

    fn is_alive(&self, run: &RunId) -> bool {
        lock::is_held(&lock::of_run(&self.path, run))
    }
}

/// Receipts with their replies, where there was one.
pub type RecordedReplies = Vec<(Receipt, Option<Reply>)>;

impl Store {
    /// Calls of a run that were reserved and never settled: under way when its process died.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn open_reservations(&self, run: &RunId) -> Result<Vec<CallReservation>, AuditError> {
        self.asked(&run.0, query::open_reservations(&self.db, run))
    }

    /// The settled calls of one iteration in order, with their replies: a resume replays these and pays nothing.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn recorded_replies(
        &self,
        run: &RunId,
        tier_index: u32,
        iteration: u32,
    ) -> Result<RecordedReplies, AuditError> {
        self.asked(&run.0, query::replies(&self.db, run, tier_index, iteration))
    }

    /// As [`Reader::load_tree`].
    ///
    /// # Errors
    /// When it cannot be read, or a content is not what it is called.
    pub fn load_tree(&self, run: &RunId, tree: &TreeId) -> Result<Option<RecordedTree>, AuditError> {
        self.asked(&run.0, kept_trees::load(&self.db, run, tree))
    }

    /// How many bytes each content has that the trees of a run have in the log.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn tree_contents(&self, run: &RunId) -> Result<BTreeMap<String, u64>, AuditError> {
        self.asked(&run.0, kept_trees::sizes(&self.db, run).map_err(query::QueryError::Sql))
    }

    /// Everything the log holds of one run.
    ///
    /// # Errors
    /// [`AuditError::NoSuchRun`], or [`AuditError::Damaged`] when an event cannot be read.
    pub fn load_run(&self, run: &RunId) -> Result<LoadedRun, AuditError> {
        self.asked(&run.0, query::load(&self.db, run, |run| self.is_alive(run)))
    }

    /// The run whose id is or begins with `prefix`.
    ///
    /// # Errors
    /// [`AuditError::NoSuchRun`], [`AuditError::Ambiguous`].
    pub fn find_run(&self, prefix: &str) -> Result<RunId, AuditError> {
        find_run(&self.db, self.path(), prefix)
    }

    /// The run that began last.
    ///
    /// # Errors
    /// [`AuditError::NoRuns`] when there is none.
    pub fn latest_run(&self) -> Result<RunId, AuditError> {
        self.asked("", query::latest(&self.db))?.ok_or(AuditError::NoRuns)
    }

    /// All runs, the latest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn list_runs(&self) -> Result<Vec<RunSummary>, AuditError> {
        self.asked("", query::list(&self.db, |run| self.is_alive(run)))
    }

    /// The newest report that another run of this log kept under a key. One of a run whose chain is not whole, that others may have
    /// written, or that was joined from another log, is none.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn kept_report(&self, key: &str, own: &RunId) -> Result<Option<KeptReport>, AuditError> {
        for (run, report) in self.asked("", query::kept_reports(&self.db, key))? {
            let is_joined = self.asked(&run.0, query::is_joined(&self.db, &run))?;
            // The chain is walked last, as it costs reading the whole run.
            if run != *own && !is_joined && self.is_ours(&run) && verify::verify(&self.db, self.path(), &run).is_ok() {
                return Ok(Some(KeptReport { from: Some(report.from.unwrap_or(run)), ..report }));
            }
        }
        Ok(None)
    }

    pub(super) fn asked<T>(&self, asked: &str, answer: Result<T, query::QueryError>) -> Result<T, AuditError> {
        answer.map_err(|error| told(self.path(), asked, error))
    }

    fn is_alive(&self, run: &RunId) -> bool {
        let ours = self.chain().is_some_and(|chain| chain.run_id == *run);
        ours || self.live_path().is_some_and(|live| lock::is_held(&lock::of_run(&live, run)))
    }
}

/// Takes what waits into the log, and its copy in the checkout along.
fn drain(location: &Location, spool: &Spool) -> Result<(), AuditError> {
    let failed = |error: rusqlite::Error| explain(&location.live, &error);
    let mut db = Connection::open_with_flags(&location.live, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    schema::harden(&db).map_err(failed)?;
    // A person waits for the report, and another process may hold the lock for long.
    db.busy_timeout(DRAIN_TIMEOUT).map_err(failed)?;
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let replayed = replay(&transaction, Some(spool), &[]).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    // After the commit: in the other order a kill would lose what waited.
    replayed.clear().map_err(|error| explain_io(&location.live, &error))?;
    match &location.published {
        Some(place) if place::is_published(location) => publish::publish(&mut db, &location.live, place, Sync::Later),
        Some(_) | None => Ok(()),
    }
}

/// The live log, or the published copy where there is no live one.
fn place_of(location: &Location) -> PathBuf {
    match &location.published {
        Some(place) if !location.live.exists() => place.path(),
        _ => location.live.clone(),
    }
}

/// Opens a log to be asked.
fn attempt(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    schema::harden(&db)?;
    // Opened for writing all the same, as WAL needs it even to read.
    db.pragma_update(None, "query_only", "ON")?;
    // SQLite opens the file only when it is asked for something.
    db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(db)
}

/// Opens a database that is there already. One in WAL mode needs to write beside itself even to be read. Where that is not allowed, a
/// private copy is read.
fn connect(path: &Path) -> Result<(Connection, Option<TempDir>), AuditError> {
    let error = match attempt(path) {
        Ok(db) => return Ok((db, None)),
        Err(error) => explain(path, &error),
    };
    if !matches!(error, AuditError::Unwritable { .. }) {
        return Err(error);
    }
    let folder = tempfile::tempdir().map_err(|error| explain_io(path, &error))?;
    let copy = folder.path().join("audit.db");
    std::fs::copy(path, &copy).map_err(|error| explain_io(path, &error))?;
    // The newest writes may stand there alone.
    let wal = lock::beside(path, "-wal");
    if wal.exists() {
        std::fs::copy(&wal, lock::beside(&copy, "-wal")).map_err(|error| explain_io(path, &error))?;
    }
    let db = attempt(&copy).map_err(|error| explain(path, &error))?;
    Ok((db, Some(folder)))
}

/// The run with an id or a unique beginning of one.
pub(super) fn find_run(db: &Connection, path: &Path, prefix: &str) -> Result<RunId, AuditError> {
    let mut found = query::with_prefix(db, prefix).map_err(|error| told(path, prefix, error))?;
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(AuditError::NoSuchRun { prefix: prefix.to_owned() }),
        (Some(run), true) => Ok(run),
        (Some(run), false) => {
            found.push(run);
            Err(AuditError::Ambiguous { prefix: prefix.to_owned(), runs: found })
        }
    }
}
