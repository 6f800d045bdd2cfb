//! The Anthropic wire: Messages API (docs.claude.com, "Messages", "Prompt caching", "Extended thinking").
//!
//! Requests put their stable parts first (model, tools, system, messages), so that the prefix is the same bytes in every turn but for the
//! moving cache points. Replies come as a stream or plain, and both are read by one function.

use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value, json};
use url::Url;

use crate::domain::chat::{ChatRequest, Effort, Message, Opaque, Reply, StopReason, Usage};
use crate::domain::tool::{ToolCall, ToolSpec};

use super::bill::bill_of;
use super::catalogue::{self, EffortSetting};
use super::channel::{Broken, Channel, Fold};
use super::endpoint::join;
use super::failure::refuses_tier;
use super::turn::{
    IdRule, NO_OUTPUT, NO_TEXT, Turn, arguments_object, arguments_of_text, named_model, turns, visible,
    with_unique_ids, written,
};
use super::{CallFailure, Provider, ReplyFuture};

/// The API version that this wire speaks.
pub(super) const VERSION: &str = "2023-06-01";
/// The smallest thinking budget that the vendor takes.
const MIN_THINKING: u64 = 1_024;
/// The part of `max_tokens` that must remain for the visible reply when thinking has a budget.
const MIN_REPLY: u64 = 1_024;
/// How many of our latest turns are cache points: the last, and the one before, which the call before wrote.
const MOVING_CACHE_POINTS: usize = 2;

/// A provider that speaks the Anthropic wire.
#[derive(Debug)]
pub(super) struct Anthropic {
    channel: Channel,
    url: Url,
    /// Whether the server knows no service tiers: it speaks like the vendor and is another's.
    tierless: AtomicBool,
}

impl Anthropic {
    pub(super) fn new(channel: Channel, base: &Url) -> Self {
        Self { channel, url: join(base, "v1", "messages"), tierless: AtomicBool::new(false) }
    }

    fn provider(&self) -> &str {
        &self.channel.blamed.provider
    }

    fn encode<'a>(&self, request: &'a ChatRequest) -> Body<'a> {
        let mut body = encode(request, self.provider());
        // The vendor would take a dearer tier by itself, where the account has one.
        if self.provider() == "anthropic" && !self.tierless.load(Ordering::Relaxed) {
            body.rest.insert("service_tier".to_owned(), json!("standard_only"));
        }
        body
    }

    async fn call(&self, request: &ChatRequest) -> Result<Reply, CallFailure> {
        match self.call_once(request).await {
            // Refused before anything was processed, so that asking again is free.
            Err(failure) if is_bound_elsewhere(&failure) => self.call_once(&without_thinking(request)).await,
            Err(failure) if refuses_tier(&failure) && !self.tierless.swap(true, Ordering::Relaxed) => {
                self.call_once(request).await
            }
            result => result,
        }
    }

    async fn call_once(&self, request: &ChatRequest) -> Result<Reply, CallFailure> {
        let mut headers: HeaderMap = self.channel.key_header("x-api-key");
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
        let fold = Stream::default();
        let body = written(&self.encode(request));
        let message = self.channel.converse(self.url.clone(), headers, body, fold).await?;
        self.decode(&message, request)
    }

    fn decode(&self, message: &Value, request: &ChatRequest) -> Result<Reply, CallFailure> {
        // An error may come with status 200, as gateways in between send it.
        if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
            return Err(self.channel.error_inside(error));
        }
        let Some(blocks) = message.get("content").and_then(Value::as_array) else {
            return Err(self.channel.blamed.unreadable("an answer without `content`"));
        };
        let kind = |block: &Value| block.get("type").and_then(Value::as_str).map(str::to_owned).unwrap_or_default();
        let text = blocks.iter().filter(|block| kind(block) == "text").filter_map(|block| block.get("text")?.as_str());
        let calls = blocks.iter().filter(|block| kind(block) == "tool_use").map(|block| ToolCall {
            id: text_of(block, "id"),
            name: text_of(block, "name"),
            arguments: block.get("input").cloned().filter(|input| !input.is_null()).unwrap_or_else(|| json!({})),
        });
        // Plain text and calls can be written again from the reply. Thinking is signed, and has to go back as it came.
        let keeps = blocks.iter().any(|block| !matches!(kind(block).as_str(), "text" | "tool_use"));
        let opaque = keeps.then(|| Opaque { provider: self.provider().to_owned(), content: json!(blocks) });
        Ok(Reply {
            text: text.collect(),
            tool_calls: with_unique_ids(calls.collect(), request.messages.len()),
            stop: stop_reason(message.get("stop_reason").and_then(Value::as_str)),
            usage: message.get("usage").and_then(usage),
            opaque,
            billed_model: named_model(message.get("model")),
            bill: bill_of(message, message.get("usage")),
        })
    }
}

