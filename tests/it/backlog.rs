//! Backlogs: many tasks, a run and a commit each, killed anywhere and gone on with.

mod cut;
mod ends;
mod forged;
mod harm;
mod issues;
mod kills;
mod languages;
mod ledger;
mod merging;
mod proven;
mod sources;
mod stale;
mod stands;
mod steering;
mod theirs;
mod told;
mod trust;
mod unseen;
mod waits;
mod whole;
mod words;
mod workers;

pub(crate) use ledger::ROWS;

use std::process::Command;

use serde_json::{Value, json};

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// Bugs that have nothing to do with each other: the module, the wrong line, the right one, the assertion.
pub(crate) const BUGS: [(&str, &str, &str, &str); 3] = [
    ("names", "return names[1]", "return names[0]", "self.assertEqual(run(['a', 'b']), 'a')"),
    ("rates", "return names * 3", "return names * 2", "self.assertEqual(run(4), 8)"),
    ("words", "return names.upper()", "return names.lower()", "self.assertEqual(run('Ab'), 'ab')"),
];

/// A module for each bug, and a file of its tests.
pub(crate) fn files_with_bugs() -> Vec<(String, String)> {
    let of = |(module, wrong, _, assertion): (&str, &str, &str, &str)| {
        let test = format!(
            "import unittest\n\nfrom shop.{module} import run\n\n\nclass {module}Test(unittest.TestCase):\n    def test_run(self):\n        {assertion}\n"
        );
        let product = format!("def run(names):\n    {wrong}\n");
        [(format!("shop/{module}.py"), product), (format!("tests/test_{module}.py"), test)]
    };
    BUGS.into_iter().flat_map(of).collect()
}

/// A project of three bugs, each in a file of its own, committed.
fn project() -> Project {
    let project = Project::python();
    project.write(project.source, "def total(prices):\n    return sum(prices)\n");
    for (path, text) in files_with_bugs() {
        project.write(&path, &text);
    }
    project.write(".gitignore", "__pycache__\n.upshift\n");
    project.commit();
    project
}

/// The failing tests that a first message is about.
pub(crate) fn failing_of(request: &Request) -> String {
    let asked = request.first_user_text();
    asked.split("FAILING TESTS").nth(1).unwrap_or(&asked).split(">>").next().unwrap_or_default().to_owned()
}

