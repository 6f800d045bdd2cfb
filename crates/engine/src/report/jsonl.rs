//! A run as lines of JSON while it is under way: `run --format jsonl`, and `report --format jsonl` for one of the log.
//!
//! Contract: each line is one object with `type` and, but for the last, `timestamp` (null in logs of older versions). Of each
//! event a line `event` holds it as the log does. Beside it stand lines for programs that know agents alone: `llm_call` and
//! `tool_call` (S1-17), `agent_started`, `agent_update`, `agent_finished` and `agent_failed` (S1-19). The last line is `report`,
//! with the keys of [`super::json::Document`]. Keys stay, new ones may come, as may new types.

use std::collections::BTreeMap;

use serde::Serialize;

use super::json::{self, Document};
use super::view::RunView;
use crate::domain::clock::Timestamp;
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::domain::receipt::{Receipt, agent_path};

/// Ends of a session whose model ended it with a report of its own. Any other word says why there is none.
const REPORTED: [&str; 5] = ["done", "blocked", "approve", "reject", "routed"];

/// One line, without its end.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Event { timestamp: Option<&'a Timestamp>, event: &'a Event },
    LlmCall(LlmCall<'a>),
    ToolCall(ToolCall<'a>),
    AgentStarted(Agent<'a>),
    AgentUpdate(Agent<'a>),
    AgentFinished(Agent<'a>),
    AgentFailed(Agent<'a>),
    Report(Box<Document<'a>>),
}

/// A settled model call. The keys are those of S1-17, and one for the unknown part of its cost.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LlmCall<'a> {
    status: &'static str,
    provider: &'a str,
    model: &'a str,
    /// Tokens. Null where the vendor did not say.
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    /// Dollars, as far as they are known.
    cost: f64,
    /// Dollars that it cost at most beyond that.
    unknown_cost: f64,
    latency_ms: u64,
    timestamp: &'a Timestamp,
    agent_path: String,
    session_id: &'a str,
}

/// A call of a tool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolCall<'a> {
    /// `ok` or `failed`.
    status: &'static str,
    tool: &'a str,
    /// The subject of the call: a path, a pattern.
    subject: &'a str,
    /// How it ended, by the names of S1-15. Absent where the model was merely told.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<&'a str>,
    /// The first line of what the model was told of a failure. Absent where it worked.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    latency_ms: u64,
    timestamp: Option<&'a Timestamp>,
    agent_path: String,
    session_id: &'a str,
}

/// An update of a role's session. Fields that do not belong to the line's type are absent.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Agent<'a> {
    timestamp: Option<&'a Timestamp>,
    agent_path: String,
    session_id: &'a str,
    /// `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    /// One-based turn that the update is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    /// The tool that it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    /// The model's words beside its calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_status: Option<&'a str>,
    /// How much of the window is in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_percent: Option<u32>,
    /// Turns in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u32>,
    /// `done`, `blocked`, `approve`, `reject`, or why there is no report.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    /// The fine-grained way in which it ended, by the names of S1-15. Absent in logs of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<&'a str>,
}

/// Turns events into lines. It is fed every event in order.
#[derive(Debug, Default)]
pub struct Stream {
    /// Zero-based tier and one-based iteration.
    place: (u32, u32),
    session_id: String,
    /// The paths of sessions that are not named by their role.
    agents: BTreeMap<String, String>,
}

impl Stream {
    /// The lines of one event, each with its end. `at` is when it was recorded.
    pub fn lines(&mut self, event: &Event, at: Option<&Timestamp>) -> String {
        if let Event::IterationStarted { tier_index, iteration, .. } = event {
            self.place = (*tier_index, *iteration);
        }
        if let Event::SessionStarted { session_id, agent, .. } = event {
            // A role's session is the one that older events mean without naming it. Agents beside the roles are named
            // by their own.
            if agent.is_empty() {
                self.session_id.clone_from(session_id);
            } else {
                self.agents.insert(session_id.clone(), agent.clone());
            }
        }
        // Behind the place and session are taken in: the lines beside an event are about the session that it begins.
        let beside = self.beside(event, at);
        let lines = std::iter::once(Line::Event { timestamp: at, event }).chain(beside);
        lines.map(|line| rendered(&line)).collect()
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "few events tell of an agent")]
    fn beside<'a>(&'a self, event: &'a Event, timestamp: Option<&'a Timestamp>) -> Vec<Line<'a>> {
        let of = |role: Role, session_id: &'a str| Agent {
            timestamp,
            agent_path: self.path(role, session_id),
            session_id,
            ..Agent::default()
        };
        match event {
            Event::SessionStarted { role, session_id, target, .. } => {
                vec![Line::AgentStarted(Agent { target: Some(target), ..of(*role, session_id) })]
            }
            Event::CallSettled(receipt) => vec![Line::LlmCall(call(receipt))],
            Event::ToolFinished { role, turn, name, subject, ok, duration_ms, exit, session_id, status, why } => vec![
                Line::ToolCall(ToolCall {
                    status: if *ok { "ok" } else { "failed" },
                    tool: name,
                    subject,
                    exit: Some(exit.as_str()).filter(|exit| !exit.is_empty()),
                    reason: Some(why.as_str()).filter(|why| !why.is_empty()),
                    latency_ms: *duration_ms,
                    timestamp,
                    agent_path: self.path(*role, self.session(session_id)),
                    session_id: self.session(session_id),
                }),
                Line::AgentUpdate(Agent {
                    turn: Some(*turn),
                    tool: Some(name),
                    task_status: Some(status.as_str()).filter(|status| !status.is_empty()),
                    ..of(*role, self.session(session_id))
                }),
            ],
            Event::ContextThreshold { role, percent, session_id, .. } => {
                vec![Line::AgentUpdate(Agent {
                    context_percent: Some(*percent),
                    ..of(*role, self.session(session_id))
                })]
            }
            Event::SessionFinished { role, session_id, target, turns, result, summary, exit, .. } => {
                let agent = Agent {
                    target: Some(target),
                    turns: Some(*turns),
                    result: Some(result),
                    summary: Some(summary),
                    exit: Some(exit.as_str()).filter(|exit| !exit.is_empty()),
                    ..of(*role, session_id)
                };
                // By the words that are known, so that a new word for a failure never looks like a report.
                let reported = REPORTED.contains(&result.as_str());
                vec![if reported { Line::AgentFinished(agent) } else { Line::AgentFailed(agent) }]
            }
            _ => Vec::new(),
        }
    }

    /// The session that an event is about: the one that it names, or the one that began last.
    fn session<'a>(&'a self, named: &'a str) -> &'a str {
        if named.is_empty() { &self.session_id } else { named }
    }

    fn path(&self, role: Role, session_id: &str) -> String {
        agent_path(self.place, role, self.agents.get(session_id).map_or("", String::as_str))
    }
}

