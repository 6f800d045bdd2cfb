//! A change from another job's log, judged on top of what is merged already: as a model's change is, by tests and court.

use super::baseline;
use super::context::{Context, LifecycleError, World};
use super::judge::{self, Author};
use super::leftovers;
use super::measured::{Measuring, TestSetup};
use super::recorder::Recorder;
use super::stage::Stage;
use super::standalone::baseline_of;
use super::state::RunState;
use crate::audit::{Journal, LoadedRun};
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::domain::tree_patch::RecordedTree;
use crate::domain::units::{CommitSha, TreeId};
use crate::domain::verdict::Verdict;
use crate::trial;
use crate::workspace::{Merged, RebuildError, RevisionError, Revisions, WorkspaceError};

/// The change that a log tells of. Nothing of it is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The state that it made green.
    pub tree: TreeId,
    /// The tests that it mended.
    pub failing: Vec<String>,
}

/// The state of a run that the court accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The state.
    pub tree: TreeId,
    /// The commit that was checked out then. `None` where nobody knows.
    pub base: Option<CommitSha>,
}

/// The end of a change's trial on top of what is merged.
#[derive(Debug)]
pub enum Applied {
    /// Its tests failed, pass with it, and nothing is lost.
    Proven {
        /// The state with it.
        tree: TreeId,
        /// The files in which it differs.
        files: Vec<String>,
    },
    /// Its tests pass without it.
    NothingFails,
    /// It does not fit over what is merged.
    Conflict(String),
    /// It is not what a run may change.
    Refused(String),
    /// Its tests fail with it, or others do.
    Lost(String),
    /// The tests cannot be run on what is merged.
    Broken(String),
    /// A signal, or the time was up.
    Stopped,
}

/// The tests on what is merged.
#[derive(Debug)]
pub enum Sum {
    /// They ran to their end; these fail.
    Ran(Vec<String>),
    /// They cannot be run.
    Broken(String),
    /// A signal, or the time was up.
    Stopped,
}

/// The change that the log of a run claims.
///
/// # Errors
/// Why there is nothing to merge, in words.
pub fn claimed(run: &LoadedRun) -> Result<Claimed, String> {
    let text = run.state.as_deref().ok_or("its log has no state of it")?;
    let state: RunState = serde_json::from_str(text).map_err(|error| format!("its state cannot be read: {error}"))?;
    let tree = state.current.map(|current| current.tree).ok_or("its log names no change")?;
    let failing = state.baseline.map(|baseline| baseline.failing).unwrap_or_default();
    let withheld = run.events.iter().find_map(|event| {
        let Event::TreeRecorded { tree: of, withheld: Some(why) } = event else { return None };
        // A tree is told over its start, so that the change needs both.
        (*of == tree || Some(of) == state.start.as_ref()).then_some(why)
    });
    match withheld {
        Some(why) => Err(format!("its change is not in its log, since {why}")),
        None => Ok(Claimed { tree, failing }),
    }
}

/// The last state of a run, which is that of its proof where it has one. `None` where it cannot be read.
#[must_use]
pub fn accepted(run: &LoadedRun) -> Option<Accepted> {
    let state: RunState = serde_json::from_str(run.state.as_deref()?).ok()?;
    Some(Accepted { tree: state.current?.tree, base: state.base })
}

