//! Recorded states as patches, for the audit log: what of a state no commit and no other state has.
//!
//! Invariant: no content that holds a secret, or that is called by a name of credentials, leaves in a patch. Then there is no patch.

use std::collections::{BTreeMap, BTreeSet};

use super::base::BaseTree;
use super::rel_path::RelPath;
use super::secret::looks_secret;
use super::store::{Entry, Form, Manifest, Store};
use super::{Workspace, WorkspaceError};
use crate::domain::tree_patch::{
    FileForm, FileVersion, MAX_FILE_BYTES, MAX_FILES, MAX_RUN_BYTES, Over, PatchedFile, RecordedTree, TreePatch,
};
use crate::domain::units::TreeId;

/// Permissions of files on a machine that has none of a sort.
const PLAIN: u32 = 0o644;
const EXECUTABLE: u32 = 0o755;

/// Why a state cannot be written into the log.
#[derive(Debug, thiserror::Error)]
pub enum Unportable {
    /// A file of it may not leave this machine, or is too large.
    #[error("`{path}` {why}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        why: &'static str,
    },
    /// Too much differs.
    #[error("{0}")]
    TooMuch(String),
    /// The state cannot be read.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl Workspace {
    /// A recorded state as what differs from a commit.
    ///
    /// # Errors
    /// [`Unportable`], with the file that is the reason.
    pub fn patch_over_commit(&self, base: &BaseTree, tree: &TreeId) -> Result<RecordedTree, Unportable> {
        let manifest = self.states.store().load(tree)?;
        let usual = Usual::of(&manifest, base);
        let mut patch = Patch::new(self);
        for (path, entry) in &*manifest {
            let known = base.files.get(path).filter(|file| file.form == entry.form && base.is_clean(path));
            match known {
                Some(file) if entry.permissions == usual.permissions(file.form, file.executable) => {
                    // Its bytes would not tell that it is the same elsewhere.
                    small_enough(path, entry)?;
                }
                // The commit has the content: it need not be written.
                Some(_) => patch.name(path, None, Some(entry))?,
                None => patch.add(path, None, Some(entry))?,
            }
        }
        for path in base.files.keys().filter(|path| !manifest.contains_key(*path)) {
            patch.add(path, None, None)?;
        }
        let over = Over::Commit { commit: base.commit.clone(), plain: usual.plain, executable: usual.executable };
        Ok(patch.over(over, tree))
    }

    /// A recorded state as what differs from another.
    ///
    /// # Errors
    /// [`Unportable`], with the file that is the reason.
    pub fn patch_over_tree(&self, from: &TreeId, tree: &TreeId) -> Result<RecordedTree, Unportable> {
        let store = self.states.store();
        let (before, after) = (store.load(from)?, store.load(tree)?);
        let mut patch = Patch::new(self);
        let paths: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for path in paths.into_iter().filter(|path| before.get(path) != after.get(path)) {
            patch.add(path, before.get(path), after.get(path))?;
        }
        Ok(patch.over(Over::Tree { tree: from.clone() }, tree))
    }
}

/// The permissions that most of a commit's files have here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usual {
    pub(super) plain: u32,
    pub(super) executable: u32,
}

impl Usual {
    pub(super) fn of(manifest: &Manifest, base: &BaseTree) -> Self {
        let most = |executable: bool| {
            let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
            for (path, file) in &base.files {
                let entry = manifest.get(path).filter(|entry| entry.form == Form::File && base.is_clean(path));
                if let Some(entry) = entry.filter(|_| file.executable == executable) {
                    *counts.entry(entry.permissions).or_default() += 1;
                }
            }
            // By the majority, since a umask has applied to all files of the checkout alike.
            counts.into_iter().max_by_key(|(_, count)| *count).map(|(permissions, _)| permissions)
        };
        Self { plain: most(false).unwrap_or(PLAIN), executable: most(true).unwrap_or(EXECUTABLE) }
    }

    /// The permissions of a file.
    pub(super) fn permissions(self, form: Form, executable: bool) -> u32 {
        match (form, executable) {
            (Form::Link, _) => 0,
            (Form::File | Form::Large, true) => self.executable,
            (Form::File | Form::Large, false) => self.plain,
        }
    }
}

