//! Backlogs that are worked off, task by task. Each task is a run, whose events stand in its own chain. This module keeps their order and
//! how each stands, so that a killed backlog goes on.
//!
//! Invariant: one process works on the backlogs of a log at a time, for as long as it holds the lock that `orders` gives it.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::error::{AuditError, explain};
use super::reader::Reader;
use super::rows::micros;
use super::store::Store;
use crate::domain::clock::Timestamp;
use crate::domain::units::{Charge, CommitSha, MicroUsd, RunId};

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
    /// How far the work is.
    pub course: CourseRecord,
}

/// How far the work on a backlog is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CourseRecord {
    /// What its process is at, in a word.
    pub status: String,
    /// How many tasks were worked on.
    pub iteration: u32,
    /// How many may be; 0 is no limit.
    pub max_iterations: u32,
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
    /// How often it was not mended, limits and signals left out.
    pub failures: u32,
    /// Why it does not come at present, in a word; empty where it may.
    pub aside: String,
    /// The last run for it, or the one that is to be begun.
    pub run_id: Option<RunId>,
    /// The commit that holds its change.
    pub commit: Option<CommitSha>,
    /// The cost of all runs for it.
    pub cost: Charge,
    /// Why it stands as it does.
    pub reason: String,
}

impl Store {
    /// Records a backlog that begins, with its tasks in their order.
    ///
    /// # Errors
    /// When the log cannot be written: nothing is paid then.
    pub fn begin_backlog(&mut self, backlog: &BacklogRecord, tasks: &[TaskRecord]) -> Result<(), AuditError> {
        // Before the transaction, which holds the lock that other processes wait for.
        let tasks: Vec<TaskRecord> = tasks.iter().map(|task| self.without_secrets(task)).collect();
        self.in_backlogs(|db| {
            let text = "INSERT INTO backlogs (backlog_id, source, folder, started_at, max_cost_micro_usd) VALUES (?1, ?2, ?3, ?4, ?5)";
            db.execute(text, params![backlog.backlog_id, backlog.source, backlog.folder, backlog.started_at.0, signed(backlog.max_cost)])?;
            put_course(db, backlog)?;
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
        self.save_tasks(backlog, std::slice::from_ref(task))
    }

    /// Records how tasks stand, all of them or none.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn save_tasks(&mut self, backlog: &str, tasks: &[TaskRecord]) -> Result<(), AuditError> {
        let tasks: Vec<TaskRecord> = tasks.iter().map(|task| self.without_secrets(task)).collect();
        self.in_backlogs(|db| {
            for task in &tasks {
                // Asked within the transaction, so that two new tasks never get the same place.
                let position: i64 = db.query_row(
                    "SELECT coalesce((SELECT position FROM backlog_tasks WHERE backlog_id = ?1 AND task_id = ?2),
                       (SELECT count(*) FROM backlog_tasks WHERE backlog_id = ?1))",
                    params![backlog, task.task_id],
                    |row| row.get(0),
                )?;
                put(db, backlog, task, usize::try_from(position).unwrap_or_default())?;
            }
            Ok(())
        })
    }

    /// Records how far the work on a backlog is, whether it has ended, and what it may cost.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn save_course(&mut self, backlog: &BacklogRecord) -> Result<(), AuditError> {
        self.in_backlogs(|db| put_course(db, backlog))
    }

    /// Records that the work on a backlog ended, and why.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn end_backlog(&mut self, backlog: &str, reason: &str, at: &Timestamp) -> Result<(), AuditError> {
        let reason = self.redacted(reason);
        self.in_backlogs(|db| {
            let text = "UPDATE backlogs SET ended_at = ?2, stop_reason = ?3, status = 'idle' WHERE backlog_id = ?1";
            db.execute(text, params![backlog, at.0, reason]).map(drop)
        })
    }

    /// The last backlog of a source, or of any, in a checkout, with its tasks in their order.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn last_backlog(
        &self,
        source: Option<&str>,
        folder: &str,
    ) -> Result<Option<(BacklogRecord, Vec<TaskRecord>)>, AuditError> {
        let read = || -> rusqlite::Result<_> {
            let text = "SELECT backlog_id, source, folder, started_at, stop_reason, max_cost_micro_usd, status, iteration, max_iterations FROM backlogs
                WHERE (?1 IS NULL OR source = ?1) AND folder = ?2 ORDER BY rowid DESC LIMIT 1";
            let backlog = self.db.query_row(text, params![source, folder], backlog_of).optional()?;
            let Some(backlog) = backlog else { return Ok(None) };
            let text =
                "SELECT task_id, body, status, tries, run_id, commit_sha, known_micro_usd, unknown_micro_usd, reason, failures, aside
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
        // From the events, since a killed process may have begun the run without having saved it with the task.
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
        // A call whose receipt never came may have been billed, so that its reservation counts until something better is known.
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

    /// A task as it stands in its backlog, beside where that comes from; `None` where there is none.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn task_of(&self, backlog: &str, task: &str) -> Result<Option<(String, TaskRecord)>, AuditError> {
        let text = "SELECT task_id, body, t.status, tries, run_id, commit_sha, known_micro_usd, unknown_micro_usd, reason, failures, aside, source
            FROM backlog_tasks t JOIN backlogs b USING (backlog_id) WHERE backlog_id = ?1 AND task_id = ?2";
        let found = self.db.query_row(text, params![backlog, task], |row| Ok((row.get(11)?, task_of(row)?)));
        found.optional().map_err(|error| explain(self.path(), &error))
    }

    /// The tasks of a backlog that were worked on last, the latest last; at most so many.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn worked_on_last(&self, backlog: &str, most: u32) -> Result<Vec<TaskRecord>, AuditError> {
        let read = || -> rusqlite::Result<_> {
            let text = "SELECT task_id, body, status, tries, run_id, commit_sha, known_micro_usd, unknown_micro_usd, reason, failures, aside
                FROM backlog_tasks WHERE backlog_id = ?1 AND EXISTS (SELECT 1 FROM events WHERE events.run_id = backlog_tasks.run_id)
                ORDER BY (SELECT max(id) FROM events WHERE events.run_id = backlog_tasks.run_id) DESC LIMIT ?2";
            let mut query = self.db.prepare(text)?;
            query.query_map(params![backlog, most], task_of)?.collect::<Result<Vec<_>, _>>()
        };
        let mut tasks = read().map_err(|error| explain(self.path(), &error))?;
        // The limit has to take from the newest end, and the reader wants them in the order of time.
        tasks.reverse();
        Ok(tasks)
    }

    fn without_secrets(&self, task: &TaskRecord) -> TaskRecord {
        TaskRecord { body: self.redacted(&task.body), reason: self.redacted(&task.reason), ..task.clone() }
    }

    /// Writes now, together with what waited.
    pub(super) fn in_backlogs(
        &mut self,
        write: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), AuditError> {
        let path = self.path().to_owned();
        let written = self.written_now(write);
        written.map_err(|error| explain(&path, &error))
    }
}

