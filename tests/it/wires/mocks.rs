//! Two independent mock servers, driven end to end: aimock (npm, `@copilotkit/aimock`) and llmposter (crates.io).
//!
//! They know nothing of us, so that a misreading of a wire that our own scripted vendor shares is seen here. Not part of the
//! plain test run, as they have to be installed: `.ci/mock-models` installs and starts them and runs these tests.

use serde_json::json;
use upshift::domain::chat::{Message, StopReason};
use upshift::domain::receipt::CallStatus;
use upshift::domain::tool::ToolResult;
use upshift::model::Provider;
use upshift::model::endpoint::Wire;

use super::{WIRES, ask, connect, endpoint, said, user};

/// Where `.ci/mock-models` started a server.
#[expect(clippy::disallowed_methods, reason = "the address of a server that a script started outside of the test")]
fn address(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set: run .ci/mock-models"))
}

/// A first turn of two calls, their results, and a last turn of text; returns the first turn's prompt tokens.
async fn mends(provider: &dyn Provider, model: &str, question: &str) -> Option<u64> {
    let mut messages = vec![user(question)];
    let first = provider.ask(&ask(model, messages.clone())).await.unwrap();
    assert_eq!(first.stop, StopReason::ToolUse, "{model}");
    let calls: Vec<_> = first.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.clone())).collect();
    assert_eq!(calls, [("read_file", json!({"path": "src/ä.rs"})), ("list_files", json!({}))], "{model}");
    let prompt = first.usage.map(|usage| usage.input);
    let results = first.tool_calls.iter().map(|call| ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: "fn main() {}".to_owned(),
        is_error: false,
    });
    // llmposter's Gemini wants a text beside the results.
    let results = Message::Tools { results: results.collect(), note: question.to_owned() };
    messages.extend([said(first), results]);
    let last = provider.ask(&ask(model, messages)).await.unwrap();
    assert_eq!((last.text.as_str(), last.stop), ("All mended: Grüße 🦀.", StopReason::EndTurn), "{model}");
    prompt
}

async fn fails(provider: &dyn Provider, model: &str, question: &str) -> (CallStatus, Option<u64>) {
    let failure = provider.ask(&ask(model, vec![user(question)])).await.unwrap_err();
    (failure.status, failure.retry_after_ms)
}

#[tokio::test]
#[ignore = "needs aimock: run .ci/mock-models"]
async fn aimock_is_understood_on_every_wire() {
    let url = address("UPSHIFT_TEST_AIMOCK");
    for (wire, model) in WIRES {
        let provider = connect(endpoint(wire, &url));
        // On Ollama's wire it counts nothing.
        let prompt = if wire == Wire::Ollama { 0 } else { 1_200 };
        assert_eq!(mends(&*provider, model, "[fix] it").await, Some(prompt), "{model}");
        assert_eq!(fails(&*provider, model, "[limit] it").await, (CallStatus::RateLimited, Some(2_000)), "{model}");
        assert_eq!(fails(&*provider, model, "[overloaded] it").await.0, CallStatus::RateLimited, "{model}");
    }
}

#[tokio::test]
#[ignore = "needs llmposter: run .ci/mock-models"]
async fn llmposter_is_understood_on_every_wire() {
    let url = address("UPSHIFT_TEST_LLMPOSTER");
    // It does not speak Ollama's.
    for (wire, model) in WIRES.into_iter().filter(|(wire, _)| *wire != Wire::Ollama) {
        let provider = connect(endpoint(wire, &url));
        // It tells no usage in OpenAI streams: unknown then, not zero.
        let prompt = mends(&*provider, model, "mend it").await;
        assert_eq!(prompt.is_some_and(|tokens| tokens > 0), wire != Wire::OpenAi, "{model}");
        assert_eq!(fails(&*provider, model, "limit-me").await.0, CallStatus::RateLimited, "{model}");
        assert_eq!(fails(&*provider, model, "refuse-me").await.0, CallStatus::AuthError, "{model}");
        assert_eq!(fails(&*provider, model, "break-down").await.0, CallStatus::ModelError, "{model}");
        assert_eq!(fails(&*provider, model, "corrupt-me").await.0, CallStatus::RateLimited, "{model}");
    }
}
