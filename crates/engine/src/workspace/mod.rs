//! The working tree: recorded states, diffs, and every way a model may read or write it.
//!
//! A [`Workspace`] is a checkout and a private folder outside it. Start reading at its methods: the states (`states`, kept by `store`,
//! compared by `diff`), and the tools for models (`tools`). Guards stand between them and harm: `rel_path` (names), `beneath` (handles),
//! `protected` (what judges, what runs with rights).
//!
//! Invariant: nothing outside the checkout and the private folder is written, no link is followed, and no process is started: no hook,
//! filter or setting of a repository ever runs. Whether a change is good is not decided here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};

use crate::domain::leftover::Leftover;
use crate::domain::units::TreeId;
use crate::files;
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::redact::Redactor;

mod added_tests;
mod as_told;
mod autorun;
mod base;
mod beneath;
mod commits;
mod diff;
mod dotenv;
mod failure;
mod frozen;
mod git_index;
mod hunks;
mod judging;
mod left_behind;
mod leftovers;
mod links;
mod list;
mod merged;
mod mismatch;
mod open_files;
mod patches;
mod plain_checkout;
mod presence;
mod product_files;
mod protected;
pub mod publish;
mod rebuild;
mod recorded;
mod rel_path;
mod revision_error;
mod revisions;
mod secret;
mod states;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod theirs;
mod tools;
mod untouched;
mod walk;
mod watched;
mod written;

pub use as_told::unlike;
pub use base::BaseTree;
pub use diff::patch_hash;
pub use dotenv::dotenv_secrets;
pub use failure::{Diff, PathRules, ToolError, WorkspaceError};
pub use git_index::may_be_tracked;
pub use hunks::{Hunks, Place};
pub use judging::{Undone, is_judging_left};
pub use left_behind::{LeftBehind, look_for_left_behind};
pub use list::LIST;
pub use merged::{Merged, WayBack};
pub use patches::{Unportable, too_many_bytes};
pub use presence::Presence;
pub use protected::is_test_path;
pub use rebuild::RebuildError;
pub use revision_error::RevisionError;
pub use revisions::{FETCH_ALL, Revisions};
pub use secret::looks_secret;
pub use theirs::{Stood, Taken};
pub use untouched::Times;
pub use written::Writer;

use autorun::Autorun;
use beneath::Beneath;
use leftovers::Leftovers;
use protected::Protection;
use rel_path::RelPath;
use states::States;
use store::Store;
use untouched::Untouched;

/// A checkout and the private folder that keeps its recorded states.
#[derive(Debug)]
pub struct Workspace {
    root: Beneath,
    states: States,
    protection: Protection,
    leftovers: Leftovers,
    untouched: Untouched,
    autorun: Autorun,
    redactor: Arc<Redactor>,
    start: OnceLock<TreeId>,
}

#[expect(
    clippy::unused_async,
    reason = "the states may be recorded by processes or threads one day; callers need not know"
)]
impl Workspace {
    /// Opens a checkout. `shadow` is a private folder outside it for recorded states, made if missing.
    ///
    /// # Errors
    /// When the checkout or the folder cannot be used, another process uses it, or a glob cannot be read.
    pub async fn open(root: &Path, shadow: &Path, rules: PathRules) -> Result<Self, WorkspaceError> {
        let root = Beneath::open(root).map_err(|source| WorkspaceError::Root { path: root.to_owned(), source })?;
        let protection = Protection::new(&rules)?;
        let store = Store::open(shadow)?;
        if store.folder().starts_with(root.path()) {
            return Err(WorkspaceError::Inside { path: store.folder().to_owned() });
        }
        // A log is one, also where it is called `test.log`.
        let is_log = |path: &Path| path.extension().is_some_and(|ending| ending == "log");
        let states = States::new(store, root.path(), |path| !is_log(path) && protection.reason(path).is_some());
        let (leftovers, autorun, redactor) = (Leftovers::default(), Autorun::default(), Arc::default());
        let untouched = Untouched::default();
        Ok(Self { root, states, protection, leftovers, untouched, autorun, redactor, start: OnceLock::new() })
    }

