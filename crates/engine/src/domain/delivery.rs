//! A fix on its way out: where it goes, and what is waited for once it is there (SPEC S4).

use serde::{Deserialize, Serialize};

use super::ci::RepoName;
use super::units::CommitSha;

/// The characters by which people name a commit.
const SHORT: usize = 7;
/// The beginning of the names of branches that a fix is proposed on.
pub const BRANCH_PREFIX: &str = "upshift/fix-";

/// The place where a fix goes, pinned when the run begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The address that people use, without a trailing slash: `https://github.com`.
    pub server_url: String,
    /// The address of the REST API, without a trailing slash.
    pub api_url: String,
    /// The repository.
    pub repository: RepoName,
    /// The branch that the run is about: a pull request's head, else the one that is checked out.
    pub branch: String,
    /// Its head when the run was triggered.
    pub head: CommitSha,
    /// The pull request that the run is about.
    pub pull_request: Option<u64>,
    /// The branch that it goes to.
    #[serde(default)]
    pub base: Option<String>,
}

impl Destination {
    /// The repository's address for git and for people.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/{}", self.server_url, self.repository)
    }
}

/// The event outside that a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awaited {
    /// The checks of a pushed commit.
    Ci,
    /// The merge of a pull request.
    Merge,
    /// The end of the blockers.
    #[serde(rename = "blocked")]
    Blockers,
}

impl Awaited {
    /// The word in log and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ci => "ci",
            Self::Merge => "merge",
            Self::Blockers => "blocked",
        }
    }
}

/// The outcome of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Every check that counts passed.
    Green,
    /// A check failed.
    Red,
    /// No check ever appeared.
    Absent,
    /// A check that the branch requires never appeared.
    RequiredMissing,
    /// Somebody has to let the checks run.
    NeedsApproval,
    /// The branch has moved on to somebody else's commit.
    Superseded,
    /// The checks were ended before they had an answer, and the branch has not moved.
    Cancelled,
    /// Every check was skipped.
    Skipped,
    /// It took longer than allowed.
    TimedOut,
    /// It could not be read.
    Unreadable,
    /// The pull request was merged.
    Merged,
    /// The pull request was closed.
    Closed,
    /// A reviewer wants something else.
    ChangesRequested,
    /// Somebody stopped the run by a comment.
    Stopped,
    /// The blocker is out of the way.
    Resolved,
}

impl Answer {
    /// The word in log and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Red => "red",
            Self::Absent => "absent",
            Self::RequiredMissing => "required_missing",
            Self::NeedsApproval => "needs_approval",
            Self::Superseded => "superseded",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::TimedOut => "timed_out",
            Self::Unreadable => "unreadable",
            Self::Merged => "merged",
            Self::Closed => "closed",
            Self::ChangesRequested => "changes_requested",
            Self::Stopped => "stopped",
            Self::Resolved => "resolved",
        }
    }

    /// The word for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Red => "red",
            Self::Absent => "no check ran",
            Self::RequiredMissing => "a required check never ran",
            Self::NeedsApproval => "waiting for somebody's approval",
            Self::Superseded => "superseded by a newer commit",
            Self::Cancelled => "cancelled",
            Self::Skipped => "every check was skipped",
            Self::TimedOut => "not finished in time",
            Self::Unreadable => "could not be read",
            Self::Merged => "merged",
            Self::Closed => "closed",
            Self::ChangesRequested => "changes requested",
            Self::Stopped => "no longer waited for",
            Self::Resolved => "out of the way",
        }
    }
}

impl CommitSha {
    /// The first characters, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..SHORT).unwrap_or(&self.0)
    }
}
