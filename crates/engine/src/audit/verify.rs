//! Walking a run's hash chain: is the log what was written?
//!
//! Detected: any change, removal or addition among a run's events, attempts and receipts, a cut tail, and a start or an end that the run's
//! own rows do not bear out. Not detected from the log alone: a chain that was computed anew from the start, or a tail that was cut
//! together with `run_state`. For that the head is quoted elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _};

use super::batch::{Chain, digest, link_hash};
use super::kept_trees;
use super::query::{QueryError, told};
use super::rows::{
    ATTEMPT_COLUMNS, RECEIPT_COLUMNS, RUNNING, heading_of, int, json_array, resolved, review_json, tier_name,
};
use super::types::{BrokenLink, Scope, StateLink, Verified, VerifyError};
use crate::domain::attempt::Attempt;
use crate::domain::event::{Event, RunFinished, RunStarted};
use crate::domain::outcome::Outcome;
use crate::domain::receipt::Receipt;
use crate::domain::units::{MicroUsd, RunId, TreeId};

/// A row of a table of ours, as the database holds it.
struct Row {
    rowid: i64,
    values: Vec<Value>,
}

/// The state of a walk between the links and the end.
struct Walk<'a> {
    run: &'a RunId,
    chain: Chain,
    attempts: std::vec::IntoIter<Row>,
    last_attempt: i64,
    receipts: BTreeMap<String, Row>,
    started: Option<RunStarted>,
    /// The end of the run, unless an invocation came after it.
    finished: Option<RunFinished>,
    /// The last link that vouches for a state, and the state's hash.
    state: Option<(StateLink, String)>,
    reservations: BTreeMap<String, (Value, Value)>,
    db: &'a Connection,
    /// The trees of which no event has told yet.
    trees: BTreeSet<String>,
}

/// See [`super::Reader::verify`].
pub(super) fn verify(db: &Connection, path: &Path, run: &RunId) -> Result<Verified, VerifyError> {
    walk(db, run).map_err(|trouble| match trouble {
        Trouble::Broken(link) => VerifyError::Broken(link),
        Trouble::Unchained => VerifyError::Unchained(run.clone()),
        Trouble::Query(error) => VerifyError::Log(told(path, &run.0, error)),
    })
}

enum Trouble {
    Broken(BrokenLink),
    Unchained,
    Query(QueryError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Query(QueryError::Sql(error))
    }
}

impl From<BrokenLink> for Trouble {
    fn from(link: BrokenLink) -> Self {
        Self::Broken(link)
    }
}

fn broken(table: &'static str, rowid: i64, why: impl Into<String>) -> BrokenLink {
    BrokenLink { table, rowid, why: why.into() }
}

fn walk(db: &Connection, run: &RunId) -> Result<Verified, Trouble> {
    let metadata = fetch(db, "run_metadata", METADATA_COLUMNS, run)?.pop();
    let state = fetch(db, "run_state", "chain_head, chain_length, outcome, stop_reason, exit_code, state", run)?.pop();
    let (Some(metadata), Some(state)) = (&metadata, &state) else {
        return Err(match (&metadata, &state) {
            (None, None) => Trouble::Query(QueryError::NoSuchRun),
            // The older program wrote the run's row alone. With events the missing row was removed.
            (Some(_), None) if no_events(db, run)? => Trouble::Unchained,
            (Some(_), _) => broken("run_state", 0, "the run's row is gone").into(),
            (None, _) => broken("run_metadata", 0, "the run's row is gone").into(),
        });
    };
    let mut walk = Walk {
        run,
        chain: Chain::new(run.clone()),
        attempts: fetch(db, "tier_attempts", ATTEMPT_COLUMNS, run)?.into_iter(),
        last_attempt: 0,
        receipts: fetch(db, "model_calls", RECEIPT_COLUMNS, run)?
            .into_iter()
            .filter_map(|row| Some((text_at(&row, 0)?, row)))
            .collect(),
        started: None,
        finished: None,
        state: None,
        reservations: reservations(db, run)?,
        db,
        trees: kept_trees::names(db, run)?.into_iter().collect(),
    };
    let mut query =
        // Read from the first link on: the hash of each depends on the one before.
        db.prepare("SELECT id, seq, kind, body, attached, hash FROM events WHERE run_id = ?1 ORDER BY seq")?;
    let mut rows = query.query([&run.0])?;
    while let Some(row) = rows.next()? {
        let event = EventRow {
            rowid: row.get(0)?,
            seq: row.get(1)?,
            kind: row.get(2)?,
            body: row.get(3)?,
            attached: row.get(4)?,
            hash: row.get(5)?,
        };
        walk.link(&event)?;
    }
    walk.end(state)?;
    walk.bear_out(db, metadata, state)?;
    let saved = walk.state.map(|(link, _)| link);
    Ok(Verified { head: walk.chain.head, links: walk.chain.length, state: saved })
}

