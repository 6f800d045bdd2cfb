//! The Responses API of OpenAI: what its newer reasoning models speak. Chat completions refuse them function tools ("Function tools
//! with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses", status 400,
//! in public reports from March to September 2026).
//!
//! Source: the types of the npm package `openai` 7.57.0 (`resources/responses/responses.d.ts`), read on 2026-11-23. Nothing is stored
//! at the vendor: reasoning comes encrypted, and its items go back unchanged and in order before what followed them.

use serde_json::{Map, Value, json};

use crate::domain::chat::{ChatRequest, Opaque, Reply, StopReason, Usage};
use crate::domain::tool::ToolCall;
use crate::model::CallFailure;
use crate::model::bill::bill_of;
use crate::model::catalogue::{self, EffortSetting};
use crate::model::channel::{Broken, Channel, Fold};
use crate::model::turn::{
    IdRule, NO_OUTPUT, NO_TEXT, Turn, arguments_object, arguments_of_text, named_model, turns, visible, with_unique_ids,
};

use super::quirks::Quirks;
use super::usage::Whole;

/// The most items taken from one reply: an index beyond is a fault of the server.
const MAX_ITEMS: usize = 1_024;
/// The longest id of a call that the vendor takes, in characters.
const CALL_IDS: IdRule = IdRule::Word;

/// Whether a refusal of chat completions says that this API takes the request. OpenAI has two: status 400 for tools that a model takes here
/// alone, and 404 for a model that is here alone ("This model is only supported in v1/responses and not in v1/chat/completions.").
pub(super) fn is_pointed_to(failure: &CallFailure) -> bool {
    matches!(failure.http_status, Some(400 | 404)) && failure.message.contains("v1/responses")
}

/// A request's body. The parts that are stable over a session stand first.
pub(super) fn encode(request: &ChatRequest, provider: &str, quirks: &Quirks) -> Value {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    set("model", json!(catalogue::vendor_spelling(&request.target)));
    if !request.system.trim().is_empty() {
        set("instructions", json!(request.system));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                // Strict schemas allow no optional parameter.
                "strict": false,
            })
        });
        set("tools", tools.collect());
    }
    set("input", Value::Array(input(request, provider)));
    set("max_output_tokens", json!(request.max_output_tokens));
    set("stream", json!(true));
    // Nothing stays at the vendor, so that reasoning has to be asked for in the answer.
    set("store", json!(false));
    set("include", json!(["reasoning.encrypted_content"]));
    if quirks.asks_tier(provider) {
        set("service_tier", json!(super::quirks::ORDINARY_TIER));
    }
    let hints = catalogue::wire_hints(&request.target);
    let thinks = hints.effort == EffortSetting::Named;
    if let Some(effort) = request.effort.filter(|_| thinks && quirks.takes_effort()) {
        set("reasoning", json!({ "effort": effort }));
    }
    if let Some(temperature) = request.temperature.filter(|_| hints.temperature && quirks.takes_temperature()) {
        set("temperature", json!(temperature));
    }
    Value::Object(body)
}

/// The conversation as items, oldest first.
fn input(request: &ChatRequest, provider: &str) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in turns(&request.messages, provider) {
        match turn {
            Turn::Ours { results, texts } => {
                for result in &results {
                    let mut output = visible(&result.content, NO_OUTPUT).to_owned();
                    // An output has no field that tells of an error.
                    if result.is_error {
                        output.insert_str(0, "Error: ");
                    }
                    let id = CALL_IDS.portable(&result.call_id);
                    items.push(json!({"type": "function_call_output", "call_id": id, "output": output}));
                }
                let said = texts.join("\n\n");
                // Results need no words beside them.
                if results.is_empty() || !said.is_empty() {
                    items.push(json!({"role": "user", "content": visible(&said, NO_TEXT)}));
                }
            }
            Turn::Theirs { text, calls, opaque } => items.extend(reply_items(text, calls, opaque)),
        }
    }
    items
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn is_call(item: &Value) -> bool {
    kind(item) == "function_call"
}

/// A reply as it goes back: the vendor's own items in their order where there are any, with the calls as the session knows them. Without
/// items, text and calls.
fn reply_items(text: &str, calls: &[ToolCall], opaque: Option<&Value>) -> Vec<Value> {
    let call_item = |call: &ToolCall| {
        json!({
            "type": "function_call",
            "call_id": CALL_IDS.portable(&call.id),
            "name": call.name,
            "arguments": arguments_object(&call.arguments).to_string(),
        })
    };
    let kept = opaque.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // Reasoning that nothing follows (cut by the limit) is no input that the vendor takes.
    let last = kept.iter().rposition(|item| kind(item) != "reasoning");
    if let Some(last) = last
        // Where the session has left calls out, the items no longer fit.
        && kept.iter().filter(|item| is_call(item)).count() == calls.len()
    {
        let mut calls = calls.iter();
        let items = kept.iter().take(last + 1);
        return items
            .filter_map(|item| if is_call(item) { calls.next().map(call_item) } else { Some(item.clone()) })
            .collect();
    }
    let mut items = Vec::new();
    if calls.is_empty() || !text.trim().is_empty() {
        items.push(json!({"role": "assistant", "content": visible(text, NO_TEXT)}));
    }
    items.extend(calls.iter().map(call_item));
    items
}