impl Provider for Anthropic {
    fn ask<'a>(&'a self, request: &'a ChatRequest) -> ReplyFuture<'a> {
        Box::pin(self.call(request))
    }

    fn request_bytes(&self, request: &ChatRequest) -> u64 {
        written(&self.encode(request)).len() as u64
    }
}

/// Whether the vendor refuses a block of thinking because something before it is not as it was when the model thought: "The block is bound
/// to a different conversation" (status 400, Claude 5.5 and newer, seen in public reports of September 2026).
fn is_bound_elsewhere(failure: &CallFailure) -> bool {
    failure.http_status == Some(400) && failure.message.contains("bound to a different conversation")
}

/// The request without what models thought before: the vendor takes a conversation without it, but not with a part of it changed.
fn without_thinking(request: &ChatRequest) -> ChatRequest {
    let mut request = request.clone();
    for message in &mut request.messages {
        if let Message::Assistant { opaque, .. } = message {
            *opaque = None;
        }
    }
    request
}

fn text_of(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn stop_reason(word: Option<&str>) -> StopReason {
    match word {
        Some("end_turn" | "stop_sequence") => StopReason::EndTurn,
        Some("tool_use") => StopReason::ToolUse,
        Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
        Some("refusal") => StopReason::Refusal,
        // `pause_turn` belongs to tools that run at the vendor; we have none.
        _ => StopReason::Other,
    }
}

/// The vendor's counts: input here never includes what the cache served or took in.
pub(super) fn usage(usage: &Value) -> Option<Usage> {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let told = Usage {
        input: count("input_tokens")?,
        output: count("output_tokens")?,
        cache_read: count("cache_read_input_tokens").unwrap_or(0),
        cache_write: count("cache_creation_input_tokens").unwrap_or(0),
        reasoning: usage.pointer("/output_tokens_details/thinking_tokens").and_then(Value::as_u64).unwrap_or(0),
    };
    Some(told.sane())
}

fn cache_point() -> Value {
    json!({"type": "ephemeral"})
}

/// A request's body. The tools are its largest part and the same in every turn: they are written as they are, never copied.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Described<'a>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Value>,
}

fn encode<'a>(request: &'a ChatRequest, provider: &str) -> Body<'a> {
    let mut tools: Vec<Described<'_>> = request.tools.iter().map(described).collect();
    // A cache point covers all that stands before it, so that the last tool stands for all of them.
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(cache_point());
    }
    let mut rest = Map::new();
    if !request.system.trim().is_empty() {
        let block = json!({"type": "text", "text": request.system, "cache_control": cache_point()});
        rest.insert("system".to_owned(), json!([block]));
    }
    rest.insert("messages".to_owned(), encode_messages(request, provider));
    rest.insert("max_tokens".to_owned(), json!(request.max_output_tokens));
    rest.insert("stream".to_owned(), json!(true));
    set_effort(&mut rest, request, provider);
    Body { model: catalogue::vendor_spelling(&request.target), tools, rest }
}

fn described(tool: &ToolSpec) -> Described<'_> {
    Described { name: &tool.name, description: &tool.description, input_schema: &tool.parameters, cache_control: None }
}

