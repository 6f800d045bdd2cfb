//! What is asked of a backlog while it is worked off: pause, resume, add and remove, by commands and by comments.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Sender, channel};

use serde_json::{Value, json};

use super::{BUGS, WITH, git, mends, project, subjects, work_off};
use crate::action::gate::{labelled_by, world};
use crate::world::github::{Comment, FakeGitHub};
use crate::world::model_server::{ModelServer, Request, Say};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// A process that works, and the lines that it prints.
pub(super) struct Working {
    child: Child,
    lines: Option<Lines<BufReader<ChildStdout>>>,
}

/// A test that fails leaves no process behind, also none that is stopped.
impl Drop for Working {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Working {
    pub(super) fn start(program: &Program, project: &Project, more: &[&str]) -> Self {
        Self::start_with(program, project, "failing-tests", more)
    }

    pub(super) fn start_with(program: &Program, project: &Project, source: &str, more: &[&str]) -> Self {
        let words = ["--tiers", "claude-haiku-4-5 x1", "--tasks", source, "--format", "jsonl"];
        let args: Vec<&str> = ["run"].iter().chain(&WITH).chain(&words).chain(more).copied().collect();
        let mut command = program.command(project.path(), &args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let lines = Some(BufReader::new(child.stdout.take().expect("its output")).lines());
        Self { child, lines }
    }

    /// Reads on until an event of this name, and gives it.
    pub(super) fn until(&mut self, kind: &str) -> Value {
        for line in self.lines.as_mut().expect("its output") {
            let line: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            if line["type"] == kind {
                return line;
            }
        }
        panic!("no {kind} came");
    }

    /// All lines up to its end.
    pub(super) fn rest(&mut self) -> Vec<Value> {
        let lines = self.lines.take().expect("its output");
        lines.map(|line| serde_json::from_str(&line.expect("a line")).expect("JSON")).collect()
    }

    /// Ends it in order, as a runner does that cancels a job.
    pub(super) fn terminate(&self) {
        let told = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        assert!(told.expect("kill").success());
    }

    pub(super) fn end(mut self) -> i32 {
        let rest = self.lines.take().expect("its output");
        assert_eq!(rest.filter(|line| line.is_err()).count(), 0);
        self.child.wait().expect("it ends").code().expect("a code")
    }
}

/// A model that waits for a word before its first answer.
pub(super) fn waits() -> (Sender<()>, ModelServer) {
    let (go, word) = channel::<()>();
    let mut waits = true;
    let server = ModelServer::start(move |request: &Request| {
        if std::mem::take(&mut waits) {
            // Whoever was killed meanwhile wants no answer.
            let _gone = word.recv();
        }
        mends(request)
    });
    (go, server)
}

pub(super) fn call(program: &Program, project: &Project, words: &[&str]) -> Said {
    program.run(project.path(), words)
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn s3_14_it_pauses_goes_on_and_works_on_more_or_fewer_as_it_is_asked() {
    let project = project();
    let (go, server) = waits();
    let program = Program::with_anthropic(&server.url()).without_court();
    let nobody = call(&program, &project, &["pause"]);
    assert!(nobody.code == 2 && nobody.all().contains("no backlog is being worked on here"), "{}", nobody.all());

    let mut working = Working::start(&program, &project, &["--max-tasks", "1"]);
    let started = working.until("engine:started");
    working.until("iteration:started");
    let said = call(&program, &project, &["pause"]);
    assert_eq!((said.code, said.out.as_str()), (0, "it pauses after the current task\n"), "{}", said.all());
    let resumed = call(&program, &project, &["resume"]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "it continues without a pause\n"), "{}", resumed.all());
    assert_eq!(call(&program, &project, &["pause"]).code, 0);
    assert_eq!(call(&program, &project, &["add", "2"]).code, 0);
    let added = working.until("engine:iterations-added");
    assert_eq!(
        (&added["added"], &added["newMax"], &added["previousMax"], &added["currentIteration"]),
        (&json!(2), &json!(3), &json!(1), &json!(1))
    );
    let floor = call(&program, &project, &["remove", "9"]);
    assert_eq!(floor.out, "1 task is worked on at most, 1 was started\n", "never below what was begun");
    assert_eq!(call(&program, &project, &["remove", "1"]).code, 1);
    assert_eq!(call(&program, &project, &["add", "1"]).code, 0);
    go.send(()).expect("it waits");

    assert_eq!(working.until("engine:paused")["currentIteration"], 1);
    let status = call(&program, &project, &["tasks", "status", "--format", "json"]);
    let status: Value = serde_json::from_str(&status.out).expect("JSON");
    assert_eq!(
        (&status["status"], &status["tasksCompleted"], &status["currentIteration"], &status["maxIterations"]),
        (&json!("paused"), &json!(1), &json!(1), &json!(2)),
        "{status}"
    );
    let held = &status["heldBy"];
    assert_eq!((&held["pid"], &held["sessionId"]), (&json!(working.child.id()), &started["sessionId"]), "{status}");
    assert!(held["hostname"].as_str().is_some_and(|name| !name.is_empty()), "{status}");
    assert_eq!(call(&program, &project, &["pause"]).out, "the work on the backlog is paused\n");
    let second = work_off(&program, &project, &["--tasks", "failing-tests"]);
    let process = format!("process {} on ", working.child.id());
    assert!(second.code == 2 && second.all().contains(&process), "{}", second.all());
    std::fs::write(project.path().join("list.yml"), "tasks: []\n").expect("written");
    let reset = call(&program, &project, &["tasks", "reset", "--tasks", "list.yml"]);
    assert!(reset.code == 2 && reset.all().contains(&process), "{}", reset.all());

    let resumed = call(&program, &project, &["resume"]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, "it continues\n"), "{}", resumed.all());
    assert_eq!(working.until("engine:resumed")["fromIteration"], 1);
    let stopped = working.until("engine:stopped");
    assert_eq!(
        (&stopped["reason"], &stopped["totalIterations"], &stopped["tasksCompleted"]),
        (&json!("max_iterations"), &json!(2), &json!(2))
    );
    assert_eq!(working.end(), 1);
    // The same command goes on with it (`continueExecution`).
    let said = work_off(&program, &project, &["--tasks", "failing-tests", "--format", "jsonl"]);
    let started = super::lines_of(&said, "engine:started").next().expect("it started");
    assert_eq!((said.code, &started["goesOn"]), (0, &json!(true)), "{}", said.all());
    assert_eq!(subjects(&project).len(), BUGS.len(), "{}", said.all());
    let status = call(&program, &project, &["tasks", "status"]);
    assert!(status.out.starts_with("idle: 3 of 3 tasks of failing-tests completed\n"), "{}", status.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_order_to_a_process_that_is_gone_is_not_obeyed_by_the_next() {
    let project = project();
    let (go, server) = waits();
    let program = Program::with_anthropic(&server.url()).without_court();
    let mut working = Working::start(&program, &project, &["--max-tasks", "2"]);
    working.until("iteration:started");
    // A process that is stopped hears nothing.
    let pid = working.child.id().to_string();
    std::process::Command::new("kill").args(["-STOP", &pid]).status().expect("kill");
    let asked = call(&program, &project, &["pause"]);
    assert_eq!(
        (asked.code, asked.out.as_str()),
        (0, "the command was sent, and not answered yet\n"),
        "{}",
        asked.all()
    );
    working.child.kill().expect("killed");
    working.child.wait().expect("it ends");
    drop(go);
    let mut said = work_off(&program, &project, &["--tasks", "failing-tests"]);
    while said.code == 2 && said.all().contains("another upshift is running") {
        said = work_off(&program, &project, &["--tasks", "failing-tests"]);
    }
    assert!(!said.all().contains("Paused"), "{}", said.all());
    let log = crate::world::log::Log::open(&project.path().join(".upshift/audit.db"));
    assert_eq!(log.number("SELECT count(*) FROM backlog_orders WHERE obeyed = 0"), 1);
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "{}", said.all());
    server.finish();
}

#[test]
fn who_may_write_can_pause_add_and_stop_by_comments_and_others_may_not() {
    let mut world = world();
    world.roles.insert("max".to_owned(), "maintain".to_owned());
    let github = FakeGitHub::start_in_real_time(world);
    for (author, body) in [
        ("eve", "/upshift pause"),
        ("ada", "/upshift pause"),
        ("ada", "/upshift resume"),
        ("ada", "/upshift add 2"),
        ("ada", "/upshift remove 1"),
        ("ada", "/upshift budget +1"),
        ("max", "/upshift budget +1"),
        ("ada", "/upshift pause please"),
        ("ada", "/upshift stop"),
    ] {
        let mut world = github.world();
        let id = world.new_id();
        // Later than the beginning, whenever that is.
        let at = 86_400_000 + id;
        let (author, body) = (author.to_owned(), body.to_owned());
        world.comments.push(Comment {
            id,
            issue: 7,
            author,
            body,
            created_ms: at,
            updated_ms: at,
            ..Comment::default()
        });
    }
    let project = project();
    let server = ModelServer::start(mends);
    let program = of_a_label(&project, &server.url(), &github.url());
    let said = work_off(&program, &project, &["--tasks", "failing-tests", "--max-tasks", "1", "--format", "jsonl"]);
    assert_eq!((said.code, server.requests().len()), (1, 0), "it ends before its first task: {}", said.all());
    let last = super::lines_of(&said, "backlog").last().expect("the document");
    assert_eq!(last["stopReason"], "interrupted", "{}", said.all());
    let added = super::lines_of(&said, "engine:iterations-added").next().expect("added");
    assert_eq!((&added["newMax"], &added["previousMax"]), (&json!(3), &json!(1)));
    server.finish();
    let world = github.finish();
    let told: Vec<&str> = world.reactions.iter().map(|reaction| reaction.content.as_str()).collect();
    assert_eq!(told, ["+1", "+1", "+1", "+1", "-1", "+1", "confused", "+1"], "{}", said.all());
}

/// A program in the job that a label on the pull request starts.
fn of_a_label(project: &Project, models: &str, forge: &str) -> Program {
    let event = project.path().join(".git/event.json");
    std::fs::write(&event, labelled_by("ada").to_string()).expect("written");
    Program::with_anthropic(models)
        .without_court()
        .with("GITHUB_ACTIONS", "true")
        .with("GITHUB_EVENT_NAME", "pull_request")
        .with("GITHUB_EVENT_PATH", &event.display().to_string())
        .with("GITHUB_REPOSITORY", "acme/shop")
        .with("GITHUB_RUN_ID", "77")
        .with("GITHUB_API_URL", forge)
        .with("UPSHIFT_GITHUB_TOKEN", "t-0123456789")
}

/// Read every 15 seconds, also while a model is asked.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn comments_are_heard_while_a_task_is_under_way_and_it_stops_behind_it() {
    let github = FakeGitHub::start_in_real_time(world());
    let project = project();
    let (go, server) = waits();
    let program = of_a_label(&project, &server.url(), &github.url());
    let words = ["--tiers", "claude-haiku-4-5 x1", "--tasks", "failing-tests", "--format", "jsonl", "--max-tasks", "1"];
    let args: Vec<&str> = ["run"].iter().chain(&WITH).chain(&words).copied().collect();
    let mut command = program.command(project.path(), &args);
    // The time between two looks is real.
    command.env_remove("UPSHIFT_TEST_CLOCK").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let lines = Some(BufReader::new(child.stdout.take().expect("its output")).lines());
    let mut working = Working { child, lines };
    working.until("iteration:started");
    {
        let mut world = github.world();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
        let at = u64::try_from(now.as_millis()).expect("a number") + 1_000;
        for body in ["/upshift add 1", "/upshift stop"] {
            let id = world.new_id();
            let (author, body) = ("ada".to_owned(), body.to_owned());
            world.comments.push(Comment {
                id,
                issue: 7,
                author,
                body,
                created_ms: at,
                updated_ms: at,
                ..Comment::default()
            });
        }
    }
    let added = working.until("engine:iterations-added");
    assert_eq!((&added["newMax"], &added["currentIteration"]), (&json!(2), &json!(1)), "the first is under way");
    // The second comment is obeyed in the same look as the first.
    let status = || {
        let said = call(&program, &project, &["tasks", "status", "--format", "json"]);
        serde_json::from_str::<Value>(&said.out).expect("JSON")["status"].as_str().expect("a word").to_owned()
    };
    let seen: Vec<String> = (0..100).map(|_| status()).take_while(|status| status != "stopping").collect();
    assert!(seen.len() < 100 && seen.iter().all(|status| status == "running"), "{seen:?}");
    go.send(()).expect("it waits");
    let lines = working.rest();
    let stopped = lines.iter().find(|line| line["type"] == "engine:stopped").expect("it stops");
    assert_eq!(stopped["totalIterations"], 1, "the task under way is done, no other begins: {lines:#?}");
    let output = lines.iter().find(|line| line["type"] == "agent:output").expect("its words");
    assert_eq!((&output["stream"], &output["data"]), (&json!("stdout"), &json!("mended")), "{output}");
    assert_eq!(status(), "idle");
    server.finish();
    let told: Vec<String> = github.finish().reactions.iter().map(|reaction| reaction.content.clone()).collect();
    assert_eq!(told, ["+1", "+1"]);
}

#[test]
fn an_order_is_heard_while_a_retry_is_waited_for() {
    let project = project();
    // Whatever it says, nothing is mended.
    let server = ModelServer::start(|_request| {
        Say::call("final_report", json!({ "summary": "tried", "status": "done" })).usage(1_000, 20).into()
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let retries = ["--on-error", "retry", "--retry-delay-seconds", "600"];
    let words = ["--tiers", "claude-haiku-4-5 x1", "--tasks", "failing-tests", "--format", "jsonl"];
    let args: Vec<&str> = ["run"].iter().chain(&WITH).chain(&words).chain(&retries).copied().collect();
    let mut command = program.command(project.path(), &args);
    // Ten minutes are ten minutes.
    command.env_remove("UPSHIFT_TEST_CLOCK").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let lines = Some(BufReader::new(child.stdout.take().expect("its output")).lines());
    let mut working = Working { child, lines };
    working.until("iteration:retrying");
    let said = call(&program, &project, &["pause"]);
    assert_eq!((said.code, said.out.as_str()), (0, "it pauses after the current task\n"), "{}", said.all());
    working.until("engine:paused");
    server.finish();
}

#[test]
fn a_task_that_is_added_while_it_is_paused_is_worked_on() {
    let project = project();
    let (go, server) = waits();
    let program = Program::with_anthropic(&server.url()).without_court();
    let tries = |id: &str| {
        let name = format!("test_run (tests.test_{id}.{id}Test.test_run)");
        call(&program, &project, &["tasks", "add", "--tasks", "tasks.yml", id, "Mend it", "--test", &name])
    };
    let add = |id: &str| {
        let said = tries(id);
        assert_eq!(said.code, 0, "{}", said.all());
    };
    add("names");
    git(&project, &["add", "--all"]);
    git(&project, &["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "--quiet", "--message=list"]);
    // Named another way it is the same list.
    let mut working = Working::start_with(&program, &project, "./tasks.yml", &[]);
    working.until("iteration:started");
    // Another list than its own is a file as any other.
    let name = "test_run (tests.test_words.wordsTest.test_run)";
    let refused =
        call(&program, &project, &["tasks", "add", "--tasks", "other.yml", "words", "Mend it", "--test", name]);
    assert_eq!(refused.code, 2, "{}", refused.all());
    assert!(refused.err.contains("a task of another backlog is under way here"), "{}", refused.all());
    assert_eq!(call(&program, &project, &["pause"]).code, 0);
    go.send(()).expect("it waits");
    working.until("engine:paused");
    add("words");
    assert_eq!(call(&program, &project, &["resume"]).code, 0);
    let refreshed = working.until("tasks:refreshed");
    assert_eq!(refreshed["tasks"].as_array().map(Vec::len), Some(2));
    let stopped = working.until("engine:stopped");
    assert_eq!((&stopped["reason"], &stopped["tasksCompleted"]), (&json!("completed"), &json!(2)));
    assert_eq!(working.end(), 0);
    assert_eq!(subjects(&project), ["list", "fix: names Mend it", "fix: words Mend it"]);
    // What is done stays done by either name.
    git(
        &project,
        &["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "--all", "--quiet", "--message=more"],
    );
    let asked = server.requests().len();
    let again = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!((again.code, server.requests().len()), (0, asked), "{}", again.all());
    server.finish();
}

/// A task's commit holds its change alone, also where a person was at the files while it was paused.
#[test]
fn edits_made_while_it_is_paused_are_committed_with_no_task() {
    let project = project();
    let (go, server) = waits();
    let program = Program::with_anthropic(&server.url()).without_court();
    let mut working = Working::start(&program, &project, &[]);
    working.until("iteration:started");
    assert_eq!(call(&program, &project, &["pause"]).code, 0);
    go.send(()).expect("it waits");
    working.until("engine:paused");
    let commits = subjects(&project).len();
    let kept = format!("# mine\n{}", project.read("tests/__init__.py"));
    project.write("tests/__init__.py", &kept);
    assert_eq!(call(&program, &project, &["resume"]).code, 0);
    assert_eq!(working.until("engine:stopped")["reason"], "error");
    assert_eq!(working.end(), 2);
    assert_eq!((subjects(&project).len(), project.read("tests/__init__.py")), (commits, kept));
    server.finish();
}

#[test]
fn a_reader_of_the_lines_that_is_gone_keeps_nobody_from_working() {
    let project = project();
    let (go, server) = waits();
    let program = Program::with_anthropic(&server.url()).without_court();
    let mut working = Working::start(&program, &project, &[]);
    working.until("iteration:started");
    working.lines = None;
    go.send(()).expect("it waits");
    working.child.wait().expect("it ends");
    assert_eq!(subjects(&project).len(), BUGS.len(), "all is worked off all the same");
    server.finish();
}

#[test]
fn resume_says_what_there_is_to_go_on_with() {
    let project = project();
    let (go, server) = waits();
    let program = Program::with_anthropic(&server.url()).without_court();
    let mut working = Working::start(&program, &project, &[]);
    working.until("iteration:started");
    let said = call(&program, &project, &["resume"]);
    assert!(said.code == 1 && said.all().contains("the backlog here is not paused"), "{}", said.all());
    assert_eq!(call(&program, &project, &["pause"]).code, 0);
    go.send(()).expect("it waits");
    working.until("engine:paused");
    // Killed.
    drop(working);
    let said = call(&program, &project, &["resume"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.all().contains("`upshift run --tasks failing-tests` continues it"), "{}", said.all());
    server.finish();
}
