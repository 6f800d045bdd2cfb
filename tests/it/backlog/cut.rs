//! Git that fails or is cut short in the middle of a commit, and signals while it is asked: nothing is left half done, and the same command continues.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::merging::{Jobs, mends_a_neighbour, neighbours};
use super::{WITH, git, lines_of, mends, project, subjects, work_off};
use crate::world::model_server::ModelServer;
use crate::world::program::{Program, Said, programs};
use crate::world::project::Project;

const LIST: [&str; 2] = ["--tasks", "tasks.yml"];

/// A `git` that does something else once, the so-manieth time that one of its commands is called. `$real` is git itself.
fn odd_git(folder: &Path, (command, time): (&str, u32), does: &str) -> String {
    let real = Command::new("sh").args(["-c", "command -v git"]).output().expect("sh");
    let real = String::from_utf8_lossy(&real.stdout).trim().to_owned();
    let place = folder.display();
    let script = format!(
        "#!/bin/sh\nreal={real}\nif [ \"$3\" = {command} ]; then\n  echo x >> {place}/calls\n  if [ $(wc -l < {place}/calls) -eq {time} ]; then\n    {does}\n  fi\nfi\nexec $real \"$@\"\n"
    );
    let path = folder.join("git");
    std::fs::write(&path, script).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made so");
    format!("{place}:{}", programs().display())
}

/// A fix of the first neighbour in the log of a job.
fn one_job(project: &Project) -> Jobs {
    let server = ModelServer::start(mends_a_neighbour);
    let jobs = Jobs::new();
    let words = [&LIST[..], &["--task", "one"]].concat();
    let said = jobs.run(&Program::with_anthropic(&server.url()).without_court(), project, "a", &words);
    assert_eq!(said.code, 0, "{}", said.all());
    server.finish();
    jobs
}

fn merged(program: &Program, project: &Project, jobs: &Jobs) -> Said {
    let logs = jobs.logs.to_str().expect("a path");
    let args: Vec<&str> = ["merge", logs, "--format", "json"].iter().chain(&WITH).chain(&LIST).copied().collect();
    loop {
        let said = program.run(project.path(), &args);
        if !said.all().contains("another upshift") {
            return said;
        }
    }
}

fn document(said: &Said) -> Value {
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.all()))
}

/// The fix is on the branch and in the files, and nothing else is anywhere.
fn is_done(project: &Project, said: &Said) {
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(subjects(project), ["fix: one One"], "{}", said.all());
    assert_eq!(git(project, &["status", "--porcelain"]), "", "{}", said.all());
    assert!(project.read("shop/pair.py").contains("return 10"), "{}", said.all());
}

