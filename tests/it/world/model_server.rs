//! A scripted model vendor on 127.0.0.1: speaks Anthropic, OpenAI, Gemini and Ollama, plain and streamed, and **checks the
//! protocol** of everything it is sent.
//!
//! ```ignore
//! let server = ModelServer::start(|request| match request.turn() {
//!     0 => Say::call("read_file", json!({"path": "a.rs"})).into(),
//!     _ => Say::text("done").usage(100, 5).into(),
//! });
//! // point an endpoint's base URL at server.url(); any of the wires, with or without /v1
//! let billed = server.finish(); // panics on protocol violations and on requests nobody scripted
//! assert_eq!(billed, sum_of_receipts);
//! ```
//!
//! - One script serves all requests, in the order of arrival, under a lock. `request.number` counts from 0 over the
//!   server's life; `request.turn()` counts the model's replies inside *this* conversation.
//! - Answers are streamed when the request asks for it, else plain JSON; [`Options::json_only`] ignores `stream`
//!   as many mock servers do, [`Options::chunk_bytes`] writes the body in pieces of that size.
//! - Bills `usage × price` for every reply it begins to send, rounded up per call: prices by model-name prefix in
//!   [`Options::price`], nothing for a model without one. A cut reply is billed in full.
//! - Violations are collected, not answered: the wire under test is not steered by the checker. `finish` reports them.

mod answer;
mod check;
mod listen;
pub(crate) mod ollama;
mod tests;

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;
use upshift::domain::catalogue::Price;
use upshift::domain::chat::{StopReason, Usage};
use upshift::domain::units::MicroUsd;

/// Which wire a request spoke, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    Anthropic,
    OpenAi,
    /// OpenAI's Responses API.
    Responses,
    Gemini,
    Ollama,
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Zero-based over the server's life.
    pub(crate) number: usize,
    pub(crate) vendor: Vendor,
    /// Path with query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) raw: Vec<u8>,
    pub(crate) body: Value,
    /// From the body, or for Gemini and Azure from the path.
    pub(crate) model: String,
    /// Whether the client asked for a stream.
    pub(crate) stream: bool,
}

/// A tool result as the model would see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenResult {
    /// The call's id; for Gemini and Ollama the tool's name.
    pub(crate) call: String,
    pub(crate) content: String,
}

