//! Any agent that speaks the Agent Client Protocol (ACP, version 1) over its standard input and output, by the command that a user names.
//!
//! Its side of the protocol is JSON-RPC in lines. [`Talk`] is ours: it opens a session, hands the task over, reads what is told, and asks its
//! owner for files and permissions ([`Asked`]). Terminals are not offered: such agents run commands themselves. Pure: nothing is read or
//! written here.
//!
//! Invariants: an agent's request has one answer. An unknown request is answered as such, never left open.

use serde_json::{Value, json};

use super::agent::{Agent, Invocation, Order};
use super::event::AgentEvent;
use super::lines::{Ends, Line, Lines};
use super::opencode;
use super::reading::{some_text, subject, text, trouble};
use crate::domain::spoken::Spoken;

pub(super) static AGENT: Agent = Agent {
    name: "acp",
    package: "",
    default_model: "anthropic/claude-sonnet-5-5",
    speaks: &[Spoken::Messages, Spoken::Chat, Spoken::Responses, Spoken::Generate],
    limits: &[],
    invoke,
    // It is spoken to: `Talk` reads its lines.
    read: |_line, _out| {},
};

/// The version of the protocol that is spoken.
const VERSION: u32 = 1;
/// JSON-RPC's codes: no such method, a request that cannot be read, parameters that cannot be used. ACP's code for an agent that wants a login first.
const NO_METHOD: i64 = -32_601;
const BAD_REQUEST: i64 = -32_600;
const BAD_PARAMETERS: i64 = -32_602;
const NEEDS_LOGIN: i64 = -32_000;
/// Kinds of tools that change files.
const CHANGING: [&str; 3] = ["edit", "delete", "move"];
/// The kind of tools that run commands.
const RUNNING: &str = "execute";
/// Settings that tell Gemini CLI and Qwen Code their kind of login, which is a key.
const SETTINGS: [(&str, &str); 2] = [
    (
        ".gemini/settings.json",
        r#"{"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"enableAutoUpdate":false},"security":{"auth":{"selectedType":"gemini-api-key"}}}"#,
    ),
    (
        ".qwen/settings.json",
        r#"{"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},"general":{"enableAutoUpdate":false},"security":{"auth":{"selectedType":"openai"}}}"#,
    ),
];

/// Nothing is known of the program: it gets every customary variable that leads a client somewhere.
fn invoke(order: &Order<'_>) -> Invocation {
    let (url, with_version, token, model) = (order.url, format!("{}/v1", order.url), order.token, order.model);
    let variables: [(&'static str, &str); 21] = [
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", token),
        ("ANTHROPIC_MODEL", model),
        ("ANTHROPIC_DEFAULT_HAIKU_MODEL", order.side_model),
        ("OPENAI_BASE_URL", &with_version),
        ("OPENAI_API_KEY", token),
        ("OPENAI_MODEL", model),
        ("GOOGLE_GEMINI_BASE_URL", url),
        ("GEMINI_API_KEY", token),
        ("GEMINI_MODEL", model),
        ("COPILOT_PROVIDER_BASE_URL", &with_version),
        ("COPILOT_PROVIDER_API_KEY", token),
        ("COPILOT_MODEL", model),
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("UPSHIFT_GATEWAY_URL", url),
        ("UPSHIFT_GATEWAY_KEY", token),
    ];
    // Of changes it asks us.
    let edits = if order.reads_only { "deny" } else { "ask" };
    let of_opencode = (opencode::SETTINGS.into(), opencode::settings(order, (edits, edits)).to_string());
    Invocation {
        arguments: Vec::new(),
        variables: variables.into_iter().map(|(name, value)| (name, value.to_owned())).collect(),
        files: SETTINGS.into_iter().map(|(path, text)| (path.into(), text.to_owned())).chain([of_opencode]).collect(),
    }
}

/// Something that the talk comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// To be written to the agent: a line.
    Say(String),
    /// The agent told something.
    Heard(AgentEvent),
    /// The agent asks. [`Talk::answer`] makes the line that answers it.
    Asked(Asked),
    /// The session is over: nothing more is said.
    Over,
}

