//! The OpenAI wire: chat completions, as OpenAI, Azure, OpenRouter, Groq, Mistral, DeepSeek, xAI and most others offer them
//! (platform.openai.com, "Chat completions", and the vendors' own pages for the differences).
//!
//! Differences between vendors are in [`Dialect`] and nowhere else. Requests put their stable parts first, so that the prefix is the same
//! bytes in every turn.

mod quirks;
pub(super) mod responses;
mod stream;
pub(super) mod usage;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};
use url::Url;

use crate::domain::chat::{ChatRequest, Opaque, Reply, StopReason};
use crate::domain::model_id::ModelId;
use crate::domain::tool::ToolCall;

use super::bill::bill_of;
use super::catalogue::{self, EffortSetting};
use super::channel::Channel;
use super::endpoint::{Endpoint, join};
use super::failure::opens_with_limit;
use super::turn::{
    IdRule, NO_OUTPUT, NO_TEXT, Turn, arguments_object, decode_call, named_model, turns, visible, with_unique_ids,
    written,
};
use super::{CallFailure, Provider, ReplyFuture};
use usage::usage_of;

/// The Azure API version used unless another is configured: the latest that is generally available.
pub(super) const AZURE_API_VERSION: &str = "2024-10-21";
/// OpenAI's own server.
const OPENAI_HOST: &str = "api.openai.com";
/// Fields of a reply that must come back with it: DeepSeek's thinking inside a tool loop, OpenRouter's signed blocks.
const KEPT_FIELDS: [&str; 2] = ["reasoning_content", "reasoning_details"];

/// The peculiarities of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    OpenAi,
    Azure,
    Groq,
    Mistral,
    OpenRouter,
    XAi,
    /// DeepSeek and everything else that is compatible.
    Compatible,
}

impl Dialect {
    fn of(name: &str, base: &Url) -> Self {
        let host = base.host_str().unwrap_or_default();
        let azure = [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"];
        // The name first, as a built-in provider may be reached through a proxy of another host.
        match name {
            "openai" => Self::OpenAi,
            "azure" => Self::Azure,
            "groq" => Self::Groq,
            "mistral" => Self::Mistral,
            "openrouter" => Self::OpenRouter,
            "xai" => Self::XAi,
            "deepseek" => Self::Compatible,
            _ if azure.iter().any(|end| host.ends_with(end)) => Self::Azure,
            _ if host == "api.openai.com" => Self::OpenAi,
            _ if host == "api.mistral.ai" => Self::Mistral,
            _ => Self::Compatible,
        }
    }

    /// The field for the limit. OpenAI's reasoning models refuse `max_tokens`, and most others know nothing else.
    fn limit_field(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Azure | Self::Groq | Self::XAi => "max_completion_tokens",
            Self::Mistral | Self::OpenRouter | Self::Compatible => "max_tokens",
        }
    }

    fn id_rule(self) -> IdRule {
        if self == Self::Mistral { IdRule::Nine } else { IdRule::Forty }
    }

    /// Mistral refuses a user's message after a tool's, and fields it does not know.
    fn strict(self) -> bool {
        self == Self::Mistral
    }
}

/// The field that limits a reply in chat completions at an address.
pub(super) fn limit_field(provider: &str, base: &Url) -> &'static str {
    Dialect::of(provider, base).limit_field()
}

/// A provider that speaks the OpenAI wire.
#[derive(Debug)]
pub(super) struct OpenAi {
    channel: Channel,
    base: Url,
    dialect: Dialect,
    api_version: String,
    quirks: quirks::Quirks,
    /// Models that chat completions refused for the Responses API, which took them.
    responding: Mutex<BTreeSet<String>>,
}

impl OpenAi {
    pub(super) fn new(channel: Channel, endpoint: &Endpoint, base: Url) -> Self {
        let dialect = Dialect::of(&endpoint.name, &base);
        let api_version = endpoint.api_version.clone().filter(|version| !version.trim().is_empty());
        let api_version = api_version.unwrap_or_else(|| AZURE_API_VERSION.to_owned());
        let (base, quirks) = (without_method(base), quirks::Quirks::default());
        Self { channel, base, dialect, api_version, quirks, responding: Mutex::default() }
    }

