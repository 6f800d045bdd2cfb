//! Comments in a pull request's conversation: found again by a hidden marker and their author, never posted twice.
//!
//! Owns the upsert. Invariant: somebody else's comment is never edited, whatever it holds. After a lost answer to a post, the comment is
//! looked for before another is made.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};
use super::pages::{Go, PER_PAGE};
use super::path::escaped;
use super::people::{Identity, User};

/// GitHub's limit for a comment's text (GITHUB 27).
pub const MAX_COMMENT_CHARS: usize = 65_536;
/// A comment that was made while its answer got lost may take a moment to be listed.
const SETTLE_MS: u64 = 2_000;
/// How often a comment is posted whose answers get lost.
const MAX_POSTS: u32 = 3;
const ISSUES: &str = "issues";
const PULLS: &str = "pull-requests";

/// Names a comment in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct CommentId(pub u64);

/// A comment in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct IssueComment {
    /// Its id.
    pub id: CommentId,
    /// Its text. Foreign text.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub body: String,
    /// Its author. `None` for a deleted account.
    pub user: Option<User>,
    /// The API's address of the conversation that it stands in.
    #[serde(default)]
    pub issue_url: String,
    /// When it was made.
    #[serde(default)]
    pub created_at: String,
    /// When it was last edited.
    #[serde(default)]
    pub updated_at: String,
    /// Its page.
    #[serde(default)]
    pub html_url: String,
}

impl IssueComment {
    /// The number of the conversation that it stands in.
    #[must_use]
    pub fn conversation(&self) -> Option<u64> {
        // Such as `https://api.github.com/repos/o/r/issues/7`.
        self.issue_url.rsplit('/').next()?.parse().ok()
    }
}

/// The result of upserting a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upserted {
    /// Which one it is.
    pub id: CommentId,
    /// Its page.
    pub url: String,
    /// How it came to be.
    pub how: Posted,
}

/// How a comment came to say what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// There was none.
    Created,
    /// The one that we knew was edited.
    Updated,
    /// One of an earlier run was edited.
    TakenOver,
    /// The one that we knew was gone.
    Recreated,
}

/// A reaction to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Seen: at work on it.
    Eyes,
    /// Yes.
    ThumbsUp,
    /// No.
    ThumbsDown,
    /// Not understood.
    Confused,
}

impl Reaction {
    fn as_str(self) -> &'static str {
        match self {
            Self::Eyes => "eyes",
            Self::ThumbsUp => "+1",
            Self::ThumbsDown => "-1",
            Self::Confused => "confused",
        }
    }
}

/// The comment that one report keeps up to date.
#[derive(Debug, Clone, Copy)]
pub struct CommentSlot<'a> {
    /// The pull request's number.
    pub number: u64,
    /// The hidden first line of the text.
    pub marker: &'a str,
    /// The accounts whose comments are ours.
    pub identity: &'a Identity,
}

