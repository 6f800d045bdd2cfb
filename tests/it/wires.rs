//! The wires against the scripted vendor: what is said arrives, what fails is named, what is sent obeys the protocol.

mod conversations;
mod failures;
mod limits;
mod mocks;
mod ollama;
mod replies;
mod responses;
mod sdk_types;
pub(crate) mod transport;

use std::sync::Arc;

use secrecy::SecretString;
use serde_json::json;
use upshift::domain::chat::{ChatRequest, Message, Reply};
use upshift::domain::clock::SystemClock;
use upshift::domain::model_id::ModelId;
use upshift::domain::tool::ToolSpec;
use upshift::http::{Http, HttpSettings};
use upshift::model::endpoint::{CallLimits, Endpoint, Wire};
use upshift::model::{CallFailure, Provider};

use crate::world::model_server::{ModelServer, Options};

const KEY: &str = "sk-test-0123456789abcdef";

/// Each wire with a model of its vendor.
const WIRES: [(Wire, &str); 4] = [
    (Wire::Anthropic, "anthropic/claude-sonnet-4-5"),
    (Wire::OpenAi, "openai/gpt-4.1"),
    (Wire::Gemini, "gemini/gemini-2.5-flash"),
    (Wire::Ollama, "ollama/qwen3-coder"),
];

/// Streamed at once, streamed byte by byte, streamed in odd pieces, and plain.
fn all_manners() -> [Options; 4] {
    [
        Options::default(),
        Options::default().chunk_bytes(1),
        Options::default().chunk_bytes(13),
        Options::default().json_only(),
    ]
}

fn endpoint(wire: Wire, url: &str) -> Endpoint {
    let name =
        WIRES.iter().find(|(known, _)| *known == wire).map(|(_, model)| model.split('/').next().unwrap()).unwrap();
    Endpoint::new(name, wire, url).with_key(SecretString::from(KEY), "TEST_API_KEY")
}

fn connect(endpoint: Endpoint) -> Box<dyn Provider> {
    endpoint.connect(&Http::new(HttpSettings::default()), Arc::new(SystemClock::new())).expect("a usable endpoint")
}

fn provider(wire: Wire, server: &ModelServer) -> Box<dyn Provider> {
    connect(endpoint(wire, &server.url()))
}

fn with_limits(wire: Wire, server: &ModelServer, limits: CallLimits) -> Box<dyn Provider> {
    connect(Endpoint { limits, ..endpoint(wire, &server.url()) })
}

fn tools() -> Vec<ToolSpec> {
    let path = json!({"type": "object", "properties": {"path": {"type": "string", "description": "which file"}}, "required": ["path"], "additionalProperties": false});
    vec![
        ToolSpec { name: "read_file".to_owned(), description: "Reads a file.".to_owned(), parameters: path },
        ToolSpec {
            name: "list_files".to_owned(),
            description: "Lists files.".to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
        },
    ]
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

fn ask(model: &str, messages: Vec<Message>) -> ChatRequest {
    ChatRequest {
        target: ModelId::parse(model).unwrap(),
        system: "You mend code.".to_owned(),
        tools: tools(),
        messages,
        max_output_tokens: 4_096,
        context_window: 32_768,
        effort: None,
        temperature: None,
    }
}

/// A reply as the conversation keeps it.
fn said(reply: Reply) -> Message {
    Message::Assistant { text: reply.text, tool_calls: reply.tool_calls, opaque: reply.opaque }
}

/// Asks the first question on each wire in each manner, of a server that gives this answer.
async fn on_every_wire(
    answer: impl Fn() -> crate::world::model_server::Scripted,
    check: impl Fn(Wire, Result<Reply, CallFailure>),
) {
    for (wire, model) in WIRES {
        for options in all_manners() {
            let server = ModelServer::serving_with(options, [answer()]);
            let result = provider(wire, &server).ask(&ask(model, vec![user("mend it")])).await;
            check(wire, result);
            server.finish();
        }
    }
}
