//! Commits in the user's own repository: the change of a proven task, on the branch that is checked out.
//!
//! Invariant: exactly the named files are committed, nothing of the repository is run for it (no hook, no signing program, no editor), and
//! a run's change is committed once: a commit that names it is found again.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::publish::{Author, HEADS};
use super::revision_error::RevisionError;
use super::revisions::Revisions;
use crate::domain::stop::{Stop, StopSource};
use crate::domain::units::CommitSha;

/// How long a commit that is being made may go on once a stop is raised. A commit that is cut in two is nobody's.
const PATIENCE: Duration = Duration::from_secs(5);

impl Revisions<'_> {
    /// The commit on this branch whose message holds a line. `None` where there is none.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn commit_with(&self, line: &str) -> Result<Option<CommitSha>, RevisionError> {
        // The whole line: an id that begins like another one is another one.
        // A dot matches the letter that it stands for, so that nothing has to be escaped.
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
        for head in HEADS {
            match self.commit(head).await {
                Ok(_) => return Ok(Some(head)),
                Err(RevisionError::Unknown { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(None)
    }

    /// Files in which an operation of git's has left both sides, from the top.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn unmerged(&self) -> Result<Vec<String>, RevisionError> {
        let out = self.ask(&["diff", "--name-only", "--diff-filter=U", "-z"]).await?;
        let names = out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
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

    /// The same, where a folder in which git knows nothing stands for all that is in it, with a slash behind its name.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn untracked_folders(&self) -> Result<Vec<String>, RevisionError> {
        let words = ["ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z"];
        let out = self.ask(&words).await?;
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
        // A path, an attribute and its value, with a NUL behind each.
        while let (Some(path), Some(_), Some(filter)) = (words.next(), words.next(), words.next()) {
            if !matches!(filter, "unspecified" | "unset") {
                return Err(RevisionError::Filtered { path: path.to_owned(), filter: filter.to_owned() });
            }
        }
        Ok(())
    }

    /// Commits the named files as they stand, also where they are gone. Paths are from the top. A stop that is raised meanwhile is heeded
    /// once the commit is made, or after a while. A commit that git made is found however git ended.
    ///
    /// # Errors
    /// When git refuses: nothing to commit, a lock of another git, a full disk. [`RevisionError::Filtered`] for a file that a filter stores.
    /// Nothing of the try is left in git's index then, unless git lets nobody change it.
    pub async fn commit_files(
        &self,
        files: &[PathBuf],
        message: &str,
        author: &Author,
    ) -> Result<CommitSha, RevisionError> {
        // Only a stop that is here already is heeded at once: later ones wait until the commit is whole.
        if self.is_stopped() {
            return Err(RevisionError::Stopped);
        }
        let never = Stop::never();
        let apart = self.heeding(&never);
        let before = apart.commit("HEAD").await?;
        let (raises, late) = StopSource::new();
        let patient = self.heeding(&late);
        let tried = tokio::select! {
            tried = patient.commit_now(files, message, author) => tried,
            never = self.pass_on_late(&raises) => match never {},
        };
        let Err(error) = tried else { return tried };
        // Git may have been ended after it made the commit, before it could say so.
        let is_made = match apart.commit("HEAD").await {
            Ok(now) if now != before && apart.is_ours((&now, &before), message).await? => Some(now),
            Ok(_) | Err(_) => None,
        };
        // A git that was ended may have left its index behind the commit, or before it.
        let put_back = apart.unstage(files).await;
        match is_made {
            Some(commit) => put_back.map(|()| commit),
            None => Err(error),
        }
    }

    /// The same repository, whose commands end at another flag.
    fn heeding<'s>(&self, stop: &'s Stop) -> Revisions<'s> {
        Revisions { top: self.top.clone(), env: self.env.clone(), stop }
    }

    fn is_stopped(&self) -> bool {
        self.stop.raised().is_some()
    }

    /// Raises another flag, some time after the own one.
    async fn pass_on_late(&self, raises: &StopSource) -> Infallible {
        let cause = self.stop.wait().await;
        tokio::time::sleep(PATIENCE).await;
        raises.raise(cause);
        std::future::pending().await
    }

    async fn commit_now(&self, files: &[PathBuf], message: &str, author: &Author) -> Result<CommitSha, RevisionError> {
        let names = names_of(files);
        self.refuse_filters(&names).await?;
        // Files that are ignored were changed all the same.
        self.act(&["add", "--all", "--force", "--"].map(str::to_owned), &names).await?;
        let message = format!("--message={message}");
        let mut words: Vec<String> =
            // Verbatim, since a line that begins with `#` would be left out, and the message is what the commit is found by.
            ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim"].map(str::to_owned).to_vec();
        // Only these, whatever else the user has staged.
        words.extend([message, "--only".to_owned(), "--".to_owned()]);
        self.as_author(&author.name, &author.email).act(&words, &names).await?;
        self.commit("HEAD").await
    }

    /// Whether a commit is the one with that message on top of another.
    async fn is_ours(&self, (commit, parent): (&CommitSha, &CommitSha), message: &str) -> Result<bool, RevisionError> {
        let said = self.ask(&["log", "-1", "--format=%P%n%B", &commit.0]).await?;
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(said.split_once('\n').is_some_and(|(of, text)| of == parent.0 && text.trim() == message.trim()))
    }

    /// Makes git's index that of the commit for these files. The files themselves stay as they are.
    ///
    /// # Errors
    /// When git refuses: a lock of another git.
    pub async fn unstage(&self, files: &[PathBuf]) -> Result<(), RevisionError> {
        // Also after a stop: an index half done is worse than a moment more.
        let never = Stop::never();
        let words = ["reset", "--quiet", "HEAD", "--"].map(str::to_owned);
        self.heeding(&never).act(&words, &names_of(files)).await
    }

    /// Takes a commit back by another. A stop that is raised meanwhile is heeded once it is made, or after a while.
    ///
    /// # Errors
    /// When later commits changed the same lines: nothing is left of the try.
    pub async fn take_back(&self, commit: &CommitSha, author: &Author) -> Result<CommitSha, RevisionError> {
        if self.is_stopped() {
            return Err(RevisionError::Stopped);
        }
        let (raises, late) = StopSource::new();
        let patient = self.heeding(&late).as_author(&author.name, &author.email);
        let words = ["revert", "--no-edit", "--no-gpg-sign", &commit.0];
        let tried = tokio::select! {
            tried = patient.ask(&words) => tried,
            never = self.pass_on_late(&raises) => match never {},
        };
        let never = Stop::never();
        match tried {
            Ok(_) => self.heeding(&never).commit("HEAD").await,
            Err(error) => {
                // It fails where the revert never began, and then there is nothing to be undone.
                drop(self.heeding(&never).ask(&["revert", "--abort"]).await);
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
                // Git ends with an error where a key is not set.
                Err(RevisionError::Git { .. }) => return Ok(None),
                Err(other) => return Err(other),
            }
        }
        match <[String; 2]>::try_from(settled) {
            Ok([name, email]) if !name.is_empty() && !email.is_empty() => Ok(Some(Author { name, email })),
            Ok(_) | Err(_) => Ok(None),
        }
    }

    async fn act(&self, words: &[String], names: &[String]) -> Result<(), RevisionError> {
        let words: Vec<&str> = words.iter().chain(names).map(String::as_str).collect();
        self.ask(&words).await.map(drop)
    }
}

fn names_of(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.to_string_lossy().into_owned()).collect()
}
