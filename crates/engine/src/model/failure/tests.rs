//! The error table: what vendors are documented to answer, and what it must become.

use super::*;
use serde_json::json;

fn blamed() -> Blamed {
    Blamed {
        provider: "acme".to_owned(),
        key_variable: Some("ACME_API_KEY".to_owned()),
        scrubber: Scrubber::new(Some(SecretString::from("sk-live-0123456789abcdef"))),
    }
}

fn refused(status: u16, body: &Value) -> CallFailure {
    blamed().refused(status, &HeaderMap::new(), 0, &Complaint::of_json(body))
}

#[test]
fn vendors_words_for_a_prompt_that_does_not_fit_are_recognised() {
    let anthropic = |text: &str| json!({"type": "error", "error": {"type": "invalid_request_error", "message": text}});
    let openai =
        |code: &str, text: &str| json!({"error": {"message": text, "type": "invalid_request_error", "code": code}});
    for (status, body) in [
        (400, anthropic("prompt is too long: 210000 tokens > 200000 maximum")),
        (400, anthropic("input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000")),
        (
            413,
            json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
        ),
        (400, openai("context_length_exceeded", "This model's maximum context length is 128000 tokens.")),
        (413, openai("tokens_limit_reached", "Request body too large for gpt-4.1 model. Max size: 8000 tokens.")),
        (
            429,
            openai(
                "rate_limit_exceeded",
                "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 43000.",
            ),
        ),
        (
            400,
            json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}),
        ),
        (
            400,
            json!({"object": "error", "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", "code": "3051"}),
        ),
        (400, json!({"error": "This model's maximum prompt length is 131072 but the request contains 140000 tokens."})),
        (
            400,
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds the available context size"}}),
        ),
        (413, json!(null)),
    ] {
        let failure = refused(status, &body);
        assert_eq!(
            (failure.status, failure.retryable, failure.may_be_billed),
            (CallStatus::ContextOverflow, false, false),
            "{body}"
        );
    }
}

#[test]
fn used_up_quota_is_no_passing_limit() {
    for (status, body) in [
        (
            429,
            json!({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}}),
        ),
        (
            400,
            json!({"error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}}),
        ),
        (402, json!({"error": {"message": "Insufficient Balance", "type": "unknown_error"}})),
        (402, json!({"error": {"code": 402, "message": "This request requires more credits, or fewer max_tokens."}})),
        (
            429,
            json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota, limit: 0",
            "details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}),
        ),
    ] {
        let failure = refused(status, &body);
        assert_eq!((failure.status, failure.retryable), (CallStatus::QuotaExceeded, false), "{body}");
        assert_eq!(failure.retry_after_ms, None);
    }
}

#[test]
fn geminis_daily_limit_lasts_until_the_day_is_over() {
    let body = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota, limit: 250",
        "details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]}});
    let failure = refused(429, &body);
    assert_eq!((failure.status, failure.retryable), (CallStatus::RateLimited, true));
    assert!(failure.retry_after_ms.is_some_and(|wait| wait > 37_000), "not the delay that is named: {failure:?}");
}

#[test]
fn geminis_minute_limit_is_a_rate_limit_with_its_delay() {
    let body = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota, please check your plan",
        "details": [{"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]},
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]}});
    let failure = refused(429, &body);
    assert_eq!(
        (failure.status, failure.retryable, failure.retry_after_ms),
        (CallStatus::RateLimited, true, Some(37_000))
    );
}

#[test]
fn errors_with_status_200_are_judged_by_their_own_words() {
    let typed = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "Something"}});
    for (body, status, retryable) in [
        (typed("overloaded_error"), CallStatus::RateLimited, true),
        (typed("rate_limit_error"), CallStatus::RateLimited, true),
        (typed("api_error"), CallStatus::ModelError, true),
        (typed("authentication_error"), CallStatus::AuthError, false),
        (typed("invalid_request_error"), CallStatus::ModelError, false),
        (json!({"error": {"code": 429, "message": "slow down"}}), CallStatus::RateLimited, true),
        (json!({"error": {"code": 502, "message": "upstream"}}), CallStatus::ModelError, true),
        (json!({"error": "Rate limit reached, try again in 20s"}), CallStatus::RateLimited, true),
    ] {
        let failure = refused(200, &body);
        assert_eq!((failure.status, failure.retryable), (status, retryable), "{body}");
    }
}

#[test]
fn a_bad_gemini_key_is_an_auth_error_although_400() {
    let body = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid. Please pass a valid API key.",
        "details": [{"reason": "API_KEY_INVALID"}]}});
    assert_eq!(refused(400, &body).status, CallStatus::AuthError);
}

#[test]
fn no_key_and_no_piece_of_one_survives() {
    for echo in ["sk-live-0123456789abcdef", "sk-live-01***cdef", "key=sk-live-0123456789abcdef;", "…6789abcdef."] {
        let failure =
            refused(401, &json!({"error": {"message": format!("Incorrect API key provided: {echo} (see docs)")}}));
        assert!(!failure.message.contains("0123") && !failure.message.contains("abcdef"), "{}", failure.message);
        assert!(
            failure.message.contains("ACME_API_KEY") && failure.message.contains("see docs"),
            "{}",
            failure.message
        );
    }
}

#[test]
fn vendor_text_is_one_short_line() {
    let failure = refused(500, &json!({"error": {"message": format!("a\n::error::b\r{}", "x".repeat(5_000))}}));
    assert!(!failure.message.contains(['\n', '\r']) && failure.message.chars().count() < 500, "{}", failure.message);
}
