//! Going on with a run that was killed, parked or interrupted.

use std::collections::BTreeSet;

use super::context::LifecycleError;
use super::state::{Phase, RunState, STATE_VERSION};
use crate::audit::{AuditError, CallReservation, Journal, LoadedRun, RunStatus};
use crate::domain::attempt::{Attempt, AttemptStatus, TierExit};
use crate::domain::clock::Clock;
use crate::domain::event::Event;
use crate::domain::outcome::{DISCARDED, Outcome};
use crate::domain::receipt::{CallStatus, Receipt};
use crate::domain::units::{MicroUsd, RunId};
use crate::session::{self, Replay};
use crate::workspace::Workspace;

/// Reads a run's saved state and puts an interrupted one back before its next iteration. A job's run that has ended stays so: its
/// process may have died before anybody was told ([`end_of`]).
///
/// # Errors
/// [`LifecycleError::State`] when there is none, it is of another version, or the run ended for good and has nobody to tell.
pub fn load(run: &LoadedRun) -> Result<RunState, LifecycleError> {
    let text = run.state.as_deref().ok_or_else(|| LifecycleError::State("the log has no state of it".to_owned()))?;
    let mut state: RunState =
        serde_json::from_str(text).map_err(|error| LifecycleError::State(format!("it cannot be read: {error}")))?;
    if state.version != STATE_VERSION {
        let version = state.version;
        return Err(LifecycleError::State(format!(
            "it has version {version}, this program writes version {STATE_VERSION}; use the version of upshift that started it"
        )));
    }
    if is_discarded(run) {
        return Err(LifecycleError::State(format!("the run was {DISCARDED}; start a new one with `upshift run`")));
    }
    // A process that took it up since and was killed may have left half-made edits.
    state.stood_still = matches!(state.phase, Phase::Ended { .. }) && matches!(run.status, RunStatus::Ended(_));
    match &state.phase {
        Phase::Baseline
        | Phase::Ready
        | Phase::Iterating
        | Phase::Publishing { .. }
        | Phase::Rebasing { .. }
        | Phase::Proposing { .. }
        | Phase::Waiting { .. }
        | Phase::Held { .. }
        | Phase::Ending { .. } => {}
        Phase::Ended { outcome: Outcome::Interrupted { .. } | Outcome::Parked } if state.resume_at.is_some() => {
            // Whoever goes on with it asks anew: a limit may have been lifted, and being told so again costs nothing.
            state.limited = None;
            if let Some(phase) = state.resume_at.take() {
                state.phase = *phase;
            }
        }
        Phase::Ended { outcome: Outcome::Interrupted { .. } } => reopen(&mut state),
        // The job may have died before anybody was told: the end is told once more.
        Phase::Ended { .. } if state.comment_key.is_some() => {}
        Phase::Ended { outcome } => {
            let name = outcome.as_str();
            return Err(LifecycleError::State(format!(
                "the run has ended ({name}); start a new one with `upshift run`"
            )));
        }
    }
    Ok(state)
}

/// Whether a later run took this one's place.
fn is_discarded(run: &LoadedRun) -> bool {
    let is_end = |event: &&Event| matches!(event, Event::RunFinished(_));
    let end = run.events.iter().rfind(is_end);
    let Some(Event::RunFinished(finished)) = end else { return false };
    matches!(finished.outcome, Outcome::Interrupted { .. }) && finished.stop_reason == DISCARDED
}

/// How a run ended that is loaded as ended, to be told once more.
#[must_use]
pub fn end_of<'r>(run: &'r LoadedRun, state: &RunState) -> Option<&'r Event> {
    let ended = matches!(state.phase, Phase::Ended { .. });
    run.events.iter().rfind(|event| ended && matches!(event, Event::RunFinished(_)))
}

/// Takes an interrupted run up again. The tier that was left goes on with its rows, as if nobody had left it.
fn reopen(state: &mut RunState) {
    if state.baseline.is_none() {
        state.phase = Phase::Baseline;
        return;
    }
    state.phase = Phase::Ready;
    if let Some(cut) = state.prior.pop_if(|tier| tier.exit == TierExit::Interrupted) {
        state.attempts = cut.attempts;
        give_back(state, cut.tier_index);
    }
}