impl Reader {
    /// Runs whose fix is not on the branch, as the backlog of their task knows: it was not committed, or is gone from there. Only those of
    /// a backlog of this log.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn uncommitted(&self) -> Result<BTreeSet<RunId>, AuditError> {
        let read = || -> rusqlite::Result<BTreeSet<RunId>> {
            // The last record of each run counts, since a completed task is carried into later backlogs. A task that was reset keeps its
            // run and its commit on the branch: it has no reason. Another run for the same task of a backlog says that the first was lost,
            // and so does one that stands for the task of a joined run: that collided.
            let text = "SELECT run_id FROM (
                  SELECT t.run_id AS run_id, t.status AS status, t.commit_sha AS sha, t.reason AS reason, max(b.rowid)
                  FROM backlog_tasks t JOIN backlogs b USING (backlog_id) WHERE t.run_id IS NOT NULL GROUP BY t.run_id)
                WHERE status <> 'completed' AND NOT (status = 'open' AND sha IS NULL AND reason = '')
              UNION
              SELECT e.run_id FROM events e
              WHERE e.kind = 'run_started' AND json_extract(e.body, '$.task') IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM backlog_tasks t WHERE t.run_id = e.run_id)
                AND EXISTS (SELECT 1 FROM events later WHERE later.kind = 'run_started' AND later.id > e.id
                  AND json_extract(later.body, '$.task') = json_extract(e.body, '$.task'))
              UNION
              SELECT e.run_id FROM events e JOIN segments s ON s.run_id = e.run_id
              WHERE e.kind = 'run_started' AND NOT EXISTS (SELECT 1 FROM backlog_tasks t WHERE t.run_id = e.run_id)
                AND EXISTS (SELECT 1 FROM backlog_tasks t JOIN segments other ON other.run_id = t.run_id WHERE t.run_id IS NOT NULL
                  AND t.task_id = substr(json_extract(e.body, '$.task'), instr(json_extract(e.body, '$.task'), '/') + 1))";
            self.db.prepare(text)?.query_map([], |row| row.get(0).map(RunId))?.collect()
        };
        read().map_err(|error| explain(&self.path, &error))
    }
}

fn put(db: &Connection, backlog: &str, task: &TaskRecord, position: usize) -> rusqlite::Result<()> {
    // A task that is there keeps its position.
    let text = "INSERT INTO backlog_tasks
        (backlog_id, task_id, position, body, status, tries, run_id, commit_sha, known_micro_usd, unknown_micro_usd, reason, failures, aside)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        ON CONFLICT (backlog_id, task_id) DO UPDATE SET body = excluded.body, status = excluded.status, tries = excluded.tries,
          run_id = excluded.run_id, commit_sha = excluded.commit_sha, known_micro_usd = excluded.known_micro_usd,
          unknown_micro_usd = excluded.unknown_micro_usd, reason = excluded.reason, failures = excluded.failures, aside = excluded.aside";
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
        task.reason,
        task.failures,
        task.aside
    ];
    db.execute(text, values).map(drop)
}

fn put_course(db: &Connection, backlog: &BacklogRecord) -> rusqlite::Result<()> {
    let CourseRecord { status, iteration, max_iterations } = &backlog.course;
    let text = "UPDATE backlogs SET status = ?2, iteration = ?3, max_iterations = ?4, max_cost_micro_usd = ?5, stop_reason = ?6,
        ended_at = CASE WHEN ?6 IS NULL THEN NULL ELSE ended_at END WHERE backlog_id = ?1";
    let reason = &backlog.stop_reason;
    let values = params![backlog.backlog_id, status, iteration, max_iterations, signed(backlog.max_cost), reason];
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
        course: CourseRecord { status: row.get(6)?, iteration: row.get(7)?, max_iterations: row.get(8)? },
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
        failures: row.get(9)?,
        aside: row.get(10)?,
    })
}

fn signed(amount: MicroUsd) -> i64 {
    i64::try_from(amount.0).unwrap_or(i64::MAX)
}
