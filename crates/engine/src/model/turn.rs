//! The shared parts of the wires for writing conversations and reading replies: ids, arguments, empty texts.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::domain::chat::Message;
use crate::domain::tool::{ToolCall, ToolResult};

/// Stands for a text that is empty where vendors refuse empty ones.
pub(super) const NO_TEXT: &str = "(no text)";
/// Stands for a tool's output that is empty.
pub(super) const NO_OUTPUT: &str = "(no output)";
/// The key under which arguments that were no JSON object are sent back: vendors take only objects.
const UNREADABLE_ARGUMENTS: &str = "unreadable_arguments";

/// A request's body as it is sent. Nothing that a wire makes can fail to be written: its keys are words, its numbers finite.
pub(super) fn written(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}

/// The longest name of a model that is kept: the vendors' own have fewer than 100 characters.
const MAX_NAME_CHARS: usize = 200;

/// The model that an answer names as its own: one line of visible characters, or none.
pub(super) fn named_model(named: Option<&Value>) -> Option<String> {
    let named = named?.as_str()?.trim();
    // It goes into reports and a terminal, and a server may send anything.
    let visible: String = named.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    (!visible.is_empty()).then_some(visible)
}

/// The text, or a stand-in when there is nothing in it to see.
pub(super) fn visible<'a>(text: &'a str, stand_in: &'a str) -> &'a str {
    if text.trim().is_empty() { stand_in } else { text }
}

/// A call's arguments as an object, whatever the model wrote.
pub(super) fn arguments_object(arguments: &Value) -> Value {
    if arguments.is_object() {
        return arguments.clone();
    }
    // Vendors take only objects back, and the model is to see what it wrote.
    let raw = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    json!({ UNREADABLE_ARGUMENTS: raw })
}

/// Arguments out of the text that a model wrote: an object, or the raw text as a string value. Nothing counts as `{}`.
pub(super) fn arguments_of_text(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(object @ Value::Object(_)) => object,
        // Some servers encode twice: a JSON string that holds the object.
        Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
            Ok(object @ Value::Object(_)) => object,
            _ => Value::String(text.to_owned()),
        },
        _ => Value::String(text.to_owned()),
    }
}

/// A call as OpenAI and who followed it write it: a function, and its arguments as an object or as text.
pub(super) fn decode_call(call: &Value) -> ToolCall {
    let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments = match call.pointer("/function/arguments") {
        Some(object @ Value::Object(_)) => object.clone(),
        Some(Value::String(text)) => arguments_of_text(text),
        Some(Value::Null) | None => json!({}),
        Some(other) => Value::String(other.to_string()),
    };
    ToolCall { id: text("/id"), name: text("/function/name"), arguments }
}

/// The ids that a vendor takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdRule {
    /// Letters, digits, `_` and `-` (Anthropic).
    Word,
    /// At most forty bytes (OpenAI).
    Forty,
    /// Nine letters and digits (Mistral).
    Nine,
}

impl IdRule {
    /// The id itself where it is allowed, else one made from it: the same for a call and its result, in every turn.
    pub(super) fn portable(self, id: &str) -> String {
        let wordy = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let fits = match self {
            Self::Word => !id.is_empty() && id.len() <= 64 && id.chars().all(wordy),
            Self::Forty => !id.is_empty() && id.len() <= 40,
            // Mistral takes ids of just this form.
            Self::Nine => id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()),
        };
        if fits {
            return id.to_owned();
        }
        // From the id alone, so that a call and its result get the same without a table.
        let digest = Sha256::digest(id.as_bytes());
        let hex = hex::encode(digest.get(..12).unwrap_or(&digest));
        match self {
            Self::Nine => hex.chars().take(9).collect(),
            Self::Word | Self::Forty => format!("call_{hex}"),
        }
    }
}

/// Gives every call of a reply an id that no other call of it has. `turn` (how many messages came before) keeps made-up ids
/// apart over a conversation.
pub(super) fn with_unique_ids(calls: Vec<ToolCall>, turn: usize) -> Vec<ToolCall> {
    let mut seen = HashSet::new();
    let numbered = calls.into_iter().enumerate().map(|(index, call)| {
        let usable = !call.id.trim().is_empty() && seen.insert(call.id.clone());
        let id = if usable { call.id } else { format!("call_{turn}_{index}") };
        ToolCall { id, ..call }
    });
    numbered.collect()
}

/// One side's turn: neighbouring messages of the same side, since vendors want the sides to alternate.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    /// Our own turn: results first, then texts.
    Ours { results: Vec<&'a ToolResult>, texts: Vec<&'a str> },
    /// One reply of the model.
    Theirs { text: &'a str, calls: &'a [ToolCall], opaque: Option<&'a Value> },
}

/// The conversation as alternating turns. Vendor blocks are kept only for the provider that made them.
pub(super) fn turns<'a>(messages: &'a [Message], provider: &str) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for message in messages {
        let (new_results, new_text): (&[ToolResult], &str) = match message {
            Message::Assistant { text, tool_calls, opaque } => {
                // Another vendor's blocks mean nothing here, and are refused.
                let opaque = opaque.as_ref().filter(|opaque| opaque.provider == provider).map(|opaque| &opaque.content);
                turns.push(Turn::Theirs { text, calls: tool_calls, opaque });
                continue;
            }
            Message::User { text } => (&[], visible(text, NO_TEXT)),
            Message::Tools { results, note } => (results, note),
        };
        let new_text = Some(new_text).filter(|text| !text.trim().is_empty());
        if let Some(Turn::Ours { results, texts }) = turns.last_mut() {
            results.extend(new_results);
            texts.extend(new_text);
        } else {
            turns.push(Turn::Ours { results: new_results.iter().collect(), texts: new_text.into_iter().collect() });
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_ids_are_mapped_the_same_way_every_time() {
        assert_eq!(IdRule::Word.portable("toolu_01-x"), "toolu_01-x");
        assert_eq!(IdRule::Forty.portable("a.b/c"), "a.b/c");
        let long = "x".repeat(80);
        for rule in [IdRule::Word, IdRule::Forty, IdRule::Nine] {
            let mapped = rule.portable(&long);
            assert_eq!(mapped, rule.portable(&long));
            assert_eq!(mapped, rule.portable(&mapped), "a mapped id is allowed");
        }
        assert_ne!(IdRule::Nine.portable("call_1"), IdRule::Nine.portable("call_2"));
    }

    #[test]
    fn calls_without_an_id_or_with_the_same_id_are_told_apart() {
        let call = |id: &str| ToolCall { id: id.to_owned(), name: "f".to_owned(), arguments: json!({}) };
        let ids: Vec<_> =
            with_unique_ids(vec![call("a"), call("a"), call("")], 3).into_iter().map(|call| call.id).collect();
        assert_eq!(ids, ["a", "call_3_1", "call_3_2"]);
    }

    #[test]
    fn arguments_are_an_object_or_the_raw_text() {
        assert_eq!(arguments_of_text(""), json!({}));
        assert_eq!(arguments_of_text(r#"{"a":1}"#), json!({"a": 1}));
        assert_eq!(arguments_of_text(r#""{\"a\":1}""#), json!({"a": 1}));
        assert_eq!(arguments_of_text(r#"{"a":"#), json!(r#"{"a":"#));
        assert_eq!(arguments_of_text("[1]"), json!("[1]"));
        assert!(arguments_object(&json!("broken")).is_object());
    }
}
