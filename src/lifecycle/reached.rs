//! A breakpoint is reached: the sessions end, and a snapshot says what a fresh agent would need to know.

use super::climb::Climb;
use super::context::Context;
use super::snapshot::{Snapshot, Stand};
use super::stage::{Leg, Next};
use super::state::{Fix, Wait};
use crate::domain::delivery::Awaited;
use crate::domain::event::Event;
use crate::domain::units::{CommitSha, TreeId};

/// The files as they are left. `None` where there are none on this machine, or where they cannot be recorded: they are not watched then.
pub(super) async fn left(context: &Context<'_>) -> Option<TreeId> {
    match context.world.only_hears {
        Some(_) => None,
        None => context.world.workspace.snapshot().await.ok(),
    }
}

/// Ends the sessions and begins to wait: the breakpoint, its snapshot and the leg that follows.
pub(super) async fn reach(
    context: &Context<'_>,
    climb: Climb,
    fix: Fix,
    awaited: Awaited,
    commit: &CommitSha,
    mut events: Vec<Event>,
) -> Next {
    let key = format!("{}:{}:{commit}", context.charter.run_id, awaited.as_str());
    let wait =
        Wait { fix, awaited, commit: commit.clone(), key: key.clone(), waited_ms: 0, files: left(context).await };
    let (at, spawn) = (context.world.clock.timestamp(), climb.run_iterations);
    events.push(Event::BreakpointReached {
        key: key.clone(),
        awaited,
        commit: commit.clone(),
        at,
        spawn,
        on: Vec::new(),
    });
    let body = Snapshot::of(context, &climb, &Stand::waiting(&wait)).document();
    Next { breakpoint: Some((key, body)), ..Next::deliver(climb, Leg::Wait(wait), events) }
}
