//! What a vendor says, streamed or not, arrives whole and the same.

use serde_json::{Value, json};
use upshift::domain::chat::{StopReason, Usage};
use upshift::domain::receipt::CallStatus;
use upshift::model::endpoint::{Endpoint, Wire};

use super::{WIRES, ask, connect, endpoint, on_every_wire, provider, user};
use crate::world::model_server::{ModelServer, Options, Say, Scripted, Vendor};

#[tokio::test]
async fn text_arrives_whole_however_it_is_cut() {
    let text = "Grüße, 世界! 🦀 \"quoted\" \\ and\nlines\r\n: data: [DONE]";
    on_every_wire(
        || Say::text(text).into(),
        |wire, result| {
            let reply = result.unwrap();
            assert_eq!((reply.text.as_str(), reply.stop), (text, StopReason::EndTurn), "{wire:?}");
            assert!(reply.tool_calls.is_empty());
        },
    )
    .await;
}

#[tokio::test]
async fn parallel_calls_arrive_in_order_with_their_arguments() {
    on_every_wire(
        || {
            let path = json!({"path": "src/ä \"b\".rs", "deep": {"n": [1, 2.5, null]}});
            Say::text("Let me see.").and_call("read_file", path).and_call("list_files", json!({})).into()
        },
        |wire, result| {
            let reply = result.unwrap();
            assert_eq!(reply.stop, StopReason::ToolUse, "{wire:?}");
            assert_eq!(reply.text, "Let me see.");
            let calls: Vec<_> = reply.tool_calls.iter().map(|call| (call.name.as_str(), &call.arguments)).collect();
            let path = json!({"path": "src/ä \"b\".rs", "deep": {"n": [1, 2.5, null]}});
            assert_eq!(calls, [("read_file", &path), ("list_files", &json!({}))], "{wire:?}");
            assert_ne!(reply.tool_calls[0].id, reply.tool_calls[1].id);
        },
    )
    .await;
}

#[tokio::test]
async fn every_kind_of_token_is_counted_once() {
    let used = Usage { input: 1_000, output: 50, cache_read: 300, cache_write: 70, reasoning: 20 };
    on_every_wire(
        || Say::text("ok").full_usage(used).into(),
        |wire, result| {
            let told = match wire {
                Wire::Anthropic | Wire::OpenAi => used,
                // It has no cache writes.
                Wire::Gemini => Usage { input: 1_070, cache_write: 0, ..used },
                // Nor has it, and what a reply's thinking took it does not say.
                Wire::Ollama => Usage { input: 1_070, cache_write: 0, reasoning: 0, ..used },
            };
            assert_eq!(result.unwrap().usage, Some(told), "{wire:?}");
        },
    )
    .await;
}

#[tokio::test]
async fn the_model_that_the_vendor_names_is_kept_on_one_line() {
    on_every_wire(
        || Say::text("ok").billed_as(" model-2026-01-01\n").into(),
        |wire, result| assert_eq!(result.unwrap().billed_model.as_deref(), Some("model-2026-01-01"), "{wire:?}"),
    )
    .await;
    on_every_wire(
        || Say::text("ok").billed_as("").into(),
        |wire, result| assert_eq!(result.unwrap().billed_model, None, "{wire:?}"),
    )
    .await;
}

#[tokio::test]
async fn missing_usage_is_unknown_and_not_zero() {
    on_every_wire(
        || Say::text("ok").without_usage().into(),
        |wire, result| assert_eq!(result.unwrap().usage, None, "{wire:?}"),
    )
    .await;
}

