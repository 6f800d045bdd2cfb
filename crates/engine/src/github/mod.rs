//! The client of a forge's API, and what it says about a commit.
//!
//! Owns every request to GitHub (GHES, Gitea and Forgejo where their API answers alike): repeating, limits, pages, conditional
//! requests, and what an answer means. Decides nothing about the loop.
//!
//! octocrab builds the requests and carries them over the one HTTP client. Answers are read into types of our own, since its types demand
//! fields that GHES, Gitea and Forgejo leave out. Retries, pages and conditional requests are done here, since its own know neither our
//! deadlines nor the limits that several clients share. No type of theirs leaves this module.
//!
//! Invariants: the token goes to the API's own origin alone. A request that may have taken effect is never blindly repeated. The server's
//! text is foreign text and is cut, never interpreted.
//!
//! # How to use it
//!
//! ```text
//! let github = GitHub::new(&http, &Connection { api_url, token, repository }, clock, stop)?;   // sends nothing
//! github.with_deadline(monotonic_ms)   // a clone that gives up rather than wait beyond that moment
//! github.with_stop(stop)               // a clone for the last report, after the first stop was raised
//! github.usage()                       // requests, those that were free, what is left, when the token expires
//! ```
//!
//! | about | calls |
//! |---|---|
//! | people | [`GitHub::identity`], [`GitHub::role_of`], [`GitHub::account`], [`GitHub::app_of`] |
//! | pull requests | [`GitHub::pull`], [`GitHub::open_pulls_of`], [`GitHub::open_pull`] (looks first, reuses), [`GitHub::pull_commits`] |
//! | issues | [`GitHub::issue`] |
//! | reviews | [`GitHub::reviews`], [`GitHub::review_comments`] |
//! | comments | [`GitHub::upsert_comment`], [`GitHub::find_comment`], [`GitHub::issue_comments`], [`GitHub::react`] |
//! | CI | [`GitHub::ci_facts`] then [`checks::decide`]; [`GitHub::jobs`], [`GitHub::job_log`], [`GitHub::annotations`], [`GitHub::check_output`], [`GitHub::workflow_run`] |
//! | repository | [`GitHub::repository_info`], [`GitHub::branch`], [`GitHub::branch_rules`], [`GitHub::required_checks`], [`GitHub::file`], [`GitHub::commit`] |
//! | artifacts | [`GitHub::artifacts_named`], [`GitHub::newest_artifacts`], [`GitHub::artifact_file`] |
//! | signed commits | [`GitHub::commit_files`], [`GitHub::head_of`] |
//!
//! Waiting for CI is the caller's loop: ask [`GitHub::ci_facts`] every fifteen seconds or more. While nothing changes, every answer is a
//! 304 that costs nothing (GITHUB 26).

mod actions;
mod artifacts;
mod auto_merge;
mod cache;
pub mod checks;
mod client;
mod comments;
mod commits;
mod error;
mod issues;
mod limits;
mod logs;
mod pages;
mod path;
mod people;
mod pulls;
mod repository;
mod reviews;
mod wire;
mod zip;

use serde::{Deserialize, Deserializer};

pub use actions::{
    Annotation, CheckOutput, CheckRun, CiFacts, CommitStatus, Conclusion, Job, Progress, StatusState, Step, WorkflowRun,
};
pub use artifacts::{ARTIFACTS_PER_PAGE, Artifact, ArtifactRun};
pub use client::{Connection, GitHub, Usage};
pub use comments::{CommentId, CommentSlot, IssueComment, MAX_COMMENT_CHARS, Posted, Reaction, Upserted};
pub use commits::{BranchPlace, Committed, FileChange, FileContent, NewCommit, Signature};
pub use error::{Access, GithubError, Limit, Permission, TokenHistory};
pub use issues::{Issue, ListedIssue};
pub use logs::JobLog;
pub use people::{ACTIONS_BOT, App, AppOwner, Identity, RepoRole, TokenKind, User};
pub use pulls::{NewPull, OpenedPull, Pull, PullEnd, PullOrigin, PullState, Readiness};
pub use repository::{Branch, BranchRules, Commit, RepoPermissions, Repository};
pub use reviews::{Review, ReviewComment, ReviewState};

/// Reads a text that may be null as an empty one.
fn text_or_null<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(input)?.unwrap_or_default())
}

/// Reads a list that may be null as an empty one.
fn list_or_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(input: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(input)?.unwrap_or_default())
}
