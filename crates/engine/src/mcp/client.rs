//! A client of one server, and the life of that server.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use super::inbox::Inbox;
use super::trouble::{McpError, clip};
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::process::{self, Spec};

/// The version of the protocol that we ask for.
const VERSION: &str = "2025-06-18";
/// Those that we speak: they are the same for tools.
const VERSIONS: [&str; 4] = ["2025-11-25", VERSION, "2025-03-26", "2024-11-05"];
/// How long the greeting and all pages of the list of tools may take together: an interpreter has to start.
const OPENING: Duration = Duration::from_secs(30);
/// The most pages of the list of tools.
const MOST_PAGES: usize = 20;
/// Characters of what a program said on standard error that a reason holds.
const MAX_REASON: usize = 300;
/// Tools of a server that are looked at.
const MOST_TOOLS: usize = 1_000;

/// A client of one server.
#[derive(Debug, Clone)]
pub struct Client {
    inbox: Arc<Mutex<Inbox>>,
    say: UnboundedSender<Vec<u8>>,
    /// Rung once the server is given up for what it sent.
    given_up: Arc<Notify>,
    /// Rung once all its processes are gone.
    gone: Arc<Notify>,
}

impl Client {
    /// A client, and the bytes that its server is to read.
    #[must_use]
    pub fn new() -> (Self, UnboundedReceiver<Vec<u8>>) {
        let (say, words) = unbounded_channel();
        (Self { inbox: Arc::default(), say, given_up: Arc::default(), gone: Arc::default() }, words)
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the server printed, and answers what it asks.
    pub(super) fn hear(&self, bytes: &[u8]) {
        let (answers, is_lost) = {
            let mut inbox = self.inbox();
            (inbox.push(bytes), inbox.is_lost())
        };
        if is_lost {
            // Outside of the lock, since whoever is woken takes it.
            self.given_up.notify_one();
        }
        answers.iter().for_each(|answer| self.tell(answer));
    }

    /// The version of the protocol that both speak, once the server was greeted.
    pub(super) fn version(&self) -> Option<String> {
        self.inbox().version.clone()
    }

    /// Whether a request still waits for its answer.
    pub(super) fn waits_for(&self, id: u64) -> bool {
        self.inbox().waits_for(id)
    }

    /// Answers a request in the server's place, unless the server did.
    pub(super) fn answer(&self, id: u64, answer: Result<Value, McpError>) {
        self.inbox().answer(id, answer);
    }

    /// Gives the server up.
    pub(super) fn lose(&self, why: &str) {
        self.inbox().lose(why);
        self.given_up.notify_one();
    }

    /// Ends the server, which [`live`] waits for.
    pub async fn end(&self) {
        self.lose("its session is over");
        self.gone.notified().await;
    }

    fn tell(&self, message: &Value) {
        // A server that is gone hears nothing.
        drop(self.say.send(format!("{message}\n").into_bytes()));
    }

    async fn ask(&self, method: &str, params: Value, limit: Duration) -> Result<Value, McpError> {
        // The number is given and waited for before the request is sent, or a quick answer would find nobody.
        let (id, answer) = self.inbox().expect_answer()?;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        match tokio::time::timeout(limit, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_dropped)) => Err(McpError::Lost("it ended".to_owned())),
            Err(_elapsed) => {
                self.inbox().forget(id);
                let params = json!({"requestId": id, "reason": "its time is up"});
                // The server may stop its work, as the protocol asks for.
                self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
                Err(McpError::TimedOut(limit))
            }
        }
    }

    /// Greets the server and asks for all its tools, as it describes them, all within one limit.
    ///
    /// # Errors
    /// Why there are none to be had.
    pub async fn open(&self) -> Result<Vec<Value>, McpError> {
        let late = Instant::now() + OPENING;
        self.greet(late).await.map_err(|error| match error {
            // Each request had only what was left, and a person knows the whole limit.
            McpError::TimedOut(_rest) => McpError::TimedOut(OPENING),
            McpError::Lost(_) | McpError::Refused(_) => error,
        })
    }

    async fn greet(&self, late: Instant) -> Result<Vec<Value>, McpError> {
        let left = || late.saturating_duration_since(Instant::now());
        let client = json!({"name": "upshift", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client});
        let greeting = self.ask("initialize", params, left()).await?;
        let version = greeting.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        // A server answers with its own version where it does not speak ours.
        if !VERSIONS.contains(&version) {
            return Err(McpError::Refused(format!("it speaks version `{}` of the protocol", clip(version, 20))));
        }
        self.inbox().version = Some(version.to_owned());
        // Before anything is asked, as the protocol has it.
        self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        if greeting.pointer("/capabilities/tools").is_none() {
            return Err(McpError::Refused("it has no tools".to_owned()));
        }
        let mut tools = Vec::new();
        let mut params = json!({});
        // A server that always has one more page would be asked for ever.
        for _page in 0..MOST_PAGES {
            let mut page = self.ask("tools/list", params, left()).await?;
            if let Some(Value::Array(more)) = page.get_mut("tools").map(Value::take) {
                tools.extend(more.into_iter().take(MOST_TOOLS.saturating_sub(tools.len())));
            }
            if tools.len() >= MOST_TOOLS {
                break;
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => break,
            }
        }
        Ok(tools)
    }

    /// Calls a tool by the server's own name for it. The text is the server's, whether it calls it a success or an error.
    ///
    /// # Errors
    /// When the server is gone, does not answer in time, or refuses.
    pub async fn call(&self, tool: &str, arguments: &Value, limit: Duration) -> Result<(String, bool), McpError> {
        let arguments = if arguments.is_object() { arguments.clone() } else { json!({}) };
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}), limit).await?;
        // Newer servers may send data instead of text.
        if !result.get("content").is_some_and(Value::is_array) && result.get("structuredContent").is_none() {
            return Err(McpError::Refused("its result has no content".to_owned()));
        }
        // Anything but a plain no counts as an error, since models act on results.
        let failed = result.get("isError").is_some_and(|failed| *failed != Value::Bool(false));
        Ok((text_of(&result), !failed))
    }
}

