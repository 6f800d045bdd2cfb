//! The newest snapshots in memory: a page needs no database for them.

use std::collections::VecDeque;

use super::batch::SnapshotRow;
use crate::domain::units::RunId;

/// The most that stays in memory: as much as a page shows.
const MAX_REMEMBERED_BYTES: usize = 8 * 1024 * 1024;

/// The newest snapshots of the runs of this process, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    rows: VecDeque<(RunId, SnapshotRow)>,
    bytes: usize,
}

impl Remembered {
    pub(super) fn add(&mut self, run: &RunId, row: &SnapshotRow) {
        self.bytes = self.bytes.saturating_add(row.body.len());
        self.rows.push_back((run.clone(), row.clone()));
        // The oldest goes, as a page shows what is newest.
        while self.bytes > MAX_REMEMBERED_BYTES
            && let Some((_, oldest)) = self.rows.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(oldest.body.len());
        }
    }

    /// Each with its run.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&RunId, &SnapshotRow)> {
        self.rows.iter().map(|(run, row)| (run, row))
    }
}
