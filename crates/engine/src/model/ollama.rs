//! The Ollama wire: `/api/chat` of a server that the user runs (github.com/ollama/ollama, `api/types.go` and `server/routes.go` of v0.33.2,
//! and npm `ollama` 0.6.4, `ChatRequest`, read 2026-11-23).
//!
//! Its compatible API takes no window, and a server that is told none loads a model with 4,096 tokens on a small machine and cuts
//! what is longer in silence. Here the window is said (`num_ctx`), and cutting is declined (`truncate`, `shift`): what does not fit is
//! refused, and the conversation is shortened by whoever knows what may go.

mod advice;
mod served;
mod stream;
mod usage;

use serde_json::{Map, Value, json};
use url::Url;

use crate::domain::bill::Bill;
use crate::domain::chat::{ChatRequest, Opaque, Reply, StopReason};
use crate::domain::tool::ToolCall;

use super::channel::Channel;
use super::turn::{
    NO_OUTPUT, NO_TEXT, Turn, arguments_object, decode_call, named_model, turns, visible, with_unique_ids, written,
};
use super::{CallFailure, Provider, ReplyFuture, catalogue};
use usage::usage_of;

pub use served::{Learnt, Served, ask};
pub(super) use served::{SHOW, show};

/// The field of a reply's thinking, which goes back with it: models that think between calls read it again.
const THINKING: &str = "thinking";

/// The keywords of a tool's parameters (`ToolFunctionParameters`), and those of each of its properties (`ToolProperty`).
const PARAMETER_KEYS: [&str; 5] = ["type", "$defs", "items", "required", "properties"];
const PROPERTY_KEYS: [&str; 4] = ["type", "items", "description", "enum"];

/// A provider that speaks the Ollama wire.
#[derive(Debug)]
pub(super) struct Ollama {
    channel: Channel,
    base: Url,
}

impl Ollama {
    pub(super) fn new(channel: Channel, base: Url) -> Self {
        Self { channel, base: root_of(base) }
    }

    fn provider(&self) -> &str {
        &self.channel.blamed.provider
    }

    async fn call(&self, request: &ChatRequest) -> Result<Reply, CallFailure> {
        let body = written(&encode(request, self.provider()));
        let url = below(&self.base, "/api/chat");
        let answer = self.channel.converse(url, self.channel.bearer_header(), body, stream::Stream::default()).await?;
        self.decode(&answer, request)
    }

    fn decode(&self, answer: &Value, request: &ChatRequest) -> Result<Reply, CallFailure> {
        let usage = usage_of(answer);
        let with_usage = |failure: CallFailure| CallFailure { usage, ..failure };
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            return Err(with_usage(self.channel.error_inside(error)));
        }
        let Some(message) = answer.get("message").filter(|message| message.is_object()) else {
            return Err(with_usage(self.channel.blamed.unreadable("an answer without `message`")));
        };
        let calls = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let tool_calls = with_unique_ids(calls.iter().map(decode_call).collect(), request.messages.len());
        let thinking = message.get(THINKING).filter(|text| text.as_str().is_some_and(|text| !text.is_empty()));
        Ok(Reply {
            text: message.get("content").and_then(Value::as_str).unwrap_or_default().to_owned(),
            stop: stop_reason(answer.get("done_reason").and_then(Value::as_str), &tool_calls),
            tool_calls,
            usage,
            opaque: thinking
                .map(|text| Opaque { provider: self.provider().to_owned(), content: json!({ THINKING: text }) }),
            billed_model: named_model(answer.get("model")),
            bill: Bill::default(),
        })
    }
}

impl Provider for Ollama {
    fn ask<'a>(&'a self, request: &'a ChatRequest) -> ReplyFuture<'a> {
        Box::pin(async move {
            let answered = self.call(request).await;
            answered.map_err(|failure| advice::advised(failure, &self.base, &request.target.model))
        })
    }

