//! The Gemini wire: `generateContent` (ai.google.dev, "Generate content", "Function calling", "Thought signatures").
//!
//! Not streamed: one JSON answer per call. Replies with signatures are kept as they came and sent back unchanged.

mod schema;

use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};
use url::Url;

use crate::domain::chat::{ChatRequest, Effort, Opaque, Reply, StopReason, Usage};
use crate::domain::model_id::ModelId;
use crate::domain::tool::ToolCall;

use super::bill::bill_of;
use super::catalogue::{self, EffortSetting};
use super::channel::{Broken, Channel, Fold};
use super::endpoint::join;
use super::turn::{NO_OUTPUT, NO_TEXT, Turn, arguments_object, named_model, turns, visible, with_unique_ids, written};
use super::{CallFailure, Provider, ReplyFuture};

/// The text that the vendor tells clients to write where a call of another vendor's model has no signature.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// A provider that speaks the Gemini wire.
#[derive(Debug)]
pub(super) struct Gemini {
    channel: Channel,
    base: Url,
}

impl Gemini {
    pub(super) fn new(channel: Channel, base: Url) -> Self {
        Self { channel: channel.unstreamed(), base }
    }

    fn provider(&self) -> &str {
        &self.channel.blamed.provider
    }

    /// The address where a model is asked. Its name may bring its own collection (`tunedModels/x`).
    fn url(&self, target: &ModelId) -> Url {
        let name = catalogue::vendor_spelling(target);
        let mut url = join(&self.base, "v1beta", "");
        // By segments, so that a name with odd letters is escaped and leads to no other path.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
            if name.contains('/') {
                let (collection, rest) = name.split_once('/').unwrap_or_default();
                segments.push(collection).push(&format!("{rest}:generateContent"));
            } else {
                segments.push("models").push(&format!("{name}:generateContent"));
            }
        }
        url
    }

    async fn call(&self, request: &ChatRequest) -> Result<Reply, CallFailure> {
        let headers: HeaderMap = self.channel.key_header("x-goog-api-key");
        let body = written(&encode(request, self.provider()));
        let answer = self.channel.converse(self.url(&request.target), headers, body, Pieces::default()).await?;
        self.decode(&answer, request)
    }

    fn decode(&self, answer: &Value, request: &ChatRequest) -> Result<Reply, CallFailure> {
        let usage = answer.get("usageMetadata").and_then(usage);
        let bill = bill_of(answer, answer.get("usageMetadata"));
        let with_usage = |failure: CallFailure| CallFailure { usage, bill: Box::new(bill.clone()), ..failure };
        if let Some(error) = answer.get("error").or_else(|| answer.pointer("/0/error")).filter(|error| !error.is_null())
        {
            return Err(with_usage(self.channel.error_inside(error)));
        }
        // A refused prompt has no candidate at all, and is an answer all the same.
        let blocked = answer.pointer("/promptFeedback/blockReason").and_then(Value::as_str);
        let Some(candidate) = answer.pointer("/candidates/0") else {
            return match blocked {
                Some(reason) => Ok(Reply {
                    text: format!("(the vendor blocked the prompt: {})", self.channel.blamed.scrubber.clean(reason)),
                    tool_calls: Vec::new(),
                    stop: StopReason::ContentFilter,
                    usage,
                    opaque: None,
                    billed_model: billed_model(answer),
                    bill,
                }),
                None => Err(with_usage(self.channel.blamed.unreadable("an answer without `candidates`"))),
            };
        };
        let finish = candidate.get("finishReason").and_then(Value::as_str);
        // The vendor threw the call away, and the model cannot see its own fault: asking again may bring a whole one.
        if let Some(reason @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE")) = finish {
            let said = candidate.get("finishMessage").and_then(Value::as_str).unwrap_or_default();
            return Err(with_usage(
                self.channel.blamed.unreadable(&format!("a tool call gone wrong ({reason}) {said}")),
            ));
        }
        let parts =
            candidate.pointer("/content/parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let tool_calls = with_unique_ids(parts.iter().filter_map(decode_call).collect(), request.messages.len());
        // Signatures are bound to their parts, so that these go back as they came.
        let keeps = parts.iter().any(|part| part.get("thoughtSignature").is_some() || is_thought(part));
        Ok(Reply {
            text: parts.iter().filter(|part| !is_thought(part)).filter_map(|part| part.get("text")?.as_str()).collect(),
            stop: stop_reason(finish, &tool_calls),
            tool_calls,
            usage,
            opaque: keeps.then(|| Opaque { provider: self.provider().to_owned(), content: json!(parts) }),
            billed_model: billed_model(answer),
            bill,
        })
    }
}

