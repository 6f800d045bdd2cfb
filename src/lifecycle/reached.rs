//! A breakpoint is reached: the sessions end, and a snapshot says what a fresh agent would need to know.

use serde_json::json;

use super::climb::Climb;
use super::context::Context;
use super::stage::{Leg, Next};
use super::state::{Fix, Wait};
use crate::domain::delivery::Awaited;
use crate::domain::event::Event;
use crate::domain::units::CommitSha;

/// How many of its last commits, files and tests a snapshot names (S4-9).
const SNAPSHOT_TESTS: usize = 10;

/// Ends the sessions and begins to wait: the breakpoint, its snapshot and the leg that follows.
pub(super) fn reach(
    context: &Context<'_>,
    climb: Climb,
    fix: Fix,
    awaited: Awaited,
    commit: &CommitSha,
    mut events: Vec<Event>,
) -> Next {
    let key = format!("{}:{}:{commit}", context.charter.run_id, awaited.as_str());
    let wait = Wait { fix, awaited, commit: commit.clone(), key: key.clone(), waited_ms: 0 };
    let at = context.world.clock.timestamp();
    events.push(Event::BreakpointReached { key: key.clone(), awaited, commit: commit.clone(), at });
    let body = snapshot(context, &climb, &wait).to_string();
    Next { breakpoint: Some((key, body)), ..Next::deliver(climb, Leg::Wait(wait), events) }
}

/// What a fresh agent would need to know (S4-8).
fn snapshot(context: &Context<'_>, climb: &Climb, wait: &Wait) -> serde_json::Value {
    let (charter, delivered, last) = (&context.charter, &climb.delivered, climb.rows.attempts.last());
    json!({
        "run_id": charter.run_id,
        "spawn_number": climb.run_iterations,
        "timestamp": context.world.clock.timestamp(),
        "task": { "description": charter.plan.objective, "status": "delivered" },
        "completed_work": last.map(|attempt| attempt.code_change_summary.clone()),
        "tests_made_to_pass": climb.failing_at_first().iter().take(SNAPSHOT_TESTS).collect::<Vec<_>>(),
        "branch": delivered.branch,
        "commit": wait.commit,
        "pull_request": delivered.pull_request,
        "files": climb.trees.touched.iter().take(SNAPSHOT_TESTS).collect::<Vec<_>>(),
        "breakpoint": { "type": kind(wait.awaited), "awaited": wait.awaited, "key": wait.key },
        "previous_error": last.and_then(|attempt| attempt.error_messages.first().cloned()),
        "continue": "Continue from where the previous iteration left off. Do not repeat work that has already been completed.",
    })
}

/// The seeds' word for what is waited at (S4-3).
fn kind(awaited: Awaited) -> &'static str {
    match awaited {
        Awaited::Ci => "task_complete",
        Awaited::Merge => "pr_created",
    }
}