/// A patch that is being made.
struct Patch<'w> {
    workspace: &'w Workspace,
    files: Vec<PatchedFile>,
    contents: BTreeMap<String, Vec<u8>>,
    bytes: u64,
}

impl<'w> Patch<'w> {
    fn new(workspace: &'w Workspace) -> Self {
        Self { workspace, files: Vec::new(), contents: BTreeMap::new(), bytes: 0 }
    }

    /// Adds a file with its contents.
    fn add(&mut self, path: &RelPath, before: Option<&Entry>, after: Option<&Entry>) -> Result<(), Unportable> {
        self.name(path, before, after)?;
        for entry in [before, after].into_iter().flatten() {
            self.take(path, entry)?;
        }
        Ok(())
    }

    /// Adds a file without them.
    fn name(&mut self, path: &RelPath, before: Option<&Entry>, after: Option<&Entry>) -> Result<(), Unportable> {
        if self.files.len() >= MAX_FILES {
            return Err(Unportable::TooMuch(format!("more than {MAX_FILES} files differ")));
        }
        for entry in [before, after].into_iter().flatten() {
            small_enough(path, entry)?;
        }
        let text = path.as_path().to_str().ok_or_else(|| refused(path, "has a name that is not UTF-8"))?;
        if self.is_secret(text) {
            return Err(refused(path, "has a name that contains a secret"));
        }
        let file = PatchedFile { path: text.to_owned(), before: version(before), after: version(after) };
        self.files.push(file);
        Ok(())
    }

    fn take(&mut self, path: &RelPath, entry: &Entry) -> Result<(), Unportable> {
        // Asked first: several paths may have one content, and the other one's name may be harmless.
        if looks_secret(path.as_path()) {
            return Err(refused(path, "has the name of a file with credentials"));
        }
        let name = entry.content.hex();
        if self.contents.contains_key(&name) {
            return Ok(());
        }
        let bytes = content_up_to(self.workspace.states.store(), entry, path)?;
        if self.is_secret(&String::from_utf8_lossy(&bytes)) {
            return Err(refused(path, "contains a secret"));
        }
        self.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if self.bytes > MAX_RUN_BYTES {
            return Err(Unportable::TooMuch(too_many_bytes()));
        }
        self.contents.insert(name, bytes);
        Ok(())
    }

    fn is_secret(&self, text: &str) -> bool {
        matches!(self.workspace.redactor.redact(text), std::borrow::Cow::Owned(_))
    }

    fn over(self, over: Over, tree: &TreeId) -> RecordedTree {
        let patch = TreePatch { tree: tree.clone(), over, files: self.files };
        RecordedTree { patch, contents: self.contents }
    }
}

/// The message for a run that differs too much.
#[must_use]
pub fn too_many_bytes() -> String {
    format!("what differs is more than {} MiB", MAX_RUN_BYTES / (1024 * 1024))
}

fn content_up_to(store: &Store, entry: &Entry, path: &RelPath) -> Result<Vec<u8>, Unportable> {
    // Asked before it is read, as it may be many times that.
    if store.size(&entry.content)? > MAX_FILE_BYTES {
        return Err(refused(path, "is larger than 1 MiB"));
    }
    Ok(store.content(&entry.content)?)
}

fn small_enough(path: &RelPath, entry: &Entry) -> Result<(), Unportable> {
    if entry.form == Form::Large {
        return Err(refused(path, "is so large that its bytes are not recorded"));
    }
    Ok(())
}

fn refused(path: &RelPath, why: &'static str) -> Unportable {
    Unportable::File { path: path.to_string(), why }
}

fn version(entry: Option<&Entry>) -> Option<FileVersion> {
    let form = |form| match form {
        Form::File | Form::Large => FileForm::File,
        Form::Link => FileForm::Link,
    };
    entry.map(|entry| FileVersion {
        form: form(entry.form),
        permissions: entry.permissions,
        content: entry.content.hex(),
    })
}
