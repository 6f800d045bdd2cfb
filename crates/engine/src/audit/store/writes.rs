//! How a batch reaches the disk: one transaction per write, and what happens when one fails.
//!
//! Invariant: the content of a write is in the database, in the spool or in memory, in this order of preference. The next write that
//! succeeds takes all of it along.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::{DEGRADED_BUSY_TIMEOUT, Store};
use crate::audit::batch::{Batch, Chain};
use crate::audit::spool::{Content, Spool};
use crate::audit::types::Sync;
use crate::audit::{AuditError, Location, publish, rows};

impl Store {
    /// Writes a batch now or spools it. The chain moves either way.
    pub(in crate::audit) fn write(&mut self, chain: Chain, batch: Batch, sync: Sync) {
        // In either case, as a batch that waits has its place in the chain already.
        self.advance(chain);
        self.in_order = false;
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
        // Only now: until the commit, what waits is nowhere else.
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
        self.totals.all_saved();
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
        // Behind those that wait, since the order of the links is that of the chain.
        self.held_back.push(batch);
        let spooled = self.spool_held_back();
        // Told once: each further write would say the same.
        if std::mem::replace(&mut self.degraded, true) {
            return;
        }
        // A run must not wait seconds at each of its writes for a lock that stays taken.
        drop(self.db.busy_timeout(DEGRADED_BUSY_TIMEOUT));
        let held = match spooled {
            Some(Ok(place)) => self.named(&place),
            Some(Err(error)) => format!("kept in memory only, for its spool failed too ({error})"),
            None => "kept in memory only".to_owned(),
        };
        self.warnings.push(format!("the audit log cannot be written ({why}); what happens is {held} until it can"));
    }

    /// Where a part of the spool is, for people who may be elsewhere.
    fn named(&self, place: &Path) -> String {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let whose = if place.parent() == self.path().parent() { "beside it" } else { "in upshift's own folder" };
        format!("kept {whose} ({name})")
    }

    /// Moves what is held back into the spool, with the room that was set aside for that. Texts for whoever looks into the run are given up
    /// before what the run's report is made of. Returns where all of it is. `None` without a spool.
    fn spool_held_back(&mut self) -> Option<io::Result<PathBuf>> {
        let spool = self.spool.as_ref()?;
        let mut all = spool.add(&self.held_back);
        // The reserve is given up only after a plain try, as it can be used once.
        if all.is_err() && self.reserve.free_for_records() {
            all = spool.add(&self.held_back);
        }
        let all = all.map(Path::to_owned);
        if all.is_ok() {
            self.held_back.clear();
            return Some(all);
        }
        let (records, texts): (Vec<Batch>, Vec<Batch>) =
            std::mem::take(&mut self.held_back).into_iter().partition(|batch| batch.snapshot.is_none());
        // Records without texts make a report. Texts without records make nothing.
        let kept = !records.is_empty() && spool.add(&records).is_ok();
        self.held_back = if kept { texts } else { records.into_iter().chain(texts).collect() };
        Some(all)
    }

    /// Says what becomes of the writes that still wait when the log is closed. Those that are in memory only are tried on the spool once more,
    /// and of a run that cannot be kept whole, its end is.
    pub(super) fn left_waiting(&mut self, why: &rusqlite::Error) {
        let spooled = if self.held_back.is_empty() { None } else { self.spool_held_back() };
        self.spool_one_by_one();
        let failed = match spooled {
            Some(Err(error)) => format!(", and its spool failed too ({error})"),
            None | Some(Ok(_)) => String::new(),
        };
        let lacks = self.lacks();
        let texts = self.held_back.iter().filter(|batch| batch.snapshot.is_some()).count();
        let message = match (lacks, texts) {
            (0, 0) => format!("the audit log is incomplete until what waits beside it is taken in: {why}"),
            (0, texts) => format!(
                "the audit log has lost {} (conversations, what tests printed, patches): {why}{failed}",
                counted(texts, "text", "texts")
            ),
            (_, _) => {
                let lost = usize::try_from(lacks).unwrap_or(usize::MAX);
                format!("the audit log has lost {}: {why}{failed}", counted(lost, "record", "records"))
            }
        };
        self.warnings.push(message);
    }

    /// The records that neither the database nor the spool took.
    pub(super) fn lacks(&self) -> u64 {
        self.held_back.iter().map(|batch| batch.links.len() as u64).sum()
    }

    /// Spools each batch that fits, and in any case the last one of the run, for which room is kept: a log with a gap says that it has one, and
    /// how the run ended.
    fn spool_one_by_one(&mut self) {
        let Some(spool) = &self.spool else { return };
        let fits = |batch: &Batch| spool.add(std::slice::from_ref(batch)).is_ok();
        let last = self.held_back.iter().rposition(|batch| !batch.links.is_empty());
        // Taken out first, so that the room for the end is not used up by others.
        let last = last.map(|place| self.held_back.remove(place));
        self.held_back.retain(|batch| !fits(batch));
        self.reserve.free_for_the_end();
        // A state may be large, and nobody goes on with a run that ended.
        self.held_back.extend(last.filter(|last| !fits(last) && !fits(&Batch { state: None, ..last.clone() })));
    }

    /// Begins a transaction and replays the waiting writes. Meant for callers that decide within it.
    pub(in crate::audit) fn transaction(&mut self, sync: Sync) -> rusqlite::Result<(Transaction<'_>, Replayed)> {
        // A pragma is a statement of its own, and most writes are of the same kind.
        if self.sync != sync {
            let synchronous = match sync {
                Sync::Now => "FULL",
                Sync::Later => "NORMAL",
            };
            self.db.pragma_update(None, "synchronous", synchronous)?;
            self.sync = sync;
        }
        // Immediate: one that reads first and writes later could be refused the lock in between.
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let replayed = replay(&transaction, self.spool.as_ref(), &self.held_back)?;
        Ok((transaction, replayed))
    }

    pub(super) fn try_publish(&mut self, sync: Sync) -> Result<(), AuditError> {
        match &self.location {
            Some(Location { live, published: Some(place), .. }) => publish::publish(&mut self.db, live, place, sync),
            _ => Ok(()),
        }
    }

    pub(in crate::audit) fn publish(&mut self, sync: Sync) {
        let Err(error) = self.try_publish(sync) else { return };
        // Told once, as it is tried at each milestone.
        if !std::mem::replace(&mut self.copy_failed, true) {
            self.warnings.push(format!("no copy of the audit log could be put in its place: {error}"));
        }
    }
}

/// `1 record`, `2 records`.
fn counted(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// The writes that a replay took, and their places, to be cleared once it is committed.
#[derive(Debug, Default)]
pub(in crate::audit) struct Replayed {
    content: Option<Content>,
    warnings: Vec<String>,
}

impl Replayed {
    /// Empties the spool after the commit.
    pub(in crate::audit) fn clear(self) -> io::Result<()> {
        self.content.map_or(Ok(()), Content::clear)
    }
}

/// Applies what waits, in order: first the spool, then what not even the spool took.
pub(in crate::audit) fn replay(
    db: &Connection,
    spool: Option<&Spool>,
    held_back: &[Batch],
) -> rusqlite::Result<Replayed> {
    let mut replayed = Replayed::default();
    match spool.map(Spool::take).transpose() {
        Ok(content) => replayed.content = content.flatten(),
        // New writes go on: a spool that cannot be read must not stop the log.
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
