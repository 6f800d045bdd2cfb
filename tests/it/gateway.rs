//! `upshift gateway`: a program's model calls on one hard cap, against a vendor that bills (issue 16).

mod bodies;
mod ends;
mod money;
mod pull_request;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use upshift::domain::catalogue::Price;
use upshift::domain::model_id::ModelId;
use upshift::model::catalogue;

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Options, Request, Scripted};
use crate::world::program::{KEY, Program, Said};

/// A model of each vendor that the catalogue prices.
const CLAUDE: &str = "claude-haiku-4-5";
const GPT: &str = "gpt-4.1";
const GEMINI: &str = "gemini-2.5-pro";

/// The four wires.
const WIRES: [&str; 4] = ["messages", "responses", "chat", "generate"];

fn price(model: &str) -> Price {
    let id = ModelId::parse(model).expect("a model");
    catalogue::lookup(&id).and_then(|info| info.price).expect("a price")
}

/// A vendor for all wires that bills by the catalogue.
fn vendor(script: impl FnMut(&Request) -> Scripted + Send + 'static) -> ModelServer {
    let options =
        [CLAUDE, GPT, GEMINI].iter().fold(Options::default(), |options, model| options.price(model, price(model)));
    ModelServer::start_with(options, script)
}

/// A request's body on a wire, as a client would send it.
fn body(wire: &str, stream: bool) -> Value {
    match wire {
        "messages" => json!({"model": CLAUDE, "max_tokens": 2_000, "stream": stream,
            "messages": [{"role": "user", "content": "hi"}]}),
        "responses" => json!({"model": GPT, "stream": stream, "store": false, "max_output_tokens": 2_000,
            "include": ["reasoning.encrypted_content"], "input": [{"type": "message", "role": "user", "content": "hi"}]}),
        "chat" => json!({"model": GPT, "stream": stream, "max_completion_tokens": 2_000,
            "messages": [{"role": "user", "content": "hi"}]}),
        "generate" => json!({"generationConfig": {"maxOutputTokens": 2_000},
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
        other => panic!("no wire {other}"),
    }
}

/// A step of the client: one call.
fn call(wire: &str, stream: bool) -> Value {
    step("call", wire, stream)
}

fn step(kind: &str, wire: &str, stream: bool) -> Value {
    let mut step = json!({"do": kind, "wire": wire, "body": body(wire, stream)});
    if wire == "generate" {
        let verb = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        step["path"] = json!(format!("/v1beta/models/{GEMINI}:{verb}"));
    }
    step
}

/// A folder with the client in it, and upshift pointed at a vendor.
struct Session {
    folder: TempDir,
    program: Program,
}

impl Session {
    fn of(server: &ModelServer) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("client.py"), include_str!("gateway/client.py")).expect("the client");
        let program = Program::with_anthropic(&server.url())
            .with("OPENAI_API_KEY", KEY)
            .with("OPENAI_BASE_URL", &server.url())
            .with("GEMINI_API_KEY", KEY)
            .with("GEMINI_BASE_URL", &server.url());
        Self { folder, program }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The program with flags before the client and its plan.
    fn command(&self, flags: &[&str], plan: &Value) -> Command {
        let plan = plan.to_string();
        let args = [&["gateway"], flags, &["--", "python3", "client.py", &plan]].concat();
        let mut command = self.program.command(self.path(), &args);
        command.stdin(std::process::Stdio::null());
        command
    }

    fn run(&self, flags: &[&str], plan: &Value) -> Said {
        let said = Said::from(self.command(flags, plan).output().expect("the program starts"));
        assert_eq!(said.out, "", "standard output is the client's alone");
        said
    }

    /// What the client wrote down, step by step.
    fn told(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path().join("told.json")).expect("the client told something");
        serde_json::from_str(&text).expect("JSON")
    }

    fn log(&self) -> Log {
        Log::open(&self.path().join(".upshift/audit.db"))
    }

    /// The receipts: status, cost and unknown cost in micro-dollars, the session and the target.
    fn receipts(&self) -> Vec<Value> {
        let rows = self.log().rows("SELECT body FROM events WHERE kind = 'call_settled' ORDER BY seq");
        rows.iter().map(|row| serde_json::from_str(&row[0]).expect("an event")).collect()
    }

    /// What all receipts come to, in micro-dollars.
    fn spent(&self) -> u64 {
        let of =
            |receipt: &Value| receipt["cost"].as_u64().unwrap_or(0) + receipt["unknown_cost"].as_u64().unwrap_or(0);
        self.receipts().iter().map(of).sum()
    }

    fn report(&self) -> Value {
        let said = self.program.run(self.path(), &["report", "--format", "json"]);
        serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}", said.all()))
    }

    /// Whether the log's chain holds.
    fn assert_verified(&self) {
        let said = self.program.run(self.path(), &["report", "--verify"]);
        assert_eq!(said.code, 0, "{}", said.all());
    }
}
