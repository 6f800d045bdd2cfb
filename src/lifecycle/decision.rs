//! The ladder's decision, carried into the phase that follows.

use super::climb::Climb;
use super::context::{Context, interrupted};
use super::leaving::tier_finished;
use super::publish;
use super::recorder::Recorder;
use super::stage::Next;
use super::targets;
use crate::domain::attempt::TierExit;
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::policy::escalation::Decision;
use crate::session::Memory;

/// A decision, its place and its reason.
#[derive(Debug)]
pub(super) struct Decided {
    /// The decision.
    pub(super) decision: Decision,
    /// The tier that was left or goes on.
    pub(super) tier_index: u32,
    /// In words.
    pub(super) reason: Option<String>,
    /// The events that led to it.
    pub(super) events: Vec<Event>,
}

/// Carries the ladder's decision into the phase that follows.
pub(super) fn act(
    context: &Context<'_>,
    recorder: &Recorder<'_>,
    memory: &Memory,
    mut climb: Climb,
    decided: Decided,
) -> Next {
    let Decided { decision, tier_index, reason, mut events } = decided;
    match decision {
        // Only an iteration that is cut short parks, and it is not over: see `conclude`.
        Decision::Iterate | Decision::Park => Next::ready(climb, events),
        Decision::Escalate { exit } => {
            let result = climb.rows.close_tier(&context.charter, tier_index, exit);
            events.push(tier_finished(&result, reason));
            let to = climb.position.tier_index;
            events.extend(targets::skipped(context, memory, tier_index, Some(to)));
            events.push(Event::Escalated { from: tier_index, to, iterations_carried: climb.rows.carried() });
            Next::ready(climb, events)
        }
        Decision::End { outcome: Outcome::Fixed { .. }, .. } if publish::is_due(&context.charter) => {
            // The tier stays open: red CI or a reviewer may send the run back into it.
            publish::begin(context, climb, events)
        }
        Decision::End { exit, outcome } => {
            let over = climb.over_budget(context, recorder);
            let stop_reason = stop_reason(over, &outcome, exit, reason.clone());
            let result = climb.rows.close_tier(&context.charter, tier_index, exit);
            events.push(tier_finished(&result, reason));
            // Behind a fix nobody asks why a higher tier was not used.
            if !matches!(outcome, Outcome::Fixed { .. }) {
                events.extend(targets::skipped(context, memory, tier_index, None));
            }
            Next::end(climb, outcome, stop_reason, events)
        }
    }
}

fn stop_reason(over_budget: Option<String>, outcome: &Outcome, exit: TierExit, reason: Option<String>) -> String {
    let words = || exit.as_str().replace('_', " ");
    match outcome {
        Outcome::Fixed { .. } => "the tests pass".to_owned(),
        Outcome::Budget => over_budget.or(reason).unwrap_or_else(words),
        Outcome::Interrupted { signal } => interrupted(*signal).1,
        Outcome::Blocked { reason } => reason.clone(),
        Outcome::AlreadyGreen
        | Outcome::Proposed { .. }
        | Outcome::Exhausted
        | Outcome::Stalled
        | Outcome::Objected
        | Outcome::NoModel
        | Outcome::Refused { .. }
        | Outcome::Broken { .. }
        | Outcome::Parked
        | Outcome::Ended { .. } => reason.unwrap_or_else(words),
    }
}
