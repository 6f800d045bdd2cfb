//! Files that a killed run leaves in the tree: noted while the run goes on, and given up with the run.

use super::context::{Context, LifecycleError};
use super::recorder::Recorder;
use super::resume::{load, settle_lost};
use super::state::Phase;
use crate::audit::{Journal, LoadedRun};
use crate::domain::clock::Clock;
use crate::domain::event::{Event, RunFinished};
use crate::domain::outcome::{DISCARDED, Outcome};
use crate::domain::stop::SIGKILL;
use crate::domain::units::TreeId;

/// Notes from now on what is written into the tree. A run without an audit log is not known of once it is dead.
pub(super) fn note(context: &Context<'_>, recorder: &mut Recorder<'_>, start: &TreeId) {
    let Some(log) = context.charter.plan.audit.clone() else { return };
    if let Err(error) = context.world.workspace.note_writes(&context.charter.run_id, &log, start) {
        let message = format!(
            "what is written into the tree could not be noted ({error}): if this run is killed, look at what is changed before you run \
             upshift here again"
        );
        recorder.warn(message);
    }
}

/// Ends a killed run that a later one takes the place of: its calls are settled, and nobody goes on with it.
///
/// # Errors
/// When the log cannot be read.
pub fn discard(mut journal: Journal, run: &LoadedRun, clock: &dyn Clock) -> Result<Vec<String>, LifecycleError> {
    journal.remember(&run.events);
    settle_lost(&mut journal, &run.run_id, clock)?;
    let outcome = Outcome::Interrupted { signal: SIGKILL };
    // The state of another version stays as it is: the end stands in the events.
    let state = load(run).ok().and_then(|mut state| {
        state.phase = Phase::Ended { outcome: outcome.clone() };
        serde_json::to_string(&state).ok()
    });
    let finished = RunFinished {
        active_ms: load(run).map_or(0, |state| state.active_ms),
        ..RunFinished::bare(outcome, DISCARDED.to_owned(), clock.timestamp())
    };
    journal.record(&[Event::RunFinished(finished)], state.as_deref());
    Ok(journal.close())
}
