//! Files that a person changed while a run waited for the outside: they are in the way, since going on may put them back.

use super::Failure;
use crate::domain::units::TreeId;
use crate::lifecycle::state::{Phase, RunState};
use crate::workspace::Workspace;

/// The most files that are named.
const MOST_NAMED: usize = 5;

/// Refuses to go on with a run that has delivered, over files that are neither as its fix has them nor as they were at its start.
///
/// # Errors
/// Such files, by name (exit 2). Nothing was done.
pub(super) async fn refuse(state: &RunState, workspace: &Workspace) -> anyhow::Result<()> {
    let (Some(fix), Some(start)) = (delivered(&state.phase), &state.start) else { return Ok(()) };
    // A tree that is not on this machine tells nothing; whoever needs it says so.
    let (Ok(from_fix), Ok(from_start)) = (workspace.changed_since(fix).await, workspace.changed_since(start).await)
    else {
        return Ok(());
    };
    let is_yours = |path: &&String| from_start.contains(path) && !state.by_products.contains(*path);
    let yours: Vec<&str> = from_fix.iter().filter(is_yours).map(String::as_str).collect();
    if yours.is_empty() {
        return Ok(());
    }
    let named = yours.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = yours.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(Failure::usage(format!(
        "run {} waits with its fix, and files were changed since: {named}{more}; going on could put them back, so nothing was done\n→ \
         Fix: put them aside (`git stash --include-untracked`), run `upshift resume`, and take them back",
        state.run_id
    )))
}

/// The tree of the fix that a run is about to deliver, or waits with.
const fn delivered(phase: &Phase) -> Option<&TreeId> {
    match phase {
        Phase::Publishing { fix } | Phase::Rebasing { fix } | Phase::Proposing { fix } => Some(&fix.tree),
        Phase::Waiting { wait } => Some(&wait.fix.tree),
        Phase::Baseline
        | Phase::Ready
        | Phase::Iterating
        | Phase::Held { .. }
        | Phase::Ending { .. }
        | Phase::Ended { .. } => None,
    }
}
