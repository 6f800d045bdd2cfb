//! What a person is told at the end of a backlog, and afterwards by `tasks status`, `runs` and `stats`.

use serde_json::{Value, json};

use super::merging::{mends_a_neighbour, neighbours};
use super::proven::with_list;
use super::{failing_of, git, lines_of, mends, project, subjects, work_off};
use crate::world::model_server::{ModelServer, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

fn call(program: &Program, project: &Project, words: &[&str]) -> Said {
    program.run(project.path(), words)
}

fn document(said: &Said) -> Value {
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.all()))
}

#[test]
fn a_critic_that_gives_no_readable_review_has_rejected_nothing() {
    let project = with_list(1);
    let server = ModelServer::start(|request| {
        let system = request.system();
        if system.contains("You review") {
            return Say::text("Hm.").usage(10, 10).into();
        }
        if system.contains("You brief") {
            return Say::call("final_report", json!({ "summary": "s", "status": "done" })).usage(10, 10).into();
        }
        mends(request)
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml", "--tiers", "claude-haiku-4-5 x1 full"]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(
        said.out.contains("gave no readable review") && said.err.contains("gave no readable review"),
        "{}",
        said.all()
    );
    assert!(!said.all().contains("rejects"), "{}", said.all());
    let report = call(&program, &project, &["report"]);
    assert!(report.out.contains("no readable review") && !report.out.contains("rejects"), "{}", report.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_places_to_look_at_in_a_tasks_change_stand_in_the_list_at_the_end() {
    let project = with_list(1);
    let server = ModelServer::start(|request| match request.turn() {
        0 => mends(request),
        1 => {
            Say::call("write_file", json!({ "path": "shop/new.py", "content": "VALUE = False\n" })).usage(10, 10).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(10, 10).into(),
    });
    let program = Program::with_anthropic(&server.url());
    let said = work_off(&program, &project, &["--tasks", "tasks.yml", "--format", "jsonl"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let last = lines_of(&said, "backlog").last().expect("the document");
    let remarks = last["tasks"][0]["remarks"].as_array().expect("remarks");
    assert!(remarks.iter().any(|remark| remark["file"] == "shop/new.py" && remark["kind"] == "not_needed"), "{last:#}");
    let again = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    let status = call(&program, &project, &["tasks", "status"]);
    for said in [again, status] {
        let place = "        - shop/new.py: the tests pass without this part of the change\n"
            .replace("shop/new.py", "`shop/new.py`");
        assert!(said.out.contains("to look at:\n") && said.out.contains(&place), "{}", said.all());
    }
    server.finish();
}

#[test]
fn a_fix_that_is_not_committed_counts_for_nothing_until_it_is_and_a_reverted_one_is_shown_as_open() {
    let project = with_list(1);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    project.write(".git/index.lock", "");
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!((said.code, subjects(&project).len()), (1, 1), "{}", said.all());
    assert!(said.out.contains("the same command continues"), "{}", said.all());
    let runs = document(&call(&program, &project, &["runs", "--format", "json"]));
    assert_eq!((&runs[0]["not_committed"], &runs[0]["fixed"]), (&json!(true), &json!(0)), "{runs:#}");
    let shown = call(&program, &project, &["runs"]);
    assert!(shown.out.contains("fixed, not committed") && shown.out.contains("0 of 1 fixed"), "{}", shown.all());
    let stats = document(&call(&program, &project, &["stats", "--format", "json"]));
    assert_eq!((&stats["fixed"], &stats["not_committed"]), (&json!(0), &json!(1)), "{stats:#}");
    assert!(call(&program, &project, &["stats"]).out.contains("1 proven fix is not on the branch"));
    std::fs::remove_file(project.path().join(".git/index.lock")).expect("removed");
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let runs = document(&call(&program, &project, &["runs", "--format", "json"]));
    assert_eq!((&runs[0]["not_committed"], &runs[0]["fixed"]), (&Value::Null, &json!(1)), "{runs:#}");
    let list = ["tasks", "list", "--tasks", "tasks.yml"];
    assert!(call(&program, &project, &list).out.contains("✔ names"));
    git(&project, &["revert", "--no-edit", "HEAD"]);
    for words in [&list[..], &["tasks", "status"]] {
        let said = call(&program, &project, words);
        assert!(said.code == 0 && !said.out.contains('✔'), "{}", said.all());
    }
    assert!(call(&program, &project, &["tasks", "status"]).out.contains("it is open again"));
    server.finish();
}

#[test]
fn tasks_that_all_wait_for_a_limit_say_which_and_until_when() {
    let project = with_list(2);
    let server = ModelServer::start(|_request| Scripted::status(429, "{}").header("retry-after", "7200"));
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!(said.code, 1, "{}", said.all());
    let first = said.out.lines().next().unwrap_or_default();
    assert!(first.starts_with("✖ 0 of 2 tasks completed") && !first.contains("no other task"), "{}", said.all());
    assert!(first.contains("2 tasks wait for the rate limit of 127.0.0.1") && first.contains(" until 20"), "{first}");
    assert!(first.ends_with(" UTC; the same command continues them then"), "{first}");
    let status = document(&call(&program, &project, &["tasks", "status", "--format", "json"]));
    assert!(status["tasks"][0]["limited"]["until"].is_string(), "{status:#}");
    server.finish();
}

#[test]
fn what_cannot_pay_for_a_call_is_begun_once_or_not_at_all_and_that_is_told() {
    // Less than the least call; and less than the first one of a run, of which the first task's share is less than the least.
    for (cap, begun) in [("0.006", 0), ("0.013", 2)] {
        let project = project();
        let server = ModelServer::start(mends);
        let program = Program::with_anthropic(&server.url()).without_court();
        let work = ["--tasks", "failing-tests", "--format", "jsonl", "--max-cost-usd", cap];
        let said = work_off(&program, &project, &work);
        assert_eq!((said.code, server.requests().len()), (3, 0), "{cap}: {}", said.all());
        assert_eq!(lines_of(&said, "iteration:started").count(), begun, "{cap}: {}", said.all());
        let last = lines_of(&said, "backlog").last().expect("the document");
        let tasks = last["tasks"].as_array().expect("tasks");
        let told =
            |task: &Value| task["reason"].as_str().is_some_and(|why| why.contains("does not allow another call"));
        assert!(tasks.len() == 3 && tasks.iter().all(told), "{cap}: {last:#}");
        let said = work_off(&program, &project, &["--tasks", "failing-tests", "--max-cost-usd", cap]);
        let first = said.out.lines().next().unwrap_or_default();
        assert!(first.contains("is not enough for 3 tasks; raise --max-cost-usd"), "{cap}: {}", said.all());
        server.finish();
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_status_after_workers_says_what_they_did() {
    let project = project();
    let server = ModelServer::start(|request| match (failing_of(request).contains("test_rates"), request.turn()) {
        (true, 0) => {
            let edit = json!({ "path": "shop/rates.py", "old_text": "names * 3", "new_text": "names * 5" });
            Say::call("edit_file", edit).usage(10, 10).into()
        }
        _ => mends(request),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let work = ["--tasks", "failing-tests", "--workers", "2", "--audit-db", "a.db"];
    let said = work_off(&program, &project, &work);
    assert_eq!((said.code, subjects(&project).len()), (1, 2), "{}", said.all());
    let status = call(&program, &project, &["tasks", "status", "--audit-db", "a.db"]);
    assert!(status.out.starts_with("idle: 2 of 3 tasks of failing-tests completed"), "{}", status.all());
    assert!(status.out.contains("✔ tests/test_names.py"), "{}", status.all());
    assert!(
        status.out.contains("✖ tests/test_rates.py") && status.out.contains("not mended: its run ended:"),
        "{}",
        status.all()
    );
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_command_that_is_told_for_what_collided_has_the_flags_that_were_given() {
    let project = neighbours();
    let server = ModelServer::start(mends_a_neighbour);
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = super::merging::Jobs::new();
    for name in ["one", "two"] {
        let said = jobs.run(&program, &project, name, &["--tasks", "tasks.yml", "--task", name]);
        assert_eq!(said.code, 0, "{}", said.all());
    }
    let logs = jobs.logs.to_str().expect("a path");
    let said = call(
        &program,
        &project,
        &[
            "merge",
            logs,
            "--tasks",
            "tasks.yml",
            "--audit-db",
            "my logs/a.db",
            "--test-command",
            "python3 -m unittest -v",
        ],
    );
    let told =
        "`upshift run --tasks tasks.yml '--test-command=python3 -m unittest -v' '--audit-db=my logs/a.db' --task two`";
    let other =
        "`upshift run --tasks tasks.yml '--audit-db=my logs/a.db' '--test-command=python3 -m unittest -v' --task two`";
    assert!(said.out.contains(told) || said.out.contains(other), "{}", said.all());
    server.finish();
}
