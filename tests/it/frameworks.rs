//! Real test frameworks, installed by `.ci/frameworks`: the built program on a small broken project of each, end to end.
//!
//! Each project is mended three times over: from a failing test, from source that cannot be parsed, and not at all when its
//! command runs no test. What is asserted is what the model was sent (names, messages, places), what the audit log says, and
//! that nothing was paid for where nothing could be judged.

#![expect(clippy::print_stdout, reason = "what was measured is for whoever runs them by hand")]

pub(crate) mod projects;
mod results;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};

/// A small project of one framework, with one bug.
pub(crate) struct Framework {
    /// The name in reports.
    pub(crate) name: &'static str,
    /// What of the installed tools it needs.
    pub(crate) needs: Needs,
    /// Its files.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// The command that runs its tests.
    pub(crate) command: &'static str,
    /// The file with the bug, the wrong line and the right one.
    pub(crate) source: &'static str,
    pub(crate) wrong: &'static str,
    pub(crate) right: &'static str,
    /// Put in the place of the wrong line, this cannot be parsed or compiled.
    pub(crate) unreadable: &'static str,
    /// What the report of the unreadable source must name.
    pub(crate) unreadable_says: &'static str,
    /// The failing tests, as the runner names them.
    pub(crate) failing: &'static [&'static str],
    /// Parts of the message, and the place.
    pub(crate) says: &'static [&'static str],
    /// A command of the same framework that runs no test.
    pub(crate) nothing: &'static str,
}

/// What is laid into a project beside its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Only what the machine has.
    Machine,
    /// `node_modules`.
    JavaScript,
    /// `.venv`.
    Python,
    /// The programs that are no package of a language's: Go, CMake, just.
    Programs,
}

impl Needs {
    /// A folder with it, beside the tools so that they can be linked.
    pub(crate) fn folder(self) -> TempDir {
        if self == Self::Machine && std::env::var_os("UPSHIFT_TEST_FRAMEWORKS").is_none() {
            return tempfile::Builder::new().prefix("project-").tempdir().expect("a folder");
        }
        let home = installed();
        let folder = tempfile::Builder::new().prefix("project-").tempdir_in(&home).expect("a folder");
        std::fs::write(folder.path().join(".gitignore"), "node_modules\n.venv\ntarget\n__pycache__\n")
            .expect("written");
        match self {
            Self::Machine | Self::Programs => {}
            Self::JavaScript => copy(&home.join("js/node_modules"), &folder.path().join("node_modules")),
            Self::Python => copy(&home.join("python"), &folder.path().join(".venv")),
        }
        folder
    }

    /// The program with what it needs in its `PATH`.
    pub(crate) fn equip(self, program: Program) -> Program {
        if self != Self::Programs {
            return program;
        }
        let tools = installed().join("tools");
        let path = std::env::var("PATH").expect("PATH");
        let [go, cmake, own] = ["go/bin", "cmake/data/bin", "bin"].map(|name| tools.join(name).display().to_string());
        program.with("PATH", &format!("{go}:{cmake}:{own}:{path}")).with("GOTOOLCHAIN", "local")
    }
}

fn installed() -> PathBuf {
    let home = std::env::var_os("UPSHIFT_TEST_FRAMEWORKS")
        .expect("run this by `.ci/frameworks`, which installs what it needs");
    PathBuf::from(home)
}

/// Copies a folder. Hard links would be quicker, but each that another test makes or removes counts as a change of the file.
fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().expect("cp");
    assert!(done.success(), "{} is not installed", from.display());
}

