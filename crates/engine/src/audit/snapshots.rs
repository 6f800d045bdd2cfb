//! Snapshots of a run: conversations, outputs of tests and changes, kept beside its events for whoever looks into it.
//!
//! Invariant: a process finds the snapshots that it kept, whatever became of the database: its newest are in memory, and those that the
//! database did not take are read where they wait.

use std::collections::BTreeMap;

use super::batch::{Batch, SnapshotRow};
use super::spool::Spool;
use super::store::Store;
use super::types::Sync;
use super::{AuditError, RecordedReplies, Snapshot, query, scrub};
use crate::domain::units::RunId;

/// The most that is kept of one snapshot.
const MAX_SNAPSHOT_BYTES: usize = 1024 * 1024;
/// The snapshots of one run as the process that works on it can read them.
#[derive(Debug)]
pub struct Kept<'s> {
    store: &'s Store,
    run: RunId,
    /// Those that need no database, by kind and session.
    at_hand: BTreeMap<(String, String), String>,
}

impl Kept<'_> {
    /// The last snapshot of that kind and session.
    ///
    /// # Errors
    /// When it is in the log alone, and that cannot be read.
    pub fn load(&self, kind: &str, session_id: &str) -> Result<Option<String>, AuditError> {
        match self.at_hand.get(&(kind.to_owned(), session_id.to_owned())) {
            Some(body) => Ok(Some(body.clone())),
            None => self.store.asked(&self.run.0, query::snapshot(&self.store.db, &self.run, kind, session_id)),
        }
    }
}

impl Kept<'_> {
    /// The settled calls of one iteration in order, with their replies.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn recorded_replies(&self, tier_index: u32, iteration: u32) -> Result<RecordedReplies, AuditError> {
        self.store.recorded_replies(&self.run, tier_index, iteration)
    }
}

impl Store {
    /// Keeps a redacted snapshot. One that is too large is kept as its beginning.
    pub fn save_snapshot(&mut self, snapshot: &Snapshot<'_>) {
        let Some(chain) = self.chain() else { return };
        let mut body = scrub::document(&self.redactor, snapshot.body);
        if body.len() > MAX_SNAPSHOT_BYTES {
            // Half of it, since escapes may double the text when it becomes a JSON string.
            let beginning = body.get(..body.floor_char_boundary(MAX_SNAPSHOT_BYTES / 2)).unwrap_or_default();
            body = serde_json::json!({ "cut_from_bytes": body.len(), "beginning": beginning }).to_string();
        }
        let row = SnapshotRow { kind: snapshot.kind.to_owned(), session_id: snapshot.session_id.to_owned(), body };
        self.remembered.add(&chain.run_id, &row);
        let mut batch = Batch::new(chain.run_id.clone());
        batch.snapshot = Some(row);
        self.write(chain, batch, Sync::Later);
    }

    /// The snapshots of a run. What waits to be written is read once, now.
    #[must_use]
    pub fn snapshots(&self, run: &RunId) -> Kept<'_> {
        let spooled = self.spool.as_ref().filter(|spool| !spool.is_empty()).map(Spool::peek).unwrap_or_default();
        let waiting =
            spooled.iter().chain(&self.held_back).filter_map(|batch| Some((&batch.run_id, batch.snapshot.as_ref()?)));
        let remembered = self.remembered.rows();
        let rows = waiting.chain(remembered).filter(|(of, _)| *of == run);
        // Later ones replace earlier ones: first those that wait, then those in memory, which are the newest.
        let at_hand = rows.map(|(_, row)| ((row.kind.clone(), row.session_id.clone()), row.body.clone())).collect();
        Kept { store: self, run: run.clone(), at_hand }
    }

    /// The last snapshot of that kind and session in a run.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn load_snapshot(&self, run: &RunId, kind: &str, session_id: &str) -> Result<Option<String>, AuditError> {
        self.snapshots(run).load(kind, session_id)
    }
}
