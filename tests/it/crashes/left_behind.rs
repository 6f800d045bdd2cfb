//! What a run leaves that was killed: said before anything is paid, gone on with, or put back.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use super::kills::{CORRECTED, MENDED, MINIMISED, REWRITING};
use super::{assert_ended_by, database_of, files_of, script};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;
use crate::world::sampled;

/// Long enough for any machine; nothing waits for its end.
const LONG: Duration = Duration::from_secs(60);

/// The same command behind others words: a program that starts it.
fn behind(command: &Command, words: &[&str]) -> Command {
    let mut outer = Command::new(words[0]);
    outer.args(&words[1..]).arg(command.get_program()).args(command.get_args());
    outer.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.current_dir(command.get_current_dir().expect("a folder"));
    outer
}

fn hang_up(pid: u32) {
    let kill = Command::new("kill").args(["-HUP", &pid.to_string()]).status();
    assert!(kill.expect("kill").success());
}

fn arguments<'a>(project: &Project, database: &'a str, ladder: &'a str) -> Vec<&'a str> {
    vec!["run", "--audit-db", database, "--tiers", ladder, "--test-command", project.test_command]
}

fn text(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

#[test]
fn b8_a_hangup_ends_the_run_in_order() {
    assert_ended_by("HUP", 129);
}

#[test]
fn b8_a_terminal_that_goes_away_ends_the_run_in_order() {
    /// Starts a program on a terminal of its own, which goes away when a line comes in.
    const TERMINAL: &str = "import os, pty, select, sys\npid, terminal = pty.fork()\n\
        if pid == 0:\n    os.execv(sys.argv[1], sys.argv[1:])\n\
        while 0 not in select.select([0, terminal], [], [])[0]:\n    os.read(terminal, 65536)\n\
        os.close(terminal)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n";
    let project = Project::python();
    let database = text(&database_of(&project));
    let (asked, was_asked) = mpsc::channel();
    let server = ModelServer::start(move |request| match request.turn() {
        0 | 1 => script(request),
        _ => {
            asked.send(()).expect("somebody listens");
            Scripted::Hang
        }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let command = program.command(project.path(), &arguments(&project, &database, "claude-haiku-4-5 x2"));
    let mut command = behind(&command, &["python3", "-c", TERMINAL]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    was_asked.recv_timeout(LONG).expect("the third turn is asked for");
    child.stdin.take().expect("a pipe").write_all(b"go\n").expect("written");
    let said = Said::from(child.wait_with_output().expect("ended"));
    assert_eq!(said.out, "129\n", "{}", said.all());
    assert!(project.read("shop/cart.py").contains("sum(prices) - 1"), "the start is restored");
    let report = program.run(project.path(), &["report", "--audit-db", &database]);
    assert!(report.out.contains("Interrupted by SIGHUP"), "{}", report.all());
}

#[test]
fn b8_a_hangup_does_not_count_under_nohup() {
    let project = Project::python();
    let database = text(&database_of(&project));
    let (asked, was_asked) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let server = ModelServer::start(move |request| {
        if request.turn() == 2 {
            asked.send(()).expect("somebody listens");
            may_go.recv_timeout(LONG).expect("the hangup was sent");
        }
        script(request)
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let command = program.command(project.path(), &arguments(&project, &database, "claude-sonnet-4-5 x1"));
    let mut command = behind(&command, &["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    was_asked.recv_timeout(LONG).expect("the third turn is asked for");
    hang_up(child.id());
    go.send(()).expect("it waits");
    let said = Said::from(child.wait_with_output().expect("ended"));
    assert_eq!(said.code, 0, "{}", said.all());
    server.finish();
}

fn git(project: &Project, args: &[&str]) {
    assert!(Command::new("git").args(args).current_dir(project.path()).status().expect("git").success());
}

/// A killed run knows its trees by its home: the same for whatever comes after.
struct Killed {
    project: Project,
    server: ModelServer,
    program: Program,
    database: String,
    run: String,
}

impl Killed {
    /// After the first edit of the model that mends it.
    fn after_an_edit(project: Project) -> Self {
        Self::at("tool_finished:2", project, "claude-sonnet-4-5 x1", script)
    }

    fn at(
        event: &str,
        project: Project,
        ladder: &str,
        script: impl FnMut(&Request) -> Scripted + Send + 'static,
    ) -> Self {
        let server = ModelServer::start(script);
        let database = text(&database_of(&project));
        let dying = Program::with_anthropic(&server.url()).with("UPSHIFT_CRASH_AFTER", event);
        let killed = dying.run(project.path(), &arguments(&project, &database, ladder));
        assert_eq!(killed.code, -9, "{event}: {}", killed.all());
        let run = Log::open(&database_of(&project)).value("SELECT substr(run_id, 1, 8) FROM run_metadata");
        Self { project, server, program: dying.with("UPSHIFT_CRASH_AFTER", ""), database, run }
    }

    fn run(&self, more: &[&str]) -> Said {
        let mut args = arguments(&self.project, &self.database, "claude-sonnet-4-5 x1");
        args.extend_from_slice(more);
        self.program.run(self.project.path(), &args)
    }

    /// With a test command that nothing can be made of, so that no model is asked.
    fn discard_and_stop(&self) -> Said {
        let args = ["run", "--discard", "--audit-db", &self.database, "--tiers", "claude-sonnet-4-5 x1"];
        self.program.run(self.project.path(), &[&args[..], &["--test-command", "false"]].concat())
    }

    /// `check` or `doctor`.
    fn look(&self, command: &str) -> Said {
        let mut args = arguments(&self.project, &self.database, "claude-sonnet-4-5 x1");
        args[0] = command;
        self.program.run(self.project.path(), &args)
    }

    fn resume(&self) -> Said {
        self.program.run(self.project.path(), &["resume", &self.run, "--audit-db", &self.database])
    }

    /// The two ways out, as they are told.
    fn ways_out(&self) -> String {
        format!(
            "`upshift resume {} --audit-db {}` continues it, `upshift run --discard` restores the files and starts over",
            self.run, self.database
        )
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b8_what_a_killed_run_left_is_said_before_anything_is_paid() {
    let killed = Killed::after_an_edit(Project::python());
    let asked = killed.server.requests().len();
    let (run, ways) = (&killed.run, killed.ways_out());
    let refused = killed.run(&[]);
    assert_eq!(refused.code, 2, "{}", refused.all());
    assert!(
        refused.err.contains(&format!("run {run} was killed here and left 1 file changed: {ways}\n")),
        "{}",
        refused.all()
    );
    assert!(refused.err.contains(&format!("in {}: shop/cart.py\n", killed.project.path().display())), "{refused:?}");

    let line = format!("run {run} was killed here and left 1 file changed (shop/cart.py)");
    let check = killed.look("check");
    assert_eq!(check.code, 0, "{}", check.all());
    assert!(
        check.out.starts_with("! The configuration is valid, but a run would stop immediately here.\n"),
        "{}",
        check.all()
    );
    assert!(check.out.contains(&format!("\n  ✖ {line}\n    → Fix: {ways}\n")), "{}", check.all());
    let doctor = killed.look("doctor");
    assert_eq!(doctor.code, 1, "{}", doctor.all());
    assert!(doctor.out.contains(&format!("✖ killed run: {line} → Fix: {ways}\n")), "{}", doctor.all());

    assert_eq!(killed.server.requests().len(), asked, "nothing more is paid for");
    let log = Log::open(&database_of(&killed.project));
    assert_eq!(log.number("SELECT COUNT(*) FROM run_metadata"), 1, "no other run began");
    assert!(killed.project.read("shop/cart.py").ends_with("sum(prices)\n"), "nothing was touched");

    let resumed = killed.resume();
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    let again = killed.run(&[]);
    assert_eq!(again.code, 0, "{}", again.all());
    assert!(!again.err.contains("was killed here"), "{}", again.all());
    killed.server.finish();
}

#[test]
fn b8_discard_puts_the_start_back_and_ends_the_killed_run() {
    let project = Project::python();
    project.write("shop/extra.py", "committed = 1\n");
    project.commit();
    // The person's own work at the start, uncommitted.
    project.write("shop/extra.py", "mine = 1\n");
    project.write("shop/plan.txt", "mine\n");
    let killed = Killed::at("tool_finished:4", project, "claude-sonnet-4-5 x1", |request| match request.turn() {
        0 => Say::call("write_file", json!({ "path": "shop/new.py", "content": "x = 1\n" })).usage(900, 40).into(),
        1 => Say::call("delete_file", json!({ "path": "shop/plan.txt" })).usage(900, 40).into(),
        2 => {
            let edit = json!({ "path": "shop/extra.py", "old_text": "mine = 1", "new_text": "theirs = 1" });
            Say::call("edit_file", edit).usage(900, 40).into()
        }
        3 => {
            let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
            Say::call("edit_file", edit).usage(900, 40).into()
        }
        _ => Say::call("final_report", json!({ "summary": "changed it", "status": "done" })).usage(900, 40).into(),
    });
    let project = &killed.project;
    assert_eq!(project.read("shop/extra.py"), "theirs = 1\n");
    // What the person does after the kill is theirs.
    project.write("later.txt", "mine, later\n");
    let refused = killed.run(&[]);
    assert!(refused.code == 2 && refused.err.contains("and left 4 files changed"), "{}", refused.all());

    let green =
        ["--test-command", "grep -q 'sum(prices) - 1' shop/cart.py && echo '1..1' && echo 'ok 1 - as it began'"];
    let args =
        ["run", "--discard", "--audit-db", &killed.database, "--tiers", "claude-sonnet-4-5 x1", green[0], green[1]];
    let said = killed.program.run(project.path(), &args);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(project.read("shop/extra.py"), "mine = 1\n");
    assert_eq!(project.read("shop/plan.txt"), "mine\n");
    assert_eq!(project.read("later.txt"), "mine, later\n");
    assert!(!project.path().join("shop/new.py").exists(), "what the run made is gone");
    let run = &killed.run;
    let told = format!("Run {run} is discarded; restored: shop/cart.py, shop/extra.py, shop/new.py, shop/plan.txt\n");
    assert!(
        said.err.contains(&told) && said.err.contains("were changed after it was killed: later.txt\n"),
        "{}",
        said.all()
    );

    let log = Log::open(&database_of(project));
    let ended = format!("SELECT outcome, stop_reason FROM run_state WHERE run_id LIKE '{run}%'");
    assert_eq!(log.rows(&ended), [["interrupted", "discarded by a later run"]]);
    assert_eq!(log.number("SELECT COUNT(*) FROM reservations WHERE settled_micro_usd IS NULL"), 0);
    let resumed = killed.resume();
    assert_eq!(resumed.code, 2, "{}", resumed.all());
    assert!(resumed.err.contains("discarded by a later run"), "{}", resumed.all());
    let report = killed.program.run(project.path(), &["report", run, "--audit-db", &killed.database]);
    assert!(report.out.contains("Killed during Tier 1") && !report.out.contains("upshift resume"), "{}", report.all());
    let verified = killed.program.run(project.path(), &["report", run, "--verify", "--audit-db", &killed.database]);
    assert_eq!(verified.code, 0, "{}", verified.all());
    killed.server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b8_what_several_iterations_wrote_is_put_back() {
    let killed = Killed::at("iteration_finished:1", Project::python(), "claude-haiku-4-5 x2", script);
    assert!(killed.project.read("shop/cart.py").contains("sum(prices) - 2"), "the run built on it");
    let said = killed.run(&["--discard"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("1 failing → 0 failing (1 fixed)"), "{}", said.all());
    assert!(killed.project.read("shop/cart.py").ends_with("sum(prices)\n"));
    killed.server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b8_files_that_a_person_put_back_are_not_in_the_way() {
    let project = Project::python();
    project.commit();
    let killed = Killed::after_an_edit(project);
    git(&killed.project, &["checkout", "--quiet", "--", "."]);
    for command in ["check", "doctor"] {
        let looked = killed.look(command);
        assert!(!looked.out.contains("was killed here"), "{}", looked.all());
    }
    let said = killed.run(&[]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.err.contains(&format!("run {} was killed here and left nothing in the files", killed.run)),
        "{said:?}"
    );
    // The fix is what the killed run wrote, too; that one is history now.
    let again = killed.run(&[]);
    assert_eq!(again.code, 0, "{}", again.all());
    assert!(!again.err.contains("was killed here"), "{}", again.all());
    killed.server.finish();
}

/// The files of a person's that were kept beside the log.
fn kept_of(killed: &Killed, path: &str) -> String {
    let folder = Path::new(&killed.database).parent().expect("a folder").join(&killed.run);
    let beside = folder.join("yours").join(format!("{path}.kept"));
    std::fs::read_to_string(&beside).unwrap_or_else(|error| panic!("{}: {error}", beside.display()))
}

/// One line by a person does not make the model's own a person's.
#[test]
fn b8_edits_of_a_killed_run_are_no_baseline_because_a_person_edited_the_file_too() {
    let killed = Killed::after_an_edit(Project::python());
    let mixed = format!("{}# mine\n", killed.project.read("shop/cart.py"));
    killed.project.write("shop/cart.py", &mixed);
    killed.project.write("mine.txt", "mine\n");
    for command in ["check", "doctor"] {
        let looked = killed.look(command);
        let said = "was killed here and left 1 file changed; since then changed by somebody: shop/cart.py";
        assert!(looked.all().contains(said), "{command}: {}", looked.all());
    }
    let refused = killed.run(&[]);
    assert!(refused.code == 2 && refused.err.contains("since then changed by somebody"), "{}", refused.all());
    assert_eq!(killed.project.read("shop/cart.py"), mixed);

    let said = killed.discard_and_stop();
    assert!(said.err.contains("is discarded; restored: shop/cart.py\n"), "{}", said.all());
    assert!(
        said.err.contains("after the run was killed, beside edits of its own, and put back: shop/cart.py;"),
        "{}",
        said.all()
    );
    assert!(
        said.err.contains("kept as they are, since they were changed after it was killed: mine.txt\n"),
        "{}",
        said.all()
    );
    assert!(killed.project.read("shop/cart.py").ends_with("sum(prices) - 1\n"), "the start");
    assert_eq!((kept_of(&killed, "shop/cart.py"), killed.project.read("mine.txt")), (mixed, "mine\n".to_owned()));
}

#[test]
fn b8_a_judge_says_that_the_files_are_a_killed_runs() {
    let project = Project::python();
    project.commit();
    let killed = Killed::after_an_edit(project);
    let judged = killed.program.run(killed.project.path(), &["judge", "--test-command", "python3 -m unittest"]);
    assert!(judged.err.contains("was killed here and left 1 file changed"), "{}", judged.all());
}

#[test]
fn b8_resume_keeps_what_a_person_changed_after_the_kill() {
    let killed = Killed::after_an_edit(Project::python());
    let mixed = format!("{}# mine\n", killed.project.read("shop/cart.py"));
    killed.project.write("shop/cart.py", &mixed);
    killed.project.write("mine.txt", "mine\n");
    killed.project.write("shop/other.py", "x = 1\n");
    let said = killed.resume();
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.err.contains("beside edits of its own, and put back: shop/cart.py; their versions are in"),
        "{}",
        said.all()
    );
    assert!(said.err.contains("part of its start from now on: mine.txt, shop/other.py"), "{}", said.all());
    assert!(killed.project.read("shop/cart.py").ends_with("sum(prices)\n"), "the fix");
    assert_eq!(kept_of(&killed, "shop/cart.py"), mixed);
    assert_eq!(killed.project.read("mine.txt") + &killed.project.read("shop/other.py"), "mine\nx = 1\n");
    assert!(said.out.contains("Change:  1 file, +1 −1\n"), "theirs is not the run's change: {}", said.out);
    killed.server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b8_a_living_run_is_not_a_killed_one_and_an_interrupted_one_is_not_in_the_way() {
    for signal in ["-KILL", "-INT"] {
        let project = Project::python();
        let database = text(&database_of(&project));
        let (asked, was_asked) = mpsc::channel();
        let mut has_hung = false;
        let server = ModelServer::start(move |request| match request.turn() {
            2 if !std::mem::replace(&mut has_hung, true) => {
                asked.send(()).expect("somebody listens");
                Scripted::Hang
            }
            _ => script(request),
        });
        let program = Program::with_anthropic(&server.url()).without_court();
        let args = arguments(&project, &database, "claude-sonnet-4-5 x1");
        let mut command = program.command(project.path(), &args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        was_asked.recv_timeout(LONG).expect("the third turn is asked for");
        let check = || program.run(project.path(), &[&["check"], &args[1..]].concat());
        let living = check();
        assert!(living.code == 0 && !living.out.contains("was killed here"), "{}", living.all());
        let second = program.run(project.path(), &[&args[..], &["--discard"]].concat());
        assert!(second.code == 2 && second.err.contains("another upshift is running in"), "{}", second.all());

        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        drop(child.wait_with_output().expect("ended"));
        let dead = check();
        assert_eq!(dead.out.contains("was killed here"), signal == "-KILL", "{signal}: {}", dead.all());
        if signal == "-INT" {
            let resumed = program.run(project.path(), &["resume", "--audit-db", &database]);
            assert_eq!(resumed.code, 0, "it goes on: {}", resumed.all());
        }
    }
}

#[test]
fn b8_a_run_without_a_log_is_known_to_nobody() {
    let project = Project::python();
    let server = ModelServer::start(script);
    let dying = Program::with_anthropic(&server.url()).without_court().with("UPSHIFT_CRASH_AFTER", "tool_finished:2");
    let args = ["run", "--no-audit", "--tiers", "claude-sonnet-4-5 x1", "--test-command", project.test_command];
    assert_eq!(dying.run(project.path(), &args).code, -9);
    let program = dying.with("UPSHIFT_CRASH_AFTER", "");
    let said = program.run(project.path(), &[&args[..], &["--discard"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.err.contains("no killed run here to discard"), "{}", said.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b8_discard_leaves_the_start_wherever_the_run_was_killed() {
    for scenario in [MENDED, REWRITING, MINIMISED, CORRECTED] {
        // Before its start is recorded a run has changed nothing, and after its end it is not killed.
        let elsewhen = ["run_started", "invocation_started", "run_finished"];
        let in_between = |kill: &&&str| !elsewhen.iter().any(|event| kill.starts_with(event));
        for kill in sampled(scenario.kills.iter().filter(in_between)) {
            let project = Project::python();
            project.write("other.py", "x = 1\n");
            project.write("README", "mine\n");
            project.commit();
            project.write("README", "mine, uncommitted\n");
            if !scenario.config.is_empty() {
                project.write(".github/upshift.yml", scenario.config);
            }
            let before = files_of(project.path());
            let killed = Killed::at(kill, project, scenario.ladder, scenario.script);
            let said = killed.discard_and_stop();
            assert!(said.err.contains(&format!("Run {} is discarded", killed.run)), "{kill}: {}", said.all());
            assert!(!said.err.contains("kept as they are"), "{kill}: {}", said.all());
            assert_eq!(files_of(killed.project.path()), before, "{kill}: {}", said.all());
        }
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b8_what_a_person_changes_between_a_kill_and_a_resume_is_kept() {
    let killed = Killed::after_an_edit(Project::python());
    killed.project.write("mine.txt", "between\n");
    let mut command =
        killed.program.command(killed.project.path(), &["resume", &killed.run, "--audit-db", &killed.database]);
    let again = command.env("UPSHIFT_CRASH_AFTER", "session_finished:1").output().expect("started");
    assert_eq!(again.status.code(), None, "killed again");
    let said = killed.run(&["--discard"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(killed.project.read("mine.txt"), "between\n", "part of its start");
    killed.server.finish();
}

#[test]
fn b8_what_code_of_a_killed_run_did_to_other_files_is_put_back() {
    let killed = Killed::at("tool_finished:2", Project::python(), "claude-haiku-4-5 x1", |request| {
        let evil = "import pathlib\n\nfor test in pathlib.Path('tests').glob('test_*.py'):\n    test.write_text('')\n";
        match request.turn() {
            0 => Say::call("write_file", json!({ "path": "shop/cart.py", "content": evil })).usage(900, 40).into(),
            1 => Say::call("run_tests", json!({})).usage(900, 40).into(),
            _ => script(request),
        }
    });
    assert_eq!(killed.project.read("tests/test_cart.py"), "", "it was rewritten");
    let refused = killed.run(&[]);
    assert!(refused.code == 2 && refused.err.contains("and left 2 files changed"), "{}", refused.all());
    let said = killed.run(&["--discard", "--max-iterations", "1"]);
    assert!(said.err.contains("restored: shop/cart.py, tests/test_cart.py\n"), "{}", said.all());
    assert!(killed.project.read("tests/test_cart.py").contains("test_total"));
}

#[test]
fn b8_the_ways_out_name_no_log_where_it_is_the_usual_one() {
    let project = Project::python();
    let server = ModelServer::start(script);
    let dying = Program::with_anthropic(&server.url()).without_court().with("UPSHIFT_CRASH_AFTER", "tool_finished:2");
    let args = ["run", "--tiers", "claude-sonnet-4-5 x1", "--test-command", project.test_command];
    assert_eq!(dying.run(project.path(), &args).code, -9);
    let program = dying.with("UPSHIFT_CRASH_AFTER", "");
    let listed = program.run(project.path(), &["runs"]);
    let run = listed.out.lines().nth(1).and_then(|line| line.split(' ').next()).expect("an id");
    let refused = program.run(project.path(), &args);
    let said = format!(
        "run {run} was killed here and left 1 file changed: `upshift resume {run}` continues it, `upshift run --discard` restores the files and starts over\n"
    );
    assert!(refused.code == 2 && refused.err.contains(&said), "{}", refused.all());
    // Another log knows nothing of the run; the tree does.
    let elsewhere = program.run(project.path(), &[&args[..], &["--no-audit"]].concat());
    assert!(elsewhere.code == 2 && elsewhere.err.contains(&said), "{}", elsewhere.all());
    let resumed = program.run(project.path(), &["resume", run]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    server.finish();
}

#[test]
fn b8_a_discarded_run_has_the_row_of_the_iteration_that_was_killed() {
    let killed = Killed::at("call_reserved:2", Project::python(), "claude-sonnet-4-5 x1", script);
    let report = |form: &str| {
        let args = ["report", &killed.run, "--format", form, "--audit-db", &killed.database];
        killed.program.run(killed.project.path(), &args).out
    };
    assert!(!report("text").contains("Full history"), "there is no row to show: {}", report("text"));
    let said = killed.discard_and_stop();
    assert!(said.err.contains(" is discarded; "), "{}", said.all());
    let told: serde_json::Value = serde_json::from_str(&report("json")).expect("JSON");
    let log = Log::open(&database_of(&killed.project));
    let row = format!(
        "SELECT tier_index, iteration, test_status, CAST(ROUND(cost_usd * 1e6) AS INTEGER), \
         CAST(ROUND(unknown_cost_usd * 1e6) AS INTEGER) FROM tier_attempts WHERE run_id LIKE '{}%'",
        killed.run
    );
    let (cost, unknown) = (told["cost_micro_usd"].to_string(), told["unknown_cost"]["micro_usd"].to_string());
    assert!(unknown != "0" && cost != "0", "{told:#}");
    assert_eq!(log.rows(&row), [["0", "1", "error", &cost, &unknown]]);
    let command = report("text");
    let command = command.lines().find_map(|line| line.trim().strip_prefix("Full history: ")).expect("rows are shown");
    assert!(command.contains("tier_attempts"), "{command}");
    killed.server.finish();
}

#[test]
fn c12_the_conversation_of_a_killed_run_has_the_replies_that_came() {
    let killed = Killed::after_an_edit(Project::python());
    let args = ["show", &killed.run, "--conversation", "--audit-db", &killed.database];
    let shown = killed.program.run(killed.project.path(), &args);
    assert!(shown.out.contains("calls edit_file:\n"), "{}", shown.all());
    assert!(shown.out.contains("(artisan ended: not yet, these are its replies only"), "{}", shown.all());
    assert!(!shown.out.contains("has no conversation"), "{}", shown.all());
    killed.server.finish();
}
