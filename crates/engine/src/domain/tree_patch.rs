//! A tree as the audit log holds it: what differs from a commit or from another tree, so that a run can go on where nothing else of it is.
//!
//! Invariant: nothing here is believed. A patch names the tree that comes of it, a tree's name is the digest of all that is in it, and the
//! log's chain vouches for both. A reader of a patch compares them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::units::{CommitSha, TreeId};

/// The largest file that is written into the log, in bytes: sources are smaller, and an artifact is uploaded after every job.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// The most that one run writes into it, in bytes, before it is compressed.
pub const MAX_RUN_BYTES: u64 = 16 * 1024 * 1024;
/// The most files in which a tree may differ from what it is told by.
pub const MAX_FILES: usize = 2_000;

/// A tree, told by what differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreePatch {
    /// The tree.
    pub tree: TreeId,
    /// The commit or tree that it differs from.
    pub over: Over,
    /// Every file that differs, by its path.
    pub files: Vec<PatchedFile>,
}

/// The state that a tree is told by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "over", rename_all = "snake_case")]
pub enum Over {
    /// A commit, which knows of permissions only whether a file can be executed.
    Commit {
        /// The commit.
        commit: CommitSha,
        /// The permissions of its other files on the machine of the run.
        plain: u32,
        /// The permissions of the files that can be executed.
        executable: u32,
    },
    /// Another tree of the run.
    Tree {
        /// The other tree.
        tree: TreeId,
    },
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchedFile {
    /// Its path from the root, with slashes.
    pub path: String,
    /// The version in the other tree. `None` where it is not there, and always over a commit.
    #[serde(default)]
    pub before: Option<FileVersion>,
    /// The version in this tree. `None` where it is not there.
    #[serde(default)]
    pub after: Option<FileVersion>,
}

/// A file as a tree has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// The form of the file.
    pub form: FileForm,
    /// Its permission bits. 0 for a link.
    pub permissions: u32,
    /// The SHA-256 of its content, in lower-case hexadecimal.
    pub content: String,
}

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileForm {
    /// A regular file.
    File,
    /// A symbolic link. Its content is where it leads.
    Link,
}

/// A patch with the contents that it names, by their digests. One may be missing that the commit has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTree {
    /// The patch.
    pub patch: TreePatch,
    /// The contents.
    pub contents: BTreeMap<String, Vec<u8>>,
}
