//! Requests to a workspace and its answers: which paths may be written, a change, and why not.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::beneath::TouchError;
use crate::domain::event::DiffStat;
use crate::domain::units::TreeId;
use crate::policy::guard::Guards;

/// Which paths a model may write.
#[derive(Debug, Clone, Default)]
pub struct PathRules {
    /// Globs that may never be written, beside the built-in ones.
    pub protected: Vec<String>,
    /// Files by which the test command runs the tests, as paths from the root.
    pub run_tests: BTreeSet<String>,
    /// Globs of test files that may be written although they are test files.
    pub allow_test_edits: Vec<String>,
    /// Which guards stand.
    pub guards: Guards,
}

/// A change between two recorded states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// Unified diff as `git apply` takes it. Binary files are only named.
    pub text: String,
    /// Its size.
    pub stat: DiffStat,
}

/// The way out for somebody whose disk is full.
fn room(error: &std::io::Error) -> &'static str {
    if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
        " → Fix: make room on the disk of upshift's state folder, or name a folder on another disk by XDG_STATE_HOME (in a job it is RUNNER_TEMP)"
    } else {
        ""
    }
}

/// Why the workspace itself (not a model's request) failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The checkout cannot be opened.
    #[error("failed to open the checkout {path}: {source}")]
    Root {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The private folder lies in the checkout, where the tests could change it.
    #[error("the folder for recorded states {path} is inside the checkout → Fix: name one outside it")]
    Inside {
        /// Which.
        path: PathBuf,
    },
    /// Another process works with these states.
    #[error("another upshift is using {path} → Fix: wait for it to end, or stop it")]
    InUse {
        /// Which folder.
        path: PathBuf,
    },
    /// The private folder cannot be read or written.
    #[error("failed to keep or read a recorded state: {path}: {source}{}", room(.source))]
    Store {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No such state was recorded here.
    #[error("no state {tree} was recorded here")]
    UnknownTree {
        /// Which.
        tree: TreeId,
    },
    /// A file of the checkout cannot be read or written.
    #[error("failed to read or write the checkout: {reason}")]
    File {
        /// Which and why.
        reason: String,
    },
    /// Something else than a file is at a path of the checkout, such as a link.
    #[error("failed to read or write the checkout: {reason}")]
    Form {
        /// Which and why.
        reason: String,
    },
    /// A path is none of the checkout's.
    #[error("{reason}")]
    Path {
        /// Which and why.
        reason: String,
    },
    /// A configured glob cannot be read.
    #[error("the path pattern `{pattern}` cannot be read: {reason}")]
    Glob {
        /// Which.
        pattern: String,
        /// Why.
        reason: String,
    },
}

impl From<TouchError> for WorkspaceError {
    fn from(error: TouchError) -> Self {
        let reason = error.to_string();
        match error {
            TouchError::Link { .. } | TouchError::Wrong { .. } => Self::Form { reason },
            TouchError::Missing(_) | TouchError::Io { .. } => Self::File { reason },
        }
    }
}

/// A tool's failure: told to the model, or the end of the iteration (DESIGN §2.3).
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The model can mend it.
    #[error("{0}")]
    ForModel(String),
    /// A guard refused it. The model is told, and so are reviewers.
    #[error("{0}")]
    Refused(String),
    /// Nobody can.
    #[error("{0}")]
    Fatal(String),
}
