//! Whole conversations: results answer calls, thinking comes back, the prefix stays, replies of one vendor go to another.

use serde_json::{Value, json};
use upshift::domain::catalogue::Price;
use upshift::domain::chat::{ChatRequest, Effort, Message, Usage};
use upshift::domain::tool::{ToolCall, ToolResult};
use upshift::domain::units::MicroUsd;
use upshift::model::Provider;
use upshift::model::endpoint::{Endpoint, Wire};

use super::{WIRES, all_manners, ask, connect, endpoint, provider, said, user};
use crate::world::model_server::{ModelServer, Options, Say};

fn results(calls: &[ToolCall], note: &str) -> Message {
    let results = calls.iter().map(|call| ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: format!("output of {}", call.name),
        is_error: false,
    });
    Message::Tools { results: results.collect(), note: note.to_owned() }
}

/// Runs a conversation until the model calls no more tools; `note` goes with the first results.
async fn converse(provider: &dyn Provider, request: &mut ChatRequest, note: &str) {
    let mut note = note;
    loop {
        let reply = provider.ask(request).await.unwrap();
        let calls = reply.tool_calls.clone();
        request.messages.push(said(reply));
        if calls.is_empty() {
            break;
        }
        request.messages.push(results(&calls, std::mem::take(&mut note)));
    }
}

#[tokio::test]
async fn results_answer_their_calls_on_every_wire() {
    for (wire, model) in WIRES {
        for options in all_manners() {
            let server = ModelServer::serving_with(
                options,
                [
                    Say::call("read_file", json!({"path": "a.rs"})).and_call("list_files", json!({})).into(),
                    Say::text("and").and_call("read_file", json!({"path": "b.rs"})).into(),
                    Say::text("done").into(),
                ],
            );
            let mut request = ask(model, vec![user("mend it")]);
            converse(&*provider(wire, &server), &mut request, "mind the tests").await;
            let requests = server.requests();
            let seen: Vec<_> = requests[1].tool_results().into_iter().map(|result| result.content).collect();
            assert_eq!(seen, ["output of read_file", "output of list_files"], "{wire:?}");
            assert!(requests[1].last_user_text().contains("mind the tests"), "{wire:?}");
            assert_eq!(requests[2].turn(), 2);
            server.finish();
        }
    }
}

#[tokio::test]
async fn thinking_and_its_signature_come_back_unchanged() {
    for (wire, model) in WIRES {
        for options in all_manners() {
            let server = ModelServer::serving_with(
                options,
                [
                    Say::text("").thinking("Hm, let me look.").and_call("read_file", json!({"path": "a.rs"})).into(),
                    Say::text("done").into(),
                ],
            );
            let mut request = ChatRequest { effort: Some(Effort::Low), ..ask(model, vec![user("mend it")]) };
            converse(&*provider(wire, &server), &mut request, "").await;
            let second = &server.requests()[1];
            let body = &second.body;
            match wire {
                Wire::Anthropic => {
                    let thought =
                        json!({"type": "thinking", "thinking": "Hm, let me look.", "signature": "c2lnbmF0dXJl0"});
                    assert_eq!(body["messages"][1]["content"][0], thought);
                }
                Wire::OpenAi => assert_eq!(body["messages"][2]["reasoning_content"], "Hm, let me look."),
                Wire::Gemini => assert_eq!(body["contents"][1]["parts"][1]["thoughtSignature"], "c2lnbmF0dXJl0"),
                Wire::Ollama => assert_eq!(body["messages"][2]["thinking"], "Hm, let me look."),
            }
            server.finish();
        }
    }
}

/// The request as a cache sees it: in bytes, without the markers that say where to cache and without the end of the list.
fn cached_part(body: &Value, wire: Wire) -> String {
    let mut text = body.to_string().replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
    let (list, tail) = match wire {
        Wire::Gemini => ("contents", "],\"generationConfig\""),
        Wire::Ollama => ("messages", "],\"options\""),
        Wire::Anthropic | Wire::OpenAi => ("messages", "],\"max_"),
    };
    assert!(text.find("\"tools\"").unwrap() < text.find(&format!("\"{list}\"")).unwrap(), "tools come before messages");
    text.truncate(text.rfind(tail).unwrap());
    text
}

