//! What a merge does not take from a log, and what it does not take from a person.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use serde_json::{Value, json};

use super::merging::{Jobs, mended, merge, neighbours, standings};
use super::workers::kill_family;
use super::{WITH, git, mends, project, subjects};
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// Whether a file of this name is somewhere below a folder.
fn is_below(folder: &Path, name: &str) -> bool {
    let inside: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.path()).collect();
    inside.iter().any(|one| one.file_name().is_some_and(|found| found == name) || (one.is_dir() && is_below(one, name)))
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn edits_made_after_a_merge_was_killed_are_kept() {
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = mended(&program, &project);
    let logs = jobs.logs.to_str().expect("a path");
    let args: Vec<&str> = ["merge", logs].iter().chain(&WITH).copied().collect();
    let mut command = program.command(project.path(), &args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    while !is_below(program.home(), "way-back") {
        assert_eq!(child.try_wait().expect("its state"), None, "it was too fast");
    }
    child.kill().expect("killed");
    child.wait().expect("it ends");
    let mine = "def run(names):\n    return 'mine'\n";
    project.write("shop/rates.py", mine);
    project.write("mine.txt", "mine");
    for _ in 0..2 {
        let said = program.run(project.path(), &args);
        assert!(said.code == 2 && said.all().contains("files were changed since"), "{}", said.all());
        assert!(said.all().contains("mine.txt") && said.all().contains("shop/rates.py"), "{}", said.all());
        assert_eq!((project.read("shop/rates.py").as_str(), project.read("mine.txt").as_str()), (mine, "mine"));
    }
    git(&project, &["stash", "--include-untracked"]);
    let (code, document) = merge(&program, &project, &jobs, &[]);
    assert_eq!((code, &document["merged"]), (0, &json!(3)), "{document:#}");
    assert_eq!(git(&project, &["show", "stash@{0}:shop/rates.py"]), mine);
    server.finish();
}

/// A job that no guard holds back mends the test, and writes a file beside it.
fn smuggles(path: &'static str, content: &'static str) -> impl FnMut(&Request) -> Scripted + Send {
    move |request| match request.turn() {
        0 => {
            let edit = json!({ "path": "shop/pair.py", "old_text": "return 1\n", "new_text": "return 10\n" });
            Say::call("edit_file", edit).usage(1_000, 50).into()
        }
        1 => Say::call("write_file", json!({ "path": path, "content": content })).usage(1_000, 50).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}

fn smuggled(project: &Project, path: &'static str, content: &'static str) -> Value {
    let server = ModelServer::start(smuggles(path, content));
    let lawless = Program::with_anthropic(&server.url()).with("UPSHIFT_GUARD_OFF", "autorun");
    let jobs = Jobs::new();
    // A run of no backlog knows nothing of the list.
    let said = jobs.run(&lawless, project, "a", &["--only-tests", "test_one (tests.test_one.oneTest.test_one)"]);
    assert_eq!(said.code, 0, "the job was deceived: {}", said.all());
    let (code, document) = merge(&Program::new(), project, &jobs, &["--tasks", "tasks.yml"]);
    assert_eq!(code, 1, "{document:#}");
    assert_eq!(git(project, &["status", "--porcelain"]), "");
    server.finish();
    document
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_change_of_the_list_or_of_the_instructions_is_not_merged() {
    for path in ["tasks.yml", "AGENTS.md"] {
        let project = neighbours();
        project.write("AGENTS.md", "Be kind.\n");
        git(&project, &["add", "--all"]);
        git(&project, &["commit", "--quiet", "--message=instructions"]);
        let before = project.read(path);
        let list = "tasks:\n  - {id: one, title: One, tests: ['test_one (tests.test_one.oneTest.test_one)']}\n";
        let document = smuggled(&project, path, list);
        assert_eq!(standings(&document), [(String::new(), "refused".to_owned())], "{path}: {document:#}");
        assert!(document["runs"][0]["reason"].as_str().is_some_and(|why| why.contains(path)), "{document:#}");
        assert_eq!((project.read(path), subjects(&project).len()), (before, 1), "{path}");
    }
}

/// A run that was killed and went on in two places: each log tells it otherwise.
#[test]
fn a_run_that_two_logs_tell_otherwise_is_requeued() {
    let project = project();
    let (tell, called) = mpsc::channel();
    let place = Arc::new(AtomicUsize::new(0));
    let here = Arc::clone(&place);
    let server = ModelServer::start(move |request| match (here.load(Ordering::SeqCst), request.turn()) {
        (0, _) => {
            tell.send(()).unwrap_or_default();
            Scripted::Hang
        }
        (2, 0) => {
            let text = "def run(names):\n    first = names[0]\n    return first\n";
            Say::call("write_file", json!({ "path": "shop/names.py", "content": text })).usage(1_000, 50).into()
        }
        _ => mends(request),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = Jobs::new();
    let words = ["--tasks", "failing-tests", "--task", "tests/test_names.py"];
    let mut job = jobs.command(&program, &project, "a", &words);
    let mut child = job.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    called.recv().expect("a call");
    kill_family(&mut child);
    let (from, beside) = (jobs.logs.join("a"), jobs.logs.join("b"));
    assert!(Command::new("cp").arg("-a").arg(from).arg(beside).status().expect("cp").success());
    let clone = job.get_current_dir().expect("a folder").to_owned();
    for (number, name) in [(1, "a"), (2, "b")] {
        place.store(number, Ordering::SeqCst);
        let mut said = resumed(&program, &clone, &jobs.log(name));
        for _ in 0..100 {
            if said.code == 2 && said.all().contains("another upshift is running") {
                said = resumed(&program, &clone, &jobs.log(name));
            }
        }
        assert_eq!(said.code, 0, "{}", said.all());
        let back = Command::new("git").args(["checkout", "-q", "--", "."]).current_dir(&clone).status();
        assert!(back.expect("git").success());
    }
    let (code, document) = merge(&Program::new(), &project, &jobs, &["--tasks", "failing-tests"]);
    assert_eq!(code, 1, "{document:#}");
    assert_eq!(standings(&document), [("tests/test_names.py".to_owned(), "requeued".to_owned())], "{document:#}");
    assert!(document["runs"][0]["reason"].as_str().is_some_and(|why| why.contains("two logs")), "{document:#}");
    assert_eq!(subjects(&project), Vec::<String>::new());
    server.finish();
}

fn resumed(program: &Program, clone: &Path, log: &Path) -> Said {
    program.run(clone, &["resume", "--audit-db", log.to_str().expect("a path")])
}

#[test]
fn a_run_that_did_not_end_is_told_with_what_it_may_have_cost_and_not_merged() {
    let (project, (tell, called)) = (neighbours(), mpsc::channel());
    let server = ModelServer::start(move |_request| {
        tell.send(()).unwrap_or_default();
        Scripted::Hang
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = Jobs::new();
    let mut job = jobs.command(&program, &project, "a", &["--tasks", "tasks.yml", "--task", "one"]);
    let mut job = job.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    called.recv().expect("a call");
    kill_family(&mut job);
    let (code, document) = merge(&program, &project, &jobs, &["--tasks", "tasks.yml"]);
    assert!(document["unknownCostMicroUsd"].as_i64().is_some_and(|cost| cost > 0), "{document:#}");
    assert_eq!((code, standings(&document)), (1, vec![("one".to_owned(), "not_mended".to_owned())]), "{document:#}");
    assert!(document["runs"][0]["reason"].as_str().is_some_and(|why| why.contains("cut short")), "{document:#}");
    assert_eq!(subjects(&project), Vec::<String>::new());
    server.finish();
}

/// Two tasks of commands, of which the second breaks what the first made.
fn rivals() -> Project {
    let project = neighbours();
    project.write("shop/pair.py", "def one(): return 10\ndef two(): return 20\n");
    project.write(
        "tasks.yml",
        "tasks:\n  - {id: one, title: Make aa, command: 'ls | grep -q ^aa && ! ls | grep -q ^bb'}\n  - {id: two, title: Make bb, command: 'ls | grep -q ^bb'}\n",
    );
    git(&project, &["commit", "--quiet", "--all", "--message=rivals"]);
    project
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_was_taken_back_is_not_proposed_with_the_rest() {
    let project = rivals();
    let server = ModelServer::start(|request| match request.turn() {
        0 => {
            let asked = request.first_user_text();
            let place = |title: &str| asked.find(title).unwrap_or(usize::MAX);
            let path = if place("Make aa") < place("Make bb") { "aa-note" } else { "bb-note" };
            Say::call("write_file", json!({ "path": path, "content": "here\n" })).into()
        }
        _ => Say::call("final_report", json!({ "summary": "done", "status": "done" })).into(),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = Jobs::new();
    for task in ["one", "two"] {
        let said = jobs.run(&program, &project, task, &["--tasks", "tasks.yml", "--task", task]);
        assert_eq!(said.code, 0, "{}", said.all());
    }
    let logs = jobs.logs.to_str().expect("a path");
    let args = ["merge", logs, "--tasks", "tasks.yml", "--pull-request", "one"];
    let said = program.run(project.path(), &[&args[..], &WITH].concat());
    assert!(said.code == 7 && said.all().contains("a change was reverted"), "{}", said.all());
    let wanted = ["rivals", "fix: one Make aa", "fix: two Make bb", "Revert \"fix: two Make bb\""];
    assert_eq!(subjects(&project), wanted, "{}", said.all());
    // And it stays so.
    let (code, document) = merge(&program, &project, &jobs, &["--tasks", "tasks.yml"]);
    let text = |one: &str, two: &str| (one.to_owned(), two.to_owned());
    assert_eq!((code, standings(&document)), (1, vec![text("one", "merged"), text("two", "refused")]), "{document:#}");
    server.finish();
}

#[test]
fn a_log_that_says_that_nothing_failed_is_not_believed() {
    let project = neighbours();
    // The job worked on other files, in which the test passes.
    let other = neighbours();
    other.write("shop/pair.py", "def one(): return 10\ndef two(): return 2\n");
    git(&other, &["commit", "--quiet", "--all", "--message=other"]);
    let server = ModelServer::start(|_request| Scripted::Hang);
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = Jobs::new();
    let said = jobs.run(&program, &other, "a", &["--tasks", "tasks.yml", "--task", "one"]);
    assert!(said.code == 0 && server.requests().is_empty(), "{}", said.all());
    let (code, document) = merge(&Program::new(), &project, &jobs, &["--tasks", "tasks.yml"]);
    assert_eq!((code, standings(&document)), (1, vec![("one".to_owned(), "requeued".to_owned())]), "{document:#}");
    assert!(document["runs"][0]["reason"].as_str().is_some_and(|why| why.contains("test_one")), "{document:#}");
    let (code, document) = merge(&Program::new(), &other, &jobs, &["--tasks", "tasks.yml"]);
    assert_eq!((code, standings(&document)), (0, vec![("one".to_owned(), "duplicate".to_owned())]), "{document:#}");
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn more_logs_than_are_looked_at_are_told() {
    let project = neighbours();
    let jobs = Jobs::new();
    for number in 0..1_025 {
        let log = jobs.log(&format!("{number:04}"));
        std::fs::create_dir_all(log.parent().expect("a folder")).expect("a folder");
        std::fs::write(log, "").expect("written");
    }
    let (code, document) = merge(&Program::new(), &project, &jobs, &["--tasks", "tasks.yml"]);
    let told = document["notTaken"].to_string();
    assert!(code == 1 && told.contains("there are more than 1024 logs"), "{document:#}");
}
