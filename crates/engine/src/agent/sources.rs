//! The repository's files as the choice of material sees them: by name, and as text within a budget.
//!
//! Invariant: only files of the given list are read, each once. Constants bound their size and number.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::resolve::paths::{Resolved, folder_of};
use crate::framework::source::{Import, Outline};

/// The most files that are read.
const MAX_READ: usize = 300;
/// The most characters that are read in all. A file that is larger in itself is still shown in part.
const MAX_CHARS: usize = 16 * 1024 * 1024;

/// The most manifests that are read for the names of packages.
const MAX_MANIFESTS: usize = 40;

/// The files of a repository.
pub struct Sources<'a> {
    files: &'a [String],
    known: BTreeSet<&'a str>,
    by_name: BTreeMap<&'a str, Vec<&'a str>>,
    read: &'a dyn Fn(&str) -> Option<String>,
    texts: BTreeMap<String, Option<Rc<str>>>,
    outlines: BTreeMap<String, Option<Rc<Outline>>>,
    /// The imports that were resolved, by the importing file.
    pub(super) resolved: BTreeMap<(String, Import), Resolved>,
    chars: usize,
}

impl std::fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").field("files", &self.files.len()).field("read", &self.texts.len()).finish()
    }
}

impl<'a> Sources<'a> {
    /// Takes the list of files, and what reads one of them as a model may see it.
    #[must_use]
    pub fn new(files: &'a [String], read: &'a dyn Fn(&str) -> Option<String>) -> Self {
        let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for path in files {
            by_name.entry(path.rsplit('/').next().unwrap_or(path)).or_default().push(path);
        }
        let known = files.iter().map(String::as_str).collect();
        Self {
            files,
            known,
            by_name,
            read,
            texts: BTreeMap::new(),
            outlines: BTreeMap::new(),
            resolved: BTreeMap::new(),
            chars: 0,
        }
    }

    /// All of them.
    #[must_use]
    pub fn files(&self) -> &'a [String] {
        self.files
    }

    /// Whether there is a file of this path.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.known.contains(path)
    }

    /// The files of this name, wherever they lie.
    #[must_use]
    pub fn named(&self, name: &str) -> &[&'a str] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The files right in a folder, which is empty for the root.
    pub fn beside(&self, folder: &str) -> impl Iterator<Item = &'a str> {
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let inside = self.files.iter().map(String::as_str);
        inside.filter(move |path| path.strip_prefix(start.as_str()).is_some_and(|rest| !rest.contains('/')))
    }

    /// A file's text. `None` for a file that is no text, may not be shown, or is beyond the budget.
    pub fn text(&mut self, path: &str) -> Option<Rc<str>> {
        if let Some(known) = self.texts.get(path) {
            return known.clone();
        }
        // Only what is listed: an import may name any path.
        if !self.has(path) || self.texts.len() >= MAX_READ || self.chars >= MAX_CHARS {
            return None;
        }
        let text: Option<Rc<str>> = (self.read)(path).map(Rc::from);
        self.chars += text.as_ref().map_or(0, |text| text.len());
        // Also where there is none, so that it is not read again.
        self.texts.insert(path.to_owned(), text.clone());
        text
    }

    /// A file's definitions. `None` where its language is not known.
    pub fn outline(&mut self, path: &str) -> Option<Rc<Outline>> {
        if let Some(known) = self.outlines.get(path) {
            return known.clone();
        }
        let outline = self.text(path).and_then(|text| Outline::read(path, &text)).map(Rc::new);
        self.outlines.insert(path.to_owned(), outline.clone());
        outline
    }

    /// The manifests of a name with their folders, those nearest the root first.
    pub(super) fn manifests(&mut self, name: &str) -> Vec<(String, std::rc::Rc<str>)> {
        let mut paths: Vec<String> = self.named(name).iter().map(|&path| path.to_owned()).collect();
        paths.sort_by_key(|path| path.matches('/').count());
        let texts = paths.into_iter().take(MAX_MANIFESTS);
        texts.filter_map(|path| Some((folder_of(&path).to_owned(), self.text(&path)?))).collect()
    }
}
