//! The protocol checker: what the vendors' documentation demands of a request, as far as upshift uses it.
//!
//! Written from the vendors' reference pages (Anthropic Messages, OpenAI chat completions, Gemini generateContent),
//! not from the client under test.

use std::collections::HashSet;

use serde_json::Value;

use super::request::is_theirs;
use super::{Request, Vendor};
use crate::world::canary;

const ANTHROPIC_MAX_CACHE_POINTS: usize = 4;
const OPENAI_MAX_CALL_ID: usize = 40;
/// Where a vendor looks for its key.
const KEY_HEADERS: [&str; 4] = ["x-api-key", "authorization", "api-key", "x-goog-api-key"];
/// The keys of Gemini's `Schema` object that upshift may use.
const GEMINI_SCHEMA_KEYS: [&str; 16] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "anyOf",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
];

/// The words of its `Type`.
const GEMINI_TYPES: [&str; 6] = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"];

struct Checker {
    found: Vec<String>,
}

impl Checker {
    fn demand(&mut self, holds: bool, complaint: impl Into<String>) {
        if !holds {
            self.found.push(complaint.into());
        }
    }
}

/// Every breach of the vendor's protocol in one request; `signatures` are the ones the server gave out.
pub(super) fn violations(method: &str, request: &Request, signatures: &HashSet<String>) -> Vec<String> {
    let mut checker = Checker { found: Vec::new() };
    checker.demand(method == "POST", format!("method is {method}, not POST"));
    let content_type = request.header("content-type").unwrap_or_default();
    checker.demand(content_type.starts_with("application/json"), format!("content-type is `{content_type}`"));
    checker.demand(request.header("user-agent").is_some_and(|agent| agent.starts_with("upshift/")), "no user-agent");
    checker.demand(request.body.is_object(), "the body is no JSON object");
    checker.demand(!request.model.is_empty(), "no model named");
    checker.demand(!canary::sings_in(&request.raw), "a secret stands in the body");
    checker.demand(!canary::sings_in(request.path.as_bytes()), "a secret stands in the path");
    for (name, value) in &request.headers {
        let may = KEY_HEADERS.contains(&name.as_str());
        checker.demand(may || !canary::sings_in(value.as_bytes()), format!("a secret stands in the header {name}"));
    }
    if request.body.is_object() {
        match request.vendor {
            Vendor::Anthropic => anthropic(&mut checker, request, signatures),
            Vendor::OpenAi => openai(&mut checker, request),
            Vendor::Responses => responses(&mut checker, request, signatures),
            Vendor::Gemini => gemini(&mut checker, request, signatures),
            Vendor::Ollama => ollama(&mut checker, request),
        }
    }
    checker.found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_name(name: &str, extra: &str, longest: usize) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || extra.contains(c);
    !name.is_empty() && name.len() <= longest && name.chars().all(fits)
}

fn is_positive(value: &Value) -> bool {
    value.as_u64().is_some_and(|number| number > 0)
}

fn is_object_schema(value: &Value) -> bool {
    value["type"] == "object"
}

// ---- Anthropic

fn anthropic(checker: &mut Checker, request: &Request, signatures: &HashSet<String>) {
    let body = &request.body;
    checker.demand(request.header("x-api-key").is_some_and(|key| !key.is_empty()), "no x-api-key");
    checker.demand(request.header("authorization").is_none(), "authorization beside x-api-key");
    checker.demand(request.header("anthropic-version") == Some("2023-06-01"), "no anthropic-version 2023-06-01");
    checker.demand(is_positive(&body["max_tokens"]), "max_tokens is missing");
    let cache_points = request.all_text().matches("\"cache_control\"").count();
    checker.demand(cache_points <= ANTHROPIC_MAX_CACHE_POINTS, format!("{cache_points} cache points, four allowed"));
    for block in list(&body["system"]) {
        checker.demand(block["type"] == "text" && !word(&block["text"]).is_empty(), "an empty system block");
    }
    for tool in list(&body["tools"]) {
        let name = word(&tool["name"]);
        checker.demand(is_name(name, "_-", 128), format!("tool name `{name}`"));
        checker.demand(is_object_schema(&tool["input_schema"]), format!("{name}: input_schema is no object"));
    }
    checker.demand(body["tool_choice"].is_null(), "a forced call: it makes the vendor refuse thinking from before");
    let thinking = &body["thinking"];
    if thinking["type"] == "enabled" {
        let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
        let max = body["max_tokens"].as_u64().unwrap_or(0);
        checker.demand(budget >= 1024 && budget < max, format!("thinking budget {budget} of {max}"));
    }
    if !thinking.is_null() {
        checker.demand(body["temperature"].is_null(), "temperature beside thinking");
    }
    anthropic_messages(checker, list(&body["messages"]), signatures);
}