    /// The same workspace, whose tools show and find no secret that this redactor knows.
    ///
    /// A tool's answer has numbers in front of its lines and leaves out the ends of long ones: a secret is recognised before that alone.
    #[must_use]
    pub fn hiding(self, redactor: Arc<Redactor>) -> Self {
        Self { redactor, ..self }
    }

    /// The checkout's canonical path.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Records the state of the tree: every file that is not ignored, uncommitted and untracked ones too, and every tracked one.
    ///
    /// Equal states have equal names. Costs one walk over the tree, and reading what has changed since the last time.
    ///
    /// # Errors
    /// When a file cannot be read or the private folder cannot be written.
    pub async fn snapshot(&self) -> Result<TreeId, WorkspaceError> {
        let began = Instant::now();
        let tree = self.states.record(&self.root);
        match &tree {
            Ok(tree) => tracing::debug!(%tree, ms = began.elapsed().as_millis(), "recorded the tree"),
            Err(error) => tracing::info!("the tree cannot be recorded: {error}"),
        }
        tree
    }

    /// Makes the tree equal to a recorded state. Ignored files stay. Mends what an interrupted restore left.
    ///
    /// # Errors
    /// When no such state is recorded, or a file cannot be written.
    pub async fn restore(&self, tree: &TreeId) -> Result<(), WorkspaceError> {
        let began = Instant::now();
        let restored = self.states.restore(&self.root, tree);
        match &restored {
            Ok(()) => tracing::debug!(%tree, ms = began.elapsed().as_millis(), "put the tree back"),
            Err(error) => tracing::info!(%tree, "the tree cannot be put back: {error}"),
        }
        restored
    }

    /// Puts single files, or all in single folders, back as they are in a recorded state (deletes those it does not have).
    ///
    /// # Errors
    /// As [`Self::restore`], and also for paths outside the checkout.
    pub async fn restore_paths(&self, tree: &TreeId, paths: &[PathBuf]) -> Result<(), WorkspaceError> {
        tracing::debug!(%tree, ?paths, "puts paths back");
        self.states.restore_paths(&self.root, tree, paths)
    }

    /// Records a state with single files, or all in single folders, as they are in another. The tree stays as it is.
    ///
    /// # Errors
    /// When one of them is not recorded.
    pub fn overlaid(&self, base: &TreeId, over: &TreeId, paths: &[PathBuf]) -> Result<TreeId, WorkspaceError> {
        self.states.overlay(base, over, paths)
    }

    /// The change between two recorded states.
    ///
    /// # Errors
    /// When one of them is not recorded.
    pub async fn diff(&self, from: &TreeId, to: &TreeId) -> Result<Diff, WorkspaceError> {
        let store = self.states.store();
        let (from, to) = (store.load(from)?, store.load(to)?);
        diff::diff(store, &from, &to)
    }

    /// The files that differ between two recorded states and are too large for their bytes to be kept: each with whether it was there
    /// before. Such a one can be removed where it is new, and not put back where it is not.
    ///
    /// # Errors
    /// When one of them is not recorded.
    pub fn unkept(&self, from: &TreeId, to: &TreeId) -> Result<Vec<(String, bool)>, WorkspaceError> {
        let store = self.states.store();
        let (from, to) = (store.load(from)?, store.load(to)?);
        let is_large = |entry: Option<&store::Entry>| entry.is_some_and(|entry| entry.form == store::Form::Large);
        let paths: BTreeSet<&RelPath> = from.keys().chain(to.keys()).collect();
        let differs = paths.into_iter().filter(|path| from.get(*path) != to.get(*path));
        let unkept = differs.filter(|path| is_large(from.get(*path)) || is_large(to.get(*path)));
        Ok(unkept.map(|path| (path.to_string(), from.contains_key(path))).collect())
    }

