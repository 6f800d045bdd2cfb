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
mod request;
mod say;
mod tests;

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use upshift::domain::catalogue::Price;
use upshift::domain::chat::Usage;
use upshift::domain::units::MicroUsd;

pub(crate) use request::{Request, Vendor};
pub(crate) use say::{Say, SayCall, Scripted};

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
