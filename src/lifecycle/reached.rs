//! A breakpoint is reached: the sessions end, and a snapshot says what a fresh agent would need to know.

use serde_json::json;

use super::engine::Engine;
use super::state::{Fix, Phase, Wait};
use crate::audit::Snapshot;
use crate::domain::delivery::Awaited;
use crate::domain::event::Event;
use crate::domain::units::CommitSha;

/// How many of its last commits, files and tests a snapshot names (S4-9).
const SNAPSHOT_TESTS: usize = 10;

/// Ends the sessions and begins to wait: the breakpoint, its snapshot and the phase in one record.
pub(super) fn reach(engine: &mut Engine<'_>, fix: &Fix, awaited: Awaited, commit: &CommitSha, mut events: Vec<Event>) {
    let key = format!("{}:{}:{commit}", engine.state.run_id, awaited.as_str());
    let wait = Wait { fix: fix.clone(), awaited, commit: commit.clone(), key: key.clone(), waited_ms: 0 };
    let at = engine.world.clock.timestamp();
    events.push(Event::BreakpointReached { key: key.clone(), awaited, commit: commit.clone(), at });
    let body = snapshot(engine, &wait).to_string();
    engine.state.phase = Phase::Waiting { wait };
    engine.record(&events);
    engine.journal.save_snapshot(&Snapshot { kind: "breakpoint", session_id: &key, body: &body });
}

/// What a fresh agent would need to know (S4-8).
fn snapshot(engine: &Engine<'_>, wait: &Wait) -> serde_json::Value {
    let state = &engine.state;
    let failing = state.baseline.as_ref().map(|baseline| baseline.failing.clone()).unwrap_or_default();
    let last = state.attempts.last();
    json!({
        "run_id": state.run_id,
        "spawn_number": state.run_iterations,
        "timestamp": engine.world.clock.timestamp(),
        "task": { "description": state.plan.objective, "status": "delivered" },
        "completed_work": last.map(|attempt| attempt.code_change_summary.clone()),
        "tests_made_to_pass": failing.iter().take(SNAPSHOT_TESTS).collect::<Vec<_>>(),
        "branch": state.delivery.branch,
        "commit": wait.commit,
        "pull_request": state.delivery.pull_request,
        "files": state.touched.iter().take(SNAPSHOT_TESTS).collect::<Vec<_>>(),
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
