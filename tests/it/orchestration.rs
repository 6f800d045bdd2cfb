//! Advisors, kept reports, tools of other servers, the tree of operations and telemetry, in whole runs of the built program.

mod advisors;
pub(crate) mod cache;
mod compositions;
pub(crate) mod handoff;
mod mcp;
mod meta;
mod off;
pub(crate) mod router;
mod sub_agents;
mod telemetry;
mod trace;
mod web;

use serde_json::json;

use crate::world::model_server::{Request, Say, Scripted};

/// A full tier of one model.
const TIERS: &str = r#"{"tiers": [{"name": "one", "mode": "full", "maxIterations": 1,
    "models": {"artisan": "claude-haiku-4-5", "librarian": "claude-haiku-4-5", "critic": "claude-haiku-4-5"}}]}"#;

/// The artisan mends the line, the critic approves, the librarian does as it is told.
fn full_mode(
    (source, wrong, right): (&'static str, &'static str, &'static str),
    librarian: impl Fn(&Request) -> Scripted + Send + 'static,
) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    move |request| {
        let system = request.system();
        if system.contains("You brief") {
            return librarian(request);
        }
        if system.contains("You review") {
            return Say::call("final_report", json!({ "verdict": "approve", "summary": "right", "issues": [] }))
                .usage(300, 20)
                .into();
        }
        mends(request, (source, wrong, right))
    }
}

/// The artisan mends a line and reports.
fn mends(request: &Request, (source, wrong, right): (&str, &str, &str)) -> Scripted {
    match request.turn() {
        0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right }))
            .usage(900, 40)
            .into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}

/// The same in the project of [`Held`].
fn mended(request: &Request) -> Scripted {
    mends(request, ("shop/cart.py", "sum(prices) - 1", "sum(prices)"))
}

/// The librarian's report.
fn brief() -> Scripted {
    Say::call("final_report", json!({ "summary": "look at the sum", "status": "done" })).usage(500, 20).into()
}

/// A run over the red project, and what is left of it.
pub(crate) struct Held {
    pub(crate) said: crate::world::program::Said,
    pub(crate) log: crate::world::log::Log,
    pub(crate) requests: Vec<Request>,
    /// The report as JSON.
    pub(crate) document: serde_json::Value,
    _project: crate::world::project::Project,
}

impl Held {
    /// Runs with a ladder, a configuration and a script; killed at an event and taken up again where one is named.
    pub(crate) fn run(
        ladder: &str,
        config: &str,
        kill: &str,
        script: impl FnMut(&Request) -> Scripted + Send + 'static,
    ) -> Self {
        let project = crate::world::project::Project::python();
        project.write(".github/upshift.yml", config);
        let server = crate::world::model_server::ModelServer::start(script);
        let program = crate::world::program::Program::with_anthropic(&server.url())
            .without_court()
            .with("UPSHIFT_CRASH_AFTER", kill);
        let folder = project.path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let database = folder.parent().expect("a parent").join(format!("{name}.held.db"));
        let path = database.to_str().expect("text");
        let args = ["run", "--tiers", ladder, "--test-command", project.test_command, "--audit-db", path];
        let mut said = program.run(folder, &args);
        let calm = program.with("UPSHIFT_CRASH_AFTER", "");
        if !kill.is_empty() {
            assert_eq!(said.code, -9, "{kill}: {}", said.all());
            said = calm.run(folder, &["resume", "--audit-db", path]);
        }
        let told = calm.run(folder, &["report", "--audit-db", path, "--format", "json"]);
        let document = serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}: {}", told.all()));
        let verified = calm.run(folder, &["report", "--verify", "--audit-db", path]);
        assert_eq!(verified.code, 0, "{}", verified.all());
        let requests = server.requests();
        server.finish();
        Self { said, log: crate::world::log::Log::open(&database), requests, document, _project: project }
    }

    /// What every run must hold, whoever speaks in it: each receipt counts once, in the cap and in its iteration's row.
    pub(crate) fn assert_money_adds_up(&self) -> i64 {
        let sum = |sql: &str| self.log.number(sql);
        let receipts = sum("SELECT COALESCE(SUM(cost_micro_usd + unknown_cost_micro_usd), 0) FROM model_calls");
        let settled = sum("SELECT COALESCE(SUM(settled_micro_usd), 0) FROM reservations WHERE scope LIKE 'run:%'");
        assert_eq!(receipts, settled, "each receipt counts once: {}", self.said.all());
        let rows = sum(
            "SELECT CAST(ROUND(COALESCE(SUM(cost_usd + unknown_cost_usd), 0) * 1e6) AS INTEGER) FROM tier_attempts",
        );
        assert_eq!(rows, receipts, "the rows hold them all: {}", self.said.all());
        assert_eq!(sum("SELECT COUNT(*) FROM reservations WHERE settled_micro_usd IS NULL"), 0);
        receipts
    }

    /// The paths of all who were asked.
    pub(crate) fn agents(&self) -> Vec<String> {
        let sql = "SELECT DISTINCT COALESCE(json_extract(body, '$.scope.agent'), json_extract(body, '$.scope.role')) \
                   FROM events WHERE kind = 'call_settled' ORDER BY 1";
        self.log.rows(sql).concat()
    }
}