impl Provider for Gemini {
    fn ask<'a>(&'a self, request: &'a ChatRequest) -> ReplyFuture<'a> {
        Box::pin(self.call(request))
    }

    fn request_bytes(&self, request: &ChatRequest) -> u64 {
        written(&encode(request, self.provider())).len() as u64
    }
}

/// The model that answered (`modelVersion`: npm @google/genai 2.32.0, `GenerateContentResponse`, read 2026-11-23), without its collection.
fn billed_model(answer: &Value) -> Option<String> {
    let named = named_model(answer.get("modelVersion"))?;
    Some(named.strip_prefix("models/").map(str::to_owned).unwrap_or(named))
}

fn is_thought(part: &Value) -> bool {
    part.get("thought").is_some_and(|thought| thought == true)
}

fn decode_call(part: &Value) -> Option<ToolCall> {
    let call = part.get("functionCall")?;
    let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments = match call.get("args") {
        None | Some(Value::Null) => json!({}),
        Some(object @ Value::Object(_)) => object.clone(),
        // Kept as text, so that the session can tell the model what it wrote.
        Some(other) => Value::String(other.to_string()),
    };
    Some(ToolCall { id: text("id"), name: text("name"), arguments })
}

fn stop_reason(word: Option<&str>, calls: &[ToolCall]) -> StopReason {
    match word {
        Some("MAX_TOKENS") => StopReason::Length,
        Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY") => {
            StopReason::ContentFilter
        }
        // The vendor says `STOP` beside calls as well.
        _ if !calls.is_empty() => StopReason::ToolUse,
        Some("STOP") => StopReason::EndTurn,
        _ => StopReason::Other,
    }
}

/// The vendor's counts: the prompt's include what a cache served, the candidates' exclude the thoughts.
pub(super) fn usage(usage: &Value) -> Option<Usage> {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let cache_read = count("cachedContentTokenCount").unwrap_or(0);
    let prompt = count("promptTokenCount")?.saturating_add(count("toolUsePromptTokenCount").unwrap_or(0));
    // The cached part has a price of its own, and is in the sum. A larger one can only stand beside it.
    let input = prompt.checked_sub(cache_read).unwrap_or(prompt);
    let reasoning = count("thoughtsTokenCount").unwrap_or(0);
    let output = count("candidatesTokenCount").unwrap_or(0).saturating_add(reasoning);
    // More than the sum of the others are tokens that stand nowhere else.
    let told = count("totalTokenCount").unwrap_or(0).saturating_sub(input.saturating_add(cache_read));
    Some(Usage { input, output: output.max(told), cache_read, cache_write: 0, reasoning }.sane())
}

fn encode(request: &ChatRequest, provider: &str) -> Value {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    if !request.system.trim().is_empty() {
        set("systemInstruction", json!({"parts": [{"text": request.system}]}));
    }
    if !request.tools.is_empty() {
        let declarations = request.tools.iter().map(|tool| {
            let mut declaration = json!({"name": tool.name, "description": tool.description});
            if let (Some(parameters), Some(map)) = (schema::subset(&tool.parameters), declaration.as_object_mut()) {
                map.insert("parameters".to_owned(), parameters);
            }
            declaration
        });
        set("tools", json!([{"functionDeclarations": declarations.collect::<Value>()}]));
    }
    set("contents", encode_contents(request, provider));
    set("generationConfig", generation_config(request));
    Value::Object(body)
}

/// The words of `ThinkingLevel` (npm `@google/genai` 3.1.0, read on 2026-11-23).
fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "LOW",
        Effort::Medium => "MEDIUM",
        Effort::High => "HIGH",
    }
}

