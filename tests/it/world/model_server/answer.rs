//! Replies in the vendors' shapes: plain JSON and server-sent events.

use serde_json::{Value, json};
use upshift::domain::chat::{StopReason, Usage};

use super::{Say, SayCall, Vendor, ollama};

/// Streams are cut into deltas of this many characters, so that a client has to join them.
const DELTA_CHARS: usize = 7;

/// The signature of the thinking in the answer to request `number`.
pub(super) fn signature(number: usize) -> String {
    format!("c2lnbmF0dXJl{number}")
}

/// The content type and body of a reply.
pub(super) fn render(vendor: Vendor, streamed: bool, number: usize, model: &str, say: &Say) -> (&'static str, Vec<u8>) {
    let model = say.billed_as.as_deref().unwrap_or(model);
    let text = match (vendor, streamed) {
        (Vendor::Anthropic, false) => anthropic(number, model, say).to_string(),
        (Vendor::OpenAi, false) => openai(number, model, say).to_string(),
        (Vendor::Responses, false) => response(number, model, say).to_string(),
        (Vendor::Responses, true) => return ("text/event-stream; charset=utf-8", response_events(number, model, say)),
        (Vendor::Gemini, true) => {
            let event = format!("data: {}\r\n\r\n", gemini(number, model, say));
            return ("text/event-stream", event.into_bytes());
        }
        (Vendor::Gemini, false) => gemini(number, model, say).to_string(),
        (Vendor::Ollama, false) => ollama::whole(number, model, say).to_string(),
        (Vendor::Ollama, true) => return ("application/x-ndjson", ollama::lines(number, model, say)),
        (Vendor::Anthropic, true) => return ("text/event-stream; charset=utf-8", anthropic_events(number, model, say)),
        (Vendor::OpenAi, true) => return ("text/event-stream", openai_events(number, model, say)),
    };
    ("application/json", text.into_bytes())
}

/// The vendor's error body.
pub(super) fn error_body(vendor: Vendor, code: u16, kind: &str, message: &str) -> Value {
    match vendor {
        Vendor::Anthropic => {
            json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
        }
        Vendor::OpenAi | Vendor::Responses => {
            json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
        }
        Vendor::Gemini => json!({"error": {"code": code, "message": message, "status": kind}}),
        Vendor::Ollama => json!({ "error": message }),
    }
}

pub(super) fn call_id(number: usize, index: usize, call: &SayCall, prefix: &str) -> String {
    call.id.clone().unwrap_or_else(|| format!("{prefix}{number}x{index}"))
}

pub(super) fn arguments(call: &SayCall) -> Value {
    serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}))
}

pub(super) fn stop(say: &Say) -> StopReason {
    say.stop.unwrap_or(if say.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse })
}

// ---- Anthropic

fn anthropic_stop(say: &Say) -> &'static str {
    match stop(say) {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::Length => "max_tokens",
        StopReason::ContentFilter | StopReason::Refusal => "refusal",
        StopReason::Other => "pause_turn",
    }
}

fn anthropic_usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input, "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write,
        "cache_creation": {"ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0},
        "service_tier": "standard", "inference_geo": null, "server_tool_use": null, "speed": "standard",
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
    })
}

fn anthropic_blocks(number: usize, say: &Say) -> Vec<Value> {
    let mut blocks = Vec::new();
    if let Some(thinking) = &say.thinking {
        blocks.push(json!({"type": "thinking", "thinking": thinking, "signature": signature(number)}));
    }
    if !say.text.is_empty() {
        blocks.push(json!({"type": "text", "text": say.text, "citations": null}));
    }
    for (index, call) in say.calls.iter().enumerate() {
        let id = call_id(number, index, call, "toolu_");
        let (input, caller) = (arguments(call), json!({"type": "direct"}));
        blocks.push(json!({"type": "tool_use", "id": id, "name": call.name, "input": input, "caller": caller}));
    }
    blocks
}

