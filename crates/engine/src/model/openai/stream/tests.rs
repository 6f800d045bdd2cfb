//! Real streams of compatible servers.

use super::*;

fn fold(chunks: &[Value]) -> Value {
    let mut stream = Stream::default();
    for chunk in chunks {
        stream.event(json!({"choices": [{"delta": chunk}]})).unwrap();
    }
    stream.into_message()["choices"][0]["message"].clone()
}

fn calls(chunks: &[Value]) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let message = fold(chunks);
    let calls = message["tool_calls"].as_array().unwrap().clone();
    calls
        .iter()
        .map(|call| (text(&call["id"]), text(&call["function"]["name"]), text(&call["function"]["arguments"])))
        .collect()
}

fn expected() -> Vec<(String, String, String)> {
    vec![("a".into(), "read".into(), "{\"x\":1}".into()), ("b".into(), "list".into(), "{}".into())]
}

#[test]
fn interleaved_calls_are_told_apart_by_index() {
    let chunks = [
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": ""}}]}),
        json!({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "list", "arguments": "{"}}]}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"x\":"}}]}),
        json!({"tool_calls": [{"index": 1, "function": {"arguments": "}"}}, {"index": 0, "function": {"arguments": "1}"}}]}),
    ];
    assert_eq!(calls(&chunks), expected());
}

#[test]
fn calls_that_all_bear_index_zero_are_told_apart_by_id() {
    let chunks = [
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"x\":1}"}}]}),
        json!({"tool_calls": [{"index": 0, "id": "b", "function": {"name": "list", "arguments": "{}"}}]}),
    ];
    assert_eq!(calls(&chunks), expected());
}

#[test]
fn calls_without_index_continue_the_last_one() {
    let chunks = [
        json!({"tool_calls": [{"id": "a", "function": {"name": "read", "arguments": "{\"x\""}}]}),
        json!({"tool_calls": [{"function": {"arguments": ":1}"}}]}),
        json!({"tool_calls": [{"id": "b", "function": {"name": "list", "arguments": "{}"}}]}),
    ];
    assert_eq!(calls(&chunks), expected());
}

#[test]
fn a_name_repeated_in_every_piece_is_taken_once() {
    let chunks = [
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"x\""}}]}),
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": ":1}"}}]}),
        json!({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "list", "arguments": "{}"}}]}),
    ];
    assert_eq!(calls(&chunks), expected());
}

#[test]
fn an_absurd_index_makes_no_absurd_list() {
    let piece = json!({"tool_calls": [{"index": 4_000_000_000u64, "id": "a", "function": {"name": "read", "arguments": "{}"}}]});
    assert_eq!(calls(&[piece]).len(), 1);
}

#[test]
fn thinking_parts_in_a_content_list_are_no_text() {
    let message = fold(&[
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
        json!({"content": [{"type": "text", "text": "hi"}]}),
    ]);
    assert_eq!(message["content"], "hi");
}
