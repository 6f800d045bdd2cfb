//! Errors of an audit log, said so that its owner can mend it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::domain::units::RunId;

/// How every trouble at opening can be walked around.
const OTHERWISE: &str = "name another file with --audit-db PATH, or run with --no-audit";
/// The part of it that a backlog cannot do.
const WITHOUT: &str = ", or run with --no-audit";

/// The way on once there is room again: another log would know nothing of what was paid for.
const CONTINUES: &str = "`upshift resume` continues a run that was under way";
/// The same of a backlog.
const BACKLOG_CONTINUES: &str = "the same command continues";

/// Why the log cannot be opened, read or continued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// The file is something else.
    #[error("the audit log {path} is not a SQLite database\n  → Fix: move that file away; or {OTHERWISE}", path = .path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// A newer upshift wrote it.
    #[error(
        "the audit log {path} has schema version {found}; this upshift knows up to {known}\n  → Fix: use the newer upshift; or {OTHERWISE}",
        path = .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// It has tables of the same names that are not ours.
    #[error("the audit log {path} belongs to another program: {why}\n  → Fix: {OTHERWISE}", path = .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The part that does not fit.
        why: String,
    },
    /// The file or its folder cannot be written.
    #[error("the audit log {path} cannot be written: {why}\n  → Fix: make its folder writable; or {OTHERWISE}", path = .path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        why: String,
    },
    /// There is no room.
    #[error("the audit log {path} cannot be written: the disk is full\n  → Fix: free some space, and {CONTINUES}; or {OTHERWISE}", path = .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Someone else keeps it locked.
    #[error("the audit log {path} is locked by another program\n  → Fix: close it there; or {OTHERWISE}", path = .path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Its content is damaged.
    #[error("the audit log {path} is damaged: {why}\n  → Fix: move that file away; or {OTHERWISE}", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// There is no log.
    #[error("there is no audit log at {path}\n  → Fix: go to the folder where upshift ran, name the log with --audit-db PATH, or start with `upshift run`", path = .path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// SQLite failed in some other way.
    #[error("the audit log {path} failed: {why}\n  → Fix: {OTHERWISE}", path = .path.display())]
    Sql {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        why: String,
    },
    /// No run has that id or prefix.
    #[error("the audit log has no run {prefix}\n  → Fix: `upshift runs` lists its runs")]
    NoSuchRun {
        /// The id or prefix that was asked for.
        prefix: String,
    },
    /// The log is empty.
    #[error("the audit log has no run yet")]
    NoRuns,
    /// More than one run begins so.
    #[error("{prefix} is the beginning of {n} runs: {list}\n  → Fix: give more of the id", n = .runs.len(), list = ids(.runs))]
    Ambiguous {
        /// The id or prefix that was asked for.
        prefix: String,
        /// All that fit.
        runs: Vec<RunId>,
    },
    /// Another process works on that run.
    #[error("run {run} is being worked on by another process\n  → Fix: wait for it to end, or end it")]
    Alive {
        /// The run.
        run: RunId,
    },
}

impl AuditError {
    /// Its words for somebody who cannot do without a log.
    #[must_use]
    pub fn of_backlog(&self) -> String {
        self.to_string().replace(WITHOUT, "").replace(CONTINUES, BACKLOG_CONTINUES)
    }
}

fn ids(runs: &[RunId]) -> String {
    runs.iter().map(|run| run.0.as_str()).collect::<Vec<_>>().join(", ")
}

/// Sorts SQLite's errors by what their reader can do about them.
pub(super) fn explain(path: &Path, error: &rusqlite::Error) -> AuditError {
    let path = path.to_owned();
    let why = error.to_string();
    // Errors without a code are of the library, such as a column of an unexpected type.
    let Some(code) = error.sqlite_error_code() else { return AuditError::Sql { path, why } };
    if code == ErrorCode::NotADatabase {
        AuditError::NotADatabase { path }
    } else if matches!(code, ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) {
        AuditError::Unwritable { path, why }
    } else if code == ErrorCode::DiskFull {
        AuditError::Full { path }
    } else if matches!(code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) {
        AuditError::Locked { path }
    } else if code == ErrorCode::DatabaseCorrupt {
        AuditError::Damaged { path, why }
    } else {
        AuditError::Sql { path, why }
    }
}

/// The same for errors of the file system.
pub(super) fn explain_io(path: &Path, error: &io::Error) -> AuditError {
    let path = path.to_owned();
    if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        AuditError::Full { path }
    } else {
        AuditError::Unwritable { path, why: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_the_command_that_continues() {
        let full = AuditError::Full { path: "a.db".into() };
        assert!(full.to_string().contains("free some space, and `upshift resume` continues a run"), "{full}");
        let told = full.of_backlog();
        assert!(
            told.contains("free some space, and the same command continues; or name") && !told.contains("--no-audit"),
            "{told}"
        );
    }
}