#[tokio::test]
async fn each_turns_request_begins_with_the_bytes_of_the_one_before() {
    for (wire, model) in WIRES {
        let server = ModelServer::start(|request| match request.turn() {
            0 => Say::text("first").thinking("hm").and_call("read_file", json!({"path": "a.rs"})).into(),
            1 => Say::text("").and_call("read_file", json!({"path": "b.rs"})).and_call("list_files", json!({})).into(),
            2 => Say::text("").and_raw_call("read_file", "{\"path\": ").into(),
            3 => Say::call("list_files", json!({})).into(),
            _ => Say::text("done").into(),
        });
        let mut request = ask(model, vec![user("mend it")]);
        request.max_output_tokens = 9_999;
        converse(&*provider(wire, &server), &mut request, "a note").await;
        let requests = server.requests();
        assert_eq!(requests.len(), 5);
        for pair in requests.windows(2) {
            let (before, after) = (cached_part(&pair[0].body, wire), cached_part(&pair[1].body, wire));
            assert!(after.starts_with(&before), "{wire:?}\n{before}\n{after}");
        }
        server.finish();
    }
}

#[tokio::test]
async fn anthropic_gets_cache_points_at_tools_system_and_the_last_two_turns() {
    let server = ModelServer::start(|request| match request.turn() {
        0..3 => Say::call("list_files", json!({})).into(),
        _ => Say::text("done").into(),
    });
    let mut request = ask("claude-sonnet-4-5", vec![user("mend it")]);
    converse(&*provider(Wire::Anthropic, &server), &mut request, "").await;
    let last = server.requests().pop().unwrap().body;
    assert!(last["tools"][1]["cache_control"].is_object() && last["tools"][0]["cache_control"].is_null());
    assert!(last["system"][0]["cache_control"].is_object());
    let marked: Vec<_> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"][0]["cache_control"].is_object())
        .collect();
    assert_eq!(marked, [false, false, false, false, true, false, true]);
    server.finish();
}

#[tokio::test]
async fn a_conversation_may_move_from_vendor_to_vendor() {
    let (anthropic, openai, gemini) = (WIRES[0], WIRES[1], WIRES[2]);
    for order in [[anthropic, openai, gemini], [gemini, anthropic, openai], [openai, gemini, anthropic]] {
        let server = ModelServer::start(|request| match request.turn() {
            0 | 1 => Say::text("")
                .thinking("hm")
                .and_call("read_file", json!({"path": "a"}))
                .and_call("list_files", json!({}))
                .into(),
            _ => Say::text("done").into(),
        });
        let mut messages = vec![user("mend it")];
        for (wire, model) in order {
            let request = ChatRequest { effort: Some(Effort::High), ..ask(model, messages.clone()) };
            let reply = provider(wire, &server).ask(&request).await.unwrap();
            let calls = reply.tool_calls.clone();
            messages.push(said(reply));
            if !calls.is_empty() {
                messages.push(results(&calls, ""));
            }
        }
        server.finish();
    }
}

