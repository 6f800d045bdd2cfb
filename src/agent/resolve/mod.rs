//! From an import to the files of the repository that it means, by the layouts that its language's tools expect.
//!
//! Invariant: nothing is run and no path is looked up outside the list of files; what cannot be resolved is no file.

mod go;
mod javascript;
mod python;
mod rust;

use super::sources::Sources;
use crate::framework::source::{Import, Language};

/// The most files that one import may mean.
const MAX_FILES: usize = 30;
/// The most manifests that are read for the names of packages.
const MAX_MANIFESTS: usize = 40;

/// What an import means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The files, likeliest first.
    pub files: Vec<String>,
    /// The names that are taken from them.
    pub names: Vec<String>,
}

/// Resolves an import that a file makes.
pub fn resolve(language: Language, from: &str, import: &Import, sources: &mut Sources<'_>) -> Resolved {
    let key = (from.to_owned(), import.clone());
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

/// The folder of a path; empty for the root.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path below a folder; neither may be empty for a slash to stand between them.
fn join(folder: &str, rest: &str) -> String {
    match (folder, rest) {
        ("", rest) => rest.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, rest) => format!("{folder}/{rest}"),
    }
}

/// A path without `.` and `..`; `None` for one that leads out of the repository.
fn tidied(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The manifests of a name with their folders, those nearest the root first.
fn manifests(name: &str, sources: &mut Sources<'_>) -> Vec<(String, std::rc::Rc<str>)> {
    let mut paths: Vec<String> = sources.named(name).iter().map(|&path| path.to_owned()).collect();
    paths.sort_by_key(|path| path.matches('/').count());
    let texts = paths.into_iter().take(MAX_MANIFESTS);
    texts.filter_map(|path| Some((folder_of(&path).to_owned(), sources.text(&path)?))).collect()
}

#[cfg(test)]
mod tests;
