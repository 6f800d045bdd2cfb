//! After green: which parts of the change the tests pass without (PROOF "needed").
//!
//! They are named to reviewers and stay, unless the configuration has them dropped: a part that no test needs may be an untested caller or
//! the second half of a fix. Every try is a whole judging run, so a smaller change that is kept was seen green itself. Bounded by runs and
//! by time. A killed process does the iteration's work anew and with it this.

use std::time::Duration;

use super::bench::{Bench, TrialError};
use super::judging::{self, Judged};
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
    /// The smallest change that was seen green. `None` where every hunk tried was needed.
    smaller: Option<Judged>,
    /// Hunks that green needs as far as is known, by number.
    kept: Vec<usize>,
    /// Runs of the tests that it took.
    runs: u32,
    duration_ms: u64,
    /// The tree whose files lie on disk, where it is not the one that was given.
    on_disk: Option<TreeId>,
}

/// The result of looking for parts that green does not need.
#[derive(Debug)]
pub struct Needed {
    /// The places of the parts that green does not need, as far as was seen.
    pub not_needed: Vec<Remark>,
    /// How many parts the change has.
    pub parts: u32,
    /// The smallest change that was seen green, where it is smaller.
    pub smaller: Option<Judged>,
    /// Runs of the tests that it took.
    pub runs: u32,
    /// The time that it took, in milliseconds.
    pub duration_ms: u64,
}

/// Looks for the parts of a green change that green does not need. `keep` says whether the whole change or the smaller one lies on disk
/// afterwards.
///
/// # Errors
/// When the tree cannot be put in order or the tests cannot be started.
pub async fn look(bench: &Bench<'_>, judged: &Judged, keep: Keep) -> Result<Option<Needed>, TrialError> {
    let Some(start) = bench.start.filter(|_| judged.judgement.verdict == Verdict::Green) else { return Ok(None) };
    let hunks = bench.workspace.hunks(start, &judged.candidate.tree).await?;
    let found = search(bench, &hunks, judged.run.duration_ms).await?;
    let wanted = match (keep, &found.smaller) {
        (Keep::Smaller, Some(smaller)) => &smaller.candidate.tree,
        (Keep::Smaller, None) | (Keep::Whole, _) => &judged.candidate.tree,
    };
    if found.on_disk.is_some_and(|tree| tree != *wanted) {
        put(bench, wanted).await?;
    }
    let parts = u32::try_from(hunks.places().len()).unwrap_or(u32::MAX);
    let needed = Needed {
        not_needed: not_needed(&hunks, &found.kept),
        parts,
        smaller: found.smaller,
        runs: found.runs,
        duration_ms: found.duration_ms,
    };
    Ok((needed.runs > 0).then_some(needed))
}

/// Which change lies on disk when the search is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The whole one.
    Whole,
    /// The smallest that was seen green.
    Smaller,
}

async fn search(bench: &Bench<'_>, hunks: &Hunks, one_run_ms: u64) -> Result<Found, TrialError> {
    let workspace = bench.workspace;
    let files = hunks.paths();
    // Tests that the task lets a model write are wanted for themselves.
    let is_test = |(hunk, path): (usize, &String)| workspace.allows_test_edits(path.as_ref()).then_some(hunk);
    let pinned: Vec<usize> = files.iter().enumerate().filter_map(is_test).collect();
    let mut search = Search::new(files.len(), &pinned);
    let began = bench.clock.monotonic_ms();
    let unnoticed = u64::try_from(UNNOTICED.as_millis()).unwrap_or(u64::MAX);
    let allowed = (one_run_ms * MAX_MULTIPLE).max(unnoticed);
    let elapsed = |bench: &Bench<'_>| bench.clock.monotonic_ms().saturating_sub(began);
    let mut found = Found { smaller: None, kept: Vec::new(), runs: 0, duration_ms: 0, on_disk: None };
    while let Some(keep) = search.next() {
        // A run that could not end in time is not begun.
        let late = elapsed(bench) + one_run_ms > allowed;
        if found.runs >= MAX_RUNS || late || bench.stop.raised().is_some() {
            break;
        }
        found.runs += 1;
        let tree = workspace.compose(hunks, &keep).await?;
        put(bench, &tree).await?;
        let tried = judging::run(bench, tree.clone()).await?;
        found.on_disk = Some(tree);
        // Cut short, it says nothing of its hunks, which stay.
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
    found.duration_ms = elapsed(bench);
    Ok(found)
}

/// The places of the hunks that are not among those that green needs.
fn not_needed(hunks: &Hunks, kept: &[usize]) -> Vec<Remark> {
    let places = hunks.places().into_iter().enumerate().filter(|(hunk, _)| !kept.contains(hunk));
    places.map(|(_, (file, lines))| Remark { kind: RemarkKind::NotNeeded, file, lines, said: None }).collect()
}

async fn put(bench: &Bench<'_>, tree: &TreeId) -> Result<(), TrialError> {
    Ok(bench.workspace.restore_paths(tree, &bench.touched_paths()).await?)
}
