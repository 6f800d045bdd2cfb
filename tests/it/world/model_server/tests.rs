//! The checker is checked: a server that never complains would prove nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use upshift::domain::catalogue::Price;
use upshift::domain::chat::Usage;
use upshift::domain::units::MicroUsd;

use crate::world::canary::CANARY;

use super::{ModelServer, Options, Say, Scripted};

/// A user's and a model's content with a call and its answer, as each vendor has it.
const ANTHROPIC: &str = "/v1/messages";
const OPENAI: &str = "/v1/chat/completions";
const GEMINI: &str = "/v1beta/models/m:generateContent";

/// Sends a request as it stands and returns the whole answer.
fn post(server: &ModelServer, path: &str, headers: &str, body: &Value) -> String {
    let mut stream = TcpStream::connect(server.url().trim_start_matches("http://")).unwrap();
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nuser-agent: upshift/0\r\ncontent-type: application/json\r\n{headers}");
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn violations(path: &str, headers: &str, body: &Value) -> Vec<String> {
    let server = ModelServer::start(|_| Say::text("ok").into());
    post(&server, path, headers, body);
    server.violations()
}

fn anthropic(messages: Value) -> Value {
    json!({"model": "m", "max_tokens": 5, "messages": messages})
}

fn openai(messages: Value) -> Value {
    json!({"model": "m", "max_tokens": 5, "messages": messages})
}

fn gemini(contents: Value) -> Value {
    json!({"contents": contents, "generationConfig": {"maxOutputTokens": 5}})
}

const HEADERS: &str = "x-api-key: k\r\nanthropic-version: 2023-06-01\r\nx-goog-api-key: k\r\n";

#[test]
fn proper_requests_raise_no_complaint() {
    let use_tool = json!({"type": "tool_use", "id": "t1", "name": "f", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "out"});
    let messages = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": [use_tool]}, {"role": "user", "content": [result]}]);
    assert_eq!(violations(ANTHROPIC, HEADERS, &anthropic(messages)), Vec::<String>::new());
    let call = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": null, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": "out"}]);
    assert_eq!(violations(OPENAI, "", &openai(messages)), Vec::<String>::new());
    let contents = json!([{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]}]);
    assert_eq!(violations(GEMINI, HEADERS, &gemini(contents)), Vec::<String>::new());
}

#[test]
fn each_breach_is_named() {
    let user = json!({"role": "user", "content": "hi"});
    let asked = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]});
    let late = json!({"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": "t1", "content": "out"}]});
    let stranger = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t9", "content": "out"}]});
    let call = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{"}});
    let said = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let declared = json!([{"functionDeclarations": [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}}]}]);
    for (path, headers, body, complaint) in [
        (ANTHROPIC, "", anthropic(json!([user])), "no x-api-key"),
        (ANTHROPIC, HEADERS, json!({"model": "m", "messages": [user]}), "max_tokens is missing"),
        (ANTHROPIC, HEADERS, anthropic(json!([user, user])), "message 1 is not the assistant's"),
        (ANTHROPIC, HEADERS, anthropic(json!([user, asked, user])), "called were [\"t1\"]"),
        (ANTHROPIC, HEADERS, anthropic(json!([user, asked, late])), "a tool_result after other content"),
        (ANTHROPIC, HEADERS, anthropic(json!([user, asked, stranger])), "answers [\"t9\"]"),
        (
            ANTHROPIC,
            HEADERS,
            anthropic(json!([{"role": "user", "content": [{"type": "text", "text": ""}]}])),
            "empty text",
        ),
        (
            ANTHROPIC,
            HEADERS,
            anthropic(
                json!([user, {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "forged"}]}, user]),
            ),
            "unknown thinking signature",
        ),
        (OPENAI, "", openai(json!([user, said, user])), "comes before the results"),
        (OPENAI, "", openai(json!([user, said])), "arguments are no JSON object text"),
        (OPENAI, "", openai(json!([user, user])), "two user messages in a row"),
        (OPENAI, "", json!({"model": "m", "messages": [user]}), "not exactly one token limit"),
        (
            OPENAI,
            "",
            json!({"model": "m", "max_tokens": 5, "messages": [user], "tool_choice": {"type": "function", "function": {"name": "f"}}}),
            "a forced call",
        ),
        (
            OPENAI,
            "",
            openai(json!([{"role": "user", "content": format!("my key is {CANARY}")}])),
            "a secret stands in the body",
        ),
        (OPENAI, "authorization: Basic x\r\n", openai(json!([user])), "no bearer token"),
        (GEMINI, HEADERS, gemini(json!([{"role": "user", "parts": [{"text": ""}]}])), "an empty part"),
        (
            GEMINI,
            HEADERS,
            gemini(
                json!([{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}, {"role": "user", "parts": [{"text": "x"}]}]),
            ),
            "called were [\"f\"]",
        ),
        (
            GEMINI,
            HEADERS,
            json!({"contents": [{"role": "user", "parts": [{"text": "x"}]}], "generationConfig": {"maxOutputTokens": 5}, "tools": declared}),
            "schema key `pattern`",
        ),
        ("/v1/embeddings", "", json!({}), "no vendor has this path"),
    ] {
        let found = violations(path, headers, &body);
        assert!(found.iter().any(|line| line.contains(complaint)), "{complaint} not in {found:?}");
    }
}

/// The checker sees every request of every test, also of one that never asks for its findings.
#[test]
#[should_panic(expected = "two user messages in a row")]
fn a_breach_fails_a_test_that_does_not_look() {
    let server = ModelServer::start(|_| Say::text("ok").into());
    let user = json!({"role": "user", "content": "hi"});
    post(&server, OPENAI, "", &openai(json!([user, user])));
    drop(server);
}

#[test]
#[should_panic(expected = "not foreseen")]
fn a_request_nobody_scripted_fails_the_test() {
    let server = ModelServer::serving([]);
    post(&server, OPENAI, "", &openai(json!([{"role": "user", "content": "hi"}])));
    server.finish();
}

#[test]
fn the_ledger_bills_replies_and_nothing_else() {
    let price = Price { input: 1_000_000, output: 2_000_000, cache_read: 100_000, cache_write: 1_250_000 };
    let used = Usage { input: 10, output: 5, cache_read: 7, cache_write: 0, reasoning: 0 };
    let answers = [
        Say::text("a").full_usage(used).into(),
        Scripted::status(500, "oops"),
        Scripted::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec()),
        Scripted::Cut { reply: Say::text("b").usage(1, 1), after: 3 },
    ];
    let server = ModelServer::serving_with(Options::default().price("m", price), answers);
    let body = openai(json!([{"role": "system", "content": "mend"}, {"role": "user", "content": "hi"}]));
    for _ in 0..4 {
        post(&server, OPENAI, "", &body);
    }
    let seen = &server.requests()[0];
    assert_eq!((seen.system().as_str(), seen.last_user_text().as_str(), seen.tools().len()), ("mend", "hi", 0));
    assert_eq!(server.finish(), MicroUsd(10 + 10 + 1 + 1 + 2));
}
