//! Recording and replaying.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::domain::chat::StopReason;
use crate::domain::tool::{ToolCall, ToolResult};
use crate::domain::units::MicroUsd;
use crate::redact::Redactor;

/// Answers each call with its number. The second fails.
#[derive(Debug, Default)]
struct Counting(std::sync::atomic::AtomicU64);

fn reply(text: &str, calls: Vec<ToolCall>) -> Reply {
    let usage = Usage { input: 1_000, output: 100, ..Usage::default() };
    Reply {
        text: text.to_owned(),
        tool_calls: calls,
        stop: StopReason::EndTurn,
        usage: Some(usage),
        opaque: None,
        billed_model: None,
        bill: Bill::default(),
    }
}

impl Provider for Counting {
    fn ask<'a>(&'a self, _request: &'a ChatRequest) -> ReplyFuture<'a> {
        let number = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let failed = CallFailure {
            status: CallStatus::RateLimited,
            message: "slow down".to_owned(),
            http_status: Some(429),
            retry_after_ms: Some(7),
            retryable: true,
            usage: None,
            may_be_billed: false,
            bill: Box::default(),
        };
        Box::pin(std::future::ready(if number == 1 {
            Err(failed)
        } else {
            Ok(reply(&format!("reply {number}"), vec![]))
        }))
    }

    fn request_bytes(&self, _request: &ChatRequest) -> u64 {
        0
    }
}

fn request(target: &str, messages: Vec<Message>) -> ChatRequest {
    ChatRequest {
        target: ModelId::parse(target).unwrap(),
        system: "mend".to_owned(),
        tools: Vec::new(),
        messages,
        max_output_tokens: 100,
        context_window: 32_768,
        effort: None,
        temperature: None,
    }
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

/// A conversation: a question, then the reply and a tool's result.
fn conversation(output: &str) -> Vec<Message> {
    let call = ToolCall { id: "x1".to_owned(), name: "run_tests".to_owned(), arguments: json!({}) };
    let result = ToolResult {
        call_id: "x1".to_owned(),
        name: "run_tests".to_owned(),
        content: output.to_owned(),
        is_error: false,
    };
    vec![
        user("mend it"),
        Message::Assistant { text: String::new(), tool_calls: vec![call], opaque: None },
        Message::Tools { results: vec![result], note: String::new() },
    ]
}

async fn recorded(path: &Path) {
    let tape = Tape::create(path, Arc::new(Redactor::default()), |_| ()).unwrap();
    let provider = tape.wrap(Box::new(Counting::default()));
    provider.ask(&request("anthropic/claude-haiku-4-5", vec![user("mend it")])).await.unwrap();
    provider.ask(&request("anthropic/claude-haiku-4-5", vec![user("mend it")])).await.unwrap_err();
    let output = "test a ... FAILED (0.03s)\nleft: 3\nright: 4\n";
    provider.ask(&request("anthropic/claude-opus-4-6", conversation(output))).await.unwrap();
    assert_eq!(tape.take_warning(), None);
}

#[tokio::test]
async fn what_was_recorded_is_replayed_failures_included() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.json");
    recorded(&path).await;
    let target = format!("cassette/{}", path.display());
    let mut cassettes = Cassettes::default();
    cassettes.open(&ModelId::parse(&target).unwrap()).unwrap();
    assert_eq!(cassettes.ask(&request(&target, vec![user("mend it")])).await.unwrap().text, "reply 0");
    let failure = cassettes.ask(&request(&target, vec![user("mend it")])).await.unwrap_err();
    assert_eq!((failure.status, failure.retry_after_ms), (CallStatus::RateLimited, Some(7)));
    let took_longer = "test a ... FAILED (9.41s)\nleft: 3\nright: 4\n";
    assert_eq!(cassettes.ask(&request(&target, conversation(took_longer))).await.unwrap().text, "reply 2");
    let over = cassettes.ask(&request(&target, vec![user("more")])).await.unwrap_err();
    assert!(over.message.contains("only 3 were recorded") && !over.retryable, "{over}");
}

