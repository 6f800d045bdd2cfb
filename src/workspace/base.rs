//! The commit that a run began on: which files it has, and which of the checkout's are otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

use super::rel_path::RelPath;
use super::revisions::{RevisionError, Revisions};
use super::store::Form;
use crate::domain::units::CommitSha;

/// A commit beside the checkout.
#[derive(Debug, Clone)]
pub struct BaseTree {
    /// The commit.
    pub commit: CommitSha,
    /// Its files; submodules left out.
    pub(super) files: BTreeMap<RelPath, CommitFile>,
    /// Those that git does not know to be the same in the checkout.
    pub(super) changed: BTreeSet<PathBuf>,
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
}

impl Revisions<'_> {
    /// A commit's files, and which of them are otherwise in the checkout; `revision` names it.
    ///
    /// # Errors
    /// When there is no such commit or git cannot be asked.
    pub async fn base(&self, revision: &str) -> Result<BaseTree, RevisionError> {
        let commit = self.commit(revision).await?;
        let listed = self.ask_whole(&["ls-tree", "-r", "-z", "--full-tree", &commit.0]).await?;
        let files = listed.split(|byte| *byte == 0).filter_map(listed_file).collect();
        let changed = self.ask_whole(&["diff-index", "--name-only", "--no-renames", "-z", &commit.0, "--"]).await?;
        let changed = changed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let changed = changed.map(|name| name.to_path_lossy().into_owned()).collect();
        Ok(BaseTree { commit, files, changed })
    }
}

/// A line of `git ls-tree`: mode, sort and object, then the path.
fn listed_file(line: &[u8]) -> Option<(RelPath, CommitFile)> {
    let (about, path) = line.split_once_str(b"\t")?;
    let mut words = about.fields();
    let (mode, sort) = (words.next()?, words.next()?);
    if sort != b"blob" {
        return None;
    }
    let path = RelPath::from_path(Path::new(path.to_str().ok()?)).ok()?;
    let form = if mode == b"120000" { Form::Link } else { Form::File };
    Some((path, CommitFile { form, executable: mode == b"100755" }))
}
