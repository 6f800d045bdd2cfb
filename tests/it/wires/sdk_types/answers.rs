//! What the scripted vendor can answer beside the replies of runs: every reason to stop, every kind of token, refusals.

use serde_json::json;
use upshift::domain::chat::{ChatRequest, Effort, Message, StopReason, Usage};
use upshift::domain::tool::ToolResult;
use upshift::model::endpoint::{Endpoint, Wire};

use super::recordings::Recordings;
use crate::wires::{ask, connect, endpoint, said, user};
use crate::world::model_server::{ModelServer, Options, Request, Say, Scripted, Vendor};

/// Each vendor's wire with a model that is asked through it.
pub(super) const VENDORS: [(Vendor, Wire, &str); 5] = [
    (Vendor::Anthropic, Wire::Anthropic, "anthropic/claude-haiku-4-5"),
    (Vendor::OpenAi, Wire::OpenAi, "openai/gpt-4.1"),
    (Vendor::Responses, Wire::OpenAi, "openai/gpt-6-luna"),
    (Vendor::Gemini, Wire::Gemini, "gemini/gemini-2.5-flash"),
    (Vendor::Ollama, Wire::Ollama, "ollama/qwen3-coder"),
];
const STOPS: [StopReason; 6] = [
    StopReason::EndTurn,
    StopReason::ToolUse,
    StopReason::Length,
    StopReason::ContentFilter,
    StopReason::Refusal,
    StopReason::Other,
];

/// Records them, plain and streamed.
pub(super) fn record(recordings: &Recordings) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for (vendor, wire, model) in VENDORS {
        for options in [Options::default(), Options::default().json_only()] {
            runtime.block_on(stops(recordings, vendor, wire, model, options));
        }
        runtime.block_on(errors(recordings, vendor, wire, model));
    }
    runtime.block_on(openrouters_reasoning(recordings));
}

/// A server at which a model of the Responses API is refused by chat completions, as at OpenAI.
fn server(
    vendor: Vendor,
    options: Options,
    mut script: impl FnMut(&Request) -> Scripted + Send + 'static,
) -> ModelServer {
    ModelServer::start_with(options, move |request| {
        let refused = vendor == Vendor::Responses && request.vendor == Vendor::OpenAi;
        if refused { crate::wires::responses::refusal() } else { script(request) }
    })
}

async fn stops(recordings: &Recordings, vendor: Vendor, wire: Wire, model: &str, options: Options) {
    for stop in STOPS {
        let usage = Usage { input: 900, output: 40, cache_read: 30, cache_write: 20, reasoning: 7 };
        let server = server(vendor, options.clone(), move |_| {
            let say = Say::text("As far as I can see.").full_usage(usage).stop(stop);
            if stop == StopReason::ToolUse && vendor != Vendor::OpenAi {
                say.thinking("hm").and_call("list_files", json!({})).into()
            } else {
                say.into()
            }
        });
        drop(connect(endpoint(wire, &server.url())).ask(&ask(model, vec![user("mend it")])).await);
        recordings.add_all(provider_of(model), &format!("{stop:?}"), &server.requests(), &server.answers());
        server.finish();
    }
}

async fn errors(recordings: &Recordings, vendor: Vendor, wire: Wire, model: &str) {
    let server = server(vendor, Options::default(), move |request| {
        Scripted::error(request.vendor, 401, "authentication_error", "no such key")
    });
    drop(connect(endpoint(wire, &server.url())).ask(&ask(model, vec![user("mend it")])).await);
    recordings.add_all(provider_of(model), "a refused key", &server.requests(), &server.answers());
    server.finish();
}

pub(super) fn provider_of(model: &str) -> &str {
    model.split('/').next().expect("a provider")
}

/// A session of two turns with thinking, a call and its result; recorded are the requests and the answers.
pub(super) async fn session(vendor: Vendor, wire: Wire, model: &str, options: Options) -> ModelServer {
    let server = server(vendor, options, |request| match (request.turn(), request.vendor) {
        // Chat completions of OpenAI itself never show what a model thought.
        (0, Vendor::OpenAi) => Say::text("I look.").and_call("read_file", json!({ "path": "a.rs" })).into(),
        (0, _) => Say::text("I look.").thinking("hm").and_call("read_file", json!({ "path": "a.rs" })).into(),
        _ => Say::text("done").into(),
    });
    let provider = connect(endpoint(wire, &server.url()));
    let mut request = ChatRequest { effort: Some(Effort::High), ..ask(model, vec![user("mend it")]) };
    let reply = provider.ask(&request).await.expect("a call");
    go_on(&mut request, reply);
    provider.ask(&request).await.expect("an end");
    server
}

/// The reply and the results of its calls.
fn go_on(request: &mut ChatRequest, reply: upshift::domain::chat::Reply) {
    let results = reply.tool_calls.iter().map(|call| ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: "fn main() {}".to_owned(),
        is_error: false,
    });
    let results = Message::Tools { results: results.collect(), note: String::new() };
    request.messages.extend([said(reply), results]);
}

/// OpenRouter's signed reasoning (openrouter.ai, "Reasoning Tokens", "Preserving reasoning"), which goes back as it came.
async fn openrouters_reasoning(recordings: &Recordings) {
    let details = json!([{ "type": "reasoning.text", "text": "hm", "signature": "c2ln", "id": null, "format": "anthropic-claude-v1", "index": 0 }]);
    let call = json!({ "id": "call_1", "type": "function", "function": { "name": "list_files", "arguments": "{}" } });
    let message = json!({ "role": "assistant", "content": null, "refusal": null, "reasoning": "hm",
        "reasoning_details": details, "tool_calls": [call] });
    let body = json!({ "id": "gen-1", "object": "chat.completion", "created": 1, "model": "anthropic/claude-haiku-4.5",
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": "tool_calls" }] });
    let server = ModelServer::start(move |request| match request.turn() {
        0 => Scripted::Body { content_type: "application/json", body: body.to_string() },
        _ => Say::text("done").into(),
    });
    let provider = connect(Endpoint { name: "openrouter".to_owned(), ..endpoint(Wire::OpenAi, &server.url()) });
    let mut request = ask("openrouter/anthropic/claude-haiku-4.5", vec![user("mend it")]);
    let reply = provider.ask(&request).await.expect("a call");
    go_on(&mut request, reply);
    provider.ask(&request).await.expect("an end");
    let requests = server.requests();
    assert_eq!(requests[1].body["messages"][2]["reasoning_details"], details);
    recordings.add_all("openrouter", "signed reasoning", &requests, &server.answers());
    server.finish();
}
