//! After green: the change without the hunks that green does not need (issue 5).
//!
//! Every try is a whole judging run, so what is kept was seen green itself. Bounded by runs and by time; a killed process does the
//! iteration's work anew and with it this.

use std::time::Duration;

use super::engine::{Engine, LifecycleError};
use super::iteration::paths;
use super::judge::{self, Judged, Telling};
use crate::domain::event::Event;
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::policy::minimise::{Search, Seen};

/// The most runs of the tests that a smaller change is worth.
const MAX_RUNS: u32 = 8;
/// The most time, as a multiple of one run.
const MAX_MULTIPLE: u64 = 2;
/// Tests that are faster than this may be run more often: nobody notices beside a model's call.
const UNNOTICED: Duration = Duration::from_secs(5);

/// Leaves out of a green change what green does not need; anything else is given back as it is.
pub(super) async fn run(engine: &mut Engine<'_>, judged: Judged) -> Result<Judged, LifecycleError> {
    let Some(start) = engine.state.start.clone().filter(|_| judged.judgement.verdict == Verdict::Green) else {
        return Ok(judged);
    };
    let workspace = engine.world.workspace.clone();
    let hunks = workspace.hunks(&start, &judged.candidate.tree).await?;
    let files = hunks.paths();
    // Tests that the task lets a model write are wanted for themselves.
    let pinned: Vec<usize> = (0..files.len())
        .filter(|hunk| files.get(*hunk).is_some_and(|path| workspace.allows_test_edits(path.as_ref())))
        .collect();
    let mut search = Search::new(files.len(), &pinned);
    let began = engine.world.clock.monotonic_ms();
    let unnoticed = u64::try_from(UNNOTICED.as_millis()).unwrap_or(u64::MAX);
    let allowed = (judged.run.duration_ms * MAX_MULTIPLE).max(unnoticed);
    let elapsed = |engine: &Engine<'_>| engine.world.clock.monotonic_ms().saturating_sub(began);
    let one_run = judged.run.duration_ms;
    let (mut best, mut runs, mut on_disk) = (judged, 0, None::<TreeId>);
    while let Some(keep) = search.next() {
        if runs >= MAX_RUNS || elapsed(engine) + one_run > allowed || engine.world.stop.raised().is_some() {
            break;
        }
        runs += 1;
        let tree = workspace.compose(&hunks, &keep).await?;
        put(engine, &tree).await?;
        let tried = judge::run(engine, tree.clone(), Telling::Quietly).await?;
        on_disk = Some(tree);
        if tried.run.stopped.is_some() {
            break;
        }
        let green = tried.judgement.verdict == Verdict::Green;
        search.observe(if green { Seen::Green } else { Seen::Other });
        if green {
            best = tried;
        }
    }
    if on_disk.is_some_and(|tree| tree != best.candidate.tree) {
        put(engine, &best.candidate.tree).await?;
    }
    if runs > 0 {
        let kept = search.kept().len();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        engine.journal.emit(&Event::PatchMinimised {
            dropped: number(files.len() - kept),
            kept: number(kept),
            runs,
            duration_ms: elapsed(engine),
        });
    }
    Ok(best)
}

async fn put(engine: &Engine<'_>, tree: &TreeId) -> Result<(), LifecycleError> {
    Ok(engine.world.workspace.restore_paths(tree, &paths(&engine.state.touched)).await?)
}
