//! The error table: one test per row, on every wire where the row can happen.

use serde_json::json;
use upshift::domain::chat::Usage;
use upshift::domain::receipt::CallStatus;
use upshift::model::CallFailure;
use upshift::model::endpoint::{Endpoint, Wire};

use super::{KEY, WIRES, ask, connect, endpoint, provider, user};
use crate::world::model_server::{ModelServer, Options, Say, Scripted, Vendor};

/// What a row must become: the class, whether to try again, whether it may have cost something.
type Row = (CallStatus, bool, bool);

async fn failure_of(wire: Wire, model: &str, answer: Scripted) -> CallFailure {
    let server = ModelServer::serving([answer]);
    let failure = provider(wire, &server).ask(&ask(model, vec![user("mend it")])).await.unwrap_err();
    server.finish();
    failure
}

const fn vendor(wire: Wire) -> Vendor {
    match wire {
        Wire::Anthropic => Vendor::Anthropic,
        Wire::OpenAi => Vendor::OpenAi,
        Wire::Gemini => Vendor::Gemini,
        Wire::Ollama => Vendor::Ollama,
    }
}

/// Answers a status in each vendor's own shape, with each vendor's own word for it.
async fn status_becomes(code: u16, words: [&str; 3], message: &str, row: Row) {
    for ((wire, model), word) in WIRES.into_iter().zip(words) {
        let failure = failure_of(wire, model, Scripted::error(vendor(wire), code, word, message)).await;
        assert_eq!((failure.status, failure.retryable, failure.may_be_billed), row, "{wire:?}: {failure}");
        assert_eq!(failure.http_status, Some(code));
        assert!(failure.message.contains("→ Fix:"), "{failure}");
        assert!(!failure.message.contains(KEY), "{failure}");
    }
}

#[tokio::test]
async fn status_400_is_a_model_error_that_stays() {
    let words = ["invalid_request_error", "invalid_value", "INVALID_ARGUMENT"];
    status_becomes(400, words, "tools.0: field required", (CallStatus::ModelError, false, false)).await;
}

#[tokio::test]
async fn status_400_for_length_is_a_context_overflow() {
    let words = ["invalid_request_error", "context_length_exceeded", "INVALID_ARGUMENT"];
    let message = "prompt is too long: 210000 tokens exceeds the maximum number of tokens allowed";
    status_becomes(400, words, message, (CallStatus::ContextOverflow, false, false)).await;
}

#[tokio::test]
async fn status_401_is_an_auth_error_without_the_key() {
    let words = ["authentication_error", "invalid_api_key", "UNAUTHENTICATED"];
    let echo = format!("Incorrect API key provided: {KEY}. Or sk-test-0***cdef.");
    status_becomes(401, words, &echo, (CallStatus::AuthError, false, false)).await;
    let failure =
        failure_of(Wire::OpenAi, WIRES[1].1, Scripted::error(Vendor::OpenAi, 401, "invalid_api_key", &echo)).await;
    assert!(failure.message.contains("TEST_API_KEY") && !failure.message.contains("cdef"), "{failure}");
}

#[tokio::test]
async fn status_402_is_a_used_up_quota() {
    let words = ["billing_error", "payment_required", "FAILED_PRECONDITION"];
    status_becomes(402, words, "Insufficient Balance", (CallStatus::QuotaExceeded, false, false)).await;
}

#[tokio::test]
async fn status_403_is_an_auth_error() {
    let words = ["permission_error", "forbidden", "PERMISSION_DENIED"];
    status_becomes(403, words, &format!("{KEY} may not use this model"), (CallStatus::AuthError, false, false)).await;
}

#[tokio::test]
async fn status_404_is_a_model_error_that_stays() {
    let words = ["not_found_error", "model_not_found", "NOT_FOUND"];
    status_becomes(404, words, "model: claude-nothing", (CallStatus::ModelError, false, false)).await;
}

#[tokio::test]
async fn status_408_is_a_timeout_that_may_have_cost() {
    status_becomes(
        408,
        ["timeout_error", "timeout", "DEADLINE_EXCEEDED"],
        "too slow",
        (CallStatus::Timeout, true, true),
    )
    .await;
}

#[tokio::test]
async fn status_413_is_a_context_overflow() {
    let words = ["request_too_large", "tokens_limit_reached", "INVALID_ARGUMENT"];
    status_becomes(413, words, "Request body too large", (CallStatus::ContextOverflow, false, false)).await;
}

#[tokio::test]
async fn status_429_is_a_rate_limit_and_costs_nothing() {
    let words = ["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"];
    status_becomes(429, words, "slow down", (CallStatus::RateLimited, true, false)).await;
}