/// Has a change judged over the files as they are. They are those of some state of the court afterwards: the caller puts its own back.
///
/// # Errors
/// When a state, the tests or the log cannot be used.
pub async fn apply(
    world: World<'_>,
    journal: &mut Journal,
    state: &RunState,
    (revisions, change): (&Revisions<'_>, &RecordedTree),
) -> Result<Applied, LifecycleError> {
    let context = Context::new(world, state);
    let mut recorder = Recorder::new(journal, state);
    let measuring = Measuring::of(&TestSetup::of(&context, state), state);
    let measured = baseline::run(&context, &mut recorder, measuring).await?;
    recorder.record(&context, &measured.events, measured.stage.saved(&context.charter));
    let applied = if context.world.stop.raised().is_some() {
        Ok(Applied::Stopped)
    } else if let Some(why) = not_seen(&measured.stage) {
        Ok(Applied::Lost(why))
    } else {
        match baseline_of(measured.stage) {
            Err(reason) => Ok(Applied::Broken(reason)),
            Ok((_, true)) => Ok(Applied::NothingFails),
            Ok((climb, false)) => {
                let judged = judged(&context, &mut recorder, climb, (revisions, change)).await;
                match judged {
                    // It is the change that put it there, since the tests ran without it.
                    Err(LifecycleError::Workspace(WorkspaceError::Form { reason })) => {
                        Ok(Applied::Refused(format!("a file of its cannot be judged: {reason}")))
                    }
                    other => other,
                }
            }
        }
    };
    // Whatever came of it: the foreign change has run here, and may have left files that tools obey unasked.
    leftovers::sweep(&context, &mut recorder);
    leftovers::forget(&context);
    applied
}

/// Why nothing would prove the change, where its tests were not seen.
fn not_seen(stage: &Stage) -> Option<String> {
    let Stage::Ending(ending) = stage else { return None };
    let Outcome::Blocked { reason } = &ending.outcome else { return None };
    Some(reason.clone())
}

async fn judged(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    mut climb: super::climb::Climb,
    (revisions, change): (&Revisions<'_>, &RecordedTree),
) -> Result<Applied, LifecycleError> {
    let workspace = &context.world.workspace;
    let start = climb.start().clone();
    let tree = match workspace.merged(revisions, &start, change).await {
        Ok(Merged::Over(tree)) => tree,
        Ok(Merged::Conflict { path }) => return Ok(Applied::Conflict(format!("{path} was also changed by another"))),
        Err(RebuildError::Workspace(error)) => return Err(error.into()),
        Err(RebuildError::Revision(RevisionError::Stopped)) => return Ok(Applied::Stopped),
        Err(other) => return Ok(Applied::Refused(other.to_string())),
    };
    let changes = workspace.changes(&start, &tree).await?;
    climb.trees.touched = changes.into_iter().map(|change| change.path).collect();
    workspace.restore(&tree).await?;
    let judged = judge::run(context, recorder, &climb, tree, Author::Model).await?;
    let judged = judge::with_added_tests(context, recorder, &climb, judged).await?;
    if judged.run.stopped.is_some() || context.world.stop.raised().is_some() {
        return Ok(Applied::Stopped);
    }
    let failing: Vec<&str> = judged.run.report.failing().map(|test| test.name.as_str()).take(3).collect();
    let failing = (!failing.is_empty()).then(|| format!("tests fail with it: {}", failing.join(", ")));
    match trial::explained(&judged.judgement.verdict, &judged.run.report) {
        Verdict::Green => {
            let tree = judged.candidate.tree;
            // The experiments have left the files as the last one needed them.
            workspace.restore(&tree).await?;
            let files = workspace.changes(&start, &tree).await?.into_iter().map(|change| change.path).collect();
            Ok(Applied::Proven { tree, files })
        }
        Verdict::Red { reason } => {
            Ok(Applied::Lost(failing.or(reason).unwrap_or_else(|| "the tests fail with it".to_owned())))
        }
        Verdict::Tampered { reason } => Ok(Applied::Refused(reason)),
        Verdict::Broken { reason } => Ok(Applied::Lost(reason)),
    }
}

/// Runs the tests on the files as they are.
///
/// # Errors
/// When the tests or the log cannot be used.
pub async fn sum(world: World<'_>, journal: &mut Journal, state: &RunState) -> Result<Sum, LifecycleError> {
    let context = Context::new(world, state);
    let mut recorder = Recorder::new(journal, state);
    let measuring = Measuring::of(&TestSetup::of(&context, state), state);
    let measured = baseline::run(&context, &mut recorder, measuring).await?;
    recorder.record(&context, &measured.events, measured.stage.saved(&context.charter));
    let sum = if context.world.stop.raised().is_some() {
        Sum::Stopped
    } else {
        match baseline_of(measured.stage) {
            Ok((climb, _)) => Sum::Ran(climb.measured.baseline.failing.clone()),
            Err(reason) => Sum::Broken(reason),
        }
    };
    leftovers::sweep(&context, &mut recorder);
    leftovers::forget(&context);
    Ok(sum)
}

/// Whether a run mended what it was to mend, by its log.
#[must_use]
pub const fn is_mended(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Fixed { .. })
}
