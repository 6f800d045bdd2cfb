//! A fix whose way out an outage of the Git host bars: the step is tried again for some minutes, and then the run is parked in front of
//! it, with all that was paid for.

use std::time::Duration;

use super::super::climb::Climb;
use super::super::context::Context;
use super::super::leaving::{interrupt, stuck};
use super::super::stage::{Ending, Leg, Next};
use super::super::state::Fix;
use crate::domain::event::Event;
use crate::domain::outcome::{NOT_PUSHED, Outcome, UNDELIVERED};
use crate::domain::stop::StopCause;
use crate::domain::units::human_duration;
use crate::github::GithubError;
use crate::workspace::publish::PublishError;

/// The pauses before the step is tried again, in seconds. An outage that outlasts all of them is left to another process.
const PAUSES_S: [u64; 8] = [10, 20, 30, 60, 60, 120, 120, 180];

/// How often a run is parked in front of its way out: what stays so is no outage.
const MOST_PARKED: u32 = 5;

/// The step of the way out that an outage bars.
pub(in super::super) type Step = fn(Fix) -> Leg;

/// Whether the host may take the same push a while later.
pub(super) fn bars_push(error: &PublishError) -> bool {
    matches!(error, PublishError::Unreachable { .. })
}

/// Whether the host may answer the same request a while later.
pub(super) fn bars_request(error: &GithubError) -> bool {
    // An expired token does not come back within this job.
    error.is_passing() && !error.is_token_refused()
}

/// Tries the step again after a pause, or parks the run in front of it.
pub(super) async fn again(context: &Context<'_>, climb: Climb, step: Step, fix: Fix, why: &str) -> Next {
    let tried = usize::try_from(fix.barred).unwrap_or(usize::MAX);
    let why = context.redact(why);
    let Some(pause) = PAUSES_S.get(tried).filter(|pause| context.job_left_ms() > **pause * 1_000) else {
        if fix.parked >= MOST_PARKED {
            return stuck(&context.charter, climb, format!("{NOT_PUSHED}{why}"));
        }
        return park(climb, step(Fix { barred: 0, parked: fix.parked.saturating_add(1), ..fix }), &why);
    };
    let leg = step(Fix { barred: fix.barred.saturating_add(1), ..fix });
    if let Some(signal) = rest(context, Duration::from_secs(*pause)).await {
        return interrupt(climb, leg, signal);
    }
    // Once: the reader learns why nothing moves, and no more with each attempt.
    let told = (tried == 0).then(|| {
        let most = human_duration(PAUSES_S.iter().sum::<u64>() * 1_000);
        Event::Warning { message: format!("the fix is not out yet, which is tried again for {most}: {why}") }
    });
    Next::deliver(climb, leg, told.into_iter().collect())
}

fn park(climb: Climb, leg: Leg, why: &str) -> Next {
    let stop_reason = format!("{UNDELIVERED}{why}");
    let resume_at = Some(leg.phase());
    let (reached, outcome) = (climb.into(), Outcome::Parked);
    Next::ending(Ending { reached, outcome, stop_reason, limited: None, resume_at }, Vec::new())
}

/// Waits, as no part of the run's own time. Returns the signal that ended it, if one did.
async fn rest(context: &Context<'_>, pause: Duration) -> Option<i32> {
    let world = &context.world;
    let signals = world.outside.map_or(&world.stop, |outside| &outside.signals);
    world.waiting.begin(world.clock.monotonic_ms());
    let signal = tokio::select! {
        biased;
        cause = signals.wait() => match cause {
            StopCause::Signal(signal) => Some(signal),
            // This stop is raised by signals alone: a delivery goes on when the active time is up.
            StopCause::TimeUp | StopCause::Asked | StopCause::OwnTime(_) => None,
        },
        () = world.clock.sleep(pause) => None,
    };
    world.waiting.end(world.clock.monotonic_ms());
    signal
}