#[tokio::test]
async fn status_429_with_retry_after_says_when() {
    for (wire, model) in WIRES {
        let answer = Scripted::status(429, "{}").header("retry-after", "7");
        assert_eq!(failure_of(wire, model, answer).await.retry_after_ms, Some(7_000), "{wire:?}");
        let dated = Scripted::status(429, "{}")
            .header("date", "Tue, 17 Feb 2026 09:00:00 GMT")
            .header("retry-after", "Tue, 17 Feb 2026 09:00:45 GMT");
        assert_eq!(failure_of(wire, model, dated).await.retry_after_ms, Some(45_000), "{wire:?}");
        let silent = failure_of(wire, model, Scripted::status(429, "")).await;
        assert_eq!((silent.status, silent.retry_after_ms), (CallStatus::RateLimited, None), "{wire:?}");
    }
}

#[tokio::test]
async fn status_429_for_quota_is_a_used_up_quota() {
    let answer = Scripted::error(Vendor::OpenAi, 429, "insufficient_quota", "You exceeded your current quota");
    let failure = failure_of(Wire::OpenAi, WIRES[1].1, answer).await;
    assert_eq!((failure.status, failure.retryable), (CallStatus::QuotaExceeded, false));
}

#[tokio::test]
async fn status_500_may_pass_and_may_have_cost() {
    status_becomes(500, ["api_error", "server_error", "INTERNAL"], "oops", (CallStatus::ModelError, true, true)).await;
}

