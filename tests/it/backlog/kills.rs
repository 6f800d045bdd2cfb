//! Killed with SIGKILL behind each of its effects, a backlog goes on with the same command: nothing is paid, committed or completed twice.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use serde_json::json;

use super::workers::kill_family;
use super::{BUGS, WITH, failing_of, git, mends, project, subjects, work_off};
use crate::world::model_server::{ModelServer, Say, Scripted};
use crate::world::program::Program;
use crate::world::sampled;

/// A second iteration stands ready: one in which a run is ended by a signal counts.
const WORK: [&str; 4] = ["--tiers", "claude-haiku-4-5 x2", "--tasks", "failing-tests"];

/// What is told behind each effect, and how often it has been told when the kill comes.
const KILLS: [(&str, usize); 9] = [
    ("engine:started", 1),
    ("task:selected", 1),
    ("task:activated", 1),
    ("iteration:started", 2),
    ("\"event\":\"run_started\"", 1),
    ("\"event\":\"call_settled\"", 1),
    ("\"type\":\"report\"", 1),
    ("iteration:completed", 2),
    ("task:completed", 1),
];

#[test]
fn a_killed_backlog_goes_on_and_nothing_is_done_twice() {
    for (word, times) in sampled(KILLS) {
        let project = project();
        let server = ModelServer::start(mends);
        let program = Program::with_anthropic(&server.url());
        let args: Vec<&str> = ["run"].iter().chain(&WITH).chain(&WORK).chain(&["--format", "jsonl"]).copied().collect();
        let mut child = program
            .command(project.path(), &args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut left = times;
        for line in BufReader::new(child.stdout.take().expect("its output")).lines() {
            let Ok(line) = line else { break };
            left -= usize::from(left > 0 && line.contains(word));
            if left == 0 {
                child.kill().expect("killed");
            }
        }
        child.wait().expect("it ends");
        // What it started ends by itself, and is told of until then.
        let mut said = work_off(&program, &project, &WORK);
        while said.code == 2 && said.all().contains("another upshift is at work") {
            said = work_off(&program, &project, &WORK);
        }
        assert_eq!(said.code, 0, "{word}: {}", said.all());
        assert_eq!(subjects(&project).len(), BUGS.len(), "{word}: {}", said.all());
        assert_eq!(git(&project, &["status", "--porcelain"]), "", "{word}: {}", said.all());
        let paid = server.requests().len();
        // An iteration that was ended by a signal is gone: its task has another, of two calls.
        assert!((2 * BUGS.len()..=2 * BUGS.len() + 2).contains(&paid), "{word}: {paid} calls, {}", said.all());
        server.finish();
    }
}

#[test]
fn half_made_edits_of_a_killed_family_are_nobodys_tasks_and_nobodys_files() {
    let (project, (tell, called)) = (project(), mpsc::channel());
    let is_killed = Arc::new(AtomicBool::new(false));
    let killed = Arc::clone(&is_killed);
    let server = ModelServer::start(move |request| {
        let is_first = failing_of(request).contains("test_names");
        match request.turn() {
            // All at once would mend it: it is half made when the kill comes, and breaks another test.
            0 if is_first => Say::call(
                "write_file",
                json!({ "path": "shop/words.py", "content": "raise SystemError('half made')\n" }),
            )
            .into(),
            1 if is_first => Say::call(
                "write_file",
                json!({ "path": "shop/first.py", "content": "def first(names): return names[0]\n" }),
            )
            .into(),
            2 if is_first && !killed.load(Ordering::SeqCst) => {
                tell.send(()).unwrap_or_default();
                Scripted::Hang
            }
            2 if is_first => {
                let text = "def run(names):\n    return names.upper()\n";
                Say::call("write_file", json!({ "path": "shop/words.py", "content": text })).into()
            }
            3 if is_first => {
                let text = "from shop.first import first\n\n\ndef run(names):\n    return first(names)\n";
                Say::call("write_file", json!({ "path": "shop/names.py", "content": text })).into()
            }
            _ => mends(request),
        }
    });
    let program = Program::with_anthropic(&server.url());
    let args: Vec<&str> = ["run"].iter().chain(&WITH).chain(&WORK).copied().collect();
    let mut command = program.command(project.path(), &args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    called.recv().expect("the third call");
    assert!(git(&project, &["status", "--porcelain"]).contains("?? shop/first.py"), "it works in these files");
    kill_family(&mut child);
    is_killed.store(true, Ordering::SeqCst);
    let said = work_off(&program, &project, &WORK);
    assert_eq!(said.code, 0, "{}", said.all());
    let wanted = BUGS.map(|(module, ..)| format!("fix: tests/test_{module}.py tests/test_{module}.py: 1 failing test"));
    assert_eq!(subjects(&project), wanted, "{}", said.all());
    let of_first = git(&project, &["show", "--format=", "--name-only", "HEAD~2"]);
    assert_eq!(of_first, "shop/first.py\nshop/names.py\n", "{}", said.all());
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "{}", said.all());
    assert!(said.out.contains("3 of 3 tasks completed"), "none is cancelled: {}", said.all());
    server.finish();
}
