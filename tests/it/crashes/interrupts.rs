//! Signals at awkward moments, and what a resume makes of them.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::json;

use super::database_of;
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// Counts its runs; the run whose number stands in `gate-at` says through the pipe that it is there, and waits.
const GATED: &str = "n=$(($(cat runs 2>/dev/null || echo 0) + 1)); echo $n > runs\n\
                     if [ -p gate ] && [ \"$n\" = \"$(cat gate-at)\" ]; then echo here > gate; sleep 600; fi\n\
                     exec python3 -m unittest -v\n";

/// A project whose n-th test run waits to be interrupted.
fn gated(at: u32) -> Project {
    let project = Project::python();
    project.write("check.sh", GATED);
    project.write("gate-at", &at.to_string());
    project.write(".gitignore", "runs\ngate\n");
    let made = std::process::Command::new("mkfifo").arg(project.path().join("gate")).status().expect("mkfifo");
    assert!(made.success());
    project
}

fn start(program: &Program, project: &Project, ladder: &str, command: &str) -> Child {
    let database = database_of(project).to_str().expect("text").to_owned();
    let args = ["run", "--audit-db", &database, "--tiers", ladder, "--test-command", command];
    let mut command = program.command(project.path(), &args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
}

/// Waits until the gated test run is there, interrupts the program and opens the gate for good.
fn interrupt_at_the_gate(child: Child, project: &Project) -> Said {
    end_at_the_gate(child, project, "-INT")
}

fn end_at_the_gate(child: Child, project: &Project, signal: &str) -> Said {
    let gate = project.path().join("gate");
    let mut said = String::new();
    std::fs::File::open(&gate).expect("the gate").read_to_string(&mut said).expect("a word");
    assert_eq!(said, "here\n");
    let ended = signalled(child, signal);
    std::fs::remove_file(gate).expect("open");
    ended
}

fn interrupted(child: Child) -> Said {
    signalled(child, "-INT")
}

fn signalled(child: Child, signal: &str) -> Said {
    let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    Said::from(child.wait_with_output().expect("ended"))
}

fn resume(program: &Program, project: &Project, folder: &Path) -> Said {
    program.run(folder, &["resume", "--audit-db", database_of(project).to_str().expect("text")])
}

/// Mends what is not mended yet; where it finds nothing to do it changes nothing.
fn mends(request: &Request) -> Scripted {
    let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
    match request.turn() {
        0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(900, 40).into(),
        1 if request.tool_results()[0].content.contains("- 1") => Say::call("edit_file", edit).usage(900, 40).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(900, 40).into(),
    }
}

#[test]
fn an_interrupted_baseline_is_taken_anew() {
    let project = gated(1);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let child = start(&program, &project, "claude-haiku-4-5 x1", "sh check.sh");
    let said = interrupt_at_the_gate(child, &project);
    assert_eq!(said.code, 130, "{}", said.all());
    assert_eq!(server.requests().len(), 0);
    assert!(!said.all().contains("Baseline:"), "what was cut short measures nothing: {}", said.all());

    let elsewhere = tempfile::tempdir().expect("a folder");
    let lost = resume(&program, &project, elsewhere.path());
    assert_eq!(lost.code, 2, "{}", lost.all());
    let home = project.path().display().to_string();
    assert!(lost.err.contains(&home) && lost.err.contains("→ Fix: call `upshift resume"), "{}", lost.err);

    let resumed = resume(&program, &project, project.path());
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert!(resumed.out.contains("Tests:   1 failing → 0 failing (1 fixed)"), "{}", resumed.out);
    server.finish();
}

#[test]
fn a1_tests_that_no_run_judged_again_are_never_called_fixed() {
    let project = gated(2); // the second look, for tests that fail now and then
    let program = Program::with_anthropic("http://127.0.0.1:9").without_court();
    let child = start(&program, &project, "claude-haiku-4-5 x1", "sh check.sh");
    let said = interrupt_at_the_gate(child, &project);
    assert_eq!(said.code, 130, "{}", said.all());
    let report = |format: &str| {
        program
            .run(project.path(), &["report", "--format", format, "--audit-db", database_of(&project).to_str().unwrap()])
            .out
    };
    let (text, markdown, json) = (said.out, report("md"), report("json"));
    assert!(text.contains("Tests:   1 failing\n"), "{text}");
    for surface in [&text, &markdown] {
        assert!(!surface.contains("fixed)") && !surface.contains("0 failing"), "{surface}");
    }
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["failing_before"].as_array().map(Vec::len), Some(1), "{json:#}");
    assert_eq!(json["failing_after"], serde_json::Value::Null, "{json:#}");
    assert_eq!(json["fixed_tests"], json!([]), "{json:#}");
    let first = "✖ Interrupted by SIGINT. 1 test failed at the start";
    assert_eq!((text.lines().next(), json["verdict"].as_str()), (Some(first), Some(first)));
    assert!(markdown.contains(&format!("### {first}\n")), "{markdown}");
}

