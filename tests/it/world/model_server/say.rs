//! What a script answers: a reply in vendor-neutral words, or trouble.

use serde_json::Value;
use upshift::domain::chat::{StopReason, Usage};

use super::answer;
use super::request::Vendor;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Scripted {
    /// A proper reply, in the shape the wire wants.
    Reply(Say),
    /// An HTTP status with headers and a body; nothing is billed.
    Status { code: u16, headers: Vec<(&'static str, String)>, body: String },
    /// A proper reply of which only the first bytes of the body are sent before the connection is cut.
    /// `after: usize::MAX` sends the whole body and cuts without the closing chunk.
    Cut { reply: Say, after: usize },
    /// The connection is cut before a single byte of the answer; nothing is billed.
    Drop,
    /// The head and the first bytes of the body, then silence until the client goes or the server ends.
    Stall { reply: Say, after: usize },
    /// No answer until the client goes away or the server ends; nothing is billed.
    Hang,
    /// These very bytes, as the whole HTTP response, then the connection is closed.
    Raw(Vec<u8>),
    /// Status 200 with this content type and body; nothing is billed.
    Body { content_type: &'static str, body: String },
    /// As if the request had not been foreseen: answered 500 and reported by `finish`.
    Unexpected,
}

impl From<Say> for Scripted {
    fn from(say: Say) -> Self {
        Self::Reply(say)
    }
}

impl Scripted {
    /// An error status with a body.
    pub(crate) fn status(code: u16, body: impl Into<String>) -> Self {
        Self::Status { code, headers: Vec::new(), body: body.into() }
    }

    /// The vendor's own error shape for a status: `kind` is Anthropic's `type`, OpenAI's `code`, Gemini's `status`.
    pub(crate) fn error(vendor: Vendor, code: u16, kind: &str, message: &str) -> Self {
        Self::status(code, answer::error_body(vendor, code, kind, message).to_string())
    }

    /// Adds a header to a [`Scripted::Status`].
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Status { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }
}

/// A tool call in a reply.
#[derive(Debug, Clone)]
pub(crate) struct SayCall {
    pub(crate) name: String,
    /// The arguments' JSON text exactly as sent (OpenAI and Anthropic streams); Gemini must have valid JSON.
    pub(crate) arguments: String,
    /// The vendor's id; made up when `None`.
    pub(crate) id: Option<String>,
}

/// A reply in vendor-neutral words.
#[derive(Debug, Clone, Default)]
pub(crate) struct Say {
    pub(crate) text: String,
    /// Thinking that comes with a signature which the client has to send back.
    pub(crate) thinking: Option<String>,
    pub(crate) calls: Vec<SayCall>,
    /// `None` leaves the usage out of the reply; nothing is billed then.
    pub(crate) usage: Option<Usage>,
    /// `None`: tool use if there are calls, else end of turn.
    pub(crate) stop: Option<StopReason>,
    /// The model that the answer names; `None`: the one that was asked.
    pub(crate) billed_as: Option<String>,
}

impl Say {
    /// A reply of text, using 100 input and 20 output tokens.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), usage: Some(Usage { input: 100, output: 20, ..Usage::default() }), ..Self::default() }
    }

    /// A reply of one tool call.
    pub(crate) fn call(name: &str, arguments: Value) -> Self {
        Self::text("").and_call(name, arguments)
    }

    /// Adds a tool call (parallel when there are several).
    pub(crate) fn and_call(mut self, name: &str, arguments: Value) -> Self {
        self.calls.push(SayCall { name: name.to_owned(), arguments: arguments.to_string(), id: None });
        self
    }

    /// Adds a tool call with arguments as broken as you like.
    pub(crate) fn and_raw_call(mut self, name: &str, arguments: &str) -> Self {
        self.calls.push(SayCall { name: name.to_owned(), arguments: arguments.to_owned(), id: None });
        self
    }

    /// Gives the last call an id of its own.
    pub(crate) fn with_id(mut self, id: &str) -> Self {
        if let Some(call) = self.calls.last_mut() {
            call.id = Some(id.to_owned());
        }
        self
    }

    /// Adds thinking with a signature.
    pub(crate) fn thinking(mut self, text: &str) -> Self {
        self.thinking = Some(text.to_owned());
        self
    }

    /// Sets uncached input and output tokens.
    pub(crate) fn usage(self, input: u64, output: u64) -> Self {
        self.full_usage(Usage { input, output, ..Usage::default() })
    }

    /// Sets all kinds of tokens.
    pub(crate) fn full_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Names another model in the answer than was asked.
    pub(crate) fn billed_as(mut self, model: &str) -> Self {
        self.billed_as = Some(model.to_owned());
        self
    }

    /// Leaves the usage out.
    pub(crate) fn without_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// Sets why the reply ends.
    pub(crate) fn stop(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }
}
