//! The end of one task's run is no end of the others'.

use std::process::{Command, Stdio};
use std::sync::mpsc;

use serde_json::json;

use super::{WITH, failing_of, git, lines_of, mends, project, subjects, work_off};
use crate::agents::memory::family;
use crate::world::model_server::{ModelServer, Say, Scripted};
use crate::world::program::{Program, Said};

#[test]
fn a_task_for_which_no_model_answers_does_not_end_the_others() {
    let project = project();
    let server = ModelServer::start(|request| {
        if failing_of(request).contains("test_names") {
            return Scripted::status(401, "{}");
        }
        mends(request)
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "failing-tests"]);
    assert_eq!((said.code, subjects(&project).len()), (1, 2), "{}", said.all());
    assert!(said.out.contains("✖ 2 of 3 tasks completed"), "{}", said.all());
    let said = work_off(&program, &project, &["--tasks", "failing-tests", "--on-error", "abort"]);
    assert!(said.code == 1 && said.out.contains("a task could not be worked on"), "{}", said.all());
    server.finish();
}

#[test]
fn a_run_that_is_killed_leaves_nothing_behind_and_does_not_end_the_others() {
    let (project, (tell, called)) = (project(), mpsc::channel());
    let server = ModelServer::start(move |request| {
        let is_first = failing_of(request).contains("test_names");
        match request.turn() {
            0 if is_first => {
                Say::call("write_file", json!({ "path": "shop/words.py", "content": "half = made\n" })).into()
            }
            _ if is_first => {
                tell.send(()).unwrap_or_default();
                Scripted::Hang
            }
            _ => mends(request),
        }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let args = [&["run"][..], &WITH, &["--tiers", "claude-haiku-4-5 x1", "--tasks", "failing-tests"]].concat();
    let mut command = program.command(project.path(), &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    called.recv().expect("the second call");
    // As the kernel does where memory is short: the run alone.
    let is_run = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("--objective")
    };
    let run = family(child.id()).into_iter().filter(|pid| *pid != child.id()).find(is_run).expect("the run");
    assert!(Command::new("kill").args(["-9", &run.to_string()]).status().expect("kill").success());
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!((said.code, subjects(&project).len()), (1, 2), "{}", said.all());
    assert!(said.out.contains("killed by signal 9"), "{}", said.all());
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "{}", said.all());
    server.finish();
}

#[test]
fn an_empty_list_has_no_tasks_and_is_no_fault() {
    let project = project();
    project.write("tasks.yml", "tasks: []\n");
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=list"]);
    let words = ["--tasks", "tasks.yml", "--format", "jsonl"];
    let said = work_off(&Program::with_anthropic("http://127.0.0.1:9"), &project, &words);
    let last = lines_of(&said, "backlog").last().expect("the document");
    assert_eq!((said.code, &last["stopReason"]), (0, &json!("no_tasks")), "{}", said.all());
}

#[test]
fn a_log_that_cannot_be_used_is_not_said_to_be_needless() {
    let project = project();
    let other = tempfile::tempdir().expect("a folder");
    let log = other.path().join("audit.db");
    std::fs::write(&log, "a text").expect("written");
    let words = ["--tasks", "failing-tests", "--audit-db", log.to_str().expect("a path")];
    let said = work_off(&Program::with_anthropic("http://127.0.0.1:9"), &project, &words);
    assert!(said.code == 2 && said.all().contains("another file with --audit-db"), "{}", said.all());
    assert!(!said.all().contains("--no-audit"), "a backlog cannot do without: {}", said.all());
}
