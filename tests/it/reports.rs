//! What a report says where something else failed: the log, the disk, the network, the process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use serde_json::{Value, json};

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