    /// Whether a model is asked through the Responses API: on OpenAI's own server those that take tools nowhere else. On other servers, and
    /// for other models, chat completions are asked until they say otherwise.
    fn responds(&self, target: &ModelId) -> bool {
        needs_responses(&self.base, target) || self.learnt().contains(&target.model)
    }

    fn learnt(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.responding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn provider(&self) -> &str {
        &self.channel.blamed.provider
    }

    /// Where a model is asked. Azure names its deployment in the path, unless the base is its newer `/openai/v1`.
    fn url(&self, target: &ModelId) -> Url {
        const METHOD: &str = "chat/completions";
        match self.dialect {
            // Azure's older addresses name the deployment in the path, and each call its version.
            Dialect::Azure if !self.base.path().contains("/v1") => {
                let stem = self.base.path().trim_end_matches('/').trim_end_matches("/openai").to_owned();
                let mut url = self.base.clone();
                url.set_path(&format!("{stem}/openai/deployments/"));
                if let Ok(mut segments) = url.path_segments_mut() {
                    segments.pop_if_empty().push(&target.model).push("chat").push("completions");
                }
                if !url.query_pairs().any(|(key, _)| key == "api-version") {
                    url.query_pairs_mut().append_pair("api-version", &self.api_version);
                }
                url
            }
            Dialect::OpenAi
            | Dialect::Azure
            | Dialect::Groq
            | Dialect::Mistral
            | Dialect::OpenRouter
            | Dialect::XAi
            | Dialect::Compatible => join(&self.base, "v1", METHOD),
        }
    }

    async fn call(&self, request: &ChatRequest) -> Result<Reply, CallFailure> {
        match self.call_once(request).await {
            // Refused before anything was processed, so that the other way costs nothing more.
            Err(refusal) if responses::is_pointed_to(&refusal) && !self.responds(&request.target) => {
                self.switch(request, refusal).await
            }
            // Refused for an optional field: unprocessed and unbilled, so that asking again is free.
            Err(failure) if self.quirks.learn(&failure) => self.call_once(request).await,
            result => result,
        }
    }

    async fn call_once(&self, request: &ChatRequest) -> Result<Reply, CallFailure> {
        if self.responds(&request.target) { self.respond(request).await } else { self.complete(request).await }
    }

    /// Asks through the Responses API what chat completions refused for it, and remembers where that was right.
    async fn switch(&self, request: &ChatRequest, refusal: CallFailure) -> Result<Reply, CallFailure> {
        match self.respond(request).await {
            // There is no such API here, whatever the message says.
            Err(failure) if matches!(failure.http_status, Some(404 | 405)) => Err(refusal),
            result => {
                self.learnt().insert(request.target.model.clone());
                result
            }
        }
    }

    fn headers(&self) -> HeaderMap {
        if self.dialect == Dialect::Azure { self.channel.key_header("api-key") } else { self.channel.bearer_header() }
    }

    async fn respond(&self, request: &ChatRequest) -> Result<Reply, CallFailure> {
        let mut url = self.base.clone();
        if self.dialect == Dialect::Azure && !url.path().contains("/v1") {
            // The deployments of Azure's older addresses are found by name below the newer one.
            url.set_path("/openai/v1");
            url.set_query(None);
        }
        let body = written(&responses::encode(request, self.provider(), &self.quirks));
        let stream = responses::Stream::default();
        let answer = self.channel.converse(join(&url, "v1", "responses"), self.headers(), body, stream).await?;
        responses::decode(&self.channel, &answer, request)
    }

    async fn complete(&self, request: &ChatRequest) -> Result<Reply, CallFailure> {
        let headers = self.headers();
        let body = written(&self.encode(request));
        let answer = self.channel.converse(self.url(&request.target), headers, body, stream::Stream::default()).await?;
        self.decode(&answer, request)
    }

    fn encode(&self, request: &ChatRequest) -> Value {
        let mut body = Map::new();
        let mut set = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
        set("model", json!(catalogue::vendor_spelling(&request.target)));
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                let function =
                    json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
                json!({"type": "function", "function": function})
            });
            set("tools", tools.collect());
        }
        set("messages", encode_messages(request, self.provider(), self.dialect));
        // Always set: a reply without a limit has no worst case that could be reserved.
        set(self.quirks.limit_field(self.dialect.limit_field()), json!(request.max_output_tokens));
        set("stream", json!(true));
        if !self.dialect.strict() && self.quirks.takes_stream_options() {
            // Without it most servers tell no counts in a stream.
            set("stream_options", json!({"include_usage": true}));
        }
        if self.quirks.asks_tier(self.provider()) {
            set("service_tier", json!(quirks::ORDINARY_TIER));
        }
        let hints = catalogue::wire_hints(&request.target);
        match (request.effort, self.dialect) {
            // It hands the wish on in each vendor's own form, whatever the model.
            (Some(effort), Dialect::OpenRouter) => set("reasoning", json!({"effort": effort})),
            (Some(effort), _) if hints.effort == EffortSetting::Named && self.quirks.takes_effort() => {
                set("reasoning_effort", json!(effort))
            }
            _ => {}
        }
        if let Some(temperature) = request.temperature.filter(|_| hints.temperature && self.quirks.takes_temperature())
        {
            set("temperature", json!(temperature));
        }
        Value::Object(body)
    }

    fn decode(&self, answer: &Value, request: &ChatRequest) -> Result<Reply, CallFailure> {
        let usage = usage_of(answer);
        let bill = bill_of(answer, answer.get("usage"));
        let with_usage = |failure: CallFailure| CallFailure { usage, bill: Box::new(bill.clone()), ..failure };
        let error = answer.get("error").or_else(|| answer.pointer("/choices/0/error"));
        if let Some(error) = error.filter(|error| !error.is_null()) {
            return Err(with_usage(self.channel.error_inside(error)));
        }
        let Some(message) = answer.pointer("/choices/0/message").filter(|message| message.is_object()) else {
            return Err(with_usage(self.channel.blamed.unreadable("an answer without `choices`")));
        };
        let refusal = message.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty());
        let text = refusal.map_or_else(|| content_text(message.get("content")), str::to_owned);
        let calls = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let tool_calls = with_unique_ids(calls.iter().map(decode_call).collect(), request.messages.len());
        // A model's words were billed. An announcement of a gateway was not.
        let unbilled = usage.is_none_or(|usage| usage.output == 0);
        if tool_calls.is_empty() && unbilled && opens_with_limit(&text) {
            return Err(with_usage(self.channel.error_inside(&Value::String(text))));
        }
        let finish = answer.pointer("/choices/0/finish_reason").and_then(Value::as_str);
        // The finish reason of a refusal is a plain `stop`.
        let stop = if refusal.is_some() { StopReason::Refusal } else { stop_reason(finish, &tool_calls) };
        let opaque = kept_fields(message, calls, self.provider());
        Ok(Reply { text, tool_calls, stop, usage, opaque, billed_model: named_model(answer.get("model")), bill })
    }
}