fn anthropic_messages(checker: &mut Checker, messages: &[Value], signatures: &HashSet<String>) {
    checker.demand(!messages.is_empty(), "no messages");
    checker.demand(messages.last().is_none_or(|last| last["role"] == "user"), "the last message is not the user's");
    let mut open: Vec<&str> = Vec::new();
    let mut seen_ids = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let expected = if index % 2 == 0 { "user" } else { "assistant" };
        checker.demand(message["role"] == expected, format!("message {index} is not the {expected}'s"));
        let blocks = list(&message["content"]);
        checker
            .demand(!blocks.is_empty() || !word(&message["content"]).is_empty(), format!("message {index} is empty"));
        let mut answered = Vec::new();
        let mut calls = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            match word(&block["type"]) {
                "text" => {
                    checker.demand(!word(&block["text"]).trim().is_empty(), format!("message {index}: empty text"))
                }
                "tool_use" => {
                    let id = word(&block["id"]);
                    checker.demand(is_name(id, "_-", 200), format!("tool_use id `{id}`"));
                    checker.demand(seen_ids.insert(id), format!("tool_use id `{id}` is used twice"));
                    checker.demand(block["input"].is_object(), format!("{id}: input is no object"));
                    calls.push(id);
                }
                "tool_result" => {
                    checker.demand(at == answered.len(), format!("message {index}: a tool_result after other content"));
                    answered.push(word(&block["tool_use_id"]));
                }
                "thinking" => {
                    let signature = word(&block["signature"]);
                    checker.demand(signatures.contains(signature), format!("unknown thinking signature `{signature}`"));
                }
                other => checker.demand(false, format!("message {index}: block of type `{other}`")),
            }
        }
        checker.demand(answered == open, format!("message {index} answers {answered:?}, called were {open:?}"));
        open = calls;
    }
    checker.demand(open.is_empty(), format!("unanswered calls {open:?}"));
}

// ---- OpenAI

fn openai(checker: &mut Checker, request: &Request) {
    let body = &request.body;
    let azure = request.path.contains("/openai/");
    if azure {
        checker.demand(request.header("api-key").is_some_and(|key| !key.is_empty()), "no api-key");
    } else if let Some(header) = request.header("authorization") {
        checker.demand(header.strip_prefix("Bearer ").is_some_and(|key| !key.is_empty()), "no bearer token");
    }
    let in_path = request.path.contains("/deployments/");
    checker.demand(!in_path || request.path.contains("api-version="), "no api-version");
    let limits = [&body["max_tokens"], &body["max_completion_tokens"]];
    let given = limits.iter().filter(|limit| !limit.is_null()).count();
    checker.demand(given == 1 && limits.iter().any(|limit| is_positive(limit)), "not exactly one token limit");
    checker.demand(body["stream_options"].is_null() || request.stream, "stream_options without stream");
    for tool in list(&body["tools"]) {
        let name = word(&tool["function"]["name"]);
        checker.demand(tool["type"] == "function", "a tool that is no function");
        checker.demand(is_name(name, "_-", 64), format!("tool name `{name}`"));
        checker.demand(is_object_schema(&tool["function"]["parameters"]), format!("{name}: parameters are no object"));
    }
    checker.demand(body["tool_choice"].is_null(), "a forced call: it throws the prompt's cache away");
    checker.demand(body["tools"].is_null() || !list(&body["tools"]).is_empty(), "an empty list of tools");
    openai_messages(checker, list(&body["messages"]));
}

