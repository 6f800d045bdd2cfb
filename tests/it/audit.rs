//! The audit log under what only real processes can do to it: `kill -9`, and two of them at once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use secrecy::SecretString;
use upshift::audit::{CallReservation, Cap, Location, Reader, RunStatus, Scope, Store, locate};
use upshift::domain::attempt::{Attempt, AttemptStatus};
use upshift::domain::budget::Budget;
use upshift::domain::clock::Timestamp;
use upshift::domain::event::{Event, RunStarted};
use upshift::domain::ladder::{Mode, Role};
use upshift::domain::model_id::ModelId;
use upshift::domain::receipt::{CallScope, CallStatus, Receipt};
use upshift::domain::units::{MicroUsd, RunId};
use upshift::redact::Redactor;

/// Tells a re-executed test what to do: `task|home|run`.
const TASK: &str = "UPSHIFT_TEST_AUDIT_TASK";

/// What two processes may spend together, and in steps of what.
const SHARED_CAP: u64 = 10_000;
const STEP: u64 = 30;

fn location(home: &Path) -> Location {
    locate(Path::new(".upshift/audit.db"), &home.join("checkout"), &home.join("state"))
}

fn open(home: &Path) -> Store {
    let redactor = Redactor::new(&[SecretString::from("canary-secret-0123456789")]);
    Store::open(&location(home), Arc::new(redactor)).unwrap()
}

fn started(run: &str) -> RunStarted {
    RunStarted {
        run_id: RunId(run.to_owned()),
        objective: "make it green".to_owned(),
        working_directory: ".".to_owned(),
        test_command: "true".to_owned(),
        tier_config_path: "(none)".to_owned(),
        tiers: vec![],
        budget: Budget { max_cost: MicroUsd(1), max_iterations: 1, max_active_ms: 1 },
        audit_db: None,
        started_at: Timestamp("2026-02-17T14:23:01.456Z".to_owned()),
        command: None,
        task: None,
    }
}

fn attempt(iteration: u32) -> Event {
    Event::IterationFinished(Attempt {
        tier_index: 0,
        tier_name: "local".to_owned(),
        tier_mode: Mode::Simple,
        model_artisan: "anthropic/m".to_owned(),
        model_librarian: None,
        model_critic: None,
        billed_artisan: None,
        billed_librarian: None,
        billed_critic: None,
        review: None,
        iteration,
        code_change_summary: String::new(),
        test_status: AttemptStatus::Failed,
        failed_tests: vec!["adds".to_owned()],
        error_messages: vec![],
        cost: MicroUsd(STEP),
        unknown_cost: MicroUsd::ZERO,
        duration_ms: 1,
        timestamp: Timestamp("2026-02-17T14:24:01.456Z".to_owned()),
    })
}

fn call(id: String, iteration: u32) -> CallReservation {
    let scope = CallScope {
        tier_index: 0,
        iteration,
        role: Role::Artisan,
        agent: String::new(),
        session_id: "s".to_owned(),
        parent_session_id: None,
        root_session_id: "s".to_owned(),
        turn: 1,
        attempt: 1,
    };
    CallReservation { call_id: id, scope, target: ModelId::parse("anthropic/m").unwrap(), reserved: MicroUsd(STEP) }
}

fn receipt(call: &CallReservation) -> Receipt {
    Receipt {
        call_id: call.call_id.clone(),
        scope: call.scope.clone(),
        target: call.target.clone(),
        billed_model: None,
        status: CallStatus::Ok,
        usage: None,
        reserved: call.reserved,
        cost: call.reserved,
        unknown_cost: MicroUsd::ZERO,
        latency_ms: 1,
        error: None,
        timestamp: Timestamp("2026-02-17T14:23:05.000Z".to_owned()),
    }
}