fn anthropic(number: usize, model: &str, say: &Say) -> Value {
    let mut message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": model,
        "content": anthropic_blocks(number, say), "stop_reason": anthropic_stop(say), "stop_sequence": null,
        "stop_details": null, "container": null, "diagnostics": null,
    });
    if let Some(usage) = &say.usage {
        message["usage"] = anthropic_usage(usage);
    }
    message
}

fn event(out: &mut Vec<u8>, name: &str, data: &Value) {
    out.extend_from_slice(format!("event: {name}\ndata: {data}\n\n").as_bytes());
}

pub(super) fn pieces(text: &str) -> Vec<String> {
    text.chars().collect::<Vec<_>>().chunks(DELTA_CHARS).map(|piece| piece.iter().collect()).collect()
}

fn anthropic_events(number: usize, model: &str, say: &Say) -> Vec<u8> {
    let mut out = Vec::new();
    let mut start = anthropic(number, model, &Say { usage: None, ..Say::default() });
    start["stop_reason"] = Value::Null;
    start["content"] = json!([]);
    if let Some(usage) = &say.usage {
        start["usage"] = anthropic_usage(&Usage { output: 1, ..*usage });
    }
    event(&mut out, "message_start", &json!({"type": "message_start", "message": start}));
    event(&mut out, "ping", &json!({"type": "ping"}));
    for (index, block) in anthropic_blocks(number, say).into_iter().enumerate() {
        let delta = |kind: &str, key: &str, text: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: text}});
        let mut opening = block.clone();
        let mut deltas = Vec::new();
        match block["type"].as_str() {
            Some("text") => {
                opening["text"] = json!("");
                deltas.extend(
                    pieces(block["text"].as_str().unwrap_or_default()).iter().map(|p| delta("text_delta", "text", p)),
                );
            }
            Some("thinking") => {
                opening["thinking"] = json!("");
                opening["signature"] = json!("");
                let text = block["thinking"].as_str().unwrap_or_default();
                deltas.extend(pieces(text).iter().map(|p| delta("thinking_delta", "thinking", p)));
                deltas.push(delta("signature_delta", "signature", block["signature"].as_str().unwrap_or_default()));
            }
            _ => {
                opening["input"] = json!({});
                let nth = say
                    .calls
                    .iter()
                    .enumerate()
                    .find(|(nth, call)| block["id"] == call_id(number, *nth, call, "toolu_"));
                let raw = nth.map_or("", |(_, call)| call.arguments.as_str());
                deltas.extend(pieces(raw).iter().map(|p| delta("input_json_delta", "partial_json", p)));
            }
        }
        let opened = json!({"type": "content_block_start", "index": index, "content_block": opening});
        event(&mut out, "content_block_start", &opened);
        for delta in deltas {
            event(&mut out, "content_block_delta", &delta);
        }
        event(&mut out, "content_block_stop", &json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({
        "stop_reason": anthropic_stop(say), "stop_sequence": null, "stop_details": null, "container": null,
    });
    let mut end = json!({"type": "message_delta", "delta": delta});
    if let Some(usage) = &say.usage {
        // What the vendor says here are the counts of the whole message.
        let mut counts = anthropic_usage(usage);
        for of_the_start in ["cache_creation", "service_tier", "inference_geo", "speed"] {
            drop(counts.as_object_mut().and_then(|counts| counts.remove(of_the_start)));
        }
        end["usage"] = counts;
    }
    event(&mut out, "message_delta", &end);
    event(&mut out, "message_stop", &json!({"type": "message_stop"}));
    out
}

// ---- OpenAI

fn openai_stop(say: &Say) -> &'static str {
    match stop(say) {
        StopReason::EndTurn | StopReason::Other | StopReason::Refusal => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::Length => "length",
        StopReason::ContentFilter => "content_filter",
    }
}