fn openai_messages(checker: &mut Checker, messages: &[Value]) {
    checker.demand(!messages.is_empty(), "no messages");
    let mut open: Vec<&str> = Vec::new();
    let mut before = "";
    for (index, message) in messages.iter().enumerate() {
        let role = word(&message["role"]);
        let content = &message["content"];
        let has_text = !word(content).is_empty() || !list(content).is_empty();
        if role == "tool" {
            let id = word(&message["tool_call_id"]);
            checker.demand(open.first() == Some(&id), format!("message {index} answers `{id}`, open are {open:?}"));
            checker.demand(
                content.is_string() || content.is_array(),
                format!("message {index}: a result without content"),
            );
            open.retain(|call| *call != id);
        } else {
            checker.demand(open.is_empty(), format!("message {index} ({role}) comes before the results of {open:?}"));
            checker.demand(role != before || role == "tool", format!("message {index}: two {role} messages in a row"));
        }
        match role {
            "system" | "developer" => {
                checker.demand(index == 0 && has_text, format!("message {index}: a late or empty system"))
            }
            "user" => checker.demand(has_text, format!("message {index}: the user says nothing")),
            "assistant" => {
                let calls = list(&message["tool_calls"]);
                checker.demand(has_text || !calls.is_empty(), format!("message {index}: the assistant says nothing"));
                open = openai_calls(checker, calls);
            }
            "tool" => {}
            other => checker.demand(false, format!("message {index}: role `{other}`")),
        }
        before = role;
    }
    checker.demand(open.is_empty(), format!("unanswered calls {open:?}"));
    checker.demand(before == "user" || before == "tool", format!("the last message is the {before}'s"));
}

fn openai_calls<'a>(checker: &mut Checker, calls: &'a [Value]) -> Vec<&'a str> {
    let mut ids = Vec::new();
    for call in calls {
        let id = word(&call["id"]);
        checker
            .demand(!id.is_empty() && id.len() <= OPENAI_MAX_CALL_ID && !ids.contains(&id), format!("call id `{id}`"));
        checker.demand(call["type"] == "function", format!("{id}: no function"));
        checker.demand(!word(&call["function"]["name"]).is_empty(), format!("{id}: no name"));
        let arguments: Result<Value, _> = serde_json::from_str(word(&call["function"]["arguments"]));
        checker.demand(
            arguments.is_ok_and(|parsed| parsed.is_object()),
            format!("{id}: arguments are no JSON object text"),
        );
        ids.push(id);
    }
    ids
}

// ---- OpenAI's Responses

fn responses(checker: &mut Checker, request: &Request, signatures: &HashSet<String>) {
    let body = &request.body;
    let bearer = request.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
    let key = bearer.or(request.header("api-key"));
    checker.demand(key.is_some_and(|key| !key.is_empty()), "no key");
    checker.demand(body["store"] == false, "the vendor is to store the conversation");
    checker.demand(
        body["include"] == serde_json::json!(["reasoning.encrypted_content"]),
        "no encrypted reasoning is asked for",
    );
    checker.demand(
        body["max_output_tokens"].as_u64().is_some_and(|limit| limit >= 16),
        "max_output_tokens is missing or below 16",
    );
    for field in [
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "stream_options",
        "reasoning_effort",
        "previous_response_id",
    ] {
        checker.demand(body[field].is_null(), format!("{field} does not belong to this wire"));
    }
    checker.demand(body["tool_choice"].is_null(), "a forced call: it throws the prompt's cache away");
    for tool in list(&body["tools"]) {
        let name = word(&tool["name"]);
        checker.demand(tool["type"] == "function" && tool["function"].is_null(), "a tool that is no flat function");
        checker.demand(is_name(name, "_-", 64), format!("tool name `{name}`"));
        checker.demand(is_object_schema(&tool["parameters"]), format!("{name}: parameters are no object"));
        checker.demand(tool["strict"].is_boolean(), format!("{name}: whether it is strict is not said"));
    }
    response_items(checker, list(&body["input"]), signatures);
}