impl Request {
    /// The value of a header, by lower-case name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn entries(&self) -> &[Value] {
        let key = match self.vendor {
            Vendor::Gemini => "contents",
            Vendor::Responses => "input",
            Vendor::Anthropic | Vendor::OpenAi | Vendor::Ollama => "messages",
        };
        self.body[key].as_array().map_or(&[], Vec::as_slice)
    }

    /// How many replies of the model this conversation already holds: 0 for a session's first request.
    pub(crate) fn turn(&self) -> usize {
        let theirs: Vec<bool> = self.entries().iter().map(is_theirs).collect();
        // A reply is one message, or several items behind each other.
        let goes_on = |at: usize| self.vendor == Vendor::Responses && at > 0 && theirs[at - 1];
        theirs.iter().enumerate().filter(|(at, theirs)| **theirs && !goes_on(*at)).count()
    }

    /// The system prompt's text.
    pub(crate) fn system(&self) -> String {
        match self.vendor {
            Vendor::Anthropic => texts(&self.body["system"]),
            Vendor::OpenAi | Vendor::Ollama => self
                .entries()
                .iter()
                .filter(|entry| entry["role"] == "system" || entry["role"] == "developer")
                .map(|entry| texts(&entry["content"]))
                .collect(),
            Vendor::Responses => string(&self.body["instructions"]),
            Vendor::Gemini => texts(&self.body["systemInstruction"]["parts"]),
        }
    }

    /// The names of the tools on offer.
    pub(crate) fn tools(&self) -> Vec<String> {
        let (list, name): (&Value, fn(&Value) -> &Value) = match self.vendor {
            Vendor::Anthropic | Vendor::Responses => (&self.body["tools"], |tool| &tool["name"]),
            Vendor::OpenAi | Vendor::Ollama => (&self.body["tools"], |tool| &tool["function"]["name"]),
            Vendor::Gemini => (&self.body["tools"][0]["functionDeclarations"], |tool| &tool["name"]),
        };
        list.as_array().into_iter().flatten().filter_map(|tool| name(tool).as_str().map(str::to_owned)).collect()
    }

    /// The text of everything we said since the model's last reply, tool results excluded.
    pub(crate) fn last_user_text(&self) -> String {
        let entries = self.entries();
        let start = entries.iter().rposition(is_theirs);
        entries[start.map_or(0, |at| at + 1)..]
            .iter()
            .filter(|entry| entry["role"] == "user")
            .map(|entry| texts(entry.get("content").unwrap_or(&entry["parts"])))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The whole conversation's text (system, users, results) in one string: for "does it say …" assertions.
    pub(crate) fn all_text(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }

    /// The tool results given since the model's last reply, in order.
    pub(crate) fn tool_results(&self) -> Vec<SeenResult> {
        let entries = self.entries();
        let start = entries.iter().rposition(is_theirs);
        let recent = &entries[start.map_or(0, |at| at + 1)..];
        let parts = |entry: &Value, key: &str| entry[key].as_array().cloned().unwrap_or_default();
        match self.vendor {
            Vendor::Anthropic => recent
                .iter()
                .flat_map(|entry| parts(entry, "content"))
                .filter(|block| block["type"] == "tool_result")
                .map(|block| SeenResult { call: string(&block["tool_use_id"]), content: texts(&block["content"]) })
                .collect(),
            Vendor::OpenAi => recent
                .iter()
                .filter(|entry| entry["role"] == "tool")
                .map(|entry| SeenResult { call: string(&entry["tool_call_id"]), content: texts(&entry["content"]) })
                .collect(),
            Vendor::Ollama => recent
                .iter()
                .filter(|entry| entry["role"] == "tool")
                .map(|entry| SeenResult { call: string(&entry["tool_name"]), content: texts(&entry["content"]) })
                .collect(),
            Vendor::Responses => recent
                .iter()
                .filter(|item| item["type"] == "function_call_output")
                .map(|item| SeenResult { call: string(&item["call_id"]), content: texts(&item["output"]) })
                .collect(),
            Vendor::Gemini => recent
                .iter()
                .flat_map(|entry| parts(entry, "parts"))
                .filter(|part| part.get("functionResponse").is_some())
                .map(|part| {
                    let response = &part["functionResponse"];
                    let said = response["response"].as_object().and_then(|map| map.values().next());
                    SeenResult { call: string(&response["name"]), content: said.map(string).unwrap_or_default() }
                })
                .collect(),
        }
    }
}

/// Whether an entry of a conversation is the model's.
fn is_theirs(entry: &Value) -> bool {
    entry["role"] == "assistant"
        || entry["role"] == "model"
        || entry["type"] == "reasoning"
        || entry["type"] == "function_call"
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> String {
    let blocks = value.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    value.as_str().map_or_else(|| blocks.collect(), str::to_owned)
}

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

/// How the server behaves beside its script.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// Answers plain JSON whatever `stream` says.
    pub(crate) json_only: bool,
    /// The size of the pieces a body is written in; `None`: at once.
    pub(crate) chunk_bytes: Option<usize>,
    /// Prices by model-name prefix; the first that fits counts.
    pub(crate) prices: Vec<(String, Price)>,
    /// The model that an Ollama server holds; `None`: any, and windows are not looked at.
    pub(crate) held: Option<ollama::Held>,
}

impl Options {
    /// Answers plain JSON whatever `stream` says.
    pub(crate) fn json_only(mut self) -> Self {
        self.json_only = true;
        self
    }

    /// Writes bodies in pieces of this size.
    pub(crate) fn chunk_bytes(mut self, size: usize) -> Self {
        self.chunk_bytes = Some(size);
        self
    }

    /// Answers as an Ollama server that holds this model.
    pub(crate) fn holding(mut self, held: ollama::Held) -> Self {
        self.held = Some(held);
        self
    }

    /// Bills models whose name starts with `prefix` at this price.
    pub(crate) fn price(mut self, prefix: &str, price: Price) -> Self {
        self.prices.push((prefix.to_owned(), price));
        self
    }
}

