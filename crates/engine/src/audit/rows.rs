//! The rows that follow from an event: written by [`apply`], compared again by `verify`.
//!
//! Invariant: a link that is there already is left alone with all its rows, so a batch can be applied again.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::batch::{Batch, Extra, Link};
use super::trees;
use super::types::Scope;
use crate::domain::attempt::Attempt;
use crate::domain::delivery::Awaited;
use crate::domain::event::{Event, RunFinished, RunStarted};
use crate::domain::outcome::Outcome;
use crate::domain::receipt::{CallScope, Receipt};
use crate::domain::units::{MicroUsd, RunId};

/// `run_state.outcome` of a run that was not finished.
pub(super) const RUNNING: &str = "running";

/// The upshift that writes.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// An integer for SQLite, which has no unsigned ones. Nothing here comes near the limit.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A sum as SQLite returns it.
pub(super) fn micros(number: i64) -> MicroUsd {
    MicroUsd(u64::try_from(number).unwrap_or(0))
}

/// Writes a batch within the caller's transaction.
pub(super) fn apply(db: &Connection, batch: &Batch) -> rusqlite::Result<()> {
    let mut any_new = batch.links.is_empty();
    for link in &batch.links {
        any_new |= apply_link(db, &batch.run_id, link)?;
    }
    // A batch that is replayed must not put an old state over a newer one.
    if let (true, Some(state)) = (any_new, &batch.state) {
        db.prepare_cached("UPDATE run_state SET state = ?2, version = ?3 WHERE run_id = ?1")?.execute(params![
            batch.run_id.0,
            state,
            VERSION
        ])?;
    }
    if let Some(snapshot) = &batch.snapshot {
        db.prepare_cached(
            "INSERT INTO snapshots (run_id, kind, session_id, body) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (run_id, kind, session_id) DO UPDATE SET body = excluded.body",
        )?
        .execute(params![batch.run_id.0, snapshot.kind, snapshot.session_id, snapshot.body])?;
    }
    Ok(())
}

/// Returns whether the link was new.
fn apply_link(db: &Connection, run_id: &RunId, link: &Link) -> rusqlite::Result<bool> {
    // What cannot be read back would be a fault of ours; the event itself is kept all the same.
    let event = serde_json::from_str::<Event>(&link.body).ok();
    let Heading { event: kind, recorded_at } = heading_of(&link.body);
    let inserted = db
        // The place in the chain is unique, so that a link which is there already is left alone with its rows.
        .prepare_cached(
            "INSERT OR IGNORE INTO events (run_id, seq, kind, body, attached, hash, recorded_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![run_id.0, int(link.seq), kind, link.body, link.extra.attached(), link.hash, recorded_at])?;
    if inserted == 0 {
        return Ok(false);
    }
    if let Some(event) = event {
        derive(db, run_id, &event, link)?;
    }
    db.prepare_cached(
        // Never backwards: a replay may bring an older link.
        "UPDATE run_state SET chain_head = ?2, chain_length = ?3 WHERE run_id = ?1 AND chain_length < ?3",
    )?
    .execute(params![run_id.0, link.hash, int(link.seq)])?;
    Ok(true)
}

/// The heading of an event's JSON.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Heading {
    /// Its name.
    pub(super) event: String,
    /// When it was recorded.
    #[serde(default)]
    pub(super) recorded_at: Option<String>,
}

/// The heading of an event's JSON. Empty where there is none.
pub(super) fn heading_of(body: &str) -> Heading {
    serde_json::from_str(body).unwrap_or_default()
}

