//! Killed anywhere, continued, and nothing lost, paid or counted twice.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// The events of a run that is fixed at the second tier; each is once the last thing that a process does.
const EVENTS: [&str; 15] = [
    "run_started:1",
    "invocation_started:1",
    "baseline_finished:1",
    "tier_started:1",
    "iteration_started:1",
    "session_started:1",
    "call_reserved:2",
    "call_settled:2",
    "tool_finished:2",
    "session_finished:1",
    "tests_finished:1",
    "iteration_finished:1",
    "escalated:1",
    "call_settled:5",
    "run_finished:1",
];

/// Tier 1 makes it worse, tier 2 mends it; answers from the conversation alone, so that a restart does not confuse it.
fn script(request: &Request) -> Scripted {
    let right = request.model.contains("sonnet");
    match request.turn() {
        0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(900, 40).into(),
        1 => {
            assert!(
                request.tool_results()[0].content.contains("sum(prices) - 1"),
                "each tier starts from the best tree"
            );
            let new = if right { "sum(prices)" } else { "sum(prices) - 2" };
            let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": new });
            Say::call("edit_file", edit).usage(1_200, 60).into()
        }
        _ => Say::call("final_report", json!({ "summary": "changed it", "status": "done" })).usage(1_400, 30).into(),
    }
}

fn start(program: &Program, project: &Project, database: &Path) -> Said {
    let path = database.to_str().expect("text");
    let ladder = "claude-haiku-4-5 x1 > claude-sonnet-4-5 x1";
    program.run(project.path(), &["run", "--audit-db", path, "--tiers", ladder, "--test-command", project.test_command])
}

fn database_of(project: &Project) -> PathBuf {
    let name = format!("{}.audit.db", project.path().file_name().expect("a name").to_string_lossy());
    project.path().parent().expect("a parent").join(name)
}

#[test]
fn killed_after_any_event_a_run_is_continued_to_the_same_end() {
    for crash in EVENTS {
        let project = Project::python();
        let git = project.commit();
        let database = database_of(&project);
        let server = ModelServer::start(script);
        let dying = Program::with_anthropic(&server.url()).with("UPSHIFT_CRASH_AFTER", crash);
        let killed = start(&dying, &project, &database);
        assert_eq!(killed.code, -9, "{crash}: {}", killed.all());
        let path = database.to_str().expect("text").to_owned();

        let calm = dying.with("UPSHIFT_CRASH_AFTER", "");
        let shown = calm.run(project.path(), &["report", "--audit-db", &path]);
        assert_eq!(shown.code, 0, "{crash}: {}", shown.all());
        let ended = crash.starts_with("run_finished");
        assert_eq!(
            shown.out.contains("interrupted"),
            !ended,
            "{crash}: a dead run is not shown as running: {}",
            shown.out
        );

        let resumed = calm.run(project.path(), &["resume", "--audit-db", &path]);
        if ended {
            assert_eq!(resumed.code, 2, "an ended run is not continued: {}", resumed.all());
        } else {
            assert_eq!(resumed.code, 0, "{crash}: {}", resumed.all());
            assert!(resumed.out.starts_with("✔ Fixed by Tier 2"), "{crash}: {}", resumed.all());
        }
        assert!(project.read("shop/cart.py").ends_with("sum(prices)\n"), "{crash}: the fix is in the tree");
        assert_eq!(project.git_digest(), git, "{crash}: the git directory is whole");
        check_books(&Log::open(&database), crash, server.requests().len());
        server.finish();
    }
}

/// No receipt twice, one row per iteration, and every sum the same.
fn check_books(log: &Log, crash: &str, requests: usize) {
    let calls = log.number("SELECT COUNT(*) FROM model_calls WHERE status <> 'lost'");
    assert_eq!(calls, i64::try_from(requests).expect("small"), "{crash}: a receipt per request");
    assert_eq!(calls, 6, "{crash}: nothing was asked twice");
    let rows = log.rows("SELECT tier_index, iteration, test_status FROM tier_attempts ORDER BY id");
    assert_eq!(rows, [["0", "1", "failed"], ["1", "1", "passed"]], "{crash}");
    let receipts = log.number("SELECT SUM(cost_micro_usd) FROM model_calls");
    let attempts = log.number("SELECT CAST(ROUND(SUM(cost_usd) * 1000000) AS INTEGER) FROM tier_attempts");
    assert_eq!(receipts, attempts, "{crash}");
    assert_eq!(log.value("SELECT outcome FROM run_metadata"), "success", "{crash}");
}

#[test]
fn a_signal_ends_the_run_with_a_row_a_report_and_the_start_restored() {
    use std::process::Stdio;
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let project = Project::python();
        let database = database_of(&project);
        let (asked, was_asked) = std::sync::mpsc::channel();
        let server = ModelServer::start(move |request| match request.turn() {
            0 | 1 => script(request),
            _ => {
                asked.send(()).expect("somebody listens");
                Scripted::Hang
            }
        });
        let program = Program::with_anthropic(&server.url());
        let path = database.to_str().expect("text").to_owned();
        let args =
            ["run", "--audit-db", &path, "--tiers", "claude-haiku-4-5 x2", "--test-command", project.test_command];
        let mut command = program.command(project.path(), &args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        was_asked.recv_timeout(std::time::Duration::from_secs(60)).expect("the third turn is asked for");
        let began = std::time::Instant::now();
        let kill = std::process::Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        let said = Said::from(child.wait_with_output().expect("ended"));
        assert!(began.elapsed().as_secs() < 7, "inside seven seconds");
        assert_eq!(said.code, code, "{}", said.all());
        assert!(said.out.contains("nterrupted"), "{}", said.all());
        assert!(project.read("shop/cart.py").contains("sum(prices) - 1"), "the start is restored");
        let log = Log::open(&database);
        assert_eq!(log.rows("SELECT test_status FROM tier_attempts"), [["error"]]);
        assert_eq!(log.value("SELECT outcome FROM run_state"), "interrupted");
        assert_eq!(log.number("SELECT COUNT(*) FROM model_calls WHERE status = 'aborted'"), 1);
        assert!(log.number("SELECT cost_micro_usd FROM model_calls WHERE status = 'aborted'") > 0);
    }
}

#[test]
fn runs_beside_each_other_do_not_end_each_others_tests() {
    let projects: Vec<Project> = (0..4).map(|_| Project::python()).collect();
    let server = ModelServer::start(script);
    let program = Program::with_anthropic(&server.url());
    let running: Vec<_> = projects
        .iter()
        .map(|project| {
            project.write("slow.sh", "i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done; exec python3 -m unittest -v\n");
            let args = ["run", "--no-audit", "--tiers", "claude-sonnet-4-5 x1", "--test-command", "sh slow.sh"];
            let mut command = program.command(project.path(), &args);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().expect("started")
        })
        .collect();
    for child in running {
        let said = Said::from(child.wait_with_output().expect("ended"));
        assert_eq!(said.code, 0, "{}", said.all());
    }
    server.finish();
}
