//! opencode: `opencode run --format json`, over chat completions, or Messages where the provider speaks them.
//!
//! A tool's call and its answer come as one event, when the tool is done.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::agent::{Agent, Invocation, Order, words};
use super::event::{AgentEvent, Tokens};
use super::reading::{number, some_text, subject, text, trouble};
use crate::domain::spoken::Spoken;

pub(super) static AGENT: Agent = Agent {
    name: "opencode",
    package: "opencode-ai",
    default_model: "openai/gpt-6.1-terra",
    speaks: &[Spoken::Chat, Spoken::Messages],
    limits: &[r"openai.*rate[- ]?limit", r"tokens per minute", r"requests per minute", r"azure.*throttl"],
    invoke,
    read,
};

/// Where its settings lie in a home.
pub(super) const SETTINGS: &str = ".config/opencode/opencode.json";

/// Its settings: the gateway as its one provider. Its words for what becomes of changes and of commands are given.
pub(super) fn settings(order: &Order<'_>, (edits, commands): (&str, &str)) -> Value {
    let package = if order.spoken == Spoken::Messages { "@ai-sdk/anthropic" } else { "@ai-sdk/openai-compatible" };
    let limit = json!({"context": order.window, "output": order.max_output});
    json!({
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": false,
        "share": "disabled",
        "permission": {"edit": edits, "bash": commands, "webfetch": "deny"},
        "model": format!("upshift/{}", order.model),
        "small_model": format!("upshift/{}", order.side_model),
        "provider": {"upshift": {
            "npm": package,
            "name": "upshift",
            "options": {"baseURL": format!("{}/v1", order.url), "apiKey": order.token},
            "models": {
                (order.model): {"name": order.model, "tool_call": true, "limit": limit.clone()},
                (order.side_model): {"name": order.side_model, "tool_call": true, "limit": limit},
            },
        }},
    })
}

fn invoke(order: &Order<'_>) -> Invocation {
    let may = |yes| if yes { "allow" } else { "deny" };
    // Commands only where our own sandbox holds them.
    let permissions = (may(!order.reads_only), may(!order.reads_only && order.is_confined));
    let on = "1".to_owned();
    Invocation {
        arguments: words(["run", "--format", "json", "-m", &format!("upshift/{}", order.model), order.prompt]),
        variables: vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", on.clone()),
            ("OPENCODE_DISABLE_MODELS_FETCH", on.clone()),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", on),
        ],
        files: vec![(PathBuf::from(SETTINGS), settings(order, permissions).to_string())],
    }
}

fn read(line: &Value, out: &mut Vec<AgentEvent>) {
    match text(line, "/type") {
        "step_start" => out.push(AgentEvent::Started { session: text(line, "/sessionID").to_owned() }),
        "text" => out.push(AgentEvent::Text { text: text(line, "/part/text").to_owned(), goes_on: false, by: None }),
        "tool_use" => {
            let id = text(line, "/part/callID").to_owned();
            let about = line.pointer("/part/state/input").map(subject).unwrap_or_default();
            let name = text(line, "/part/tool").to_owned();
            out.push(AgentEvent::ToolUse { id: id.clone(), name, subject: about, by: None });
            out.push(AgentEvent::ToolResult { id, ok: text(line, "/part/state/status") == "completed" });
        }
        "step_finish" => {
            let (input, output) = (number(line, "/part/tokens/input"), number(line, "/part/tokens/output"));
            out.push(AgentEvent::Usage(Tokens { input, output }));
            // A step that ends in calls of tools is followed by another one.
            if text(line, "/part/reason") == "stop" {
                out.push(AgentEvent::End { ok: true });
            }
        }
        "error" => {
            let said = some_text(line, "/error/data/message").or_else(|| some_text(line, "/error/message"));
            out.push(trouble(&said.unwrap_or_else(|| text(line, "/error/name").to_owned())));
            out.push(AgentEvent::End { ok: false });
        }
        _ => {}
    }
}
