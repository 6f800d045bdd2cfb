//! OpenAI's Responses API: models that take tools nowhere else, and thinking that is bound to its conversation.

use serde_json::{Value, json};
use upshift::domain::chat::{Message, StopReason};
use upshift::domain::tool::ToolResult;
use upshift::model::endpoint::Wire;

use super::{all_manners, ask, provider, said, user};
use crate::world::model_server::{ModelServer, Options, Request, Say, Scripted, Vendor};

const MODEL: &str = "openai/gpt-6-luna";
/// What OpenAI's chat completions say to tools for such a model (public reports, July to September 2026).
const REFUSAL: &str = "Function tools with reasoning_effort are not supported for gpt-6-luna in /v1/chat/completions. To use \
                       function tools, use /v1/responses or set reasoning_effort to 'none'.";

pub(super) fn refusal() -> Scripted {
    Scripted::error(Vendor::OpenAi, 400, "invalid_request_error", REFUSAL)
}

/// A server on which such a model can be asked through one API alone.
fn only_responses(options: Options) -> ModelServer {
    ModelServer::start_with(options, |request: &Request| -> Scripted {
        match (request.vendor, request.turn()) {
            (Vendor::Responses, 0 | 1) => {
                Say::call("read_file", json!({ "path": "a.py" })).thinking("hm").usage(900, 40).into()
            }
            (Vendor::Responses, _) => Say::text("It is mended.").thinking("so").usage(950, 20).into(),
            (Vendor::OpenAi | Vendor::Anthropic | Vendor::Gemini | Vendor::Ollama, _) => refusal(),
        }
    })
}

#[tokio::test]
async fn the_model_that_the_vendor_names_is_kept() {
    for options in all_manners() {
        let server = ModelServer::start_with(options, |request: &Request| match request.vendor {
            Vendor::Responses => Say::text("ok").billed_as("gpt-6-luna-2026-01-01").into(),
            Vendor::OpenAi | Vendor::Anthropic | Vendor::Gemini | Vendor::Ollama => refusal(),
        });
        let reply = provider(Wire::OpenAi, &server).ask(&ask(MODEL, vec![user("mend it")])).await.expect("a reply");
        assert_eq!(reply.billed_model.as_deref(), Some("gpt-6-luna-2026-01-01"));
        server.finish();
    }
}

#[tokio::test]
async fn a_model_that_chat_completions_refuse_is_switched_once_and_its_reasoning_goes_back_unchanged() {
    for options in all_manners() {
        let server = only_responses(options);
        let provider = provider(Wire::OpenAi, &server);
        let mut request = ask(MODEL, vec![user("mend it")]);
        for turn in 0..3 {
            assert!(provider.request_bytes(&request) > 0);
            let reply = provider.ask(&request).await.expect("a reply");
            assert_eq!(reply.usage.expect("usage").output, if turn < 2 { 40 } else { 20 });
            let calls = reply.tool_calls.clone();
            let expected = if turn < 2 { StopReason::ToolUse } else { StopReason::EndTurn };
            assert_eq!((reply.stop, calls.len()), (expected, usize::from(turn < 2)));
            request.messages.push(said(reply));
            let results = calls.iter().map(|call| ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                content: "x = 1".to_owned(),
                is_error: false,
            });
            request.messages.push(Message::Tools { results: results.collect(), note: String::new() });
        }
        let asked: Vec<_> = server.requests().iter().map(|request| request.vendor).collect();
        assert_eq!(asked, [Vendor::OpenAi, Vendor::Responses, Vendor::Responses, Vendor::Responses]);
        let last = server.requests().pop().expect("a request").body;
        let kinds: Vec<&str> =
            last["input"].as_array().expect("items").iter().filter_map(|item| item["type"].as_str()).collect();
        assert_eq!(
            kinds,
            [
                "reasoning",
                "function_call",
                "function_call_output",
                "reasoning",
                "function_call",
                "function_call_output"
            ]
        );
        server.finish();
    }
}

#[tokio::test]
async fn a_model_that_is_there_alone_is_asked_there() {
    let said = r#"{"error": {"message": "This model is only supported in v1/responses and not in v1/chat/completions.",
        "type": "invalid_request_error", "param": "model", "code": null}}"#;
    let server = ModelServer::start(move |request: &Request| match request.vendor {
        Vendor::Responses => Say::text("ok").usage(900, 40).into(),
        Vendor::OpenAi | Vendor::Anthropic | Vendor::Gemini | Vendor::Ollama => Scripted::status(404, said),
    });
    let provider = provider(Wire::OpenAi, &server);
    for _ in 0..2 {
        let reply = provider.ask(&ask(MODEL, vec![user("mend it")])).await.expect("a reply");
        assert_eq!(reply.text, "ok");
    }
    let asked: Vec<_> = server.requests().iter().map(|request| request.vendor).collect();
    assert_eq!(asked, [Vendor::OpenAi, Vendor::Responses, Vendor::Responses]);
    server.finish();
}

