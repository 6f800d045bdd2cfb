//! A fix leaves the machine, and the run waits for what the outside says of it.

mod blocked;
mod caps;
mod elsewhere;
mod ends;
mod flaky;
mod jobs;
mod judging;
mod ledger;
mod merging;
mod pushing;
mod refused;
mod required;
mod signing;
mod superseded;
mod waiting;
mod yours;

pub(crate) use ledger::ROWS;

use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use crate::world::git_server::{GitServer, Made, TOKEN, git};
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};

/// The events of a delivery after which a run is killed and resumed here.
pub(crate) const KILLS: [&str; 5] =
    ["publish_started:1", "pushed:1", "pull_request_ready:1", "breakpoint_reached:1", "breakpoint_cleared:1"];

/// The project's files: a bug and the test that shows it.
const FILES: [(&str, &str); 4] = [
    ("shop/__init__.py", ""),
    ("shop/cart.py", "def total(prices):\n    return sum(prices) - 1\n"),
    (
        "tests/test_cart.py",
        "import unittest\n\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        \
         self.assertEqual(total([1, 2, 3]), 6)\n",
    ),
    ("tests/__init__.py", ""),
];
/// The command that runs its tests.
const TEST_COMMAND: &str = "python3 -m unittest -v";
/// What mends it.
const FIXED: &str = "def total(prices):\n    return sum(prices)";

/// A red repository on a server, a checkout of it, and a program that works on it.
struct Site {
    server: GitServer,
    folder: TempDir,
    program: Program,
    models: ModelServer,
    /// The head before anything happened.
    start: String,
}

impl Site {
    fn new() -> Self {
        Self::with_models(mends)
    }

    fn with_models(script: impl FnMut(&Request) -> Scripted + Send + 'static) -> Self {
        Self::with_files(&FILES, script)
    }

    fn with_files(
        files: &[(&'static str, &'static str)],
        script: impl FnMut(&Request) -> Scripted + Send + 'static,
    ) -> Self {
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, Made::Text(text))).collect();
        let server = GitServer::start(&files);
        let folder = tempfile::Builder::new().prefix("site-").tempdir().expect("a folder");
        let root = folder.path().join("root");
        server.clone_to(&root);
        git(&root, &["remote", "set-url", "origin", &server.url()]);
        let models = ModelServer::start(script);
        let program = Program::with_anthropic(&models.url()).without_court().with("GITHUB_TOKEN", TOKEN);
        let start = server.head("main");
        Self { server, folder, program, models, start }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("audit.db")
    }

    fn with(self, name: &str, value: &str) -> Self {
        Self { program: self.program.with(name, value), ..self }
    }

    /// With the experiments that each green is asked for.
    fn with_court(self) -> Self {
        let (court, sits) = Program::WITH_COURT;
        self.with(court, sits)
    }

    /// The arguments of a run that pushes.
    fn arguments(&self, push: &str) -> Vec<String> {
        let database = self.database().display().to_string();
        [
            "run",
            "--audit-db",
            &database,
            "--tiers",
            "claude-haiku-4-5 x3",
            "--test-command",
            TEST_COMMAND,
            "--push",
            push,
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn run(&self, push: &str) -> Said {
        let arguments = self.arguments(push);
        self.program.run(&self.root(), &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn resume(&self) -> Said {
        let database = self.database().display().to_string();
        self.program.run(&self.root(), &["resume", "--audit-db", &database])
    }
}

/// Mends the bug, then reports.
fn mends(request: &Request) -> Scripted {
    match request.turn() {
        0 => {
            let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
            Say::call("edit_file", edit).usage(1_000, 50).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}
