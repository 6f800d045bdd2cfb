//! Backlogs that are worked off, task by task. Each task is a run, whose events stand in its own chain. This module keeps their order and
//! how each stands, so that a killed backlog goes on.
//!
//! Invariant: one process works on the backlogs of a log at a time, for as long as it holds [`BacklogLock`].

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::error::{AuditError, explain, explain_io};
use super::lock::{self, Held};
use super::rows::micros;
use super::store::Store;
use crate::domain::clock::Timestamp;
use crate::domain::units::{Charge, CommitSha, MicroUsd, RunId};

/// Shows others that a backlog is under way. Given up when the process ends, however it ends.
#[derive(Debug)]
pub struct BacklogLock {
    _held: Option<Held>,
}

/// A backlog that is worked off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BacklogRecord {
    /// Its id, unique in the log.
    pub backlog_id: String,
    /// Where its tasks come from, as it was named.
    pub source: String,
    /// The checkout.
    pub folder: String,
    /// When it began.
    pub started_at: Timestamp,
    /// Why it ended. `None` where it did not.
    pub stop_reason: Option<String>,
    /// The most that all its tasks together may cost.
    pub max_cost: MicroUsd,
}

/// A task of a backlog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its id in its source.
    pub task_id: String,
    /// The task, as JSON.
    pub body: String,
    /// How it stands, in a word.
    pub status: String,
    /// How often it was tried.
    pub tries: u32,
    /// The last run for it.
    pub run_id: Option<RunId>,
    /// The commit that holds its change.
    pub commit: Option<CommitSha>,
    /// The cost of all runs for it.
    pub cost: Charge,
    /// Why it stands as it does.
    pub reason: String,
}

impl Store {
    /// Takes the lock of the backlogs of this log. `None` while another process holds it.
    ///
    /// # Errors
    /// When the lock file cannot be opened.
    pub fn lock_backlogs(&self) -> Result<Option<BacklogLock>, AuditError> {
        let Some(live) = self.live_path() else { return Ok(Some(BacklogLock { _held: None })) };
        let path = lock::beside(&live, ".backlog.lock");
        let held = lock::take(&path).map_err(|error| explain_io(&path, &error))?;
        Ok(held.map(|held| BacklogLock { _held: Some(held) }))
    }

    /// Records a backlog that begins, with its tasks in their order.
    ///
    /// # Errors
    /// When the log cannot be written: nothing is paid then.
    pub fn begin_backlog(&mut self, backlog: &BacklogRecord, tasks: &[TaskRecord]) -> Result<(), AuditError> {
        let tasks: Vec<TaskRecord> = tasks.iter().map(|task| self.without_secrets(task)).collect();
        self.in_backlogs(|db| {
            let text = "INSERT INTO backlogs (backlog_id, source, folder, started_at, max_cost_micro_usd) VALUES (?1, ?2, ?3, ?4, ?5)";
            db.execute(text, params![backlog.backlog_id, backlog.source, backlog.folder, backlog.started_at.0, signed(backlog.max_cost)])?;
            for (position, task) in tasks.iter().enumerate() {
                put(db, &backlog.backlog_id, task, position)?;
            }
            Ok(())
        })
    }

