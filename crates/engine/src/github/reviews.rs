//! Reviews of a pull request, and their comments on lines.

use serde::Deserialize;

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};
use super::pages::PER_PAGE;
use super::path::escaped;
use super::people::User;
use crate::domain::units::CommitSha;

const PULLS: &str = "pull-requests";

/// The decision of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum ReviewState {
    /// Good as it is.
    Approved,
    /// Not to be merged like this.
    ChangesRequested,
    /// Remarks only.
    Commented,
    /// No longer counts.
    Dismissed,
    /// Not sent off yet, or a state that we do not know.
    Other,
}

impl From<String> for ReviewState {
    fn from(word: String) -> Self {
        match word.to_ascii_uppercase().as_str() {
            "APPROVED" => Self::Approved,
            // The second is Gitea's word.
            "CHANGES_REQUESTED" | "REQUEST_CHANGES" => Self::ChangesRequested,
            "COMMENTED" | "COMMENT" => Self::Commented,
            "DISMISSED" => Self::Dismissed,
            _ => Self::Other,
        }
    }
}

/// A review of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Review {
    /// Its id.
    pub id: u64,
    /// Its author.
    pub user: Option<User>,
    /// Its text. Foreign text.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub body: String,
    /// Its decision.
    pub state: ReviewState,
    /// The commit it is about.
    #[serde(default)]
    pub commit_id: Option<CommitSha>,
    /// When it was sent off.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub submitted_at: String,
}

/// A remark at a line of the diff.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReviewComment {
    /// Its id.
    pub id: u64,
    /// The review that it belongs to.
    #[serde(default)]
    pub pull_request_review_id: Option<u64>,
    /// Its author.
    pub user: Option<User>,
    /// Its text. Foreign text.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub body: String,
    /// The file. Foreign text.
    pub path: String,
    /// The line. `None` when the diff has moved on.
    #[serde(default)]
    pub line: Option<u64>,
    /// The commit it stands at.
    #[serde(default)]
    pub commit_id: Option<CommitSha>,
    /// When it was made.
    #[serde(default)]
    pub created_at: String,
    /// When it was last edited.
    #[serde(default)]
    pub updated_at: String,
}

impl GitHub {
    /// The reviews of a pull request, oldest first.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn reviews(&self, number: u64) -> Result<Vec<Review>, GithubError> {
        let path = self.at(format!("/pulls/{number}/reviews?per_page={PER_PAGE}"));
        let doing = format!("read the reviews of #{number}");
        self.list(Call::get(path, doing, Permission::read(PULLS)), |page: Vec<Review>| page).await
    }

    /// The remarks at lines of a pull request's diff, oldest first, changed at or after `since` (RFC 3339) if given.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn review_comments(&self, number: u64, since: Option<&str>) -> Result<Vec<ReviewComment>, GithubError> {
        let since = since.map(|since| format!("&since={}", escaped(since))).unwrap_or_default();
        let path = self.at(format!("/pulls/{number}/comments?per_page={PER_PAGE}{since}"));
        let doing = format!("read the review comments of #{number}");
        self.list(Call::get(path, doing, Permission::read(PULLS)), |page: Vec<ReviewComment>| page).await
    }
}
