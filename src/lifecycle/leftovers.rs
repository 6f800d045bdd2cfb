//! Files that a run leaves and that tools run or obey without being asked: noted before the tests first run, removed when the run ends.
//!
//! Files that the setup command leaves are the user's: it is their own installation step, and runs before anything that upshift starts.

use super::context::Context;
use super::recorder::Recorder;
use crate::domain::event::{Event, MOST_LEFTOVERS};

/// Notes what is there, once for a run.
pub(super) fn note(context: &Context<'_>, recorder: &mut Recorder<'_>) {
    let message = match context.world.workspace.note_autorun(&context.charter.run_id.0) {
        Ok(left) if left.is_empty() => return,
        Ok(left) => {
            let names: Vec<&str> = left.iter().map(String::as_str).take(MOST_LEFTOVERS).collect();
            format!(
                "an earlier run here was killed; since its start there are new files that git, shells or editors run automatically: {} → Fix: look at \
                 it, and remove what is not yours",
                names.join(", ")
            )
        }
        Err(error) => format!(
            "what git, shells and editors would run could not be recorded ({error}): if this run is killed, check the new files in the tree before you use them there"
        ),
    };
    recorder.warn(message);
}

/// Removes new files before the run's end, which reports them.
pub(super) fn collect(context: &Context<'_>, recorder: &mut Recorder<'_>) {
    let swept = context.world.workspace.sweep_autorun();
    let known = &mut recorder.swept;
    let new = swept.into_iter().filter(|leftover| !known.contains(leftover)).collect::<Vec<_>>();
    known.extend(new);
}

/// Removes what is new, and says so.
pub(super) fn sweep(context: &Context<'_>, recorder: &mut Recorder<'_>) {
    collect(context, recorder);
    let mut leftovers = std::mem::take(&mut recorder.swept);
    if leftovers.is_empty() {
        return;
    }
    let more = u32::try_from(leftovers.len().saturating_sub(MOST_LEFTOVERS)).unwrap_or(u32::MAX);
    leftovers.truncate(MOST_LEFTOVERS);
    recorder.emit(&Event::LeftoversRemoved { leftovers, more });
}

/// Forgets what was there: the run has ended.
pub(super) fn forget(context: &Context<'_>) {
    context.world.workspace.forget_autorun();
}
