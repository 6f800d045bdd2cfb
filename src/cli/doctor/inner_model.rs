//! A model of the doctor's own: speaks the four wires on loopback and says one thing, so that an agent can be tried out for nothing.
//!
//! Invariant: it listens while a trial lasts, and nothing that it is told is kept.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The longest request that is read, in bytes: agents send all their tools.
const MAX_REQUEST: usize = 8 * 1024 * 1024;
/// Tokens that it says it read and wrote.
const TOKENS: (u64, u64) = (1_000, 10);

/// Answers every client with these words, until it is dropped.
pub(super) async fn serve(listener: TcpListener, words: &'static str) -> std::convert::Infallible {
    let mut asked = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    asked.spawn(answer(stream, words));
                }
            }
            // Answers that are done are taken out, so that they do not pile up during a trial.
            Some(_) = asked.join_next(), if !asked.is_empty() => {}
        }
    }
}

/// Reads one request and writes one answer. A client that breaks off needs none.
async fn answer(mut stream: TcpStream, words: &'static str) {
    let Some((path, body)) = read(&mut stream).await else { return };
    let (kind, text) = reply(&path, &body, words);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    // An agent may close the connection once it has read enough, which is no fault.
    drop(stream.write_all(format!("{head}{text}").as_bytes()).await);
    drop(stream.shutdown().await);
}

/// The path and the body of a request.
async fn read(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
            let length = head.lines().filter_map(|line| line.split_once(':'));
            // Header names come in any case, by RFC 9110.
            let mut length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length: usize = length.next().and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0);
            let body = end.checked_add(4)?;
            let whole = body.checked_add(length).filter(|whole| *whole <= MAX_REQUEST)?;
            if let Some(body) = bytes.get(body..whole) {
                let path = head.split_whitespace().nth(1)?.to_owned();
                // Counting calls come without a body that matters, so one that is no JSON is answered, too.
                return Some((path, serde_json::from_slice(body).unwrap_or_default()));
            }
        }
        if bytes.len() > MAX_REQUEST || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// The content type and the text of an answer.
fn reply(path: &str, body: &Value, words: &str) -> (&'static str, String) {
    const JSON: &str = "application/json";
    let (input, _) = TOKENS;
    // Some agents count before they ask.
    if path.contains("count_tokens") {
        return (JSON, json!({ "input_tokens": input }).to_string());
    }
    if path.contains(":countTokens") {
        return (JSON, json!({ "totalTokens": input }).to_string());
    }
    let model = body.get("model").cloned().unwrap_or_default();
    // Gemini asks for a stream by its address, the others by a field.
    let streams = body.get("stream") == Some(&Value::Bool(true)) || path.contains(":streamGenerate");
    let (whole, pieces) = if path.contains("/messages") {
        messages(&model, words)
    } else if path.contains("/responses") {
        responses(&model, words)
    } else if path.contains("enerateContent") {
        generate(words)
    } else {
        chat(&model, words)
    };
    if streams { ("text/event-stream", pieces) } else { (JSON, whole.to_string()) }
}

fn event(value: &Value) -> String {
    match value.get("type").and_then(Value::as_str) {
        Some(kind) => format!("event: {kind}\ndata: {value}\n\n"),
        None => format!("data: {value}\n\n"),
    }
}

fn messages(model: &Value, words: &str) -> (Value, String) {
    let (input, output) = TOKENS;
    let message = |content: Value, stop: Value| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content, "stop_reason": stop,
               "stop_sequence": null, "usage": {"input_tokens": input, "output_tokens": output}})
    };
    let pieces = [
        json!({"type": "message_start", "message": message(json!([]), Value::Null)}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": output}}),
        json!({"type": "message_stop"}),
    ];
    let whole = message(json!([{"type": "text", "text": words}]), json!("end_turn"));
    (whole, pieces.iter().map(event).collect())
}

fn responses(model: &Value, words: &str) -> (Value, String) {
    let (input, output) = TOKENS;
    let part = json!({"type": "output_text", "text": words, "annotations": []});
    let item = |status: &str, content: Value| json!({"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content});
    let done = item("completed", json!([part]));
    let response = |status: &str, items: Value, usage: Value| {
        json!({"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": model, "status": status, "output": items,
               "usage": usage})
    };
    let usage = json!({"input_tokens": input, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": output,
                       "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": input + output});
    let whole = response("completed", json!([done]), usage);
    let empty = json!({"type": "output_text", "text": "", "annotations": []});
    let at = json!({"output_index": 0, "item_id": "msg_1", "content_index": 0});
    let mut pieces = [
        json!({"type": "response.created", "response": response("in_progress", json!([]), Value::Null)}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item("in_progress", json!([]))}),
        with(&at, &json!({"type": "response.content_part.added", "part": empty})),
        with(&at, &json!({"type": "response.output_text.delta", "delta": words})),
        with(&at, &json!({"type": "response.output_text.done", "text": words})),
        json!({"type": "response.output_item.done", "output_index": 0, "item": done}),
        json!({"type": "response.completed", "response": whole}),
    ];
    for (number, piece) in pieces.iter_mut().enumerate() {
        *piece = with(piece, &json!({ "sequence_number": number }));
    }
    (whole, pieces.iter().map(event).collect())
}

/// The fields of both.
fn with(one: &Value, other: &Value) -> Value {
    let fields = [one, other].into_iter().filter_map(Value::as_object).flatten();
    Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn chat(model: &Value, words: &str) -> (Value, String) {
    let (input, output) = TOKENS;
    let usage = json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output});
    let base = json!({"id": "chatcmpl-1", "created": 1_700_000_000, "model": model});
    let message = json!([{"index": 0, "message": {"role": "assistant", "content": words}, "finish_reason": "stop"}]);
    let whole = with(&base, &json!({"object": "chat.completion", "choices": message, "usage": usage}));
    let piece = |choices: Value| with(&base, &json!({"object": "chat.completion.chunk", "choices": choices}));
    let pieces = [
        piece(json!([{"index": 0, "delta": {"role": "assistant", "content": words}, "finish_reason": null}])),
        piece(json!([{"index": 0, "delta": {}, "finish_reason": "stop"}])),
        // The usage comes in a chunk without choices, as OpenAI sends it with `include_usage`.
        with(&piece(json!([])), &json!({ "usage": usage })),
    ];
    (whole, pieces.iter().map(event).chain(["data: [DONE]\n\n".to_owned()]).collect())
}

fn generate(words: &str) -> (Value, String) {
    let (input, output) = TOKENS;
    let content = json!({"role": "model", "parts": [{"text": words}]});
    let usage = json!({"promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output});
    let whole =
        json!({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage});
    let piece = event(&whole);
    (whole, piece)
}
