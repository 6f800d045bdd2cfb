//! Logs of other jobs joined into one. The chain of each of their runs becomes a segment of this log.
//!
//! Invariant: nothing of a run is taken before its whole chain was walked in the log that it comes from, and a run is taken whole or not at
//! all. Nothing is believed for that: a chain may have been made anew, and what is done with a joined run is judged by whoever does it.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, ToSql, params};

use super::error::{AuditError, explain};
use super::reader::Reader;
use super::rows::int;
use super::store::Store;
use super::types::{Sync, Verified, VerifyError};
use super::{Scope, query};
use crate::domain::clock::Timestamp;
use crate::domain::units::RunId;
use crate::redact::Redactor;

/// The tables whose rows the chain of a run vouches for, with their columns behind the database's own number.
const TABLES: [(&str, &str); 9] = [
    (
        "tier_attempts",
        "run_id, tier_index, tier_name, tier_mode, model_artisan, model_librarian, model_critic, iteration, code_change_summary, \
         test_status, failed_tests, error_messages, cost_usd, duration_ms, timestamp, billed_artisan, billed_librarian, \
         billed_critic, unknown_cost_usd, review",
    ),
    (
        "run_metadata",
        "run_id, objective, working_directory, test_command, tier_config_path, started_at, completed_at, outcome, \
         resolved_tier_name, resolved_iteration",
    ),
    ("run_state", "run_id, outcome, stop_reason, exit_code, version, state, chain_head, chain_length"),
    ("invocations", "run_id, invocation, pid, started_at, ended_at"),
    ("events", "run_id, seq, kind, body, attached, hash, recorded_at"),
    (
        "model_calls",
        "run_id, call_id, tier_index, iteration, role, session_id, parent_session_id, root_session_id, turn, attempt, provider, \
         model, status, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, \
         reserved_micro_usd, cost_micro_usd, latency_ms, error, reply, timestamp, seq, billed_model, unknown_cost_micro_usd, \
         agent_path",
    ),
    ("reservations", "run_id, call_id, scope, target, call_scope, reserved_micro_usd, settled_micro_usd"),
    ("trees", "run_id, tree, body"),
    ("tree_contents", "run_id, content, size, packed"),
];

/// The most that is taken of what a job's log keeps of one run for people to look at (patches, outputs of tests, conversations), in bytes.
const MOST_KEPT: usize = 64 * 1024 * 1024;
/// The longest id of a run, in bytes.
const MOST_OF_ID: usize = 64;

/// A run that a log holds, and the chain that vouches for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The run.
    pub run_id: RunId,
    /// The hash of its last link.
    pub head: String,
    /// How many links there are.
    pub length: u64,
}

/// The end of a try to join a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// It is in this log now.
    Taken(Segment),
    /// This log has it, or more of it, already.
    Known(Segment),
    /// It is not taken.
    Refused {
        /// The run.
        run_id: RunId,
        /// Why.
        why: String,
    },
}

impl Reader {
    /// The runs of this log, in the order in which they stand there.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn run_ids(&self) -> Result<Vec<RunId>, AuditError> {
        let ids = query::run_ids(&self.db).map_err(|error| explain(&self.path, &error))?;
        Ok(ids.into_iter().map(RunId).collect())
    }
}

