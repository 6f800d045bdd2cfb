//! The ladder's decision, carried into the state.

use super::engine::{Engine, interrupted};
use super::leaving::tier_finished;
use super::publish;
use super::state::Phase;
use super::targets;
use crate::domain::attempt::TierExit;
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::policy::escalation::Decision;

/// Carries the ladder's decision into the state.
pub(super) fn act(
    engine: &mut Engine<'_>,
    decision: Decision,
    tier_index: u32,
    reason: Option<String>,
    mut events: Vec<Event>,
) {
    match decision {
        // Only an iteration that is cut short parks, and it is not over: see `conclude`.
        Decision::Iterate | Decision::Park => {
            engine.state.phase = Phase::Ready;
            engine.record(&events);
        }
        Decision::Escalate { exit } => {
            let result = engine.state.close_tier(tier_index, exit);
            events.push(tier_finished(&result, reason));
            let carried: u32 = engine.state.prior.iter().map(|tier| tier.iterations).sum();
            let to = engine.state.position.tier_index;
            events.extend(targets::skipped(engine, tier_index, Some(to)));
            events.push(Event::Escalated { from: tier_index, to, iterations_carried: carried });
            engine.state.phase = Phase::Ready;
            engine.record(&events);
        }
        Decision::End { outcome: Outcome::Fixed { .. }, .. } if publish::is_due(engine) => {
            publish::begin(engine, &events);
        }
        Decision::End { exit, outcome } => {
            let stop_reason = stop_reason(engine, &outcome, exit, reason.clone());
            let result = engine.state.close_tier(tier_index, exit);
            events.push(tier_finished(&result, reason));
            if !matches!(outcome, Outcome::Fixed { .. }) {
                events.extend(targets::skipped(engine, tier_index, None));
            }
            engine.end_with(outcome, stop_reason, &events);
        }
    }
}

fn stop_reason(engine: &Engine<'_>, outcome: &Outcome, exit: TierExit, reason: Option<String>) -> String {
    let words = || exit.as_str().replace('_', " ");
    match outcome {
        Outcome::Fixed { .. } => "the tests pass".to_owned(),
        Outcome::Budget => engine.over_budget().or(reason).unwrap_or_else(words),
        Outcome::Interrupted { signal } => interrupted(*signal).1,
        Outcome::Blocked { reason } => reason.clone(),
        Outcome::AlreadyGreen
        | Outcome::Exhausted
        | Outcome::Stalled
        | Outcome::Objected
        | Outcome::NoModel
        | Outcome::Refused { .. }
        | Outcome::Broken { .. }
        | Outcome::Parked => reason.unwrap_or_else(words),
    }
}
