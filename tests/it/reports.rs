//! What a report says where something else failed: the log, the disk, the network, the process.

mod artifact;
#[cfg(target_os = "linux")]
mod disks;
mod early;

mod interrupted;
mod ledger;
mod looking;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use serde_json::{Value, json};
use upshift::domain::catalogue::Price;

use crate::action::step::Job;
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Options, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// No test waits longer for another thread.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Mends the project in one turn and reports in the next.
fn mend(project: &Project) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    let edit = json!({ "path": project.source, "old_text": project.wrong, "new_text": project.right });
    move |request| match request.turn() {
        0 => Say::call("edit_file", edit.clone()).usage(1_000, 50).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}

/// A server that bills what its vendor would.
pub(crate) fn priced() -> Options {
    let haiku = Price { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 };
    Options::default().price("claude-haiku-4-5", haiku)
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
#[ignore = "slow: `.ci/run` runs it"]
fn a2_a_log_that_is_locked_to_the_end_costs_the_report_nothing() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = database(folder.path());
    let (held, script) = locks(database.clone(), mend(&project));
    let server = ModelServer::start_with(priced(), script);
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
    assert_eq!(counts(&report).0, json!(server.finish().0), "the vendor's bill");
    assert_the_log_says(&database, &report);
}

/// Receipts and rows are what the report says, once the log has taken what waited beside it.
fn assert_the_log_says(database: &Path, report: &Value) {
    let redactor = Arc::new(upshift::redact::Redactor::new(&[]));
    drop(upshift::audit::Store::open(&upshift::audit::Location::file(database), redactor).expect("the log"));
    let log = Log::open(database);
    let number = |sql: &str| json!(log.number(sql));
    let counted = [
        ("the receipts", "SELECT COALESCE(SUM(cost_micro_usd), 0) FROM model_calls", &report["cost_micro_usd"]),
        ("the calls", "SELECT COUNT(*) FROM model_calls", &report["model_calls"]),
        (
            "the rows",
            "SELECT CAST(ROUND(COALESCE(SUM(cost_usd), 0) * 1000000) AS INTEGER) FROM tier_attempts",
            &report["cost_micro_usd"],
        ),
        ("the iterations", "SELECT COUNT(*) FROM tier_attempts", &report["iterations"]),
    ];
    for (name, sql, said) in counted {
        assert_eq!(&number(sql), said, "{name}: {report:#}");
    }
}

/// Locks the log from the second turn of a run on, until the returned lock is dropped.
fn locks(
    path: PathBuf,
    mut answer: impl FnMut(&Request) -> Scripted + Send + 'static,
) -> (Arc<Mutex<Option<Connection>>>, impl FnMut(&Request) -> Scripted + Send + 'static) {
    let held: Arc<Mutex<Option<Connection>>> = Arc::default();
    let holder = Arc::clone(&held);
    let mut is_locked = false;
    let script = move |request: &Request| {
        // A second iteration has a second turn, too.
        if request.turn() == 1 && !std::mem::replace(&mut is_locked, true) {
            let other = Connection::open(&path).expect("the log");
            other.execute_batch("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE").expect("the lock");
            *holder.lock().expect("nobody panicked") = Some(other);
        }
        answer(request)
    };
    (held, script)
}

#[test]
fn a2_a_step_of_the_action_tells_a_run_whose_log_is_locked_whole() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = database(folder.path());
    let (held, script) = locks(database.clone(), mend(&project));
    let server = ModelServer::start_with(priced(), script);
    let job = Job::new(&server.url())
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x1")
        .with("UPSHIFT_AUDIT_DB", database.to_str().expect("text"));
    let said = job.run(&project);
    assert_eq!(said.code, 0, "{}", said.all());
    let billed = server.finish().0;
    let outputs = job.outputs();
    let cost = format!("{}.{:06}", billed / 1_000_000, billed % 1_000_000);
    assert_eq!((outputs["outcome"].as_str(), outputs["cost-usd"].as_str()), ("fixed", cost.as_str()));
    assert!(job.text("summary").contains("1 test fixed in `cart.py` (+1 −1)"), "{}", job.text("summary"));
    let page = Path::new(&outputs["report-path"]).with_file_name("report.html");
    let page = std::fs::read_to_string(page).expect("the page");
    for part in
        ["Conversation with the artisan", "Ran 2 tests in ", "<span class=\"added\">+    return sum(prices)\n</span>"]
    {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(!page.contains("The log has no"), "{page}");
    drop(held.lock().expect("nobody panicked").take());

    // The page that is made later of what waits beside the log is the same.
    let path = database.to_str().expect("text");
    let later = job.call(&project, &["report", "--format", "html", "--audit-db", path]).out;
    assert!(later.contains("Conversation with the artisan") && later.contains("Ran 2 tests in "), "{later}");
    let report = job.call(&project, &["report", "--format", "json", "--audit-db", path]).out;
    assert_the_log_says(&database, &serde_json::from_str(&report).expect("JSON"));
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

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a6_an_approval_with_a_critical_issue_rejects_and_every_issue_is_kept() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = database(folder.path());
    let mut answer = mend(&project);
    let server = ModelServer::start(move |request| {
        let system = request.system();
        if system.contains("You review") {
            let issues = json!(["minor: the name `total`", "critical security: prices are evaluated"]);
            let review = json!({ "verdict": "approve", "summary": "fine", "issues": issues });
            return Say::call("final_report", review).usage(10, 10).into();
        }
        if system.contains("You brief") {
            return Say::call("final_report", json!({ "summary": "s", "status": "done" })).usage(10, 10).into();
        }
        answer(request)
    });
    let program = Program::with_anthropic(&server.url());
    let path = database.to_str().expect("text");
    let args = ["run", "--audit-db", path, "--tiers", "claude-haiku-4-5 x1 full", "--test-command"];
    let said = program.run(project.path(), &[&args[..], &[project.test_command]].concat());
    assert_eq!(said.code, 1, "{}", said.all());
    let first = said.out.lines().next().unwrap_or_default();
    assert!(first.starts_with("✖ Found a fix for 1 test in cart.py (+1 −1), $0.0"), "{first}");
    assert!(first.ends_with(", but the critic rejects the change"), "{first}");
    assert!(
        said.out.contains("    - critical security: prices are evaluated\n    - minor: the name `total`\n"),
        "{}",
        said.out
    );

    let review = Log::open(&database).value("SELECT review FROM tier_attempts");
    let review: Value = serde_json::from_str(&review).expect("JSON");
    let kept = json!({ "verdict": "approve", "overruled": true, "summary": "fine", "issues": [
        { "severity": "minor", "said": "the name `total`" },
        { "severity": "critical", "kind": "security", "said": "prices are evaluated" },
    ] });
    assert_eq!(review, kept);
    let report = program.run(project.path(), &["report", "--format", "json", "--audit-db", path]).out;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["tiers"][0]["attempts"][0]["review"], kept, "{report:#}");
    server.finish();
}

