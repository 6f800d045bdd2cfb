//! A critic's review of a change, as it is recorded and reported.

use serde::{Deserialize, Serialize};

/// A critic's review of a change that makes the tests pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The critic's decision.
    pub verdict: ReviewVerdict,
    /// Whether its own issues overrule an approval (S0-33).
    pub overruled: bool,
    /// Why, in its words.
    pub summary: String,
    /// Every issue that it named, of an approval too.
    pub issues: Vec<Issue>,
}

impl Review {
    /// Whether the change may stand.
    #[must_use]
    pub fn approves(&self) -> bool {
        // A critic may approve and name a critical issue, and is overruled then.
        self.verdict == ReviewVerdict::Approve && !self.overruled
    }
}

/// A critic's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewVerdict {
    /// The change is good.
    Approve,
    /// It must not stand.
    Reject,
}

/// One thing that a critic found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// How bad it is. `None` where the critic did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The subject of the issue. `None` where the critic did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<IssueKind>,
    /// The issue in the critic's words.
    pub said: String,
}

/// How bad an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It may stay.
    Minor,
    /// It should be mended.
    Major,
    /// The change must not stand with it.
    Critical,
}

/// The subject of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IssueKind {
    /// The code does the wrong thing.
    Logic,
    /// The code can be abused.
    Security,
    /// Anything else: style, speed, tests.
    Other,
}
