//! The counts of one answer, shape by shape.

use memchr::memmem;
use serde_json::{Map, Value, json};

use super::told::{Metered, Spoken};
use crate::domain::bill::Bill;
use crate::domain::chat::Usage;
use crate::http::sse::Event;
use crate::model::bill::bill_of;
use crate::model::framing::Framing;
use crate::model::turn::named_model;
use crate::model::{anthropic, gemini, openai};

/// The counts that an answer has told so far.
#[derive(Debug)]
pub(super) struct Counts {
    spoken: Spoken,
    ok: bool,
    /// The vendor's counts as it wrote them. Anthropic's come in parts.
    told: Map<String, Value>,
    /// Whether the reply's own tokens are among them.
    counted_output: bool,
    ended: bool,
    billed_model: Option<String>,
    /// The service tier that the vendor says it served, where that stands beside the counts.
    tier: Option<String>,
    error: Option<Vec<u8>>,
}

impl Counts {
    pub(super) fn new(spoken: Spoken, status: u16) -> Self {
        Self {
            spoken,
            ok: status == 200,
            told: Map::new(),
            counted_output: false,
            ended: false,
            billed_model: None,
            tier: None,
            error: None,
        }
    }

    /// Takes one event of a stream. Events that carry text alone are not even parsed.
    pub(super) fn event(&mut self, event: &Event) {
        // Nearly all events are text, and parsing each would cost more than passing it on.
        if self.is_text_alone(event) {
            return;
        }
        if let Some(value) = json_of(event) {
            self.take(&value);
        }
    }

    /// Takes an answer in one piece. A list is a stream that came as one.
    pub(super) fn whole(&mut self, body: Vec<u8>) {
        if !self.ok {
            self.error = Some(body);
            return;
        }
        match serde_json::from_slice::<Value>(&body) {
            Ok(Value::Array(values)) => values.iter().for_each(|value| self.take(value)),
            Ok(value) => self.message(&value),
            // An event stream under a wrong content type.
            Err(_) => {
                let Some(framing) = Framing::of_body(&body) else { return };
                let mut decoder = framing.decoder();
                let events = decoder.push(&body);
                events.iter().chain(decoder.finish().iter()).for_each(|event| self.event(event));
            }
        }
    }

    fn is_text_alone(&self, event: &Event) -> bool {
        let holds = |needle: &str| memmem::find(event.data.as_bytes(), needle.as_bytes()).is_some();
        match self.spoken {
            Spoken::Messages => matches!(event.name.as_str(), "content_block_delta" | "content_block_start" | "ping"),
            Spoken::Responses => {
                event.name.ends_with(".delta") || event.name.starts_with("response.output_") || event.name == "ping"
            }
            Spoken::Chat => {
                // The first chunk is parsed in any case, as it names the model.
                self.billed_model.is_some()
                    && holds("\"finish_reason\":null")
                    && !holds("\"usage\":{")
                    && !holds("\"error\"")
            }
            Spoken::Generate => false,
        }
    }

    /// A plain answer of this wire.
    fn message(&mut self, value: &Value) {
        if self.spoken != Spoken::Messages {
            return self.take(value);
        }
        if value.get("error").is_some_and(Value::is_object) {
            return self.fail(value);
        }
        self.billed_model = named_model(value.get("model"));
        self.count(value.get("usage"));
        // An answer in one piece is whole and counted.
        (self.counted_output, self.ended) = (true, true);
    }

    fn take(&mut self, value: &Value) {
        match self.spoken {
            Spoken::Messages => self.messages(value),
            Spoken::Responses => self.responses(value),
            Spoken::Chat => self.chat(value),
            Spoken::Generate => self.generate(value),
        }
    }