fn lock_of_branch(project: &Project) -> String {
    format!(".git/refs/heads/{}.lock", git(project, &["symbolic-ref", "--short", "HEAD"]).trim())
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_signal_in_the_middle_of_a_commit_leaves_it_made_or_not_and_the_same_merge_goes_on() {
    for (does, made) in [
        ("kill -TERM $PPID; exec sleep 60", 0),
        ("$real \"$@\"; kill -TERM $PPID; exec sleep 60", 1),
        // In time it ends by itself.
        ("kill -TERM $PPID", 1),
    ] {
        let project = neighbours();
        let jobs = one_job(&project);
        let folder = tempfile::tempdir().expect("a folder");
        let program = Program::new().with("PATH", &odd_git(folder.path(), ("commit", 1), does));
        let said = merged(&program, &project, &jobs);
        assert_eq!((said.code, subjects(&project).len()), (143, made), "{does}: {}", said.all());
        assert_eq!(git(&project, &["status", "--porcelain"]), "", "{does}: {}", said.all());
        assert_eq!(document(&said)["stopped"], json!(true), "{does}: {}", said.all());
        is_done(&project, &merged(&program, &project, &jobs));
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_merge_that_is_killed_behind_what_it_staged_knows_its_own_index() {
    let project = neighbours();
    let jobs = one_job(&project);
    let folder = tempfile::tempdir().expect("a folder");
    let program = Program::new().with("PATH", &odd_git(folder.path(), ("commit", 1), "kill -9 $PPID; exit 1"));
    let said = merged(&program, &project, &jobs);
    assert!(said.code < 0, "{}", said.all());
    is_done(&project, &merged(&program, &project, &jobs));
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_commit_that_git_refuses_is_told_and_made_by_the_same_merge() {
    let project = neighbours();
    let jobs = one_job(&project);
    let lock = lock_of_branch(&project);
    project.write(&lock, "");
    let said = merged(&Program::new(), &project, &jobs);
    assert_eq!((said.code, subjects(&project).len()), (1, 0), "{}", said.all());
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "{}", said.all());
    let run = &document(&said)["runs"][0];
    let why = run["reason"].as_str().expect("a reason");
    assert_eq!(run["standing"], "waiting", "{}", said.all());
    assert!(why.starts_with("it is proven, and could not be committed: git commit failed: fatal: "), "{why}");
    std::fs::remove_file(project.path().join(lock)).expect("removed");
    is_done(&project, &merged(&Program::new(), &project, &jobs));
}

#[test]
fn a_commit_that_git_refuses_costs_workers_no_second_call() {
    let project = neighbours();
    let server = ModelServer::start(mends_a_neighbour);
    let program = Program::with_anthropic(&server.url()).without_court();
    let words = [&LIST[..], &["--task", "one", "--workers", "2"]].concat();
    let lock = lock_of_branch(&project);
    project.write(&lock, "");
    let said = work_off(&program, &project, &words);
    assert_eq!((said.code, subjects(&project).len(), server.requests().len()), (1, 0, 2), "{}", said.all());
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "{}", said.all());
    std::fs::remove_file(project.path().join(lock)).expect("removed");
    is_done(&project, &work_off(&program, &project, &words));
    assert_eq!(server.requests().len(), 2);
    server.finish();
}

#[test]
fn a_signal_while_git_is_asked_ends_by_its_code_with_the_report() {
    let hangs = "kill -TERM $PPID; exec sleep 60";
    let project = neighbours();
    let jobs = one_job(&project);
    let server = ModelServer::start(mends_a_neighbour);
    let with = |folder: &tempfile::TempDir, call: (&str, u32)| {
        Program::with_anthropic(&server.url()).without_court().with("PATH", &odd_git(folder.path(), call, hangs))
    };
    // A merge: before anything was begun, and behind the last change.
    let folder = tempfile::tempdir().expect("a folder");
    let said = merged(&with(&folder, ("status", 1)), &project, &jobs);
    assert_eq!(said.code, 143, "{}", said.all());
    assert!(said.all().contains("interrupted before anything started"), "{}", said.all());
    let folder = tempfile::tempdir().expect("a folder");
    let said = merged(&with(&folder, ("rev-list", 1)), &project, &jobs);
    assert_eq!(said.code, 143, "{}", said.all());
    assert_eq!((&document(&said)["stopped"], &document(&said)["merged"]), (&json!(true), &json!(1)), "{}", said.all());
    // Jobs on one machine: while a clone is made.
    let folder = tempfile::tempdir().expect("a folder");
    let words = [&LIST[..], &["--task", "two", "--workers", "2"]].concat();
    let said = work_off(&with(&folder, ("clone", 1)), &project, &words);
    assert!(said.code == 143 && said.out.contains("two  not worked on"), "{}", said.all());
    // A backlog: before its first task, which begins by a look at the files.
    let folder = tempfile::tempdir().expect("a folder");
    let said = work_off(&with(&folder, ("status", 2)), &project, &LIST);
    assert!(said.code == 143 && said.out.contains("interrupted; the same command continues"), "{}", said.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_backlog_whose_commit_is_cut_in_two_makes_it_once() {
    for (does, made) in [("kill -INT $PPID; exec sleep 60", 0), ("$real \"$@\"; kill -INT $PPID; exec sleep 60", 1)] {
        let project = project();
        let server = ModelServer::start(mends);
        let folder = tempfile::tempdir().expect("a folder");
        let path = odd_git(folder.path(), ("commit", 1), does);
        let program = Program::with_anthropic(&server.url()).without_court().with("PATH", &path);
        let words = ["--tasks", "failing-tests", "--task", "tests/test_names.py"];
        let said = work_off(&program, &project, &words);
        assert_eq!((said.code, subjects(&project).len()), (130, made), "{does}: {}", said.all());
        let said = work_off(&program, &project, &words);
        assert_eq!((said.code, subjects(&project).len(), server.requests().len()), (0, 1, 2), "{}", said.all());
        assert_eq!(git(&project, &["status", "--porcelain"]), "", "{}", said.all());
        server.finish();
    }
}

#[test]
fn tasks_that_nothing_proves_are_told_all_at_once() {
    let project = project();
    let task = |number: usize| format!("  - {{id: t{number}, title: T}}\n");
    project.write("tasks.yml", &format!("tasks:\n{}", (0..40).map(task).collect::<String>()));
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=list"]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = odd_git(folder.path(), ("status", 1_000), "exit 1");
    let program = Program::with_anthropic("http://127.0.0.1:9").with("PATH", &path);
    let said = work_off(&program, &project, &[&LIST[..], &["--max-tasks", "0", "--format", "jsonl"]].concat());
    let blocked = lines_of(&said, "task:blocked").count();
    assert_eq!((said.code, blocked), (1, 40), "{}", said.all());
    let asked = std::fs::read_to_string(folder.path().join("calls")).expect("calls").lines().count();
    assert!(asked < 5, "git is not asked for each of them: {asked}");
}
