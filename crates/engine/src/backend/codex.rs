//! Codex: `codex exec --json`, over Responses.
//!
//! A provider of its own keeps it from trying websockets first, and `web_search` is a tool of the vendor's, which no cap can hold.

use std::path::PathBuf;

use serde_json::Value;

use super::agent::{Agent, Invocation, Order, words};
use super::event::{AgentEvent, SubAgentState, Tokens};
use super::reading::{number, some_text, text, trouble};
use crate::domain::spoken::Spoken;

pub(super) static AGENT: Agent = Agent {
    name: "codex",
    package: "@openai/codex",
    default_model: "openai/gpt-6.1-terra",
    speaks: &[Spoken::Responses],
    limits: &[],
    invoke,
    read,
};

fn invoke(order: &Order<'_>) -> Invocation {
    // Its own sandbox makes namespaces, which ours does not let it.
    let sandbox = match (order.is_confined, order.reads_only) {
        (true, _) => "danger-full-access",
        (false, true) => "read-only",
        (false, false) => "workspace-write",
    };
    let arguments =
        words(["exec", "--json", "--sandbox", sandbox, "--skip-git-repo-check", "-m", order.model, order.prompt]);
    let settings = format!(
        "model_provider = \"upshift\"\nweb_search = \"disabled\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n\
         [model_providers.upshift]\nname = \"upshift\"\nbase_url = \"{}/v1\"\nenv_key = \"UPSHIFT_GATEWAY_KEY\"\nwire_api = \"responses\"\n",
        order.url
    );
    Invocation {
        arguments,
        variables: vec![
            ("CODEX_HOME", order.home.join(".codex").display().to_string()),
            ("UPSHIFT_GATEWAY_KEY", order.token.to_owned()),
        ],
        files: vec![(PathBuf::from(".codex/config.toml"), settings)],
    }
}

fn read(line: &Value, out: &mut Vec<AgentEvent>) {
    match text(line, "/type") {
        "thread.started" => out.push(AgentEvent::Started { session: text(line, "/thread_id").to_owned() }),
        "turn.completed" => {
            // Its counts leave its sub-agents out.
            let (input, output) = (number(line, "/usage/input_tokens"), number(line, "/usage/output_tokens"));
            out.push(AgentEvent::Usage(Tokens { input, output }));
            out.push(AgentEvent::End { ok: true });
        }
        "turn.failed" => {
            out.push(trouble(text(line, "/error/message")));
            out.push(AgentEvent::End { ok: false });
        }
        "error" => out.push(trouble(text(line, "/message"))),
        "item.started" => item(line, true, out),
        "item.completed" => item(line, false, out),
        _ => {}
    }
}

fn item(line: &Value, begins: bool, out: &mut Vec<AgentEvent>) {
    let id = text(line, "/item/id").to_owned();
    let kind = text(line, "/item/type");
    match kind {
        // An item is told when it begins and once more, whole, when it is completed.
        "agent_message" if !begins => {
            out.push(AgentEvent::Text { text: text(line, "/item/text").to_owned(), goes_on: false, by: None });
        }
        "error" if !begins => out.push(AgentEvent::Trouble { said: text(line, "/item/message").to_owned() }),
        "command_execution" | "file_change" | "mcp_tool_call" | "web_search" => {
            if begins {
                let first = some_text(line, "/item/command").or_else(|| some_text(line, "/item/changes/0/path"));
                let subject = first.or_else(|| some_text(line, "/item/tool")).unwrap_or_default();
                out.push(AgentEvent::ToolUse { id, name: kind.to_owned(), subject, by: None });
            } else {
                out.push(AgentEvent::ToolResult { id, ok: text(line, "/item/status") == "completed" });
            }
        }
        "collab_tool_call" => collaborators(line, begins, out),
        _ => {}
    }
}

/// Sub-agents, as the calls that start and await them tell of them.
fn collaborators(line: &Value, begins: bool, out: &mut Vec<AgentEvent>) {
    let id = text(line, "/item/id").to_owned();
    let tool = text(line, "/item/tool").to_owned();
    if begins {
        out.push(AgentEvent::ToolUse { id, name: tool, subject: text(line, "/item/prompt").to_owned(), by: None });
    } else {
        out.push(AgentEvent::ToolResult { id, ok: text(line, "/item/status") == "completed" });
    }
    for (thread, state) in line.pointer("/item/agents_states").and_then(Value::as_object).into_iter().flatten() {
        out.push(AgentEvent::SubAgent {
            id: thread.clone(),
            call: None,
            depth: None,
            name: text(line, "/item/prompt").chars().take(60).collect(),
            state: SubAgentState::of_word(text(state, "/status")),
            tokens: None,
        });
    }
}
