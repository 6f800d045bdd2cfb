//! The commit that a run began on: which files it has, and which of the checkout's are otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

use super::rel_path::RelPath;
use super::revision_error::RevisionError;
use super::revisions::Revisions;
use super::store::Form;
use crate::domain::tree_patch::{FileForm, RecordedTree};
use crate::domain::units::CommitSha;

/// A commit beside the checkout.
#[derive(Debug, Clone)]
pub struct BaseTree {
    /// The commit.
    pub commit: CommitSha,
    /// Its files, without submodules.
    pub(super) files: BTreeMap<RelPath, CommitFile>,
    /// Files that git does not know to be the same in the checkout.
    pub(super) changed: BTreeSet<PathBuf>,
    /// The contents of some of them, where the commit itself is not here.
    pub(super) known: BTreeMap<RelPath, Vec<u8>>,
}

/// A file in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommitFile {
    pub(super) form: Form,
    pub(super) executable: bool,
}

impl BaseTree {
    /// Whether the checkout has a file as the commit has it.
    pub(super) fn is_clean(&self, path: &RelPath) -> bool {
        !self.changed.contains(path.as_path())
    }

    /// The commit that a run began on, made out of the one that it pushed: a clone that has only the last commit does not have it.
    #[must_use]
    pub fn before(mut self, commit: CommitSha, pushed: &RecordedTree) -> Self {
        for file in &pushed.patch.files {
            let Ok(path) = RelPath::from_path(Path::new(&file.path)) else { continue };
            // The checkout has the version that was pushed, which tells nothing of the one before.
            self.changed.insert(path.as_path().to_owned());
            let Some(before) = &file.before else {
                self.files.remove(&path);
                continue;
            };
            let form = match before.form {
                FileForm::File => Form::File,
                FileForm::Link => Form::Link,
            };
            if let Some(bytes) = pushed.contents.get(&before.content) {
                self.known.insert(path.clone(), bytes.clone());
            }
            self.files.insert(path, CommitFile { form, executable: before.permissions & 0o100 != 0 });
        }
        Self { commit, ..self }
    }
}

impl Revisions<'_> {
    /// A commit's files, and which of them are otherwise in the checkout. `revision` names the commit.
    ///
    /// # Errors
    /// When there is no such commit or git cannot be asked.
    pub async fn base(&self, revision: &str) -> Result<BaseTree, RevisionError> {
        let commit = self.commit(revision).await?;
        let listed = self.ask_whole(&["ls-tree", "-r", "-z", "--full-tree", &commit.0]).await?;
        let files = listed.split(|byte| *byte == 0).filter_map(listed_file).collect();
        // Without refreshing git's index first, which would write it: a file that was only touched counts as changed.
        let changed = self.ask_whole(&["diff-index", "--name-only", "--no-renames", "-z", &commit.0, "--"]).await?;
        let changed = changed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let changed = changed.map(|name| name.to_path_lossy().into_owned()).collect();
        Ok(BaseTree { commit, files, changed, known: BTreeMap::new() })
    }

    /// The content that a commit has at a path.
    ///
    /// # Errors
    /// When it has no file there.
    pub(super) async fn bytes(&self, commit: &CommitSha, path: &Path) -> Result<Vec<u8>, RevisionError> {
        let said = || format!("the commit {} has no file {}", commit.0, path.display());
        let blob = self.blob(commit, path).await?;
        blob.map(|blob| blob.bytes).ok_or_else(|| RevisionError::Git { command: "ls-tree".to_owned(), said: said() })
    }
}

/// A line of `git ls-tree`: mode, sort and object, then the path.
fn listed_file(line: &[u8]) -> Option<(RelPath, CommitFile)> {
    let (about, path) = line.split_once_str(b"\t")?;
    let mut words = about.fields();
    let (mode, sort) = (words.next()?, words.next()?);
    // A submodule stands there as a `commit`.
    if sort != b"blob" {
        return None;
    }
    let path = RelPath::from_path(Path::new(path.to_str().ok()?)).ok()?;
    let form = if mode == b"120000" { Form::Link } else { Form::File };
    Some((path, CommitFile { form, executable: mode == b"100755" }))
}
