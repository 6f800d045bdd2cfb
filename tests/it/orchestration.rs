//! Advisors, kept reports, tools of other servers, the tree of operations and telemetry, in whole runs of the built program.

mod advisors;
pub(crate) mod cache;
mod mcp;
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
        match request.turn() {
            0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right }))
                .usage(900, 40)
                .into(),
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
        }
    }
}

/// The librarian's report.
fn brief() -> Scripted {
    Say::call("final_report", json!({ "summary": "look at the sum", "status": "done" })).usage(500, 20).into()
}