fn response_items(checker: &mut Checker, items: &[Value], signatures: &HashSet<String>) {
    let mut open: Vec<&str> = Vec::new();
    let mut follows = true;
    for (index, item) in items.iter().enumerate() {
        let (kind, role) = (word(&item["type"]), word(&item["role"]));
        let reasons = kind == "reasoning";
        let answers = kind == "function_call_output";
        let speaks = role == "assistant" || kind == "function_call";
        checker.demand(follows || speaks || reasons, format!("item {index}: reasoning without what followed it"));
        follows = !reasons;
        checker.demand(
            open.is_empty() || answers || kind == "function_call",
            format!("item {index} comes before the results of {open:?}"),
        );
        if reasons {
            let sealed = word(&item["encrypted_content"]);
            checker.demand(signatures.contains(sealed), format!("item {index}: reasoning that was changed: {sealed}"));
            checker
                .demand(item["id"].is_string() && item["summary"].is_array(), format!("item {index}: not as it came"));
        } else if kind == "function_call" {
            let id = word(&item["call_id"]);
            checker.demand(!id.is_empty() && id.len() <= 64 && !open.contains(&id), format!("call id `{id}`"));
            let arguments: Result<Value, _> = serde_json::from_str(word(&item["arguments"]));
            checker.demand(
                arguments.is_ok_and(|parsed| parsed.is_object()),
                format!("{id}: arguments are no JSON object text"),
            );
            open.push(id);
        } else if answers {
            let id = word(&item["call_id"]);
            checker.demand(open.contains(&id), format!("item {index} answers `{id}`, open are {open:?}"));
            checker.demand(item["output"].is_string(), format!("item {index}: a result without output"));
            open.retain(|call| *call != id);
        } else {
            let said = !word(&item["content"]).is_empty() || !list(&item["content"]).is_empty();
            checker.demand(matches!(role, "user" | "assistant") && said, format!("item {index}: `{kind}` of `{role}`"));
        }
    }
    checker.demand(!items.is_empty() && open.is_empty() && follows, format!("unanswered calls {open:?}"));
    checker.demand(items.last().is_some_and(|item| !is_theirs(item)), "the last item is the model's");
}

// ---- Gemini

fn gemini(checker: &mut Checker, request: &Request, signatures: &HashSet<String>) {
    let body = &request.body;
    checker.demand(request.header("x-goog-api-key").is_some_and(|key| !key.is_empty()), "no x-goog-api-key");
    checker.demand(!request.path.contains("key="), "the key stands in the URL");
    checker.demand(is_positive(&body["generationConfig"]["maxOutputTokens"]), "no maxOutputTokens");
    checker.demand(body["model"].is_null() && body["stream"].is_null(), "model or stream in the body");
    checker.demand(body["toolConfig"].is_null(), "a forced call: it throws the prompt's cache away");
    for tool in list(&body["tools"]) {
        for declaration in list(&tool["functionDeclarations"]) {
            let name = word(&declaration["name"]);
            checker.demand(is_name(name, "_-.:", 64), format!("function name `{name}`"));
            if let Some(schema) = declaration.get("parameters") {
                gemini_schema(checker, name, schema);
                let empty = schema["properties"].as_object().is_none_or(serde_json::Map::is_empty);
                checker.demand(!empty, format!("{name}: an object without properties"));
            }
        }
    }
    gemini_contents(checker, list(&body["contents"]), signatures);
}

fn gemini_schema(checker: &mut Checker, name: &str, schema: &Value) {
    let Some(map) = schema.as_object() else {
        return checker.demand(false, format!("{name}: a schema that is no object"));
    };
    for (key, value) in map {
        checker.demand(GEMINI_SCHEMA_KEYS.contains(&key.as_str()), format!("{name}: schema key `{key}`"));
        match key.as_str() {
            "properties" => {
                value.as_object().into_iter().flatten().for_each(|(_, inner)| gemini_schema(checker, name, inner))
            }
            "items" => gemini_schema(checker, name, value),
            "anyOf" => list(value).iter().for_each(|inner| gemini_schema(checker, name, inner)),
            "type" => checker.demand(GEMINI_TYPES.contains(&word(value)), format!("{name}: type is {value}")),
            "enum" => checker.demand(list(value).iter().all(Value::is_string), format!("{name}: enum {value}")),
            _ => {}
        }
    }
}

