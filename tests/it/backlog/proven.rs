//! What is committed as proven is what was judged, and a task is done for as long as its change is on the branch.

use super::steering::{Working, call, waits};
use super::{BUGS, git, mends, project, subjects, work_off};
use crate::world::model_server::ModelServer;
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// A list of the first bugs, committed.
pub(super) fn with_list(many: usize) -> Project {
    let project = project();
    let task = |(module, ..): &(&str, &str, &str, &str)| {
        format!(
            "  - id: {module}\n    title: Mend it\n    tests: [\"test_run (tests.test_{module}.{module}Test.test_run)\"]\n"
        )
    };
    let tasks: String = BUGS.iter().take(many).map(task).collect();
    project.write("tasks.yml", &format!("tasks:\n{tasks}"));
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=list"]);
    project
}

const LIST: [&str; 2] = ["--tasks", "tasks.yml"];

/// A proven change that git had no room for: its index was locked.
fn uncommitted(project: &Project, program: &Program) {
    project.write(".git/index.lock", "");
    let said = work_off(program, project, &LIST);
    assert_eq!((said.code, subjects(project).len()), (1, 1), "{}", said.all());
    assert!(said.out.contains("could not be committed: git add failed: fatal: "), "git says why: {}", said.all());
    std::fs::remove_file(project.path().join(".git/index.lock")).expect("removed");
}