    fn messages(&mut self, value: &Value) {
        match value.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => {
                self.billed_model = named_model(value.pointer("/message/model"));
                self.count(value.pointer("/message/usage"));
            }
            "message_delta" => {
                self.count(value.get("usage"));
                // The beginning counts only the first few tokens of the output.
                self.counted_output |= value.pointer("/usage/output_tokens").is_some();
                self.ended |= value.pointer("/delta/stop_reason").is_some_and(|reason| !reason.is_null());
            }
            "message_stop" => self.ended = true,
            "error" => self.fail(value),
            _ => {}
        }
    }

    fn responses(&mut self, value: &Value) {
        // In a stream the response stands inside the event. Alone it is the answer.
        let response = value.get("response").unwrap_or(value);
        if value.get("type").is_some_and(|kind| kind == "error") {
            return self.fail(value);
        }
        if let Some(named) = named_model(response.get("model")) {
            self.billed_model = Some(named);
        }
        self.served(response);
        if response.get("usage").is_some_and(Value::is_object) {
            self.count(response.get("usage"));
            self.counted_output = true;
        }
        match response.get("status").and_then(Value::as_str) {
            Some("completed" | "incomplete") => self.ended = true,
            Some("failed") => self.fail(response),
            _ => {}
        }
    }

    fn chat(&mut self, value: &Value) {
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return self.fail(value);
        }
        if let Some(named) = named_model(value.get("model")) {
            self.billed_model = Some(named);
        }
        self.served(value);
        // Many servers send `"usage": null` in each chunk but the last.
        let usage = value.get("usage").filter(|usage| usage.is_object()).or_else(|| value.pointer("/x_groq/usage"));
        if usage.is_some() {
            self.count(usage);
            self.counted_output = true;
        }
        let choices = value.get("choices").and_then(Value::as_array);
        let finished = |choice: &Value| choice.get("finish_reason").is_some_and(|reason| !reason.is_null());
        self.ended |= choices.is_some_and(|choices| choices.iter().any(finished));
    }

    fn generate(&mut self, value: &Value) {
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return self.fail(value);
        }
        if let Some(named) = named_model(value.get("modelVersion")) {
            self.billed_model = Some(named);
        }
        if value.get("usageMetadata").is_some_and(Value::is_object) {
            self.count(value.get("usageMetadata"));
            self.counted_output = true;
        }
        let finished = value.pointer("/candidates/0/finishReason").is_some_and(|reason| !reason.is_null());
        // A prompt that the filter refuses has no candidate.
        self.ended |= finished || value.pointer("/promptFeedback/blockReason").is_some();
    }

    fn count(&mut self, usage: Option<&Value>) {
        let counts = usage.and_then(Value::as_object).into_iter().flatten().filter(|(_, value)| !value.is_null());
        // Null is no count, and must not replace one.
        self.told.extend(counts.map(|(key, value)| (key.clone(), value.clone())));
    }

    fn served(&mut self, answer: &Value) {
        if let Some(tier) = answer.get("service_tier").and_then(Value::as_str) {
            self.tier = Some(tier.to_ascii_lowercase());
        }
    }

    /// The bill beside the counts.
    fn bill(&self) -> Bill {
        let told = Value::Object(self.told.clone());
        let bill = bill_of(&json!({ "service_tier": self.tier }), Some(&told));
        // Anthropic counts the prompt first. The others count once, at the end.
        Bill { is_open: self.spoken == Spoken::Messages && !self.counted_output, ..bill }
    }

    fn fail(&mut self, value: &Value) {
        self.error = serde_json::to_vec(value).ok();
    }

    pub(super) fn is_complete(&self) -> bool {
        self.ended && self.counted_output
    }

    /// The usage, as far as the vendor told it. Anthropic counts the prompt first. The others count once, at the end, and their earlier counts
    /// are not final.
    fn usage(&self) -> Option<Usage> {
        let told = Value::Object(self.told.clone());
        match self.spoken {
            Spoken::Messages => anthropic::usage(&told),
            // The others count at the end alone: an earlier count would bill too little.
            _ if !self.ended && self.error.is_none() => None,
            Spoken::Responses => openai::responses::usage_of(&json!({ "usage": told })),
            Spoken::Chat => openai::usage::usage_of(&json!({ "usage": told })),
            Spoken::Generate => gemini::usage(&told),
        }
    }

    pub(super) fn metered(self) -> Metered {
        let usage = if self.ok { self.usage() } else { None };
        let (complete, mut bill) = (self.is_complete(), self.bill());
        // Where nothing was counted all of it is unknown, and not the rest.
        bill.is_open &= usage.is_some();
        Metered { usage, bill, complete, billed_model: self.billed_model, error: self.error }
    }
}

/// An event's JSON. `None` for the end mark and for anything else that is no JSON.
fn json_of(event: &Event) -> Option<Value> {
    serde_json::from_str(event.data.trim()).ok()
}