/// Not a test by itself: what the other tests run in processes of their own.
#[test]
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "how a re-executed test is spoken with")]
fn process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let parts: Vec<&str> = task.split('|').collect();
    let [task, home, run] = parts[..] else { panic!("{task}") };
    let mut store = open(Path::new(home));
    store.begin_run(&started(run), std::process::id(), "{}").unwrap();
    let shared = [Cap { scope: Scope::PullRequest("o/r#1".to_owned()), max: MicroUsd(SHARED_CAP) }];
    for n in 1.. {
        let call = call(format!("{run}-{n}"), n);
        let granted = store.reserve(&call, if task == "share" { &shared } else { &[] }).is_ok();
        if !granted {
            break;
        }
        // Every other call is still under way when the process ends.
        if task == "write" || n % 2 == 0 {
            store.settle(&receipt(&call), None);
        }
        if task == "write" {
            store.append(&attempt(n), Some(&format!("{{\"n\":{n}}}")));
        }
        println!("\ndone {n}");
        std::io::stdout().flush().unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "the test itself is what is started")]
fn spawn(task: &str, home: &Path, run: &str) -> (Child, BufReader<ChildStdout>) {
    std::fs::create_dir_all(home.join("checkout")).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "audit::process", "--nocapture"])
        .env(TASK, format!("{task}|{}|{run}", home.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

/// The last number that a process said it had done, after `at_least` of them or at its end.
fn last_done(lines: &mut BufReader<ChildStdout>, at_least: Option<u32>) -> u32 {
    let mut last = 0;
    let mut line = String::new();
    while at_least.is_none_or(|wanted| last < wanted) && lines.read_line(&mut line).unwrap() > 0 {
        if let Some(n) = line.trim().strip_prefix("done ") {
            last = n.parse().unwrap();
        }
        line.clear();
    }
    last
}

#[test]
fn after_kill_9_every_finished_attempt_is_there_and_the_run_is_interrupted() {
    for at_least in [1, 3, 8] {
        let home = tempfile::tempdir().unwrap();
        let run = RunId("run-1".to_owned());
        let (mut child, mut lines) = spawn("write", home.path(), "run-1");
        let mut done = last_done(&mut lines, Some(at_least));
        assert_eq!(Reader::open(&location(home.path())).unwrap().load_run(&run).unwrap().status, RunStatus::Running);
        child.kill().unwrap();
        child.wait().unwrap();
        done = done.max(last_done(&mut lines, None));

        // The copy in the checkout alone has every finished attempt.
        let copy = Reader::open(&Location::file(&home.path().join("checkout/.upshift/audit.db"))).unwrap();
        let attempts =
            |events: &[Event]| events.iter().filter(|event| matches!(event, Event::IterationFinished(_))).count();
        let copied = copy.load_run(&run).unwrap();
        assert!(attempts(&copied.events) >= usize::try_from(done).unwrap(), "{done}");
        copy.verify(&run).unwrap();

        let reader = Reader::open(&location(home.path())).unwrap();
        let seen = reader.load_run(&run).unwrap();
        assert!(attempts(&seen.events) >= usize::try_from(done).unwrap(), "{done}");
        assert_eq!(seen.status, RunStatus::Interrupted);
        reader.verify(&run).unwrap();
        drop((copy, reader));

        // Whoever resumes knows which call was under way, if any, and goes on where it ended.
        let mut store = open(home.path());
        let open_calls = store.open_reservations(&run).unwrap();
        assert!(open_calls.len() <= 1, "{open_calls:?}");
        store.continue_run(&run, 1, &Timestamp("2026-02-18T00:00:00.000Z".to_owned())).unwrap();
        assert_eq!(store.load_run(&run).unwrap().status, RunStatus::Running);
    }
}

#[test]
fn two_processes_share_a_cap_and_a_log() {
    let home = tempfile::tempdir().unwrap();
    let mut children = [spawn("share", home.path(), "run-1"), spawn("share", home.path(), "run-2")];
    let mut granted = 0;
    for (child, lines) in &mut children {
        granted += u64::from(last_done(lines, None));
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(granted, SHARED_CAP / STEP);
    let reader = Reader::open(&location(home.path())).unwrap();
    for run in reader.list_runs().unwrap() {
        reader.verify(&run.run_id).unwrap();
        assert_eq!(run.status, RunStatus::Interrupted, "its process is gone and never finished it");
    }
    assert_eq!(reader.list_runs().unwrap().len(), 2);
}
