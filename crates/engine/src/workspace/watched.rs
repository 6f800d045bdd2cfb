//! A workspace's knowledge of its files beside their contents: which are open somewhere, and when those that judge last changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Workspace;
use super::failure::WorkspaceError;
use super::rel_path::RelPath;
use super::untouched::Times;
use crate::domain::units::TreeId;
use crate::files;

impl Workspace {
    /// Takes files that other programs write for plain ones: when a run goes on, what its killed process left running may be among
    /// those. The ones that were written when the run began are in its note.
    pub fn spare_only_own_output(&self) {
        self.states.open_files().only_ours();
    }

    /// Those of some files that no program writes at this moment. The others are spared from now on, as those that were written at the start.
    #[must_use]
    pub fn not_written_now(&self, files: Vec<String>) -> Vec<String> {
        let is_plain = |path: &RelPath| self.protected(path.as_path()).is_none();
        self.states.open_files().look_again(self.root.path(), is_plain);
        let is_open = |name: &String| RelPath::from_path(Path::new(name)).is_ok_and(|path| self.is_open(&path));
        files.into_iter().filter(|name| !is_open(name)).collect()
    }

    /// Spares an untracked file of upshift's own (a tape, a recording that is played) as it is now, if it lies in the checkout. It must be
    /// said again whenever another file was put in its place.
    pub fn spare_own(&self, file: &Path) {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // The folder alone is resolved: the file itself may not be there yet, or be a link.
        let at = folder.canonicalize().ok().zip(file.file_name()).map(|(folder, name)| folder.join(name));
        let below = at.as_ref().and_then(|at| at.strip_prefix(self.root.path()).ok());
        let path = below.and_then(|path| RelPath::from_path(path).ok());
        if let Some(path) = path.filter(|path| !self.states.is_kept(path)) {
            self.states.open_files().add_ours(self.root.path(), path);
        }
    }

    /// Whether a file is being written by somebody.
    pub(super) fn is_open(&self, path: &RelPath) -> bool {
        self.states.open_files().holds(self.root.path(), path) || self.states.frozen().is(path)
    }

    /// Notes the files that judge before the tests first run, and afterwards those of them that the tests changed.
    pub(super) fn remember_judges(&self, start: &TreeId) -> Result<(), WorkspaceError> {
        self.untouched.remember(self.root.path(), self.judges(start)?.into_iter());
        Ok(())
    }

    /// When each file of the start that judges last changed.
    ///
    /// # Errors
    /// When the state is not recorded.
    pub fn times_of_judges(&self, start: &TreeId) -> Result<Times, WorkspaceError> {
        Ok(Times::look(self.root.path(), self.judges(start)?.into_iter()))
    }

    /// The files that judge and changed since, also where they are as they were again, and that the tests left alone at the start. `None`
    /// where that is not known: before the tests ran, and where programs can set a file's time of change.
    #[must_use]
    pub fn stirred_since(&self, times: &Times) -> Option<Vec<String>> {
        // There a program can set the time of change.
        if cfg!(windows) {
            return None;
        }
        let stirred = self.untouched.stirred(self.root.path(), times)?;
        Some(stirred.iter().map(|path| files::slashed(path)).collect())
    }

    /// The files that judge and that the tests themselves changed at the start. `None` before they ran.
    #[must_use]
    pub fn stirred_at_start(&self) -> Option<BTreeSet<String>> {
        Some(self.untouched.at_the_start()?.iter().map(|path| files::slashed(path)).collect())
    }

    /// Takes the same from an earlier process of the run.
    pub fn recall_stirred(&self, stirred: &BTreeSet<String>) {
        self.untouched.recall(stirred.iter().map(PathBuf::from));
    }

    fn judges(&self, start: &TreeId) -> Result<Vec<PathBuf>, WorkspaceError> {
        let manifest = self.states.store().load(start)?;
        let judges = |path: &&RelPath| self.protection.reason(path.as_path()).is_some() && !self.is_open(path);
        Ok(manifest.keys().filter(judges).map(|path| path.as_path().to_owned()).collect())
    }
}
