//! How a batch reaches the disk: one transaction per write, and what happens when one fails.
//!
//! Invariant: the content of a write is in the database, in the spool or in memory, in this order of preference. The next write that
//! succeeds takes all of it along.

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::{DEGRADED_BUSY_TIMEOUT, Store};
use crate::audit::batch::{Batch, Chain};
use crate::audit::spool::{Content, Spool};
use crate::audit::types::Sync;
use crate::audit::{AuditError, Location, publish, rows};

impl Store {
    /// Writes a batch now or spools it. The chain moves either way.
    pub(in crate::audit) fn write(&mut self, chain: Chain, batch: Batch, sync: Sync) {
        self.advance(chain);
        match self.commit(Some(&batch), sync) {
            Ok(()) => self.recovered(),
            Err(error) => self.keep(batch, &error),
        }
    }

    /// Replays what waits, then writes the batch, in one transaction.
    pub(super) fn commit(&mut self, batch: Option<&Batch>, sync: Sync) -> rusqlite::Result<()> {
        let (transaction, replayed) = self.transaction(sync)?;
        if let Some(batch) = batch {
            rows::apply(&transaction, batch)?;
        }
        transaction.commit()?;
        self.replayed(replayed);
        Ok(())
    }

    /// Writes rows that are no part of a run's chain, together with the waiting ones. The write is neither spooled nor held back.
    pub(in crate::audit) fn written_now(
        &mut self,
        write: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let (transaction, replayed) = self.transaction(Sync::Now)?;
        write(&transaction)?;
        transaction.commit()?;
        self.replayed(replayed);
        self.publish(Sync::Later);
        Ok(())
    }

    /// A text without secrets.
    pub(in crate::audit) fn redacted(&self, text: &str) -> String {
        self.redactor.redact(text).into_owned()
    }

    /// What finds secrets.
    pub(in crate::audit) fn redactor(&self) -> std::sync::Arc<crate::redact::Redactor> {
        std::sync::Arc::clone(&self.redactor)
    }

    /// After a commit: what was replayed need not wait any longer.
    pub(in crate::audit) fn replayed(&mut self, replayed: Replayed) {
        self.held_back.clear();
        self.warnings.extend(replayed.warnings);
        if let Some(Err(error)) = replayed.content.map(Content::clear) {
            self.warnings.push(format!("the audit log's spool could not be emptied: {error}"));
        }
    }

    pub(in crate::audit) fn recovered(&mut self) {
        if std::mem::take(&mut self.degraded) {
            drop(self.db.busy_timeout(self.settings.busy_timeout));
            self.warnings.push("the audit log can be written again; nothing is missing".to_owned());
        }
    }

    /// Keeps a batch that the database did not take.
    pub(in crate::audit) fn keep(&mut self, batch: Batch, why: &rusqlite::Error) {
        self.held_back.push(batch);
        let spooled = self.spool.as_ref().map(|spool| spool.add(&self.held_back));
        if let Some(Ok(())) = spooled {
            self.held_back.clear();
        }
        if std::mem::replace(&mut self.degraded, true) {
            return;
        }
        drop(self.db.busy_timeout(DEGRADED_BUSY_TIMEOUT));
        let held = match (spooled, &self.spool) {
            (Some(Ok(())), Some(spool)) => format!("kept in {}", spool.path().display()),
            (Some(Err(error)), _) => format!("kept in memory only, for its spool failed too ({error})"),
            (_, _) => "kept in memory only".to_owned(),
        };
        self.warnings.push(format!(
            "the audit log {} cannot be written ({why}); what happens is {held} until it can",
            self.path().display()
        ));
    }

    /// Says what becomes of the writes that still wait when the log is closed. Those that are in memory only are tried on the spool once more.
    pub(super) fn left_waiting(&mut self, why: &rusqlite::Error) {
        let spooled =
            self.spool.as_ref().filter(|_| !self.held_back.is_empty()).map(|spool| spool.add(&self.held_back));
        let message = match spooled {
            None if !self.held_back.is_empty() => format!("{} of the audit log are lost: {why}", self.waiting()),
            Some(Err(error)) => {
                format!("{} of the audit log are lost: {why}, and its spool failed too ({error})", self.waiting())
            }
            None | Some(Ok(())) => format!("the audit log is incomplete until it is opened again: {why}"),
        };
        self.warnings.push(message);
    }

    fn waiting(&self) -> String {
        format!("{} write(s)", self.held_back.len())
    }

    /// Begins a transaction and replays the waiting writes. Meant for callers that decide within it.
    pub(in crate::audit) fn transaction(&mut self, sync: Sync) -> rusqlite::Result<(Transaction<'_>, Replayed)> {
        if self.sync != sync {
            let synchronous = match sync {
                Sync::Now => "FULL",
                Sync::Later => "NORMAL",
            };
            self.db.pragma_update(None, "synchronous", synchronous)?;
            self.sync = sync;
        }
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let replayed = replay(&transaction, self.spool.as_ref(), &self.held_back)?;
        Ok((transaction, replayed))
    }

    pub(super) fn try_publish(&self, sync: Sync) -> Result<(), AuditError> {
        match &self.location {
            Some(Location { live, published: Some(place), .. }) => publish::publish(&self.db, live, place, sync),
            _ => Ok(()),
        }
    }

    pub(in crate::audit) fn publish(&mut self, sync: Sync) {
        let Err(error) = self.try_publish(sync) else { return };
        if !std::mem::replace(&mut self.copy_failed, true) {
            self.warnings.push(format!("no copy of the audit log could be put in its place: {error}"));
        }
    }
}

/// The writes that a replay took, and their places, to be cleared once it is committed.
#[derive(Debug, Default)]
pub(in crate::audit) struct Replayed {
    content: Option<Content>,
    warnings: Vec<String>,
}

/// Applies what waits, in order: first the spool, then what not even the spool took.
fn replay(db: &Connection, spool: Option<&Spool>, held_back: &[Batch]) -> rusqlite::Result<Replayed> {
    let mut replayed = Replayed::default();
    match spool.map(Spool::take).transpose() {
        Ok(content) => replayed.content = content.flatten(),
        Err(error) => replayed.warnings.push(format!("the audit log's spool cannot be read: {error}")),
    }
    let spooled = replayed.content.as_ref().map_or(&[][..], |content| &content.batches);
    for batch in spooled.iter().chain(held_back) {
        match rows::apply(db, batch) {
            // It would fail for ever and keep all that follows from being written.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                replayed
                    .warnings
                    .push(format!("a spooled part of run {} does not fit the audit log: {error}", batch.run_id));
            }
            applied => applied?,
        }
    }
    let unreadable = replayed.content.as_ref().map_or(0, |content| content.unreadable);
    if unreadable > 0 {
        replayed.warnings.push(format!("{unreadable} torn line(s) in the audit log's spool were left out"));
    }
    Ok(replayed)
}
