//! How a backlog stands in words, money and commits: each end as it was, and a person's lines in no commit of a task.

use serde_json::json;

use super::proven::with_list;
use super::steering::Working;
use super::theirs::asked_and_waits;
use super::{failing_of, git, mends, project, subjects, work_off};
use crate::world::model_server::{ModelServer, Say, Scripted};
use crate::world::program::Program;
use crate::world::project::Project;

fn listed(project: &Project, tasks: &str) {
    project.write("tasks.yml", &format!("tasks:\n{tasks}"));
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "--message=list"]);
}

fn program(server: &ModelServer) -> Program {
    Program::with_anthropic(&server.url()).without_court()
}

#[test]
fn a_command_that_cannot_be_run_is_no_task_that_is_done() {
    let (project, server) = (project(), ModelServer::start(mends));
    listed(&project, "  - {id: lint, title: Lint, command: 'nonexistent-linter .'}\n");
    for more in [&[][..], &["--workers", "2"]] {
        let said = work_off(&program(&server), &project, &[&["--tasks", "tasks.yml"], more].concat());
        assert_eq!(said.code, 1, "{}", said.all());
        assert!(said.out.contains("does not work here"), "{}", said.all());
    }
    assert!(server.requests().is_empty());
    server.finish();
}

#[test]
fn a_cap_of_iterations_is_told_as_one_and_no_second_turn_is_paid() {
    let project = project();
    let server = ModelServer::start(|request| {
        if failing_of(request).contains("test_names") {
            return Say::call("final_report", json!({ "summary": "no", "status": "done" })).usage(9, 9).into();
        }
        mends(request)
    });
    let args = ["--tasks", "failing-tests", "--max-iterations", "1", "--tiers", "claude-haiku-4-5 x2"];
    let said = work_off(&program(&server), &project, &args);
    assert_eq!((said.code, subjects(&project).len()), (1, 2), "{}", said.all());
    assert!(said.out.contains("max_iterations reached (1)") && !said.out.contains("share"), "{}", said.all());
    let of_names = server.requests().iter().filter(|one| failing_of(one).contains("test_names")).count();
    assert_eq!(of_names, 1, "{}", said.all());
    server.finish();
}

#[test]
fn tasks_that_may_not_begin_have_no_share_and_unknown_costs_stand_in_their_lines() {
    let project = project();
    let server = ModelServer::start(|_request| Scripted::status(500, "{}"));
    let args = ["--tasks", "failing-tests", "--max-tasks", "1", "--max-cost-usd", "0.90"];
    let said = work_off(&program(&server), &project, &args);
    assert!(said.err.contains("(at most $0.9000)"), "{}", said.all());
    let line = said.out.lines().find(|line| line.trim_start().starts_with('✖') && line.contains("test_names"));
    assert!(line.is_some_and(|line| line.contains("known, at most $")), "{}", said.all());
    server.finish();
}

#[test]
fn lines_of_a_person_while_a_backlog_is_interrupted_are_in_no_commit_of_a_task() {
    let project = with_list(1);
    let (asked, go, server) = asked_and_waits(mends);
    let program = program(&server);
    let working = Working::start_with(&program, &project, "tasks.yml", &[]);
    asked.recv().expect("a call");
    working.terminate();
    assert_eq!(working.end(), 143);
    drop(go);
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    project.write("shop/names.py", &format!("{}# mine\n", project.read("shop/names.py")));
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert!(said.code == 2 && said.err.contains("commit or stash"), "{}", said.all());
    assert_eq!(subjects(&project).len(), 1, "no task has a commit: {}", said.all());
    assert!(project.read("shop/names.py").ends_with("# mine\n"));
    git(&project, &["commit", "--quiet", "--all", "--message=mine"]);
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!((said.code, subjects(&project).len()), (0, 3), "{}", said.all());
    assert!(project.read("shop/names.py").ends_with("# mine\n"));
    server.finish();
}

#[test]
fn a_fix_that_a_filter_keeps_from_its_commit_is_undone_and_the_others_go_on() {
    let (project, server) = (with_list(2), ModelServer::start(mends));
    git(&project, &["config", "filter.up.clean", "cat"]);
    project.write(".gitattributes", "shop/names.py filter=up\n");
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=filter"]);
    let before = project.read("shop/names.py");
    let said = work_off(&program(&server), &project, &["--tasks", "tasks.yml"]);
    assert!(said.code == 1 && said.out.contains("1 of 2 tasks completed"), "{}", said.all());
    assert!(said.out.contains("passes git's filter") && said.out.contains("--last-patch` prints it"), "{}", said.all());
    assert_eq!((project.read("shop/names.py"), git(&project, &["status", "--porcelain"])), (before, String::new()));
    server.finish();
}

#[test]
fn a_task_that_its_list_calls_completed_is_not_said_to_be_reset() {
    let (project, server) = (project(), ModelServer::start(mends));
    listed(
        &project,
        "  - {id: a, title: A, command: 'false', status: completed}\n  - {id: b, title: B, command: 'false'}\n",
    );
    let said = program(&server).run(project.path(), &["tasks", "reset", "--tasks", "tasks.yml"]);
    assert_eq!((said.code, said.out.as_str()), (0, "reset 1 of 2 tasks\n"), "{}", said.all());
    assert!(
        said.err.contains("a stays completed") && said.err.contains("Fix: take its `status` out"),
        "{}",
        said.all()
    );
    server.finish();
}
