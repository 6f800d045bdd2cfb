//! The size of a change.

use serde::{Deserialize, Serialize};

/// A change that is not in the files when the run ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptChange {
    /// Its size.
    pub stat: DiffStat,
    /// Whether the tests were judged green with it.
    pub green: bool,
    /// Whether it is the change that the run pushed: its branch holds it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pushed: bool,
    /// Tests that failed at the start and were seen passing with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<String>,
    /// Whether tests that passed at the start fail with it, or are gone. `None` where they were not all run with it.
    #[serde(default)]
    pub breaks: Option<bool>,
}

/// The size of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffStat {
    /// Per file: path, lines added, lines removed.
    pub files: Vec<FileStat>,
}

/// One file's share of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStat {
    /// The path in the repository.
    pub path: String,
    /// Lines added. `None` for a binary file.
    pub added: Option<u64>,
    /// Lines removed. `None` for a binary file.
    pub removed: Option<u64>,
}
