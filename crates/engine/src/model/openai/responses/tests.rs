use super::*;
use crate::domain::chat::Message;
use crate::domain::model_id::ModelId;
use crate::domain::tool::{ToolResult, ToolSpec};

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": format!("sealed-{id}")})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "read_file", "arguments": "{\"path\":\"a\"}", "status": "completed"})
}

fn folded(events: &[Value]) -> Stream {
    let mut stream = Stream::default();
    for event in events {
        assert!(stream.event(event.clone()).is_ok(), "{event}");
    }
    stream
}

fn request(messages: Vec<Message>) -> ChatRequest {
    ChatRequest {
        target: ModelId::parse("openai/gpt-6-luna").unwrap(),
        system: "You mend code.".to_owned(),
        tools: vec![ToolSpec {
            name: "read_file".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        }],
        messages,
        max_output_tokens: 900,
        context_window: 32_768,
        effort: Some(crate::domain::chat::Effort::Low),
        temperature: Some(0.2),
    }
}

#[test]
fn items_count_as_they_are_when_done_and_the_last_event_has_the_usage() {
    let usage = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}, "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 130});
    let early = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "half"});
    let stream = folded(&[
        json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": early}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning("rs_1")}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{"}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": call("call_1")}),
    ]);
    assert!(!stream.is_complete() && stream.usage_told().is_none());
    let mut stream = stream;
    let end = json!({"type": "response.completed", "response": {"status": "completed", "output": [early, call("call_1")], "usage": usage}});
    assert!(stream.event(end).is_ok() && stream.is_complete());
    let used = stream.usage_told().unwrap();
    assert_eq!((used.input, used.cache_read, used.output, used.reasoning), (40, 60, 30, 20));
    assert_eq!(stream.into_message()["output"], json!([reasoning("rs_1"), call("call_1")]));
}

#[test]
fn an_error_in_the_stream_is_the_vendors_own() {
    let mut stream = Stream::default();
    let error = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": null});
    assert!(matches!(stream.event(error.clone()), Err(Broken::Error(told)) if told == error));
}

#[test]
fn reasoning_goes_back_unchanged_before_what_followed_it_and_every_result_answers_its_call() {
    let kept = json!([reasoning("rs_1"), call("call_1"), reasoning("rs_2")]);
    let arguments = json!({"path": "a"});
    let messages = vec![
        Message::User { text: "mend it".to_owned() },
        Message::Assistant {
            text: String::new(),
            tool_calls: vec![ToolCall { id: "call_1".to_owned(), name: "read_file".to_owned(), arguments }],
            opaque: Some(Opaque { provider: "openai".to_owned(), content: kept }),
        },
        Message::Tools {
            results: vec![ToolResult {
                call_id: "call_1".to_owned(),
                name: "read_file".to_owned(),
                content: "text".to_owned(),
                is_error: false,
            }],
            note: "two turns left".to_owned(),
        },
    ];
    let body = encode(&request(messages.clone()), "openai", &Quirks::default());
    let call =
        json!({"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": "{\"path\":\"a\"}"});
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "text"});
    let note = json!({"role": "user", "content": "two turns left"});
    let first = json!({"role": "user", "content": "mend it"});
    assert_eq!(
        body["input"],
        json!([first, reasoning("rs_1"), call, output, note]),
        "reasoning that nothing follows stays here"
    );
    assert_eq!((&body["store"], &body["include"]), (&json!(false), &json!(["reasoning.encrypted_content"])));
    assert_eq!((&body["reasoning"], &body["temperature"]), (&json!({"effort": "low"}), &Value::Null));
    assert_eq!((&body["max_output_tokens"], &body["tools"][0]["strict"]), (&json!(900), &json!(false)));
    // What another provider thought is not its business.
    let body = encode(&request(messages), "azure", &Quirks::default());
    assert_eq!(body["input"], json!([first, call, output, note]));
}

#[test]
fn a_reply_without_calls_and_reasoning_alone_is_text() {
    let opaque = json!([reasoning("rs_1")]);
    assert_eq!(reply_items("", &[], Some(&opaque)), [json!({"role": "assistant", "content": NO_TEXT})]);
    assert_eq!(reply_items("done", &[], None), [json!({"role": "assistant", "content": "done"})]);
}

#[test]
fn how_a_response_ended_is_told() {
    let of = |answer: Value| stop_reason(&answer, &[]);
    let incomplete = |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
    assert_eq!(of(incomplete("max_output_tokens")), StopReason::Length);
    assert_eq!(of(incomplete("content_filter")), StopReason::ContentFilter);
    assert_eq!(of(json!({"status": "completed"})), StopReason::EndTurn);
    assert_eq!(of(json!({"status": "queued"})), StopReason::Other);
}