/// Reads a whole response.
///
/// # Errors
/// An error that the vendor reports inside the response, and an answer that is no response.
pub(super) fn decode(channel: &Channel, answer: &Value, request: &ChatRequest) -> Result<Reply, CallFailure> {
    let usage = usage_of(answer);
    let bill = bill_of(answer, answer.get("usage"));
    let with_usage = |failure: CallFailure| CallFailure { usage, bill: Box::new(bill.clone()), ..failure };
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        return Err(with_usage(channel.error_inside(error)));
    }
    let Some(output) = answer.get("output").and_then(Value::as_array) else {
        return Err(with_usage(channel.blamed.unreadable("an answer without `output`")));
    };
    // Read twice, for the refusal and for the text.
    let parts = || {
        let messages = output.iter().filter(|item| kind(item) == "message");
        messages.filter_map(|message| message.get("content")?.as_array()).flatten()
    };
    let text = |part: &Value, key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let refusal: String = parts().filter(|part| kind(part) == "refusal").map(|part| text(part, "refusal")).collect();
    let said: String = parts().filter(|part| kind(part) == "output_text").map(|part| text(part, "text")).collect();
    let calls = output.iter().filter(|item| is_call(item)).map(|item| ToolCall {
        id: text(item, "call_id"),
        name: text(item, "name"),
        arguments: match item.get("arguments") {
            Some(Value::String(arguments)) => arguments_of_text(arguments),
            Some(object @ Value::Object(_)) => object.clone(),
            _ => json!({}),
        },
    });
    let tool_calls = with_unique_ids(calls.collect(), request.messages.len());
    let stop = if refusal.is_empty() { stop_reason(answer, &tool_calls) } else { StopReason::Refusal };
    // Without reasoning, text and calls say the same in fewer bytes.
    let keeps = output.iter().any(|item| kind(item) == "reasoning");
    let provider = channel.blamed.provider.clone();
    let opaque = keeps.then(|| Opaque { provider, content: Value::Array(output.clone()) });
    let text = if refusal.is_empty() { said } else { refusal };
    Ok(Reply { text, tool_calls, stop, usage, opaque, billed_model: named_model(answer.get("model")), bill })
}

fn stop_reason(answer: &Value, calls: &[ToolCall]) -> StopReason {
    let status = answer.get("status").and_then(Value::as_str);
    let reason = answer.pointer("/incomplete_details/reason").and_then(Value::as_str);
    match (status, reason) {
        (Some("incomplete"), Some("max_output_tokens")) => StopReason::Length,
        (Some("incomplete"), Some("content_filter")) => StopReason::ContentFilter,
        _ if !calls.is_empty() => StopReason::ToolUse,
        (Some("completed"), _) => StopReason::EndTurn,
        _ => StopReason::Other,
    }
}

/// The vendor's counts. Input includes tokens that a cache served or took in, and output includes reasoning.
pub(in crate::model) fn usage_of(answer: &Value) -> Option<Usage> {
    let usage = answer.get("usage").filter(|usage| usage.is_object())?;
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let counts = Whole {
        prompt: count("/input_tokens")?,
        cache_read: count("/input_tokens_details/cached_tokens").unwrap_or(0),
        cache_write: count("/input_tokens_details/cache_write_tokens").unwrap_or(0),
        completion: count("/output_tokens").unwrap_or(0),
        reasoning: count("/output_tokens_details/reasoning_tokens").unwrap_or(0),
        total: count("/total_tokens"),
    };
    Some(counts.parted())
}

/// The events of a streamed response, joined into the response that a plain answer would be. An item counts as it is when it is done:
/// while it comes, its encrypted content may be incomplete.
#[derive(Debug, Default)]
pub(super) struct Stream {
    items: Vec<Value>,
    response: Option<Value>,
}

impl Fold for Stream {
    fn event(&mut self, data: Value) -> Result<(), Broken> {
        match kind(&data) {
            "error" => {
                let error = data.get("error").filter(|error| error.is_object()).cloned();
                return Err(Broken::Error(error.unwrap_or(data)));
            }
            "response.output_item.done" => {
                let index = data.get("output_index").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
                let at = index.unwrap_or(self.items.len());
                if let Some(item) = data.get("item").filter(|_| at < MAX_ITEMS) {
                    // Items may be done in another order than they stand in.
                    if self.items.len() <= at {
                        self.items.resize(at + 1, Value::Null);
                    }
                    if let Some(slot) = self.items.get_mut(at) {
                        *slot = item.clone();
                    }
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.response = data.get("response").cloned();
            }
            _ => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.response.is_some()
    }

    fn into_message(self) -> Value {
        let mut response = self.response.unwrap_or_else(|| json!({}));
        // The items as they were told one by one: the last event may leave them out.
        let done: Vec<Value> = self.items.into_iter().filter(|item| !item.is_null()).collect();
        if let Some(map) = response.as_object_mut().filter(|_| !done.is_empty()) {
            map.insert("output".to_owned(), Value::Array(done));
        }
        response
    }

    fn usage_told(&self) -> Option<Usage> {
        usage_of(self.response.as_ref()?)
    }
}

#[cfg(test)]
mod tests;
