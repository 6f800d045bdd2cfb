//! Files that somebody changed while a run stood still: they are the run's start from now on, and what the tests say over them is demanded of
//! the fix.
//!
//! Invariants: a file that was changed meanwhile is neither put back nor called the run's change. A look at the tests behind code of the
//! run's own only ever adds to what must pass: it ends no run as green, and takes nothing from what failed at the start.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::climb::Climb;
use super::context::{Context, LifecycleError, paths};
use super::measured::{Measured, Origin};
use super::recorder::Recorder;
use super::stage::{Held, Next, Reached, Stage};
use super::yours;
use crate::config::DEFAULT_CONFIG_PATH;
use crate::domain::event::Event;
use crate::domain::outcome::{Outcome, PASSES_BY_NOW};
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::policy::verdict::{self, Baseline};
use crate::test_run;

/// The message about a configuration that was changed: a run is the run of one plan, however often it is taken up.
const AS_IT_WAS: &str = "this run goes on with the configuration of its start (addresses, models, caps); `upshift run` begins one with what is there now";
/// The message about edits that are in the way of somebody else's.
const SET_ASIDE: &str = "the run's own edits so far were to some of these files: they are put aside, and it continues from what is there now";

/// Takes what was changed meanwhile into the start of a run at work that had left the files in order.
///
/// # Errors
/// When the files cannot be read, or the tests cannot be run.
pub(super) async fn take_in(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    stage: Stage,
) -> Result<Stage, LifecycleError> {
    let next = match stage {
        Stage::Ready(climb) => moved(context, recorder, *climb)
            .await?
            .map_continue(|(climb, events)| (Stage::Ready(Box::new(climb)), events)),
        Stage::Iterating(climb) => moved(context, recorder, *climb)
            .await?
            .map_continue(|(climb, events)| (Stage::Iterating(Box::new(climb)), events)),
        Stage::Held(held) => {
            let Held { climb, hold } = *held;
            moved(context, recorder, climb).await?.map_continue(|(climb, events)| (Stage::held(climb, hold), events))
        }
        Stage::Ending(mut ending) => {
            if let Reached::Climb(climb) = &mut ending.reached
                && climb.trees.left.is_none()
            {
                // It had put its start back, so that whatever differs from it is somebody else's.
                climb.trees.left = Some(climb.start().clone());
            }
            return Ok(Stage::Ending(ending));
        }
        other @ (Stage::Measuring(_) | Stage::Delivering(_)) => return Ok(other),
    };
    let Next { stage, events, .. } = match next {
        ControlFlow::Continue((stage, events)) => Next::to(stage, events),
        ControlFlow::Break(end) => end,
    };
    if !events.is_empty() {
        recorder.record(context, &events, stage.saved(&context.charter));
    }
    Ok(stage)
}

/// The climb over the files as they are now, or the run's end.
async fn moved(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    mut climb: Climb,
) -> Result<ControlFlow<Next, (Climb, Vec<Event>)>, LifecycleError> {
    let workspace = &context.world.workspace;
    let by_products = &climb.measured.origin.by_products;
    let changed = workspace.changed_since(climb.start()).await?;
    let changed: BTreeSet<String> = changed.into_iter().filter(|path| !by_products.contains(path)).collect();
    if changed.is_empty() {
        return Ok(ControlFlow::Continue((climb, Vec::new())));
    }
    // Before anything runs: however the look ends, these files are nobody's to put back.
    let base = recorder.portable.look(context, "HEAD").await;
    let mut events = vec![Event::Warning { message: told(&changed) }];
    if changed.contains(DEFAULT_CONFIG_PATH) {
        events.push(Event::Warning { message: format!("{DEFAULT_CONFIG_PATH}: {AS_IT_WAS}") });
    }
    if begin_from(context, &mut climb, &changed).await? {
        events.push(Event::Warning { message: SET_ASIDE.to_owned() });
    }
    let mut measured = (*climb.measured).clone();
    measured.origin.base = base;
    let run = test_run::run(&measured.setup.tests, None, &context.world.stop).await?;
    // A look that is cut short shows nothing. The new start stays, or the user's files would be put back after all.
    if run.stopped.is_some() {
        climb.measured = Arc::new(measured);
        return Ok(ControlFlow::Continue((climb, events)));
    }
    let explicit = context.charter.plan.test.command.is_some();
    let end = match verdict::judge_baseline(run.exit, &run.report, explicit) {
        Verdict::Red { .. } => None,
        Verdict::Green if measured.judged_by_ci => None,
        Verdict::Green => {
            let reason = PASSES_BY_NOW.to_owned();
            Some((Outcome::Blocked { reason: reason.clone() }, reason))
        }
        Verdict::Broken { reason } | Verdict::Tampered { reason } => {
            Some((Outcome::Broken { reason: reason.clone() }, reason))
        }
    };
    measured.baseline = measured.baseline.and_now(&Baseline::from_report(&run.report, Vec::new(), explicit));
    climb.measured = Arc::new(measured);
    Ok(match end {
        None => ControlFlow::Continue((climb, events)),
        Some((outcome, reason)) => ControlFlow::Break(Next::end(climb, outcome, reason, events)),
    })
}

/// Puts the files as they are under everything that the run builds on. Returns whether its own edits are put aside, since others changed the
/// same files.
async fn begin_from(
    context: &Context<'_>,
    climb: &mut Climb,
    changed: &BTreeSet<String>,
) -> Result<bool, LifecycleError> {
    let workspace = &context.world.workspace;
    let start = workspace.snapshot().await?;
    let before: TreeId = climb.start().clone();
    let is_shared = climb.trees.touched.iter().any(|path| changed.contains(path));
    for candidate in [&mut climb.trees.best, &mut climb.trees.current] {
        // Two hands in one file cannot be told apart. The user's edits win, and the run does its own anew.
        candidate.tree = if is_shared || candidate.tree == before {
            start.clone()
        } else {
            workspace.overlaid(&start, &candidate.tree, &paths(&climb.trees.touched))?
        };
    }
    let origin = Origin { tree: start, ..climb.measured.origin.clone() };
    climb.measured = Arc::new(Measured { origin, ..(*climb.measured).clone() });
    // The trees now lie over the new start, which the files may not show yet.
    climb.trees.on_disk = false;
    Ok(is_shared)
}

fn told(changed: &BTreeSet<String>) -> String {
    let changed: Vec<String> = changed.iter().cloned().collect();
    format!("changed since the run stopped, and part of its start from now on: {}", yours::named(&changed))
}