fn encode_messages(request: &ChatRequest, provider: &str) -> Value {
    let turns = turns(&request.messages, provider);
    let ours = turns.iter().filter(|turn| matches!(turn, Turn::Ours { .. })).count();
    // The vendor allows four cache points: the tools, the system prompt and these two.
    let mut seen = 0;
    let messages = turns.iter().map(|turn| match turn {
        Turn::Ours { results, texts } => {
            seen += 1;
            let results = results.iter().map(|result| {
                let mut block = json!({
                    "type": "tool_result",
                    "tool_use_id": IdRule::Word.portable(&result.call_id),
                    "content": visible(&result.content, NO_OUTPUT),
                });
                if let Some(map) = block.as_object_mut().filter(|_| result.is_error) {
                    map.insert("is_error".to_owned(), json!(true));
                }
                block
            });
            // Behind the results, as the vendor wants those first.
            let texts = texts.iter().map(|text| json!({"type": "text", "text": text}));
            let mut blocks: Vec<Value> = results.chain(texts).collect();
            if blocks.is_empty() {
                blocks.push(json!({"type": "text", "text": NO_TEXT}));
            }
            // The older of the two is read from the cache in this call, and the newer is written for the next one.
            let is_recent = seen + MOVING_CACHE_POINTS > ours;
            if let Some(map) = blocks.last_mut().and_then(Value::as_object_mut).filter(|_| is_recent) {
                map.insert("cache_control".to_owned(), cache_point());
            }
            json!({"role": "user", "content": blocks})
        }
        Turn::Theirs { text, calls, opaque } => {
            json!({"role": "assistant", "content": encode_reply(text, calls, *opaque)})
        }
    });
    messages.collect()
}

/// A reply as it goes back: the vendor's own blocks in their order where there are any, with the calls as the session knows them. Without
/// blocks, text and calls.
fn encode_reply(text: &str, calls: &[ToolCall], opaque: Option<&Value>) -> Vec<Value> {
    let call_block = |call: &ToolCall| {
        json!({
            "type": "tool_use",
            "id": IdRule::Word.portable(&call.id),
            "name": call.name,
            "input": arguments_object(&call.arguments),
        })
    };
    let is_call = |block: &&Value| block.get("type").is_some_and(|kind| kind == "tool_use");
    if let Some(blocks) = opaque.and_then(Value::as_array)
        // Where the session has left calls out, the blocks no longer fit, and signed ones in part are refused.
        && blocks.iter().filter(is_call).count() == calls.len()
    {
        let mut calls = calls.iter();
        let is_blank = |block: &Value| block.get("text").and_then(Value::as_str).is_some_and(|t| t.trim().is_empty());
        let is_said = |block: &Value| matches!(block.get("type").and_then(Value::as_str), Some("text" | "tool_use"));
        let kept: Vec<&Value> = blocks.iter().filter(|block| !is_blank(block)).collect();
        // Thinking alone (cut by the limit) is no message that the vendor takes back.
        if kept.iter().any(|block| is_said(block)) {
            let resent = kept
                .into_iter()
                .filter_map(|block| if is_call(&block) { calls.next().map(call_block) } else { Some(block.clone()) });
            return resent.collect();
        }
    }
    let shown =
        if calls.is_empty() { Some(visible(text, NO_TEXT)) } else { Some(text).filter(|t| !t.trim().is_empty()) };
    shown.map(|text| json!({"type": "text", "text": text})).into_iter().chain(calls.iter().map(call_block)).collect()
}

/// Sets thinking and temperature as far as the model has them. The two exclude each other.
fn set_effort(body: &mut Map<String, Value>, request: &ChatRequest, provider: &str) {
    let hints = catalogue::wire_hints(&request.target);
    let thinking = match (request.effort, hints.effort) {
        (Some(effort), EffortSetting::Adaptive) => {
            body.insert("output_config".to_owned(), json!({"effort": effort}));
            Some(json!({"type": "adaptive"}))
        }
        // With a budget the vendor wants each reply of a tool loop to begin with its own thinking.
        (Some(effort), EffortSetting::Budget) if !continues_foreign_reply(&request.messages, provider) => {
            let wanted = match effort {
                Effort::Low => 2_048,
                Effort::Medium => 8_192,
                Effort::High => 16_384,
            };
            // Thinking counts as output, so that without a rest the visible reply would be cut.
            let budget = request.max_output_tokens.saturating_sub(MIN_REPLY).min(wanted);
            (budget >= MIN_THINKING).then(|| json!({"type": "enabled", "budget_tokens": budget}))
        }
        _ => None,
    };
    if let Some(thinking) = thinking {
        body.insert("thinking".to_owned(), thinking);
    } else if let Some(temperature) = request.temperature.filter(|_| hints.temperature) {
        body.insert("temperature".to_owned(), json!(temperature));
    }
}

