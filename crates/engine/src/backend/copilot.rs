//! GitHub Copilot CLI: `copilot -p` with JSON lines, with a model of the user's own (BYOK), over chat completions.
//!
//! It blanks its key out of all that it prints, so the placeholder has to be long and random.

use serde_json::Value;

use super::agent::{Agent, Invocation, Order, words};
use super::event::{AgentEvent, SubAgentState};
use super::reading::{some_text, subject, text, trouble};
use crate::domain::spoken::Spoken;

pub(super) static AGENT: Agent = Agent {
    name: "copilot",
    package: "@github/copilot",
    default_model: "openai/gpt-6.1-terra",
    speaks: &[Spoken::Chat],
    limits: &[],
    invoke,
    read,
};

fn invoke(order: &Order<'_>) -> Invocation {
    let mut arguments = words([
        "-p",
        order.prompt,
        "--output-format",
        "json",
        "--no-auto-update",
        "--no-ask-user",
        "--disable-builtin-mcps",
    ]);
    arguments.extend(match (order.reads_only, order.is_confined) {
        (true, true) => words(["--allow-all-tools", "--deny-tool", "write", "--deny-tool", "shell"]),
        (true, false) => words(["--deny-tool", "write", "--deny-tool", "shell"]),
        (false, true) => words(["--allow-all-tools"]),
        // Commands need a word of a person's, and are refused.
        (false, false) => words(["--allow-tool", "write", "--deny-tool", "shell"]),
    });
    Invocation {
        arguments,
        variables: vec![
            ("COPILOT_HOME", order.home.join(".copilot").display().to_string()),
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", order.url)),
            ("COPILOT_PROVIDER_API_KEY", order.token.to_owned()),
            ("COPILOT_MODEL", order.model.to_owned()),
            ("COPILOT_AUTO_UPDATE", "false".to_owned()),
        ],
        files: Vec::new(),
    }
}

fn read(line: &Value, out: &mut Vec<AgentEvent>) {
    let by = some_text(line, "/agentId");
    let call = || text(line, "/data/toolCallId").to_owned();
    match text(line, "/type") {
        "session.start" => out.push(AgentEvent::Started { session: text(line, "/data/sessionId").to_owned() }),
        // A message that only calls tools has no words.
        "assistant.message" if !text(line, "/data/content").is_empty() => {
            out.push(AgentEvent::Text { text: text(line, "/data/content").to_owned(), goes_on: false, by });
        }
        "tool.execution_start" => out.push(AgentEvent::ToolUse {
            id: call(),
            name: text(line, "/data/toolName").to_owned(),
            subject: line.pointer("/data/arguments").map(subject).unwrap_or_default(),
            by,
        }),
        "tool.execution_complete" => {
            let ok = line.pointer("/data/success").and_then(Value::as_bool) == Some(true);
            out.push(AgentEvent::ToolResult { id: call(), ok });
        }
        "subagent.started" | "subagent.configured" => out.push(sub_agent(line, by, SubAgentState::Running)),
        "subagent.completed" => out.push(sub_agent(line, by, SubAgentState::Completed)),
        "subagent.failed" => out.push(sub_agent(line, by, SubAgentState::Failed)),
        "assistant.turn_retry" => out.push(trouble(text(line, "/data/reason"))),
        "model.call_failure" => out.push(trouble(text(line, "/data/errorMessage"))),
        "session.error" => out.push(trouble(text(line, "/data/message"))),
        "result" => {
            let ok = line.get("exitCode").and_then(Value::as_i64) == Some(0);
            out.push(AgentEvent::End { ok });
        }
        _ => {}
    }
}

fn sub_agent(line: &Value, by: Option<String>, state: SubAgentState) -> AgentEvent {
    AgentEvent::SubAgent {
        id: by.unwrap_or_else(|| text(line, "/data/toolCallId").to_owned()),
        call: None,
        depth: None,
        name: some_text(line, "/data/agentDisplayName")
            .or_else(|| some_text(line, "/data/agentName"))
            .unwrap_or_default(),
        state,
        tokens: line.pointer("/data/totalTokens").and_then(Value::as_u64),
    }
}