#[tokio::test]
async fn a_server_without_that_api_keeps_its_own_refusal() {
    let server = ModelServer::start(|request: &Request| match request.vendor {
        Vendor::Responses => Scripted::status(404, "{}"),
        Vendor::OpenAi | Vendor::Anthropic | Vendor::Gemini | Vendor::Ollama => refusal(),
    });
    let provider = provider(Wire::OpenAi, &server);
    for _ in 0..2 {
        let failure = provider.ask(&ask(MODEL, vec![user("mend it")])).await.expect_err("refused");
        assert!(failure.message.contains("use /v1/responses") && !failure.may_be_billed, "{failure:?}");
    }
    assert_eq!(server.requests().iter().filter(|request| request.vendor == Vendor::OpenAi).count(), 2);
    server.finish();
}

#[tokio::test]
async fn a_response_that_is_cut_anywhere_is_no_reply_and_one_that_the_limit_ended_says_so() {
    let whole = only_responses(Options::default());
    let length = {
        let provider = provider(Wire::OpenAi, &whole);
        provider.ask(&ask(MODEL, vec![user("mend it")])).await.expect("a reply");
        4_000
    };
    whole.finish();
    for after in (0..length).step_by(97).chain([usize::MAX]) {
        let server = ModelServer::start(move |request: &Request| match request.vendor {
            Vendor::Responses => {
                Scripted::Cut { reply: Say::text("a long answer").thinking("hm").usage(900, 40), after }
            }
            Vendor::OpenAi | Vendor::Anthropic | Vendor::Gemini | Vendor::Ollama => refusal(),
        });
        let result = provider(Wire::OpenAi, &server).ask(&ask(MODEL, vec![user("mend it")])).await;
        if let Ok(reply) = result {
            // The closing event was there; what is missing is the end of the transport alone.
            assert_eq!(
                (reply.text.as_str(), reply.usage.map(|usage| usage.output)),
                ("a long answer", Some(40)),
                "{after}"
            );
        }
        server.finish();
    }
    let server = ModelServer::start(|request: &Request| match request.vendor {
        Vendor::Responses => Say::text("half an ans").stop(StopReason::Length).usage(900, 40).into(),
        Vendor::OpenAi | Vendor::Anthropic | Vendor::Gemini | Vendor::Ollama => refusal(),
    });
    let reply = provider(Wire::OpenAi, &server).ask(&ask(MODEL, vec![user("mend it")])).await.expect("a reply");
    assert_eq!((reply.stop, reply.text.as_str()), (StopReason::Length, "half an ans"));
    server.finish();
}

/// What Anthropic says of thinking whose conversation before it was changed (public report, September 2026).
const BOUND: &str = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. \
                     Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";

#[tokio::test]
async fn thinking_that_is_bound_to_another_conversation_is_left_out_and_the_call_made_once_more() {
    let holds_thinking = |body: &Value| body["messages"].to_string().contains("\"thinking\"");
    let server = ModelServer::start(move |request: &Request| -> Scripted {
        match request.turn() {
            0 => Say::call("read_file", json!({ "path": "a.py" })).thinking("hm").usage(900, 40).into(),
            _ if holds_thinking(&request.body) => {
                Scripted::error(Vendor::Anthropic, 400, "invalid_request_error", BOUND)
            }
            _ => Say::text("It is mended.").usage(950, 20).into(),
        }
    });
    let provider = provider(Wire::Anthropic, &server);
    let mut request = ask("anthropic/claude-sonnet-5-5", vec![user("mend it")]);
    let reply = provider.ask(&request).await.expect("a reply");
    let call = reply.tool_calls[0].clone();
    request.messages.push(said(reply));
    let result = ToolResult { call_id: call.id, name: call.name, content: "x = 1".to_owned(), is_error: false };
    request.messages.push(Message::Tools { results: vec![result], note: String::new() });
    let reply = provider.ask(&request).await.expect("a reply without the thinking");
    assert_eq!(reply.text, "It is mended.");
    assert_eq!(server.requests().len(), 3);
    server.finish();
}