/// Whether the tool loop under way holds a reply without this vendor's thinking: with a thinking budget the vendor
/// refuses such a conversation.
fn continues_foreign_reply(messages: &[Message], provider: &str) -> bool {
    let current = messages.iter().rev().take_while(|message| !matches!(message, Message::User { .. }));
    current.into_iter().any(|message| match message {
        Message::Assistant { opaque, .. } => opaque.as_ref().is_none_or(|opaque| opaque.provider != provider),
        Message::User { .. } | Message::Tools { .. } => false,
    })
}

/// The stream's events, joined into the message that a plain answer would be.
#[derive(Debug, Default)]
struct Stream {
    message: Map<String, Value>,
    blocks: Vec<Value>,
    /// The raw text of each tool call's arguments, by block.
    inputs: Vec<String>,
    usage: Map<String, Value>,
    counted_output: bool,
    complete: bool,
}

impl Stream {
    fn count(&mut self, usage: Option<&Value>) {
        let counts = usage.and_then(Value::as_object).into_iter().flatten().filter(|(_, value)| !value.is_null());
        self.usage.extend(counts.map(|(key, value)| (key.clone(), value.clone())));
    }

    fn append(&mut self, index: usize, delta: &Value) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let Some(block) = self.blocks.get_mut(index).and_then(Value::as_object_mut) else { return };
        let field = match text("type") {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            "signature_delta" => "signature",
            "input_json_delta" => {
                // The input comes as pieces of text that are JSON only together.
                if let Some(input) = self.inputs.get_mut(index) {
                    input.push_str(text("partial_json"));
                }
                return;
            }
            _ => return,
        };
        if let Value::String(so_far) = block.entry(field).or_insert_with(|| json!("")) {
            so_far.push_str(text(field));
        }
    }
}

impl Fold for Stream {
    fn event(&mut self, data: Value) -> Result<(), Broken> {
        let index = data.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
        match data.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => {
                if let Some(Value::Object(message)) = data.get("message") {
                    self.message = message.clone();
                }
                self.count(data.pointer("/message/usage"));
            }
            "content_block_start" => {
                self.blocks.push(data.get("content_block").cloned().unwrap_or_default());
                self.inputs.push(String::new());
            }
            "content_block_delta" => {
                let index = index.unwrap_or(self.blocks.len().saturating_sub(1));
                self.append(index, data.get("delta").unwrap_or(&Value::Null));
            }
            "message_delta" => {
                if let Some(reason) = data.pointer("/delta/stop_reason").filter(|reason| !reason.is_null()) {
                    self.message.insert("stop_reason".to_owned(), reason.clone());
                    // All content has come by now; `message_stop` adds nothing.
                    self.complete = true;
                }
                self.count(data.get("usage"));
                self.counted_output |= data.pointer("/usage/output_tokens").is_some();
            }
            "message_stop" => self.complete = true,
            "error" => return Err(Broken::Error(data.get("error").cloned().unwrap_or(data))),
            // `ping`, `content_block_stop`, and whatever comes to be.
            _ => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    fn into_message(mut self) -> Value {
        for (block, input) in self.blocks.iter_mut().zip(&self.inputs) {
            let Some(map) = block.as_object_mut().filter(|map| map.get("type").is_some_and(|kind| kind == "tool_use"))
            else {
                continue;
            };
            // A server may send the whole input at the start instead of in pieces.
            if !input.is_empty() || !map.get("input").is_some_and(Value::is_object) {
                map.insert("input".to_owned(), arguments_of_text(input));
            }
        }
        if !self.counted_output {
            // The beginning counts the first few tokens of the reply, which are no count of it.
            self.usage.remove("output_tokens");
        }
        self.message.insert("content".to_owned(), Value::Array(self.blocks));
        self.message.insert("usage".to_owned(), Value::Object(self.usage));
        Value::Object(self.message)
    }

    fn usage_told(&self) -> Option<Usage> {
        usage(&Value::Object(self.usage.clone()))
    }

    /// Until the end only the prompt is counted, and the first few tokens of the reply.
    fn is_counted(&self) -> bool {
        self.counted_output
    }
}
