//! Artifacts of workflow runs: which there are, and what is in one.
//!
//! Invariant: an artifact is foreign bytes until the caller has checked whose run made it. It is never larger in memory than the caller
//! allows.

use serde::Deserialize;

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};
use super::logs::Attempt;
use super::pages::{Go, PER_PAGE};
use super::path::escaped;
use super::wire::Broken;
use super::zip;
use crate::domain::units::CommitSha;

/// How many artifacts a page lists.
pub const ARTIFACTS_PER_PAGE: usize = PER_PAGE;

/// An artifact of a workflow run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Artifact {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Whether it is gone.
    #[serde(default)]
    pub expired: bool,
    /// When it was made (RFC 3339, UTC).
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub created_at: String,
    /// The run that made it.
    #[serde(default)]
    pub workflow_run: Option<ArtifactRun>,
}

/// The run that made an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ArtifactRun {
    /// Its id.
    pub id: u64,
    /// The repository it ran in.
    #[serde(default)]
    pub repository_id: u64,
    /// The repository of the commit: another one for a fork.
    #[serde(default)]
    pub head_repository_id: u64,
    /// The branch of the commit. Foreign text.
    #[serde(default)]
    pub head_branch: Option<String>,
    /// The commit.
    #[serde(default)]
    pub head_sha: Option<CommitSha>,
}

#[derive(Deserialize)]
struct Wrapped {
    artifacts: Vec<Artifact>,
}

impl GitHub {
    /// The repository's artifacts of this exact name that are still there, newest first.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn artifacts_named(&self, name: &str) -> Result<Vec<Artifact>, GithubError> {
        let path = self.at(format!("/actions/artifacts?name={}&per_page={PER_PAGE}", escaped(name)));
        self.artifacts(path, format!("look for artifacts named {name}")).await
    }

    /// The repository's newest artifacts that are still there, newest first. At most `pages` pages are read.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn newest_artifacts(&self, pages: usize) -> Result<Vec<Artifact>, GithubError> {
        let path = self.at(format!("/actions/artifacts?per_page={PER_PAGE}"));
        let call = Call::get(path, "look for the newest artifacts", Permission::read("actions"));
        let (mut found, mut read) = (Vec::new(), 0);
        let see = |page: &[Artifact]| {
            found.extend_from_slice(page);
            read += 1;
            if read < pages { Go::On } else { Go::Enough }
        };
        self.each_page(call, |page: Wrapped| page.artifacts, see).await?;
        Ok(left_newest_first(found))
    }

    async fn artifacts(&self, path: String, doing: String) -> Result<Vec<Artifact>, GithubError> {
        let call = Call::get(path, doing, Permission::read("actions"));
        Ok(left_newest_first(self.list(call, |page: Wrapped| page.artifacts).await?))
    }

    /// The first file in an artifact whose name ends in `suffix`. `None` if there is none or the artifact is gone.
    ///
    /// # Errors
    /// Any [`GithubError`] but not found. [`GithubError::TooLarge`] when the archive or the file is above `max_bytes`.
    pub async fn artifact_file(
        &self,
        artifact: u64,
        suffix: &str,
        max_bytes: usize,
    ) -> Result<Option<Vec<u8>>, GithubError> {
        let files = self.artifact_files(artifact, &[suffix], max_bytes).await?;
        Ok(files.into_iter().next().flatten())
    }

    /// The same for several names, with one download.
    ///
    /// # Errors
    /// As [`GitHub::artifact_file`].
    pub async fn artifact_files(
        &self,
        artifact: u64,
        suffixes: &[&str],
        max_bytes: usize,
    ) -> Result<Vec<Option<Vec<u8>>>, GithubError> {
        let path = self.at(format!("/actions/artifacts/{artifact}/zip"));
        let doing = format!("download artifact {artifact}");
        let call = Call::get(path, doing.clone(), Permission::read("actions"));
        let mut packed = Vec::new();
        let fetched = self.download(&call, |attempt, piece| {
            // A transfer that broke begins anew, and the pieces of before would stand in front of it.
            if attempt == Attempt::Fresh {
                packed.clear();
            }
            // Counted as they come: the size that the list names is the word of whoever made it.
            if packed.len() + piece.len() > max_bytes {
                return Err(Broken::TooLarge(max_bytes));
            }
            packed.extend_from_slice(piece);
            Ok(())
        });
        match fetched.await {
            Ok(()) => {}
            Err(GithubError::NotFound { .. }) => return Ok(Vec::new()),
            Err(other) => return Err(other),
        }
        let unpacked = |suffix: &&str| zip::file_ending_in(&packed, suffix, max_bytes);
        let files: Result<Vec<_>, _> = suffixes.iter().map(unpacked).collect();
        files.map_err(|error| match error {
            // No passing trouble: it will be as large the next time.
            zip::ZipError::TooLarge => {
                GithubError::TooLarge { doing, limit: format!("{} MiB", max_bytes / (1024 * 1024)) }
            }
            other @ (zip::ZipError::Broken | zip::ZipError::Unsupported) => {
                GithubError::Malformed { doing, reason: other.to_string() }
            }
        })
    }
}

fn left_newest_first(mut found: Vec<Artifact>) -> Vec<Artifact> {
    found.retain(|artifact| !artifact.expired);
    // Times are whole seconds, so that the id decides between two of one second.
    found.sort_by(|a, b| (&b.created_at, b.id).cmp(&(&a.created_at, a.id)));
    found
}
