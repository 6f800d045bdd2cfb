//! How a tier, and with it the run's work, is left.

use super::climb::Climb;
use super::context::{Charter, interrupted};
use super::stage::{Ending, Leg, Next};
use super::state::Fix;
use crate::domain::attempt::{TierExit, TierResult};
use crate::domain::event::Event;
use crate::domain::outcome::{ALREADY_THERE, Outcome};

/// A tier that ended, as it is told.
pub(super) fn tier_finished(result: &TierResult, reason: Option<String>) -> Event {
    Event::TierFinished {
        tier_index: result.tier_index,
        exit: result.exit,
        reason,
        iterations: result.iterations,
        cost: result.cost.known,
        unknown_cost: result.cost.unknown,
    }
}

/// Ends the tier under way for a reason that comes from outside it, if it ran at all.
pub(super) fn leave_tier(charter: &Charter, climb: &mut Climb, exit: TierExit, reason: Option<String>) -> Vec<Event> {
    if climb.rows.attempts.is_empty() {
        return Vec::new();
    }
    let result = climb.rows.close_tier(charter, climb.position.tier_index, exit);
    vec![tier_finished(&result, reason)]
}

/// Ends the run as fixed, after `events` that led to it.
pub(super) fn conclude(charter: &Charter, climb: Climb, fix: &Fix, events: Vec<Event>) -> Next {
    conclude_because(charter, climb, fix, ("the tests pass", events))
}

/// The same of a run whose fix is on the branch already.
pub(super) fn conclude_there(charter: &Charter, climb: Climb, fix: &Fix) -> Next {
    conclude_because(charter, climb, fix, (ALREADY_THERE, Vec::new()))
}

fn conclude_because(charter: &Charter, mut climb: Climb, fix: &Fix, (reason, mut events): (&str, Vec<Event>)) -> Next {
    events.extend(leave_tier(charter, &mut climb, TierExit::Success, None));
    let outcome = Outcome::Fixed { tier_index: fix.tier_index, iteration: fix.iteration };
    Next::end(climb, outcome, reason.to_owned(), events)
}

/// A fix that did not get out: a person has to do the rest.
pub(super) fn stuck(charter: &Charter, mut climb: Climb, reason: String) -> Next {
    let events = leave_tier(charter, &mut climb, TierExit::Success, None);
    Next::end(climb, Outcome::Blocked { reason: reason.clone() }, reason, events)
}

/// A signal in the middle of the way out: the run ends, and a resume goes on with this leg.
pub(super) fn interrupt(climb: Climb, leg: Leg, signal: i32) -> Next {
    let (outcome, stop_reason) = interrupted(signal);
    let resume_at = Some(leg.phase());
    Next::ending(Ending { reached: climb.into(), outcome, stop_reason, limited: None, resume_at }, Vec::new())
}
