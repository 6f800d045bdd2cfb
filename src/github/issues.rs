//! Issues: whether one is closed.

use serde::Deserialize;

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};

/// An issue, or a pull request as an issue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "RawIssue")]
pub struct Issue {
    /// Whether it is open.
    pub open: bool,
    /// Whether it is a pull request.
    pub is_pull: bool,
}

#[derive(Deserialize)]
struct RawIssue {
    state: String,
    pull_request: Option<serde_json::Value>,
}

impl From<RawIssue> for Issue {
    fn from(raw: RawIssue) -> Self {
        Self { open: raw.state != "closed", is_pull: raw.pull_request.is_some() }
    }
}

impl GitHub {
    /// One issue.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn issue(&self, number: u64) -> Result<Issue, GithubError> {
        let path = self.at(format!("/issues/{number}"));
        let call = Call::get(path, format!("read issue #{number}"), Permission::read("issues"));
        Ok((*self.read::<Issue>(call).await?).clone())
    }
}
