//! A backlog parted into jobs that know nothing of each other, and what they mended merged: each log is a stranger's.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{BUGS, WITH, git, lines_of, mends, project, subjects};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// The jobs of a workflow: a clone each, and the log that it leaves.
pub(super) struct Jobs {
    folder: tempfile::TempDir,
    pub(super) logs: PathBuf,
}

impl Jobs {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let logs = folder.path().join("logs");
        std::fs::create_dir(&logs).expect("a folder");
        Self { folder, logs }
    }

    /// Runs a job in a clone of its own.
    pub(super) fn run(&self, program: &Program, project: &Project, name: &str, args: &[&str]) -> Said {
        Said::from(self.command(program, project, name, args).output().expect("it starts"))
    }

    /// The same, not started.
    pub(super) fn command(&self, program: &Program, project: &Project, name: &str, args: &[&str]) -> Command {
        let clone = self.folder.path().join(name);
        let made = Command::new("git").arg("clone").arg("-q").arg(project.path()).arg(&clone).status().expect("git");
        assert!(made.success());
        let log = self.log(name);
        std::fs::create_dir_all(log.parent().expect("a folder")).expect("a folder");
        let args: Vec<&str> = ["run", "--tiers", "claude-haiku-4-5 x1", "--audit-db", log.to_str().expect("a path")]
            .iter()
            .chain(&WITH)
            .chain(args)
            .copied()
            .collect();
        program.command(&clone, &args)
    }

    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.logs.join(name).join("audit.db")
    }
}

pub(super) fn merge(program: &Program, project: &Project, jobs: &Jobs, more: &[&str]) -> (i32, Value) {
    let logs = jobs.logs.to_str().expect("a path");
    let args: Vec<&str> = ["merge", logs, "--format", "json"].iter().chain(&WITH).chain(more).copied().collect();
    let said = program.run(project.path(), &args);
    let document = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}", said.all()));
    (said.code, document)
}

/// How each run stands, by its task.
pub(super) fn standings(document: &Value) -> Vec<(String, String)> {
    let runs = document["runs"].as_array().expect("runs").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: Vec<_> = runs.map(|run| (text(&run["task"]), text(&run["standing"]))).collect();
    found.sort();
    found
}

fn matrix(program: &Program, project: &Project, more: &[&str]) -> Vec<Value> {
    let args: Vec<&str> =
        ["tasks", "matrix", "--tasks", "failing-tests"].iter().chain(&WITH).chain(more).copied().collect();
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 0, "{}", said.all());
    let document: Value = serde_json::from_str(&said.out).expect("JSON");
    document["include"].as_array().expect("jobs").clone()
}

/// Every bug mended by a job of its own.
pub(super) fn mended(program: &Program, project: &Project) -> Jobs {
    let jobs = Jobs::new();
    for (number, job) in matrix(program, project, &["--max-cost-usd", "0.30"]).iter().enumerate() {
        let text = |key: &str| job[key].as_str().expect("a text").to_owned();
        assert_eq!(text("maxCostUsd"), "0.100000", "an equal share, whatever the others spend");
        let (task, cost) = (text("tasks"), text("maxCostUsd"));
        let args = ["--tasks", "failing-tests", "--task", &task, "--max-cost-usd", &cost, "--format", "jsonl"];
        let said = jobs.run(program, project, &format!("job-{number}"), &args);
        assert_eq!(said.code, 0, "{}", said.all());
        let shares: Vec<u64> =
            lines_of(&said, "iteration:started").filter_map(|line| line["shareMicroUsd"].as_u64()).collect();
        assert_eq!(shares, [100_000], "a job works on its task alone");
    }
    jobs
}