#[tokio::test]
async fn ids_of_other_vendors_are_made_to_fit_mistral() {
    let server = ModelServer::serving([Say::text("done").into()]);
    let call = ToolCall {
        id: "toolu_01A09q90qw90lq917835lq9".to_owned(),
        name: "list_files".to_owned(),
        arguments: json!({}),
    };
    let messages = vec![
        user("mend it"),
        Message::Assistant { text: String::new(), tool_calls: vec![call.clone()], opaque: None },
        results(&[call], "mind the tests"),
    ];
    let mistral = connect(Endpoint { name: "mistral".to_owned(), ..endpoint(Wire::OpenAi, &server.url()) });
    mistral.ask(&ask("mistral/devstral-latest", messages)).await.unwrap();
    let sent = server.requests()[0].body["messages"].clone();
    let id = sent[2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
    assert_eq!(sent[3]["tool_call_id"], id);
    assert_eq!(sent[3]["content"], "output of list_files\n\nmind the tests", "no user message may follow a tool's");
    server.finish();
}

#[tokio::test]
async fn empty_texts_outputs_and_replies_are_never_sent_empty() {
    for (wire, model) in WIRES {
        let server = ModelServer::serving([Say::text("done").into()]);
        let call = ToolCall { id: "c1".to_owned(), name: "list_files".to_owned(), arguments: json!("{broken") };
        let empty = ToolResult {
            call_id: "c1".to_owned(),
            name: "list_files".to_owned(),
            content: String::new(),
            is_error: true,
        };
        let messages = vec![
            user("mend it"),
            Message::Assistant { text: " \n".to_owned(), tool_calls: Vec::new(), opaque: None },
            user(""),
            user("go on"),
            Message::Assistant { text: String::new(), tool_calls: vec![call], opaque: None },
            Message::Tools { results: vec![empty], note: String::new() },
            user("well?"),
        ];
        provider(wire, &server).ask(&ask(model, messages)).await.unwrap();
        server.finish();
    }
}

#[tokio::test]
async fn effort_and_temperature_are_set_only_where_the_model_has_them() {
    let cases: [(Wire, &str, &str, Value, bool); 8] = [
        (Wire::Anthropic, "claude-sonnet-4-5", "/thinking/type", json!("enabled"), false),
        (Wire::Anthropic, "claude-opus-5-5", "/output_config/effort", json!("high"), false),
        (Wire::Anthropic, "anthropic/unheard-of", "/thinking", Value::Null, true),
        (Wire::OpenAi, "openai/gpt-4.1", "/reasoning_effort", Value::Null, true),
        (Wire::OpenAi, "gpt-5-mini", "/reasoning_effort", json!("high"), false),
        (Wire::Gemini, "gemini-2.5-flash", "/generationConfig/thinkingConfig/thinkingBudget", json!(2_048), true),
        (Wire::Gemini, "gemini-3.8-flash", "/generationConfig/thinkingConfig/thinkingLevel", json!("HIGH"), true),
        (Wire::Gemini, "gemini/unheard-of", "/generationConfig/thinkingConfig", Value::Null, true),
    ];
    for (wire, model, pointer, value, warm) in cases {
        let server = ModelServer::serving([Say::text("ok").into()]);
        let request =
            ChatRequest { effort: Some(Effort::High), temperature: Some(0.5), ..ask(model, vec![user("mend it")]) };
        provider(wire, &server).ask(&request).await.unwrap();
        let body = server.requests()[0].body.clone();
        assert_eq!(body.pointer(pointer).cloned().unwrap_or_default(), value, "{model}");
        let temperature = body.get("temperature").or_else(|| body.pointer("/generationConfig/temperature"));
        assert_eq!(temperature.is_some(), warm, "{model}");
        server.finish();
    }
}

#[tokio::test]
async fn what_the_vendor_bills_is_what_the_usage_says_on_every_wire() {
    let price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
    let options =
        all_manners().into_iter().map(|options| options.price("claude", price).price("g", price).price("qwen", price));
    for options in options {
        let mut turn = 0;
        let server = ModelServer::start_with(options, move |_| {
            turn += 1;
            let used = Usage {
                input: 101 * turn,
                output: 7 * turn,
                cache_read: 33 * turn,
                cache_write: 11 * turn,
                reasoning: turn,
            };
            Say::text("ok").full_usage(used).into()
        });
        let mut receipts = MicroUsd::ZERO;
        for (wire, model) in WIRES {
            for _ in 0..3 {
                let reply = provider(wire, &server).ask(&ask(model, vec![user("mend it")])).await.unwrap();
                receipts += price.cost(&reply.usage.unwrap());
            }
        }
        assert_eq!(receipts, server.finish());
    }
}

#[tokio::test]
async fn an_alias_is_sent_as_the_vendors_name() {
    let server = ModelServer::start_with(Options::default(), |_| Say::text("ok").into());
    provider(Wire::Anthropic, &server).ask(&ask("claude-haiku-4", vec![user("hello")])).await.unwrap();
    assert_eq!(server.requests()[0].model, "claude-haiku-4-5");
    server.finish();
}
