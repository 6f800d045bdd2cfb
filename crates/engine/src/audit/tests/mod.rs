//! Helpers that the tests of the log share: a run's events, and places to write them.

mod budget;
mod places;
mod schema;
mod segments;
mod spool;
mod store;
mod verify;

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use secrecy::SecretString;
use tempfile::TempDir;

use super::*;
use crate::domain::attempt::{Attempt, AttemptStatus};
use crate::domain::bill::Bill;
use crate::domain::budget::Budget;
use crate::domain::chat::{Reply, StopReason, Usage};
use crate::domain::clock::Timestamp;
use crate::domain::event::{DiffStat, Event, RunFinished, RunStarted};
use crate::domain::ladder::{Mode, Role, Tier};
use crate::domain::model_id::ModelId;
use crate::domain::outcome::Outcome;
use crate::domain::receipt::{CallScope, CallStatus, Receipt};
use crate::domain::units::{MicroUsd, RunId};
use crate::redact::Redactor;

/// Walks the hash chain of a run in the database file at `path`.
fn verify(path: &Path, run: &RunId) -> Result<Verified, VerifyError> {
    Reader::open(&Location::file(path))?.verify(run)
}

/// The lifecycle's first state.
const FIRST: &str = "{\"at\": 0}";

const SECRET: &str = "canary-secret-0123456789";

fn redactor() -> Arc<Redactor> {
    Arc::new(Redactor::new(&[SecretString::from(SECRET)]))
}

fn model() -> ModelId {
    ModelId::parse("claude-haiku-4-5").unwrap()
}

fn started(run: &str) -> RunStarted {
    let tier = |name: &str, mode| Tier {
        name: name.to_owned(),
        mode,
        max_iterations: 3,
        artisan: vec![model()],
        librarian: vec![model()],
        critic: vec![model()],
        max_cost: None,
    };
    RunStarted {
        run_id: RunId(run.to_owned()),
        objective: format!("make it green, not {SECRET}"),
        working_directory: "project".to_owned(),
        test_command: "cargo test".to_owned(),
        tier_config_path: "(inline)".to_owned(),
        tiers: vec![tier("local", Mode::Simple), tier("power", Mode::Full)],
        budget: Budget { max_cost: MicroUsd(2_000_000), max_iterations: 30, max_active_ms: 900_000 },
        audit_db: Some(".upshift/audit.db".to_owned()),
        started_at: Timestamp("2026-02-17T14:23:01.456Z".to_owned()),
        command: None,
        task: None,
    }
}

fn attempt(tier_index: u32, iteration: u32, cost: u64) -> Event {
    Event::IterationFinished(Attempt {
        tier_index,
        tier_name: if tier_index == 0 { "local" } else { "power" }.to_owned(),
        tier_mode: if tier_index == 0 { Mode::Simple } else { Mode::Full },
        model_artisan: model().to_string(),
        model_librarian: (tier_index == 1).then(|| model().to_string()),
        model_critic: (tier_index == 1).then(|| model().to_string()),
        billed_artisan: None,
        billed_librarian: None,
        billed_critic: None,
        review: None,
        iteration,
        code_change_summary: format!("tried {iteration}"),
        test_status: AttemptStatus::Failed,
        failed_tests: vec!["adds \"two\"".to_owned(), "ü::läuft".to_owned()],
        error_messages: vec![format!("left: {SECRET}\nright: 4")],
        cost: MicroUsd(cost),
        unknown_cost: MicroUsd::ZERO,
        duration_ms: 1_234,
        timestamp: Timestamp(format!("2026-02-17T14:2{iteration}:01.456Z")),
    })
}

fn finished(outcome: Outcome) -> Event {
    Event::RunFinished(RunFinished {
        outcome,
        stop_reason: "tests are green".to_owned(),
        recent_errors: vec![],
        still_failing: Some(vec![]),
        diff_stat: DiffStat::default(),
        kept: None,
        best_patch: None,
        unjudged_patch: None,
        refused_patch: None,
        limited: None,
        active_ms: 5_000,
        finished_at: Timestamp("2026-02-17T14:30:00.000Z".to_owned()),
    })
}

fn warning(message: &str) -> Event {
    Event::Warning { message: message.to_owned() }
}

fn scope(tier_index: u32, iteration: u32) -> CallScope {
    CallScope {
        tier_index,
        iteration,
        role: Role::Artisan,
        agent: String::new(),
        session_id: "s1".to_owned(),
        parent_session_id: None,
        root_session_id: "s1".to_owned(),
        turn: 1,
        attempt: 1,
    }
}

fn call(id: &str, micros: u64) -> CallReservation {
    CallReservation { call_id: id.to_owned(), scope: scope(0, 1), target: model(), reserved: MicroUsd(micros) }
}

fn receipt(call: &CallReservation, cost: u64) -> Receipt {
    Receipt {
        call_id: call.call_id.clone(),
        scope: call.scope.clone(),
        target: call.target.clone(),
        billed_model: Some("m-2026-01-01".to_owned()),
        status: CallStatus::Ok,
        usage: Some(Usage { input: 10, output: 20, cache_read: 3, cache_write: 4, reasoning: 5 }),
        reserved: call.reserved,
        cost: MicroUsd(cost),
        unknown_cost: MicroUsd::ZERO,
        latency_ms: 321,
        error: None,
        timestamp: Timestamp("2026-02-17T14:23:05.000Z".to_owned()),
    }
}

fn reply(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        tool_calls: vec![],
        stop: StopReason::EndTurn,
        usage: None,
        opaque: None,
        billed_model: None,
        bill: Bill::default(),
    }
}

/// A log in a folder of its own.
struct Place {
    folder: TempDir,
    location: Location,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::file(&folder.path().join("audit.db"));
        Self { folder, location }
    }

    fn path(&self) -> &Path {
        &self.location.live
    }

    fn open(&self) -> Store {
        Store::open(&self.location, redactor()).unwrap()
    }

    /// Opens the log and begins a run.
    fn begun(&self, run: &str) -> Store {
        let mut store = self.open();
        store.begin_run(&started(run), 42, FIRST).unwrap();
        store
    }

    /// The database as any other program sees it.
    fn sql(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn count(&self, table: &str) -> i64 {
        self.sql().query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    /// Everything on disk, as bytes: what must hold no secret.
    fn bytes(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap_or_default()).collect()
    }
}

fn run_cap(run: &str, max: u64) -> Cap {
    Cap { scope: Scope::Run(RunId(run.to_owned())), max: MicroUsd(max) }
}