/// In the middle of an experiment there stands a test that upshift itself broke.
#[test]
fn an_experiment_that_a_kill_ended_is_put_back_and_laid_at_nobodys_door() {
    let project = gated(0);
    project.write("as-it-was", &project.read("tests/test_cart.py"));
    let is_broken = "! cmp -s as-it-was tests/test_cart.py";
    project.write("check.sh", &GATED.replace("[ \"$n\" = \"$(cat gate-at)\" ]", is_broken));
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    let killed = end_at_the_gate(start(&program, &project, "claude-haiku-4-5 x2", "sh check.sh"), &project, "-KILL");
    assert_eq!(killed.code, -9, "{}", killed.all());
    let paid = server.requests().len();
    let resumed = resume(&program, &project, project.path());
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert!(!resumed.all().contains("had rewritten"), "{}", resumed.all());
    assert_eq!(server.requests().len(), paid, "the change is judged, and not paid for again");
    server.finish();
}

/// A daemon of the tests, too: what would be left writes where a run that is continued works.
#[cfg(target_os = "linux")]
#[test]
fn what_tests_started_ends_also_where_upshift_is_killed() {
    let project = gated(1);
    let late = "sleep 30; echo survived >&9";
    project.write("check.sh", &format!("exec 9> gate; setsid sh -c '{late}' & echo here >&9; {late}\n"));
    let program = Program::with_anthropic("http://127.0.0.1:9");
    let child = start(&program, &project, "claude-haiku-4-5 x1", "sh check.sh");
    let mut gate = BufReader::new(std::fs::File::open(project.path().join("gate")).expect("the gate"));
    let mut said = String::new();
    gate.read_line(&mut said).expect("a word");
    assert_eq!(signalled(child, "-KILL").code, -9);
    // There is no end before all have closed it.
    gate.read_to_string(&mut said).expect("the end");
    assert_eq!(said, "here\n");
}

/// Experiments that were not made could have refused the green: it is not called a fix, whoever says that there is no more time.
#[test]
fn a7_a_green_whose_proof_a_signal_cut_short_is_no_fix() {
    let project = gated(0);
    // An experiment begins as the very first run did, without the count, and with the change.
    let is_experiment = "[ \"$n\" = 1 ] && ! grep -q 'sum(prices) - 1' shop/cart.py";
    project.write("check.sh", &GATED.replace("[ \"$n\" = \"$(cat gate-at)\" ]", is_experiment));
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    let said = interrupt_at_the_gate(start(&program, &project, "claude-haiku-4-5 x2", "sh check.sh"), &project);
    assert_eq!(said.code, 130, "{}", said.all());
    assert!(project.read("shop/cart.py").contains("sum(prices) - 1"), "the start is restored");
    let log = database_of(&project);
    for format in ["text", "md", "json", "html"] {
        let args = ["report", "--format", format, "--audit-db", log.to_str().expect("text")];
        let report = program.run(project.path(), &args).out;
        let said_fixed =
            ["1 test fixed", "1 fixed", "(1 fixed)", "left no time"].iter().any(|words| report.contains(words));
        assert!(report.contains("Interrupted by SIGINT") && !said_fixed, "{format}: {report}");
    }
    let rows = Log::open(&log).rows("SELECT iteration, test_status FROM tier_attempts ORDER BY id");
    assert_eq!(rows, [["1", "error"]]);

    let paid = server.requests().len();
    let resumed = resume(&program, &project, project.path());
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert!(resumed.out.starts_with("✔ 1 test fixed in cart.py"), "{}", resumed.out);
    assert_eq!(server.requests().len(), paid, "the change is judged, and not paid for again");
    server.finish();
}

