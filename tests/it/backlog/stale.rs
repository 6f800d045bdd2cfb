//! Killed before the run of a turn began: the end of an earlier run is not taken for its end.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::json;

use super::{WITH, failing_of, git, lines_of, mends, project, subjects};
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

fn words<'w>(more: &[&'w str]) -> Vec<&'w str> {
    let usual = ["--tiers", "claude-haiku-4-5 x1", "--format", "jsonl"];
    ["run"].into_iter().chain(WITH).chain(usual).chain(more.iter().copied()).collect()
}

/// Kills it once a word was told so often.
fn killed_at((word, times): (&str, usize), program: &Program, project: &Project, more: &[&str]) {
    let mut command = program.command(project.path(), &words(more));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let told = BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let seen = told.filter(|line| line.contains(word)).take(times).count();
    assert_eq!(seen, times, "{word} is told");
    child.kill().expect("killed");
    child.wait().expect("it ends");
}

/// The same command, once nothing of the killed one is left.
fn go_on(program: &Program, project: &Project, more: &[&str]) -> Said {
    loop {
        let said = program.run(project.path(), &words(more));
        if said.code != 2 || !(said.all().contains("another upshift") || said.all().contains("still under way")) {
            return said;
        }
    }
}

const ACTIVATED: &str = "\"type\":\"task:activated\"";

fn test_of(module: &str) -> String {
    format!("'test_run (tests.test_{module}.{module}Test.test_run)'")
}

#[test]
fn a_task_with_another_proof_is_not_done_by_what_proved_the_first() {
    let project = project();
    let list = |proof: &str| {
        format!(
            "tasks:\n  - {{id: aaa, title: A, tests: [{proof}]}}\n  - {{id: bbb, title: B, tests: [{}]}}\n",
            test_of("rates")
        )
    };
    project.write("tasks.yml", &list(&test_of("words")));
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=list"]);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let first = program.run(project.path(), &words(&["--tasks", "tasks.yml", "--max-tasks", "1"]));
    assert_eq!((first.code, subjects(&project).len()), (1, 2), "{}", first.all());
    project.write("tasks.yml", &list(&test_of("names")));
    git(&project, &["commit", "--quiet", "--all", "--message=another"]);
    killed_at((ACTIVATED, 1), &program, &project, &["--tasks", "tasks.yml"]);
    let said = go_on(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!((said.code, server.requests().len()), (0, 6), "{}", said.all());
    assert_eq!(subjects(&project)[3..], ["fix: aaa A", "fix: bbb B"], "{}", said.all());
    assert!(project.read("shop/names.py").contains("names[0]"), "{}", said.all());
    server.finish();
}

/// Changes nothing that helps.
fn fails(request: &Request) -> Scripted {
    match request.turn() {
        0 => {
            let edit = json!({ "path": "shop/words.py", "old_text": "upper()", "new_text": "title()" });
            Say::call("edit_file", edit).usage(1_000, 50).into()
        }
        _ => Say::call("final_report", json!({ "summary": "tried", "status": "done" })).usage(1_000, 20).into(),
    }
}

#[test]
fn a_failure_counts_once_however_its_retry_is_killed() {
    let project = project();
    let list = format!("tasks:\n  - {{id: aaa, title: A, tests: [{}]}}\n", test_of("words"));
    project.write("tasks.yml", &list);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=list"]);
    let server = ModelServer::start(fails);
    let program = Program::with_anthropic(&server.url()).without_court();
    let retries = ["--tasks", "tasks.yml", "--on-error", "retry", "--task-retries", "2", "--retry-delay-seconds", "0"];
    killed_at((ACTIVATED, 2), &program, &project, &retries);
    let said = go_on(&program, &project, &retries);
    // The first try, and two retries.
    assert_eq!((said.code, server.requests().len()), (1, 6), "{}", said.all());
    let last = lines_of(&said, "backlog").last().expect("the document");
    assert_eq!(last["tasks"][0]["tries"], json!(3), "{last:#}");
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_second_turn_that_is_killed_before_it_begins_is_worked_on() {
    let project = project();
    let mut is_costly = true;
    let server = ModelServer::start(move |request| {
        // The first call about it uses up the share of its task.
        if failing_of(request).contains("test_names") && std::mem::take(&mut is_costly) {
            return Say::call("read_file", json!({ "path": "shop/names.py" })).usage(95_000, 50).into();
        }
        mends(request)
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let more = ["--tasks", "failing-tests", "--max-cost-usd", "0.30"];
    killed_at((ACTIVATED, 4), &program, &project, &more);
    assert_eq!(subjects(&project).len(), 2);
    let said = go_on(&program, &project, &more);
    assert_eq!((said.code, subjects(&project).len()), (0, 3), "{}", said.all());
    server.finish();
}