    /// Moves files back that are too large to be kept and were moved between two states. Returns their old paths.
    ///
    /// # Errors
    /// When a state is not recorded, or a file cannot be moved.
    pub fn move_back(&self, from: &TreeId, to: &TreeId) -> Result<Vec<String>, WorkspaceError> {
        let store = self.states.store();
        let (from, to) = (store.load(from)?, store.load(to)?);
        let mut moved = Vec::new();
        for (old, entry) in
            from.iter().filter(|(old, entry)| entry.form == store::Form::Large && !to.contains_key(*old))
        {
            // Size and time of the last change are what is known of one, and a move keeps both.
            let Some((new, _)) = to.iter().find(|(new, now)| *now == entry && !from.contains_key(*new)) else {
                continue;
            };
            self.root.rename(new, old)?;
            moved.push(old.to_string());
        }
        Ok(moved)
    }

    /// Every file that differs between two recorded states, with its text before and after. Bytes that are no text are shown as well as can
    /// be.
    ///
    /// # Errors
    /// When one of them is not recorded.
    pub async fn changes(&self, from: &TreeId, to: &TreeId) -> Result<Vec<Change>, WorkspaceError> {
        self.changes_where(from, to, |_, _| true)
    }

    /// The same without symbolic links, whose text is a path and nothing that could be written anew.
    ///
    /// # Errors
    /// As [`Self::changes`].
    pub async fn changed_files(&self, from: &TreeId, to: &TreeId) -> Result<Vec<Change>, WorkspaceError> {
        let is_link = |entry: Option<&store::Entry>| entry.is_some_and(|entry| entry.form == store::Form::Link);
        self.changes_where(from, to, |before, after| !is_link(before) && !is_link(after))
    }

    fn changes_where(
        &self,
        from: &TreeId,
        to: &TreeId,
        wanted: impl Fn(Option<&store::Entry>, Option<&store::Entry>) -> bool,
    ) -> Result<Vec<Change>, WorkspaceError> {
        let store = self.states.store();
        let (from, to) = (store.load(from)?, store.load(to)?);
        let paths: BTreeSet<_> = from.keys().chain(to.keys()).filter(|path| from.get(path) != to.get(path)).collect();
        let paths = paths.into_iter().filter(|path| wanted(from.get(path), to.get(path)));
        let text = |entry: Option<&store::Entry>| -> Result<Option<String>, WorkspaceError> {
            let bytes = entry.map(|entry| store.content(&entry.content)).transpose()?;
            Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        let change = |path: &RelPath| {
            Ok(Change {
                path: path.to_string(),
                before: text(from.get(path))?,
                after: text(to.get(path))?,
                may_edit_tests: self.protection.allows_test_edits(path.as_path()),
            })
        };
        paths.map(change).collect()
    }

    /// A changed file of data that a test at the start is a link to, and that test.
    ///
    /// # Errors
    /// When the start is not recorded.
    pub fn test_data_by_link(
        &self,
        start: &TreeId,
        changes: &[Change],
    ) -> Result<Option<(String, String)>, WorkspaceError> {
        let store = self.states.store();
        if !links::touches_data(changes) {
            return Ok(None);
        }
        let start = store.load(start)?;
        links::led_to(store, &start, changes)
    }

    /// The change between two recorded states, as hunks.
    ///
    /// # Errors
    /// When one of them is not recorded.
    pub async fn hunks(&self, from: &TreeId, to: &TreeId) -> Result<Hunks, WorkspaceError> {
        let store = self.states.store();
        let (from, to) = (store.load(from)?, store.load(to)?);
        Hunks::between(store, Arc::unwrap_or_clone(from), &to)
    }

    /// Records the state that has only the hunks of the given numbers.
    ///
    /// # Errors
    /// When the private folder cannot be read or written.
    pub async fn compose(&self, hunks: &Hunks, keep: &[usize]) -> Result<TreeId, WorkspaceError> {
        let store = self.states.store();
        store.save(&hunks.compose(store, keep)?)
    }

    /// As [`Self::replace_text`], with a time of change of its own. A file that is not there is made, and one that is no text (a picture)
    /// may be replaced: an experiment empties it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn plant(&self, path: &str, text: &str, changed: SystemTime) -> Result<(), WorkspaceError> {
        let path =
            RelPath::from_path(Path::new(path)).map_err(|error| WorkspaceError::Path { reason: error.to_string() })?;
        let permissions = match self.root.stat(&path)? {
            Some(_) => Some(self.root.open_file(&path)?.1.permissions),
            None => None,
        };
        self.states.written().add(&path, Some(&store::Digest::of(text.as_bytes())));
        self.root.write(&path, text.as_bytes(), permissions)?;
        let (file, _) = self.root.open_file(&path)?;
        file.set_modified(changed).map_err(|error| WorkspaceError::File { reason: format!("`{path}`: {error}") })
    }

