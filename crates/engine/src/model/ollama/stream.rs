//! Lines of a streamed chat, joined into the one object that a plain answer would be.

use serde_json::{Map, Value, json};

use crate::domain::chat::Usage;

use super::usage::usage_of;
use crate::model::channel::{Broken, Fold};

/// The most tool calls taken from one reply.
const MAX_CALLS: usize = 256;
/// Text fields of a message that grow line by line.
const GROWING: [&str; 2] = ["content", "thinking"];

#[derive(Debug, Default)]
pub(super) struct Stream {
    texts: [String; 2],
    calls: Vec<Value>,
    /// The line that says that the reply is done, with its counts.
    last: Option<Map<String, Value>>,
}

impl Fold for Stream {
    fn event(&mut self, data: Value) -> Result<(), Broken> {
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            return Err(Broken::Error(error.clone()));
        }
        let message = data.get("message");
        for (text, key) in self.texts.iter_mut().zip(GROWING) {
            text.push_str(message.and_then(|message| message.get(key)?.as_str()).unwrap_or_default());
        }
        let calls = message.and_then(|message| message.get("tool_calls")?.as_array()).into_iter().flatten();
        // A model that repeats itself may call without an end.
        let room = MAX_CALLS.saturating_sub(self.calls.len());
        self.calls.extend(calls.take(room).cloned());
        if let Value::Object(line) = data
            && line.get("done").is_some_and(|done| done == true)
        {
            // Its counts are the only ones, and the reason stands beside them.
            self.last = Some(line);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.last.is_some()
    }

    fn into_message(self) -> Value {
        let mut message = Map::new();
        message.insert("role".to_owned(), json!("assistant"));
        for (text, key) in self.texts.into_iter().zip(GROWING) {
            message.insert(key.to_owned(), Value::String(text));
        }
        if !self.calls.is_empty() {
            message.insert("tool_calls".to_owned(), Value::Array(self.calls));
        }
        let mut answer = self.last.unwrap_or_default();
        answer.insert("message".to_owned(), Value::Object(message));
        Value::Object(answer)
    }

    fn usage_told(&self) -> Option<Usage> {
        self.last.clone().and_then(|last| usage_of(&Value::Object(last)))
    }
}