impl Framework {
    /// Lays the project down, with `line` where the bug is.
    fn unpack(&self, line: &str) -> TempDir {
        let folder = self.needs.folder();
        for (name, text) in self.files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            let text = if *name == self.source { text.replace(self.wrong, line) } else { (*text).to_owned() };
            std::fs::write(path, text).expect("written");
        }
        folder
    }

    /// Runs the program with a model that puts `right` where `wrong` is; returns what it said, the log and the requests.
    /// Without a command it is left to find its own.
    fn run(&self, folder: &Path, command: Option<&str>, wrong: &'static str) -> (Said, PathBuf, Vec<Request>) {
        let (source, right) = (self.source, self.right);
        let server = ModelServer::start(move |request: &Request| -> Scripted {
            match request.turn() {
                0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right })).into(),
                _ => Say::call("final_report", json!({ "summary": "mended the line", "status": "done" })).into(),
            }
        });
        let database = folder.with_extension("db");
        let path = database.to_str().expect("text");
        let mut args = vec!["run", "--audit-db", path, "--tiers", "claude-haiku-4-5 x2"];
        if let Some(command) = command {
            args.extend(["--test-command", command]);
        }
        let said = self.needs.equip(Program::with_anthropic(&server.url())).run(folder, &args);
        let requests = server.requests();
        server.finish();
        (said, database, requests)
    }

    fn is_mended(&self, command: Option<&str>) {
        let folder = self.unpack(self.wrong);
        let (said, database, requests) = self.run(folder.path(), command, self.wrong);
        assert_eq!(said.code, 0, "{}: {}", self.name, said.all());
        let shown = requests.first().expect("a request").all_text();
        for part in self.failing.iter().chain(self.says) {
            assert!(shown.contains(part), "{}: {part:?} in\n{shown}\n{}", self.name, said.all());
        }
        // Where it stands there no turn goes for reading what is to be edited (B10).
        let is_shown = shown.contains(json!(self.wrong).to_string().trim_matches('"'));
        println!("{}: what is to be edited is in the first message: {is_shown}", self.name);
        let log = Log::open(&database);
        let rows = log.rows("SELECT tier_index, iteration, test_status FROM tier_attempts ORDER BY id");
        assert_eq!(rows, [["0", "1", "passed"]], "{}: {}", self.name, said.all());
        let baseline = log.value("SELECT body FROM events WHERE kind = 'baseline_finished'");
        let baseline: serde_json::Value = serde_json::from_str(&baseline).expect("JSON");
        assert_eq!(baseline["framework"], self.name, "{baseline}");
        assert_eq!(baseline["failing"], json!(self.failing), "{baseline}");
        self.tell_cost(&log);
        remove(&database);
    }

    fn is_mended_from_source_that_cannot_be_read(&self) {
        let folder = self.unpack(self.unreadable);
        let (said, database, requests) = self.run(folder.path(), Some(self.command), self.unreadable);
        assert_eq!(said.code, 0, "{}: {}", self.name, said.all());
        let shown = requests.first().expect("a request").all_text();
        assert!(shown.contains(self.unreadable_says), "{}: {:?} in\n{shown}", self.name, self.unreadable_says);
        remove(&database);
    }

    fn costs_nothing_where_no_test_runs(&self) {
        let folder = self.unpack(self.wrong);
        let missing = format!("{}-that-is-not-there", self.command.split(' ').next().expect("a program"));
        for command in [self.nothing, missing.as_str()] {
            let (said, database, requests) = self.run(folder.path(), Some(command), self.wrong);
            assert_eq!(said.code, 7, "{} `{command}`: {}", self.name, said.all());
            assert!(requests.is_empty(), "{} `{command}` was paid for", self.name);
            remove(&database);
        }
    }

    /// A person mends it in a repository of git, and the change is judged.
    fn is_proven_where_a_person_mends_it(&self) {
        let folder = self.unpack(self.wrong);
        let git = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=ada", "-c", "user.email=ada@example.test"]).args(arguments);
            let output = command.current_dir(folder.path()).output().expect("git");
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        git(&["init", "--quiet", "--initial-branch=main"]);
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "base"]);
        let source = folder.path().join(self.source);
        let text = std::fs::read_to_string(&source).expect("the source");
        std::fs::write(&source, text.replace(self.wrong, self.right)).expect("written");
        let program = self.needs.equip(Program::new());
        let said = program.run(folder.path(), &["judge", "--format", "json", "--test-command", self.command]);
        let found: serde_json::Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}", said.all()));
        assert_eq!((found["standing"].as_str(), said.code), (Some("proven"), 0), "{}: {found}", self.name);
        let mut failing = self.failing.to_vec();
        failing.sort_unstable();
        assert_eq!(found["failToPass"], json!(failing), "{}: {found}", self.name);
        let proof = found["proof"].as_array().expect("a list").iter();
        let statuses = proof.map(|one| format!("{} {}", one["evidence"], one["status"]));
        println!("{}: {}", self.name, statuses.collect::<Vec<_>>().join(", "));
    }

    /// What the experiments took in relation to the tests themselves; the cap is the court's own.
    fn tell_cost(&self, log: &Log) {
        let number = |query: &str| log.value(query).parse::<u64>().expect("a number");
        let of = |field: &str, kind: &str| {
            format!("SELECT json_extract(body, '$.{field}') FROM events WHERE kind = '{kind}'")
        };
        let suite = number(&of("duration_ms", "tests_finished"));
        let (runs, took) = (number(&of("runs", "evidence_gathered")), number(&of("duration_ms", "evidence_gathered")));
        assert!(took <= (4 * suite).max(30_000) + suite, "{}: {took} ms beside {suite} ms", self.name);
        println!("{}: proof in {runs} runs, {took} ms beside {suite} ms", self.name);
    }

    fn check(&self) {
        self.is_mended(Some(self.command));
        self.is_proven_where_a_person_mends_it();
        self.is_mended_from_source_that_cannot_be_read();
        self.costs_nothing_where_no_test_runs();
    }
}

