//! How a tier, and with it the run's work, is left.

use super::engine::{Engine, interrupted};
use super::state::{Fix, Phase};
use crate::domain::attempt::{TierExit, TierResult};
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;

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
pub(super) fn leave_tier(engine: &mut Engine<'_>, exit: TierExit, reason: Option<String>) -> Vec<Event> {
    if engine.state.attempts.is_empty() {
        return Vec::new();
    }
    let result = engine.state.close_tier(engine.state.position.tier_index, exit);
    vec![tier_finished(&result, reason)]
}

/// Ends the run as fixed, after `events` that led to it.
pub(super) fn conclude(engine: &mut Engine<'_>, fix: &Fix, mut events: Vec<Event>) {
    events.extend(leave_tier(engine, TierExit::Success, None));
    let outcome = Outcome::Fixed { tier_index: fix.tier_index, iteration: fix.iteration };
    engine.end_with(outcome, "the tests pass".to_owned(), &events);
}

/// A signal in the middle: the run ends, and a resume goes on with this phase.
pub(super) fn interrupt(engine: &mut Engine<'_>, phase: Phase, signal: i32) {
    let (outcome, reason) = interrupted(signal);
    engine.state.resume_at = Some(Box::new(phase));
    engine.end_with(outcome, reason, &[]);
}
