//! Recorded states made again from a log, on a machine that has the repository and nothing else of the run.
//!
//! A log may come from anybody. Invariant: a state counts only where its name comes of it, which is the digest of every path and content.
//! The files that a run changed pass the same rules again as when a model wrote them. Nothing here writes into the checkout but
//! [`Workspace::move_in`], which overwrites only what git has as well.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::Arc;

use super::base::BaseTree;
use super::patches::Usual;
use super::rel_path::RelPath;
use super::revision_error::RevisionError;
use super::revisions::Revisions;
use super::store::{Digest, Entry, Form, Manifest};
use super::{Workspace, WorkspaceError};
use crate::domain::tree_patch::{FileForm, FileVersion, MAX_FILES, Over, PatchedFile, RecordedTree, TreePatch};
use crate::domain::units::{RunId, TreeId};

/// How many paths are named.
const MOST_NAMED: usize = 5;
/// Where a moved run's name is kept until its move is recorded.
const MOVING: &str = "moving-in";

/// Why a state cannot be made again.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The tree that a patch makes is not the one that it names.
    #[error("the tree {0} cannot be rebuilt from the log and this checkout")]
    Mismatch(TreeId),
    /// A content stands nowhere.
    #[error("the content of `{0}` is neither in the log nor in this checkout")]
    Missing(String),
    /// A path or a content that no run of ours would write.
    #[error("the log wants `{path}` changed, which {why}")]
    Refused {
        /// Which.
        path: String,
        /// Why not.
        why: String,
    },
    /// The patch tells of another commit or tree, or of too much.
    #[error("{0}")]
    Odd(&'static str),
    /// Somebody's own files are in the way.
    #[error("this checkout has changes of its own in {}", named(.0))]
    InTheWay(Vec<String>),
    /// The repository cannot be read.
    #[error(transparent)]
    Revision(#[from] RevisionError),
    /// The states cannot be read or written.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

fn named(paths: &[String]) -> String {
    let shown = paths.iter().take(MOST_NAMED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    let more = paths.len().saturating_sub(MOST_NAMED);
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

impl Workspace {
    /// Whether a folder for recorded states has one.
    #[must_use]
    pub fn has_recorded(shadow: &Path, tree: &TreeId) -> bool {
        Digest::from_hex(&tree.0).is_some_and(|name| shadow.join("trees").join(name.hex()).is_file())
    }

    /// Whether a run was on its way into the checkout of a folder for recorded states when its process died.
    #[must_use]
    pub fn is_moving_in(shadow: &Path, run: &RunId) -> bool {
        std::fs::read(shadow.join(MOVING)).is_ok_and(|moving| moving == run.0.as_bytes())
    }

    /// Makes the start of a run again: what a commit has, and what differed from it.
    ///
    /// # Errors
    /// [`RebuildError`], with nothing written into the checkout.
    pub async fn rebuild_start(
        &self,
        revisions: &Revisions<'_>,
        base: &BaseTree,
        recorded: &RecordedTree,
    ) -> Result<TreeId, RebuildError> {
        let Over::Commit { commit, plain, executable } = &recorded.patch.over else {
            return Err(RebuildError::Odd("the log does not name the commit that the run started from"));
        };
        if *commit != base.commit {
            return Err(RebuildError::Odd("the run started from another commit"));
        }
        let usual = Usual { plain: *plain, executable: *executable };
        let here = self.states.look(&self.root)?;
        let patched = checked(&recorded.patch)?;
        let mut manifest = Manifest::new();
        for (path, file) in base.files.iter().filter(|(path, _)| !patched.contains_key(path)) {
            // From the checkout where git knows that it is the same, as a question to git is a process.
            let content = match here.get(path).filter(|entry| entry.form == file.form && base.is_clean(path)) {
                Some(entry) => entry.content,
                None => self.committed(revisions, base, path).await?,
            };
            let permissions = usual.permissions(file.form, file.executable);
            manifest.insert(path.clone(), Entry { form: file.form, permissions, content });
        }
        for (path, file) in patched {
            let Some(after) = &file.after else { continue };
            let content = match recorded.contents.get(&after.content) {
                Some(bytes) => self.taken_from_log(bytes, after.form, &path)?,
                // Only the permissions differ.
                None if base.files.contains_key(&path) => match here.get(&path).filter(|_| base.is_clean(&path)) {
                    Some(entry) => entry.content,
                    None => self.committed(revisions, base, &path).await?,
                },
                None => return Err(RebuildError::Missing(path.to_string())),
            };
            manifest.insert(path.clone(), entry(&path, after, content)?);
        }
        self.settled(&manifest, &recorded.patch)
    }

    /// Makes a later state of a run again: the start, and what a run changed, which passes the rules for models once more.
    ///
    /// # Errors
    /// [`RebuildError`], with nothing written into the checkout.
    pub fn rebuild_later(&self, start: &TreeId, recorded: &RecordedTree) -> Result<TreeId, RebuildError> {
        if recorded.patch.over != (Over::Tree { tree: start.clone() }) {
            return Err(RebuildError::Odd("a tree of the run does not follow from its start"));
        }
        let mut manifest = Arc::unwrap_or_clone(self.states.store().load(start)?);
        for (path, file) in checked(&recorded.patch)? {
            if let Some(why) = self.protection.reason(path.as_path()) {
                return Err(refused(&path, &format!("a model may not write: {why}")));
            }
            let Some(after) = &file.after else {
                manifest.remove(&path);
                continue;
            };
            let bytes = recorded.contents.get(&after.content);
            let bytes = bytes.ok_or_else(|| RebuildError::Missing(path.to_string()))?;
            if matches!(self.redactor.redact(&String::from_utf8_lossy(bytes)), std::borrow::Cow::Owned(_)) {
                return Err(refused(&path, "would contain a secret"));
            }
            let content = self.taken_from_log(bytes, after.form, &path)?;
            manifest.insert(path.clone(), entry(&path, after, content)?);
        }
        self.settled(&manifest, &recorded.patch)
    }

    /// The entry that a commit has at a path, taken in.
    async fn committed(
        &self,
        revisions: &Revisions<'_>,
        base: &BaseTree,
        path: &RelPath,
    ) -> Result<Digest, RebuildError> {
        let bytes = match base.known.get(path) {
            Some(bytes) => bytes.clone(),
            None => revisions.bytes(&base.commit, path.as_path()).await?,
        };
        self.taken(&bytes, path)
    }

    fn taken_from_log(&self, bytes: &[u8], form: FileForm, path: &RelPath) -> Result<Digest, RebuildError> {
        if form == FileForm::Link && leads_out(path, bytes) {
            return Err(refused(path, "would lead out of the checkout"));
        }
        self.taken(bytes, path)
    }

    fn taken(&self, bytes: &[u8], path: &RelPath) -> Result<Digest, RebuildError> {
        let failed = |source| WorkspaceError::Store { path: path.as_path().to_owned(), source };
        Ok(self.states.store().take_bytes(bytes).map_err(failed)?)
    }

    /// Records a state that must have the name that the patch gives it.
    fn settled(&self, manifest: &Manifest, patch: &TreePatch) -> Result<TreeId, RebuildError> {
        if let Some(path) = below_another(manifest) {
            return Err(refused(path, "is below a file or a link"));
        }
        let tree = self.states.store().save(manifest)?;
        // The name is the digest of all paths and contents, so that nothing in the log has to be believed.
        if tree == patch.tree { Ok(tree) } else { Err(RebuildError::Mismatch(patch.tree.clone())) }
    }

    /// Keeps in mind that a run is on its way into the checkout.
    ///
    /// # Errors
    /// When the private folder cannot be written.
    pub fn begin_moving_in(&self, run: &RunId) -> Result<(), WorkspaceError> {
        let kept = self.states.store().keep(MOVING, run.0.as_bytes());
        kept.map_err(|source| WorkspaceError::Store { path: MOVING.into(), source })
    }

    /// The move is recorded.
    pub fn end_moving_in(&self) {
        self.states.store().drop_kept(MOVING);
    }

    /// Makes the checkout that of a run which comes from elsewhere: its start, with the permissions that files have here, and this
    /// checkout's own files beside it. Returns the names that the states have here, the start's first.
    ///
    /// # Errors
    /// [`RebuildError::InTheWay`] where that would overwrite what git does not have. Nothing is written then.
    pub fn move_in(
        &self,
        head: &BaseTree,
        start: &TreeId,
        later: &[TreeId],
    ) -> Result<BTreeMap<TreeId, TreeId>, RebuildError> {
        let store = self.states.store();
        let wanted = store.load(start)?;
        let now = self.states.look(&self.root)?;
        let (mut here, mut puts, mut in_the_way) = (now.clone(), Vec::new(), Vec::new());
        for path in now.keys().chain(wanted.keys()).collect::<BTreeSet<_>>() {
            let (is, wanted) = (now.get(path), wanted.get(path));
            let is_tracked = head.files.contains_key(path);
            match (is, wanted) {
                (Some(is), Some(wanted)) if same(is, wanted) => continue,
                // Somebody's own, of which the run knows nothing.
                (Some(_), None) if !is_tracked => continue,
                (None, Some(_)) if !is_tracked => {}
                // Git can give it back.
                (_, _) if is_tracked && head.is_clean(path) => {}
                (_, _) => {
                    in_the_way.push(path.to_string());
                    continue;
                }
            }
            let entry = wanted.map(|wanted| with_permissions_of(*wanted, is));
            match entry {
                Some(entry) => drop(here.insert(path.clone(), entry)),
                None => drop(here.remove(path)),
            }
            puts.push((path.clone(), entry));
        }
        if !in_the_way.is_empty() {
            return Err(RebuildError::InTheWay(in_the_way));
        }
        // Only now, when nothing is in the way, is anything written.
        for (path, entry) in &puts {
            self.states.put_or_remove(&self.root, path, entry.as_ref())?;
        }
        let moved = store.save(&here)?;
        let mut names = BTreeMap::from([(start.clone(), moved)]);
        for tree in later.iter().filter(|tree| *tree != start) {
            let later = store.load(tree)?;
            let moved = over(&here, &wanted, &later);
            names.insert(tree.clone(), store.save(&moved)?);
        }
        Ok(names)
    }
}

/// A patch's files by their paths, where each is one that a run could have written.
pub(super) fn checked(patch: &TreePatch) -> Result<BTreeMap<RelPath, &PatchedFile>, RebuildError> {
    if patch.files.len() > MAX_FILES {
        return Err(RebuildError::Odd("a tree of the run differs in more files than a log may contain"));
    }
    let mut files = BTreeMap::new();
    for file in &patch.files {
        let path = RelPath::from_path(Path::new(&file.path));
        let path = path.map_err(|error| RebuildError::Refused {
            path: file.path.clone(),
            why: format!("is not a path of a checkout: {error}"),
        })?;
        // `a/./b` and `a/b` would be two entries for one file.
        if path.to_string() != file.path || files.insert(path.clone(), file).is_some() {
            return Err(refused(&path, "is named in another way than it is written"));
        }
    }
    Ok(files)
}

/// The first path that lies below another one: no checkout can hold both.
pub(super) fn below_another(manifest: &Manifest) -> Option<&RelPath> {
    manifest.keys().find(|path| {
        let above = path.as_path().ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        above.filter_map(|above| RelPath::from_path(above).ok()).any(|above| manifest.contains_key(&above))
    })
}

/// A state with what differs between two others.
fn over(here: &Manifest, from: &Manifest, to: &Manifest) -> Manifest {
    let mut moved = here.clone();
    for path in from.keys().chain(to.keys()).filter(|path| from.get(path) != to.get(path)) {
        match to.get(path) {
            Some(entry) => drop(moved.insert(path.clone(), with_permissions_of(*entry, here.get(path)))),
            None => drop(moved.remove(path)),
        }
    }
    moved
}

/// Whether two files are the same but for what a machine makes of permissions.
fn same(one: &Entry, other: &Entry) -> bool {
    one.form == other.form && one.content == other.content && is_executable(one) == is_executable(other)
}

fn with_permissions_of(entry: Entry, here: Option<&Entry>) -> Entry {
    let alike = here.filter(|here| here.form == entry.form && is_executable(here) == is_executable(&entry));
    Entry { permissions: alike.map_or(entry.permissions, |here| here.permissions), ..entry }
}

const fn is_executable(entry: &Entry) -> bool {
    entry.permissions & 0o100 != 0
}

pub(super) fn refused(path: &RelPath, why: &str) -> RebuildError {
    RebuildError::Refused { path: path.to_string(), why: why.to_owned() }
}

/// Whether a link leads out of the checkout, or where no name tells.
pub(super) fn leads_out(path: &RelPath, target: &[u8]) -> bool {
    let Ok(target) = std::str::from_utf8(target) else { return true };
    // Each folder above the link may be left once by `..`.
    let mut depth = path.as_path().components().count().saturating_sub(1);
    for component in Path::new(target).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

/// A file as a patch tells of it, with permissions that a file may have and a link that leads nowhere else.
pub(super) fn entry(path: &RelPath, version: &FileVersion, content: Digest) -> Result<Entry, RebuildError> {
    if version.content != content.hex() {
        return Err(RebuildError::Missing(path.to_string()));
    }
    // Such as the bit that lets a program run as its owner.
    if version.permissions & !0o777 != 0 {
        return Err(refused(path, "would have permissions that no file of a checkout has"));
    }
    let form = match version.form {
        FileForm::File => Form::File,
        FileForm::Link => Form::Link,
    };
    Ok(Entry { form, permissions: version.permissions, content })
}

#[cfg(test)]
mod tests;