    /// Replaces the whole text of a file that is there, protected or not. Its permissions stay.
    ///
    /// # Errors
    /// When it is no UTF-8 text file, or cannot be written.
    pub fn replace_text(&self, path: &str, text: &str) -> Result<(), WorkspaceError> {
        let path =
            RelPath::from_path(Path::new(path)).map_err(|error| WorkspaceError::Path { reason: error.to_string() })?;
        let (file, stat) = self.root.open_file(&path)?;
        drop(file);
        if String::from_utf8(self.root.read(&path)?).is_err() {
            return Err(WorkspaceError::File { reason: format!("`{path}` is not UTF-8 text") });
        }
        // Noted before it is written: after a kill a note without its write does no harm, and a write without its note passes for a
        // person's.
        self.states.written().add(&path, Some(&store::Digest::of(text.as_bytes())));
        Ok(self.root.write(&path, text.as_bytes(), Some(stat.permissions))?)
    }

    /// Takes files that are called like tests for the product's, from now on.
    pub fn take_for_product(&self, files: &BTreeSet<String>) {
        self.protection.spare_also(files);
    }

    /// Notes all files that are there, ignored ones too: at first the user's own, later those that the tests make by themselves.
    ///
    /// # Errors
    /// When the state is not recorded.
    pub fn remember_files(&self, start: &TreeId) -> Result<(), WorkspaceError> {
        self.leftovers.remember(self.root.path());
        self.remember_judges(start)
    }

    /// Removes files that came since the files were noted and belong to no recorded state. Returns remarks on other files that are not as
    /// they were noted and can judge the tests (installed packages), or cannot be removed.
    ///
    /// # Errors
    /// When the state is not recorded.
    pub fn remove_leftovers(&self, tree: &TreeId) -> Result<Vec<String>, WorkspaceError> {
        let manifest = self.states.store().load(tree)?;
        let goes = |path: &RelPath| {
            if !theirs::is_in_cache(&self.root, path) {
                self.states.keep_theirs(&self.root, path);
            }
        };
        Ok(self.leftovers.remove(self.root.path(), &manifest, self.states.open_files(), goes))
    }

    /// Notes files that tools run or obey without being asked, when a run starts or goes on. Returns the files of that kind that an earlier
    /// run, which was killed and did not go on, may have left.
    ///
    /// # Errors
    /// When it cannot be written down. Then a killed process loses it.
    pub fn note_autorun(&self, run: &str) -> std::io::Result<Vec<String>> {
        if !self.protection.has(Guard::Autorun) {
            return Ok(Vec::new());
        }
        self.autorun.note(self.root.path(), self.states.store(), run)
    }

    /// Removes what came of that kind since it was noted, ignored files too, and puts back what was changed.
    pub fn sweep_autorun(&self) -> Vec<Leftover> {
        self.autorun.sweep(self.root.path(), self.states.store(), self.states.open_files())
    }

    /// Forgets what was noted: the run has ended.
    pub fn forget_autorun(&self) {
        self.autorun.forget(self.states.store());
    }