/// The amounts set aside and settled for each call of a run, as far as they count for the run.
fn reservations(db: &Connection, run: &RunId) -> rusqlite::Result<BTreeMap<String, (Value, Value)>> {
    db.prepare("SELECT call_id, reserved_micro_usd, settled_micro_usd FROM reservations WHERE scope = ?1")?
        .query_map([Scope::Run(run.clone()).to_string()], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
        .collect()
}

struct EventRow {
    rowid: i64,
    seq: i64,
    kind: String,
    body: String,
    attached: String,
    hash: String,
}

impl Walk<'_> {
    fn link(&mut self, row: &EventRow) -> Result<(), Trouble> {
        let expected = self.chain.length + 1;
        // A removed link shows as a gap, also where its neighbours are whole.
        if row.seq != int(expected) {
            return Err(broken("events", row.rowid, format!("link {expected} is missing before it")).into());
        }
        let hash = link_hash(&self.chain.head, self.run, expected, &row.body, &row.attached);
        // The kind is a column of its own for queries, which no hash covers.
        if hash != row.hash || heading_of(&row.body).event != row.kind {
            return Err(broken("events", row.rowid, format!("link {expected} is not what was written")).into());
        }
        self.chain.length = expected;
        self.chain.head = hash;
        let event = serde_json::from_str::<Event>(&row.body)
            .map_err(|error| Trouble::Query(QueryError::Unreadable(format!("event {expected}: {error}"))))?;
        self.rows_of(&event, row)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events have no rows to compare")]
    fn rows_of(&mut self, event: &Event, row: &EventRow) -> Result<(), Trouble> {
        match event {
            Event::RunStarted(started) => self.started = Some(started.clone()),
            // A run that was taken up again has not ended, whatever stood before.
            Event::InvocationStarted { .. } => self.finished = None,
            Event::RunFinished(finished) => self.finished = Some(finished.clone()),
            Event::IterationFinished(attempt) => self.attempt(attempt)?,
            Event::CallReserved { call_id, reserved, .. } => self.reserved(call_id, *reserved)?,
            Event::CallSettled(receipt) => return self.receipt(receipt, &row.attached),
            Event::TreeRecorded { withheld: Some(_), .. } => return Ok(()),
            Event::TreeRecorded { tree, withheld: None } => return self.tree(tree, &row.attached),
            _ => {}
        }
        // Only the last one counts: a state replaces the one before.
        if !row.attached.is_empty() {
            let link = StateLink { seq: self.chain.length, hash: self.chain.head.clone() };
            self.state = Some((link, row.attached.clone()));
        }
        Ok(())
    }

    /// A tree must be what was written, or a run goes on with another elsewhere.
    fn tree(&mut self, tree: &TreeId, attached: &str) -> Result<(), Trouble> {
        self.trees.remove(&tree.0);
        match kept_trees::fault(self.db, self.run, tree, attached).map_err(Trouble::Query)? {
            Some((table, why)) => Err(broken(table, 0, why).into()),
            None => Ok(()),
        }
    }

    /// Checks that a reservation is still the amount that was set aside, or caps mean nothing.
    fn reserved(&self, call: &str, reserved: MicroUsd) -> Result<(), Trouble> {
        let found = self.reservations.get(call).map(|(reserved, _)| reserved);
        if found == Some(&Value::Integer(int(reserved.0))) {
            return Ok(());
        }
        Err(broken("reservations", 0, format!("it is not what was reserved for call {call}")).into())
    }

    fn attempt(&mut self, attempt: &Attempt) -> Result<(), Trouble> {
        let what = format!("iteration {} of tier {}", attempt.iteration, attempt.tier_index + 1);
        let Some(row) = self.attempts.next() else {
            return Err(broken("tier_attempts", self.last_attempt, format!("{what} is missing after it")).into());
        };
        self.last_attempt = row.rowid;
        if row.values != attempt_values(self.run, attempt) {
            return Err(broken("tier_attempts", row.rowid, format!("it is not what was written of {what}")).into());
        }
        Ok(())
    }

    fn receipt(&mut self, receipt: &Receipt, attached: &str) -> Result<(), Trouble> {
        let Some(row) = self.receipts.remove(&receipt.call_id) else {
            return Err(broken("model_calls", 0, format!("the receipt of call {} is missing", receipt.call_id)).into());
        };
        let reply = text_at(&row, REPLY);
        let written = receipt_values(self.run, receipt, reply.clone(), self.chain.length);
        let settled = self.reservations.get(&receipt.call_id).map(|(_, settled)| settled);
        if settled != Some(&Value::Integer(int(receipt.charge().total().0))) {
            let why = format!("it is not what call {} was settled at", receipt.call_id);
            return Err(broken("reservations", 0, why).into());
        }
        if row.values != written || reply.as_deref().map(digest).unwrap_or_default() != attached {
            let why = format!("it is not what was written of call {}", receipt.call_id);
            return Err(broken("model_calls", row.rowid, why).into());
        }
        Ok(())
    }

    /// After the last link: nothing may be left over, and the head must be the one that was noted.
    fn end(&mut self, state: &Row) -> Result<(), Trouble> {
        if let Some(extra) = self.attempts.next() {
            return Err(broken("tier_attempts", extra.rowid, "no event names it").into());
        }
        if let Some((call, extra)) = self.receipts.pop_first() {
            return Err(broken("model_calls", extra.rowid, format!("no event names call {call}")).into());
        }
        if let Some(tree) = self.trees.pop_first() {
            return Err(broken("trees", 0, format!("no event names tree {tree}")).into());
        }
        // A cut tail leaves a chain that is whole in itself, and does not end where the run's row says.
        let head = [Value::Text(self.chain.head.clone()), Value::Integer(int(self.chain.length))];
        if state.values.get(..2) != Some(&head[..]) {
            let why = format!("the chain ends at link {}, but that is not its noted head", self.chain.length);
            return Err(broken("run_state", state.rowid, why).into());
        }
        if let Some((link, hash)) = &self.state
            && text_at(state, STATE).as_deref().map(digest).as_ref() != Some(hash)
        {
            let why = format!("its state is not the one that link {} was recorded with", link.seq);
            return Err(broken("run_state", state.rowid, why).into());
        }
        Ok(())
    }

    /// The run's own rows must say what its first and last event say.
    fn bear_out(&self, db: &Connection, metadata: &Row, state: &Row) -> Result<(), Trouble> {
        let Some(started) = &self.started else {
            return Err(broken("events", 0, "the run's start is missing").into());
        };
        let outcome = self.finished.as_ref().map(|finished| &finished.outcome);
        let tier = match outcome.and_then(resolved) {
            Some((tier_index, _)) => tier_name(db, self.run, tier_index)?,
            None => None,
        };
        // A parked run may go on, and has no time of completion.
        let completed = self.finished.as_ref().filter(|finished| finished.outcome != Outcome::Parked);
        let expected = vec![
            text(&self.run.0),
            text(&started.objective),
            text(&started.working_directory),
            text(&started.test_command),
            text(&started.tier_config_path),
            text(&started.started_at.0),
            optional(completed.map(|finished| finished.finished_at.0.as_str())),
            text(outcome.map_or("in_progress", Outcome::seed_outcome)),
            optional(tier.as_deref()),
            outcome.and_then(resolved).map_or(Value::Null, |(_, iteration)| Value::Integer(iteration.into())),
        ];
        if metadata.values != expected {
            return Err(broken("run_metadata", metadata.rowid, "it is not what the run's events say").into());
        }
        let expected = [
            text(outcome.map_or(RUNNING, Outcome::as_str)),
            optional(self.finished.as_ref().map(|finished| finished.stop_reason.as_str())),
            outcome.map_or(Value::Null, |outcome| Value::Integer(outcome.exit_code().into())),
        ];
        if state.values.get(2..STATE) != Some(&expected[..]) {
            return Err(broken("run_state", state.rowid, "it is not what the run's last event says").into());
        }
        Ok(())
    }
}

const METADATA_COLUMNS: &str = "run_id, objective, working_directory, test_command, tier_config_path, started_at, \
     completed_at, outcome, resolved_tier_name, resolved_iteration";

/// Where the state stands among what is asked of `run_state`.
const STATE: usize = 5;

/// Where the reply stands in [`RECEIPT_COLUMNS`].
const REPLY: usize = 22;

fn no_events(db: &Connection, run: &RunId) -> rusqlite::Result<bool> {
    let any = db
        .prepare("SELECT 1 FROM events WHERE run_id = ?1 LIMIT 1")?
        .query_row([&run.0], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok(any.is_none())
}

fn fetch(db: &Connection, table: &str, columns: &str, run: &RunId) -> rusqlite::Result<Vec<Row>> {
    let mut query = db.prepare(&format!("SELECT rowid, {columns} FROM {table} WHERE run_id = ?1 ORDER BY rowid"))?;
    let width = query.column_count();
    let rows = query.query_map([&run.0], |row| {
        let values = (1..width).map(|column| row.get(column)).collect::<Result<_, _>>()?;
        Ok(Row { rowid: row.get(0)?, values })
    })?;
    rows.collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, self::text)
}

fn text_at(row: &Row, column: usize) -> Option<String> {
    match row.values.get(column) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn attempt_values(run: &RunId, attempt: &Attempt) -> Vec<Value> {
    vec![
        text(&run.0),
        Value::Integer(attempt.tier_index.into()),
        text(&attempt.tier_name),
        text(attempt.tier_mode.as_str()),
        text(&attempt.model_artisan),
        optional(attempt.model_librarian.as_deref()),
        optional(attempt.model_critic.as_deref()),
        Value::Integer(attempt.iteration.into()),
        text(&attempt.code_change_summary),
        text(attempt.test_status.as_str()),
        text(&json_array(&attempt.failed_tests)),
        text(&json_array(&attempt.error_messages)),
        Value::Real(attempt.cost.as_usd()),
        Value::Integer(int(attempt.duration_ms)),
        text(&attempt.timestamp.0),
        optional(attempt.billed_artisan.as_deref()),
        optional(attempt.billed_librarian.as_deref()),
        optional(attempt.billed_critic.as_deref()),
        Value::Real(attempt.unknown_cost.as_usd()),
        optional(review_json(attempt).as_deref()),
    ]
}

fn receipt_values(run: &RunId, receipt: &Receipt, reply: Option<String>, seq: u64) -> Vec<Value> {
    let tokens = |count: Option<u64>| count.map_or(Value::Null, |count| Value::Integer(int(count)));
    let usage = receipt.usage;
    vec![
        text(&receipt.call_id),
        text(&run.0),
        Value::Integer(receipt.scope.tier_index.into()),
        Value::Integer(receipt.scope.iteration.into()),
        text(receipt.scope.role.as_str()),
        text(&receipt.scope.session_id),
        optional(receipt.scope.parent_session_id.as_deref()),
        text(&receipt.scope.root_session_id),
        Value::Integer(receipt.scope.turn.into()),
        Value::Integer(receipt.scope.attempt.into()),
        text(&receipt.target.provider),
        text(&receipt.target.model),
        text(receipt.status.as_str()),
        tokens(usage.map(|usage| usage.input)),
        tokens(usage.map(|usage| usage.output)),
        tokens(usage.map(|usage| usage.cache_read)),
        tokens(usage.map(|usage| usage.cache_write)),
        tokens(usage.map(|usage| usage.reasoning)),
        Value::Integer(int(receipt.reserved.0)),
        Value::Integer(int(receipt.cost.0)),
        Value::Integer(int(receipt.latency_ms)),
        optional(receipt.error.as_deref()),
        reply.map_or(Value::Null, Value::Text),
        text(&receipt.timestamp.0),
        Value::Integer(int(seq)),
        optional(receipt.billed_model.as_deref()),
        Value::Integer(int(receipt.unknown_cost.0)),
        text(&receipt.scope.agent_path()),
    ]
}