#[tokio::test]
async fn status_502_from_a_gateway_with_a_page_may_pass() {
    for (wire, model) in WIRES {
        let failure = failure_of(wire, model, Scripted::status(502, "<html><h1>502 Bad Gateway</h1></html>")).await;
        assert_eq!(
            (failure.status, failure.retryable, failure.may_be_billed),
            (CallStatus::ModelError, true, true),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn status_503_may_pass_and_costs_nothing() {
    let words = ["api_error", "service_unavailable", "UNAVAILABLE"];
    status_becomes(503, words, "try later", (CallStatus::ModelError, true, false)).await;
}

#[tokio::test]
async fn status_529_is_a_limit() {
    let words = ["overloaded_error", "overloaded", "UNAVAILABLE"];
    status_becomes(529, words, "Overloaded", (CallStatus::RateLimited, true, false)).await;
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let answer = Scripted::status(307, "").header("location", "http://elsewhere.invalid/v1/messages");
    let failure = failure_of(Wire::Anthropic, WIRES[0].1, answer).await;
    assert_eq!((failure.status, failure.http_status), (CallStatus::ModelError, Some(307)));
    assert!(failure.message.contains("base URL"), "{failure}");
}

#[tokio::test]
async fn an_error_event_inside_a_stream_ends_the_call() {
    let events = |data: serde_json::Value| format!("event: error\ndata: {data}\n\n");
    let start = json!({"type": "message_start", "message": {"role": "assistant", "usage": {"input_tokens": 90, "output_tokens": 1}}});
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let body = format!("data: {start}\n\n{}", events(overloaded));
    let failure =
        failure_of(Wire::Anthropic, WIRES[0].1, Scripted::Body { content_type: "text/event-stream", body }).await;
    assert_eq!((failure.status, failure.retryable, failure.may_be_billed), (CallStatus::RateLimited, true, true));
    // The prompt was counted, the reply was not.
    assert_eq!(failure.usage.map(|usage| (usage.input, usage.output)), Some((90, 1)));
    assert!(failure.bill.is_open);

    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"hal\"}}]}\n\ndata: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n";
    let answer = Scripted::Body { content_type: "text/event-stream", body: body.to_owned() };
    let failure = failure_of(Wire::OpenAi, WIRES[1].1, answer).await;
    assert_eq!((failure.status, failure.retryable, failure.may_be_billed), (CallStatus::ModelError, true, true));
    assert_eq!(failure.usage, None);
}

#[tokio::test]
async fn a_limit_told_as_text_with_status_200_is_a_limit() {
    for (wire, model) in WIRES {
        for (content_type, body) in [
            ("text/plain", "Rate limit exceeded, try again in 20s"),
            ("application/json", r#"{"error": "Rate limit exceeded, try again in 20s"}"#),
            ("application/json", r#"{"error": {"type": "rate_limit_error", "message": "try again in 20s"}}"#),
        ] {
            let answer = Scripted::Body { content_type, body: body.to_owned() };
            let failure = failure_of(wire, model, answer).await;
            assert_eq!(
                (failure.status, failure.retry_after_ms),
                (CallStatus::RateLimited, Some(20_000)),
                "{wire:?} {body}"
            );
        }
    }
}

#[tokio::test]
async fn a_model_that_speaks_of_rate_limits_is_not_limited() {
    for (wire, model) in WIRES {
        let text = "The test fails with `429 Too Many Requests: rate limit`; I raised the quota.";
        let server = ModelServer::serving([Say::text(text).into()]);
        let reply = provider(wire, &server).ask(&ask(model, vec![user("mend it")])).await.unwrap();
        assert_eq!(reply.text, text);
        server.finish();
    }
}

#[tokio::test]
async fn malformed_answers_are_invalid_responses_that_may_have_cost() {
    for (wire, model) in WIRES {
        for (content_type, body) in [
            ("application/json", r#"{"choices": [{"mess"#),
            ("application/json", ""),
            ("application/json", "{}"),
            ("application/json", "[]"),
            ("text/html", "<html>welcome to the captive portal</html>"),
            ("text/event-stream", "data: {\"type\": \"message_st\n\n"),
        ] {
            let failure = failure_of(wire, model, Scripted::Body { content_type, body: body.to_owned() }).await;
            let got = (failure.status, failure.retryable, failure.may_be_billed);
            assert_eq!(got, (CallStatus::InvalidResponse, true, true), "{wire:?} {body}: {failure}");
        }
    }
}

#[tokio::test]
async fn a_connection_cut_before_the_answer_may_have_cost() {
    for (wire, model) in WIRES {
        let failure = failure_of(wire, model, Scripted::Drop).await;
        assert_eq!(
            (failure.status, failure.retryable, failure.may_be_billed),
            (CallStatus::NetworkError, true, true),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn a_reply_cut_at_any_byte_is_whole_or_a_network_error_and_never_half() {
    for (wire, model) in WIRES {
        for options in [Options::default(), Options::default().json_only()] {
            for after in (0..4_000).step_by(37).chain([usize::MAX]) {
                let reply = Say::text("Grüße").and_call("read_file", json!({"path": "a.rs"})).usage(90, 12);
                let server = ModelServer::serving_with(options.clone(), [Scripted::Cut { reply, after }]);
                let result = provider(wire, &server).ask(&ask(model, vec![user("mend it")])).await;
                match result {
                    Ok(reply) => {
                        assert_eq!(
                            (reply.text.as_str(), reply.tool_calls.len()),
                            ("Grüße", 1),
                            "{wire:?} cut after {after}"
                        );
                        assert_eq!(reply.tool_calls[0].arguments, json!({"path": "a.rs"}));
                    }
                    Err(failure) => {
                        assert_eq!(failure.status, CallStatus::NetworkError, "{wire:?} cut after {after}: {failure}");
                        assert!(failure.may_be_billed && failure.retryable);
                        let counted = |usage: Usage| usage.output >= 12 || failure.bill.is_open;
                        let told = failure.usage.is_none_or(|usage| usage.input == 90 && counted(usage));
                        assert!(told, "{wire:?} cut after {after}: {failure:?}");
                    }
                }
                server.finish();
            }
        }
    }
}

#[tokio::test]
async fn a_cut_anthropic_stream_keeps_what_was_counted() {
    let reply = Say::text("a long text that is cut somewhere in the middle").usage(90, 12);
    let failure = failure_of(Wire::Anthropic, WIRES[0].1, Scripted::Cut { reply, after: 900 }).await;
    // As it was told at the beginning, and nothing made up.
    assert_eq!(failure.usage.map(|usage| (usage.input, usage.output)), Some((90, 1)));
    assert!(failure.bill.is_open);
}

#[tokio::test]
async fn a_refused_connection_costs_nothing() {
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    for (wire, model) in WIRES {
        let provider = connect(endpoint(wire, &format!("http://127.0.0.1:{port}")));
        let failure = provider.ask(&ask(model, vec![user("mend it")])).await.unwrap_err();
        assert_eq!((failure.status, failure.retryable, failure.may_be_billed), (CallStatus::NetworkError, true, false));
        assert!(failure.message.contains("cannot connect"), "{failure}");
    }
}

#[tokio::test]
async fn an_unknown_host_costs_nothing() {
    let provider = connect(endpoint(Wire::OpenAi, "http://no-such-host.invalid"));
    let failure = provider.ask(&ask(WIRES[1].1, vec![user("mend it")])).await.unwrap_err();
    assert_eq!((failure.status, failure.may_be_billed), (CallStatus::NetworkError, false), "{failure}");
}

#[tokio::test]
async fn a_failed_tls_handshake_costs_nothing() {
    let server = ModelServer::start(|_| Scripted::Unexpected);
    let provider = connect(endpoint(Wire::OpenAi, &server.url().replace("http://", "https://")));
    let failure = provider.ask(&ask(WIRES[1].1, vec![user("mend it")])).await.unwrap_err();
    assert_eq!((failure.status, failure.may_be_billed), (CallStatus::NetworkError, false), "{failure}");
    server.finish();
}

#[tokio::test]
async fn a_certificate_file_that_is_missing_is_named() {
    let settings = upshift::http::HttpSettings { extra_ca: Some("/nowhere/ca.pem".into()), ..Default::default() };
    let endpoint: Endpoint = endpoint(Wire::OpenAi, "https://127.0.0.1:1");
    let http = upshift::http::Http::new(settings);
    let provider = endpoint.connect(&http, std::sync::Arc::new(upshift::domain::clock::SystemClock::new())).unwrap();
    let failure = provider.ask(&ask(WIRES[1].1, vec![user("mend it")])).await.unwrap_err();
    assert_eq!((failure.status, failure.retryable, failure.may_be_billed), (CallStatus::NetworkError, false, false));
    assert!(failure.message.contains("/nowhere/ca.pem"), "{failure}");
}
