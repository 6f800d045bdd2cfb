//! Targets that are refused, limited or down: their account is passed over, another vendor is asked, limits are waited for and
//! parked at, and nothing is paid twice (SPEC S3-7, contradiction 18).

mod billed;
mod limits;
mod meanwhile;
mod online;
mod refusals;

use std::path::PathBuf;

use serde_json::json;

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// The events after which a run is killed and resumed here.
pub(crate) const KILLS: [&str; 2] = ["models_unavailable:1", "tiers_skipped:1"];

/// Three tiers of one key.
const LADDER: &str = "claude-haiku-4-5 x2 > claude-sonnet-4-5 x2 > claude-opus-4-6 x1";
/// Two hours, in the vendors' seconds: longer than any run of these tests may take.
const TWO_HOURS: &str = "7200";

/// A project, its vendor and the program that asks it; one more vendor where a test wants one.
struct Scene {
    project: Project,
    program: Program,
    server: ModelServer,
    other: Option<ModelServer>,
}

impl Scene {
    fn new(script: impl FnMut(&Request) -> Scripted + Send + 'static) -> Self {
        let server = ModelServer::start(script);
        let program = Program::with_anthropic(&server.url()).without_court();
        Self { project: Project::python(), program, server, other: None }
    }

    /// With a second vendor, `other/strong`, behind its own address and key.
    fn and_another(mut self, script: impl FnMut(&Request) -> Scripted + Send + 'static) -> Self {
        let other = ModelServer::start(script);
        let config = json!({
            "providers": { "other": { "wire": "openai", "baseUrl": other.url(), "apiKeyEnv": "OTHER_API_KEY" } },
            "models": { "other/strong": {
                "contextWindow": 100_000, "maxOutputTokens": 8_000, "inputPer1M": 1, "outputPer1M": 2
            } },
        });
        self.project.write(".github/upshift.yml", &config.to_string());
        self.program = self.program.with("OTHER_API_KEY", "other-0123456789abcdef");
        self.other = Some(other);
        self
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.program = self.program.with(name, value);
        self
    }

    fn database(&self) -> PathBuf {
        let name = format!("{}.audit.db", self.project.path().file_name().expect("a name").to_string_lossy());
        self.project.path().parent().expect("a parent").join(name)
    }

    fn call(&self, command: &str, more: &[&str]) -> Said {
        let database = self.database().to_str().expect("text").to_owned();
        let mut args = vec![command, "--audit-db", &database];
        args.extend_from_slice(more);
        self.program.run(self.project.path(), &args)
    }

    fn run(&self, ladder: &str) -> Said {
        self.call("run", &["--test-command", self.project.test_command, "--tiers", ladder])
    }

    /// The models that the first vendor was asked for.
    fn asked(&self) -> Vec<String> {
        self.server.requests().iter().map(|request| request.model.clone()).collect()
    }

    fn log(&self) -> Log {
        Log::open(&self.database())
    }

    /// Ends the vendors; panics on what they did not expect.
    fn finish(self) {
        self.server.finish();
        if let Some(other) = self.other {
            other.finish();
        }
    }
}

/// Reads, mends, reports.
fn mends(request: &Request) -> Scripted {
    let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
    match request.turn() {
        0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(900, 40).into(),
        1 => Say::call("edit_file", edit).usage(900, 40).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(900, 40).into(),
    }
}

/// Anthropic's rate limit with its headers (platform.claude.com, "Rate limits" and "Errors", read 2026-11).
pub(crate) fn limited(seconds: &str) -> Scripted {
    let body = json!({ "type": "error", "error": { "type": "rate_limit_error",
        "message": "This request would exceed your organization's rate limit of 50 requests per minute" } });
    Scripted::status(429, body.to_string())
        .header("retry-after", seconds)
        .header("anthropic-ratelimit-requests-remaining", "0")
}

/// Anthropic's own trouble (the same page).
fn overloaded() -> Scripted {
    let body = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    Scripted::status(529, body.to_string())
}