#[test]
fn a7_ctrl_c_lets_the_session_report_and_what_it_did_is_judged() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = database(folder.path());
    let pid: Arc<Mutex<Option<u32>>> = Arc::default();
    let (child_pid, mut answer) = (Arc::clone(&pid), mend(&project));
    let (edited, interrupted) = std::sync::mpsc::channel::<()>();
    let interrupted = Mutex::new(interrupted);
    let server = ModelServer::start(move |request| {
        if request.turn() == 1 {
            interrupted.lock().expect("nobody panicked").recv_timeout(PATIENCE).expect("the test goes on");
            let pid = child_pid.lock().expect("nobody panicked").expect("started");
            let kill = std::process::Command::new("kill").args(["-INT", &pid.to_string()]).status();
            assert!(kill.expect("kill").success());
            // The reply to the call under way is taken; the next turn is the last.
            return Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(10, 10).into();
        }
        if request.turn() == 2 {
            assert!(request.body.to_string().contains("This is your last turn"), "{}", request.body);
            return Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(10, 10).into();
        }
        answer(request)
    });
    let program = Program::with_anthropic(&server.url());
    let path = database.to_str().expect("text");
    let args = ["run", "--audit-db", path, "--tiers", "claude-haiku-4-5 x3", "--test-command", project.test_command];
    let mut command = program.command(project.path(), &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    *pid.lock().expect("nobody panicked") = Some(child.id());
    edited.send(()).expect("somebody listens");
    let said = Said::from(child.wait_with_output().expect("ended"));
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(project.read(project.source).contains(project.right), "what it did stays, for it is green");
    let log = Log::open(&database);
    assert_eq!(log.rows("SELECT test_status FROM tier_attempts"), [["passed"]]);
    server.finish();
}

#[test]
fn a7_ctrl_c_ends_the_run_once_the_session_has_reported_in_vain() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = database(folder.path());
    let pid: Arc<Mutex<Option<u32>>> = Arc::default();
    let child_pid = Arc::clone(&pid);
    let (started, is_started) = std::sync::mpsc::channel::<()>();
    let is_started = Mutex::new(is_started);
    let server = ModelServer::start(move |request| {
        if request.turn() == 0 {
            is_started.lock().expect("nobody panicked").recv_timeout(PATIENCE).expect("the test goes on");
            let pid = child_pid.lock().expect("nobody panicked").expect("started");
            let kill = std::process::Command::new("kill").args(["-INT", &pid.to_string()]).status();
            assert!(kill.expect("kill").success());
            return Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(10, 10).into();
        }
        Say::call("final_report", json!({ "summary": "nothing yet", "status": "done" })).usage(10, 10).into()
    });
    let program = Program::with_anthropic(&server.url());
    let path = database.to_str().expect("text");
    let args = ["run", "--audit-db", path, "--tiers", "claude-haiku-4-5 x3", "--test-command", project.test_command];
    let mut command = program.command(project.path(), &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    *pid.lock().expect("nobody panicked") = Some(child.id());
    started.send(()).expect("somebody listens");
    let said = Said::from(child.wait_with_output().expect("ended"));
    assert_eq!((said.code, server.requests().len()), (130, 2), "{}", said.all());
    assert!(said.out.starts_with("✖ Interrupted by SIGINT during Tier 1"), "{}", said.out);
    assert!(said.err.contains("nothing yet"), "its report is told: {}", said.err);
    server.finish();
}
