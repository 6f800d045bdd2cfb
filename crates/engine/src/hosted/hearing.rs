//! The summary of an agent's stream: its last words, its tools, its helpers, and a conversation to be kept.
//!
//! Invariant: bounded, however much an agent says. The raw stream beside the log ([`streams`](crate::streams)) has more of it.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use crate::backend::{AgentEvent, Limit, SubAgent, SubAgents, Tokens};
use crate::domain::model_id::ModelId;

/// The most characters of one text that are kept.
const MAX_TEXT: usize = 20_000;
/// The most characters of all texts together: the last ones (S3-15).
const MAX_ALL: usize = 250_000;
/// The most calls whose answer is waited for.
const MOST_OPEN: usize = 1_000;
/// The most kinds of unknown events that are counted apart.
const MOST_UNKNOWN: usize = 50;
/// The longest id that is kept, in characters.
const MAX_ID: usize = 200;
/// Characters of a subject.
const MAX_SUBJECT: usize = 400;

/// The state of a stream heard so far.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    said: VecDeque<Said>,
    chars: usize,
    /// The words of the session itself behind its last tool call.
    last: String,
    open: BTreeMap<String, Call>,
    sub_agents: SubAgents,
    unknown: BTreeMap<String, u32>,
    trouble: Option<String>,
    limit: Option<Limit>,
    complete: bool,
    ended_well: bool,
    own: Own,
}

/// What an agent tells of its session by its own account: for information, never for a bill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Own {
    /// The session's id at the agent.
    pub(super) session: String,
    /// The sum of the tokens that it counted.
    pub(super) tokens: Tokens,
    /// How many of its turns ended.
    pub(super) turns: u32,
}

/// Something that is kept of a conversation.
#[derive(Debug)]
enum Said {
    Text(String),
    Call { id: String, name: String, subject: String },
    Answer { id: String, name: String, ok: bool },
}

/// A tool call that is not answered.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The tool.
    pub(super) name: String,
    /// The subject of the call.
    pub(super) subject: String,
    /// When it began, in milliseconds.
    pub(super) began: u64,
}

/// Something to be told while the session goes on.
#[derive(Debug)]
pub(super) enum Heard {
    /// A tool call ended, well or not.
    Tool(Call, bool),
    /// A sub-agent began or ended.
    SubAgent(String, SubAgent),
}

impl Hearing {
    /// Takes an event at a time. Returns news that a person should hear of at once.
    pub(super) fn take(&mut self, event: AgentEvent, now: u64) -> Option<Heard> {
        let sub_agent = self.sub_agents.take(&event);
        match event {
            AgentEvent::SubAgent { .. } => return sub_agent.map(|(id, agent)| Heard::SubAgent(id, agent)),
            AgentEvent::Text { text, goes_on, by } => self.text(&text, goes_on, by.is_none()),
            AgentEvent::ToolUse { id, name, subject, by } => {
                // The calls of a helper do not end the session's own words.
                if by.is_none() {
                    self.last.clear();
                }
                let subject: String = subject.chars().take(MAX_SUBJECT).collect();
                self.keep(Said::Call { id: id.clone(), name: name.clone(), subject: subject.clone() });
                if self.open.len() < MOST_OPEN {
                    self.open.insert(id, Call { name, subject, began: now });
                }
            }
            AgentEvent::ToolResult { id, ok } => {
                // An answer to a call that nobody heard of tells nothing.
                let call = self.open.remove(&id)?;
                self.keep(Said::Answer { id, name: call.name.clone(), ok });
                return Some(Heard::Tool(call, ok));
            }
            AgentEvent::RateLimit { said, retry_after_ms } => {
                self.trouble = Some(said.clone());
                self.limit = Some(Limit { said, retry_after_ms });
            }
            AgentEvent::Trouble { said } => {
                // The last complaint is the one that ends a session: an earlier limit does not explain it.
                self.limit = None;
                self.trouble = Some(said);
            }
            AgentEvent::Unknown { kind } => {
                if self.unknown.len() < MOST_UNKNOWN || self.unknown.contains_key(&kind) {
                    *self.unknown.entry(kind).or_default() += 1;
                }
            }
            AgentEvent::End { ok } => {
                // A stream may hold several turns, of which the last one tells how it ended.
                self.ended_well = ok;
                self.own.turns = self.own.turns.saturating_add(1);
            }
            AgentEvent::Started { session } => self.own.session = session.chars().take(MAX_ID).collect(),
            AgentEvent::Usage(Tokens { input, output }) => {
                let sum = &mut self.own.tokens;
                sum.input = sum.input.saturating_add(input);
                sum.output = sum.output.saturating_add(output);
            }
        }
        None
    }

    fn text(&mut self, text: &str, goes_on: bool, own: bool) {
        if own {
            if !goes_on && !self.last.is_empty() {
                self.last.push_str("\n\n");
            }
            self.last.push_str(text);
            let over = self.last.chars().count().saturating_sub(2 * MAX_TEXT);
            if over > 0 {
                self.last = self.last.chars().skip(over).collect();
            }
            // Looked for in the joined words, since the promise may come in two pieces.
            self.complete |= says_complete(&self.last);
        }
        let kept: String = text.chars().take(MAX_TEXT).collect();
        if let (true, Some(Said::Text(before))) = (goes_on, self.said.back_mut())
            && before.chars().count() < MAX_TEXT
        {
            before.push_str(&kept);
            self.chars = self.chars.saturating_add(kept.chars().count());
            return;
        }
        self.keep(Said::Text(kept));
    }