/// Types Ctrl-C at a terminal when the gated run of the tests is there, and lets it go on when the program has answered.
const TYPES_CTRL_C: &str = "
import os, pty, sys, threading
child, master = pty.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
def types():
    open('gate').read()
    os.write(master, b'\\x03')
threading.Thread(target=types, daemon=True).start()
said, answered = b'', False
while True:
    try:
        part = os.read(master, 65536)
    except OSError:
        break
    if not part:
        break
    said += part
    if not answered and b'Ctrl-C again ends it' in said:
        answered = True
        open('go', 'w').write('go')
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";

#[test]
fn a7_a_ctrl_c_while_a_change_is_judged_has_it_judged_to_the_end() {
    let project = gated(3); // the first two are the baseline, looked at twice
    project.write("check.sh", &GATED.replace("echo here > gate; sleep 600", "echo here > gate; read -r word < go"));
    let made = std::process::Command::new("mkfifo").arg(project.path().join("go")).status().expect("mkfifo");
    assert!(made.success());
    project.write(".gitignore", "runs\ngate\ngo\n");
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let database = database_of(&project).to_str().expect("text").to_owned();
    let run = ["run", "--audit-db", &database, "--tiers", "claude-haiku-4-5 x2", "--test-command", "sh check.sh"];
    let upshift = program.command(project.path(), &run);
    let mut python = std::process::Command::new("python3");
    python.args(["-c", TYPES_CTRL_C]).arg(upshift.get_program()).args(run).current_dir(project.path()).env_clear();
    python.envs(upshift.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = Said::from(python.output().expect("python3"));
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.out.contains("is judged first") && said.out.contains("1 failing → 0 failing (1 fixed)"),
        "{}",
        said.out
    );
    assert!(project.read("shop/cart.py").ends_with("sum(prices)\n"));
    server.finish();
}

#[test]
fn a_resumed_run_is_told_line_by_line_too() {
    let project = gated(3); // the first two are the baseline, looked at twice
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = interrupt_at_the_gate(start(&program, &project, "claude-haiku-4-5 x2", "sh check.sh"), &project);
    assert_eq!(said.code, 130, "{}", said.all());
    let database = database_of(&project);
    let log = ["--audit-db", database.to_str().expect("text"), "--format", "jsonl"];
    let resumed = program.run(project.path(), &[&["resume", "-q"][..], &log].concat());
    assert_eq!((resumed.code, resumed.err.as_str()), (0, ""), "{}", resumed.all());
    let lines: Vec<serde_json::Value> =
        resumed.out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let first = &lines[0]["event"];
    assert_eq!((&first["event"], &first["invocation"]), (&"invocation_started".into(), &2.into()), "{first:#}");
    let last = lines.last().expect("a report");
    assert_eq!((&last["type"], &last["outcome"]), (&"report".into(), &"fixed".into()), "{last:#}");
    // The past of a run is told where it is asked for: both halves, in order.
    let past = program.run(project.path(), &[&["report"][..], &log].concat());
    assert!(past.out.ends_with(&resumed.out), "{}\n{}", past.out, resumed.out);
    assert!(past.out.lines().count() > lines.len(), "{}", past.out);
    server.finish();
}

