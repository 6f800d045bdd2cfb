//! Files in the checkout that somebody has open for writing: upshift's own output, and what another program of the user writes.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::Program;
use crate::world::project::Project;

/// Tries to write the files first, then changes the bug's line to `new`.
fn changes(request: &Request, files: &[&str], new: &str) -> Scripted {
    if let Some(path) = files.get(request.turn()) {
        return Say::call("write_file", json!({ "path": path, "content": "the model's\n" })).usage(900, 40).into();
    }
    if request.turn() == files.len() {
        let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": new });
        return Say::call("edit_file", edit).usage(1_200, 60).into();
    }
    let refused = request.all_text().matches("is being written by a program").count();
    assert_eq!(refused, files.len(), "{}", request.all_text());
    Say::call("final_report", json!({ "summary": "changed the line", "status": "done" })).usage(1_400, 30).into()
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b9_the_log_that_upshift_itself_writes_stays_whole() {
    for (new, code, at_the_end) in [("sum(prices)", 0, "Fixed by Tier 1"), ("sum(prices) - 2", 1, "exhausted without")]
    {
        for tracked in [false, true] {
            let project = Project::python();
            if tracked {
                project.write("run.log", "");
                project.commit();
            }
            let log = File::create(project.path().join("run.log")).expect("a file");
            let inode = log.metadata().expect("known").ino();
            // One that is in the way of the model, and one that nobody but upshift's own undo touches.
            let files: &[&str] = if tracked { &["run.log"] } else { &[] };
            let server = ModelServer::start(move |request| changes(request, files, new));
            let program = Program::with_anthropic(&server.url()).without_court();
            let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
            let mut command = program.command(project.path(), &args);
            command.stdout(log.try_clone().expect("a descriptor")).stderr(log);
            let ended = command.status().expect("started");
            let said = project.read("run.log");
            assert_eq!(ended.code(), Some(code), "{said}");
            let now = project.path().join("run.log").metadata().expect("it is there").ino();
            assert_eq!(now, inode, "it is the same file");
            assert!(said.contains("Baseline:") && said.contains(at_the_end), "from its beginning to its end: {said}");
            for word in ["put back: run.log", "changed while the tests ran", "rewritten"] {
                assert!(!said.contains(word), "{word}: {said}");
            }
            if code == 0 {
                assert!(said.contains("Change:  1 file, +1 −1"), "{said}");
            }
            server.finish();
        }
    }
}

#[test]
fn b9_a_log_that_another_program_writes_stays_whole() {
    let project = Project::python();
    project.write("earlier.log", "nobody writes it any more\n");
    project.write(".gitignore", "*.tmp\n");
    project.commit();
    let path = project.path().join("server.log");
    let writer = || OpenOptions::new().create(true).append(true).open(&path).expect("a file");
    // A program of the same user that holds it open: it waits until its input ends.
    let mut server_program =
        Command::new("cat").stdin(Stdio::piped()).stdout(writer()).spawn().expect("a program that writes");
    let mut input = server_program.stdin.take().expect("a pipe");
    let inode = path.metadata().expect("known").ino();
    input.write_all(b"begun\n").expect("written");
    let (asked, was_asked) = std::sync::mpsc::channel();
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let model = ModelServer::start(move |request| {
        if request.turn() == 0 {
            asked.send(()).expect("somebody listens");
            may_go.recv_timeout(std::time::Duration::from_secs(60)).expect("the log has grown");
        }
        match request.turn() {
            // Nobody has that one open.
            0 => {
                Say::call("write_file", json!({ "path": "earlier.log", "content": "the model's\n" })).usage(9, 4).into()
            }
            1 => {
                Say::call("write_file", json!({ "path": "server.log", "content": "the model's\n" })).usage(9, 4).into()
            }
            _ => {
                let refused = request.all_text().matches("is being written by a program").count();
                assert_eq!(refused, 1, "{}", request.all_text());
                Say::call("final_report", json!({ "summary": "wrote", "status": "done" })).usage(9, 4).into()
            }
        }
    });
    let program = Program::with_anthropic(&model.url()).without_court();
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let child = program.command(project.path(), &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("started");
    was_asked.recv_timeout(std::time::Duration::from_secs(60)).expect("the model is asked");
    input.write_all(b"in the middle\n").expect("written");
    go.send(()).expect("it waits");
    let said = crate::world::program::Said::from(child.wait_with_output().expect("ended"));
    drop(input);
    assert!(server_program.wait().expect("ended").success());
    assert_eq!(said.code, 1, "{}", said.all());
    assert_eq!(path.metadata().expect("it is there").ino(), inode, "it is the same file: {}", said.all());
    let written = project.read("server.log");
    assert!(written.contains("begun\n") && written.contains("in the middle\n"), "{written}");
    assert!(!said.all().contains("server.log is") && !said.all().contains("put back: server.log"), "{}", said.all());
    assert_eq!(project.read("earlier.log"), "nobody writes it any more\n", "what nobody writes is put back as ever");
    assert!(project.read("shop/cart.py").contains("sum(prices) - 1"), "the start is restored");
    model.finish();
}

#[test]
fn b9_a_test_that_is_open_somewhere_is_a_test_all_the_same() {
    let project = Project::python();
    let test = "tests/test_more.py";
    project.write(test, "import unittest\n\n\nclass More(unittest.TestCase):\n    def test_it(self):\n        pass\n");
    // Wrong code that would have the tests be none.
    let new = "sum(prices) if __import__('os').system('echo > tests/test_more.py') else 6";
    let held = OpenOptions::new().append(true).open(project.path().join(test)).expect("a file");
    let mut holder = Command::new("cat").stdin(Stdio::piped()).stdout(held).spawn().expect("a program");
    let server = ModelServer::start(move |request| changes(request, &[], new));
    let program = Program::with_anthropic(&server.url()).without_court();
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    drop(holder.stdin.take());
    assert!(holder.wait().expect("ended").success());
    assert!(project.read(test).contains("test_it"), "it is put back: {}", said.all());
}

#[test]
fn b9_the_log_of_a_killed_run_outlives_what_goes_on_with_it() {
    let project = Project::python();
    let database = project.path().with_extension("audit.db");
    let database = database.to_str().expect("text").to_owned();
    let server = ModelServer::start(|request| changes(request, &["run.log"], "sum(prices) - 2"));
    let dying = Program::with_anthropic(&server.url()).without_court().with("UPSHIFT_CRASH_AFTER", "tool_finished:2");
    let args =
        ["run", "--tiers", "claude-haiku-4-5 x1", "--audit-db", &database, "--test-command", project.test_command];
    let log = File::create(project.path().join("run.log")).expect("a file");
    let mut command = dying.command(project.path(), &args);
    assert_eq!(command.stdout(Stdio::null()).stderr(log).status().expect("started").code(), None, "killed");
    let program = dying.with("UPSHIFT_CRASH_AFTER", "");
    let log = File::create(project.path().join("resume.log")).expect("a file");
    let mut command = program.command(project.path(), &["resume", "--audit-db", &database]);
    let ended = command.stdout(log.try_clone().expect("a descriptor")).stderr(log).status().expect("started");
    let said = project.read("resume.log");
    assert_eq!(ended.code(), Some(1), "{said}");
    assert!(said.contains("exhausted without"), "{said}");
    assert!(project.read("run.log").contains("Baseline:"), "{said}");
    assert!(project.read("shop/cart.py").contains("sum(prices) - 1"), "the start is restored");
    assert_eq!(Log::open(std::path::Path::new(&database)).value("SELECT outcome FROM run_state"), "exhausted");
}
