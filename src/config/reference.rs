//! The reference of the configuration file: every key with its type, default and meaning.
//!
//! Invariant: made from the same declarations as the reader and the JSON Schema.

use super::file::ConfigFile;
use super::read::Readable;

/// One key of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path: `[]` stands for any item, `*` for any name.
    pub key: String,
    /// Its type in words.
    pub kind: String,
    /// Its default in words; empty for a mere container.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

impl Entry {
    /// Adds a key and all below it.
    pub(super) fn push<T: Readable>(
        out: &mut Vec<Self>,
        path: &str,
        key: &str,
        default: &'static str,
        meaning: &'static str,
    ) {
        let key = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        out.push(Self { key: key.clone(), kind: T::kind(), default, meaning: meaning.trim() });
        T::describe(&key, out);
    }
}

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
