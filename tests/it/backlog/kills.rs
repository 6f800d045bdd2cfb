//! Killed with SIGKILL behind each of its effects, a backlog goes on with the same command: nothing is paid, committed or completed twice.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use serde_json::json;

use super::workers::kill_family;
use super::{BUGS, WITH, failing_of, git, mends, project, subjects, work_off};
use crate::world::model_server::{ModelServer, Say, Scripted};
use crate::world::program::{Program, programs};
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
#[ignore = "slow: `.ci/run` runs it"]
fn a_killed_backlog_goes_on_and_nothing_is_done_twice() {
    for (word, times) in sampled(KILLS) {
        let project = project();
        let server = ModelServer::start(mends);
        let program = Program::with_anthropic(&server.url()).without_court();
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
        while said.code == 2 && said.all().contains("another upshift is running") {
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
    let program = Program::with_anthropic(&server.url()).without_court();
    let args: Vec<&str> = ["run"].iter().chain(&WITH).chain(&WORK).copied().collect();
    let mut command = program.command(project.path(), &args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    called.recv().expect("the third call");
    assert!(git(&project, &["status", "--porcelain"]).contains("?? shop/first.py"), "it works in these files");
    kill_family(&mut child);
    is_killed.store(true, Ordering::SeqCst);
    let said = work_off(&program, &project, &WORK);
    assert_eq!(said.code, 0, "{}", said.all());
    let wanted = BUGS.map(|(module, ..)| format!("fix: tests/test_{module}.py: 1 failing test"));
    assert_eq!(subjects(&project), wanted, "{}", said.all());
    let of_first = git(&project, &["show", "--format=", "--name-only", "HEAD~2"]);
    assert_eq!(of_first, "shop/first.py\nshop/names.py\n", "{}", said.all());
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "{}", said.all());
    assert!(said.out.contains("3 of 3 tasks completed"), "none is cancelled: {}", said.all());
    server.finish();
}

/// A `git` that ends its parent once, before or behind one of its commands.
fn deadly_git(folder: &std::path::Path, command: &str, is_behind: bool) -> String {
    let real = Command::new("sh").args(["-c", "command -v git"]).output().expect("sh");
    let real = String::from_utf8_lossy(&real.stdout).trim().to_owned();
    let run = if is_behind { format!("{real} \"$@\"") } else { String::new() };
    let script = format!(
        "#!/bin/sh\nif [ \"$3\" = {command} ] && [ ! -e {0}/done ]; then\n  {run}\n  touch {0}/done\n  kill -9 $PPID\n  exit 1\nfi\nexec {real} \"$@\"\n",
        folder.display()
    );
    let path = folder.join("git");
    std::fs::write(&path, script).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made so");
    format!("{}:{}", folder.display(), programs().display())
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn killed_in_the_middle_of_a_commit_it_commits_once_and_marks_the_story_once() {
    let story = |(module, ..): &(&str, &str, &str, &str)| {
        format!(
            "{{\"id\": \"{module}\", \"title\": \"Mend it\", \"acceptanceCriteria\": [\"the test test_run (tests.test_{module}.{module}Test.test_run) passes\"], \"passes\": false}}"
        )
    };
    // Behind the write of the list; behind what is staged; before and behind the commit itself.
    for (command, is_behind) in [("check-attr", false), ("add", true), ("commit", false), ("commit", true)] {
        let project = project();
        let stories = BUGS.iter().take(2).map(story).collect::<Vec<_>>().join(", ");
        project.write("prd.json", &format!("{{\"userStories\": [{stories}]}}\n"));
        git(&project, &["add", "--all"]);
        git(&project, &["commit", "--quiet", "--message=stories"]);
        let server = ModelServer::start(mends);
        let folder = tempfile::tempdir().expect("a folder");
        let program = Program::with_anthropic(&server.url())
            .without_court()
            .with("PATH", &deadly_git(folder.path(), command, is_behind));
        let words = ["--tasks", "prd.json"];
        let said = work_off(&program, &project, &words);
        assert!(said.code < 0 && folder.path().join("done").exists(), "{command}: {}", said.all());
        let mut said = work_off(&program, &project, &words);
        while said.code == 2 && said.all().contains("another upshift is running") {
            said = work_off(&program, &project, &words);
        }
        assert_eq!((said.code, server.requests().len()), (0, 4), "{command}: {}", said.all());
        let wanted = ["stories", "fix: names Mend it", "fix: rates Mend it"];
        assert_eq!(subjects(&project), wanted, "{command} {is_behind}: {}", said.all());
        assert_eq!(git(&project, &["status", "--porcelain"]), "", "{command}: {}", said.all());
        assert_eq!(project.read("prd.json").matches("\"passes\": true").count(), 2, "{command}: {}", said.all());
        server.finish();
    }
}