    fn keep(&mut self, said: Said) {
        self.chars = self.chars.saturating_add(said.chars());
        self.said.push_back(said);
        while self.chars > MAX_ALL {
            let Some(oldest) = self.said.pop_front() else { break };
            self.chars = self.chars.saturating_sub(oldest.chars());
        }
    }

    /// The words behind the last tool call.
    pub(super) fn last_words(&self) -> &str {
        &self.last
    }

    /// Whether the session said that it is complete.
    pub(super) const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether its last turn ended well by its own account.
    pub(super) const fn ended_well(&self) -> bool {
        self.ended_well
    }

    /// The agent's last complaint.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// The rate limit that its last complaint is about.
    pub(super) const fn limit(&self) -> Option<&Limit> {
        self.limit.as_ref()
    }

    /// What it tells of its session by its own account.
    pub(super) const fn own(&self) -> &Own {
        &self.own
    }

    /// The agents that it started.
    pub(super) const fn sub_agents(&self) -> &SubAgents {
        &self.sub_agents
    }

    /// The events that nobody knows, counted by their kind.
    pub(super) const fn unknown(&self) -> &BTreeMap<String, u32> {
        &self.unknown
    }

    /// The conversation in the shape of the log's.
    pub(super) fn entries(&self, prompt: &str, target: &ModelId) -> Vec<Value> {
        let mut entries = vec![json!({"entry": "ours", "text": prompt})];
        entries.extend(self.said.iter().map(|said| match said {
            Said::Text(text) => json!({"entry": "theirs", "target": target, "text": text, "calls": []}),
            Said::Call { id, name, subject } => {
                let call = json!({"id": id, "name": name, "arguments": {"about": subject}});
                json!({"entry": "theirs", "target": target, "text": "", "calls": [call]})
            }
            Said::Answer { id, name, ok } => {
                let content = if *ok {
                    "(its answer is not kept here; see the raw stream beside the log)"
                } else {
                    "(it failed; its answer is not kept here; see the raw stream beside the log)"
                };
                let result = json!({"call_id": id, "name": name, "content": content, "is_error": !ok});
                json!({"entry": "results", "results": [result]})
            }
        }));
        entries
    }
}

impl Said {
    fn chars(&self) -> usize {
        /// The size of an entry beside its texts.
        const FRAME: usize = 100;
        FRAME
            + match self {
                Self::Text(text) => text.chars().count(),
                Self::Call { subject, .. } => subject.chars().count(),
                Self::Answer { .. } => 0,
            }
    }
}

/// `<promise>COMPLETE</promise>`, in capitals or not (S3-5).
fn says_complete(words: &str) -> bool {
    let lower = words.to_ascii_lowercase();
    let mut rest = lower.as_str();
    while let Some((_, behind)) = rest.split_once("<promise>") {
        if let Some((inside, _)) = behind.split_once("</promise>")
            && inside.trim() == "complete"
        {
            return true;
        }
        rest = behind;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{AgentStream, Backend};

    fn heard(backend: Backend, lines: &str) -> Hearing {
        let (mut stream, mut hearing) = (AgentStream::of(backend), Hearing::default());
        for event in stream.push(lines.as_bytes()).into_iter().chain(stream.finish()) {
            hearing.take(event, 0);
        }
        hearing
    }

    #[test]
    fn b15_an_echoed_prompt_is_not_the_agents_word() {
        let echo = r#"{"type":"message","role":"user","content":"end with <promise>COMPLETE</promise> or DONE"}"#;
        let said = heard(Backend::Gemini, echo);
        assert!(!said.is_complete() && said.last_words().is_empty());
        let own = r#"{"type":"message","role":"assistant","content":"<promise> Complete </promise>","delta":true}"#;
        assert!(heard(Backend::Gemini, own).is_complete());
        let quoted = r#"{"type":"message","role":"assistant","content":"I never say <promise> complete"}"#;
        assert!(!heard(Backend::Gemini, quoted).is_complete());
    }

    #[test]
    fn pieces_of_a_text_are_one_text_and_the_last_words_stand_behind_the_last_call() {
        let lines = [
            r#"{"type":"message","role":"assistant","content":"I lo","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"ok.","delta":true}"#,
            r#"{"type":"tool_use","tool_name":"replace","tool_id":"1","parameters":{"file_path":"a.py"}}"#,
            r#"{"type":"tool_result","tool_id":"1","status":"success"}"#,
            r#"{"type":"message","role":"assistant","content":"DONE it","delta":true}"#,
        ];
        let said = heard(Backend::Gemini, &lines.join("\n"));
        assert_eq!(said.last_words(), "DONE it");
        let entries = said.entries("the task", &ModelId::parse("cli/gemini").unwrap());
        assert_eq!(entries.len(), 5);
        assert_eq!(entries[1]["text"], "I look.");
        assert_eq!(entries[2]["calls"][0]["arguments"]["about"], "a.py");
    }

    #[test]
    fn what_is_kept_is_bounded_and_is_the_end() {
        let mut hearing = Hearing::default();
        for number in 0..1_000 {
            let text = format!("{number} {}", "x".repeat(1_000));
            hearing.take(AgentEvent::Text { text, goes_on: false, by: None }, 0);
        }
        assert!(hearing.chars <= MAX_ALL);
        assert!(
            hearing.entries("p", &ModelId::parse("cli/claude").unwrap()).last().unwrap()["text"]
                .as_str()
                .unwrap()
                .starts_with("999 ")
        );
        assert!(hearing.last_words().chars().count() <= 2 * MAX_TEXT);
    }
}