#[test]
fn a_backlog_is_parted_into_jobs_with_fixed_shares() {
    let project = project();
    let program = Program::new();
    let names: BTreeSet<String> =
        matrix(&program, &project, &[]).iter().map(|job| job["tasks"].as_str().expect("a text").to_owned()).collect();
    assert_eq!(names, BUGS.map(|(module, ..)| format!("tests/test_{module}.py")).into());
    let two = matrix(&program, &project, &["--max-jobs", "2", "--max-cost-usd", "0.30"]);
    let shapes: Vec<(usize, &str)> = two
        .iter()
        .map(|job| {
            (job["tasks"].as_str().expect("a text").lines().count(), job["maxCostUsd"].as_str().expect("a text"))
        })
        .collect();
    assert_eq!(shapes, [(2, "0.200000"), (1, "0.100000")]);
    let args = ["tasks", "matrix", "--tasks", "failing-tests", "--max-cost-usd", "0.001"];
    let said = program.run(project.path(), &[&args[..], &WITH].concat());
    assert!(said.code == 2 && said.all().contains("not enough for one call"), "{}", said.all());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_many_jobs_mended_is_merged_once() {
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    let jobs = mended(&program, &project);
    assert_eq!(subjects(&project), Vec::<String>::new(), "jobs know nothing of each other");
    let paid = server.requests().len();
    let (code, document) = merge(&program, &project, &jobs, &["--tasks", "failing-tests"]);
    assert_eq!((code, &document["merged"], &document["sum"]), (0, &json!(3), &json!("green")), "{document:#}");
    let wanted = BUGS.map(|(module, ..)| format!("fix: tests/test_{module}.py: 1 failing test"));
    assert_eq!(subjects(&project), wanted, "{document:#}");
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    // The merged log holds every run, vouched for as where it came from, and its head.
    let joined = Log::open(&project.path().join(".upshift/audit.db"));
    for segment in document["segments"].as_array().expect("segments") {
        let run = segment["runId"].as_str().expect("a run");
        let said = program.run(project.path(), &["report", run, "--verify"]);
        assert!(said.code == 0 && said.all().contains(segment["head"].as_str().expect("a head")), "{}", said.all());
    }
    assert_eq!(joined.number("SELECT count(*) FROM segments"), 3);
    assert_eq!(
        joined.number("SELECT sum(cost_micro_usd) FROM model_calls"),
        document["costMicroUsd"].as_i64().expect("a sum")
    );
    // Once more: all of it is there.
    let (code, document) = merge(&program, &project, &jobs, &[]);
    assert_eq!((code, &document["merged"]), (0, &json!(3)), "{document:#}");
    assert_eq!(subjects(&project).len(), 3);
    assert_eq!(server.requests().len(), paid, "a merge asks no model");
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_merge_that_is_killed_anywhere_goes_on_and_commits_nothing_twice() {
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = mended(&program, &project);
    let logs = jobs.logs.to_str().expect("a path");
    for (word, times) in [("Change 1/3", 1), ("Change 2/3", 1), ("Change 3/3", 1), ("All changes together", 1)] {
        let args: Vec<&str> = ["merge", logs].iter().chain(&WITH).copied().collect();
        let mut child = program
            .command(project.path(), &args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut left = times;
        for line in BufReader::new(child.stderr.take().expect("its output")).lines() {
            let Ok(line) = line else { break };
            left -= usize::from(left > 0 && line.contains(word));
            if left == 0 {
                child.kill().expect("killed");
            }
        }
        child.wait().expect("it ends");
    }
    let (code, document) = merge(&program, &project, &jobs, &[]);
    assert_eq!((code, &document["merged"]), (0, &json!(3)), "{document:#}");
    assert_eq!(subjects(&project).len(), 3, "{document:#}");
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn nothing_in_a_log_is_believed() {
    let project = project();
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = mended(&program, &project);
    // A row that is not what was written, a file that is none, one that was cut, one of a newer version, one that is gone.
    rusqlite::Connection::open(jobs.log("job-0"))
        .expect("a log")
        .execute_batch("UPDATE model_calls SET cost_micro_usd = 1")
        .expect("forged");
    let whole = std::fs::read(jobs.log("job-1")).expect("a log");
    for (name, content) in [("none", b"a text".to_vec()), ("cut", whole[..whole.len() / 2].to_vec())] {
        std::fs::create_dir_all(jobs.logs.join(name)).expect("a folder");
        std::fs::write(jobs.log(name), content).expect("written");
    }
    std::fs::create_dir_all(jobs.logs.join("newer")).expect("a folder");
    std::fs::write(jobs.log("newer"), &whole).expect("written");
    rusqlite::Connection::open(jobs.log("newer"))
        .expect("a log")
        .execute_batch("PRAGMA user_version = 999")
        .expect("newer");
    // A second log with the same run, which is no conflict.
    std::fs::create_dir_all(jobs.logs.join("twin")).expect("a folder");
    std::fs::write(jobs.log("twin"), &whole).expect("written");
    let (code, document) = merge(&program, &project, &jobs, &[]);
    assert_eq!((code, &document["merged"]), (1, &json!(2)), "{document:#}");
    let told: Vec<String> = document["notTaken"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            format!("{} {}", one["log"].as_str().unwrap_or_default(), one["reason"].as_str().unwrap_or_default())
        })
        .collect();
    for (log, why) in
        [("job-0", "broken at"), ("/none/", "not a SQLite"), ("/cut/", ""), ("/newer/", "schema version 999")]
    {
        assert!(told.iter().any(|one| one.contains(log) && one.contains(why)), "{log}: {told:#?}");
    }
    assert_eq!(told.len(), 4, "{told:#?}");
    let nowhere = program.run(project.path(), &[&["merge", "nowhere"][..], &WITH].concat());
    assert!(nowhere.code == 2 && nowhere.all().contains("there is no log to merge"), "{}", nowhere.all());
    server.finish();
}

/// Two tests of one function each, whose mends stand in lines next to each other.
pub(super) fn neighbours() -> Project {
    let project = Project::python();
    project.write(project.source, "def total(prices):\n    return sum(prices)\n");
    project.write("shop/pair.py", "def one(): return 1\ndef two(): return 2\n");
    for (name, wanted) in [("one", 10), ("two", 20)] {
        let test = format!(
            "import unittest\n\nfrom shop.pair import {name}\n\n\nclass {name}Test(unittest.TestCase):\n    def test_{name}(self):\n        self.assertEqual({name}(), {wanted})\n"
        );
        project.write(&format!("tests/test_{name}.py"), &test);
    }
    project.write(
        "tasks.yml",
        "tasks:\n  - {id: one, title: One, tests: ['test_one (tests.test_one.oneTest.test_one)']}\n  - {id: two, title: Two, tests: ['test_two (tests.test_two.twoTest.test_two)']}\n",
    );
    project.write(".gitignore", "__pycache__\n.upshift\n");
    project.commit();
    project
}

pub(super) fn mends_a_neighbour(request: &Request) -> Scripted {
    let asked = request.first_user_text();
    let failing =
        asked.split("FAILING TESTS").nth(1).unwrap_or(&asked).split(">>").next().unwrap_or_default().to_owned();
    let (old, new) = if failing.contains("test_one") {
        ("def one(): return 1\n", "def one(): return 10\n")
    } else {
        ("def two(): return 2\n", "def two(): return 20\n")
    };
    match request.turn() {
        0 => {
            let edit = json!({ "path": "shop/pair.py", "old_text": old, "new_text": new });
            Say::call("edit_file", edit).usage(1_000, 50).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_conflict_is_requeued_and_a_second_mend_of_the_same_is_dropped() {
    let project = neighbours();
    let server = ModelServer::start(mends_a_neighbour);
    let program = Program::with_anthropic(&server.url()).without_court();
    let jobs = Jobs::new();
    for (job, task) in [("a", "one"), ("b", "two"), ("c", "one")] {
        let said = jobs.run(&program, &project, job, &["--tasks", "tasks.yml", "--task", task]);
        assert_eq!(said.code, 0, "{}", said.all());
    }
    let (code, document) = merge(&program, &project, &jobs, &["--tasks", "tasks.yml"]);
    let text = |one: &str, two: &str| (one.to_owned(), two.to_owned());
    let wanted = vec![text("one", "duplicate"), text("one", "merged"), text("two", "requeued")];
    assert_eq!((code, standings(&document)), (1, wanted), "{document:#}");
    assert_eq!(document["requeued"], json!(["two"]));
    assert_eq!(project.read("shop/pair.py"), "def one(): return 10\ndef two(): return 2\n");
    // A fresh try on top of what is merged is one that fits.
    let said = jobs.run(&program, &project, "d", &["--tasks", "tasks.yml", "--task", "two"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let (_, document) = merge(&program, &project, &jobs, &["--tasks", "tasks.yml"]);
    assert_eq!(document["merged"], json!(2), "{document:#}");
    assert_eq!(project.read("shop/pair.py"), "def one(): return 10\ndef two(): return 20\n");
    server.finish();
}

/// Changes the test instead of the product.
fn cheats(request: &Request) -> Scripted {
    match request.turn() {
        0 => {
            let edit = json!({ "path": "tests/test_one.py", "old_text": "one(), 10", "new_text": "one(), 1" });
            Say::call("edit_file", edit).usage(1_000, 50).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_change_of_tests_is_refused_whatever_its_job_said() {
    let project = neighbours();
    let server = ModelServer::start(cheats);
    // A job whose guards somebody took away: its log says that it mended the task, and its chain is whole.
    let off = "test_paths,test_regions,rewriting,untouched,altered_expectation";
    let lawless = Program::with_anthropic(&server.url()).with("UPSHIFT_GUARD_OFF", off);
    let jobs = Jobs::new();
    let said = jobs.run(&lawless, &project, "a", &["--tasks", "tasks.yml", "--task", "one"]);
    assert_eq!(said.code, 0, "the job was deceived: {}", said.all());
    let (code, document) = merge(&Program::new(), &project, &jobs, &["--tasks", "tasks.yml"]);
    assert_eq!((code, standings(&document)), (1, vec![("one".to_owned(), "refused".to_owned())]), "{document:#}");
    assert_eq!(subjects(&project), Vec::<String>::new());
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    server.finish();
}

#[test]
fn a_log_with_a_secret_of_the_machine_that_merges_is_not_taken() {
    let project = neighbours();
    let server = ModelServer::start(mends_a_neighbour);
    let jobs = Jobs::new();
    let said = jobs.run(
        &Program::with_anthropic(&server.url()).without_court(),
        &project,
        "a",
        &["--tasks", "tasks.yml", "--task", "one"],
    );
    assert_eq!(said.code, 0, "{}", said.all());
    // The text that the job wrote into its change is a secret here.
    let program = Program::new().with("DEPLOY_TOKEN", "def one(): return 10");
    let (code, document) = merge(&program, &project, &jobs, &["--tasks", "tasks.yml"]);
    assert_eq!((code, &document["merged"]), (1, &json!(0)), "{document:#}");
    assert_eq!(subjects(&project), Vec::<String>::new());
    server.finish();
}