/// Most events are rows of `events` alone.
fn derive(db: &Connection, run_id: &RunId, event: &Event, link: &Link) -> rusqlite::Result<()> {
    match (event, &link.extra) {
        (Event::RunStarted(started), _) => insert_run(db, run_id, started),
        (Event::InvocationStarted { invocation, pid }, extra) => {
            let at = if let Extra::Invocation { at } = extra { Some(at.0.as_str()) } else { None };
            db.prepare_cached(
                "INSERT OR REPLACE INTO invocations (run_id, invocation, pid, started_at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![run_id.0, invocation, pid, at])?;
            reopen(db, run_id)
        }
        (Event::IterationFinished(attempt), _) => insert_attempt(db, run_id, attempt),
        (Event::CallReserved { call_id, scope, reserved }, Extra::Reservation { scopes, target }) => {
            for key in scopes {
                insert_reservation(db, run_id, call_id, key, (scope, &target.to_string()), *reserved)?;
            }
            Ok(())
        }
        (Event::CallSettled(receipt), extra) => {
            let reply = if let Extra::Reply { reply } = extra { reply.as_deref() } else { None };
            insert_receipt(db, run_id, receipt, (link.seq, reply))?;
            settle(db, run_id, receipt)
        }
        (Event::TreeRecorded { tree, .. }, Extra::Tree { body, contents }) => {
            trees::insert(db, run_id, tree, (body, contents))
        }
        (Event::BreakpointReached { .. } | Event::BreakpointCleared { .. }, _) => mark_breakpoint(db, run_id, event),
        (Event::RunFinished(finished), _) => finish(db, run_id, finished),
        _ => Ok(()),
    }
}

/// A breakpoint's row: made when it is reached, marked when it is cleared.
fn mark_breakpoint(db: &Connection, run_id: &RunId, event: &Event) -> rusqlite::Result<()> {
    if let Event::BreakpointReached { key, awaited, at, .. } = event {
        let kind = match awaited {
            Awaited::Ci => "task_complete",
            Awaited::Merge => "pr_created",
            Awaited::Blockers => "blocked",
        };
        let body = serde_json::to_string(event).unwrap_or_default();
        db.prepare_cached(
            "INSERT OR IGNORE INTO breakpoints (run_id, kind, key, body, reached_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![run_id.0, kind, key, body, at.0])?;
    }
    if let Event::BreakpointCleared { key, at, .. } = event {
        db.prepare_cached("UPDATE breakpoints SET cleared_at = ?2 WHERE key = ?1")?.execute(params![key, at.0])?;
    }
    Ok(())
}

fn insert_run(db: &Connection, run_id: &RunId, started: &RunStarted) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO run_metadata (run_id, objective, working_directory, test_command, tier_config_path, started_at, outcome)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'in_progress')",
    )?
    .execute(params![
        run_id.0,
        started.objective,
        started.working_directory,
        started.test_command,
        started.tier_config_path,
        started.started_at.0
    ])?;
    db.prepare_cached("INSERT INTO run_state (run_id, version, chain_head, chain_length) VALUES (?1, ?2, '', 0)")?
        .execute(params![run_id.0, VERSION])?;
    Ok(())
}

/// A run that is taken up again runs again.
fn reopen(db: &Connection, run_id: &RunId) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE run_state SET outcome = ?2, stop_reason = NULL, exit_code = NULL WHERE run_id = ?1")?
        .execute(params![run_id.0, RUNNING])?;
    db.prepare_cached(
        "UPDATE run_metadata SET outcome = 'in_progress', completed_at = NULL, resolved_tier_name = NULL,
         resolved_iteration = NULL WHERE run_id = ?1",
    )?
    .execute([&run_id.0])?;
    Ok(())
}

/// The columns of `tier_attempts` behind the id, in order.
pub(super) const ATTEMPT_COLUMNS: &str = "run_id, tier_index, tier_name, tier_mode, model_artisan, model_librarian, \
     model_critic, iteration, code_change_summary, test_status, failed_tests, error_messages, cost_usd, duration_ms, \
     timestamp, billed_artisan, billed_librarian, billed_critic, unknown_cost_usd, review";

fn insert_attempt(db: &Connection, run_id: &RunId, attempt: &Attempt) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT INTO tier_attempts ({ATTEMPT_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, \
         ?16, ?17, ?18, ?19, ?20)"
    );
    db.prepare_cached(&sql)?.execute(params![
        run_id.0,
        attempt.tier_index,
        attempt.tier_name,
        attempt.tier_mode.as_str(),
        attempt.model_artisan,
        attempt.model_librarian,
        attempt.model_critic,
        attempt.iteration,
        attempt.code_change_summary,
        attempt.test_status.as_str(),
        json_array(&attempt.failed_tests),
        json_array(&attempt.error_messages),
        attempt.cost.as_usd(),
        int(attempt.duration_ms),
        attempt.timestamp.0,
        attempt.billed_artisan,
        attempt.billed_librarian,
        attempt.billed_critic,
        attempt.unknown_cost.as_usd(),
        review_json(attempt),
    ])?;
    Ok(())
}

/// A review as its column holds it.
pub(super) fn review_json(attempt: &Attempt) -> Option<String> {
    attempt.review.as_ref().map(|review| serde_json::to_string(review).unwrap_or_default())
}

/// A list as the seeds' columns hold it.
pub(super) fn json_array(items: &[String]) -> String {
    serde_json::Value::from(items).to_string()
}

fn insert_reservation(
    db: &Connection,
    run_id: &RunId,
    call_id: &str,
    key: &str,
    (scope, target): (&CallScope, &str),
    reserved: MicroUsd,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT OR IGNORE INTO reservations (call_id, scope, run_id, target, call_scope, reserved_micro_usd)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        call_id,
        key,
        run_id.0,
        target,
        serde_json::to_string(scope).unwrap_or_default(),
        int(reserved.0)
    ])?;
    Ok(())
}

/// The columns of `model_calls` behind the id, in order.
pub(super) const RECEIPT_COLUMNS: &str = "call_id, run_id, tier_index, iteration, role, session_id, parent_session_id, \
     root_session_id, turn, attempt, provider, model, status, input_tokens, output_tokens, cache_read_tokens, \
     cache_write_tokens, reasoning_tokens, reserved_micro_usd, cost_micro_usd, latency_ms, error, reply, timestamp, seq, \
     billed_model, unknown_cost_micro_usd, agent_path";

