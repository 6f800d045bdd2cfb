//! The working tree: recorded states, diffs, and every way a model may read or write it.

use std::path::{Path, PathBuf};

use crate::domain::event::DiffStat;
use crate::domain::units::TreeId;

/// A checkout and the private git directory that records its states.
#[derive(Debug)]
pub struct Workspace {}

/// Which paths a model may write.
#[derive(Debug, Clone, Default)]
pub struct PathRules {
    /// Globs that may never be written, beside the built-in ones.
    pub protected: Vec<String>,
    /// Globs of test files that may be written although they are test files.
    pub allow_test_edits: Vec<String>,
}

/// A change between two recorded states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// Unified diff; binary files only named.
    pub text: String,
    /// Its size.
    pub stat: DiffStat,
}

/// Why the workspace itself (not a model's request) failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// To be completed.
    #[error("{0}")]
    Other(String),
}

/// A tool's failure: told to the model, or the end of the iteration (DESIGN §2.3).
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The model can mend it.
    #[error("{0}")]
    ForModel(String),
    /// Nobody can.
    #[error("{0}")]
    Fatal(String),
}

impl Workspace {
    /// Opens a checkout; `shadow` is a private folder outside it for recorded states, made if missing.
    ///
    /// # Errors
    /// When the checkout or the folder cannot be used, or git is missing.
    pub async fn open(_root: &Path, _shadow: &Path, _rules: PathRules) -> Result<Self, WorkspaceError> {
        todo!()
    }
    /// The checkout's canonical path.
    #[must_use]
    pub fn root(&self) -> &Path {
        todo!()
    }
    /// Records the state of the tree: every file that is not ignored, uncommitted and untracked ones too.
    pub async fn snapshot(&self) -> Result<TreeId, WorkspaceError> {
        todo!()
    }
    /// Makes the tree equal to a recorded state; ignored files stay.
    pub async fn restore(&self, _tree: &TreeId) -> Result<(), WorkspaceError> {
        todo!()
    }
    /// Puts single files back as they are in a recorded state (deletes those it does not have).
    pub async fn restore_paths(&self, _tree: &TreeId, _paths: &[PathBuf]) -> Result<(), WorkspaceError> {
        todo!()
    }
    /// What changed between two recorded states.
    pub async fn diff(&self, _from: &TreeId, _to: &TreeId) -> Result<Diff, WorkspaceError> {
        todo!()
    }
    /// Whether a model may not write this path (relative to the root), and why.
    #[must_use]
    pub fn protected(&self, _path: &Path) -> Option<String> {
        todo!()
    }
    /// `list_files`.
    pub fn list_files(&self, _path: Option<&str>, _glob: Option<&str>) -> Result<String, ToolError> {
        todo!()
    }
    /// `read_file`.
    pub fn read_file(&self, _path: &str, _start: Option<u64>, _end: Option<u64>) -> Result<String, ToolError> {
        todo!()
    }
    /// `search`.
    pub fn search(&self, _pattern: &str, _path: Option<&str>, _glob: Option<&str>) -> Result<String, ToolError> {
        todo!()
    }
    /// `edit_file`.
    pub fn edit_file(&self, _path: &str, _old: &str, _new: &str) -> Result<String, ToolError> {
        todo!()
    }
    /// `write_file`.
    pub fn write_file(&self, _path: &str, _content: &str) -> Result<String, ToolError> {
        todo!()
    }
    /// `delete_file`.
    pub fn delete_file(&self, _path: &str) -> Result<String, ToolError> {
        todo!()
    }
}