impl Provider for OpenAi {
    fn ask<'a>(&'a self, request: &'a ChatRequest) -> ReplyFuture<'a> {
        Box::pin(self.call(request))
    }

    fn request_bytes(&self, request: &ChatRequest) -> u64 {
        // The first call may be sent either way.
        let responses = || written(&responses::encode(request, self.provider(), &self.quirks)).len();
        let bytes = if self.responds(&request.target) { responses() } else { written(&self.encode(request)).len() };
        let bytes = if self.dialect == Dialect::OpenAi { bytes.max(responses()) } else { bytes };
        bytes as u64
    }
}

/// Whether a model on OpenAI's own server takes tools through the Responses API alone.
fn needs_responses(base: &Url, target: &ModelId) -> bool {
    base.host_str() == Some(OPENAI_HOST) && catalogue::wire_hints(target).responses
}

/// Some people give the whole address of the method as the base URL.
fn without_method(mut base: Url) -> Url {
    let methods = ["/chat/completions", "/responses"];
    if let Some(stem) = methods.iter().find_map(|method| base.path().strip_suffix(method)).map(str::to_owned) {
        base.set_path(&stem);
    }
    base
}

fn encode_messages(request: &ChatRequest, provider: &str, dialect: Dialect) -> Value {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for turn in turns(&request.messages, provider) {
        match turn {
            Turn::Ours { results, texts } => {
                let mut said = texts.join("\n\n");
                let last = results.len().saturating_sub(1);
                for (index, result) in results.iter().enumerate() {
                    let mut content = visible(&result.content, NO_OUTPUT).to_owned();
                    if result.is_error {
                        content.insert_str(0, "Error: ");
                    }
                    // Into the last result, as no message of the user may follow it there.
                    if dialect.strict() && index == last && !said.is_empty() {
                        content.push_str("\n\n");
                        content.push_str(&std::mem::take(&mut said));
                    }
                    let id = dialect.id_rule().portable(&result.call_id);
                    messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
                }
                if results.is_empty() || !said.is_empty() {
                    messages.push(json!({"role": "user", "content": visible(&said, NO_TEXT)}));
                }
            }
            Turn::Theirs { text, calls, opaque } => messages.push(encode_reply(text, calls, opaque, dialect)),
        }
    }
    Value::Array(messages)
}

