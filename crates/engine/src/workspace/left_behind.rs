//! Files left by a run that did not end: its note against the files as they are now.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::beneath::Beneath;
use super::rel_path::RelPath;
use super::states::States;
use super::store::Store;
use super::written::{NOTE, Writer, read};
use super::{Workspace, WorkspaceError};
use crate::domain::units::{RunId, TreeId};
use crate::files;

/// A run that did not end, and how the tree differs from the one that it started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// The run.
    pub writer: Writer,
    /// Files that are as the run wrote them, or gone as it removed them. Sorted.
    pub written: Vec<String>,
    /// Other files that were changed while it lived, mostly by code under test. Sorted.
    pub meanwhile: Vec<String>,
    /// Files that the run left changed and that somebody changed again later: nobody can part the two. Sorted.
    pub mixed: Vec<String>,
    /// Other files that were changed later. Sorted.
    pub later: Vec<String>,
}

/// How the tree differs from the start of the run that is noted.
pub(super) fn compare(states: &States, root: &Beneath, note: &str) -> Result<Option<LeftBehind>, WorkspaceError> {
    let unreadable = |source| WorkspaceError::Store { path: note.into(), source };
    let Some(note) = read(states.store(), note).map_err(unreadable)? else { return Ok(None) };
    let start = match states.store().load(&note.writer.start) {
        Ok(start) => start,
        // Nothing could be compared or put back.
        Err(WorkspaceError::UnknownTree { .. }) => return Ok(None),
        Err(other) => return Err(other),
    };
    let now = states.look_also(root, note.contents.keys().chain(start.keys()))?;
    let differs = |path: &&RelPath| {
        let is_open = states.open_files().holds(root.path(), path) || note.writer.open.contains(&path.to_string());
        start.get(path) != now.get(path) && !is_open && !states.frozen().is(path)
    };
    let (mut written, mut meanwhile, mut mixed, mut later) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for path in start.keys().chain(now.keys()).filter(differs).collect::<BTreeSet<_>>() {
        let name = path.to_string();
        // The surest sign first: a content that the run noted, then a time at which it lived, then that it had changed the file before.
        if note.is_as_written(&now, path) {
            written.push(name);
        } else if changed(root, path).is_some_and(|when| note.lived(when)) {
            meanwhile.push(name);
        } else if note.left_changed(&start, path) {
            mixed.push(name);
        } else {
            later.push(name);
        }
    }
    Ok(Some(LeftBehind { writer: note.writer, written, meanwhile, mixed, later }))
}

/// When a file was changed. For one that is gone, when its folder was.
fn changed(root: &Beneath, path: &RelPath) -> Option<i64> {
    let whole = root.path().join(path.as_path());
    let found = whole.symlink_metadata().or_else(|_gone| whole.parent().unwrap_or(&whole).symlink_metadata());
    found.ok().map(|found| files::changed(&found))
}

/// Looks for what a run left that did not end, without waiting for anybody and without writing anything.
///
/// # Errors
/// When the checkout or the private folder cannot be read.
pub fn look_for_left_behind(root: &Path, shadow: &Path) -> Result<Option<LeftBehind>, WorkspaceError> {
    // Without a note there is nothing to compare, and the checkout need not be opened.
    let Some(store) = Store::peek(shadow).filter(|store| store.kept_changed(NOTE).is_ok()) else { return Ok(None) };
    let root = Beneath::open(root).map_err(|source| WorkspaceError::Root { path: root.to_owned(), source })?;
    compare(&States::new(store, root.path(), |_| true), &root, NOTE)
}

impl Workspace {
    /// Notes from now on what is written, for a run or for one that goes on.
    ///
    /// # Errors
    /// When it cannot be written down. Then nobody knows what a killed process left.
    pub fn note_writes(&self, run: &RunId, log: &str, start: &TreeId) -> io::Result<()> {
        let open = self.states.open_files().names();
        let writer = Writer { run: run.clone(), log: log.to_owned(), start: start.clone(), open };
        let open = self.states.written().begin(self.states.store(), writer)?;
        self.states.open_files().add(self.root.path(), &open);
        Ok(())
    }

    /// Gives a sign of life of the run whose writes are noted.
    pub fn beat(&self) {
        self.states.written().beat();
    }

    /// Forgets what was written: the run has ended.
    pub fn forget_writes(&self) {
        self.states.written().forget(self.states.store());
    }

    /// The run before, if it did not end, and how the tree differs from the one that it started from.
    ///
    /// # Errors
    /// When the checkout or the private folder cannot be read.
    pub async fn left_behind(&self) -> Result<Option<LeftBehind>, WorkspaceError> {
        compare(&self.states, &self.root, NOTE)
    }

    /// Makes files those that a run started from, and clears away what it was in the middle of writing. Contents that somebody else had a
    /// part in are kept ([`Self::take_theirs`]).
    ///
    /// # Errors
    /// As [`Self::restore`].
    pub async fn put_back_left(
        &self,
        writer: &Writer,
        names: &[String],
        mixed: &[String],
    ) -> Result<(), WorkspaceError> {
        let start = self.states.store().load(&writer.start)?;
        for (name, is_mixed) in names.iter().map(|name| (name, false)).chain(mixed.iter().map(|name| (name, true))) {
            let path = RelPath::from_path(Path::new(name));
            let path = path.map_err(|error| WorkspaceError::Path { reason: error.to_string() })?;
            if is_mixed {
                self.states.theirs().claim(&self.root, &path, self.states.store());
            }
            self.states.put_or_remove(&self.root, &path, start.get(&path))?;
        }
        self.states.remove_unfinished(&self.root)
    }
}
