//! Coding agents on the ladder (issue 16): a scripted one that tells of itself as claude and codex do, in real runs; the real ones in `real`.

mod acp;
mod doctor;
mod doors;
mod elsewhere;
mod ends;
mod ladder;
mod limits;
pub(crate) mod memory;
mod real;
pub(crate) mod rows;
mod streams;
mod tree;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use upshift::domain::catalogue::Price;
use upshift::domain::model_id::ModelId;
use upshift::model::catalogue;

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Options, Request, Say, Scripted};
use crate::world::program::{KEY, Program, Said, programs};
use crate::world::project::Project;

/// The events after which a run with agents is killed and resumed (`limits`).
pub(crate) const KILLS: [&str; 4] =
    ["agent_switched:1", "agents_all_limited:1", "agent_recovery_attempted:1", "sub_agent_changed:1"];

/// The models behind the agents, which the catalogue prices.
const CLAUDE: &str = "claude-haiku-4-5";
const GPT: &str = "gpt-4.1";
const SONNET: &str = "claude-sonnet-4-5";

/// A broken project, a vendor that bills, and upshift with the agents of the tests in its `PATH`.
struct Site {
    project: Project,
    server: ModelServer,
    program: Program,
    database: PathBuf,
    agents: TempDir,
}

impl Site {
    fn new(project: Project, script: impl FnMut(&Request) -> Scripted + Send + 'static) -> Self {
        let price = |model: &str| {
            let id = ModelId::parse(model).expect("a model");
            catalogue::lookup(&id).and_then(|info| info.price).expect("a price")
        };
        let options =
            [CLAUDE, GPT, SONNET].iter().fold(Options::default(), |options, model| options.price(model, price(model)));
        // Local models cost nothing.
        let server = ModelServer::start_with(options.price("qwen3-coder", Price::default()), script);
        let agents = agents();
        let path =
            std::env::join_paths(std::iter::once(agents.path().to_owned()).chain(std::env::split_paths(programs())));
        let program = Program::with_anthropic(&server.url())
            .without_court()
            .with("OPENAI_API_KEY", KEY)
            .with("OPENAI_BASE_URL", &server.url())
            .with("OLLAMA_HOST", &server.url())
            .with("PATH", path.expect("a path").to_str().expect("text"));
        project.commit();
        let database = project.path().parent().expect("a parent").join("audit.db");
        Self { project, server, program, database, agents }
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let database = self.database.to_str().expect("text");
        [&["run", "--audit-db", database, "--test-command", self.project.test_command], more].concat()
    }

    fn run(&self, more: &[&str]) -> Said {
        self.program.run(self.project.path(), &self.args(more))
    }

    fn log(&self) -> Log {
        Log::open(&self.database)
    }

    /// What the receipts come to, in micro-dollars.
    fn spent(&self) -> u64 {
        let rows = self.log().rows("SELECT body FROM events WHERE kind = 'call_settled' ORDER BY seq");
        let of = |row: &Vec<String>| {
            let receipt: Value = serde_json::from_str(&row[0]).expect("an event");
            receipt["cost"].as_u64().unwrap_or(0) + receipt["unknown_cost"].as_u64().unwrap_or(0)
        };
        rows.iter().map(of).sum()
    }

    /// What the rows of the iterations come to, in micro-dollars.
    fn spent_by_rows(&self) -> u64 {
        let rows = self.log().rows("SELECT body FROM events WHERE kind = 'iteration_finished' ORDER BY seq");
        let of = |row: &Vec<String>| {
            let attempt: Value = serde_json::from_str(&row[0]).expect("an event");
            attempt["cost"].as_u64().unwrap_or(0) + attempt["unknown_cost"].as_u64().unwrap_or(0)
        };
        rows.iter().map(of).sum()
    }

    /// The warnings of the run, one to a line.
    fn warnings(&self) -> String {
        let rows = self.log().rows("SELECT body FROM events WHERE kind = 'warning' ORDER BY seq");
        rows.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}

/// A folder with the agents of the tests.
fn agents() -> TempDir {
    let folder = tempfile::Builder::new().prefix("agents-").tempdir().expect("a folder");
    for name in ["claude", "codex"] {
        let path = folder.path().join(name);
        std::fs::write(&path, include_str!("agents/agent.py")).expect("the agent");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    }
    folder
}

/// The model of an agent has it do these things.
fn steps(steps: &Value) -> Scripted {
    Say::text(steps.to_string()).usage(800, 60).into()
}

/// The model of an agent has its last word.
fn done(words: &str) -> Scripted {
    Say::text(words).usage(900, 20).into()
}

/// What mends a project.
fn mend(project: &Project) -> Value {
    json!([{"do": "replace", "path": project.source, "old": project.wrong, "new": project.right}])
}

/// Whether a process is there and no zombie.
fn lives(pid: &str) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    status.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}
