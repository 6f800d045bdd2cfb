//! Whether what a commit changed is still there: on this branch, whatever became of the commit itself.
//!
//! Invariant: git is only asked.

use std::io::Write as _;

use super::WorkspaceError;
use super::revision_error::RevisionError;
use super::revisions::Revisions;
use crate::domain::units::CommitSha;

/// The most bytes of a change that is looked for. A larger one is found by its commit alone.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Whether a commit's change is in the commit that is checked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is, under this name or another.
    There,
    /// It is not: taken back, or never on this branch.
    Gone,
}

impl Revisions<'_> {
    /// Looks for the change of a commit in the one that is checked out. Files have to be as that one has them.
    ///
    /// A rebase, a squash or an amended message leaves the change in: it could be taken back here. One that could be made here once more is
    /// not in. Where neither can be done (later commits changed the same lines, or the commit is not in this clone), the history counts.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn presence(&self, commit: &CommitSha) -> Result<Presence, RevisionError> {
        if self.commit("HEAD").await? == *commit {
            return Ok(Presence::There);
        }
        match self.change_of(commit).await? {
            Some(change) if self.applies(&change, true).await? => return Ok(Presence::There),
            Some(change) if self.applies(&change, false).await? => return Ok(Presence::Gone),
            Some(_) | None => {}
        }
        let is_in = self.is_in_history(commit).await? && !self.is_taken_back(commit).await?;
        Ok(if is_in { Presence::There } else { Presence::Gone })
    }

    /// The change of a commit as a patch. `None` where the commit is not here, changed nothing, or too much.
    async fn change_of(&self, commit: &CommitSha) -> Result<Option<Vec<u8>>, RevisionError> {
        let words =
            // External and textual differences would be programs of the repository.
            ["diff-tree", "-p", "--root", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv"];
        let words: Vec<&str> = words.into_iter().chain(["--no-commit-id", &commit.0, "--"]).collect();
        match self.ask_whole(&words).await {
            Ok(change) => Ok(Some(change).filter(|change| !change.is_empty() && change.len() <= MOST_BYTES)),
            Err(RevisionError::Git { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Whether a change could be made here, or taken back.
    async fn applies(&self, change: &[u8], reverse: bool) -> Result<bool, RevisionError> {
        let failed = |source| RevisionError::Workspace(WorkspaceError::Store { path: "a patch".into(), source });
        let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
        file.write_all(change).map_err(failed)?;
        let path = file.path().to_string_lossy().into_owned();
        let way: &[&str] = if reverse { &["--reverse"] } else { &[] };
        // Against git's index, so that changes in the checkout that nobody committed do not count.
        let words = ["apply", "--check", "--cached", "--whitespace=nowarn"].iter().chain(way).copied();
        let words: Vec<&str> = words.chain(["--", path.as_str()]).collect();
        self.succeeds(&words).await
    }

    async fn is_in_history(&self, commit: &CommitSha) -> Result<bool, RevisionError> {
        self.succeeds(&["merge-base", "--is-ancestor", &commit.0, "HEAD"]).await
    }

    /// Whether a later commit says that it reverts one, in git's words.
    async fn is_taken_back(&self, commit: &CommitSha) -> Result<bool, RevisionError> {
        // `git revert` writes this line into its message.
        let (range, said) = (format!("{}..HEAD", commit.0), format!("--grep=This reverts commit {}", commit.0));
        let out = self.ask(&["log", "-1", "--format=%H", "--fixed-strings", &said, &range]).await?;
        Ok(!out.is_empty())
    }

    async fn succeeds(&self, words: &[&str]) -> Result<bool, RevisionError> {
        match self.ask(words).await {
            Ok(_) => Ok(true),
            Err(RevisionError::Git { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Whether files differ from the commit that is checked out, those among them that git does not know or ignores.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn differ(&self, files: &[String]) -> Result<bool, RevisionError> {
        let words = ["status", "--porcelain", "--no-renames", "--untracked-files=all", "--ignored", "-z", "--"];
        let words: Vec<&str> = words.into_iter().chain(files.iter().map(String::as_str)).collect();
        Ok(!self.ask(&words).await?.is_empty())
    }

    /// The last commit that changed one of these files. `None` where none did.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn last_of(&self, files: &[String]) -> Result<Option<CommitSha>, RevisionError> {
        let words: Vec<&str> =
            ["log", "-1", "--format=%H", "HEAD", "--"].into_iter().chain(files.iter().map(String::as_str)).collect();
        let found = String::from_utf8_lossy(&self.ask(&words).await?).trim().to_owned();
        Ok((!found.is_empty()).then_some(CommitSha(found)))
    }

    /// The branch that is checked out. `None` where a commit alone is.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn branch(&self) -> Result<Option<String>, RevisionError> {
        match self.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await {
            Ok(out) => Ok(Some(String::from_utf8_lossy(&out).trim().to_owned())),
            Err(RevisionError::Git { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }
}