fn remove(database: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let path = PathBuf::from(format!("{}{suffix}", database.display()));
        if path.exists() {
            std::fs::remove_file(path).expect("removed");
        }
    }
}

/// A suite of which one test is slow.
const SLOW_TESTS: &str = "import unittest\n\nfrom shop.price import total\n\n\nclass PriceTest(unittest.TestCase):\n    def test_adds(self):\n        \
    self.assertEqual(total([2, 3]), 5)\n\n    def test_slow(self):\n        \
    for _ in range(160):\n            self.assertGreater(sum(i * i for i in range(1_000_000)), 0)\n";

#[test]
#[ignore = "computes for seconds, so that the suite is a slow one"]
fn in_a_slow_suite_the_failing_tests_go_first_and_the_whole_suite_before_green() {
    let project = Framework {
        files: &[
            ("shop/__init__.py", ""),
            ("shop/price.py", "def total(prices):\n    return sum(prices) - 1\n"),
            ("tests/__init__.py", ""),
            ("tests/test_price.py", SLOW_TESTS),
        ],
        ..projects::UNITTEST
    };
    let folder = project.unpack(project.wrong);
    let mut sessions = 0;
    let server = ModelServer::start(move |request: &Request| -> Scripted {
        sessions += usize::from(request.turn() == 0);
        let (old, new) = if sessions == 1 {
            (project.wrong, "    return max(prices)")
        } else {
            ("    return max(prices)", project.right)
        };
        match request.turn() {
            0 => Say::call("edit_file", json!({ "path": "shop/price.py", "old_text": old, "new_text": new })).into(),
            _ => Say::call("final_report", json!({ "summary": "changed the line", "status": "done" })).into(),
        }
    });
    let database = folder.path().with_extension("db");
    let path = database.to_str().expect("text");
    let args = ["run", "--audit-db", path, "--tiers", "claude-haiku-4-5 x3", "--test-command", project.command];
    let said = Program::with_anthropic(&server.url()).run(folder.path(), &args);
    assert_eq!(said.code, 0, "{}", said.all());
    let counts = "SELECT json_extract(body, '$.passed'), json_extract(body, '$.failed') FROM events WHERE kind = 'tests_finished'";
    let counts = Log::open(&database).rows(counts);
    assert_eq!(counts, [["0", "1"], ["2", "0"]], "first those that had failed, then all: {}", said.all());
    let second = server.requests().into_iter().filter(|request| request.turn() == 0).nth(1).expect("a second session");
    assert!(
        second.all_text().contains("1 of the 1 tests that failed at the start still fail"),
        "{}",
        second.all_text()
    );
    server.finish();
    remove(&database);
}

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn a_just_project_without_a_command() {
    projects::JUST.is_mended(None);
}

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn a_linter_that_stops_the_command_before_its_tests() {
    let project = Framework {
        name: "static-checks",
        files: &[
            ("shop/__init__.py", ""),
            ("shop/price.py", "import os\n\n\ndef total(prices):\n    return sum(prices)\n"),
            (
                "tests/test_price.py",
                "from shop.price import total\n\n\ndef test_adds():\n    assert total([2, 3]) == 5\n",
            ),
        ],
        command: ".venv/bin/python -m flake8 shop && .venv/bin/python -m pytest",
        wrong: "import os\n\n\n",
        right: "",
        failing: &[],
        says: &["shop/price.py:1:1: F401 'os' imported but unused"],
        ..projects::PYTEST
    };
    project.is_mended(Some(project.command));
}

macro_rules! frameworks {
    ($($test:ident: $framework:ident),* $(,)?) => {
        $(
            #[test]
            #[ignore = "needs what `.ci/frameworks` installs"]
            fn $test() {
                projects::$framework.check();
            }
        )*
    };
}

frameworks! {
    a_jest_project: JEST,
    a_vitest_project: VITEST,
    a_mocha_project: MOCHA,
    an_ava_project: AVA,
    a_jasmine_project: JASMINE,
    a_bats_project: BATS,
    a_node_project: NODE,
    a_just_project: JUST,
    a_pytest_project: PYTEST,
    a_unittest_project: UNITTEST,
    a_nose2_project: NOSE2,
    a_behave_project: BEHAVE,
    a_cucumber_project: CUCUMBER,
    a_robot_project: ROBOT,
    a_cargo_project: CARGO,
    a_prove_project: PROVE,
    a_go_project: GO,
    a_go_project_behind_make: GO_BY_MAKE,
    a_ctest_project: CTEST,
    a_nextest_project: NEXTEST,
}
