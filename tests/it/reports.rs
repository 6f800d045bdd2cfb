//! What a report says where something else failed: the log, the disk, the network, the process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// Mends the project in one turn and reports in the next.
fn mend(project: &Project) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    let edit = json!({ "path": project.source, "old_text": project.wrong, "new_text": project.right });
    move |request| match request.turn() {
        0 => Say::call("edit_file", edit.clone()).usage(1_000, 50).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}

/// A log outside of the checkout, where the live one is the one that is named.
fn database(folder: &Path) -> PathBuf {
    folder.join("audit.db")
}

fn run_json(program: &Program, project: &Project, database: &Path) -> (Said, Value) {
    let path = database.to_str().expect("text");
    let args = ["run", "--audit-db", path, "--tiers", "claude-haiku-4-5 x1", "--format", "json", "--test-command"];
    let said = program.run(project.path(), &[&args[..], &[project.test_command]].concat());
    let report = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.all()));
    (said, report)
}

#[test]
fn a2_a_log_that_is_locked_to_the_end_costs_the_report_nothing() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = database(folder.path());
    let held: Arc<Mutex<Option<Connection>>> = Arc::default();
    let (holder, path, mut answer) = (Arc::clone(&held), database.clone(), mend(&project));
    let server = ModelServer::start(move |request| {
        if request.turn() == 1 {
            let other = Connection::open(&path).expect("the log");
            other.execute_batch("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE").expect("the lock");
            *holder.lock().expect("nobody panicked") = Some(other);
        }
        answer(request)
    });
    let program = Program::with_anthropic(&server.url());
    let (said, report) = run_json(&program, &project, &database);
    assert_eq!((said.code, &report["outcome"]), (0, &json!("fixed")), "{}", said.all());
    let counts = |report: &Value| {
        (report["cost_micro_usd"].clone(), report["model_calls"].clone(), report["failing_after"].clone())
    };
    assert_eq!(counts(&report).1, json!(2), "{report:#}");

    // What the log could not take was kept beside it, and is the same.
    drop(held.lock().expect("nobody panicked").take());
    let later =
        program.run(project.path(), &["report", "--format", "json", "--audit-db", database.to_str().expect("text")]);
    let later: Value = serde_json::from_str(&later.out).unwrap_or_else(|error| panic!("{error}: {}", later.all()));
    assert_eq!((&later["outcome"], counts(&later)), (&json!("fixed"), counts(&report)));
    server.finish();
}

#[test]
fn a3_failed_calls_that_were_never_billed_are_told_apart_from_what_was() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = database(folder.path());
    let server = ModelServer::start(|_| Scripted::status(502, "bad gateway"));
    let program = Program::with_anthropic(&server.url());
    let (said, report) = run_json(&program, &project, &database);
    assert_eq!(said.code, 5, "{}", said.all());
    let at_most = report["unknown_cost"]["micro_usd"].as_u64().expect("an amount");
    assert_eq!((&report["cost_usd"], &report["cost_micro_usd"]), (&json!(0.0), &json!(0)), "{report:#}");
    assert!(at_most > 0, "{report:#}");

    // Receipts, rows and report say the same, and the reservation counts towards the cap.
    let log = Log::open(&database);
    let receipts = log.rows("SELECT SUM(cost_micro_usd), SUM(unknown_cost_micro_usd) FROM model_calls");
    let rows = log.rows(
        "SELECT CAST(ROUND(SUM(cost_usd) * 1000000) AS INTEGER), CAST(ROUND(SUM(unknown_cost_usd) * 1000000) AS INTEGER) \
         FROM tier_attempts",
    );
    assert_eq!((&receipts, &receipts), (&rows, &vec![vec!["0".to_owned(), at_most.to_string()]]));
    let counted = log.number("SELECT SUM(settled_micro_usd) FROM reservations WHERE scope LIKE 'run:%'");
    assert_eq!(counted.unsigned_abs(), at_most);
    let left = report["budget"]["cost_left"]["micro_usd"].as_u64();
    assert_eq!(left, Some(2_000_000 - at_most), "{report:#}");

    let path = database.to_str().expect("text");
    for format in ["text", "md"] {
        let shown = program.run(project.path(), &["report", "--format", format, "--audit-db", path]).out;
        assert!(shown.contains("$0.00 known, at most $0."), "{shown}");
        assert!(shown.contains(" unknown"), "{shown}");
    }
    server.finish();
}