#[tokio::test]
async fn a_reply_cut_by_its_limit_says_so_even_with_calls() {
    on_every_wire(
        || Say::text("half").and_raw_call("read_file", r#"{"path": "a"}"#).stop(StopReason::Length).into(),
        |wire, result| assert_eq!(result.unwrap().stop, StopReason::Length, "{wire:?}"),
    )
    .await;
}

#[tokio::test]
async fn a_refusal_and_a_filter_are_told_apart_from_an_ending() {
    on_every_wire(
        || Say::text("I cannot help with that.").stop(StopReason::Refusal).into(),
        |wire, result| {
            let expected = match wire {
                Wire::Gemini => StopReason::ContentFilter,
                // A model on one's own machine refuses in its words alone.
                Wire::Ollama => StopReason::EndTurn,
                Wire::Anthropic | Wire::OpenAi => StopReason::Refusal,
            };
            let reply = result.unwrap();
            assert_eq!((reply.stop, reply.text.as_str()), (expected, "I cannot help with that."), "{wire:?}");
        },
    )
    .await;
    on_every_wire(
        || Say::text("").stop(StopReason::ContentFilter).into(),
        |wire, result| {
            let expected = match wire {
                Wire::Anthropic => StopReason::Refusal,
                Wire::Ollama => StopReason::EndTurn,
                Wire::OpenAi | Wire::Gemini => StopReason::ContentFilter,
            };
            assert_eq!(result.unwrap().stop, expected, "{wire:?}");
        },
    )
    .await;
}

#[tokio::test]
async fn an_empty_reply_is_a_reply() {
    on_every_wire(
        || Say::text("").into(),
        |wire, result| {
            let reply = result.unwrap();
            assert_eq!((reply.text.as_str(), reply.tool_calls.len()), ("", 0), "{wire:?}");
            assert!(reply.usage.is_some());
        },
    )
    .await;
}

#[tokio::test]
async fn broken_arguments_are_kept_as_they_came() {
    for (wire, model) in [WIRES[0], WIRES[1]] {
        let broken = r#"{"path": "src/lib.rs"#;
        let server = ModelServer::serving([Say::text("").and_raw_call("read_file", broken).into()]);
        let reply = provider(wire, &server).ask(&ask(model, vec![user("mend it")])).await.unwrap();
        assert_eq!(reply.tool_calls[0].arguments, Value::String(broken.to_owned()), "{wire:?}");
        server.finish();
    }
}

#[tokio::test]
async fn a_call_without_arguments_has_an_empty_object() {
    for (wire, model) in [WIRES[0], WIRES[1]] {
        let server = ModelServer::serving([Say::text("").and_raw_call("list_files", "").into()]);
        let reply = provider(wire, &server).ask(&ask(model, vec![user("mend it")])).await.unwrap();
        assert_eq!(reply.tool_calls[0].arguments, json!({}), "{wire:?}");
        server.finish();
    }
}

#[tokio::test]
async fn calls_that_share_an_id_are_told_apart() {
    let server = ModelServer::serving([Say::call("read_file", json!({"path": "a"}))
        .with_id("same")
        .and_call("list_files", json!({}))
        .with_id("same")
        .into()]);
    let reply = provider(Wire::OpenAi, &server).ask(&ask("openai/gpt-4.1", vec![user("mend it")])).await.unwrap();
    assert_ne!(reply.tool_calls[0].id, reply.tool_calls[1].id);
    server.finish();
}

#[tokio::test]
async fn an_event_stream_under_a_wrong_content_type_is_read_all_the_same() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let server = ModelServer::serving([Scripted::Body { content_type: "text/plain", body: body.to_owned() }]);
    let reply = provider(Wire::OpenAi, &server).ask(&ask("openai/gpt-4.1", vec![user("hello")])).await.unwrap();
    assert_eq!(reply.text, "hi");
}

#[tokio::test]
async fn plain_json_under_a_wrong_content_type_is_read_all_the_same() {
    let body = r#"{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    let answer = Scripted::Body { content_type: "text/event-stream", body: body.to_owned() };
    let server = ModelServer::serving_with(Options::default().chunk_bytes(1), [answer]);
    let reply = provider(Wire::OpenAi, &server).ask(&ask("openai/gpt-4.1", vec![user("hello")])).await.unwrap();
    assert_eq!(reply.text, "hi");
}

#[tokio::test]
async fn gemini_says_why_it_blocked_a_prompt() {
    let body =
        json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 7}}).to_string();
    let server = ModelServer::serving([Scripted::Body { content_type: "application/json", body }]);
    let reply = provider(Wire::Gemini, &server).ask(&ask("gemini-2.5-flash", vec![user("hello")])).await.unwrap();
    assert_eq!((reply.stop, reply.usage.unwrap().input), (StopReason::ContentFilter, 7));
    assert!(reply.text.contains("SAFETY"));
}

#[tokio::test]
async fn a_malformed_gemini_call_is_an_invalid_response_that_was_paid_for() {
    let body = json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}], "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3}});
    let server = ModelServer::serving([Scripted::Body { content_type: "application/json", body: body.to_string() }]);
    let failure = provider(Wire::Gemini, &server).ask(&ask("gemini-2.5-flash", vec![user("hello")])).await.unwrap_err();
    assert_eq!((failure.status, failure.retryable), (CallStatus::InvalidResponse, true));
    assert_eq!(failure.usage.map(|usage| (usage.input, usage.output)), Some((7, 3)));
}

#[tokio::test]
async fn base_urls_with_and_without_version_reach_the_same_place() {
    for (wire, model) in WIRES {
        let (version, reached) = match wire {
            Wire::Gemini => ("/v1beta", "/v1beta/"),
            Wire::Ollama => ("/v1", "/api/chat"),
            Wire::Anthropic | Wire::OpenAi => ("/v1", "/v1/"),
        };
        for suffix in ["", "/", version, &format!("{version}/")] {
            let server = ModelServer::serving([Say::text("ok").into()]);
            let provider = connect(endpoint(wire, &format!("{}{suffix}", server.url())));
            provider.ask(&ask(model, vec![user("hello")])).await.unwrap();
            assert!(server.requests()[0].path.starts_with(reached), "{}", server.requests()[0].path);
            server.finish();
        }
    }
}

