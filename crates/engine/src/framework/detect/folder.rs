//! One folder of a repository, as far as configuration is looked for in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Configuration files that are larger than this are not configuration.
const LARGEST_FILE: u64 = 1024 * 1024;
/// More entries of one folder than this are not looked at.
const MOST_ENTRIES: usize = 5_000;
/// One folder and what stands in it.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    pub(super) files: BTreeSet<String>,
    pub(super) folders: BTreeSet<String>,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Option<Self> {
        let mut folder = Self { path: path.to_owned(), files: BTreeSet::new(), folders: BTreeSet::new() };
        // An entry that cannot be read is left out: detection only suggests a command.
        for entry in path.read_dir().ok()?.flatten().take(MOST_ENTRIES) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            // A link to a file counts as what it points to; one to a folder is not followed.
            let is_file = kind.is_file() || (kind.is_symlink() && entry.path().is_file());
            if is_file {
                folder.files.insert(name);
            } else if kind.is_dir() {
                folder.folders.insert(name);
            }
        }
        Some(folder)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains(name)
    }

    pub(super) fn has_any(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.has(name))
    }

    /// The first file whose name passes.
    pub(super) fn file_where(&self, wanted: impl Fn(&str) -> bool) -> Option<&str> {
        self.files.iter().map(String::as_str).find(|name| wanted(name))
    }

    pub(super) fn sub(&self, name: &str) -> Option<Self> {
        self.folders.contains(name).then(|| Self::open(&self.path.join(name)))?
    }

    /// A file's text. `None` when it is not there or too large.
    pub(super) fn read(&self, name: &str) -> Option<String> {
        if !self.has(name) {
            return None;
        }
        let path = self.path.join(name);
        // Looked at before it is read: a link may lead to a device or a pipe, which never ends.
        let metadata = path.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > LARGEST_FILE {
            return None;
        }
        std::fs::read(path).ok().map(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            // Editors of Windows begin a file with a byte order mark.
            text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
        })
    }
}
