//! Issues: whether one is closed, and those with a label.

use serde::Deserialize;

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};
use super::pages::{Go, PER_PAGE};
use super::path::escaped;
use super::people::User;

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

/// An open issue with what it says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "RawListed")]
pub struct ListedIssue {
    /// Its number.
    pub number: u64,
    /// Its title. Foreign text.
    pub title: String,
    /// Its text. Foreign text.
    pub body: String,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// Its author. `None` for a deleted account.
    pub author: Option<User>,
    /// Whether it is a pull request.
    pub is_pull: bool,
}

#[derive(Deserialize)]
struct RawListed {
    number: u64,
    #[serde(default, deserialize_with = "super::text_or_null")]
    title: String,
    #[serde(default, deserialize_with = "super::text_or_null")]
    body: String,
    #[serde(default)]
    labels: Vec<serde_json::Value>,
    user: Option<User>,
    pull_request: Option<serde_json::Value>,
}

impl From<RawListed> for ListedIssue {
    fn from(raw: RawListed) -> Self {
        // A label is an object, or its name alone.
        let name = |label: &serde_json::Value| label.get("name").unwrap_or(label).as_str().map(str::to_owned);
        Self {
            number: raw.number,
            title: raw.title,
            body: raw.body,
            labels: raw.labels.iter().filter_map(name).collect(),
            author: raw.user,
            is_pull: raw.pull_request.is_some(),
        }
    }
}

impl From<RawIssue> for Issue {
    fn from(raw: RawIssue) -> Self {
        // A state that we do not know is rather worked on than overlooked.
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

    /// The open issues with a label, the oldest first, no pull requests. At most `most` of them.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn issues_with(&self, label: &str, most: usize) -> Result<Vec<ListedIssue>, GithubError> {
        let label = escaped(label);
        let path = self.at(format!("/issues?state=open&labels={label}&sort=created&direction=asc&per_page={PER_PAGE}"));
        let call = Call::get(path, "read the issues with a label", Permission::read("issues"));
        let mut found: Vec<ListedIssue> = Vec::new();
        let see = |page: &[ListedIssue]| {
            // The API lists pull requests among the issues.
            found.extend(page.iter().filter(|issue| !issue.is_pull).cloned());
            if found.len() < most { Go::On } else { Go::Enough }
        };
        self.each_page(call, |page: Vec<ListedIssue>| page, see).await?;
        found.truncate(most);
        Ok(found)
    }
}
