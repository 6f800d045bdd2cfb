//! Ollama's part of the scripted vendor: its shapes, its rules, and what it does with a prompt that is longer than its window.
//!
//! After `api/types.go`, `server/routes.go`, `server/prompt.go` and `llm/llama_server.go` of v0.33.2 as public documents quote them,
//! and npm `ollama` 0.6.4 (read 2026-11-23).

use serde_json::{Value, json};

use super::answer::{arguments, call_id, pieces, stop};
use super::{Request, Say, Scripted};
use upshift::domain::chat::StopReason;

/// The window of a model for which nobody says one, on a machine with little video memory.
const DEFAULT_WINDOW: u64 = 4_096;
/// Bytes of a request that stand for one token.
const BYTES_PER_TOKEN: usize = 4;
/// What it answers where it was told not to cut (`llm/llama_server.go`).
const TOO_LONG: &str = "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust \
                        the context length in settings, or use a model with a longer context length";

/// A model that the server holds.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// The tokens that it was made for.
    pub(crate) context_length: u64,
    /// Whether it calls tools.
    pub(crate) tools: bool,
    /// A `PARAMETER num_ctx` of whoever made it.
    pub(crate) pinned: Option<u64>,
}

impl Held {
    /// What `/api/show` answers.
    pub(super) fn shown(&self) -> Value {
        let pinned = self.pinned.map(|window| format!("num_ctx                        {window}"));
        json!({
            "modelfile": "FROM qwen3-coder", "template": "{{ .Prompt }}", "license": "", "system": "", "messages": [],
            "parameters": format!("stop                           \"<|im_end|>\"\n{}", pinned.unwrap_or_default()),
            "details": {
                "parent_model": "", "format": "gguf", "family": "qwen3moe", "families": ["qwen3moe"],
                "parameter_size": "30.5B", "quantization_level": "Q4_K_M",
            },
            "model_info": {
                "general.architecture": "qwen3moe", "general.parameter_count": 30_532_122_624_u64,
                "qwen3moe.block_count": 48, "qwen3moe.context_length": self.context_length,
            },
            "capabilities": if self.tools { json!(["completion", "tools"]) } else { json!(["completion"]) },
            "modified_at": "2026-11-01T10:00:00.000000000Z",
        })
    }

    /// What the server does with a request before the model sees it: refuses it, or cuts it in silence.
    pub(super) fn fit(&self, request: &mut Request) -> Option<Scripted> {
        if !self.tools && !request.body["tools"].is_null() {
            return Some(refused(&format!("\"{}\" does not support tools", request.model)));
        }
        let asked = request.body["options"]["num_ctx"].as_u64().or(self.pinned).unwrap_or(DEFAULT_WINDOW);
        let window = usize::try_from(asked.min(self.context_length)).unwrap_or(usize::MAX);
        let tokens = |body: &Value| body.to_string().len() / BYTES_PER_TOKEN;
        if tokens(&request.body) < window {
            return None;
        }
        if request.body["truncate"] == false && request.body["shift"] == false {
            return Some(refused(TOO_LONG));
        }
        // The oldest go first; the instructions and the last message stay.
        while let Some(messages) = request.body["messages"].as_array_mut().filter(|messages| messages.len() > 2) {
            messages.remove(1);
            if tokens(&request.body) < window {
                break;
            }
        }
        None
    }
}

fn refused(message: &str) -> Scripted {
    Scripted::status(400, json!({ "error": message }).to_string())
}

fn message(number: usize, say: &Say) -> Value {
    let mut message = json!({"role": "assistant", "content": say.text});
    if let Some(thinking) = &say.thinking {
        message["thinking"] = json!(thinking);
    }
    if !say.calls.is_empty() {
        let calls = say.calls.iter().enumerate().map(|(index, call)| {
            let id = call_id(number, index, call, "call_");
            json!({"id": id, "function": {"index": index, "name": call.name, "arguments": arguments(call)}})
        });
        message["tool_calls"] = calls.collect();
    }
    message
}

fn line(model: &str, message: Value) -> Value {
    json!({"model": model, "created_at": "2026-11-23T10:00:00.000000Z", "message": message, "done": false})
}

fn finished(model: &str, message: Value, say: &Say) -> Value {
    let mut last = line(model, message);
    last["done"] = json!(true);
    last["done_reason"] = json!(if stop(say) == StopReason::Length { "length" } else { "stop" });
    for (key, nanoseconds) in [("total_duration", 2_000), ("load_duration", 500), ("eval_duration", 700)] {
        last[key] = json!(nanoseconds);
    }
    last["prompt_eval_duration"] = json!(800);
    if let Some(usage) = &say.usage {
        last["prompt_eval_count"] = json!(usage.input + usage.cache_read + usage.cache_write);
        last["prompt_eval_cached_count"] = json!(usage.cache_read);
        last["eval_count"] = json!(usage.output);
    }
    last
}

/// A reply in one piece.
pub(super) fn whole(number: usize, model: &str, say: &Say) -> Value {
    finished(model, message(number, say), say)
}

/// A reply line by line: thinking, text, then each call whole.
pub(super) fn lines(number: usize, model: &str, say: &Say) -> Vec<u8> {
    let mut out = String::new();
    let mut send = |line: Value| out.push_str(&format!("{line}\n"));
    for piece in pieces(say.thinking.as_deref().unwrap_or_default()) {
        send(line(model, json!({"role": "assistant", "content": "", "thinking": piece})));
    }
    for piece in pieces(&say.text) {
        send(line(model, json!({"role": "assistant", "content": piece})));
    }
    let calls = message(number, say)["tool_calls"].as_array().cloned().unwrap_or_default();
    for call in calls {
        send(line(model, json!({"role": "assistant", "content": "", "tool_calls": [call]})));
    }
    send(finished(model, json!({"role": "assistant", "content": ""}), say));
    out.into_bytes()
}