fn insert_receipt(
    db: &Connection,
    run_id: &RunId,
    receipt: &Receipt,
    (seq, reply): (u64, Option<&str>),
) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT OR IGNORE INTO model_calls ({RECEIPT_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, \
         ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28)"
    );
    let usage = receipt.usage;
    db.prepare_cached(&sql)?.execute(params![
        receipt.call_id,
        run_id.0,
        receipt.scope.tier_index,
        receipt.scope.iteration,
        receipt.scope.role.as_str(),
        receipt.scope.session_id,
        receipt.scope.parent_session_id,
        receipt.scope.root_session_id,
        receipt.scope.turn,
        receipt.scope.attempt,
        receipt.target.provider,
        receipt.target.model,
        receipt.status.as_str(),
        usage.map(|usage| int(usage.input)),
        usage.map(|usage| int(usage.output)),
        usage.map(|usage| int(usage.cache_read)),
        usage.map(|usage| int(usage.cache_write)),
        usage.map(|usage| int(usage.reasoning)),
        int(receipt.reserved.0),
        int(receipt.cost.0),
        int(receipt.latency_ms),
        receipt.error,
        reply,
        receipt.timestamp.0,
        int(seq),
        receipt.billed_model,
        int(receipt.unknown_cost.0),
        receipt.scope.agent_path(),
    ])?;
    Ok(())
}

fn settle(db: &Connection, run_id: &RunId, receipt: &Receipt) -> rusqlite::Result<()> {
    // Once settled stays settled, whatever is replayed.
    let settle = "UPDATE reservations SET settled_micro_usd = ?2 WHERE call_id = ?1 AND settled_micro_usd IS NULL";
    if db.prepare_cached(settle)?.execute(params![receipt.call_id, int(receipt.charge().total().0)])? == 0 {
        // A call that nobody reserved counts all the same.
        for scope in [Scope::Run(run_id.clone()), Scope::Tier(run_id.clone(), receipt.scope.tier_index)] {
            let call = (&receipt.scope, receipt.target.to_string());
            insert_reservation(db, run_id, &receipt.call_id, &scope.to_string(), (call.0, &call.1), receipt.reserved)?;
        }
        db.prepare_cached(settle)?.execute(params![receipt.call_id, int(receipt.charge().total().0)])?;
    }
    Ok(())
}

fn finish(db: &Connection, run_id: &RunId, finished: &RunFinished) -> rusqlite::Result<()> {
    let outcome = &finished.outcome;
    db.prepare_cached("UPDATE run_state SET outcome = ?2, stop_reason = ?3, exit_code = ?4 WHERE run_id = ?1")?
        .execute(params![run_id.0, outcome.as_str(), finished.stop_reason, outcome.exit_code()])?;
    let (tier, iteration) = match resolved(outcome) {
        Some((tier_index, iteration)) => (tier_name(db, run_id, tier_index)?, Some(iteration)),
        None => (None, None),
    };
    // A parked run goes on later, and has not ended.
    let completed = (*outcome != Outcome::Parked).then_some(finished.finished_at.0.as_str());
    db.prepare_cached(
        "UPDATE run_metadata SET completed_at = ?2, outcome = ?3, resolved_tier_name = ?4, resolved_iteration = ?5
         WHERE run_id = ?1",
    )?
    .execute(params![run_id.0, completed, outcome.seed_outcome(), tier, iteration])?;
    db.prepare_cached(
        "UPDATE invocations SET ended_at = ?2 WHERE run_id = ?1
         AND invocation = (SELECT max(invocation) FROM invocations WHERE run_id = ?1)",
    )?
    .execute(params![run_id.0, finished.finished_at.0])?;
    Ok(())
}

/// Zero-based tier and iteration of a fix.
#[expect(clippy::wildcard_enum_match_arm, reason = "only a fix was made by an iteration")]
pub(super) fn resolved(outcome: &Outcome) -> Option<(u32, u32)> {
    match outcome {
        Outcome::Fixed { tier_index, iteration } => Some((*tier_index, *iteration)),
        _ => None,
    }
}

/// The name of a tier, from the run's first event.
pub(super) fn tier_name(db: &Connection, run_id: &RunId, tier_index: u32) -> rusqlite::Result<Option<String>> {
    let body: Option<String> = db
        .prepare_cached("SELECT body FROM events WHERE run_id = ?1 AND kind = 'run_started' ORDER BY seq LIMIT 1")?
        .query_row([&run_id.0], |row| row.get(0))
        .optional()?;
    let Some(Ok(Event::RunStarted(started))) = body.map(|body| serde_json::from_str::<Event>(&body)) else {
        return Ok(None);
    };
    let index = usize::try_from(tier_index).unwrap_or(usize::MAX);
    Ok(started.tiers.get(index).map(|tier| tier.name.clone()))
}
