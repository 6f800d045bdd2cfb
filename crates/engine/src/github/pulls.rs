//! Pull requests: reading, finding by branch, opening one, and what reviewers say.
//!
//! Invariant: one pull request per branch. After a lost answer or a "there is one already" it is looked for.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};
use super::pages::{Go, PER_PAGE};
use super::path::escaped;
use super::people::User;
use crate::domain::ci::RepoName;
use crate::domain::units::CommitSha;

const PULLS: &str = "pull-requests";
/// How long a pull request that was made while its answer got lost may take to be listed.
const SETTLE_MS: u64 = 2_000;

/// Where a pull request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullState {
    /// Neither merged nor closed.
    Open,
    /// Its commits are in the base.
    Merged,
    /// Closed without that.
    Closed,
}

/// One end of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullEnd {
    /// The branch.
    pub branch: String,
    /// Its commit.
    pub sha: CommitSha,
    /// The repository. `None` when it is gone.
    pub repository: Option<RepoName>,
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "RawPull")]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub url: String,
    /// Its title. Foreign text.
    pub title: String,
    /// Its description. Foreign text.
    pub body: String,
    /// Whether it is open.
    pub state: PullState,
    /// Whether it is a draft.
    pub draft: bool,
    /// The branch that it brings.
    pub head: PullEnd,
    /// The branch that it goes to.
    pub base: PullEnd,
    /// Its labels.
    pub labels: Vec<String>,
    /// Its author.
    pub author: Option<User>,
}

#[derive(Deserialize)]
struct RawPull {
    number: u64,
    #[serde(default)]
    html_url: String,
    #[serde(default, deserialize_with = "super::text_or_null")]
    title: String,
    #[serde(default, deserialize_with = "super::text_or_null")]
    body: String,
    state: String,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    merged: bool,
    merged_at: Option<String>,
    head: RawEnd,
    base: RawEnd,
    #[serde(default)]
    labels: Vec<RawLabel>,
    user: Option<User>,
}

#[derive(Deserialize)]
struct RawEnd {
    #[serde(rename = "ref")]
    branch: String,
    sha: String,
    repo: Option<RawRepo>,
}

#[derive(Deserialize)]
struct RawRepo {
    full_name: String,
}

#[derive(Deserialize)]
struct RawLabel {
    name: String,
}

impl From<RawEnd> for PullEnd {
    fn from(raw: RawEnd) -> Self {
        let repository = raw.repo.and_then(|repo| RepoName::parse(&repo.full_name));
        Self { branch: raw.branch, sha: CommitSha(raw.sha), repository }
    }
}

impl From<RawPull> for Pull {
    fn from(raw: RawPull) -> Self {
        // Lists leave `merged` out and have the time alone.
        let merged = raw.merged || raw.merged_at.is_some();
        let state = match (raw.state.as_str(), merged) {
            (_, true) => PullState::Merged,
            ("open", false) => PullState::Open,
            _ => PullState::Closed,
        };
        Self {
            number: raw.number,
            url: raw.html_url,
            title: raw.title,
            body: raw.body,
            state,
            draft: raw.draft,
            head: raw.head.into(),
            base: raw.base.into(),
            labels: raw.labels.into_iter().map(|label| label.name).collect(),
            author: raw.user,
        }
    }
}

/// A pull request to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPull {
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// The branch it brings, in this repository.
    pub head_branch: String,
    /// The branch it goes to.
    pub base_branch: String,
    /// Whether it is opened as a draft.
    pub readiness: Readiness,
}

/// Whether a pull request asks for review yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It does.
    Ready,
    /// Not yet.
    Draft,
}

/// A pull request that was to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedPull {
    /// It.
    pub pull: Pull,
    /// Whether it was there before.
    pub origin: PullOrigin,
}

/// Whether a pull request was made now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullOrigin {
    /// Made now.
    Opened,
    /// One was open for the same branches.
    Reused,
}

