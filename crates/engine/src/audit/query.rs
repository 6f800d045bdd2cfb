//! Queries of a log. Free functions over a connection, which [`super::Store`] and [`super::Reader`] share.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::batch::Chain;
use super::error::{AuditError, explain};
use super::rows::{RUNNING, micros};
use super::types::{CallReservation, LoadedRun, RunStatus, RunSummary};
use crate::domain::chat::Reply;
use crate::domain::clock::Timestamp;
use crate::domain::event::Event;
use crate::domain::kept_report::KeptReport;
use crate::domain::model_id::ModelId;
use crate::domain::outcome::Outcome;
use crate::domain::receipt::Receipt;
use crate::domain::units::{Charge, MicroUsd, RunId};

/// Why a query gave nothing: SQLite's trouble, or content that is not what we write.
#[derive(Debug)]
pub(super) enum QueryError {
    Sql(rusqlite::Error),
    Unreadable(String),
    NoSuchRun,
}

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// The events of a run, in order.
pub(super) fn events(db: &Connection, run: &RunId) -> Result<Vec<Event>, QueryError> {
    let mut query = db.prepare_cached("SELECT seq, body FROM events WHERE run_id = ?1 ORDER BY seq")?;
    let mut rows = query.query([&run.0])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, body): (i64, String) = (row.get(0)?, row.get(1)?);
        let event = serde_json::from_str(&body)
            .map_err(|error| QueryError::Unreadable(format!("event {seq} of run {run}: {error}")))?;
        events.push(event);
    }
    Ok(events)
}

/// When each of them was recorded. `None` for one of an older version.
pub(super) fn times(db: &Connection, run: &RunId) -> Result<Vec<Option<Timestamp>>, QueryError> {
    let mut query = db.prepare_cached("SELECT recorded_at FROM events WHERE run_id = ?1 ORDER BY seq")?;
    let times = query.query_map([&run.0], |row| Ok(row.get::<_, Option<String>>(0)?.map(Timestamp)))?;
    Ok(times.collect::<Result<_, _>>()?)
}

