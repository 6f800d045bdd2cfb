//! Chunks of a streamed chat completion, joined into the completion that a plain answer would be.

use serde_json::{Map, Value, json};

use crate::domain::chat::Usage;

use super::usage::usage_of;
use crate::model::channel::{Broken, Fold};

/// The most tool calls taken from one reply: an index beyond is a fault of the server, not a call.
const MAX_CALLS: usize = 256;
/// Text fields of a delta that grow piece by piece.
const GROWING: [&str; 4] = ["content", "refusal", "reasoning_content", "reasoning"];

#[derive(Debug, Default)]
pub(super) struct Stream {
    message: Map<String, Value>,
    calls: Vec<Value>,
    details: Vec<Value>,
    finish: Option<Value>,
    usage: Option<Value>,
    /// The model, as the first chunk that names one does.
    model: Option<Value>,
    /// The service tier, as the last chunk that names one does.
    tier: Option<Value>,
}

impl Stream {
    fn delta(&mut self, delta: &Value) {
        for key in GROWING {
            match delta.get(key) {
                Some(Value::String(piece)) => self.grow(key, piece),
                Some(Value::Array(parts)) => {
                    // Some vendors send a list of parts.
                    let texts: String = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
                    self.grow(key, &texts);
                }
                _ => {}
            }
        }
        self.details.extend(delta.get("reasoning_details").and_then(Value::as_array).into_iter().flatten().cloned());
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(call);
        }
    }

    fn grow(&mut self, key: &str, piece: &str) {
        if let Value::String(so_far) = self.message.entry(key).or_insert_with(|| json!("")) {
            so_far.push_str(piece);
        }
    }

    /// Adds a piece of a tool call to the call it belongs to: by index, but a new id under an old index is a new call (some
    /// servers number all calls 0), and without an index a piece without id belongs to the last one.
    fn call(&mut self, piece: &Value) {
        let text = |pointer: &str| piece.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (id, name) = (text("/id"), text("/function/name"));
        let index = piece.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
        let known =
            |calls: &[Value], at: usize| calls.get(at).and_then(|call| call.get("id")?.as_str()).map(str::to_owned);
        let last = self.calls.len().saturating_sub(1);
        // Never beyond the end: a far index would leave holes that look like calls.
        let at = index.unwrap_or(if id.is_empty() { last } else { self.calls.len() }).min(self.calls.len());
        let is_other = !id.is_empty() && known(&self.calls, at).is_some_and(|known| !known.is_empty() && known != id);
        let at = if is_other {
            let same = self.calls.iter().position(|call| call.get("id").is_some_and(|known| known == id));
            same.unwrap_or(self.calls.len())
        } else {
            at
        };
        if at >= MAX_CALLS {
            return;
        }
        if at == self.calls.len() {
            self.calls.push(json!({"id": "", "type": "function", "function": {"name": "", "arguments": ""}}));
        }
        let Some(call) = self.calls.get_mut(at) else { return };
        let fill = |call: &mut Value, pointer: &str, text: &str| {
            // Filled once, since some servers repeat id and name in each piece.
            if let Some(Value::String(slot)) = call.pointer_mut(pointer).filter(|slot| *slot == "") {
                slot.push_str(text);
            }
        };
        fill(call, "/id", id);
        fill(call, "/function/name", name);
        match (piece.pointer("/function/arguments"), call.pointer_mut("/function/arguments")) {
            (Some(Value::String(more)), Some(Value::String(so_far))) => so_far.push_str(more),
            (Some(object @ Value::Object(_)), Some(slot)) => *slot = object.clone(),
            _ => {}
        }
        if let (Some(extra), Some(map)) = (piece.get("extra_content"), call.as_object_mut()) {
            map.insert("extra_content".to_owned(), extra.clone());
        }
    }
}

impl Fold for Stream {
    fn event(&mut self, data: Value) -> Result<(), Broken> {
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            return Err(Broken::Error(error.clone()));
        }
        // The last one that can be read: the chunk with the counts comes after the last choice.
        if usage_of(&data).is_some() {
            self.usage =
                data.get("usage").filter(|usage| usage.is_object()).or_else(|| data.pointer("/x_groq/usage")).cloned();
        }
        if self.model.is_none() {
            self.model = data.get("model").filter(|model| model.is_string()).cloned();
        }
        if let Some(tier) = data.get("service_tier").filter(|tier| tier.is_string()) {
            self.tier = Some(tier.clone());
        }
        // The chunk with the counts has no choice.
        let Some(choice) = data.pointer("/choices/0") else { return Ok(()) };
        // Some servers send the whole message as the only chunk.
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.delta(delta);
        }
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            return Err(Broken::Error(error.clone()));
        }
        if let Some(reason) = choice.get("finish_reason").filter(|reason| !reason.is_null()) {
            self.finish = Some(reason.clone());
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    fn into_message(mut self) -> Value {
        if !self.calls.is_empty() {
            self.message.insert("tool_calls".to_owned(), Value::Array(self.calls));
        }
        if !self.details.is_empty() {
            self.message.insert("reasoning_details".to_owned(), Value::Array(self.details));
        }
        let choice = json!({"index": 0, "message": self.message, "finish_reason": self.finish});
        json!({"choices": [choice], "usage": self.usage, "model": self.model, "service_tier": self.tier})
    }

    fn usage_told(&self) -> Option<Usage> {
        // Counts that come before the end (some servers send running ones) bound nothing.
        self.finish.as_ref().and_then(|_| usage_of(&json!({"usage": self.usage})))
    }
}

#[cfg(test)]
mod tests;