/// A request that an agent makes of us.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    id: Value,
    /// The wish in it.
    pub wish: Wish,
}

/// The wish of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// A file's text.
    Read {
        /// The path, as it names it.
        path: String,
        /// The first line, from 1.
        line: Option<u64>,
        /// The most lines.
        limit: Option<u64>,
    },
    /// That a file gets a text.
    Write {
        /// The path, as it names it.
        path: String,
        /// The text.
        content: String,
    },
    /// Leave to use a tool.
    Permission {
        /// The files that the tool would change. Empty for other tools.
        changes: Vec<String>,
        /// Whether it changes files.
        is_change: bool,
        /// Whether it runs a command.
        runs: bool,
        /// The options that say yes and no, by their ids.
        yes: Option<String>,
        /// The option that says no.
        no: Option<String>,
    },
}

/// Our side of a session.
#[derive(Debug)]
pub struct Talk {
    lines: Lines,
    prompt: String,
    cwd: String,
    session: String,
    stage: Stage,
    methods: Vec<String>,
    next: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Hello,
    Login,
    Session,
    Prompt,
    Over,
}

impl Talk {
    /// A session in a folder with one task.
    #[must_use]
    pub fn new(prompt: &str, cwd: &str) -> Self {
        let (prompt, cwd) = (prompt.to_owned(), cwd.to_owned());
        Self {
            lines: Lines::default(),
            prompt,
            cwd,
            session: String::new(),
            stage: Stage::Hello,
            methods: Vec::new(),
            next: 0,
        }
    }

    /// The first words.
    #[must_use]
    pub fn begin(&mut self) -> Turn {
        let files = json!({"readTextFile": true, "writeTextFile": true});
        let hello = json!({"protocolVersion": VERSION, "clientCapabilities": {"fs": files, "terminal": false}});
        self.request("initialize", &hello)
    }

    /// Takes the next bytes of the agent.
    #[must_use]
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Turn> {
        let mut lines = Vec::new();
        self.lines.push(bytes, &mut lines);
        lines.iter().flat_map(|line| self.read(line)).collect()
    }

