//! Proofs by tests that nobody has seen: a slip in a name completes nothing, and drops no change.

use serde_json::json;

use super::merging::{Jobs, mends_a_neighbour, merge, neighbours, standings};
use super::{BUGS, git, mends, project, subjects, work_off};
use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;

fn with_list(project: &Project, list: &str) {
    project.write("tasks.yml", list);
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "--message=list"]);
}

#[test]
fn a_test_that_does_not_exist_completes_no_task() {
    for quiet in [false, true] {
        let project = project();
        with_list(
            &project,
            "tasks:\n  - {id: slip, title: Slip, tests: ['test_run (tests.test_words.wordTest.test_run)']}\n  - {id: names, title: Names, tests: ['test_run (tests.test_names.namesTest.test_run)']}\n",
        );
        let server = ModelServer::start(mends);
        let program = Program::with_anthropic(&server.url()).without_court();
        let args: &[&str] = if quiet { &["--test-command", "python3 -m unittest"] } else { &super::WITH };
        let work = ["run", "--tiers", "claude-haiku-4-5 x1", "--tasks", "tasks.yml"];
        let said = program.run(project.path(), &[&work, args].concat());
        assert_eq!((said.code, subjects(&project).len(), server.requests().len()), (1, 2, 2), "{}", said.all());
        let (slip, near) =
            ("`test_run (tests.test_words.wordTest.test_run)`", "`test_run (tests.test_words.wordsTest.test_run)`");
        let told = format!("no test that was run is called {slip} (the nearest: {near}");
        assert!(said.out.contains("! slip") && said.out.contains(&told), "{}", said.all());
        server.finish();
    }
}

#[test]
fn a_run_for_a_test_that_does_not_exist_is_blocked_before_it_pays() {
    let project = project();
    let program = Program::with_anthropic("http://127.0.0.1:9");
    let said = work_off(&program, &project, &["--only-tests", "test_rum (tests.test_names.namesTest.test_run)"]);
    assert!(said.code == 1 && said.out.contains("✖ No test to fix: no test that was run is called"), "{}", said.all());
    let failing = "Name tests with `--only-tests` as their runner prints them. Failing: `test_run (tests.test_";
    assert!(said.out.contains(failing) && !said.out.contains("CI is red"), "{}", said.all());
}

/// Two test files for one function: one change mends both tasks.
fn twins() -> Project {
    let project = project();
    for (module, ..) in BUGS.iter().skip(1) {
        std::fs::remove_file(project.path().join(format!("tests/test_{module}.py"))).expect("removed");
    }
    let test = project.read("tests/test_names.py").replace("namesTest", "twinTest");
    project.write("tests/test_twin.py", &test);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=twins"]);
    project
}

#[test]
fn a_test_that_was_seen_failing_is_done_where_it_fails_no_more_though_its_runner_names_it_nowhere() {
    let project = twins();
    let server = ModelServer::start(|request| match request.turn() {
        0 => {
            let edit = json!({ "path": "shop/names.py", "old_text": "names[1]", "new_text": "names[0]" });
            Say::call("edit_file", edit).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let work =
        ["run", "--tiers", "claude-haiku-4-5 x1", "--tasks", "failing-tests", "--test-command", "python3 -m unittest"];
    let said = program.run(project.path(), &work);
    assert_eq!((said.code, server.requests().len()), (0, 2), "{}", said.all());
    server.finish();
}

#[test]
fn a_merge_drops_no_change_for_a_test_that_it_does_not_have() {
    let project = neighbours();
    let server = ModelServer::start(mends_a_neighbour);
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = Jobs::new();
    let said = jobs.run(&program, &project, "a", &["--tasks", "tasks.yml", "--task", "one"]);
    assert_eq!(said.code, 0, "{}", said.all());
    // Somebody's slip, after the job.
    with_list(&project, "tasks:\n  - {id: one, title: One, tests: ['test_one (tests.test_one.oneTest.test_won)']}\n");
    let (code, document) = merge(&program, &project, &jobs, &["--tasks", "tasks.yml"]);
    assert_eq!((code, standings(&document)), (1, vec![("one".to_owned(), "requeued".to_owned())]), "{document:#}");
    let why = document["runs"][0]["reason"].as_str().expect("a reason");
    assert!(why.contains("`test_one (tests.test_one.oneTest.test_won)` (the nearest: `test_one ("), "{why}");
    // Nor where the names are those of the log alone.
    let test = project.read("tests/test_one.py").replace("test_one(", "test_uno(");
    project.write("tests/test_one.py", &test);
    git(&project, &["commit", "--quiet", "--all", "--message=renamed"]);
    let (code, document) = merge(&program, &project, &jobs, &[]);
    assert_eq!((code, standings(&document)), (1, vec![("one".to_owned(), "requeued".to_owned())]), "{document:#}");
    server.finish();
}
