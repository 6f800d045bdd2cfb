//! The end of a run, also one of which little is known.

use serde::{Deserialize, Serialize};

use super::account::Limited;
use super::clock::Timestamp;
use super::diff_stat::{DiffStat, KeptChange};
use super::outcome::Outcome;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFinished {
    /// How.
    pub outcome: Outcome,
    /// The cap, signal or condition, in words.
    pub stop_reason: String,
    /// The most recent errors, for the report.
    pub recent_errors: Vec<String>,
    /// Failing tests at the end. `None` where no run of the tests was judged.
    pub still_failing: Option<Vec<String>>,
    /// Files changed, lines added, lines removed.
    pub diff_stat: DiffStat,
    /// The best change, where it is not in the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<KeptChange>>,
    /// Where the best patch was kept when the run failed.
    pub best_patch: Option<String>,
    /// Where the change was kept that the last iteration had made when it was cut short: nobody has judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged_patch: Option<String>,
    /// Where the last change was kept whose green was refused, when the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_patch: Option<String>,
    /// The rate limit that a parked run waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<Box<Limited>>,
    /// Active milliseconds over all invocations.
    pub active_ms: u64,
    /// When.
    pub finished_at: Timestamp,
}

impl RunFinished {
    /// An end of which no more is known: no test was judged, and nothing was changed.
    #[must_use]
    pub fn bare(outcome: Outcome, stop_reason: String, finished_at: Timestamp) -> Self {
        Self {
            outcome,
            stop_reason,
            recent_errors: Vec::new(),
            still_failing: None,
            diff_stat: DiffStat::default(),
            kept: None,
            best_patch: None,
            unjudged_patch: None,
            refused_patch: None,
            limited: None,
            active_ms: 0,
            finished_at,
        }
    }
}
