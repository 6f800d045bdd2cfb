//! The messages of a session, and the form in which a target gets them.
//!
//! Invariant: a sent message stays as it was sent, so that the next request begins with the same bytes and vendors can answer it from their
//! caches. Every result answers a call of the reply before it.

use serde::Serialize;

use crate::domain::chat::{Message, Opaque, Reply};
use crate::domain::model_id::ModelId;
use crate::domain::tool::{ToolCall, ToolResult};

/// How a target is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// By the vendor's tool calling.
    Tools,
    /// By the text protocol.
    Text,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
enum Entry {
    Ours {
        text: String,
    },
    Theirs {
        target: ModelId,
        text: String,
        calls: Vec<ToolCall>,
        #[serde(skip)]
        opaque: Option<Opaque>,
    },
    Results {
        results: Vec<ToolResult>,
        note: String,
    },
}

/// A conversation, oldest entry first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Conversation {
    entries: Vec<Entry>,
}

impl Conversation {
    /// Begins with our first message.
    pub(super) fn begin(first: &str) -> Self {
        Self { entries: vec![Entry::Ours { text: first.to_owned() }] }
    }

    /// Adds our words: to what we said last, or as a message of its own after a reply.
    pub(super) fn say(&mut self, text: &str) {
        match self.entries.last_mut() {
            // Vendors want messages in turn, so two of ours in a row are one.
            Some(Entry::Ours { text: said } | Entry::Results { note: said, .. }) => join(said, text),
            Some(Entry::Theirs { .. }) | None => self.entries.push(Entry::Ours { text: text.to_owned() }),
        }
    }

    /// Adds a reply with its calls.
    pub(super) fn reply(&mut self, target: &ModelId, reply: &Reply, calls: Vec<ToolCall>) {
        let (text, opaque) = (reply.text.clone(), reply.opaque.clone());
        self.entries.push(Entry::Theirs { target: target.clone(), text, calls, opaque });
    }

    /// Adds a reply of which only the text is kept. An empty one leaves no trace.
    pub(super) fn failed_reply(&mut self, target: &ModelId, text: &str) {
        if !text.trim().is_empty() {
            let text = text.to_owned();
            self.entries.push(Entry::Theirs { target: target.clone(), text, calls: Vec::new(), opaque: None });
        }
    }

    /// Adds the answers to the calls of the last reply.
    pub(super) fn results(&mut self, results: Vec<ToolResult>) {
        self.entries.push(Entry::Results { results, note: String::new() });
    }

    /// Whether a call id was used before.
    pub(super) fn knows_call(&self, id: &str) -> bool {
        self.entries.iter().any(|entry| match entry {
            Entry::Theirs { calls, .. } => calls.iter().any(|call| call.id == id),
            Entry::Ours { .. } | Entry::Results { .. } => false,
        })
    }

    /// The conversation for one target.
    pub(super) fn messages(&self, target: &ModelId, protocol: Protocol) -> Vec<Message> {
        self.entries.iter().map(|entry| entry.message(target, protocol)).collect()
    }
}

fn join(said: &mut String, more: &str) {
    if !said.is_empty() {
        said.push_str("\n\n");
    }
    said.push_str(more);
}

impl Entry {
    fn message(&self, asked: &ModelId, protocol: Protocol) -> Message {
        match (self, protocol) {
            (Self::Ours { text }, _) => Message::User { text: text.clone() },
            (Self::Theirs { target, text, calls, opaque }, Protocol::Tools) => Message::Assistant {
                text: text.clone(),
                tool_calls: calls.clone(),
                // Signed thinking is another model's secret even at the same vendor.
                opaque: opaque.clone().filter(|_| target == asked),
            },
            (Self::Results { results, note }, Protocol::Tools) => {
                Message::Tools { results: results.clone(), note: note.clone() }
            }
            // A target without tool calling is told another one's calls as words.
            (Self::Theirs { text, calls, .. }, Protocol::Text) => {
                let mut told = text.clone();
                for call in calls {
                    join(&mut told, &format!("{} {}", call.name, call.arguments));
                }
                Message::Assistant { text: told, tool_calls: Vec::new(), opaque: None }
            }
            (Self::Results { results, note }, Protocol::Text) => {
                let mut told = String::new();
                for result in results {
                    let ended = if result.is_error { "failed" } else { "ok" };
                    join(&mut told, &told_result(&result.name, "", ended, &result.content));
                }
                if !note.is_empty() {
                    join(&mut told, note);
                }
                Message::User { text: told }
            }
        }
    }
}

/// A result as plain text.
pub(super) fn told_result(name: &str, subject: &str, ended: &str, content: &str) -> String {
    let gap = if subject.is_empty() { "" } else { " " };
    format!("### {name}{gap}{subject}: {ended}\n{content}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::bill::Bill;
    use crate::domain::chat::StopReason;
    use serde_json::json;

    fn id(text: &str) -> ModelId {
        ModelId::parse(text).unwrap()
    }

    fn reply(text: &str) -> Reply {
        let opaque = Some(Opaque { provider: "a".to_owned(), content: json!(["thinking"]) });
        Reply {
            text: text.to_owned(),
            tool_calls: Vec::new(),
            stop: StopReason::ToolUse,
            usage: None,
            opaque,
            billed_model: None,
            bill: Bill::default(),
        }
    }

    fn with_a_call() -> Conversation {
        let mut talk = Conversation::begin("fix it");
        let call = ToolCall { id: "c1".to_owned(), name: "read_file".to_owned(), arguments: json!({"path": "a"}) };
        talk.reply(&id("a/big"), &reply(""), vec![call]);
        let answer = ToolResult {
            call_id: "c1".to_owned(),
            name: "read_file".to_owned(),
            content: "1 x".to_owned(),
            is_error: false,
        };
        talk.results(vec![answer]);
        talk
    }

    #[test]
    fn later_requests_begin_with_the_earlier_ones() {
        let mut talk = with_a_call();
        talk.say("note");
        let before = talk.messages(&id("a/big"), Protocol::Tools);
        talk.reply(&id("a/big"), &reply("done"), Vec::new());
        talk.say("go on");
        let after = talk.messages(&id("a/big"), Protocol::Tools);
        assert_eq!(after.get(..before.len()), Some(before.as_slice()));
        assert_eq!(after.len(), before.len() + 2);
    }

    #[test]
    fn vendor_blocks_go_only_to_the_model_that_made_them() {
        let talk = with_a_call();
        let kept = |target: &str| {
            let messages = talk.messages(&id(target), Protocol::Tools);
            messages.iter().any(|message| matches!(message, Message::Assistant { opaque: Some(_), .. }))
        };
        assert!(kept("a/big"));
        assert!(!kept("a/small") && !kept("b/big"));
    }

    #[test]
    fn a_target_without_tools_is_told_calls_and_results_in_words() {
        let told = with_a_call().messages(&id("b/tiny"), Protocol::Text);
        let text = serde_json::to_string(&told).unwrap();
        assert!(!text.contains("tool_calls\":[{"), "{text}");
        assert!(
            text.contains("read_file {\\\"path\\\":\\\"a\\\"}") && text.contains("### read_file: ok\\n1 x"),
            "{text}"
        );
    }
}