impl GitHub {
    /// All comments of a conversation, oldest first, changed at or after `since` (RFC 3339) if given.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn issue_comments(&self, number: u64, since: Option<&str>) -> Result<Vec<IssueComment>, GithubError> {
        self.list(self.comments_call(number, since), |page: Vec<IssueComment>| page).await
    }

    /// The comments in all conversations of the repository, last changed first. At most `pages` pages are read.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn newest_comments(&self, pages: usize) -> Result<Vec<IssueComment>, GithubError> {
        let path = self.at(format!("/issues/comments?sort=updated&direction=desc&per_page={PER_PAGE}"));
        let call = Call::get(path, "look through the newest comments", Permission::read(PULLS));
        let (mut found, mut read) = (Vec::new(), 0);
        let see = |page: &[IssueComment]| {
            found.extend_from_slice(page);
            read += 1;
            if read < pages { Go::On } else { Go::Enough }
        };
        self.each_page(call, |page: Vec<IssueComment>| page, see).await?;
        Ok(found)
    }

    fn comments_call(&self, number: u64, since: Option<&str>) -> Call {
        let since = since.map(|since| format!("&since={}", escaped(since))).unwrap_or_default();
        let path = self.at(format!("/issues/{number}/comments?per_page={PER_PAGE}{since}"));
        Call::get(path, format!("read the comments of #{number}"), Permission::read(PULLS))
    }

    /// Our comment of this slot, whichever run made it.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn find_comment(&self, slot: CommentSlot<'_>) -> Result<Option<IssueComment>, GithubError> {
        let mut found = None;
        let see = |page: &[IssueComment]| {
            // By author and marker: anybody may copy the marker into a comment of their own.
            found = page.iter().find(|comment| is_ours(comment, slot)).cloned();
            if found.is_some() { Go::Enough } else { Go::On }
        };
        let call = self.comments_call(slot.number, None);
        self.each_page_newest_first(call, |page: Vec<IssueComment>| page, see).await?;
        Ok(found)
    }

    /// All our comments of a conversation that begin with the slot's marker, oldest first.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn comments_in(&self, slot: CommentSlot<'_>) -> Result<Vec<IssueComment>, GithubError> {
        let mut found = self.issue_comments(slot.number, None).await?;
        found.retain(|comment| is_ours(comment, slot));
        Ok(found)
    }

    /// Makes our comment say `body`, which begins with the slot's marker: edits the one that is known, else one of an
    /// earlier run, else makes one.
    ///
    /// # Errors
    /// Any [`GithubError`]. [`GithubError::TooLong`] without a request when the text is above GitHub's limit.
    pub async fn upsert_comment(
        &self,
        slot: CommentSlot<'_>,
        body: &str,
        known: Option<CommentId>,
    ) -> Result<Upserted, GithubError> {
        self.check_body(slot, body)?;
        let mut how = Posted::Created;
        if let Some(id) = known {
            match self.edit_comment(id, body).await {
                Ok(comment) => return Ok(upserted(comment, Posted::Updated)),
                // Somebody deleted it. The report still has to stand somewhere.
                Err(GithubError::NotFound { .. }) => how = Posted::Recreated,
                Err(other) => return Err(other),
            }
        }
        // A run that was killed after posting knows no id, and two reports would contradict each other.
        if let Some(older) = self.find_comment(slot).await?.filter(|older| Some(older.id) != known) {
            match self.edit_comment(older.id, body).await {
                Ok(comment) => return Ok(upserted(comment, Posted::TakenOver)),
                // Deleted between the two requests.
                Err(GithubError::NotFound { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(upserted(self.post_once(slot, body).await?, how))
    }

    fn check_body(&self, slot: CommentSlot<'_>, body: &str) -> Result<(), GithubError> {
        let doing = format!("comment on #{}", slot.number);
        // A comment without it would never be found again, and each run would post another.
        if !body.starts_with(slot.marker) {
            let reason = "the text does not begin with its marker".to_owned();
            return Err(GithubError::Malformed { doing, reason });
        }
        let chars = body.chars().count();
        if chars > MAX_COMMENT_CHARS {
            return Err(GithubError::TooLong { doing, chars });
        }
        Ok(())
    }

    async fn edit_comment(&self, id: CommentId, body: &str) -> Result<IssueComment, GithubError> {
        let path = self.at(format!("/issues/comments/{}", id.0));
        let call = Call::write(
            Method::PATCH,
            path,
            &json!({ "body": body }),
            "update the report comment",
            Permission::write(PULLS),
        );
        self.wrote(call).await
    }

    /// Posts, and after a lost answer looks whether it is there before posting again.
    async fn post_once(&self, slot: CommentSlot<'_>, body: &str) -> Result<IssueComment, GithubError> {
        let path = self.at(format!("/issues/{}/comments", slot.number));
        let doing = format!("comment on #{}", slot.number);
        let call = Call::write(Method::POST, path, &json!({ "body": body }), doing, Permission::write(PULLS));
        let mut posts = 0;
        loop {
            posts += 1;
            match self.wrote(call.clone()).await {
                Err(GithubError::Unanswered { doing, reason }) => {
                    // A comment that was just made may not be listed yet.
                    self.pause(SETTLE_MS).await?;
                    if let Some(there) = self.find_comment(slot).await? {
                        return Ok(there);
                    }
                    if posts >= MAX_POSTS {
                        return Err(GithubError::Unreachable { doing, reason, attempts: posts });
                    }
                }
                other => return other,
            }
        }
    }

    /// Reacts to a comment of a conversation. Doing it twice is the same as once.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn react(&self, id: u64, reaction: Reaction) -> Result<(), GithubError> {
        let path = self.at(format!("/issues/comments/{id}/reactions"));
        let body = json!({ "content": reaction.as_str() });
        let call = Call::write(Method::POST, path, &body, "react to a comment", Permission::write(ISSUES)).repeatable();
        self.send(&call).await.map(|_answer| ())
    }
}

fn upserted(comment: IssueComment, how: Posted) -> Upserted {
    Upserted { id: comment.id, url: comment.html_url, how }
}

fn is_ours(comment: &IssueComment, slot: CommentSlot<'_>) -> bool {
    // Both, since the marker is open to be read in the page's source.
    let written_by_us = comment.user.as_ref().is_some_and(|user| slot.identity.is(user));
    written_by_us && comment.body.trim_start().starts_with(slot.marker)
}
