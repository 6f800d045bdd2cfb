//! The end of a run of which little is known.

use super::clock::Timestamp;
use super::event::{DiffStat, RunFinished};
use super::outcome::Outcome;

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
            limited: None,
            active_ms: 0,
            finished_at,
        }
    }
}