    fn request_bytes(&self, request: &ChatRequest) -> u64 {
        written(&encode(request, self.provider())).len() as u64
    }
}

/// The server's own address. Some people give that of its compatible API.
fn root_of(mut base: Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").or_else(|| path.strip_suffix("/api")).unwrap_or(path).to_owned();
    base.set_path(&path);
    base
}

fn below(base: &Url, method: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{method}", base.path().trim_end_matches('/')));
    url
}

fn encode(request: &ChatRequest, provider: &str) -> Value {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    set("model", json!(catalogue::vendor_spelling(&request.target)));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let parameters = kept(&tool.parameters, &PARAMETER_KEYS);
            let function = json!({"name": tool.name, "description": tool.description, "parameters": parameters});
            json!({"type": "function", "function": function})
        });
        set("tools", tools.collect());
    }
    set("messages", encode_messages(request, provider));
    // Said in every request, since a server that is told none takes its own.
    let mut options = json!({"num_ctx": request.context_window, "num_predict": request.max_output_tokens});
    if let (Some(temperature), Some(options)) = (request.temperature, options.as_object_mut()) {
        options.insert("temperature".to_owned(), json!(temperature));
    }
    set("options", options);
    set("stream", json!(true));
    set("truncate", json!(false));
    set("shift", json!(false));
    Value::Object(body)
}

/// A schema with the keywords alone that the server hands on to the model. The server drops the others unread.
fn kept(schema: &Value, keys: &[&str]) -> Value {
    // Left out here, so that the size of the request is that of the prompt the model sees.
    let entries = schema.as_object().into_iter().flatten().filter(|(key, _)| keys.contains(&key.as_str()));
    let entries = entries.map(|(key, value)| match (key.as_str(), value) {
        ("properties", Value::Object(properties)) => {
            let properties = properties.iter().map(|(name, schema)| (name.clone(), kept(schema, &PROPERTY_KEYS)));
            (key.clone(), Value::Object(properties.collect()))
        }
        _ => (key.clone(), value.clone()),
    });
    Value::Object(entries.collect())
}

fn encode_messages(request: &ChatRequest, provider: &str) -> Value {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for turn in turns(&request.messages, provider) {
        match turn {
            Turn::Ours { results, texts } => {
                for result in &results {
                    let said = visible(&result.content, NO_OUTPUT);
                    let content = if result.is_error { format!("Error: {said}") } else { said.to_owned() };
                    // The server knows no ids of calls, so that the tool's name is all that tells a result from others.
                    messages.push(json!({"role": "tool", "tool_name": result.name, "content": content}));
                }
                let said = texts.join("\n\n");
                if results.is_empty() || !said.is_empty() {
                    messages.push(json!({"role": "user", "content": visible(&said, NO_TEXT)}));
                }
            }
            Turn::Theirs { text, calls, opaque } => messages.push(encode_reply(text, calls, opaque)),
        }
    }
    Value::Array(messages)
}

fn encode_reply(text: &str, calls: &[ToolCall], opaque: Option<&Value>) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    // Beside calls an empty text is usual.
    let content = if calls.is_empty() { visible(text, NO_TEXT) } else { text };
    message.insert("content".to_owned(), json!(content));
    if let Some(thinking) = opaque.and_then(|kept| kept.get(THINKING)) {
        message.insert(THINKING.to_owned(), thinking.clone());
    }
    if !calls.is_empty() {
        let calls = calls
            .iter()
            .map(|call| json!({"function": {"name": call.name, "arguments": arguments_object(&call.arguments)}}));
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    Value::Object(message)
}

fn stop_reason(word: Option<&str>, calls: &[ToolCall]) -> StopReason {
    match word {
        Some("length") => StopReason::Length,
        // The server says `stop` beside calls as well.
        _ if !calls.is_empty() => StopReason::ToolUse,
        Some("stop") => StopReason::EndTurn,
        _ => StopReason::Other,
    }
}
