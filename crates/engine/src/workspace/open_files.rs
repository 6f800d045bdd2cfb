//! Files that somebody writes while a run goes on: they are not part of any state, and are neither put back nor removed.
//!
//! Invariant: a file is spared only at the place where it was found and as long as it is the same file there, so that no other can be
//! hidden behind it. Files that judge the tests are spared for nobody but upshift's own output.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::rel_path::RelPath;
use crate::files::Identity;
use crate::process::open_files::{By, OpenFile, identity_at, open_for_writing};

/// The files, as they were found.
#[derive(Debug, Default)]
pub(super) struct OpenFiles(Mutex<BTreeMap<RelPath, (Identity, By)>>);

impl OpenFiles {
    /// Looks for them. `may_be_spared` decides of those that another program writes.
    pub(super) fn look(root: &Path, may_be_spared: impl Fn(&RelPath) -> bool) -> Self {
        let found = Self::default();
        found.look_again(root, may_be_spared);
        found
    }

    /// Looks for more of them.
    pub(super) fn look_again(&self, root: &Path, may_be_spared: impl Fn(&RelPath) -> bool) {
        let named = |open: OpenFile| {
            let path = RelPath::from_path(&open.path).ok()?;
            let spared = match open.by {
                By::Us => true,
                By::Another => may_be_spared(&path),
            };
            spared.then_some((path, (open.identity, open.by)))
        };
        // Before the lock is taken, which `holds` of others may want meanwhile.
        let found: Vec<_> = open_for_writing(root).into_iter().filter_map(named).collect();
        let mut files = self.files();
        for (path, open) in found {
            // Ours come first, and stay ours where others write there, too.
            files.entry(path).or_insert(open);
        }
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<RelPath, (Identity, By)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a path is that of such a file, and has it still.
    pub(super) fn holds(&self, root: &Path, path: &RelPath) -> bool {
        let known = self.files().get(path).map(|(identity, _)| *identity);
        known.is_some_and(|known| identity_at(&root.join(path.as_path())) == Some(known))
    }

    /// Their names.
    pub(super) fn names(&self) -> Vec<String> {
        self.files().keys().map(ToString::to_string).collect()
    }

    /// Spares other files, too, as they are now.
    pub(super) fn add(&self, root: &Path, names: &[String]) {
        for path in names.iter().filter_map(|name| RelPath::from_path(Path::new(name)).ok()) {
            if let Some(identity) = identity_at(&root.join(path.as_path())) {
                self.files().entry(path).or_insert((identity, By::Another));
            }
        }
    }

    /// Spares a file of this process's own as it is now. It must be said again whenever another file was put in its place.
    pub(super) fn add_ours(&self, root: &Path, path: RelPath) {
        if let Some(identity) = identity_at(&root.join(path.as_path())) {
            let _replaced = self.files().insert(path, (identity, By::Us));
        }
    }

    /// Forgets those that other programs write.
    pub(super) fn only_ours(&self) {
        self.files().retain(|_, (_, by)| *by == By::Us);
    }
}