    /// Records how a task stands now. A new one comes to the end.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn save_task(&mut self, backlog: &str, task: &TaskRecord) -> Result<(), AuditError> {
        let task = self.without_secrets(task);
        self.in_backlogs(|db| {
            let position: i64 = db.query_row(
                "SELECT coalesce((SELECT position FROM backlog_tasks WHERE backlog_id = ?1 AND task_id = ?2),
                   (SELECT count(*) FROM backlog_tasks WHERE backlog_id = ?1))",
                params![backlog, task.task_id],
                |row| row.get(0),
            )?;
            put(db, backlog, &task, usize::try_from(position).unwrap_or_default())
        })
    }

    /// Records that the work on a backlog ended, and why.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn end_backlog(&mut self, backlog: &str, reason: &str, at: &Timestamp) -> Result<(), AuditError> {
        let reason = self.redacted(reason);
        self.in_backlogs(|db| {
            let text = "UPDATE backlogs SET ended_at = ?2, stop_reason = ?3 WHERE backlog_id = ?1";
            db.execute(text, params![backlog, at.0, reason]).map(drop)
        })
    }

    /// The last backlog of a source in a checkout, with its tasks in their order.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn last_backlog(
        &self,
        source: &str,
        folder: &str,
    ) -> Result<Option<(BacklogRecord, Vec<TaskRecord>)>, AuditError> {
        let read = || -> rusqlite::Result<_> {
            let text = "SELECT backlog_id, source, folder, started_at, stop_reason, max_cost_micro_usd FROM backlogs
                WHERE source = ?1 AND folder = ?2 ORDER BY rowid DESC LIMIT 1";
            let backlog = self.db.query_row(text, params![source, folder], backlog_of).optional()?;
            let Some(backlog) = backlog else { return Ok(None) };
            let text =
                "SELECT task_id, body, status, tries, run_id, commit_sha, known_micro_usd, unknown_micro_usd, reason
                FROM backlog_tasks WHERE backlog_id = ?1 ORDER BY position";
            let mut query = self.db.prepare(text)?;
            let tasks = query.query_map([&backlog.backlog_id], task_of)?.collect::<Result<Vec<_>, _>>()?;
            Ok(Some((backlog, tasks)))
        };
        read().map_err(|error| explain(self.path(), &error))
    }

    /// The last run that was begun for a task. `None` where there was none.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn run_of_task(&self, task: &str) -> Result<Option<RunId>, AuditError> {
        let text = "SELECT run_id FROM events WHERE kind = 'run_started' AND json_extract(body, '$.task') = ?1 ORDER BY id DESC LIMIT 1";
        let run = self.db.query_row(text, [task], |row| row.get(0)).optional();
        Ok(run.map_err(|error| explain(self.path(), &error))?.map(RunId))
    }

    /// The cost of all runs that were begun for a task. Calls that were never settled count as unknown, at the amount that was set aside
    /// for them.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn cost_of_task(&self, task: &str) -> Result<Charge, AuditError> {
        let text =
            "WITH runs AS (SELECT run_id FROM events WHERE kind = 'run_started' AND json_extract(body, '$.task') = ?1)
            SELECT
              (SELECT coalesce(sum(cost_micro_usd), 0) FROM model_calls WHERE run_id IN runs),
              (SELECT coalesce(sum(unknown_cost_micro_usd), 0) FROM model_calls WHERE run_id IN runs),
              (SELECT coalesce(sum(reserved_micro_usd), 0) FROM reservations
                WHERE run_id IN runs AND scope = 'run:' || run_id AND settled_micro_usd IS NULL)";
        let sums =
            self.db.query_row(text, [task], |row| Ok((micros(row.get(0)?), micros(row.get(1)?), micros(row.get(2)?))));
        let (known, unknown, unsettled) = sums.map_err(|error| explain(self.path(), &error))?;
        Ok(Charge { known, unknown: unknown + unsettled })
    }

    fn without_secrets(&self, task: &TaskRecord) -> TaskRecord {
        TaskRecord { body: self.redacted(&task.body), reason: self.redacted(&task.reason), ..task.clone() }
    }

    /// Writes now, together with what waited.
    fn in_backlogs(&mut self, write: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<(), AuditError> {
        let path = self.path().to_owned();
        let written = self.written_now(write);
        written.map_err(|error| explain(&path, &error))
    }
}

fn put(db: &Connection, backlog: &str, task: &TaskRecord, position: usize) -> rusqlite::Result<()> {
    let text = "INSERT INTO backlog_tasks
        (backlog_id, task_id, position, body, status, tries, run_id, commit_sha, known_micro_usd, unknown_micro_usd, reason)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
        ON CONFLICT (backlog_id, task_id) DO UPDATE SET body = excluded.body, status = excluded.status, tries = excluded.tries,
          run_id = excluded.run_id, commit_sha = excluded.commit_sha, known_micro_usd = excluded.known_micro_usd,
          unknown_micro_usd = excluded.unknown_micro_usd, reason = excluded.reason";
    let position = i64::try_from(position).unwrap_or(i64::MAX);
    let (run, commit) = (task.run_id.as_ref().map(|run| &run.0), task.commit.as_ref().map(|commit| &commit.0));
    let (known, unknown) = (signed(task.cost.known), signed(task.cost.unknown));
    let values = params![
        backlog,
        task.task_id,
        position,
        task.body,
        task.status,
        task.tries,
        run,
        commit,
        known,
        unknown,
        task.reason
    ];
    db.execute(text, values).map(drop)
}

fn backlog_of(row: &Row<'_>) -> rusqlite::Result<BacklogRecord> {
    Ok(BacklogRecord {
        backlog_id: row.get(0)?,
        source: row.get(1)?,
        folder: row.get(2)?,
        started_at: Timestamp(row.get(3)?),
        stop_reason: row.get(4)?,
        max_cost: micros(row.get(5)?),
    })
}

fn task_of(row: &Row<'_>) -> rusqlite::Result<TaskRecord> {
    Ok(TaskRecord {
        task_id: row.get(0)?,
        body: row.get(1)?,
        status: row.get(2)?,
        tries: row.get(3)?,
        run_id: row.get::<_, Option<String>>(4)?.map(RunId),
        commit: row.get::<_, Option<String>>(5)?.map(CommitSha),
        cost: Charge { known: micros(row.get(6)?), unknown: micros(row.get(7)?) },
        reason: row.get(8)?,
    })
}

fn signed(amount: MicroUsd) -> i64 {
    i64::try_from(amount.0).unwrap_or(i64::MAX)
}