/// Everything of a run. `alive` says whether a process holds it.
pub(super) fn load(db: &Connection, run: &RunId, alive: impl Fn(&RunId) -> bool) -> Result<LoadedRun, QueryError> {
    let known: Option<String> = db
        .prepare_cached("SELECT coalesce(outcome, 'in_progress') FROM run_metadata WHERE run_id = ?1")?
        .query_row([&run.0], |row| row.get(0))
        .optional()?;
    let Some(seed_outcome) = known else { return Err(QueryError::NoSuchRun) };
    let events = events(db, run)?;
    let row: Option<(String, Option<String>, Option<u8>)> = db
        .prepare_cached("SELECT outcome, state, exit_code FROM run_state WHERE run_id = ?1")?
        .query_row([&run.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let ours = row.as_ref().map(|(outcome, ..)| outcome.as_str());
    let status = status(ours, &seed_outcome, last_outcome(&events), || alive(run));
    let (state, exit_code) = row.map_or((None, None), |(_, state, exit_code)| (state, exit_code));
    let invocations = db
        .prepare_cached("SELECT coalesce(max(invocation), 0) FROM invocations WHERE run_id = ?1")?
        .query_row([&run.0], |row| row.get(0))?;
    let lacks = db
        .prepare_cached(
            "SELECT max(coalesce(chain_length, 0) - (SELECT count(*) FROM events e WHERE e.run_id = ?1), 0) FROM run_state WHERE run_id = ?1",
        )?
        .query_row([&run.0], |row| row.get::<_, i64>(0))
        .optional()?
        .map_or(0, |lacks| u64::try_from(lacks).unwrap_or(0));
    Ok(LoadedRun { run_id: run.clone(), events, state, status, exit_code, invocations, lacks })
}

fn status(ours: Option<&str>, seed_outcome: &str, outcome: Option<Outcome>, alive: impl FnOnce() -> bool) -> RunStatus {
    // Rows that the older program wrote have no state of ours, and say it in their own word.
    let unfinished = ours.map_or(seed_outcome == "in_progress", |outcome| outcome == RUNNING);
    match (unfinished, unfinished && alive()) {
        (true, true) => RunStatus::Running,
        (true, false) => RunStatus::Interrupted,
        (false, _) => RunStatus::Ended(outcome),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only the last event says how a run ended")]
fn last_outcome(events: &[Event]) -> Option<Outcome> {
    events.iter().rev().find_map(|event| match event {
        Event::RunFinished(finished) => Some(finished.outcome.clone()),
        _ => None,
    })
}

/// All runs, the latest first.
pub(super) fn list(db: &Connection, alive: impl Fn(&RunId) -> bool) -> Result<Vec<RunSummary>, QueryError> {
    let mut query = db.prepare_cached(
        "SELECT m.run_id, m.objective, m.started_at, coalesce(m.outcome, 'in_progress'), s.outcome,
           (SELECT body FROM events e WHERE e.run_id = m.run_id AND e.kind = 'run_finished' ORDER BY seq DESC LIMIT 1)
         FROM run_metadata m LEFT JOIN run_state s ON s.run_id = m.run_id
         ORDER BY m.started_at DESC, m.rowid DESC",
    )?;
    let mut rows = query.query([])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let run_id = RunId(row.get(0)?);
        let seed_outcome: String = row.get(3)?;
        let ours: Option<String> = row.get(4)?;
        let finished: Option<String> = row.get(5)?;
        // A run that was taken up again has several ends: the query brings the last.
        let outcome = finished.and_then(|body| serde_json::from_str::<Event>(&body).ok());
        let outcome = outcome.and_then(|event| last_outcome(&[event]));
        let status = status(ours.as_deref(), &seed_outcome, outcome, || alive(&run_id));
        runs.push(RunSummary { objective: row.get(1)?, started_at: row.get(2)?, run_id, status, seed_outcome });
    }
    Ok(runs)
}

/// Ids of all runs.
pub(super) fn run_ids(db: &Connection) -> rusqlite::Result<Vec<String>> {
    db.prepare_cached("SELECT run_id FROM run_metadata")?.query_map([], |row| row.get(0))?.collect()
}

/// Runs whose id is or begins with the prefix, the latest first. An exact id stands alone.
pub(super) fn with_prefix(db: &Connection, prefix: &str) -> Result<Vec<RunId>, QueryError> {
    let prefix = prefix.trim().to_ascii_lowercase();
    let mut query = db.prepare_cached(
        "SELECT run_id FROM run_metadata WHERE lower(substr(run_id, 1, length(?1))) = ?1 ORDER BY started_at DESC, rowid DESC",
    )?;
    let found: Vec<RunId> = query.query_map([&prefix], |row| row.get(0).map(RunId))?.collect::<Result<_, _>>()?;
    // An id may be the beginning of another one, and could not be named else.
    let exact = found.iter().find(|run| run.0.eq_ignore_ascii_case(&prefix)).cloned();
    Ok(exact.map_or(found, |run| vec![run]))
}

/// Runs of which the log holds something but not the row that names them: it was removed. The latest first.
pub(super) fn without_name(db: &Connection, prefix: &str) -> Result<Vec<RunId>, QueryError> {
    let mut query = db.prepare_cached(
        "SELECT run_id FROM events WHERE lower(substr(run_id, 1, length(?1))) = lower(?1) \
         AND run_id NOT IN (SELECT run_id FROM run_metadata) GROUP BY run_id ORDER BY max(id) DESC",
    )?;
    Ok(query.query_map([prefix.trim()], |row| row.get(0).map(RunId))?.collect::<Result<_, _>>()?)
}

/// The run that began last. One of this log's own comes before those that were joined from others, whatever time they name.
pub(super) fn latest(db: &Connection) -> Result<Option<RunId>, QueryError> {
    // `false` sorts before `true`, so that the joined runs come last.
    let own = if has_segments(db)? { "run_id IN (SELECT run_id FROM segments), " } else { "" };
    let run = db
        .prepare_cached(&format!("SELECT run_id FROM run_metadata ORDER BY {own}started_at DESC, rowid DESC LIMIT 1"))?
        .query_row([], |row| row.get(0).map(RunId))
        .optional()?;
    Ok(run)
}

/// Reports of a log that were kept under a key, with the runs that kept them, the newest first.
pub(super) fn kept_reports(db: &Connection, key: &str) -> Result<Vec<(RunId, KeptReport)>, QueryError> {
    let mut query = db.prepare_cached(
        "SELECT run_id, body FROM events WHERE kind = 'report_kept' AND json_extract(body, '$.key') = ?1 ORDER BY id DESC",
    )?;
    let rows = query.query_map([key], |row| Ok((RunId(row.get(0)?), row.get::<_, String>(1)?)))?;
    let mut kept = Vec::new();
    for row in rows {
        let (run, body) = row?;
        // One of a newer version that cannot be read is as none: the report is made again.
        if let Ok(Event::ReportKept(report)) = serde_json::from_str(&body) {
            kept.push((run, report));
        }
    }
    Ok(kept)
}

/// Whether a run was joined from another log.
pub(super) fn is_joined(db: &Connection, run: &RunId) -> Result<bool, QueryError> {
    if !has_segments(db)? {
        return Ok(false);
    }
    let mut query = db.prepare_cached("SELECT 1 FROM segments WHERE run_id = ?1")?;
    Ok(query.exists([&run.0])?)
}

/// Whether a log knows joined runs. One of an older version does not.
fn has_segments(db: &Connection) -> Result<bool, QueryError> {
    Ok(db.prepare_cached("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'segments'")?.exists([])?)
}

/// Calls that were reserved and never settled, in the order reserved.
pub(super) fn open_reservations(db: &Connection, run: &RunId) -> Result<Vec<CallReservation>, QueryError> {
    let mut query = db.prepare_cached(
        "SELECT call_id, call_scope, target, reserved_micro_usd FROM reservations
         WHERE run_id = ?1 AND settled_micro_usd IS NULL GROUP BY call_id ORDER BY min(id)",
    )?;
    let mut rows = query.query([&run.0])?;
    let mut calls = Vec::new();
    while let Some(row) = rows.next()? {
        let call_id: String = row.get(0)?;
        let (scope, target): (String, String) = (row.get(1)?, row.get(2)?);
        let unreadable = |what: &str| QueryError::Unreadable(format!("the {what} of reservation {call_id}"));
        calls.push(CallReservation {
            scope: serde_json::from_str(&scope).map_err(|_serde| unreadable("scope"))?,
            target: ModelId::parse(&target).ok_or_else(|| unreadable("target"))?,
            reserved: micros(row.get(3)?),
            call_id,
        });
    }
    Ok(calls)
}

/// Settled calls of one iteration with their replies, in the order settled.
pub(super) fn replies(
    db: &Connection,
    run: &RunId,
    tier_index: u32,
    iteration: u32,
) -> Result<Vec<(Receipt, Option<Reply>)>, QueryError> {
    let mut query = db.prepare_cached(
        "SELECT c.call_id, e.body, c.reply FROM model_calls c
         JOIN events e ON e.run_id = c.run_id AND e.seq = c.seq
         WHERE c.run_id = ?1 AND c.tier_index = ?2 AND c.iteration = ?3 ORDER BY c.id",
    )?;
    let mut rows = query.query(params![run.0, tier_index, iteration])?;
    let mut replies = Vec::new();
    while let Some(row) = rows.next()? {
        let (call_id, body, reply): (String, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let unreadable = |what: &str| QueryError::Unreadable(format!("the {what} of call {call_id}"));
        let Ok(Event::CallSettled(receipt)) = serde_json::from_str(&body) else { return Err(unreadable("receipt")) };
        let reply =
            reply.map(|reply| serde_json::from_str(&reply).map_err(|_serde| unreadable("reply"))).transpose()?;
        replies.push((receipt, reply));
    }
    Ok(replies)
}

/// Whether a hash is that of a link in a run's chain.
pub(super) fn holds_link(db: &Connection, run: &RunId, hash: &str) -> rusqlite::Result<bool> {
    db.query_row("SELECT EXISTS (SELECT 1 FROM events WHERE run_id = ?1 AND hash = ?2)", [&run.0, hash], |row| {
        row.get(0)
    })
}

/// The place of a link by its hash.
pub(super) fn place_of_link(db: &Connection, run: &RunId, hash: &str) -> rusqlite::Result<Option<u64>> {
    let place: Option<i64> = db
        .query_row("SELECT seq FROM events WHERE run_id = ?1 AND hash = ?2", [&run.0, hash], |row| row.get(0))
        .optional()?;
    Ok(place.and_then(|place| u64::try_from(place).ok()))
}

/// Whether a call has its receipt.
pub(super) fn is_settled(db: &Connection, call_id: &str) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM model_calls WHERE call_id = ?1")?.exists([call_id])
}

/// The cost of a scope's calls, and the amount that is set aside for those under way.
pub(super) fn sums(db: &Connection, scope: &str) -> rusqlite::Result<(MicroUsd, MicroUsd)> {
    db.prepare_cached(
        "SELECT coalesce(sum(settled_micro_usd), 0),
           coalesce(sum(CASE WHEN settled_micro_usd IS NULL THEN reserved_micro_usd END), 0)
         FROM reservations WHERE scope = ?1",
    )?
    .query_row([scope], |row| Ok((micros(row.get(0)?), micros(row.get(1)?))))
}

/// The scopes that a run has used.
pub(super) fn scopes(db: &Connection, run: &RunId) -> rusqlite::Result<Vec<String>> {
    db.prepare_cached("SELECT DISTINCT scope FROM reservations WHERE run_id = ?1")?
        .query_map([&run.0], |row| row.get(0))?
        .collect()
}

/// A kept snapshot.
pub(super) fn snapshot(db: &Connection, run: &RunId, kind: &str, session: &str) -> Result<Option<String>, QueryError> {
    let body = db
        .prepare_cached("SELECT body FROM snapshots WHERE run_id = ?1 AND kind = ?2 AND session_id = ?3")?
        .query_row(params![run.0, kind, session], |row| row.get(0))
        .optional()?;
    Ok(body)
}

/// The end of a run's chain.
pub(super) fn chain(db: &Connection, run: &RunId) -> Result<Chain, QueryError> {
    let end: Option<(String, i64)> = db
        .prepare_cached("SELECT chain_head, chain_length FROM run_state WHERE run_id = ?1")?
        .query_row([&run.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (head, length) = end.ok_or(QueryError::NoSuchRun)?;
    Ok(Chain { run_id: run.clone(), head, length: u64::try_from(length).unwrap_or(0) })
}

/// Calls under way in a run: scope, call and what is set aside, once per scope.
pub(super) fn open_calls(db: &Connection, run: &RunId) -> rusqlite::Result<Vec<(String, String, MicroUsd)>> {
    db.prepare_cached(
        "SELECT scope, call_id, reserved_micro_usd FROM reservations WHERE run_id = ?1 AND settled_micro_usd IS NULL",
    )?
    .query_map([&run.0], |row| Ok((row.get(0)?, row.get(1)?, micros(row.get(2)?))))?
    .collect()
}

/// The calls of a run that have their receipts, and the amount at which each is settled. Of one iteration alone where it is named.
pub(super) fn charges(db: &Connection, run: &RunId, of: Option<(u32, u32)>) -> rusqlite::Result<Vec<(String, Charge)>> {
    let (tier_index, iteration) = of.unzip();
    db.prepare_cached(
        "SELECT call_id, cost_micro_usd, unknown_cost_micro_usd FROM model_calls
         WHERE run_id = ?1 AND (?2 IS NULL OR tier_index = ?2 AND iteration = ?3)",
    )?
    .query_map(params![run.0, tier_index, iteration], |row| {
        Ok((row.get(0)?, Charge { known: micros(row.get(1)?), unknown: micros(row.get(2)?) }))
    })?
    .collect()
}

/// A query's trouble as the user is told of it.
pub(super) fn told(path: &Path, asked: &str, error: QueryError) -> AuditError {
    match error {
        QueryError::Sql(error) => explain(path, &error),
        QueryError::Unreadable(why) => AuditError::Damaged { path: path.to_owned(), why },
        QueryError::NoSuchRun => AuditError::NoSuchRun { prefix: asked.to_owned() },
    }
}
