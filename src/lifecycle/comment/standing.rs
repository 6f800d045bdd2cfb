//! The standing of a run for the jobs that come after this one, as its comment's hidden line says it.

use crate::domain::delivery::{Awaited, BRANCH_PREFIX};
use crate::domain::outcome::Outcome;
use crate::domain::units::CommitSha;
use crate::report::markdown::{Held, Standing};
use crate::report::view::{Ending, RunView};

/// Whether a job is to go on with the run once it hears of an answer.
pub(super) fn standing(view: &RunView) -> Standing {
    match &view.ending {
        Ending::Running | Ending::Died => Standing::Working,
        Ending::Finished(_) if view.is_undelivered() => Standing::Undelivered,
        Ending::Finished(finished) if finished.outcome == Outcome::Parked && view.limited().is_none() => {
            match view.delivery.waits.last().map(|wait| wait.awaited) {
                Some(Awaited::Merge) => Standing::Merging,
                Some(Awaited::Blockers) => Standing::Blocked,
                // What failed runs once more: if it fails again, that starts a run of its own.
                None if view.delivery.pushes.is_empty() => Standing::Over,
                Some(Awaited::Ci) | None => Standing::Waiting,
            }
        }
        Ending::Finished(one)
            if matches!(one.outcome, Outcome::Interrupted { .. }) && view.delivery.pushes.is_empty() =>
        {
            Standing::Interrupted
        }
        Ending::Finished(_) => Standing::Over,
    }
}

/// The commit that a run is to go on at which has pushed nothing, or not its last fix, and the blockers that are in its way.
pub(super) fn held(view: &RunView, commit: Option<&CommitSha>) -> Option<Held> {
    if let Some(wait) = view.blocked_at() {
        return Some(Held { commit: wait.commit.clone(), on: wait.on.clone() });
    }
    // Should its process die, or be interrupted, the next attempt of its job goes on with it.
    let at = match standing(view) {
        Standing::Working | Standing::Interrupted => commit.filter(|_| view.delivery.pushes.is_empty()),
        Standing::Undelivered => pushed_head(view).or(commit),
        Standing::Over | Standing::Waiting | Standing::Merging | Standing::Blocked => None,
    };
    at.map(|commit| Held { commit: commit.clone(), on: Vec::new() })
}

/// The number that the next run is to count from: a run that ended without having reached a model has used up nothing.
pub(super) fn counted(view: &RunView, attempt: u32) -> u32 {
    let counts = view.reached_a_model || view.ending == Ending::Running;
    if counts { attempt } else { attempt.saturating_sub(1) }
}

/// The commit that the run pushed last onto the branch that it is about. One on a branch of its own is no head of that.
fn pushed_head(view: &RunView) -> Option<&CommitSha> {
    let last = view.delivery.pushes.last().filter(|push| !push.branch.starts_with(BRANCH_PREFIX));
    last.map(|push| &push.commit)
}