/// Gives a tier, and the run, the iteration back that a signal ended: nobody judged its change. A kill, too, takes none.
fn give_back(state: &mut RunState, tier_index: u32) {
    let plan = &mut state.plan;
    plan.budget.max_iterations = plan.budget.max_iterations.saturating_add(1);
    let index = usize::try_from(tier_index).unwrap_or(usize::MAX);
    if let Some(tier) = plan.tiers.get_mut(index) {
        tier.max_iterations = tier.max_iterations.saturating_add(1);
    }
}

/// Settles the calls that were under way when the process died: at their reservations, since nobody knows better.
///
/// # Errors
/// When the log cannot be read.
pub fn settle_lost(journal: &mut Journal, run: &RunId, clock: &dyn Clock) -> Result<u32, AuditError> {
    let open = journal.store().open_reservations(run)?;
    for call in &open {
        journal.settle(&lost(call, clock), None);
    }
    Ok(u32::try_from(open.len()).unwrap_or(u32::MAX))
}

fn lost(call: &CallReservation, clock: &dyn Clock) -> Receipt {
    Receipt {
        call_id: call.call_id.clone(),
        scope: call.scope.clone(),
        target: call.target.clone(),
        billed_model: None,
        status: CallStatus::Lost,
        usage: None,
        reserved: call.reserved,
        // The vendor may have billed all of it: it counts as spent, and none of it as known.
        cost: MicroUsd::ZERO,
        unknown_cost: call.reserved,
        latency_ms: 0,
        error: Some("the process ended while the call was under way".to_owned()),
        timestamp: clock.timestamp(),
    }
}

/// Adds the paths below `root` that the killed process wrote in the iteration under way: every one that a tool reported,
/// and every one that a recorded reply asked for, since the process may have died between the write and its event.
///
/// # Errors
/// When the log cannot be read.
pub fn recall_touched(
    journal: &Journal,
    state: &mut RunState,
    events: &[Event],
    workspace: &Workspace,
) -> Result<(), AuditError> {
    if state.phase != Phase::Iterating {
        return Ok(());
    }
    let (tier_index, iteration) = (state.position.tier_index, state.iteration());
    let began = events.iter().rposition(|event| matches!(event, Event::IterationStarted { .. })).unwrap_or(0);
    let told = events.iter().skip(began).filter_map(|event| {
        let Event::ToolFinished { name, subject, .. } = event else { return None };
        session::writes(name).then(|| subject.clone())
    });
    state.touched.extend(told.filter_map(|path| workspace.recorded(&path)));
    let recorded = journal.store().recorded_replies(&state.run_id, tier_index, iteration)?;
    let replies = recorded.iter().filter_map(|(_, reply)| reply.as_ref());
    let asked = replies.flat_map(|reply| session::wants_written(workspace, reply));
    state.touched.extend(asked);
    Ok(())
}

/// The replies of the iteration that was under way, so that they are not paid for twice. Where a signal came while its change was judged, the
/// next one begins with them: they make that change again, and it is judged.
///
/// # Errors
/// When the log cannot be read.
pub fn replay_of(journal: &Journal, state: &RunState) -> Result<Replay, AuditError> {
    let recorded = |iteration| {
        journal.store().recorded_replies(&state.run_id, state.position.tier_index, iteration).map(Replay::of)
    };
    if state.phase == Phase::Iterating {
        return recorded(state.iteration());
    }
    if state.phase != Phase::Ready {
        return Ok(Replay::none());
    }
    let cut = cut_while_judged(journal.events());
    let is_cut = |row: &&Attempt| cut.contains(&(row.tier_index, row.iteration));
    // One that was cut short twice has its replies in the first of its iterations.
    for row in state.attempts.iter().rev().take_while(is_cut) {
        let replay = recorded(row.iteration)?;
        if !replay.is_over() {
            return Ok(replay);
        }
    }
    Ok(Replay::none())
}

/// The iterations, by tier and number, whose models had done their part when a signal ended the judging of their change.
fn cut_while_judged(events: &[Event]) -> BTreeSet<(u32, u32)> {
    let (mut cut, mut is_judged, mut last) = (BTreeSet::new(), false, None);
    for event in events {
        if let Event::IterationStarted { .. } = event {
            (is_judged, last) = (false, None);
        } else if let Event::TestsFinished { .. } = event {
            is_judged = true;
        } else if let Event::IterationFinished(row) = event {
            last = (is_judged && row.test_status == AttemptStatus::Error).then_some((row.tier_index, row.iteration));
        } else if let Event::TierFinished { exit: TierExit::Interrupted, .. } = event {
            cut.extend(last.take());
        }
    }
    cut
}
