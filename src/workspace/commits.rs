//! Commits in the user's own repository: the change of a proven task, on the branch that is checked out.
//!
//! Invariant: exactly the named files are committed, nothing of the repository is run for it (no hook, no signing program, no editor), and
//! a run's change is committed once: a commit that names it is found again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::publish::Author;
use super::revisions::{RevisionError, Revisions};
use crate::domain::units::CommitSha;

impl Revisions<'_> {
    /// The commit on this branch whose message holds a line. `None` where there is none.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn commit_with(&self, line: &str) -> Result<Option<CommitSha>, RevisionError> {
        // The whole line: an id that begins like another one is another one.
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || ": -".contains(letter) { letter } else { '.' };
        let pattern = format!("--grep=^{}$", line.chars().map(plain).collect::<String>());
        let out = self.ask(&["log", "-1", "--format=%H", "--basic-regexp", &pattern, "HEAD"]).await?;
        let found = String::from_utf8_lossy(&out).trim().to_owned();
        Ok((!found.is_empty()).then_some(CommitSha(found)))
    }

    /// The newest commits of this branch, the oldest first.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn in_order(&self) -> Result<Vec<CommitSha>, RevisionError> {
        let out = self.ask(&["rev-list", "--reverse", "--topo-order", "--max-count=5000", "HEAD"]).await?;
        Ok(String::from_utf8_lossy(&out).lines().map(|line| CommitSha(line.to_owned())).collect())
    }

    /// The operation under way in this repository that a commit of ours would break into, in git's word for its head. `None` if there is
    /// none.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn under_way(&self) -> Result<Option<&'static str>, RevisionError> {
        for head in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD"] {
            match self.commit(head).await {
                Ok(_) => return Ok(Some(head)),
                Err(RevisionError::Unknown { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(None)
    }

    /// Files that git does not know and does not ignore.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn untracked(&self) -> Result<Vec<String>, RevisionError> {
        let out = self.ask(&["ls-files", "--others", "--exclude-standard", "-z"]).await?;
        let names = out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Whether git knows a file: it is in the commit that is checked out, or waits for the next.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn knows(&self, file: &Path) -> Result<bool, RevisionError> {
        let out = self.ask(&["ls-files", "-z", "--", &file.to_string_lossy()]).await?;
        Ok(!out.is_empty())
    }

    /// Refuses files that a filter would store in another form (Git LFS, git-crypt): as they stand they are nothing to be committed.
    async fn refuse_filters(&self, names: &[String]) -> Result<(), RevisionError> {
        let words: Vec<&str> =
            ["check-attr", "-z", "filter", "--"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let said = self.ask(&words).await?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let mut words = said.split('\0');
        while let (Some(path), Some(_), Some(filter)) = (words.next(), words.next(), words.next()) {
            if !matches!(filter, "unspecified" | "unset") {
                return Err(RevisionError::Filtered { path: path.to_owned(), filter: filter.to_owned() });
            }
        }
        Ok(())
    }

    /// Commits the named files as they stand, also where they are gone. Paths are from the top.
    ///
    /// # Errors
    /// When git refuses: nothing to commit, a lock of another git, a full disk. [`RevisionError::Filtered`] for a file that a filter stores.
    pub async fn commit_files(
        &self,
        files: &[PathBuf],
        message: &str,
        author: &Author,
    ) -> Result<CommitSha, RevisionError> {
        let names: Vec<String> = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        let with = |words: &[&'static str]| -> Vec<String> {
            words.iter().map(|&word| word.to_owned()).chain(names.iter().cloned()).collect()
        };
        self.refuse_filters(&names).await?;
        // Files that are ignored were changed all the same.
        self.act(&with(&["add", "--all", "--force", "--"])).await?;
        let message = format!("--message={message}");
        let mut words: Vec<String> =
            ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim"].map(str::to_owned).to_vec();
        words.push(message);
        words.extend(with(&["--only", "--"]));
        self.as_author(&author.name, &author.email).act(&words).await?;
        self.commit("HEAD").await
    }

    /// Takes a commit back by another.
    ///
    /// # Errors
    /// When later commits changed the same lines: nothing is left of the try.
    pub async fn take_back(&self, commit: &CommitSha, author: &Author) -> Result<CommitSha, RevisionError> {
        let words = ["revert", "--no-edit", "--no-gpg-sign", &commit.0];
        match self.as_author(&author.name, &author.email).ask(&words).await {
            Ok(_) => self.commit("HEAD").await,
            Err(error) => {
                drop(self.ask(&["revert", "--abort"]).await);
                Err(error)
            }
        }
    }

    /// A clone of what is checked out, whose own history it is; contents are shared.
    ///
    /// # Errors
    /// When git refuses.
    pub async fn clone_to(&self, folder: &Path) -> Result<(), RevisionError> {
        let head = self.commit("HEAD").await?;
        let (from, to) = (self.top().display().to_string(), folder.display().to_string());
        self.ask(&["clone", "--quiet", "--shared", "--no-checkout", "--", &from, &to]).await?;
        self.ask(&["-C", &to, "checkout", "--quiet", "--detach", &head.0]).await.map(drop)
    }

    /// When a commit was made, in seconds since the epoch.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn committed_at(&self, commit: &CommitSha) -> Result<i64, RevisionError> {
        let out = self.ask(&["log", "-1", "--format=%ct", &commit.0]).await?;
        Ok(String::from_utf8_lossy(&out).trim().parse().unwrap_or_default())
    }

    /// The author that the user's own settings of git name. `None` where they name nobody.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn identity(&self, environment: &BTreeMap<OsString, OsString>) -> Result<Option<Author>, RevisionError> {
        let mut settled = Vec::new();
        for key in ["user.name", "user.email"] {
            match self.with_own_settings(environment).ask(&["config", "--get", key]).await {
                Ok(out) => settled.push(String::from_utf8_lossy(&out).trim().to_owned()),
                Err(RevisionError::Git { .. }) => return Ok(None),
                Err(other) => return Err(other),
            }
        }
        match <[String; 2]>::try_from(settled) {
            Ok([name, email]) if !name.is_empty() && !email.is_empty() => Ok(Some(Author { name, email })),
            Ok(_) | Err(_) => Ok(None),
        }
    }

    async fn act(&self, words: &[String]) -> Result<(), RevisionError> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.ask(&words).await.map(drop)
    }
}