    /// The line that answers what was asked: what it comes to, or why not.
    #[must_use]
    pub fn answer(asked: &Asked, answer: Result<Value, String>) -> String {
        let line = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": asked.id, "result": result}),
            Err(why) => error(&asked.id, BAD_PARAMETERS, &why),
        };
        format!("{line}\n")
    }

    fn request(&mut self, method: &str, params: &Value) -> Turn {
        self.next = self.next.saturating_add(1);
        say(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))
    }

    fn read(&mut self, line: &Line) -> Vec<Turn> {
        let unknown = |kind: &str| vec![Turn::Heard(AgentEvent::Unknown { kind: kind.chars().take(80).collect() })];
        let line = match line {
            Line::Text(line) => line,
            Line::TooLong(ends) => {
                // Without an answer the agent would wait for ever.
                let refusal =
                    id_of(ends).map(|id| say(&error(&id, BAD_REQUEST, "upshift reads no message of this length")));
                return refusal.into_iter().chain(unknown("a line that is too long")).collect();
            }
        };
        let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(line) else { return unknown(line) };
        let message = Value::Object(fields);
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some(method), Some(id)) => vec![asked(method, id, message.get("params").unwrap_or(&Value::Null))],
            (Some("session/update"), None) => match message.pointer("/params/update") {
                Some(told) => update(told),
                None => unknown("session/update"),
            },
            (Some(method), None) => unknown(method),
            // Only one request of ours is open at a time.
            (None, Some(id)) if id.as_u64() == Some(self.next) => self.answered(&message),
            (None, _) => unknown("an answer to nothing"),
        }
    }

    /// Goes on behind an answer to the last request.
    fn answered(&mut self, message: &Value) -> Vec<Turn> {
        if let Some(failed) = message.get("error") {
            return self.refused(failed);
        }
        match self.stage {
            Stage::Hello => {
                let methods = message.pointer("/result/authMethods").and_then(Value::as_array);
                self.methods = methods.into_iter().flatten().filter_map(|method| some_text(method, "/id")).collect();
                // Without a login first: most agents have one, or need none.
                vec![self.open()]
            }
            Stage::Login => vec![self.open()],
            Stage::Session => {
                text(message, "/result/sessionId").clone_into(&mut self.session);
                self.stage = Stage::Prompt;
                let prompt = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": self.prompt}]});
                let started = Turn::Heard(AgentEvent::Started { session: self.session.clone() });
                vec![started, self.request("session/prompt", &prompt)]
            }
            Stage::Prompt => {
                self.stage = Stage::Over;
                let why = text(message, "/result/stopReason");
                let ok = why == "end_turn";
                let mut turns = Vec::new();
                if !ok {
                    turns.push(Turn::Heard(AgentEvent::Trouble { said: format!("it stopped: {why}") }));
                }
                turns.extend([Turn::Heard(AgentEvent::End { ok }), Turn::Over]);
                turns
            }
            Stage::Over => Vec::new(),
        }
    }

    fn open(&mut self) -> Turn {
        self.stage = Stage::Session;
        let here = json!({"cwd": self.cwd, "mcpServers": []});
        self.request("session/new", &here)
    }

    /// An agent that wants a login gets the one by a key, once. All other refusals end the session.
    fn refused(&mut self, failed: &Value) -> Vec<Turn> {
        let wants_login =
            self.stage == Stage::Session && failed.get("code").and_then(Value::as_i64) == Some(NEEDS_LOGIN);
        let by_key = self.methods.iter().position(|method| method.contains("key") || method.contains("openai"));
        if let (true, Some(found)) = (wants_login, by_key) {
            let method = self.methods.swap_remove(found);
            // Once: an agent that refuses this login, too, would be asked for ever.
            self.methods.clear();
            self.stage = Stage::Login;
            return vec![self.request("authenticate", &json!({ "methodId": method }))];
        }
        self.stage = Stage::Over;
        let details = some_text(failed, "/data/details").or_else(|| some_text(failed, "/data"));
        let said =
            [Some(text(failed, "/message").to_owned()), details].into_iter().flatten().collect::<Vec<_>>().join(": ");
        vec![Turn::Heard(trouble(&said)), Turn::Heard(AgentEvent::End { ok: false }), Turn::Over]
    }
}

/// The id of a request that is too long to be read, by its ends: JSON-RPC's fields stand before its parameters, or behind them. Fields of
/// the same name inside the parameters are not its own.
fn id_of(ends: &Ends) -> Option<Value> {
    let (head, tail) = (String::from_utf8_lossy(&ends.head), String::from_utf8_lossy(&ends.tail));
    let field = |name: &str| first_of(&head, name).or_else(|| last_of(&tail, name));
    let id = field("id").filter(|id| id.is_u64() || id.is_i64() || id.is_string());
    id.filter(|_| field("method").is_some())
}

/// A field of the object that a text begins with, as far as it goes.
fn first_of(head: &str, name: &str) -> Option<Value> {
    let (mut depth, mut rest) = (0_u32, head);
    while let Some(at) = rest.find(['{', '[', '}', ']', '"']) {
        let (_, found) = rest.split_at(at);
        rest = found.get(1..)?;
        match found.as_bytes().first()? {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {
                // A string is read whole, since the braces within it are none of the object's.
                let mut words = serde_json::Deserializer::from_str(found).into_iter::<String>();
                let word = words.next()?.ok()?;
                rest = found.get(words.byte_offset()..)?;
                let value = rest.trim_start().strip_prefix(':');
                if let Some(value) = value.filter(|_| depth == 1 && word == name) {
                    return serde_json::Deserializer::from_str(value).into_iter().next()?.ok();
                }
            }
        }
    }
    None
}

