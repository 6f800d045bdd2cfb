//! Report, receipts and rows are one sum, whatever failed: points of failure times ways that a run ends.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{database, locks, mend, priced};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;
use crate::world::sampled;

/// What fails.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// Another program locks the log from the second turn on.
    LockedLog,
    /// The process gets a signal while the model answers in a turn.
    Signal { name: &'static str, turn: usize },
    /// The process is killed after an event, and the run goes on.
    KillAndResume(&'static str),
    /// The process is killed after an event, and a later run takes its place.
    KillAndDiscard(&'static str),
}

/// What the model does.
#[derive(Debug, Clone, Copy)]
enum Model {
    /// It mends the project.
    Mends,
    /// It changes something that does not help.
    Fails,
    /// Its vendor answers the second turn with an error that may have been billed.
    BreaksDown,
}

/// Points at which a process is killed.
const KILLS: [&str; 6] = [
    "call_reserved:1",
    "call_settled:1",
    "tool_finished:1",
    "call_reserved:2",
    "session_finished:1",
    "iteration_finished:1",
];

fn faults() -> Vec<Fault> {
    let signals = ["HUP", "TERM", "INT"].into_iter().flat_map(|name| [0, 1].map(|turn| Fault::Signal { name, turn }));
    let kills = KILLS.into_iter().flat_map(|at| [Fault::KillAndResume(at), Fault::KillAndDiscard(at)]);
    std::iter::once(Fault::LockedLog).chain(signals).chain(kills).collect()
}

fn model(model: Model, project: &Project) -> Box<dyn FnMut(&Request) -> Scripted + Send> {
    let mut mends = mend(project);
    let edit = json!({ "path": project.source, "old_text": project.wrong, "new_text": "    return sum(prices) + 9" });
    let mut edited = false;
    match model {
        Model::Mends => Box::new(mends),
        Model::Fails => Box::new(move |request| match request.turn() {
            0 if !std::mem::replace(&mut edited, true) => Say::call("edit_file", edit.clone()).usage(1_000, 50).into(),
            0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(1_000, 50).into(),
            _ => Say::call("final_report", json!({ "summary": "tried", "status": "done" })).usage(1_000, 20).into(),
        }),
        Model::BreaksDown => Box::new(move |request| match request.turn() {
            1 => Scripted::status(502, "bad gateway"),
            _ => mends(request),
        }),
    }
}

/// A run of the program in a project.
struct Case {
    project: Project,
    folder: tempfile::TempDir,
    name: String,
}

impl Case {
    fn arguments(&self, more: &[&str]) -> Vec<String> {
        let path = database(self.folder.path()).to_str().expect("text").to_owned();
        let args = ["run", "--audit-db", &path, "--tiers", "claude-haiku-4-5 x2", "--test-command"];
        [&args[..], &[self.project.test_command], more].concat().into_iter().map(str::to_owned).collect()
    }

    fn command(&self, program: &Program, more: &[&str]) -> Command {
        let arguments = self.arguments(more);
        program.command(self.project.path(), &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn run(&self, program: &Program, more: &[&str]) -> Said {
        Said::from(self.command(program, more).output().expect("started"))
    }

    fn meets(&self, fault: Fault, mut answer: impl FnMut(&Request) -> Scripted + Send + 'static) {
        let path = database(self.folder.path());
        match fault {
            Fault::LockedLog => {
                let (held, script) = locks(path, answer);
                let server = ModelServer::start_with(priced(), script);
                let program = Program::with_anthropic(&server.url()).without_court();
                self.run(&program, &[]);
                self.is_balanced(&program);
                drop(held.lock().expect("nobody panicked").take());
                self.is_balanced(&program);
            }
            Fault::Signal { name, turn } => {
                let pid: Arc<Mutex<Option<u32>>> = Arc::default();
                let (child_pid, mut signalled) = (Arc::clone(&pid), false);
                let (started, is_started) = std::sync::mpsc::channel::<()>();
                let server = ModelServer::start_with(priced(), move |request| {
                    if request.turn() == turn && !std::mem::replace(&mut signalled, true) {
                        is_started.recv_timeout(super::PATIENCE).expect("the test goes on");
                        let pid = child_pid.lock().expect("nobody panicked").expect("started").to_string();
                        let kill = Command::new("kill").args([&format!("-{name}"), &pid]).status();
                        assert!(kill.expect("kill").success());
                    }
                    answer(request)
                });
                let program = Program::with_anthropic(&server.url()).without_court();
                let mut command = self.command(&program, &[]);
                let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
                *pid.lock().expect("nobody panicked") = Some(child.id());
                started.send(()).expect("somebody listens");
                drop(child.wait_with_output().expect("ended"));
                self.is_balanced(&program);
            }
            Fault::KillAndResume(at) | Fault::KillAndDiscard(at) => {
                let server = ModelServer::start_with(priced(), answer);
                let dying = Program::with_anthropic(&server.url()).without_court().with("UPSHIFT_CRASH_AFTER", at);
                let killed = self.run(&dying, &[]);
                let program = dying.with("UPSHIFT_CRASH_AFTER", "");
                if killed.code == -9 && matches!(fault, Fault::KillAndResume(_)) {
                    let args = self.arguments(&[]);
                    program.run(self.project.path(), &["resume", "--audit-db", &args[2]]);
                } else if killed.code == -9 {
                    let said = self.run(&program, &["--discard"]);
                    assert!(said.err.contains(" is discarded; "), "{}: {}", self.name, said.all());
                }
                self.is_balanced(&program);
            }
        }
    }

    /// The report of every run says what its receipts and its rows add up to.
    fn is_balanced(&self, program: &Program) {
        let path = database(self.folder.path());
        let log = path.to_str().expect("text");
        let listed = program.run(self.project.path(), &["runs", "--format", "json", "--audit-db", log]);
        let listed: Value =
            serde_json::from_str(&listed.out).unwrap_or_else(|error| panic!("{error}: {}", listed.all()));
        let runs: Vec<&str> =
            listed.as_array().expect("a list").iter().filter_map(|run| run["run_id"].as_str()).collect();
        assert!(!runs.is_empty(), "{}", self.name);
        for run in runs {
            let said = program.run(self.project.path(), &["report", run, "--format", "json", "--audit-db", log]);
            let report: Value =
                serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.all()));
            let money = [&report["cost_micro_usd"], &report["unknown_cost"]["micro_usd"]].map(Value::as_i64);
            let told = |count: &str| (money, report[count].as_i64());
            if let Some(sums) = sums(&path, run) {
                assert_eq!(sums.receipts, told("model_calls"), "{}, {run}: receipts: {report:#}", self.name);
                assert_eq!(sums.rows, told("iterations"), "{}, {run}: rows: {report:#}", self.name);
            }
        }
    }
}

/// Known and unknown money, and how many there are of what it was counted from.
type Counted = ([Option<i64>; 2], Option<i64>);

struct Sums {
    receipts: Counted,
    rows: Counted,
}

/// The sums of a run as any program reads them. `None` while another has the log locked: a part of it waits beside it then.
fn sums(path: &Path, run: &str) -> Option<Sums> {
    if path.with_file_name("audit.db.spool.jsonl").exists() {
        return None;
    }
    let log = Log::open(path);
    let counted = |sql: &str| {
        let rows = log.rows(&format!("{sql} WHERE run_id = '{run}'"));
        let number = |column: usize| rows[0][column].parse::<i64>().ok();
        ([number(0), number(1)], number(2))
    };
    Some(Sums {
        receipts: counted(
            "SELECT COALESCE(SUM(cost_micro_usd), 0), COALESCE(SUM(unknown_cost_micro_usd), 0), COUNT(*) FROM model_calls",
        ),
        rows: counted(
            "SELECT CAST(ROUND(COALESCE(SUM(cost_usd), 0) * 1e6) AS INTEGER), \
             CAST(ROUND(COALESCE(SUM(unknown_cost_usd), 0) * 1e6) AS INTEGER), COUNT(*) FROM tier_attempts",
        ),
    })
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn report_receipts_and_rows_are_one_sum_whatever_failed() {
    let models = [Model::Mends, Model::Fails, Model::BreaksDown];
    let cases = models.into_iter().flat_map(|model| faults().into_iter().map(move |fault| (model, fault)));
    for (what, fault) in sampled(cases) {
        let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
        let answer = model(what, &project);
        let case = Case { project, folder, name: format!("{what:?}, {fault:?}") };
        case.meets(fault, answer);
    }
}

#[test]
fn a_log_that_was_locked_is_whole_for_every_program_once_a_report_was_made_of_it() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let answer = model(Model::Mends, &project);
    let case = Case { project, folder, name: "locked".to_owned() };
    let path = database(case.folder.path());
    let (held, script) = locks(path.clone(), answer);
    let server = ModelServer::start_with(priced(), script);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = case.run(&program, &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.out.contains("  ! the audit log is incomplete until what waits beside it is taken in"),
        "{}",
        said.out
    );
    drop(held.lock().expect("nobody panicked").take());
    assert_eq!(Log::open(&path).number("SELECT COUNT(*) FROM tier_attempts"), 0);
    let later = program.run(case.project.path(), &["report", "--audit-db", path.to_str().expect("text")]);
    assert_eq!(later.code, 0, "{}", later.all());
    let log = Log::open(&path);
    assert_eq!(log.number("SELECT COUNT(*) FROM tier_attempts"), 1);
    assert_eq!(log.value("SELECT outcome FROM run_metadata"), "success");
    assert!(!path.with_file_name("audit.db.spool.jsonl").exists());
    server.finish();
}
