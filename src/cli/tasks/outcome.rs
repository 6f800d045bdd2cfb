//! Meaning of a run's end for its task, and the words for it.

use std::collections::BTreeMap;

use super::ending::{SHARED, SIGKILL, run_end, shared_cap};
use super::standing::Standing;
use super::worker::Came;
use crate::domain::outcome::Outcome;
use crate::domain::units::RunId;
use crate::policy::backlog::{Fate, RunEnd};
use crate::report::json;
use crate::report::view::RunView;
use crate::tracker::TaskStatus;

/// How a run ended that an earlier process did not see end.
pub(super) fn ended(view: &RunView, outcome: &Outcome) -> Came {
    let document = json::document(view);
    // A person put its files back, so that nothing of it can be gone on with.
    let is_discarded = matches!(outcome, Outcome::Interrupted { signal: SIGKILL });
    let end = if is_discarded {
        RunEnd::NotMended
    } else {
        run_end(outcome.as_str(), document.stop_reason.unwrap_or_default())
    };
    Came {
        end,
        code: outcome.exit_code(),
        run: document.run_id.map(|id| RunId(id.to_owned())),
        said: document.stop_reason.and_then(shared_cap).unwrap_or_else(|| document.verdict.clone()),
        files: document.diff_stat.iter().map(|file| file.path.clone()).collect(),
        warnings: document.warnings.iter().map(ToString::to_string).collect(),
        reasons: BTreeMap::new(),
        is_killed: false,
    }
}

/// How its task stands then.
pub(super) const fn status(fate: Fate, end: RunEnd) -> TaskStatus {
    match (fate, end) {
        (Fate::Completed, _) => TaskStatus::Completed,
        (Fate::Blocked, _) => TaskStatus::Blocked,
        // Its run goes on with the same command.
        (Fate::Ends(_), RunEnd::Interrupted) => TaskStatus::InProgress,
        (Fate::Again | Fate::Deferred | Fate::LeftOut | Fate::Ends(_), _) => TaskStatus::Open,
    }
}

/// The reason for the task's status. Empty for a task that is fixed.
pub(super) fn reason(fate: Fate, came: &Came) -> String {
    let why = match (fate, came.end) {
        (Fate::Completed, RunEnd::NothingFails) => "its tests pass already",
        (Fate::Completed, _) => return String::new(),
        (Fate::Blocked, RunEnd::NothingFails) => "its command succeeds already, so that nothing would prove a change",
        // A cap that runs share is no share of its own.
        (_, RunEnd::ShareUsed) if came.said.contains(SHARED) => return came.said.clone(),
        (_, RunEnd::ShareUsed) => "its share of the budget does not allow another call",
        // The run's own verdict says more than any word of ours.
        _ => return came.said.clone(),
    };
    why.to_owned()
}

/// Whether it comes again then.
pub(super) const fn standing(fate: Fate, end: RunEnd, before: Standing) -> Standing {
    match (fate, end) {
        (Fate::Deferred, _) => Standing::Deferred,
        // It comes again once there is more money.
        (Fate::LeftOut, RunEnd::ShareUsed) => Standing::LeftForMoney,
        (Fate::LeftOut, _) => Standing::LeftOut,
        (Fate::Completed | Fate::Again | Fate::Blocked | Fate::Ends(_), _) => before,
    }
}