/// A field of the object that a text ends with: behind the field's name the rest is an object's.
fn last_of(tail: &str, name: &str) -> Option<Value> {
    let key = format!("\"{name}\"");
    tail.rmatch_indices(&key).find_map(|(at, _)| {
        let rest = format!("{{{}", tail.get(at..)?);
        serde_json::from_str::<serde_json::Map<String, Value>>(rest.trim_end()).ok()?.remove(name)
    })
}

fn say(message: &Value) -> Turn {
    Turn::Say(format!("{message}\n"))
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// A request of the agent's.
fn asked(method: &str, id: &Value, params: &Value) -> Turn {
    let path = || text(params, "/path").to_owned();
    let number = |name: &str| params.get(name).and_then(Value::as_u64);
    let wish = match method {
        "fs/read_text_file" => Wish::Read { path: path(), line: number("line"), limit: number("limit") },
        "fs/write_text_file" => Wish::Write { path: path(), content: text(params, "/content").to_owned() },
        "session/request_permission" => permission(params),
        _ => return say(&error(id, NO_METHOD, "upshift does not know this method")),
    };
    Turn::Asked(Asked { id: id.clone(), wish })
}

fn permission(params: &Value) -> Wish {
    let option = |kinds: [&str; 2]| {
        let options = || params.get("options").and_then(Value::as_array).into_iter().flatten();
        let found = kinds.into_iter().find_map(|kind| options().find(|option| text(option, "/kind") == kind));
        found.and_then(|option| some_text(option, "/optionId"))
    };
    let kind = text(params, "/toolCall/kind");
    let is_change = CHANGING.contains(&kind);
    let locations = params.pointer("/toolCall/locations").and_then(Value::as_array).into_iter().flatten();
    let changes = locations.filter_map(|location| some_text(location, "/path")).filter(|_| is_change).collect();
    Wish::Permission {
        changes,
        is_change,
        runs: kind == RUNNING,
        // Each time anew: a word for always would hold for files that may not be changed.
        yes: option(["allow_once", "allow_always"]),
        no: option(["reject_once", "reject_always"]),
    }
}

/// Reads an agent's report of its work.
fn update(told: &Value) -> Vec<Turn> {
    let kind = text(told, "/sessionUpdate");
    let id = || text(told, "/toolCallId").to_owned();
    let ended = || match text(told, "/status") {
        "completed" => Some(Turn::Heard(AgentEvent::ToolResult { id: id(), ok: true })),
        "failed" => Some(Turn::Heard(AgentEvent::ToolResult { id: id(), ok: false })),
        _ => None,
    };
    match kind {
        "agent_message_chunk" => {
            let said = text(told, "/content/text").to_owned();
            vec![Turn::Heard(AgentEvent::Text { text: said, goes_on: true, by: None })]
        }
        "tool_call" => {
            let about = some_text(told, "/locations/0/path").or_else(|| told.get("rawInput").map(subject));
            let about = about.filter(|about| !about.is_empty()).unwrap_or_else(|| text(told, "/title").to_owned());
            let name = some_text(told, "/kind").unwrap_or_else(|| "tool".to_owned());
            let call = AgentEvent::ToolUse { id: id(), name, subject: about, by: None };
            // A short call may begin and end in one update.
            std::iter::once(Turn::Heard(call)).chain(ended()).collect()
        }
        "tool_call_update" => ended().into_iter().collect(),
        // Its thoughts, our own words that it repeats (B15), its plans and commands are nobody's word.
        "agent_thought_chunk" | "user_message_chunk" | "plan" | "available_commands_update" | "current_mode_update" => {
            Vec::new()
        }
        other => vec![Turn::Heard(AgentEvent::Unknown { kind: other.chars().take(80).collect() })],
    }
}

#[cfg(test)]
mod tests;