#[tokio::test]
async fn each_vendor_of_the_openai_wire_gets_what_it_wants() {
    for (name, model, path, limit) in [
        ("openai", "o3", "/v1/chat/completions", "max_completion_tokens"),
        ("groq", "openai/gpt-oss-20b", "/v1/chat/completions", "max_completion_tokens"),
        ("mistral", "devstral-latest", "/v1/chat/completions", "max_tokens"),
        ("deepseek", "deepseek-v4-flash", "/v1/chat/completions", "max_tokens"),
        ("openrouter", "anthropic/claude-sonnet-4.6", "/v1/chat/completions", "max_tokens"),
        ("xai", "grok-4.7", "/v1/chat/completions", "max_completion_tokens"),
        ("my-vllm", "qwen", "/v1/chat/completions", "max_tokens"),
        (
            "azure",
            "our model",
            "/openai/deployments/our%20model/chat/completions?api-version=2024-10-21",
            "max_completion_tokens",
        ),
    ] {
        let server = ModelServer::serving([Say::text("ok").into()]);
        let endpoint = Endpoint { name: name.to_owned(), ..endpoint(Wire::OpenAi, &server.url()) };
        connect(endpoint).ask(&ask(&format!("{name}/{model}"), vec![user("hello")])).await.unwrap();
        let request = &server.requests()[0];
        assert_eq!(request.path, path, "{name}");
        assert!(request.body.get(limit).is_some(), "{name}: {}", request.body);
        assert_eq!(request.header("api-key").is_some(), name == "azure");
        assert_eq!(request.body.get("stream_options").is_some(), name != "mistral");
        server.finish();
    }
}

#[tokio::test]
async fn azure_takes_a_version_and_its_newer_path() {
    let server = ModelServer::serving([Say::text("ok").into(), Say::text("ok").into()]);
    let azure = |url: String, version: Option<&str>| {
        connect(Endpoint {
            name: "azure".to_owned(),
            api_version: version.map(str::to_owned),
            ..endpoint(Wire::OpenAi, &url)
        })
    };
    let request = ask("azure/dep", vec![user("hello")]);
    azure(format!("{}/openai/", server.url()), Some("2025-01-01")).ask(&request).await.unwrap();
    azure(format!("{}/openai/v1/", server.url()), None).ask(&request).await.unwrap();
    let paths: Vec<_> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(
        paths,
        ["/openai/deployments/dep/chat/completions?api-version=2025-01-01", "/openai/v1/chat/completions"]
    );
    server.finish();
}

#[tokio::test]
async fn a_local_server_needs_no_key() {
    let server = ModelServer::serving([Say::text("ok").into()]);
    let provider = connect(Endpoint::new("ollama", Wire::OpenAi, server.url()));
    provider.ask(&ask("ollama/qwen3-coder", vec![user("hello")])).await.unwrap();
    assert_eq!(server.requests()[0].header("authorization"), None);
    server.finish();
}

#[tokio::test]
async fn deepseeks_own_cache_count_is_understood() {
    let body = json!({"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}});
    let server = ModelServer::serving([Scripted::Body { content_type: "application/json", body: body.to_string() }]);
    let provider = connect(Endpoint { name: "deepseek".to_owned(), ..endpoint(Wire::OpenAi, &server.url()) });
    let usage = provider.ask(&ask("deepseek/deepseek-v4-flash", vec![user("hello")])).await.unwrap().usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (36, 64, 5));
}

#[tokio::test]
async fn the_size_counted_is_the_size_sent() {
    for (wire, model) in WIRES {
        let server = ModelServer::serving_with(Options::default(), [Say::text("ok").into()]);
        let provider = provider(wire, &server);
        let request = ask(model, vec![user("Grüße 🦀")]);
        provider.ask(&request).await.unwrap();
        assert_eq!(server.requests()[0].raw.len() as u64, provider.request_bytes(&request), "{wire:?}");
        server.finish();
    }
}

#[tokio::test]
async fn a_field_that_a_compatible_server_refuses_is_left_out_from_then_on() {
    let server = ModelServer::start(|request| {
        let refuse = |field: &str| {
            let message = format!("Unsupported parameter: '{field}' is not supported with this model.");
            Scripted::error(Vendor::OpenAi, 400, "unsupported_parameter", &message)
        };
        match request.number {
            0 => refuse("max_tokens"),
            1 => Say::text("ok").into(),
            2 => refuse("stream_options"),
            3 => Say::text("ok").into(),
            _ => refuse("max_completion_tokens"),
        }
    });
    let provider = connect(Endpoint { name: "my-proxy".to_owned(), ..endpoint(Wire::OpenAi, &server.url()) });
    let request = ask("my-proxy/model", vec![user("hello")]);
    provider.ask(&request).await.unwrap();
    provider.ask(&request).await.unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests[3].body["max_completion_tokens"].is_number() && requests[3].body["stream_options"].is_null());
    // Refused again for the same field: that is an answer, not something to try.
    assert_eq!(provider.ask(&request).await.unwrap_err().status, CallStatus::ModelError);
    assert_eq!(server.requests().len(), 5);
    server.finish();
}