#[tokio::test]
async fn one_cassette_serves_several_models_each_in_its_own_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.json");
    recorded(&path).await;
    let mut cassettes = Cassettes::default();
    cassettes.insert("demo", Cassette::open(&path).unwrap());
    let opus = request("cassette/demo#claude-opus-4-6", conversation("test a ... FAILED (1s)\nleft: 3\nright: 4\n"));
    assert_eq!(cassettes.ask(&opus).await.unwrap().text, "reply 2");
    let haiku = request("cassette/demo#anthropic/claude-haiku-4-5", vec![user("mend it")]);
    assert_eq!(cassettes.ask(&haiku).await.unwrap().text, "reply 0");
}

#[tokio::test]
async fn a_request_that_does_not_fit_says_where() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.json");
    recorded(&path).await;
    let mut cassettes = Cassettes::default();
    cassettes.insert("demo", Cassette::open(&path).unwrap());
    let ask = |messages| request("cassette/demo#claude-opus-4-6", messages);
    let other_output = ask(conversation("test a ... FAILED (0.03s)\nleft: 3\nright: 5\n"));
    let failure = cassettes.ask(&other_output).await.unwrap_err();
    assert_eq!((failure.status, failure.retryable, failure.may_be_billed), (CallStatus::ModelError, false, false));
    for part in ["call 1", "message 3 (tools) differs", "-right: 4", "+right: 5", "→ Fix:"] {
        assert!(failure.message.contains(part), "{part} in {failure}");
    }
    let failure = cassettes.ask(&ask(vec![user("mend it")])).await.unwrap_err();
    assert!(failure.message.contains("had 3 messages and has 1"), "{failure}");
    let mut other_system = ask(conversation("test a ... FAILED (0.03s)\nleft: 3\nright: 4\n"));
    other_system.system = "break".to_owned();
    let failure = cassettes.ask(&other_system).await.unwrap_err();
    assert!(failure.message.contains("the system prompt differs"), "{failure}");
}

#[tokio::test]
async fn a_cassette_written_by_hand_may_leave_requests_out_and_show_prices() {
    let text = json!({
        "cassette": 1,
        "models": {"cheap": {"pricedAs": "anthropic/claude-haiku-4-5"}},
        "calls": [
            {"model": "cheap", "reply": {"text": "hi", "tool_calls": [], "stop": "end_turn",
                "usage": {"input": 1000, "output": 100, "cache_read": 0, "cache_write": 0, "reasoning": 0}}},
            {"model": "strong", "reply": {"text": "ho", "tool_calls": [], "stop": "end_turn", "usage": null}},
        ],
    });
    let mut cassettes = Cassettes::default();
    cassettes.insert("demo", Cassette::from_text("demo", &text.to_string()).unwrap());
    let cheap = request("cassette/demo#cheap", vec![user("whatever")]);
    let price = cassettes.model_info(&cheap.target).unwrap().price.unwrap();
    let usage = cassettes.ask(&cheap).await.unwrap().usage.unwrap();
    assert_eq!(price.cost(&usage), MicroUsd(1_000 + 500));
    let strong = ModelId::parse("cassette/demo#strong").unwrap();
    assert_eq!(cassettes.model_info(&strong).unwrap().price.unwrap().cost(&usage), MicroUsd::ZERO);
}

#[test]
fn a_file_that_is_no_cassette_is_refused_with_the_place() {
    let error =
        Cassette::from_text("x.json", "{\"cassette\": 1, \"calls\": [{\"model\": 5}]}").unwrap_err().to_string();
    assert!(error.contains("x.json") && error.contains("line 1") && error.contains("→ Fix:"), "{error}");
    let error = Cassette::from_text("x.json", "{\"cassette\": 9, \"calls\": []}").unwrap_err().to_string();
    assert!(error.contains("format 9"), "{error}");
    let text = r#"{"cassette": 1, "models": {"a": {"pricedAs": "anthropic/unheard-of"}}, "calls": []}"#;
    assert!(Cassette::from_text("x.json", text).unwrap_err().to_string().contains("unheard-of"));
    assert!(Cassette::open(Path::new("/nowhere/x.json")).unwrap_err().to_string().contains("/nowhere/x.json"));
}

#[test]
fn a_recording_never_overwrites_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("precious.json");
    std::fs::write(&path, "precious").unwrap();
    assert!(matches!(Tape::create(&path, Arc::new(Redactor::default()), |_| ()), Err(CassetteError::Write { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}
