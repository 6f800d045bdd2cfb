//! The process that works on the backlogs of a log, and the orders that others give it: rows that it reads while it goes on.
//!
//! Invariant: an order is answered once, by the process that holds the lock; one that was given to a process which is gone is never
//! obeyed by another.

use std::io::Read as _;

use rusqlite::{OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use super::error::{AuditError, explain, explain_io};
use super::lock::{self, Held};
use super::store::Store;
use crate::domain::clock::Timestamp;

/// The largest lock file that is read, in bytes.
const MOST_BYTES: u64 = 64 * 1024;

/// Shows others that a backlog is under way; given up when the process ends, however it ends.
#[derive(Debug)]
pub struct BacklogLock {
    _held: Option<Held>,
}

/// The process that works on the backlogs of a log (S3-16). For people, since the lock itself ends with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// Its session.
    pub session_id: String,
    /// Since when.
    pub acquired_at: String,
    /// The checkout.
    pub cwd: String,
    /// The machine.
    pub hostname: String,
    /// What it works on.
    #[serde(default)]
    pub work: Work,
}

/// The work of a process that holds the backlogs of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// A backlog, task by task. It hears orders.
    #[default]
    Backlog,
    /// A backlog, by jobs beside each other.
    Workers,
    /// The merge of what jobs mended.
    Merge,
    /// Tasks that are to be done once more.
    Reset,
}

/// A request to the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRecord {
    /// Its number.
    pub order_id: i64,
    /// The verb.
    pub verb: String,
    /// How many, where the verb says so.
    pub amount: u32,
}

/// The answer of the process to an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderAnswer {
    /// Whether it was obeyed.
    pub obeyed: bool,
    /// In words.
    pub said: String,
}

impl Store {
    /// Takes the lock of the backlogs of this log; `None` while another process holds it. Orders that were given to a process
    /// which is gone are put away.
    ///
    /// # Errors
    /// When the lock file or the log cannot be written.
    pub fn lock_backlogs(&mut self, holder: &Holder) -> Result<Option<BacklogLock>, AuditError> {
        let held = match self.live_path() {
            None => None,
            Some(live) => {
                let path = lock::beside(&live, ".backlog.lock");
                let Some(held) = lock::take(&path).map_err(|error| explain_io(&path, &error))? else {
                    return Ok(None);
                };
                let text = serde_json::to_vec(holder).unwrap_or_default();
                held.say(&text).map_err(|error| explain_io(&path, &error))?;
                Some(held)
            }
        };
        let at = Timestamp(holder.acquired_at.clone());
        // Only with the lock in hand: the orders of a living process are not ours to put away.
        self.in_backlogs(|db| {
            let text = "UPDATE backlog_orders SET answered_at = ?1, obeyed = 0, answer = 'the process that it was given to is gone'
                WHERE answered_at IS NULL";
            db.execute(text, [&at.0]).map(drop)
        })?;
        Ok(Some(BacklogLock { _held: held }))
    }

    /// The process that works on the backlogs of this log now. `None` where nobody does.
    ///
    /// # Errors
    /// When the lock file cannot be read.
    pub fn backlog_holder(&self) -> Result<Option<Holder>, AuditError> {
        let Some(path) = self.live_path().map(|live| lock::beside(&live, ".backlog.lock")) else { return Ok(None) };
        // The lock tells, not the file: after a kill the file stays with the name of a process that is gone.
        if !lock::is_held(&path) {
            return Ok(None);
        }
        let mut text = String::new();
        let read = std::fs::File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
        match read {
            // It has just begun, and has not said yet who it is.
            // Also where a newer version has written it in another form.
            Ok(_) => Ok(Some(serde_json::from_str(&text).unwrap_or_else(|_error| Holder::unknown()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(explain_io(&path, &error)),
        }
    }

    /// Asks something of the process that works on the backlogs of this log; returns the order's number.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn give_order(&mut self, verb: &str, amount: u32, at: &Timestamp) -> Result<i64, AuditError> {
        let mut number = 0;
        self.in_backlogs(|db| {
            let text = "INSERT INTO backlog_orders (verb, amount, given_at) VALUES (?1, ?2, ?3)";
            db.execute(text, params![verb, amount, at.0])?;
            number = db.last_insert_rowid();
            Ok(())
        })?;
        Ok(number)
    }

    /// The orders that wait, the earliest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn waiting_orders(&self) -> Result<Vec<OrderRecord>, AuditError> {
        let read = || -> rusqlite::Result<_> {
            let text = "SELECT order_id, verb, amount FROM backlog_orders WHERE answered_at IS NULL ORDER BY order_id LIMIT 100";
            let mut query = self.db.prepare_cached(text)?;
            let order = |row: &rusqlite::Row<'_>| {
                Ok(OrderRecord { order_id: row.get(0)?, verb: row.get(1)?, amount: row.get(2)? })
            };
            query.query_map([], order)?.collect::<Result<Vec<_>, _>>()
        };
        read().map_err(|error| explain(self.path(), &error))
    }

    /// Answers an order.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn answer_order(&mut self, order: i64, answer: &OrderAnswer, at: &Timestamp) -> Result<(), AuditError> {
        let said = self.redacted(&answer.said);
        self.in_backlogs(|db| {
            let text = "UPDATE backlog_orders SET answered_at = ?2, obeyed = ?3, answer = ?4 WHERE order_id = ?1";
            db.execute(text, params![order, at.0, answer.obeyed, said]).map(drop)
        })
    }

    /// The answer to an order. `None` while it waits.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn answer_to(&self, order: i64) -> Result<Option<OrderAnswer>, AuditError> {
        let text = "SELECT obeyed, answer FROM backlog_orders WHERE order_id = ?1 AND answered_at IS NOT NULL";
        let answer = self.db.query_row(text, [order], |row| Ok(OrderAnswer { obeyed: row.get(0)?, said: row.get(1)? }));
        answer.optional().map_err(|error| explain(self.path(), &error))
    }
}

impl Holder {
    fn unknown() -> Self {
        let nothing = String::new;
        let work = Work::default();
        Self { pid: 0, session_id: nothing(), acquired_at: nothing(), cwd: nothing(), hostname: nothing(), work }
    }
}
