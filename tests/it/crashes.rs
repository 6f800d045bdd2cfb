//! Killed anywhere, continued, and nothing lost, paid or counted twice.

mod interrupts;
mod kills;
mod left_behind;
mod resumes;
mod starts;

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

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

/// Where a project's audit log lies: beside it.
fn database_of(project: &Project) -> PathBuf {
    let name = format!("{}.audit.db", project.path().file_name().expect("a name").to_string_lossy());
    project.path().parent().expect("a parent").join(name)
}

/// Every file below a folder with its text, but for git's, Python's and upshift's own.
fn files_of(folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let own =
                path.file_name().is_some_and(|name| name == ".git" || name == "__pycache__" || name == ".upshift");
            match (own, path.is_dir()) {
                (true, _) => {}
                (false, true) => folders.push(path),
                (false, false) => {
                    let name = path.strip_prefix(folder).expect("below").display().to_string();
                    files.push((name, String::from_utf8_lossy(&std::fs::read(&path).expect("bytes")).into_owned()));
                }
            }
        }
    }
    files.sort();
    files
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_signal_ends_the_run_with_a_row_a_report_and_the_start_restored() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        assert_ended_by(signal, code);
    }
}

/// Fails unless a signal in the middle of an iteration ends the run in order.
fn assert_ended_by(signal: &str, code: i32) {
    use std::process::Stdio;
    let project = Project::python();
    let database = database_of(&project);
    let (asked, was_asked) = std::sync::mpsc::channel();
    let server = ModelServer::start_with(crate::reports::priced(), move |request| match request.turn() {
        0 | 1 => script(request),
        _ => {
            asked.send(()).expect("somebody listens");
            Scripted::Hang
        }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let path = database.to_str().expect("text").to_owned();
    let tests = format!("mkdir -p left/.git; {}", project.test_command);
    let args = ["run", "--audit-db", &path, "--tiers", "claude-haiku-4-5 x2", "--test-command", &tests];
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
    assert!(!project.path().join("left/.git").exists(), "nothing stays that git runs");
    let log = Log::open(&database);
    assert_eq!(log.rows("SELECT test_status FROM tier_attempts"), [["error"]]);
    assert_eq!(log.value("SELECT outcome FROM run_state"), "interrupted");
    assert_eq!(log.number("SELECT COUNT(*) FROM model_calls WHERE status = 'aborted'"), 1);
    assert!(log.number("SELECT unknown_cost_micro_usd FROM model_calls WHERE status = 'aborted'") > 0);
    // The vendor's bill, the receipts, the rows and the report are one sum, whatever ended the run.
    let report = program.run(project.path(), &["report", "--format", "json", "--audit-db", &path]);
    let report: serde_json::Value = serde_json::from_str(&report.out).expect("JSON");
    let rows = "SELECT CAST(ROUND(SUM(cost_usd) * 1000000) AS INTEGER) FROM tier_attempts";
    let told = ["SELECT SUM(cost_micro_usd) FROM model_calls", rows].map(|sql| log.number(sql).unsigned_abs());
    let billed = server.billed().0;
    assert_eq!((report["cost_micro_usd"].as_u64(), told), (Some(billed), [billed; 2]), "{report:#}");
}

#[test]
fn runs_beside_each_other_do_not_end_each_others_tests() {
    let projects: Vec<Project> = (0..4).map(|_| Project::python()).collect();
    let server = ModelServer::start(script);
    let program = Program::with_anthropic(&server.url()).without_court();
    let running: Vec<_> = projects
        .iter()
        .map(|project| {
            project.write(
                "slow.sh",
                "i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i+1)); done; exec python3 -m unittest -v\n",
            );
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
