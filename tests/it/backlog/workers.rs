//! `--workers`: the jobs of a workflow on one machine, killed with SIGKILL anywhere and gone on with.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use serde_json::{Value, json};
use upshift::domain::catalogue::Price;
use upshift::domain::units::MicroUsd;

use super::merging::{mends_a_neighbour, neighbours};
use super::{BUGS, WITH, failing_of, git, lines_of, mends, project, subjects, work_off};
use crate::agents::memory::family;
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Options, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;
use crate::world::sampled;

const WORK: [&str; 8] =
    ["--tasks", "failing-tests", "--workers", "2", "--max-cost-usd", "0.90", "--tiers", "claude-haiku-4-5 x1"];

fn start(program: &Program, project: &Project) -> Child {
    let args: Vec<&str> = ["run"].iter().chain(&WITH).chain(&WORK).copied().collect();
    let mut command = program.command(project.path(), &args);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// The same command until no process of the killed one is left.
fn go_on(program: &Program, project: &Project, more: &[&str]) -> Said {
    loop {
        let said = work_off(program, project, &[&WORK[..], more].concat());
        let is_held =
            said.code == 2 && (said.all().contains("another upshift") || said.all().contains("still under way"));
        if !is_held {
            return said;
        }
    }
}

/// The command lines of processes that have a text in them.
fn processes_of(text: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    let lines = all.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).filter(|line| line.contains(text)).collect()
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn workers_do_on_one_machine_what_jobs_do() {
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "failing-tests", "--workers", "3", "--max-cost-usd", "0.30"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(subjects(&project).len(), 3, "{}", said.all());
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    assert_eq!(Log::open(&project.path().join(".upshift/audit.db")).number("SELECT count(*) FROM segments"), 3);
    assert!(server.requests().len() == 6 && said.out.contains("3 of 3 runs merged"), "{}", said.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn workers_share_what_the_day_has_left_and_the_next_run_knows_what_they_spent() {
    const CAP: MicroUsd = MicroUsd(200_000);
    let project = project();
    project.write(".github/upshift.yml", "global: {maxCostUsdPerDay: 0.2}\n");
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "-m", "caps"]);
    let price = Price { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 };
    let server = ModelServer::start_with(Options::default().price("claude", price), |request: &Request| -> Scripted {
        Say::call("read_file", json!({"path": "shop/cart.py", "start_line": request.turn() + 1}))
            .usage(10_000, 2_000)
            .into()
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let work = ["--tasks", "failing-tests", "--max-cost-usd", "2", "--tiers", "claude-haiku-4-5 x1"];
    let said = work_off(&program, &project, &[&work[..], &["--workers", "3"]].concat());
    assert!(said.all().contains(": the cap of all runs of the day leaves $0.20"), "{}", said.all());
    let said = work_off(&program, &project, &work);
    assert_eq!(said.code, 3, "{}", said.all());
    let why = "the cap of all runs of the day (`global.maxCostUsdPerDay`) does not allow another call";
    assert!(said.out.contains(why) && !said.out.contains("its share of the budget"), "{}", said.all());
    let billed = server.finish();
    assert!(billed <= CAP && billed > MicroUsd(CAP.0 / 2), "{billed} of {CAP}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn workers_try_once_more_what_did_not_fit() {
    let project = neighbours();
    let server = ModelServer::start(mends_a_neighbour);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml", "--workers", "2"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(project.read("shop/pair.py"), "def one(): return 10\ndef two(): return 20\n");
    assert_eq!(server.requests().len(), 6, "the one that was merged is not tried again: {}", said.all());
    server.finish();
    // Of what is done the log knows, and of the run that did not fit it has the change.
    for (words, told) in [(&["tasks", "list"][..], "✔"), (&["tasks", "matrix"][..], "{\"include\":[]}")] {
        let said = program.run(project.path(), &[words, &["--tasks", "tasks.yml"]].concat());
        assert!(said.code == 0 && said.out.contains(told) && !said.out.contains('·'), "{}", said.all());
    }
    let log = Log::open(&project.path().join(".upshift/audit.db"));
    assert_eq!(log.number("SELECT count(DISTINCT run_id) FROM snapshots WHERE kind = 'patch'"), 3);
}

/// Kills a process and all below it at once, so that none has a last word.
pub(super) fn kill_family(child: &mut Child) {
    let pids: Vec<String> = family(child.id()).iter().rev().map(ToString::to_string).collect();
    let killed = Command::new("kill").arg("-9").args(&pids).stderr(Stdio::null()).status();
    killed.expect("kill");
    child.wait().expect("it ends");
}

/// When the kill comes.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// Once this is told.
    Told(&'static str),
    /// Once so many calls were made.
    Called(usize),
}

const KILLS: [Moment; 6] = [
    Moment::Told("3 jobs"),
    Moment::Called(1),
    Moment::Called(4),
    Moment::Told("Change 1/3"),
    Moment::Told("Change 3/3"),
    Moment::Told("All changes together"),
];

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn killed_workers_go_on_and_nothing_is_committed_twice() {
    for moment in sampled(KILLS) {
        let (project, (tell, called)) = (project(), mpsc::channel());
        let server = ModelServer::start(move |request| {
            tell.send(()).unwrap_or_default();
            mends(request)
        });
        let program = Program::with_anthropic(&server.url()).without_court();
        let mut child = start(&program, &project);
        match moment {
            Moment::Told(word) => {
                let told = BufReader::new(child.stderr.take().expect("its output")).lines();
                assert!(told.map_while(Result::ok).any(|line| line.contains(word)), "{word} is told");
            }
            Moment::Called(times) => (0..times).for_each(|_call| called.recv().expect("a call")),
        }
        child.kill().expect("killed");
        child.wait().expect("it ends");
        let said = go_on(&program, &project, &[]);
        assert_eq!(said.code, 0, "{moment:?}: {}", said.all());
        let mut wanted = BUGS.map(|(module, ..)| format!("fix: tests/test_{module}.py: 1 failing test"));
        wanted.sort();
        // One that had been proven before the kill is merged first.
        let mut found = subjects(&project);
        found.sort();
        assert_eq!(found, wanted, "{moment:?}: {}", said.all());
        assert_eq!(git(&project, &["status", "--porcelain"]), "", "{moment:?}");
        let left = processes_of(&program.home().display().to_string());
        assert_eq!(left, Vec::<String>::new(), "{moment:?}: its processes ended");
        // What a job had called when it was killed is paid, and known of.
        let log = Log::open(&project.path().join(".upshift/audit.db"));
        let rows = log.number("SELECT count(*) FROM reservations WHERE scope LIKE 'run:%'");
        let paid = i64::try_from(server.requests().len()).expect("a number");
        assert!(rows >= paid && paid <= 2 * 3 + 4, "{moment:?}: {rows} rows, {paid} calls");
        server.finish();
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_was_under_way_in_killed_jobs_counts_to_the_cap() {
    let (project, (tell, called)) = (project(), mpsc::channel());
    let is_killed = Arc::new(AtomicBool::new(false));
    let killed = Arc::clone(&is_killed);
    let server = ModelServer::start(move |request| {
        tell.send(()).unwrap_or_default();
        if killed.load(Ordering::SeqCst) { mends(request) } else { Scripted::Hang }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let mut child = start(&program, &project);
    called.recv().expect("a call");
    kill_family(&mut child);
    is_killed.store(true, Ordering::SeqCst);
    let said = go_on(&program, &project, &["--format", "jsonl"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let log = Log::open(&project.path().join(".upshift/audit.db"));
    let open = log.number(
        "SELECT sum(reserved_micro_usd) FROM reservations WHERE settled_micro_usd IS NULL AND scope LIKE 'run:%'",
    );
    let shares = lines_of(&said, "iteration:started").filter_map(|line| line["shareMicroUsd"].as_i64());
    let shares: i64 = shares.sum();
    assert!(open > 0 && shares > 0 && open + shares <= 900_000, "{open} of the cap is taken, {shares} is parted");
    let document = said.out.lines().find(|line| line.contains("\"notTaken\"")).expect("a report");
    let document: Value = serde_json::from_str(document).expect("JSON");
    assert_eq!(document["unknownCostMicroUsd"].as_i64(), Some(open), "{document:#}");
    server.finish();
}

#[test]
fn workers_hear_no_orders_and_say_so() {
    let project = project();
    let (tell, called) = mpsc::channel();
    let server = ModelServer::start(move |_request| {
        tell.send(()).unwrap_or_default();
        Scripted::Hang
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let mut child = start(&program, &project);
    called.recv().expect("a call");
    let call = |words: &[&str]| program.run(project.path(), words);
    for words in [&["pause"][..], &["add", "3"], &["remove", "1"]] {
        let said = call(words);
        assert!(said.code == 1 && said.all().contains("`upshift run --workers` is running here"), "{}", said.all());
        assert!(said.all().contains("takes no commands"), "{}", said.all());
    }
    let said = call(&["tasks", "add", "--tasks", "list.yml", "one", "One", "--command", "make"]);
    assert!(said.code == 2 && said.all().contains("a task that is added now would be ignored"), "{}", said.all());
    assert!(!project.path().join("list.yml").exists());
    let said = call(&["tasks", "status"]);
    assert!(said.code == 0 && said.out.starts_with("running: `upshift run --workers`, process "), "{}", said.all());
    let said = call(&["tasks", "status", "--format", "json"]);
    let document: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((&document["status"], &document["heldBy"]["work"]), (&"running".into(), &"workers".into()));
    kill_family(&mut child);
    server.finish();
}

/// Three values on one line: side by side one more of their changes fits each time.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_collides_twice_is_worked_on_alone_on_top_of_the_others() {
    const NAMES: [&str; 3] = ["one", "two", "three"];
    let project = project();
    project.write("shop/trio.py", "TRIO = dict(one=1, two=1, three=1)\n");
    let task = |name: &str| {
        let file = format!("tests/test_{name}.py");
        let test = format!(
            "import unittest\n\nfrom shop.trio import TRIO\n\n\nclass {name}Test(unittest.TestCase):\n    def test_{name}(self):\n        self.assertEqual(TRIO['{name}'], 10)\n"
        );
        project.write(&file, &test);
        format!(
            "  - {{id: {name}, title: Mend it, tests: ['test_{name} (tests.test_{name}.{name}Test.test_{name})']}}\n"
        )
    };
    project.write("tasks.yml", &format!("tasks:\n{}", NAMES.map(task).concat()));
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=trio"]);
    let server = ModelServer::start(|request: &Request| {
        let failing = failing_of(request);
        let name = NAMES.into_iter().find(|name| failing.contains(&format!("test_{name}"))).expect("a task");
        match request.turn() {
            0 => {
                let (old, new) = (format!("{name}=1"), format!("{name}=10"));
                let edit = json!({ "path": "shop/trio.py", "old_text": old, "new_text": new });
                Say::call("edit_file", edit).usage(1_000, 50).into()
            }
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
        }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml", "--workers", "3"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(project.read("shop/trio.py"), "TRIO = dict(one=10, two=10, three=10)\n", "{}", said.all());
    assert!(said.err.contains("◆ 1 job, alone on top of the others"), "{}", said.all());
    assert_eq!(server.requests().len(), (3 + 2 + 1) * 2, "{}", said.all());
    // Of six proven fixes three collided: they are no part of the branch.
    let said = program.run(project.path(), &["stats", "--format", "json"]);
    let stats: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((&stats["fixed"], &stats["not_committed"]), (&json!(3), &json!(3)), "{stats:#}");
    server.finish();
}

#[test]
fn a_signal_leaves_no_clone_behind() {
    let project = project();
    let (tell, called) = mpsc::channel();
    let server = ModelServer::start(move |_request| {
        tell.send(()).unwrap_or_default();
        Scripted::Hang
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let child = start(&program, &project);
    called.recv().expect("a call");
    called.recv().expect("another one");
    let killed = Command::new("kill").arg(child.id().to_string()).status();
    assert!(killed.expect("kill").success());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(128 + 15), "{}", String::from_utf8_lossy(&ended.stderr));
    let mut folders = vec![program.home().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_of_a_clone = entry.file_name().to_string_lossy().starts_with("clone");
            assert!(!is_of_a_clone, "{} is left behind", entry.path().display());
            folders.extend(entry.path().is_dir().then(|| entry.path()));
        }
    }
    server.finish();
}