fn encode_reply(text: &str, calls: &[ToolCall], opaque: Option<&Value>, dialect: Dialect) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    let content = match (text.trim().is_empty(), calls.is_empty()) {
        (true, true) => json!(NO_TEXT),
        // Beside calls an empty text is null.
        (true, false) => Value::Null,
        (false, _) => json!(text),
    };
    message.insert("content".to_owned(), content);
    if !calls.is_empty() {
        let extras = opaque.and_then(|kept| kept.get("tool_calls")).and_then(Value::as_array);
        let calls = calls.iter().enumerate().map(|(index, call)| {
            let function = json!({"name": call.name, "arguments": arguments_object(&call.arguments).to_string()});
            let id = dialect.id_rule().portable(&call.id);
            let mut encoded = json!({"id": id, "type": "function", "function": function});
            let extra = extras.and_then(|extras| extras.get(index)).filter(|extra| !extra.is_null());
            if let (Some(extra), Some(map)) = (extra, encoded.as_object_mut()) {
                map.insert("extra_content".to_owned(), extra.clone());
            }
            encoded
        });
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    for key in KEPT_FIELDS {
        if let Some(value) = opaque.and_then(|kept| kept.get(key)) {
            message.insert(key.to_owned(), value.clone());
        }
    }
    Value::Object(message)
}

/// The fields of a reply that have to go back besides text and calls. `extra_content` of calls is how Gemini's compatible endpoint carries
/// signatures.
fn kept_fields(message: &Value, calls: &[Value], provider: &str) -> Option<Opaque> {
    let mut kept = Map::new();
    for key in KEPT_FIELDS {
        if let Some(value) = message.get(key).filter(|value| !value.is_null() && *value != "") {
            kept.insert(key.to_owned(), value.clone());
        }
    }
    // In the places of the calls, empty ones too, so that each finds its own again.
    if calls.iter().any(|call| call.get("extra_content").is_some()) {
        let extras = calls.iter().map(|call| call.get("extra_content").cloned().unwrap_or_default());
        kept.insert("tool_calls".to_owned(), extras.collect());
    }
    (!kept.is_empty()).then(|| Opaque { provider: provider.to_owned(), content: Value::Object(kept) })
}

/// Text, null, or a list of parts of which only the texts are for reading.
fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

fn stop_reason(word: Option<&str>, calls: &[ToolCall]) -> StopReason {
    match word {
        Some("length" | "model_length") => StopReason::Length,
        Some("content_filter") => StopReason::ContentFilter,
        // Several vendors say `stop` beside tool calls.
        _ if !calls.is_empty() => StopReason::ToolUse,
        Some("stop" | "eos" | "tool_calls" | "function_call") => StopReason::EndTurn,
        _ => StopReason::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_of_the_default_ladder_goes_to_the_responses_api_of_openai_itself_and_nowhere_else() {
        let own = Url::parse("https://api.openai.com/v1").unwrap();
        let ladder = catalogue::default_ladder("openai").unwrap();
        for model in ladder.split(" > ").filter_map(|tier| tier.split(' ').next()) {
            let target = ModelId { provider: "openai".to_owned(), model: model.to_owned() };
            assert!(needs_responses(&own, &target), "{model}");
            assert!(!needs_responses(&Url::parse("http://127.0.0.1:4000/v1").unwrap(), &target), "{model}");
        }
        let older = ModelId { provider: "openai".to_owned(), model: "gpt-4.1".to_owned() };
        assert!(!needs_responses(&own, &older));
    }
}