/// It ends with both tasks done and nothing left over.
fn all_done(project: &Project, said: &Said) {
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("2 of 2 tasks completed"), "{}", said.all());
    assert_eq!(git(project, &["status", "--porcelain"]), "", "{}", said.all());
    assert!(project.read("shop/names.py").contains("names[0]"), "{}", said.all());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_proven_change_that_was_thrown_away_is_made_once_more() {
    let project = with_list(2);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    uncommitted(&project, &program);
    git(&project, &["reset", "--hard", "--quiet"]);
    let asked = server.requests().len();
    let said = work_off(&program, &project, &LIST);
    all_done(&project, &said);
    assert!(said.all().contains("names: its change was proven, and discarded"), "{}", said.all());
    assert_eq!(server.requests().len(), asked + 4, "{}", said.all());
    assert_eq!(subjects(&project), ["list", "fix: names Mend it", "fix: rates Mend it"], "{}", said.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_proven_change_that_somebody_committed_is_done_with_that_commit() {
    let project = with_list(2);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    uncommitted(&project, &program);
    git(&project, &["commit", "--all", "--quiet", "--message=by hand"]);
    let by_hand = git(&project, &["rev-parse", "HEAD"]);
    let asked = server.requests().len();
    let said = work_off(&program, &project, &LIST);
    all_done(&project, &said);
    assert_eq!(server.requests().len(), asked + 2, "{}", said.all());
    assert_eq!(subjects(&project), ["list", "by hand", "fix: rates Mend it"], "{}", said.all());
    assert!(by_hand.get(..7).is_some_and(|short| said.out.contains(short)), "its commit is told: {}", said.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_nobody_judged_is_not_committed_as_proven() {
    let project = with_list(2);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    uncommitted(&project, &program);
    let mine = format!("{}\nraise SystemExit('mine')\n", project.read("shop/names.py"));
    project.write("shop/names.py", &mine);
    let asked = server.requests().len();
    let said = work_off(&program, &project, &LIST);
    assert_eq!((said.code, server.requests().len(), subjects(&project).len()), (1, asked, 1), "{}", said.all());
    assert!(said.out.contains("not as they were judged: shop/names.py; nothing is committed"), "{}", said.all());
    assert_eq!(project.read("shop/names.py"), mine, "a person's words stay");
    // The way out that is told.
    git(&project, &["stash"]);
    all_done(&project, &work_off(&program, &project, &LIST));
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_proven_change_is_not_committed_over_what_it_was_not_judged_with() {
    let project = with_list(2);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    uncommitted(&project, &program);
    let before = project.read("shop/rates.py");
    project.write("shop/rates.py", &format!("# mine\n{before}"));
    git(&project, &["commit", "--quiet", "--message=mine", "shop/rates.py"]);
    let said = work_off(&program, &project, &LIST);
    assert_eq!((said.code, subjects(&project).len()), (1, 2), "{}", said.all());
    assert!(said.out.contains("shop/rates.py changed in the commit that is checked out"), "{}", said.all());
    git(&project, &["stash"]);
    all_done(&project, &work_off(&program, &project, &LIST));
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_task_whose_commit_was_reverted_is_open_again() {
    let project = with_list(2);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    all_done(&project, &work_off(&program, &project, &LIST));
    git(&project, &["revert", "--no-edit", "HEAD~1"]);
    let asked = server.requests().len();
    let said = work_off(&program, &project, &LIST);
    all_done(&project, &said);
    assert!(said.all().contains("names: the change of its commit"), "{}", said.all());
    assert_eq!(server.requests().len(), asked + 2, "the other one stays done: {}", said.all());
    // Nor is it done on a branch that it was never on.
    git(&project, &["switch", "--quiet", "--create", "other", "HEAD~4"]);
    let asked = server.requests().len();
    let said = work_off(&program, &project, &LIST);
    all_done(&project, &said);
    assert_eq!(server.requests().len(), asked + 4, "{}", said.all());
    server.finish();
}

#[test]
fn a_task_stays_done_when_its_commit_gets_another_name() {
    let project = with_list(2);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    all_done(&project, &work_off(&program, &project, &LIST));
    let asked = server.requests().len();
    // All in one, and other lines around it.
    git(&project, &["reset", "--soft", "HEAD~2"]);
    project.write("shop/names.py", &format!("# a word\n\n\n\n{}", project.read("shop/names.py")));
    git(&project, &["commit", "--all", "--quiet", "--message=squashed"]);
    let said = work_off(&program, &project, &LIST);
    all_done(&project, &said);
    assert_eq!((server.requests().len(), subjects(&project).len()), (asked, 2), "{}", said.all());
    // Rewritten since by somebody who forgot the commit: its own test tells, and no model is asked.
    project.write("shop/names.py", "def run(people):\n    first, *_ = people\n    return first\n");
    git(&project, &["commit", "--all", "--quiet", "--amend", "--message=otherwise"]);
    for _ in 0..2 {
        let said = work_off(&program, &project, &LIST);
        assert_eq!((said.code, server.requests().len()), (0, asked), "{}", said.all());
        assert!(said.out.contains("2 of 2 tasks completed"), "{}", said.all());
    }
    server.finish();
}

#[test]
fn no_task_begins_on_another_branch_than_the_one_before() {
    let project = with_list(2);
    let (go, server) = waits();
    let program = Program::with_anthropic(&server.url()).without_court();
    let mut working = Working::start_with(&program, &project, "tasks.yml", &[]);
    working.until("iteration:started");
    assert_eq!(call(&program, &project, &["pause"]).code, 0);
    go.send(()).expect("it waits");
    working.until("engine:paused");
    let first = git(&project, &["branch", "--show-current"]);
    git(&project, &["switch", "--quiet", "--create", "other", "HEAD~1"]);
    assert_eq!(call(&program, &project, &["resume"]).code, 0);
    assert_eq!(working.until("engine:stopped")["reason"], "error");
    assert_eq!(working.end(), 2);
    assert_eq!(subjects(&project), ["list"], "nothing was done here");
    git(&project, &["switch", "--quiet", first.trim()]);
    let asked = server.requests().len();
    let said = work_off(&program, &project, &LIST);
    all_done(&project, &said);
    assert_eq!(server.requests().len(), asked + 2, "what was done stays done: {}", said.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_task_of_any_source_can_be_had_done_once_more() {
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let reset = |source: &str, ids: &[&str]| {
        let words = [&["tasks", "reset", "--tasks", source][..], ids].concat();
        call(&program, &project, &words)
    };
    for source in ["failing-tests", "issues:bug"] {
        let said = reset(source, &[]);
        assert!(said.code == 2 && said.all().contains("was worked on here"), "{}", said.all());
    }
    // A proven change waits for its commit, and the person wants something else.
    let tests = ["--tasks", "failing-tests"];
    project.write(".git/index.lock", "");
    assert_eq!(work_off(&program, &project, &tests).code, 1);
    std::fs::remove_file(project.path().join(".git/index.lock")).expect("removed");
    let said = reset("failing-tests", &["no/such_test.py"]);
    assert!(said.code == 2 && said.all().contains("has no task no/such_test.py"), "{}", said.all());
    let said = reset("failing-tests", &["tests/test_names.py"]);
    assert_eq!((said.code, said.out.as_str()), (0, "reset 1 of 3 tasks\n"), "{}", said.all());
    git(&project, &["checkout", "--", "shop"]);
    project.write("shop/names.py", "def run(names):\n    return names[0]\n");
    git(&project, &["commit", "--all", "--quiet", "--message=mine"]);
    let said = work_off(&program, &project, &tests);
    assert_eq!((said.code, subjects(&project).len()), (0, 3), "{}", said.all());
    server.finish();
}

#[test]
fn a_task_that_is_gone_on_with_is_told_from_its_beginning() {
    let project = with_list(2);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    uncommitted(&project, &program);
    let said = work_off(&program, &project, &["--tasks", "tasks.yml", "--max-tasks", "1", "--format", "jsonl"]);
    let lines = said.out.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let kinds: Vec<String> = lines.filter_map(|line| Some(line["type"].as_str()?.to_owned())).collect();
    let wanted = [
        "engine:started",
        "task:selected",
        "task:activated",
        "iteration:started",
        "iteration:completed",
        "task:completed",
    ];
    assert_eq!(kinds[..6], wanted, "{}", said.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn one_task_alone_cancels_no_other_and_says_for_what_it_waits() {
    let project = with_list(3);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml", "--max-tasks", "1"]);
    assert_eq!(said.code, 1, "{}", said.all());
    let said = work_off(&program, &project, &["--tasks", "tasks.yml", "--task", "words"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("1 of 1 tasks completed") && !said.out.contains("cancelled"), "{}", said.all());
    let status = call(&program, &project, &["tasks", "status"]);
    assert!(status.out.contains("2 of 3 tasks of tasks.yml completed"), "{}", status.all());
    let said = work_off(&program, &project, &LIST);
    assert!(said.code == 0 && said.out.contains("3 of 3 tasks completed"), "{}", said.all());
    assert_eq!(subjects(&project).len(), 4, "{}", said.all());

    let text = project.read("tasks.yml").replace("id: rates\n", "id: rates\n    dependsOn: [later]\n");
    project.write("other.yml", &format!("{text}  - id: later\n    title: Later\n    command: 'false'\n"));
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=other"]);
    let said = work_off(&program, &project, &["--tasks", "other.yml", "--task", "rates"]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.out.contains("it waits for later"), "{}", said.all());
    server.finish();
}

/// The one that is switched to has the very same commit, or another.
#[test]
fn nothing_is_committed_to_a_branch_that_is_switched_to_while_a_task_is_at_work() {
    for start in ["HEAD", "HEAD~1"] {
        let project = with_list(1);
        project.write("NOTES.md", "notes\n");
        git(&project, &["add", "NOTES.md"]);
        git(&project, &["commit", "--quiet", "--message=notes"]);
        let (asked, go, server) = super::theirs::asked_and_waits(mends);
        let program = Program::with_anthropic(&server.url()).without_court();
        let mut working = Working::start_with(&program, &project, "tasks.yml", &[]);
        asked.recv().expect("a call");
        let first = git(&project, &["branch", "--show-current"]);
        git(&project, &["switch", "--quiet", "--create", "other", start]);
        let there = git(&project, &["rev-parse", "HEAD"]);
        go.send(()).expect("it waits");
        let lines = working.rest();
        let stopped = lines.iter().find(|line| line["type"] == "engine:stopped").expect("it stops");
        assert_eq!(stopped["reason"], "error", "{start}: {lines:#?}");
        let told = format!("{lines:?}");
        let first = first.trim();
        assert!(
            told.contains(&format!("`{first}` was checked out when this started, and `other` is now")),
            "{start}: {told}"
        );
        assert_eq!(git(&project, &["rev-parse", "HEAD"]), there, "{start}: nothing is committed there");
        assert_eq!(git(&project, &["status", "--short", "--untracked-files=no"]).trim(), "M shop/names.py", "{start}");
        // The way out that is told.
        git(&project, &["switch", "--quiet", first]);
        let said = work_off(&program, &project, &LIST);
        assert_eq!((said.code, server.requests().len()), (0, 2), "{start}: {}", said.all());
        assert_eq!(subjects(&project), ["list", "notes", "fix: names Mend it"], "{start}: {}", said.all());
        server.finish();
    }
}
