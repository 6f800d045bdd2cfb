//! The reference of the configuration file: every key with its type, default and meaning.
//!
//! Invariant: made from the same declarations as the reader and the JSON Schema.

use super::file::ConfigFile;
use super::read::{Entry, Readable};

/// Every key of the configuration file, in the order of the documentation.
#[must_use]
pub fn reference() -> Vec<Entry> {
    let mut out = Vec::new();
    ConfigFile::describe("", &mut out);
    out
}

/// The known paths whose last key is this one.
pub(super) fn paths_ending_in(key: &str) -> Vec<String> {
    let ends = |entry: &Entry| entry.key.rsplit('.').next().is_some_and(|last| last == key);
    reference().into_iter().filter(ends).map(|entry| entry.key).collect()
}
