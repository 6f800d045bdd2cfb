//! Gemini CLI: `gemini -o stream-json`, over `generateContent`.
//!
//! It repeats its prompt as a `message` of the user, and ends with the HTTP status modulo 256. It ignores SIGINT and SIGTERM while a
//! tool runs.

use std::path::PathBuf;

use serde_json::Value;

use super::agent::{Agent, Invocation, Order, words};
use super::event::{AgentEvent, Tokens};
use super::reading::{number, subject, text, trouble};
use crate::domain::spoken::Spoken;

pub(super) static AGENT: Agent = Agent {
    name: "gemini",
    package: "@google/gemini-cli",
    default_model: "gemini/gemini-3.8-flash",
    speaks: &[Spoken::Generate],
    limits: &[],
    invoke,
    read,
};

const SETTINGS: &str = r#"{"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"enableAutoUpdate":false},"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;

fn invoke(order: &Order<'_>) -> Invocation {
    let mode = match (order.reads_only, order.is_confined) {
        (true, _) => "default",
        (false, true) => "yolo",
        // Without a word of a person's, commands are refused.
        (false, false) => "auto_edit",
    };
    Invocation {
        arguments: words([
            "-o",
            "stream-json",
            "--approval-mode",
            mode,
            "--skip-trust",
            "-m",
            order.model,
            "-p",
            order.prompt,
        ]),
        variables: vec![("GEMINI_API_KEY", order.token.to_owned()), ("GOOGLE_GEMINI_BASE_URL", order.url.to_owned())],
        files: vec![(PathBuf::from(".gemini/settings.json"), SETTINGS.to_owned())],
    }
}

fn read(line: &Value, out: &mut Vec<AgentEvent>) {
    match text(line, "/type") {
        "init" => out.push(AgentEvent::Started { session: text(line, "/session_id").to_owned() }),
        // Only the model's words are its words.
        "message" if text(line, "/role") == "assistant" => {
            let goes_on = line.get("delta").and_then(Value::as_bool) == Some(true);
            out.push(AgentEvent::Text { text: text(line, "/content").to_owned(), goes_on, by: None });
        }
        "tool_use" => out.push(AgentEvent::ToolUse {
            id: text(line, "/tool_id").to_owned(),
            name: text(line, "/tool_name").to_owned(),
            subject: line.get("parameters").map(subject).unwrap_or_default(),
            by: None,
        }),
        "tool_result" => {
            out.push(AgentEvent::ToolResult {
                id: text(line, "/tool_id").to_owned(),
                ok: text(line, "/status") == "success",
            });
        }
        "error" => out.push(trouble(text(line, "/message"))),
        "result" => {
            let (input, output) = (number(line, "/stats/input_tokens"), number(line, "/stats/output_tokens"));
            out.push(AgentEvent::Usage(Tokens { input, output }));
            let ok = text(line, "/status") == "success";
            if !ok {
                out.push(trouble(text(line, "/error/message")));
            }
            out.push(AgentEvent::End { ok });
        }
        _ => {}
    }
}
