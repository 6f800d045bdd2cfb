//! What `resume` must know of the process before: recorded replies, recordings, files with long names, configuration.

use serde_json::json;

use super::{database_of, files_of};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// Reads, mends and reports in one session.
fn mends(request: &Request) -> Scripted {
    let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
    let report = json!({ "summary": "mended", "status": "done" });
    match request.turn() {
        0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(900, 40).into(),
        1 => Say::call("edit_file", edit).usage(900, 40).into(),
        _ => Say::call("final_report", report).usage(900, 40).into(),
    }
}

/// `upshift run` that dies after an event, and the `upshift resume` that follows.
fn killed_and_resumed(program: Program, project: &Project, crash: &str, args: &[&str]) -> Said {
    let database = database_of(project).to_str().expect("text").to_owned();
    let dying = program.with("UPSHIFT_CRASH_AFTER", crash);
    let mut all = vec!["run", "--audit-db", &database, "--test-command", project.test_command];
    all.extend_from_slice(args);
    let killed = dying.run(project.path(), &all);
    assert_eq!(killed.code, -9, "{crash}: {}", killed.all());
    dying.with("UPSHIFT_CRASH_AFTER", "").run(project.path(), &["resume", "--audit-db", &database])
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_recording_and_its_replay_go_on_where_they_were_killed() {
    for crash in ["call_settled:1", "call_reserved:2", "tool_finished:2", "session_finished:1"] {
        let project = Project::python();
        let tape = project.path().with_extension("tape.json");
        let tape = tape.to_str().expect("text").to_owned();
        let server = ModelServer::start(mends);
        let args = ["--tiers", "claude-haiku-4-5 x1", "--record", &tape];
        let recorded =
            killed_and_resumed(Program::with_anthropic(&server.url()).without_court(), &project, crash, &args);
        assert_eq!(recorded.code, 0, "{crash}: {}", recorded.all());
        assert_eq!(server.requests().len(), 3);
        server.finish();

        let ladder = format!("cassette/{tape} x1");
        let again = Project::python();
        let replayed = killed_and_resumed(Program::new(), &again, crash, &["--tiers", &ladder]);
        assert_eq!(replayed.code, 0, "{crash}: {}", replayed.all());
        assert_eq!(files_of(again.path()), files_of(project.path()), "{crash}");
        let calls = Log::open(&database_of(&again)).rows("SELECT status FROM model_calls WHERE status <> 'lost'");
        assert_eq!(calls, [["ok"], ["ok"], ["ok"]], "{crash}");
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_change_made_in_text_under_a_long_path_is_undone_before_it_is_made_again() {
    let long = "a".repeat(140);
    for crash in ["call_settled:1", "tool_finished:1"] {
        let project = Project::python();
        project.write("shop/cart.py", &format!("from shop.{long}.deep import total\n"));
        let path = format!("shop/{long}/deep.py");
        project.write(&path, "def total(prices):\n    return sum(prices) - 1\n");
        project.write(
            ".github/upshift.yml",
            "models: { ollama/tiny: { tools: false, contextWindow: 32000, maxOutputTokens: 4000 } }\n",
        );
        let block = format!(
            "{path}\n<<<<<<< SEARCH\n    return sum(prices) - 1\n=======\n    return sum(prices)\n>>>>>>> REPLACE\n"
        );
        let server = ModelServer::start(move |request| match request.turn() {
            0 => Say::text(block.clone()).into(),
            _ => Say::text("DONE mended").into(),
        });
        let program = Program::new().with("OLLAMA_HOST", &server.url());
        let said = killed_and_resumed(program, &project, crash, &["--tiers", "ollama/tiny x1"]);
        assert_eq!(said.code, 0, "{crash}: {}", said.all());
        assert!(!said.err.contains("✖ failed"), "{crash}: the change is made on the file as it was: {}", said.err);
        assert!(said.out.contains("Change:  1 file, +1 −1"), "{crash}: {}", said.out);
        server.finish();
    }
}

#[test]
fn the_log_is_found_where_the_configuration_puts_it() {
    let project = Project::python();
    project.write(".github/upshift.yml", "global: { auditDbPath: logs/runs.db }\n");
    let server = ModelServer::start(mends);
    let dying = Program::with_anthropic(&server.url()).without_court().with("UPSHIFT_CRASH_AFTER", "tool_finished:2");
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    assert_eq!(dying.run(project.path(), &args).code, -9);
    let program = dying.with("UPSHIFT_CRASH_AFTER", "");
    let resumed = program.run(project.path(), &["resume"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    let report = program.run(project.path(), &["report"]);
    assert_eq!(report.out, resumed.out, "{}", report.all());
    assert!(project.path().join("logs/runs.db").is_file());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_judges_is_watched_after_a_resume_as_before() {
    let project = Project::python();
    let server = ModelServer::start(mends);
    let args = ["--tiers", "claude-haiku-4-5 x1", "--format", "json"];
    let resumed = killed_and_resumed(Program::with_anthropic(&server.url()), &project, "tool_finished:2", &args);
    let report: serde_json::Value = serde_json::from_str(&resumed.out).expect("a report");
    let untouched = report["proof"].as_array().expect("proof").iter().find(|one| one["evidence"] == "untouched");
    assert_eq!(untouched.expect("the evidence")["status"], "held", "{}", resumed.all());
    server.finish();
}
