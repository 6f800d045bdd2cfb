//! Recordings with one wrong field each, beside the same without: the proof that the comparison can fail.

use serde_json::{Value, json};

use super::answers::{VENDORS, provider_of, session};
use super::recordings::{Kind, Recording, Recordings};
use crate::world::model_server::{Options, Vendor};

/// One wrong field: where it stands, and what stands there then; `None` takes it away.
type Wrong = (Kind, &'static str, Option<Value>);

/// A field too many at the top and deep inside, a wrong word, a wrong type, a missing field, and an answer's faults.
fn wrongs(vendor: Vendor) -> Vec<Wrong> {
    use Kind::{Answer, Events, Request};
    let text = || Some(json!("much"));
    match vendor {
        Vendor::Anthropic => vec![
            (Request, "/max_output", text()),
            (Request, "/messages/2/content/0/tool_call_id", text()),
            (Request, "/messages/1/content/0/type", text()),
            (Request, "/max_tokens", text()),
            (Request, "/messages", None),
            (Request, "/system/0/cache_control/type", text()),
            (Answer, "/stop_reason", text()),
            (Answer, "/usage/cached_tokens", text()),
            (Events, "/0/message/usage", None),
        ],
        Vendor::OpenAi => vec![
            (Request, "/max_output_tokens", text()),
            (Request, "/messages/2/tool_calls/0/function/args", text()),
            (Request, "/messages/3/role", text()),
            (Request, "/stream_options/include_usage", text()),
            (Request, "/messages", None),
            (Answer, "/choices/0/finish_reason", text()),
            (Answer, "/usage/input_tokens", text()),
            (Events, "/0/choices/0/delta", None),
        ],
        Vendor::Responses => vec![
            (Request, "/max_tokens", text()),
            (Request, "/reasoning/effort", text()),
            (Request, "/input/1/thinking", text()),
            (Request, "/tools/0/function", text()),
            (Request, "/store", text()),
            (Request, "/stream", None),
            (Answer, "/status", text()),
            (Answer, "/usage/input_tokens", None),
            (Events, "/1/response/output", None),
        ],
        Vendor::Gemini => vec![
            (Request, "/system_instruction", text()),
            (Request, "/generationConfig/thinkingConfig/effort", text()),
            (Request, "/tools/0/functionDeclarations/0/parameters/type", text()),
            (Request, "/contents/1/parts/0/signature", text()),
            (Request, "/generationConfig/maxOutputTokens", text()),
            (Request, "/contents", None),
            (Answer, "/candidates/0/finishReason", text()),
            (Answer, "/usageMetadata/thoughts", text()),
        ],
        Vendor::Ollama => vec![
            (Request, "/max_tokens", text()),
            (Request, "/options/num_ctx", text()),
            (Request, "/messages/2/tool_calls/0/function/arguments", text()),
            (Request, "/messages/3/tool_call_id", text()),
            (Request, "/model", None),
            (Answer, "/prompt_eval_count", text()),
            (Answer, "/usage", text()),
            (Events, "/0/message", None),
        ],
    }
}

/// Records them; returns the names of the files that must not compile, sorted.
pub(super) fn record(recordings: &Recordings) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut refused = Vec::new();
    for (vendor, wire, model) in VENDORS {
        // Gemini's wire does not stream.
        let manners = [Options::default().json_only(), Options::default()];
        for options in manners.into_iter().take(if vendor == Vendor::Gemini { 1 } else { 2 }) {
            let server = runtime.block_on(session(vendor, wire, model, options));
            // The sound ones are recorded beside them, and must compile.
            recordings.add_all(provider_of(model), "as it is", &server.requests(), &server.answers());
            let request = server.requests().pop().expect("a request").body;
            let last = server.answers().pop().expect("an answer");
            let (kind, answer) = super::recordings::read(&last);
            let of_this = |wanted: Kind| wanted == kind || (wanted == Kind::Request && kind == Kind::Answer);
            for (wanted, at, wrong) in wrongs(vendor).into_iter().filter(|(wanted, ..)| of_this(*wanted)) {
                let mut value = if wanted == Kind::Request { request.clone() } else { answer.clone() };
                put(&mut value, at, wrong.clone());
                let of = format!("{at} is wrong");
                let provider = provider_of(model);
                let recording = Recording { vendor, kind: wanted, provider, model, of: &of, value };
                refused.push(recordings.add(&recording).unwrap_or_else(|| panic!("{vendor:?} {at} changes nothing")));
            }
            server.finish();
        }
    }
    refused.sort();
    refused
}

/// Puts a value at a pointer, or takes away what is there.
fn put(value: &mut Value, at: &str, wrong: Option<Value>) {
    let (parent, key) = at.rsplit_once('/').expect("a pointer");
    let object = value.pointer_mut(parent).and_then(Value::as_object_mut);
    let object = object.unwrap_or_else(|| panic!("no object at {parent}"));
    match wrong {
        Some(wrong) => drop(object.insert(key.to_owned(), wrong)),
        None => assert!(object.remove(key).is_some(), "nothing at {at}"),
    }
}