impl GitHub {
    /// One pull request.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn pull(&self, number: u64) -> Result<Pull, GithubError> {
        let doing = format!("read pull request #{number}");
        let call = Call::get(self.at(format!("/pulls/{number}")), doing, Permission::read(PULLS));
        Ok((*self.read::<Pull>(call).await?).clone())
    }

    /// The open pull requests that bring a branch of `owner`'s.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn open_pulls_of(&self, owner: &str, branch: &str) -> Result<Vec<Pull>, GithubError> {
        self.pulls_of("open", owner, branch).await
    }

    /// The pull requests that brought a branch of `owner`'s and are merged or closed.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn closed_pulls_of(&self, owner: &str, branch: &str) -> Result<Vec<Pull>, GithubError> {
        self.pulls_of("closed", owner, branch).await
    }

    async fn pulls_of(&self, state: &str, owner: &str, branch: &str) -> Result<Vec<Pull>, GithubError> {
        let head = escaped(&format!("{owner}:{branch}"));
        let path = self.at(format!("/pulls?state={state}&head={head}&per_page={PER_PAGE}"));
        let doing = format!("look for pull requests of {branch}");
        let pulls = self.list(Call::get(path, doing, Permission::read(PULLS)), |page: Vec<Pull>| page).await?;
        // Gitea knows no `head` filter and answers with all.
        let fits = |pull: &Pull| {
            // A fork that was deleted has no repository any more.
            let owned = pull.head.repository.as_ref().is_none_or(|repo| repo.owner.eq_ignore_ascii_case(owner));
            owned && pull.head.branch == branch
        };
        Ok(pulls.into_iter().filter(fits).collect())
    }

    /// The open pull requests to `base` from branches of this repository that begin with `prefix`. The newest hundred are looked through.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn open_pulls_to(&self, base: &str, prefix: &str) -> Result<Vec<Pull>, GithubError> {
        let path = self.at(format!("/pulls?state=open&base={}&per_page={PER_PAGE}", escaped(base)));
        let mut found = Vec::new();
        let see = |page: &[Pull]| {
            found.extend_from_slice(page);
            Go::Enough
        };
        let call = Call::get(path, format!("look for pull requests to {base}"), Permission::read(PULLS));
        self.each_page(call, |page: Vec<Pull>| page, see).await?;
        found.retain(|pull| {
            // A fork may have a branch of any name, ours too.
            let here = pull.head.repository.as_ref().is_some_and(|head| head.is(&self.repository));
            here && pull.base.branch == base && pull.head.branch.starts_with(prefix)
        });
        Ok(found)
    }

    /// Whether a branch of this repository ever was the head of a pull request.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn was_proposed(&self, branch: &str) -> Result<bool, GithubError> {
        let head = escaped(&format!("{}:{branch}", self.repository.owner));
        let path = self.at(format!("/pulls?state=all&head={head}&per_page={PER_PAGE}"));
        let call = Call::get(path, format!("look for pull requests of {branch}"), Permission::read(PULLS));
        let pulls = self.list(call, |page: Vec<Pull>| page).await?;
        // Asked again here, since Gitea answers with all pull requests.
        Ok(pulls.iter().any(|pull| pull.head.branch == branch))
    }

    /// Opens a pull request, or takes the one that is open for the same branches.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn open_pull(&self, new: &NewPull) -> Result<OpenedPull, GithubError> {
        // Looked for first: a killed run may have opened it.
        if let Some(pull) = self.open_pull_between(new).await? {
            return Ok(OpenedPull { pull, origin: PullOrigin::Reused });
        }
        let body = json!({
            "title": new.title,
            "body": new.body,
            "head": new.head_branch,
            "base": new.base_branch,
            "draft": new.readiness == Readiness::Draft,
        });
        let doing = format!("open a pull request for {}", new.head_branch);
        let call = Call::write(Method::POST, self.at("/pulls"), &body, doing, Permission::write(PULLS));
        match self.wrote::<Pull>(call.clone()).await {
            Ok(pull) => Ok(OpenedPull { pull, origin: PullOrigin::Opened }),
            // It may be open by now, and a second one for the same branches would be refused or, worse, made.
            Err(GithubError::Unanswered { .. }) => {
                self.pause(SETTLE_MS).await?;
                let found = self.open_pull_between(new).await?;
                let pull = match found {
                    Some(pull) => pull,
                    None => self.wrote(call).await?,
                };
                Ok(OpenedPull { pull, origin: PullOrigin::Opened })
            }
            // "A pull request already exists": another run was faster.
            Err(refused @ GithubError::Refused { status: 422 | 409, .. }) => {
                let pull = self.open_pull_between(new).await?.ok_or(refused)?;
                Ok(OpenedPull { pull, origin: PullOrigin::Reused })
            }
            Err(other) => Err(other),
        }
    }

    async fn open_pull_between(&self, new: &NewPull) -> Result<Option<Pull>, GithubError> {
        let owner = self.repository.owner.clone();
        let pulls = self.open_pulls_of(&owner, &new.head_branch).await?;
        Ok(pulls.into_iter().find(|pull| pull.base.branch == new.base_branch))
    }
}
