//! After green: which parts of the change the tests pass without (PROOF "needed").
//!
//! They are named to reviewers and stay, unless the configuration has them dropped: a part that no test needs may be an untested
//! caller or the second half of a fix. Every try is a whole judging run, so a smaller change that is kept was seen green itself.
//! Bounded by runs and by time; a killed process does the iteration's work anew and with it this.

use std::time::Duration;

use super::engine::{Engine, LifecycleError};
use super::iteration::paths;
use super::judge::{self, Judged, Telling};
use crate::config::Minimise;
use crate::domain::event::Event;
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::policy::minimise::{Search, Seen};
use crate::workspace::Hunks;

/// The most runs of the tests that looking for a smaller change is worth.
const MAX_RUNS: u32 = 8;
/// The most time, as a multiple of one run.
const MAX_MULTIPLE: u64 = 2;
/// Tests that are faster than this may be run more often: nobody notices beside a model's call.
const UNNOTICED: Duration = Duration::from_secs(5);

/// A search over the hunks of a green change, carried out.
#[derive(Debug)]
struct Found {
    /// The smallest change that was seen green; `None` where every hunk tried was needed.
    smaller: Option<Judged>,
    /// Hunks that green needs as far as is known, by number.
    kept: Vec<usize>,
    /// Runs of the tests that it took.
    runs: u32,
    duration_ms: u64,
    /// The tree whose files lie on disk, where it is not the one that was given.
    on_disk: Option<TreeId>,
}

/// Looks for the parts of a green change that green does not need; anything but a green one is given back as it is.
pub(super) async fn run(engine: &mut Engine<'_>, judged: Judged) -> Result<Judged, LifecycleError> {
    let wanted = engine.state.plan.safety.minimise;
    let green = wanted != Minimise::Off && judged.judgement.verdict == Verdict::Green;
    let Some(start) = engine.state.start.clone().filter(|_| green) else {
        return Ok(judged);
    };
    let hunks = engine.world.workspace.hunks(&start, &judged.candidate.tree).await?;
    let found = search(engine, &hunks, judged.run.duration_ms).await?;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let (count, runs, duration_ms) = (hunks.places().len(), found.runs, found.duration_ms);
    let (event, best) = if wanted == Minimise::Drop {
        let (dropped, kept) = (number(count - found.kept.len()), number(found.kept.len()));
        (Event::PatchMinimised { dropped, kept, runs, duration_ms }, found.smaller.unwrap_or(judged))
    } else {
        (Event::Remarked { remarks: not_needed(&hunks, &found.kept), runs, duration_ms }, judged)
    };
    if found.on_disk.is_some_and(|tree| tree != best.candidate.tree) {
        put(engine, &best.candidate.tree).await?;
    }
    if runs > 0 {
        engine.journal.emit(&event);
    }
    Ok(best)
}

async fn search(engine: &mut Engine<'_>, hunks: &Hunks, one_run_ms: u64) -> Result<Found, LifecycleError> {
    let workspace = engine.world.workspace.clone();
    let files = hunks.paths();
    // Tests that the task lets a model write are wanted for themselves.
    let is_test = |(hunk, path): (usize, &String)| workspace.allows_test_edits(path.as_ref()).then_some(hunk);
    let pinned: Vec<usize> = files.iter().enumerate().filter_map(is_test).collect();
    let mut search = Search::new(files.len(), &pinned);
    let began = engine.world.clock.monotonic_ms();
    let unnoticed = u64::try_from(UNNOTICED.as_millis()).unwrap_or(u64::MAX);
    let allowed = (one_run_ms * MAX_MULTIPLE).max(unnoticed);
    let elapsed = |engine: &Engine<'_>| engine.world.clock.monotonic_ms().saturating_sub(began);
    let mut found = Found { smaller: None, kept: Vec::new(), runs: 0, duration_ms: 0, on_disk: None };
    while let Some(keep) = search.next() {
        let late = elapsed(engine) + one_run_ms > allowed;
        if found.runs >= MAX_RUNS || late || engine.world.stop.raised().is_some() {
            break;
        }
        found.runs += 1;
        let tree = workspace.compose(hunks, &keep).await?;
        put(engine, &tree).await?;
        let tried = judge::run(engine, tree.clone(), Telling::Quietly).await?;
        found.on_disk = Some(tree);
        if tried.run.stopped.is_some() {
            break;
        }
        let green = tried.judgement.verdict == Verdict::Green;
        search.observe(if green { Seen::Green } else { Seen::Other });
        if green {
            found.smaller = Some(tried);
        }
    }
    found.kept = search.kept().to_vec();
    found.duration_ms = elapsed(engine);
    Ok(found)
}

/// The places of the hunks that are not among those that green needs.
fn not_needed(hunks: &Hunks, kept: &[usize]) -> Vec<Remark> {
    let places = hunks.places().into_iter().enumerate().filter(|(hunk, _)| !kept.contains(hunk));
    places.map(|(_, (file, lines))| Remark { kind: RemarkKind::NotNeeded, file, lines }).collect()
}

async fn put(engine: &Engine<'_>, tree: &TreeId) -> Result<(), LifecycleError> {
    Ok(engine.world.workspace.restore_paths(tree, &paths(&engine.state.touched)).await?)
}
