//! From an import to the files of the repository that it means, by the layouts that its language's tools expect.
//!
//! Invariant: nothing is run and no path is looked up outside the list of files. An import that cannot be resolved is no file.

mod go;
mod javascript;
pub(super) mod paths;
mod python;
mod rust;

use super::sources::Sources;
use crate::framework::source::{Import, Language};
pub use paths::Resolved;
use paths::folder_of;

/// The most files that one import may mean.
const MAX_FILES: usize = 30;

/// Resolves an import that a file makes.
pub fn resolve(language: Language, from: &str, import: &Import, sources: &mut Sources<'_>) -> Resolved {
    let key = (from.to_owned(), import.clone());
    // Every part of a file asks about the same imports.
    if let Some(known) = sources.resolved.get(&key) {
        return known.clone();
    }
    let mut resolved = match language {
        Language::Python => python::resolve(from, import, sources),
        Language::JavaScript => javascript::resolve(from, import, sources),
        Language::Rust => rust::resolve(from, import, sources),
        Language::Go => go::resolve(import, sources),
        // They have no outline, so nothing is read out of them.
        Language::Java | Language::Php | Language::Cpp | Language::Ruby => Resolved::default(),
    };
    resolved.files.truncate(MAX_FILES);
    sources.resolved.insert(key, resolved.clone());
    resolved
}

/// The files that share a file's scope without an import: a Go package is its folder.
pub fn shared_scope(language: Language, from: &str, sources: &Sources<'_>) -> Vec<String> {
    match language {
        Language::Go => go::package(folder_of(from), sources),
        Language::Python | Language::JavaScript | Language::Rust => Vec::new(),
        Language::Java | Language::Php | Language::Cpp | Language::Ruby => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