/// Mends the module that the failing tests name.
pub(crate) fn mends(request: &Request) -> Scripted {
    let asked = request.first_user_text();
    let failing = failing_of(request);
    let found = BUGS.iter().find(|(module, ..)| failing.contains(&format!("test_{module}")));
    let (module, wrong, right, _) = found.unwrap_or_else(|| panic!("no bug is named in {asked}"));
    match request.turn() {
        0 => {
            let edit = json!({ "path": format!("shop/{module}.py"), "old_text": wrong, "new_text": right });
            Say::call("edit_file", edit).usage(1_000, 50).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}

const WITH: [&str; 2] = ["--test-command", "python3 -m unittest -v"];

fn work_off(program: &Program, project: &Project, more: &[&str]) -> Said {
    let ladder: &[&str] = if more.contains(&"--tiers") { &[] } else { &["--tiers", "claude-haiku-4-5 x1"] };
    let args: Vec<&str> = ["run"].iter().chain(&WITH).chain(ladder).chain(more).copied().collect();
    program.run(project.path(), &args)
}

/// What all calls cost, by their rows.
fn spent(project: &Project) -> i64 {
    Log::open(&project.path().join(".upshift/audit.db"))
        .number("SELECT coalesce(sum(cost_micro_usd), 0) FROM model_calls")
}

/// What git says of a project, to somebody with a name.
fn git(project: &Project, args: &[&str]) -> String {
    let somebody = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"];
    let said = Command::new("git").args(somebody).args(args).current_dir(project.path()).output().expect("git");
    String::from_utf8_lossy(&said.stdout).into_owned()
}

/// The subjects of the commits behind the first, the earliest first.
fn subjects(project: &Project) -> Vec<String> {
    let log = git(project, &["log", "--reverse", "--format=%s"]);
    log.lines().skip(1).map(str::to_owned).collect()
}

/// The lines of JSON that were printed, of one type.
fn lines_of<'s>(said: &'s Said, kind: &'s str) -> impl Iterator<Item = Value> + 's {
    let parsed = said.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.filter(move |line| line["type"] == kind)
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn failing_tests_become_tasks_and_each_fix_a_commit() {
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    let said =
        work_off(&program, &project, &["--tasks", "failing-tests", "--max-cost-usd", "0.30", "--format", "jsonl"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let wanted = BUGS.map(|(module, ..)| format!("fix: tests/test_{module}.py: 1 failing test"));
    assert_eq!(subjects(&project), wanted, "{}", said.all());
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "nothing is left over");
    for (commit, (module, ..)) in git(&project, &["log", "--reverse", "--format=%H"]).lines().skip(1).zip(BUGS) {
        assert_eq!(git(&project, &["show", "--format=", "--name-only", commit]), format!("shop/{module}.py\n"));
        assert!(git(&project, &["show", "--no-patch", "--format=%B", commit]).contains("\nUpshift-Run-Id: "));
    }
    let kinds: Vec<String> = said
        .out
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|line| line["type"].as_str().unwrap_or_default().to_owned())
        .filter(|kind| kind.contains(':'))
        .collect();
    let of_task = [
        "task:selected",
        "task:activated",
        "iteration:started",
        "agent:output",
        "iteration:completed",
        "task:completed",
    ];
    let expected: Vec<&str> = ["engine:started"]
        .into_iter()
        .chain(of_task)
        .chain(of_task)
        .chain(of_task)
        .chain(["all:complete", "engine:stopped"])
        .collect();
    assert_eq!(kinds, expected, "the seed's events in their order");
    let last = lines_of(&said, "backlog").last().expect("the document");
    assert_eq!(
        (&last["stopReason"], &last["tasksCompleted"], &last["totalTasks"]),
        (&json!("completed"), &json!(3), &json!(3))
    );
    assert_eq!(last["costMicroUsd"], json!(spent(&project)), "what the tasks cost is what their calls did");
    let events = lines_of(&said, "event")
        .filter(|line| line["taskKey"].as_str().is_some_and(|task| task.contains("/tests/test_names.py")));
    assert!(events.count() > 5, "a task's events are told as its own");
    // Worked off once, it is green.
    let again = work_off(&program, &project, &["--tasks", "failing-tests"]);
    assert_eq!(again.code, 0, "{}", again.all());
    assert!(again.out.contains("0 of 0 tasks completed, $0.00"), "{}", again.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_is_not_mended_is_left_out_and_told_and_the_rest_is_done() {
    let project = project();
    let server = ModelServer::start(|request| {
        let is_hard = request
            .first_user_text()
            .split("FAILING TESTS")
            .nth(1)
            .is_some_and(|rest| rest.split(">>").next().unwrap_or_default().contains("test_rates"));
        match request.turn() {
            0 if is_hard => {
                let edit = json!({ "path": "shop/rates.py", "old_text": "names * 3", "new_text": "names * 5" });
                Say::call("edit_file", edit).into()
            }
            _ if is_hard => Say::call("final_report", json!({ "summary": "tried", "status": "done" })).into(),
            _ => mends(request),
        }
    });
    let program = Program::with_anthropic(&server.url());
    let said = work_off(&program, &project, &["--tasks", "failing-tests"]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert_eq!(subjects(&project).len(), 2, "{}", said.all());
    assert!(
        said.out.contains("✖ 2 of 3 tasks completed") && said.out.contains("✖ tests/test_rates.py"),
        "{}",
        said.all()
    );
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "what was tried is taken back");
    // Once more: only what is left is tried, and `abort` ends with it.
    let asked = server.requests().len();
    let said = work_off(&program, &project, &["--tasks", "failing-tests", "--on-error", "abort"]);
    assert_eq!((said.code, server.requests().len()), (1, asked + 2), "{}", said.all());
    assert!(said.out.contains("a task could not be worked on"), "{}", said.all());
    let said =
        work_off(&program, &project, &["--tasks", "failing-tests", "--on-error", "retry", "--task-retries", "2"]);
    assert_eq!((said.code, server.requests().len()), (1, asked + 2 + 6), "{}", said.all());
    server.finish();
}

#[test]
fn all_tasks_together_stay_below_the_cap_and_are_told_when_it_is_used_up() {
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    let said = work_off(&program, &project, &["--tasks", "failing-tests", "--max-cost-usd", "0.002"]);
    assert_eq!(said.code, 3, "{}", said.all());
    assert!(spent(&project) <= 2_000, "{}", said.all());
    assert!(said.out.contains("does not allow another call"), "{}", said.all());
    assert_eq!(subjects(&project), Vec::<String>::new());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn so_many_tasks_are_worked_on_as_are_allowed() {
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    let said = work_off(&program, &project, &["--tasks", "failing-tests", "--max-tasks", "1"]);
    assert_eq!((said.code, subjects(&project).len()), (1, 1), "{}", said.all());
    assert!(said.out.contains("1 of 3 tasks completed") && said.out.contains("--max-tasks"), "{}", said.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_task_that_waits_keeps_its_share_and_comes_once_more() {
    let project = project();
    let mut limited = true;
    let server = ModelServer::start(move |request| {
        let asked = request.first_user_text();
        let is_first = asked
            .split("FAILING TESTS")
            .nth(1)
            .is_some_and(|rest| rest.split(">>").next().unwrap_or_default().contains("test_names"));
        if is_first && std::mem::take(&mut limited) {
            return Scripted::status(429, "{}").header("retry-after", "7200");
        }
        mends(request)
    });
    let program = Program::with_anthropic(&server.url());
    let said =
        work_off(&program, &project, &["--tasks", "failing-tests", "--max-cost-usd", "0.3", "--format", "jsonl"]);
    let shares: Vec<u64> =
        lines_of(&said, "iteration:started").filter_map(|line| line["shareMicroUsd"].as_u64()).collect();
    assert_eq!(shares[..2], [100_000, 100_000], "{}", said.all());
    assert!(shares[2] < 200_000, "the share of the run that waits is nobody else's: {shares:?}");
    assert_eq!(shares.len(), 3, "who goes on gets no other share");
    let deferred = lines_of(&said, "iteration:failed").any(|line| line["action"] == "defer");
    assert!(deferred, "{}", said.all());
    let last = lines_of(&said, "backlog").last().expect("the document");
    // Its limit lasts for two hours: it is open still, and everything else is done.
    let done = last["tasksCompleted"].as_u64().expect("a number");
    assert!(done >= 2 && (said.code == 0) == (done == 3), "{}", said.all());
    server.finish();
}