    /// Makes every file that is not ignored that of `tree`, and those that a model may not write that of `start`, but for those to be left
    /// as they are (`leave`). Returns which of the latter were otherwise.
    ///
    /// # Errors
    /// As [`Self::restore`].
    pub async fn put_right(
        &self,
        start: &TreeId,
        tree: &TreeId,
        leave: &BTreeSet<String>,
    ) -> Result<Vec<String>, WorkspaceError> {
        let store = self.states.store();
        let (start, tree, now) = (store.load(start)?, store.load(tree)?, self.states.look(&self.root)?);
        let all: BTreeSet<_> = start.keys().chain(tree.keys()).chain(now.keys()).collect();
        let mut judges = Vec::new();
        for path in all {
            let is_judge = self.protection.reason(path.as_path()).is_some();
            let wanted = if is_judge { start.get(path) } else { tree.get(path) };
            if wanted == now.get(path) || leave.contains(&path.to_string()) || self.is_open(path) {
                continue;
            }
            self.states.put_or_remove(&self.root, path, wanted)?;
            if is_judge {
                judges.push(path.to_string());
            }
        }
        Ok(judges)
    }

    /// Records a state that is `base` but for single files (or all in single folders), which are taken as they are now.
    ///
    /// Far cheaper than [`Self::snapshot`]: nothing else is looked at.
    ///
    /// # Errors
    /// As [`Self::snapshot`], and also when `base` is not recorded or a path is none of the checkout's.
    pub async fn snapshot_paths(&self, base: &TreeId, paths: &BTreeSet<String>) -> Result<TreeId, WorkspaceError> {
        self.states.record_paths(&self.root, base, paths)
    }

    /// Records as [`Self::snapshot_paths`] without taking anything for the run's own: a person may be at work on these files.
    ///
    /// # Errors
    /// As [`Self::snapshot_paths`].
    pub async fn glance(&self, base: &TreeId, paths: &BTreeSet<String>) -> Result<TreeId, WorkspaceError> {
        self.states.store().save(&self.states.look_at(&self.root, base, paths)?)
    }

    /// The paths that are there now and were not, are gone, or are different. Sorted. Names that are no UTF-8 are shown as well as can be.
    ///
    /// # Errors
    /// As [`Self::snapshot`], and also when the state is not recorded.
    pub async fn changed_since(&self, tree: &TreeId) -> Result<Vec<String>, WorkspaceError> {
        let (then, now) = (self.states.store().load(tree)?, self.states.look(&self.root)?);
        let differs = |path: &&RelPath| then.get(path) != now.get(path) && !self.is_open(path);
        let paths: BTreeSet<_> = then.keys().chain(now.keys()).filter(differs).collect();
        Ok(paths.into_iter().map(ToString::to_string).collect())
    }

    /// The files that are there now and not ignored, by their paths from the root, sorted. Links, names that are no UTF-8 and files that
    /// somebody writes meanwhile are left out.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let files = walk::files_below(self.root.path(), Path::new(""), usize::MAX);
        let is_open = |path: &Path| RelPath::from_path(path).is_ok_and(|path| self.is_open(&path));
        let regular = files.into_iter().filter(|(path, form)| form.is_file() && !is_open(path));
        regular.filter_map(|(path, _)| path.to_str().map(|_| files::slashed(&path))).collect()
    }

    /// A file's text as a tool would read it, with LF line ends. `None` for a path that is not a text file of the checkout.
    #[must_use]
    pub fn read_text(&self, path: &str) -> Option<String> {
        self.text_of(path).ok()
    }

    /// Whether the task allows edits of tests in this file.
    #[must_use]
    pub fn allows_test_edits(&self, path: &Path) -> bool {
        self.protection.allows_test_edits(path)
    }

    /// Whether a model may not write this path (relative to the root), and why.
    #[must_use]
    pub fn protected(&self, path: &Path) -> Option<String> {
        self.protection.reason(path)
    }
}