#[test]
fn a_change_whose_judging_was_interrupted_is_judged_on_resume_and_not_paid_for_again() {
    let project = gated(3); // the first two are the baseline, looked at twice
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let child = start(&program, &project, "claude-haiku-4-5 x2", "sh check.sh");
    let said = interrupt_at_the_gate(child, &project);
    assert_eq!(said.code, 130, "{}", said.all());
    assert!(project.read("shop/cart.py").contains("sum(prices) - 1"), "the start is restored");

    let paid = server.requests().len();
    let resumed = resume(&program, &project, project.path());
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert!(project.read("shop/cart.py").ends_with("sum(prices)\n"));
    let rows = Log::open(&database_of(&project)).rows("SELECT iteration, test_status FROM tier_attempts ORDER BY id");
    assert_eq!(rows, [["1", "error"], ["2", "passed"]]);
    assert_eq!(server.requests().len(), paid, "the change is judged, and not paid for again");
    let log = Log::open(&database_of(&project));
    assert_eq!(log.number("SELECT cost_usd > 0 FROM tier_attempts WHERE iteration = 1"), 1);
    assert_eq!(log.number("SELECT cost_usd = 0 FROM tier_attempts WHERE iteration = 2"), 1);
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_interrupted_iteration_uses_up_none_of_its_ladder() {
    let project = Project::python();
    let (asked, was_asked) = std::sync::mpsc::channel();
    let server = ModelServer::start(move |request| {
        if request.number > 0 {
            return mends(request);
        }
        asked.send(()).expect("somebody listens");
        Scripted::Hang
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let child = start(&program, &project, "claude-haiku-4-5 x1", project.test_command);
    was_asked.recv_timeout(std::time::Duration::from_secs(60)).expect("asked");

    let second = start(&program, &project, "claude-haiku-4-5 x1", project.test_command);
    let second = Said::from(second.wait_with_output().expect("ended"));
    assert_eq!(second.code, 2, "one upshift in a checkout at a time: {}", second.all());
    assert!(second.err.contains("another upshift is running in"), "{}", second.err);

    assert_eq!(interrupted(child).code, 130);
    project.write("notes.txt", "mine");
    let resumed = resume(&program, &project, project.path());
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(project.read("notes.txt"), "mine", "{}", resumed.all());
    let told = "changed since the run stopped, and part of its start from now on: notes.txt";
    assert!(resumed.all().contains(told), "{}", resumed.all());
    assert!(resumed.err.contains("  Iteration 2/2 ["), "{}", resumed.err);
    assert!(resumed.out.contains(", 0 of 2 iterations, "), "{}", resumed.out);
    let log = Log::open(&database_of(&project));
    assert_eq!(log.value("SELECT outcome FROM run_state"), "fixed");
    assert_eq!(log.rows("SELECT iteration, test_status FROM tier_attempts"), [["1", "error"], ["2", "passed"]]);
    server.finish();
}

#[test]
fn a_green_tree_that_the_critic_rejected_is_reviewed_again_also_after_a_kill() {
    for crash in ["", "iteration_finished:1", "session_finished:5"] {
        let project = Project::python();
        let server = ModelServer::start(|request| {
            let system = request.system();
            if system.contains("You review") {
                // The first review is the one of the first artisan's change, which the second session finds made.
                let first = !request.all_text().contains("YOUR CHANGE SO FAR");
                let review = if first && request.number < 6 {
                    json!({ "verdict": "reject", "summary": "no", "issues": ["say why it was wrong"] })
                } else {
                    json!({ "verdict": "approve", "summary": "right after all", "issues": [] })
                };
                return Say::call("final_report", review).usage(500, 50).into();
            }
            if system.contains("You brief") {
                let brief = json!({ "summary": "cart.py subtracts one", "status": "done" });
                return Say::call("final_report", brief).usage(500, 50).into();
            }
            mends(request)
        });
        let program = Program::with_anthropic(&server.url()).without_court().with("UPSHIFT_CRASH_AFTER", crash);
        let child = start(&program, &project, "claude-haiku-4-5 x2 full", project.test_command);
        let mut said = Said::from(child.wait_with_output().expect("ended"));
        let program = program.with("UPSHIFT_CRASH_AFTER", "");
        if !crash.is_empty() {
            assert_eq!(said.code, -9, "{crash}: {}", said.all());
            said = resume(&program, &project, project.path());
        }
        assert_eq!(said.code, 0, "{crash}: {}", said.all());
        assert!(said.out.contains("\n✔ Fixed by Tier 1 (claude-haiku-4-5) in iteration 2"), "{crash}: {}", said.all());
        let rows =
            Log::open(&database_of(&project)).rows("SELECT iteration, test_status FROM tier_attempts ORDER BY id");
        assert_eq!(rows, [["1", "failed"], ["2", "passed"]], "{crash}");
        server.finish();
    }
}
