//! Claude Code: `claude -p` with `stream-json`, over Messages.
//!
//! Its background agents go on behind a `result` line, so a session ends with the program. A failed call can be `subtype: success` with
//! `is_error`.

use serde_json::Value;

use super::agent::{Agent, Invocation, Order, words};
use super::event::{AgentEvent, SubAgentState, Tokens};
use super::reading::{number, some_text, subject, text, trouble};
use crate::domain::spoken::Spoken;

pub(super) static AGENT: Agent = Agent {
    name: "claude",
    package: "@anthropic-ai/claude-code",
    default_model: "anthropic/claude-sonnet-5-5",
    speaks: &[Spoken::Messages],
    limits: &[
        r"anthropic.*rate[- ]?limit",
        r"API rate limit exceeded",
        r"claude.*is currently overloaded",
        r"api[- ]?error.*429",
    ],
    invoke,
    read,
};

const TOOLS: &str = "Read,Edit,MultiEdit,Write,NotebookEdit,Bash,Glob,Grep,LS,Task,Agent,TodoWrite";
/// Outside of our sandbox: no commands.
const EDITING_TOOLS: &str = "Read,Edit,MultiEdit,Write,NotebookEdit,Glob,Grep,LS,Task,Agent,TodoWrite";
const READING_TOOLS: &str = "Read,Glob,Grep,LS,Task,Agent,TodoWrite";
/// Tools of the vendor's, and of the network.
const NO_TOOLS: &str = "WebSearch,WebFetch";
const NO_COMMANDS: &str = "WebSearch,WebFetch,Bash";
const NO_WRITING_TOOLS: &str = "WebSearch,WebFetch,Edit,MultiEdit,Write,NotebookEdit,Bash";

fn invoke(order: &Order<'_>) -> Invocation {
    // Two lists: one runs without asking, the other never runs. Whatever is on neither has nobody to ask, and is refused.
    let (mode, tools, denied) = match (order.reads_only, order.is_confined) {
        (true, _) => ("default", READING_TOOLS, NO_WRITING_TOOLS),
        (false, true) => ("acceptEdits", TOOLS, NO_TOOLS),
        (false, false) => ("acceptEdits", EDITING_TOOLS, NO_COMMANDS),
    };
    let mut arguments =
        words(["-p", order.prompt, "--output-format", "stream-json", "--verbose", "--model", order.model]);
    arguments.extend(words(["--permission-mode", mode, "--allowedTools", tools, "--disallowedTools", denied]));
    let on = "1".to_owned();
    Invocation {
        arguments,
        variables: vec![
            ("ANTHROPIC_BASE_URL", order.url.to_owned()),
            ("ANTHROPIC_API_KEY", order.token.to_owned()),
            // Its side calls, for titles and the like, name this model.
            ("ANTHROPIC_DEFAULT_HAIKU_MODEL", order.side_model.to_owned()),
            // Away from the logins and settings of the user's own.
            ("CLAUDE_CONFIG_DIR", order.home.join(".claude").display().to_string()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on.clone()),
            ("DISABLE_AUTOUPDATER", on),
        ],
        files: Vec::new(),
    }
}

/// Reads a line. Qwen Code speaks the same.
pub(super) fn read(line: &Value, out: &mut Vec<AgentEvent>) {
    let by = some_text(line, "/parent_tool_use_id");
    match text(line, "/type") {
        "system" => system(line, text(line, "/subtype"), out),
        "assistant" => {
            for block in line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten() {
                content(block, by.clone(), out);
            }
        }
        // What was told to the model: of it the answers of tools alone are read.
        "user" => {
            let blocks = line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
            out.extend(blocks.filter(|block| text(block, "/type") == "tool_result").map(|block| {
                AgentEvent::ToolResult {
                    id: text(block, "/tool_use_id").to_owned(),
                    ok: block.get("is_error").and_then(Value::as_bool) != Some(true),
                }
            }));
        }
        "result" => result(line, out),
        _ => {}
    }
}

fn content(block: &Value, by: Option<String>, out: &mut Vec<AgentEvent>) {
    match text(block, "/type") {
        "text" => out.push(AgentEvent::Text { text: text(block, "/text").to_owned(), goes_on: false, by }),
        "tool_use" => out.push(AgentEvent::ToolUse {
            id: text(block, "/id").to_owned(),
            name: text(block, "/name").to_owned(),
            subject: block.get("input").map(subject).unwrap_or_default(),
            by,
        }),
        _ => {}
    }
}

fn system(line: &Value, subtype: &str, out: &mut Vec<AgentEvent>) {
    // Qwen Code puts the same one level deeper.
    let task = if line.get("data").is_some_and(Value::is_object) { line.get("data").unwrap_or(line) } else { line };
    let running = |state| {
        let name = some_text(task, "/subagent_type").or_else(|| some_text(task, "/description")).unwrap_or_default();
        AgentEvent::SubAgent {
            id: text(task, "/task_id").to_owned(),
            call: some_text(task, "/tool_use_id"),
            depth: task.get("spawn_depth").and_then(Value::as_u64).and_then(|depth| u32::try_from(depth).ok()),
            name,
            state,
            tokens: task.pointer("/usage/total_tokens").and_then(Value::as_u64),
        }
    };
    match subtype {
        "init" => out.push(AgentEvent::Started { session: text(line, "/session_id").to_owned() }),
        "task_started" | "task_progress" => out.push(running(SubAgentState::Running)),
        "task_notification" => out.push(running(SubAgentState::of_word(text(task, "/status")))),
        "task_updated" => out.push(running(SubAgentState::of_word(text(task, "/patch/status")))),
        // 529 is Anthropic's status for an overload, which passes as a limit does.
        "api_retry" if [429, 529].contains(&number(line, "/error_status")) => out.push(AgentEvent::RateLimit {
            retry_after_ms: line.get("retry_delay_ms").and_then(Value::as_u64),
            said: text(line, "/error").to_owned(),
        }),
        "api_retry" => out.push(AgentEvent::Trouble { said: text(line, "/error").to_owned() }),
        _ => {}
    }
}

fn result(line: &Value, out: &mut Vec<AgentEvent>) {
    let failed = line.get("is_error").and_then(Value::as_bool) == Some(true);
    out.push(AgentEvent::Usage(Tokens {
        input: number(line, "/usage/input_tokens"),
        output: number(line, "/usage/output_tokens"),
    }));
    if failed {
        let why = some_text(line, "/result").or_else(|| some_text(line, "/subtype")).unwrap_or_default();
        out.push(trouble(&why));
    }
    out.push(AgentEvent::End { ok: !failed && text(line, "/subtype") == "success" });
}
