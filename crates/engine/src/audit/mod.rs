//! The audit log: SQLite, append-only, safe against `kill -9`.
//!
//! Owns the database: its schema and migrations, the hash chain, reservations of money, the spool and the spare room for times when the
//! database cannot be written, the OS lock that tells a living run from a dead one, and the copy that is published inside a checkout. Everything is redacted
//! before it is written. Invariant: no clock and no environment is read here, since timestamps come with the events. Only this module names
//! `rusqlite`, and none of its types leave it. Once a run has begun, no trouble with the log changes its outcome.
//!
//! Start reading at [`Store`] (writing) and [`Reader`] (reading). [`locate`] decides where a log lives.

mod backlogs;
mod batch;
mod budget;
mod error;
mod journal;
mod kept_trees;
mod location;
mod lock;
mod orders;
mod place;
mod publish;
mod query;
mod reader;
mod remembered;
mod reserve;
mod rows;
mod schema;
mod scrub;
mod segments;
mod snapshots;
mod spool;
mod store;
mod totals;
mod trees;
mod types;
mod verify;

pub use backlogs::{BacklogRecord, CourseRecord, TaskRecord};
pub use error::AuditError;
pub use journal::Journal;
pub use location::{Location, locate};
pub use orders::{BacklogLock, Holder, OrderAnswer, OrderRecord, Work};
pub use reader::{Reader, RecordedReplies};
pub use segments::{Joined, Segment};
pub use snapshots::Kept;
pub use store::{Settings, Standing, Store};
pub use types::{
    BrokenLink, CallReservation, Cap, LoadedRun, Refused, RunStatus, RunSummary, Scope, Snapshot, StateLink, Verified,
    VerifyError,
};

#[cfg(test)]
mod tests;