/// The last line: the report.
#[must_use]
pub fn last(view: &RunView) -> String {
    rendered(&Line::Report(Box::new(json::document(view))))
}

fn call(receipt: &Receipt) -> LlmCall<'_> {
    // No usage is null rather than 0: nobody knows how many tokens there were.
    let usage = receipt.usage.as_ref();
    LlmCall {
        status: receipt.status.as_str(),
        provider: &receipt.target.provider,
        model: &receipt.target.model,
        input_tokens: usage.map(|usage| usage.input),
        output_tokens: usage.map(|usage| usage.output),
        cache_read_tokens: usage.map(|usage| usage.cache_read),
        cache_write_tokens: usage.map(|usage| usage.cache_write),
        cost: receipt.cost.as_usd(),
        unknown_cost: receipt.unknown_cost.as_usd(),
        latency_ms: receipt.latency_ms,
        timestamp: &receipt.timestamp,
        agent_path: receipt.scope.agent_path(),
        session_id: &receipt.scope.session_id,
    }
}

fn rendered(line: &Line<'_>) -> String {
    // Strings and numbers always serialise; a failure would be a defect here, and a line is better lost than a run.
    serde_json::to_string(line).map(|line| json::escape_hidden(&line) + "\n").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::report::fixtures;

    fn streamed(events: &[Event]) -> Vec<Value> {
        let at = Timestamp("2026-02-17T14:23:01.456Z".to_owned());
        let mut stream = Stream::default();
        let lines: String = events.iter().map(|event| stream.lines(event, Some(&at))).collect();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn a_call_has_exactly_the_promised_keys() {
        let lines = streamed(&fixtures::fixed().events);
        let call = lines.iter().find(|line| line["type"] == "llm_call").unwrap();
        let promised = [
            "type",
            "status",
            "provider",
            "model",
            "inputTokens",
            "outputTokens",
            "cacheReadTokens",
            "cacheWriteTokens",
            "cost",
            "unknownCost",
            "latencyMs",
            "timestamp",
            "agentPath",
            "sessionId",
        ];
        assert_eq!(keys(call), promised);
        assert_eq!((&call["status"], &call["provider"]), (&"ok".into(), &"anthropic".into()));
        assert_eq!(call["agentPath"], "tier-1/iteration-1/artisan");
    }

    #[test]
    fn every_event_stands_in_a_line_as_the_log_has_it() {
        let events = fixtures::fixed().events;
        let lines = streamed(&events);
        let read: Vec<Event> = lines
            .iter()
            .filter(|line| line["type"] == "event")
            .map(|line| serde_json::from_value(line["event"].clone()).unwrap())
            .collect();
        assert_eq!(read, events);
        assert!(lines.iter().all(|line| line["timestamp"].is_string()));
    }

    #[test]
    fn a_session_is_started_updated_and_finished_or_failed() {
        let started = |role| Event::SessionStarted {
            role,
            session_id: "s1".to_owned(),
            target: "a/m".to_owned(),
            agent: String::new(),
        };
        let ended = |result: &str| Event::SessionFinished {
            role: Role::Critic,
            session_id: "s1".to_owned(),
            target: "a/m".to_owned(),
            turns: 2,
            result: result.to_owned(),
            summary: "so".to_owned(),
            blocked_on: Vec::new(),
            exit: "EXIT-FINAL-ANSWER".to_owned(),
        };
        let tool = Event::ToolFinished {
            role: Role::Critic,
            turn: 1,
            name: "read_file".to_owned(),
            subject: "a.py".to_owned(),
            ok: false,
            duration_ms: 3,
            exit: String::new(),
            session_id: String::new(),
            status: "I look at the sum first.".to_owned(),
            why: "a.py does not exist".to_owned(),
        };
        let begun = Event::IterationStarted { tier_index: 1, iteration: 2, run_iteration: 5 };
        let lines = streamed(&[begun, started(Role::Critic), tool, ended("reject"), ended("no_report")]);
        let told: Vec<&Value> = lines.iter().filter(|line| line["type"] != "event").collect();
        let types: Vec<&str> = told.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["agent_started", "tool_call", "agent_update", "agent_finished", "agent_failed"]);
        assert!(told.iter().all(|line| line["agentPath"] == "tier-2/iteration-2/critic" && line["sessionId"] == "s1"));
        let keys_of_tool =
            ["type", "status", "tool", "subject", "reason", "latencyMs", "timestamp", "agentPath", "sessionId"];
        assert_eq!(keys(told[1]), keys_of_tool);
        assert_eq!(told[1]["reason"], "a.py does not exist");
        assert_eq!(told[2]["taskStatus"], "I look at the sum first.");
        assert_eq!((&told[1]["status"], &told[4]["result"]), (&"failed".into(), &"no_report".into()));
    }

    #[test]
    fn nothing_hidden_is_printed_and_the_last_line_is_the_report() {
        let evil = Event::Warning { message: "\u{1b}[2J\n##[error]\u{202e}".to_owned() };
        let line = Stream::default().lines(&evil, None);
        assert!(line.ends_with('\n') && line.trim_end().chars().all(|c| !crate::domain::hidden::is_hidden(c)));
        assert!(!line.contains("##["), "{line}");
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["event"]["message"], "\u{1b}[2J\n##[error]\u{202e}");
        assert!(read["timestamp"].is_null());
        for (name, view) in fixtures::every_ending() {
            let line = last(&view);
            assert_eq!(line.lines().count(), 1, "{name}");
            let mut read: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(read.as_object_mut().unwrap().shift_remove("type"), Some("report".into()));
            assert_eq!(read, serde_json::from_str::<Value>(&json::render(&view)).unwrap(), "{name}");
        }
    }
}