/// An answer as it was sent, whole.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// The request that it answers.
    pub(crate) request: usize,
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

/// One line of the vendor's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Billed {
    pub(crate) request: usize,
    pub(crate) model: String,
    pub(crate) usage: Usage,
    pub(crate) cost: MicroUsd,
}

type Script = Box<dyn FnMut(&Request) -> Scripted + Send>;

struct State {
    script: Script,
    requests: Vec<Request>,
    answers: Vec<Answered>,
    violations: Vec<String>,
    unexpected: Vec<String>,
    ledger: Vec<Billed>,
    /// Signatures of thinking given out; they must come back with their tool calls.
    signatures: HashSet<String>,
    ended: bool,
}

struct Shared {
    options: Options,
    state: Mutex<State>,
    /// Signalled when the server ends: wakes hanging answers.
    ending: Condvar,
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The running server; ends when dropped.
pub(crate) struct ModelServer {
    port: u16,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts a server with a script.
    pub(crate) fn start(script: impl FnMut(&Request) -> Scripted + Send + 'static) -> Self {
        Self::start_with(Options::default(), script)
    }

    /// Starts a server that gives these answers in order; a request beyond the last is unexpected.
    pub(crate) fn serving(answers: impl IntoIterator<Item = Scripted>) -> Self {
        Self::serving_with(Options::default(), answers)
    }

    /// As [`ModelServer::serving`], with options.
    pub(crate) fn serving_with(options: Options, answers: impl IntoIterator<Item = Scripted>) -> Self {
        let mut answers = answers.into_iter().collect::<Vec<_>>().into_iter();
        Self::start_with(options, move |_| answers.next().unwrap_or(Scripted::Unexpected))
    }

    /// Starts a server with options and a script.
    pub(crate) fn start_with(options: Options, script: impl FnMut(&Request) -> Scripted + Send + 'static) -> Self {
        let shared = Arc::new(Shared {
            options,
            state: Mutex::new(State {
                script: Box::new(script),
                requests: Vec::new(),
                answers: Vec::new(),
                violations: Vec::new(),
                unexpected: Vec::new(),
                ledger: Vec::new(),
                signatures: HashSet::new(),
                ended: false,
            }),
            ending: Condvar::new(),
        });
        let (port, listener) = listen::start(Arc::clone(&shared));
        Self { port, shared, listener: Some(listener) }
    }

    /// `http://127.0.0.1:PORT`: a base URL for any of the wires.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything received so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }

    /// The proper replies and error statuses that were sent so far; none that was cut, stalled or raw.
    pub(crate) fn answers(&self) -> Vec<Answered> {
        self.shared.state().answers.clone()
    }

    /// What was billed so far, call by call.
    pub(crate) fn ledger(&self) -> Vec<Billed> {
        self.shared.state().ledger.clone()
    }

    /// The sum of the ledger.
    pub(crate) fn billed(&self) -> MicroUsd {
        self.ledger().iter().map(|line| line.cost).sum()
    }

    /// Breaches of the vendors' protocols seen so far; taken out, so that [`ModelServer::finish`] does not report them.
    pub(crate) fn violations(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.state().violations)
    }

    /// Ends the server and returns what it billed.
    ///
    /// Panics if a request broke its vendor's protocol or was not foreseen by the script.
    #[track_caller]
    pub(crate) fn finish(self) -> MicroUsd {
        self.complain();
        self.billed()
    }
}

impl ModelServer {
    #[track_caller]
    fn complain(&self) {
        let mut state = self.shared.state();
        let mut complaints = std::mem::take(&mut state.violations);
        complaints.append(&mut state.unexpected);
        drop(state);
        assert!(complaints.is_empty(), "the model server complains:\n- {}", complaints.join("\n- "));
    }
}

impl Drop for ModelServer {
    /// No test of the suite can look away: what was not asked for by `finish` is complained of here.
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.ending.notify_all();
        // Wakes the accept loop, which then sees that the end has come.
        drop(std::net::TcpStream::connect(("127.0.0.1", self.port)));
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
        if !std::thread::panicking() {
            self.complain();
        }
    }
}
