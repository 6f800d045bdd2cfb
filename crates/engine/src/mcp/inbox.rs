//! The messages of a server: JSON-RPC, one on each line.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::trouble::{McpError, clip};

/// The longest line of a server. One that sends more is taken to be broken.
const MAX_LINE: usize = 4 * 1024 * 1024;
/// Notices of a server that go to the log of a process: one that talks all day must not fill it.
const MOST_NOTICES: u32 = 50;
/// Requests of a server that are answered. We offer nothing that it could ask for but a sign of life.
const MOST_REQUESTS: u32 = 1_000;
/// Characters of a notice.
const MAX_NOTICE: usize = 500;
/// JSON-RPC: there is no such method.
const METHOD_NOT_FOUND: i32 = -32_601;

type Answer = Result<Value, McpError>;

/// Received bytes, and the requests that wait for their answers.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    buffer: Vec<u8>,
    waiting: BTreeMap<u64, oneshot::Sender<Answer>>,
    asked: u64,
    notices: u32,
    requests: u32,
    gone: Option<String>,
    /// The version of the protocol that both speak.
    pub(super) version: Option<String>,
}

impl Inbox {
    /// The number of the next request, and where its answer comes.
    pub(super) fn expect_answer(&mut self) -> Result<(u64, oneshot::Receiver<Answer>), McpError> {
        if let Some(why) = &self.gone {
            return Err(McpError::Lost(why.clone()));
        }
        self.asked += 1;
        let (sender, receiver) = oneshot::channel();
        self.waiting.insert(self.asked, sender);
        Ok((self.asked, receiver))
    }

    /// An answer that comes later is of no use.
    pub(super) fn forget(&mut self, id: u64) {
        self.waiting.remove(&id);
    }

    /// Whether a request still waits for its answer.
    pub(super) fn waits_for(&self, id: u64) -> bool {
        self.waiting.contains_key(&id)
    }

    /// Answers a request that still waits.
    pub(super) fn answer(&mut self, id: u64, answer: Answer) {
        if let Some(waiting) = self.waiting.remove(&id) {
            drop(waiting.send(answer));
        }
    }

    /// Whether the server is gone.
    pub(super) const fn is_lost(&self) -> bool {
        self.gone.is_some()
    }

    /// The server is gone: nothing is answered any more.
    pub(super) fn lose(&mut self, why: &str) {
        self.gone.get_or_insert_with(|| why.to_owned());
        for (_, waiting) in std::mem::take(&mut self.waiting) {
            // Who does not wait any more need not know.
            drop(waiting.send(Err(McpError::Lost(why.to_owned()))));
        }
        self.buffer = Vec::new();
    }

    /// Takes bytes. Returns what the server is to be answered.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Value> {
        if self.gone.is_some() {
            // Words of a server that was given up are not trusted any more.
            return Vec::new();
        }
        self.buffer.extend_from_slice(bytes);
        let mut answers = Vec::new();
        while let Some(end) = memchr::memchr(b'\n', &self.buffer) {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            // Some print a line of their own before they speak the protocol.
            if let Ok(message) = serde_json::from_slice::<Value>(&line) {
                answers.extend(self.take(message));
            }
        }
        // Only an unfinished line grows. Memory is the limit that it would reach otherwise.
        if self.buffer.len() > MAX_LINE {
            self.lose("it sent a line without end");
        }
        answers
    }

    fn take(&mut self, mut message: Value) -> Option<Value> {
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let id = message.get("id").cloned().filter(|id| !id.is_null());
        if method.is_some() && id.is_some() {
            self.requests += 1;
        }
        // Each answer is a line that the server has to read, so two of them could keep each other busy for ever.
        if self.requests > MOST_REQUESTS {
            self.lose("it asks without end");
            return None;
        }
        match (method, id) {
            (Some(method), Some(id)) if method == "ping" => Some(json!({"jsonrpc": "2.0", "id": id, "result": {}})),
            // We offered nothing that a server could ask for.
            (Some(_), Some(id)) => {
                let error = json!({"code": METHOD_NOT_FOUND, "message": "not offered by this client"});
                Some(json!({"jsonrpc": "2.0", "id": id, "error": error}))
            }
            (Some(method), None) => {
                self.notice(&method, &message);
                None
            }
            (None, id) => {
                // Our numbers are whole. An answer to another one is to nobody's request.
                let waiting = id.and_then(|id| self.waiting.remove(&id.as_u64()?))?;
                let answer = match message.get("error") {
                    Some(error) => Err(McpError::Refused(clip(&words_of(error), MAX_NOTICE))),
                    None => message
                        .get_mut("result")
                        .map(Value::take)
                        .ok_or_else(|| McpError::Refused("it answered without a result".to_owned())),
                };
                drop(waiting.send(answer));
                None
            }
        }
    }

    /// A log message of a server goes to ours.
    fn notice(&mut self, method: &str, message: &Value) {
        if method != "notifications/message" || self.notices >= MOST_NOTICES {
            return;
        }
        self.notices += 1;
        let said = message.pointer("/params/data").map(words_of).unwrap_or_default();
        tracing::info!(said = %clip(&said, MAX_NOTICE), "a server of tools");
    }
}

/// A text as it is, what holds a message by that, anything else as JSON.
fn words_of(value: &Value) -> String {
    let text = value.as_str().or_else(|| value.get("message").and_then(Value::as_str));
    text.map_or_else(|| value.to_string(), str::to_owned)
}