impl Store {
    /// Takes a run of another log into this one, with all that its chain vouches for. `log` names where it comes from. With `repository`
    /// its calls count towards what that repository has spent on their days.
    ///
    /// # Errors
    /// When this log cannot be written: what was taken before stays.
    pub fn join(
        &mut self,
        reader: &Reader,
        run: &RunId,
        (log, at, repository): (&str, &Timestamp, Option<&str>),
    ) -> Result<Joined, AuditError> {
        let refused = |why: String| Ok(Joined::Refused { run_id: run.clone(), why });
        if !is_id(run) {
            return refused("its id is none that this program gives".to_owned());
        }
        // Before anything is written: a broken chain is worth nothing here either.
        let verified = match reader.verify(run) {
            Ok(verified) => verified,
            // Without the advice on the next line, which is about a log of one's own.
            Err(VerifyError::Log(error)) => return refused(first_line(&error.to_string())),
            Err(other) => return refused(other.to_string()),
        };
        let segment = Segment { run_id: run.clone(), head: verified.head.clone(), length: verified.links };
        let path = self.path().to_owned();
        let failed = |error: rusqlite::Error| explain(&path, &error);
        match self.meets(reader, run, &verified).map_err(failed)? {
            Meeting::New => {}
            Meeting::Known => return Ok(Joined::Known(segment)),
            Meeting::Longer => {}
            Meeting::Parted(why) => return refused(why.to_owned()),
        }
        let log = self.redacted(log);
        let redactor = self.redactor();
        let (transaction, replayed) = self.transaction(Sync::Later).map_err(failed)?;
        // Taken anew as a whole where it has grown: its rows follow from the chain, and are cheaper copied than compared.
        let copied = forget(&transaction, run).and_then(|()| copy(&reader.db, &transaction, run, &redactor));
        // A transaction that is dropped leaves nothing behind.
        match copied {
            // No chain vouches for what is kept, and nothing is decided by it.
            Ok(Copied::Whole) => {
                copy_kept(&reader.db, &transaction, run, &redactor).map_err(failed)?;
                repository.map_or(Ok(()), |repository| count_days(&transaction, run, repository)).map_err(failed)?;
            }
            Ok(Copied::HoldsSecret(table)) => return refused(format!("its {table} contain a secret of this machine")),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                return refused(format!("its rows are also those of another run here ({error})"));
            }
            Err(error) => return Err(failed(error)),
        }
        let text = "INSERT OR REPLACE INTO segments (run_id, log, chain_head, chain_length, joined_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        let row = params![run.0, log, segment.head, int(segment.length), at.0];
        transaction.execute(text, row).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.replayed(replayed);
        Ok(Joined::Taken(segment))
    }

    /// Puts a copy of the log in its place, now that all that is joined is in it.
    pub fn end_joining(&mut self) {
        self.publish(Sync::Now);
    }

    /// How a run of another log stands to this log.
    fn meets(&self, reader: &Reader, run: &RunId, theirs: &Verified) -> rusqlite::Result<Meeting> {
        let text = "SELECT chain_head, chain_length FROM run_state WHERE run_id = ?1";
        let ours = self.db.query_row(text, [&run.0], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)));
        let Some((head, length)) = ours.optional()? else { return Ok(Meeting::New) };
        if head == theirs.head {
            return Ok(Meeting::Known);
        }
        let place = |db: &Connection, hash: &str| query::place_of_link(db, run, hash);
        // We have more of it, and theirs is a beginning of ours.
        if length > int(theirs.links) && place(&self.db, &theirs.head)?.is_some() {
            return Ok(Meeting::Known);
        }
        // Only a joined run may grow this way. A run of our own that goes on elsewhere is another's claim.
        let is_segment = self.db.prepare("SELECT 1 FROM segments WHERE run_id = ?1")?.exists([&run.0])?;
        let is_beginning = place(&reader.db, &head)?.is_some();
        Ok(match (is_beginning, is_segment) {
            (true, true) => Meeting::Longer,
            (true, false) => Meeting::Parted("this log's own run of that id continues elsewhere"),
            (false, _) => Meeting::Parted("another log has a run of that id, which continued differently"),
        })
    }

    /// The segments of this log, in the order in which they were joined.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn segments(&self) -> Result<Vec<Segment>, AuditError> {
        let read = || -> rusqlite::Result<Vec<Segment>> {
            self.db
                .prepare("SELECT run_id, chain_head, chain_length FROM segments ORDER BY rowid")?
                .query_map([], |row| {
                    let length = u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default();
                    Ok(Segment { run_id: RunId(row.get(0)?), head: row.get(1)?, length })
                })?
                .collect()
        };
        read().map_err(|error| explain(self.path(), &error))
    }
}

/// How a run of two logs stands in both.
enum Meeting {
    /// It is here for the first time.
    New,
    /// It is here already, with all that the other log has of it.
    Known,
    /// It is here, and the other log has more of it.
    Longer,
    /// It is here, and its chain is another one.
    Parted(&'static str),
}

enum Copied {
    Whole,
    HoldsSecret(&'static str),
}

fn forget(db: &Connection, run: &RunId) -> rusqlite::Result<()> {
    for (table, _) in TABLES {
        db.prepare_cached(&format!("DELETE FROM {table} WHERE run_id = ?1"))?.execute([&run.0])?;
    }
    db.prepare_cached("DELETE FROM snapshots WHERE run_id = ?1")?.execute([&run.0]).map(drop)
}

/// A value on its way from one database to the other, never held as a copy.
struct Carried<'r>(ValueRef<'r>);

impl ToSql for Carried<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.0))
    }
}