fn generation_config(request: &ChatRequest) -> Value {
    let mut config = Map::new();
    config.insert("maxOutputTokens".to_owned(), json!(request.max_output_tokens));
    let hints = catalogue::wire_hints(&request.target);
    if let Some(temperature) = request.temperature.filter(|_| hints.temperature) {
        config.insert("temperature".to_owned(), json!(temperature));
    }
    let thinking = match (request.effort, hints.effort) {
        (Some(effort), EffortSetting::Level) => Some(json!({"thinkingLevel": level(effort)})),
        (Some(effort), EffortSetting::Budget) => {
            let wanted: u64 = match effort {
                Effort::Low => 1_024,
                Effort::Medium => 8_192,
                Effort::High => 16_384,
            };
            // Thoughts count towards the limit, and half of it remains for the reply.
            Some(json!({"thinkingBudget": wanted.min(request.max_output_tokens / 2)}))
        }
        _ => None,
    };
    if let Some(thinking) = thinking {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    Value::Object(config)
}

fn encode_contents(request: &ChatRequest, provider: &str) -> Value {
    let contents = turns(&request.messages, provider).into_iter().map(|turn| match turn {
        Turn::Ours { results, texts } => {
            let results = results.iter().map(|result| {
                let key = if result.is_error { "error" } else { "output" };
                let mut response = json!({
                    "name": result.name,
                    "response": {key: visible(&result.content, NO_OUTPUT)},
                });
                // The vendor pairs calls and results by place where it has given no id.
                if let (false, Some(map)) = (is_made_up(&result.call_id), response.as_object_mut()) {
                    map.insert("id".to_owned(), json!(result.call_id));
                }
                json!({"functionResponse": response})
            });
            let texts = texts.iter().map(|text| json!({"text": text}));
            let mut parts: Vec<Value> = results.chain(texts).collect();
            if parts.is_empty() {
                parts.push(json!({"text": NO_TEXT}));
            }
            json!({"role": "user", "parts": parts})
        }
        Turn::Theirs { text, calls, opaque } => {
            json!({"role": "model", "parts": encode_reply(text, calls, opaque, &request.target)})
        }
    });
    contents.collect()
}

/// Whether we made an id up because the vendor gave none: it must not see ours then.
fn is_made_up(id: &str) -> bool {
    id.starts_with("call_")
}

fn encode_reply(text: &str, calls: &[ToolCall], opaque: Option<&Value>, target: &ModelId) -> Vec<Value> {
    let is_call = |part: &&Value| part.get("functionCall").is_some();
    if let Some(parts) = opaque.and_then(Value::as_array)
        && parts.iter().filter(is_call).count() == calls.len()
    {
        let is_blank =
            |part: &Value| part.get("text").is_some_and(|text| text == "") && part.get("thoughtSignature").is_none();
        let kept: Vec<Value> = parts.iter().filter(|part| !is_blank(part)).cloned().collect();
        if !kept.is_empty() {
            return kept;
        }
    }
    let mut parts = Vec::new();
    if calls.is_empty() || !text.trim().is_empty() {
        parts.push(json!({"text": visible(text, NO_TEXT)}));
    }
    // Only models with levels check signatures, and of parallel calls only the first has one.
    let wants_signature = catalogue::wire_hints(target).effort == EffortSetting::Level;
    for (index, call) in calls.iter().enumerate() {
        let mut part = json!({"functionCall": {"name": call.name, "args": arguments_object(&call.arguments)}});
        if let Some(map) = part.as_object_mut() {
            if let (false, Some(function)) =
                (is_made_up(&call.id), map.get_mut("functionCall").and_then(Value::as_object_mut))
            {
                function.insert("id".to_owned(), json!(call.id));
            }
            if wants_signature && index == 0 {
                map.insert("thoughtSignature".to_owned(), json!(NO_SIGNATURE));
            }
        }
        parts.push(part);
    }
    parts
}

/// Joins a stream, should a server answer with one unasked: candidates' parts in order, the last counts and reason.
#[derive(Debug, Default)]
struct Pieces {
    answer: Map<String, Value>,
    parts: Vec<Value>,
    finish: Option<Value>,
}

impl Fold for Pieces {
    fn event(&mut self, data: Value) -> Result<(), Broken> {
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            return Err(Broken::Error(error.clone()));
        }
        self.parts.extend(
            data.pointer("/candidates/0/content/parts").and_then(Value::as_array).into_iter().flatten().cloned(),
        );
        if let Some(reason) = data.pointer("/candidates/0/finishReason") {
            self.finish = Some(reason.clone());
        }
        for key in ["usageMetadata", "promptFeedback", "modelVersion"] {
            if let Some(value) = data.get(key) {
                self.answer.insert(key.to_owned(), value.clone());
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some() || self.answer.contains_key("promptFeedback")
    }

    fn into_message(mut self) -> Value {
        if let Some(reason) = self.finish {
            let candidate = json!({"content": {"role": "model", "parts": self.parts}, "finishReason": reason});
            self.answer.insert("candidates".to_owned(), json!([candidate]));
        }
        Value::Object(self.answer)
    }

    fn usage_told(&self) -> Option<Usage> {
        // Counts before the end are those of the part that has come.
        self.finish.as_ref().and_then(|_| self.answer.get("usageMetadata").and_then(usage))
    }
}