/// Runs a client's server until it ends, or ends it once it is given up or everything is to stop: it is told to, and killed after a moment.
/// It never returns: what is asked of a server that is gone is refused. Dropped, it kills the server's processes.
pub async fn live(
    client: Client,
    keeper: &Path,
    spec: Spec,
    stop: Stop,
    words: UnboundedReceiver<Vec<u8>>,
) -> Infallible {
    let (source, end) = StopSource::new();
    let mut sink = |bytes: &[u8]| client.hear(bytes);
    let talk = process::run_talking(keeper, &spec, &end, &mut sink, words);
    tokio::pin!(talk);
    let ended = loop {
        tokio::select! {
            ended = &mut talk => break ended,
            // Once only: the second cause must not be raised over the first.
            cause = stop.wait(), if end.raised().is_none() => source.raise(cause),
            () = client.given_up.notified(), if end.raised().is_none() => source.raise(StopCause::Asked),
        }
    };
    let why = match ended {
        Ok(finished) => {
            let said = String::from_utf8_lossy(&finished.stderr);
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let from = said.chars().count().saturating_sub(MAX_REASON);
            // The end of standard error says mostly why a program ended.
            let said: String = said.chars().skip(from).collect();
            if said.is_empty() { finished.exit.to_string() } else { format!("{}: {said}", finished.exit) }
        }
        Err(error) => error.to_string(),
    };
    // Whoever waits for an answer is told before the end is.
    client.inbox().lose(&why);
    client.gone.notify_one();
    std::future::pending().await
}

/// The text of a result. What is no text is named, not shown.
fn text_of(result: &Value) -> String {
    let items = result.get("content").and_then(Value::as_array);
    let told = |item: &Value| {
        let text = item.get("text").or_else(|| item.pointer("/resource/text")).and_then(Value::as_str);
        text.map_or_else(
            || {
                let kind = item.get("type").and_then(Value::as_str).unwrap_or("something");
                let uri = item.get("uri").or_else(|| item.pointer("/resource/uri")).and_then(Value::as_str);
                format!(
                    "[{}{}: not shown]",
                    clip(kind, 40),
                    uri.map(|uri| format!(" {}", clip(uri, 200))).unwrap_or_default()
                )
            },
            str::to_owned,
        )
    };
    let text = items.into_iter().flatten().map(told).collect::<Vec<_>>().join("\n");
    match result.get("structuredContent") {
        Some(structured) if text.is_empty() => structured.to_string(),
        Some(_) | None => text,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