fn gemini_contents(checker: &mut Checker, contents: &[Value], signatures: &HashSet<String>) {
    checker.demand(!contents.is_empty(), "no contents");
    checker.demand(contents.last().is_none_or(|last| last["role"] == "user"), "the last content is not the user's");
    let mut open: Vec<&str> = Vec::new();
    let mut came_back = HashSet::new();
    for (index, content) in contents.iter().enumerate() {
        let expected = if index % 2 == 0 { "user" } else { "model" };
        checker.demand(content["role"] == expected, format!("content {index} is not the {expected}'s"));
        let parts = list(&content["parts"]);
        checker.demand(!parts.is_empty(), format!("content {index} is empty"));
        let (mut calls, mut answered) = (Vec::new(), Vec::new());
        for part in parts {
            if let Some(call) = part.get("functionCall") {
                calls.push(word(&call["name"]));
                checker.demand(call["args"].is_object(), format!("content {index}: args are no object"));
            } else if let Some(response) = part.get("functionResponse") {
                answered.push(word(&response["name"]));
                checker.demand(response["response"].is_object(), format!("content {index}: response is no object"));
            } else {
                checker.demand(!word(&part["text"]).is_empty(), format!("content {index}: an empty part"));
            }
            came_back.extend(part["thoughtSignature"].as_str());
        }
        checker.demand(answered == open, format!("content {index} answers {answered:?}, called were {open:?}"));
        open = calls;
    }
    checker.demand(open.is_empty(), format!("unanswered calls {open:?}"));
    for signature in came_back {
        let known = signatures.contains(signature) || signature == "skip_thought_signature_validator";
        checker.demand(known, format!("unknown thought signature `{signature}`"));
    }
}

// ---- Ollama

fn ollama(checker: &mut Checker, request: &Request) {
    let body = &request.body;
    let known = ["model", "messages", "stream", "tools", "options", "truncate", "shift"];
    for field in body.as_object().into_iter().flat_map(|body| body.keys()) {
        checker.demand(known.contains(&field.as_str()), format!("{field} does not belong to this wire"));
    }
    for option in ["num_ctx", "num_predict"] {
        checker.demand(is_positive(&body["options"][option]), format!("options.{option} is missing"));
    }
    for cut in ["truncate", "shift"] {
        checker.demand(body[cut] == false, format!("{cut} is left to the server, which cuts in silence"));
    }
    for tool in list(&body["tools"]) {
        let name = word(&tool["function"]["name"]);
        checker.demand(tool["type"] == "function" && is_name(name, "_-", 64), format!("tool `{name}`"));
        checker.demand(is_object_schema(&tool["function"]["parameters"]), format!("{name}: parameters are no object"));
    }
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in list(&body["messages"]).iter().enumerate() {
        let (role, content) = (word(&message["role"]), &message["content"]);
        checker.demand(content.is_string(), format!("message {index}: content is no text"));
        if role == "tool" {
            let name = word(&message["tool_name"]);
            checker
                .demand(open.first() == Some(&name), format!("message {index} answers `{name}`, called were {open:?}"));
            open = open.split_off(open.len().min(1));
            continue;
        }
        checker.demand(open.is_empty(), format!("message {index} ({role}) comes before the results of {open:?}"));
        checker.demand(role != "system" || index == 0, format!("message {index}: a late system"));
        checker.demand(["system", "user", "assistant"].contains(&role), format!("message {index}: role `{role}`"));
        open = list(&message["tool_calls"]).iter().map(|call| word(&call["function"]["name"])).collect();
        let objects = list(&message["tool_calls"]).iter().all(|call| call["function"]["arguments"].is_object());
        checker.demand(objects, format!("message {index}: arguments are no object"));
        let says = !word(content).is_empty() || !open.is_empty();
        checker.demand(says, format!("message {index}: the {role} says nothing"));
    }
    checker.demand(open.is_empty(), format!("unanswered calls {open:?}"));
}