fn openai_usage(usage: &Usage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": prompt, "completion_tokens": usage.output, "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write, "audio_tokens": 0,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

fn openai_call(number: usize, index: usize, call: &SayCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments});
    json!({"id": call_id(number, index, call, "call_"), "type": "function", "function": function})
}

fn openai(number: usize, model: &str, say: &Say) -> Value {
    let refused = stop(say) == StopReason::Refusal;
    let said = if say.text.is_empty() { Value::Null } else { json!(say.text) };
    let mut message = json!({"role": "assistant", "content": said, "refusal": null});
    if refused {
        message["content"] = Value::Null;
        message["refusal"] = json!(say.text);
    }
    if !say.calls.is_empty() {
        message["tool_calls"] =
            say.calls.iter().enumerate().map(|(index, call)| openai_call(number, index, call)).collect();
    }
    if let Some(thinking) = &say.thinking {
        message["reasoning_content"] = json!(thinking);
    }
    let mut body = json!({
        "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 1, "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": openai_stop(say)}],
    });
    if let Some(usage) = &say.usage {
        body["usage"] = openai_usage(usage);
    }
    body
}

fn openai_events(number: usize, model: &str, say: &Say) -> Vec<u8> {
    let mut out = b": a comment\n\n".to_vec();
    let head =
        json!({"id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1, "model": model});
    let mut chunk = |delta: Value, finish: Value| {
        let mut data = head.clone();
        data["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        data["usage"] = Value::Null;
        out.extend_from_slice(format!("data: {data}\n\n").as_bytes());
    };
    chunk(json!({"role": "assistant", "content": ""}), Value::Null);
    for piece in pieces(say.thinking.as_deref().unwrap_or_default()) {
        chunk(json!({"reasoning_content": piece}), Value::Null);
    }
    let key = if stop(say) == StopReason::Refusal { "refusal" } else { "content" };
    for piece in pieces(&say.text) {
        chunk(json!({key: piece}), Value::Null);
    }
    for (index, call) in say.calls.iter().enumerate() {
        let mut opening = openai_call(number, index, call);
        opening["index"] = json!(index);
        opening["function"]["arguments"] = json!("");
        chunk(json!({"tool_calls": [opening]}), Value::Null);
        for piece in pieces(&call.arguments) {
            chunk(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}), Value::Null);
        }
    }
    chunk(json!({}), json!(openai_stop(say)));
    if let Some(usage) = &say.usage {
        let mut last = head;
        last["choices"] = json!([]);
        last["usage"] = openai_usage(usage);
        out.extend_from_slice(format!("data: {last}\n\n").as_bytes());
    }
    out.extend_from_slice(b"data: [DONE]\n\n");
    out
}

// ---- OpenAI's Responses

fn response_items(number: usize, say: &Say) -> Vec<Value> {
    let mut items = Vec::new();
    if say.thinking.is_some() {
        items.push(json!({
            "type": "reasoning", "id": format!("rs_{number}"), "summary": [], "encrypted_content": signature(number),
        }));
    }
    let refused = stop(say) == StopReason::Refusal;
    if !say.text.is_empty() {
        let part = if refused {
            json!({"type": "refusal", "refusal": say.text})
        } else {
            json!({"type": "output_text", "text": say.text, "annotations": []})
        };
        let id = format!("msg_{number}");
        items.push(json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": [part]}));
    }
    for (index, call) in say.calls.iter().enumerate() {
        items.push(json!({
            "type": "function_call", "id": format!("fc_{number}x{index}"), "status": "completed", "name": call.name,
            "call_id": call_id(number, index, call, "call_"), "arguments": call.arguments,
        }));
    }
    items
}

fn response(number: usize, model: &str, say: &Say) -> Value {
    let (status, reason) = match stop(say) {
        StopReason::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
        StopReason::ContentFilter => ("incomplete", json!({"reason": "content_filter"})),
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Refusal | StopReason::Other => {
            ("completed", Value::Null)
        }
    };
    let mut body = json!({
        "id": format!("resp_{number}"), "object": "response", "created_at": 1, "model": model, "status": status,
        "error": null, "incomplete_details": reason, "output": response_items(number, say), "usage": null,
        "access_programs": null, "instructions": null, "metadata": {}, "parallel_tool_calls": true, "temperature": 1.0,
        "tool_choice": "auto", "tools": [], "top_p": 1.0,
    });
    if let Some(usage) = &say.usage {
        let input = usage.input + usage.cache_read + usage.cache_write;
        body["usage"] = json!({
            "input_tokens": input, "output_tokens": usage.output, "total_tokens": input + usage.output,
            "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        });
    }
    body
}

fn response_events(number: usize, model: &str, say: &Say) -> Vec<u8> {
    let mut out = Vec::new();
    let whole = response(number, model, say);
    let mut begun = whole.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut sequence = 0;
    let mut send = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(sequence);
        sequence += 1;
        event(&mut out, kind, &data);
    };
    send("response.created", json!({"response": begun}));
    send("response.in_progress", json!({"response": begun}));
    for (index, item) in response_items(number, say).into_iter().enumerate() {
        let mut opening = item.clone();
        opening["status"] = json!("in_progress");
        // While an item comes, what it holds may be incomplete.
        for (key, early) in
            [("encrypted_content", json!("incomplete")), ("arguments", json!("")), ("content", json!([]))]
        {
            if opening.get(key).is_some() {
                opening[key] = early;
            }
        }
        send("response.output_item.added", json!({"output_index": index, "item": opening}));
        let of = |kind: &str| format!("response.{kind}.delta");
        if let Some(arguments) = item["arguments"].as_str() {
            for piece in pieces(arguments) {
                send(
                    &of("function_call_arguments"),
                    json!({"output_index": index, "item_id": item["id"], "delta": piece}),
                );
            }
        }
        for piece in pieces(item["content"][0]["text"].as_str().unwrap_or_default()) {
            send(
                &of("output_text"),
                json!({"output_index": index, "content_index": 0, "item_id": item["id"], "delta": piece, "logprobs": []}),
            );
        }
        send("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    let end = if whole["status"] == "incomplete" { "response.incomplete" } else { "response.completed" };
    send(end, json!({"response": whole}));
    out
}

// ---- Gemini

fn gemini(number: usize, model: &str, say: &Say) -> Value {
    let mut parts = Vec::new();
    if let Some(thinking) = &say.thinking {
        parts.push(json!({"text": thinking, "thought": true}));
    }
    if !say.text.is_empty() {
        parts.push(json!({"text": say.text}));
    }
    for (index, call) in say.calls.iter().enumerate() {
        let mut part = json!({"functionCall": {"name": call.name, "args": arguments(call)}});
        if let Some(id) = &call.id {
            part["functionCall"]["id"] = json!(id);
        }
        if index == 0 && say.thinking.is_some() {
            part["thoughtSignature"] = json!(signature(number));
        }
        parts.push(part);
    }
    let finish = match stop(say) {
        StopReason::EndTurn | StopReason::ToolUse => "STOP",
        StopReason::Length => "MAX_TOKENS",
        StopReason::ContentFilter => "SAFETY",
        StopReason::Refusal => "PROHIBITED_CONTENT",
        StopReason::Other => "OTHER",
    };
    let mut candidate = json!({"index": 0, "finishReason": finish});
    if !parts.is_empty() {
        candidate["content"] = json!({"role": "model", "parts": parts});
    }
    let mut body = json!({"candidates": [candidate], "modelVersion": model, "responseId": format!("r{number}")});
    if let Some(usage) = &say.usage {
        let prompt = usage.input + usage.cache_read + usage.cache_write;
        body["usageMetadata"] = json!({
            "promptTokenCount": prompt, "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.output - usage.reasoning, "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": prompt + usage.output,
        });
    }
    body
}