/// Copies the rows of a run, one at a time.
fn copy(from: &Connection, to: &Connection, run: &RunId, redactor: &Redactor) -> rusqlite::Result<Copied> {
    for (table, columns) in TABLES {
        let width = columns.split(',').count();
        // Money that was set aside for others than the run (a day, a pull request) is another machine's account.
        let own = if table == "reservations" { " AND (scope = ?2 OR scope LIKE ?3)" } else { " AND ?2 <> ?3" };
        let scopes = (Scope::Run(run.clone()).to_string(), format!("tier:{run}:%"));
        let mut query =
            // In the order in which they were written, on which the walk of the chain relies.
            from.prepare_cached(&format!("SELECT {columns} FROM {table} WHERE run_id = ?1{own} ORDER BY rowid"))?;
        let places = (1..=width).map(|place| format!("?{place}")).collect::<Vec<_>>().join(", ");
        let mut insert = to.prepare_cached(&format!("INSERT INTO {table} ({columns}) VALUES ({places})"))?;
        let mut rows = query.query(params![run.0, scopes.0, scopes.1])?;
        while let Some(row) = rows.next()? {
            for column in 0..width {
                let value = row.get_ref(column)?;
                // Not masked but refused, as a masked row would no longer fit its chain.
                if let ValueRef::Text(text) = value
                    && holds_secret(text, redactor)
                {
                    return Ok(Copied::HoldsSecret(table));
                }
                insert.raw_bind_parameter(column + 1, Carried(value))?;
            }
            insert.raw_execute()?;
        }
    }
    Ok(Copied::Whole)
}

/// Copies what a log keeps of a run for people to look at. A text that holds a secret of this machine is left out, and so is the rest of
/// what is too large.
fn copy_kept(from: &Connection, to: &Connection, run: &RunId, redactor: &Redactor) -> rusqlite::Result<()> {
    let text = "SELECT kind, session_id, body FROM snapshots WHERE run_id = ?1 ORDER BY rowid";
    let mut query = from.prepare_cached(text)?;
    let text = "INSERT OR REPLACE INTO snapshots (run_id, kind, session_id, body) VALUES (?1, ?2, ?3, ?4)";
    let mut insert = to.prepare_cached(text)?;
    let mut rows = query.query([&run.0])?;
    let mut left = MOST_KEPT;
    while let Some(row) = rows.next()? {
        let (kind, session, body) = (row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?);
        let (ValueRef::Text(named), ValueRef::Text(of), ValueRef::Text(kept)) = (kind, session, body) else { continue };
        if [named, of, kept].into_iter().any(|text| holds_secret(text, redactor)) {
            continue;
        }
        let Some(fewer) = left.checked_sub(kept.len()) else { break };
        left = fewer;
        insert.execute(params![run.0, Carried(kind), Carried(session), Carried(body)])?;
    }
    Ok(())
}

/// Enters the calls of a joined run in the days of a repository.
fn count_days(db: &Connection, run: &RunId, repository: &str) -> rusqlite::Result<()> {
    let of_run = Scope::Run(run.clone()).to_string();
    let days = Scope::Day(format!("{repository}@")).to_string();
    // A call without a receipt has no time of its own, and counts on the day on which its run began.
    let text = "INSERT OR IGNORE INTO reservations
          (run_id, call_id, scope, target, call_scope, reserved_micro_usd, settled_micro_usd)
        SELECT r.run_id, r.call_id, ?3 || substr(coalesce(c.timestamp, m.started_at), 1, 10), r.target, r.call_scope,
          r.reserved_micro_usd, r.settled_micro_usd
        FROM reservations r
        LEFT JOIN model_calls c ON c.call_id = r.call_id
        JOIN run_metadata m ON m.run_id = r.run_id
        WHERE r.run_id = ?1 AND r.scope = ?2";
    db.prepare_cached(text)?.execute(params![run.0, of_run, days]).map(drop)
}

/// Whether a text holds what this machine would not have written.
fn holds_secret(text: &[u8], redactor: &Redactor) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| matches!(redactor.redact(text), std::borrow::Cow::Owned(_)))
}

/// Whether an id stands for itself alone in a pattern, a file's name and a message.
fn is_id(run: &RunId) -> bool {
    // No `%`, `_`, `/` or blank: the id stands in a LIKE pattern and in names of files.
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    (1..=MOST_OF_ID).contains(&run.0.len()) && run.0.chars().all(plain)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
