//! Files that somebody changed while a run stood still: they are the run's start from now on, and the tests are run over them anew.
//!
//! Invariant: a file that a person, or the commit of another task, changed meanwhile is neither put back nor called the run's change.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::allowance::Comments;
use super::baseline::{self, Seen};
use super::climb::Climb;
use super::context::{Context, LifecycleError, paths};
use super::measured::{Measured, Measuring};
use super::recorder::Recorder;
use super::stage::{Held, Next, Stage};
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::domain::verdict::Verdict;
use crate::policy::candidate::Candidate;
use crate::trial;

/// The most files that are named.
const NAMED: usize = 5;

/// The message about edits that are in the way of somebody else's.
const SET_ASIDE: &str =
    "the run's own edits so far were to some of these files: they are put aside, and it goes on from what is there now";

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
        other @ (Stage::Measuring(_) | Stage::Delivering(_) | Stage::Ending(_)) => return Ok(other),
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
    let mut measuring = Measuring {
        setup: climb.measured.setup.clone(),
        origin: None,
        allowance: climb.allowance.clone(),
        comments: Comments::default(),
    };
    let Some(seen) = baseline::look(context, recorder, &mut measuring).await? else {
        // Cut short: whoever goes on with it looks anew.
        return Ok(ControlFlow::Continue((climb, Vec::new())));
    };
    let Seen { origin, first, verdict, baseline, finished, .. } = seen;
    let mut events = vec![Event::Warning { message: told(&changed) }, Event::BaselineFinished(finished)];
    let described = trial::describe(&first, workspace.root());
    let fresh = trial::candidate(origin.tree.clone(), &first, &described);
    let fresh = Candidate { failing: baseline.failing.clone(), ..fresh };
    let before = Arc::clone(&climb.measured);
    let is_shared = climb.trees.touched.iter().any(|path| changed.contains(path));
    for candidate in [&mut climb.trees.best, &mut climb.trees.current] {
        if is_shared || candidate.tree == before.origin.tree {
            *candidate = fresh.clone();
        } else {
            candidate.tree = workspace.overlaid(&origin.tree, &candidate.tree, &paths(&climb.trees.touched))?;
        }
    }
    if is_shared {
        events.push(Event::Warning { message: SET_ASIDE.to_owned() });
    }
    climb.measured = Arc::new(Measured { setup: measuring.setup, origin, baseline, ..(*before).clone() });
    climb.trees.on_disk = false;
    let end = match verdict {
        Verdict::Red { .. } => None,
        Verdict::Green if before.judged_by_ci => None,
        Verdict::Green => Some((Outcome::AlreadyGreen, "the tests pass by now".to_owned())),
        Verdict::Broken { reason } | Verdict::Tampered { reason } => {
            Some((Outcome::Broken { reason: reason.clone() }, reason))
        }
    };
    Ok(match end {
        None => ControlFlow::Continue((climb, events)),
        Some((outcome, reason)) => ControlFlow::Break(Next::end(climb, outcome, reason, events)),
    })
}

fn told(changed: &BTreeSet<String>) -> String {
    let named = changed.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = changed.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("changed by others since the run stopped, and part of its start from now on: {named}{more}")
}
