//! The life of a server behind an address: the protocol's streamable HTTP, without the stream that a server may open by itself.
//!
//! Each message is a request of its own, which the server answers with JSON or a stream of events. A session that it names is told with
//! every message and given back at the end.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use url::Url;

use super::client::Client;
use super::trouble::{McpError, clip};
use crate::http::sse::Decoder;
use crate::http::{Incoming, Outward};

/// The longest answer, and the longest event of a stream. A server that sends more is taken to be broken.
const MAX_BODY: usize = 4 * 1024 * 1024;
/// The most bytes of one stream of events: pings alone must not keep it open for ever.
const MAX_STREAM: usize = 16 * 1024 * 1024;
/// Characters of a refusal's body that a reason holds.
const MAX_REASON: usize = 300;
/// The longest time of one request: no configuration gives a call more.
const LONGEST: Duration = Duration::from_secs(3_600);
/// How long giving a session back may take: the server forgets it in any case.
const FAREWELL: Duration = Duration::from_secs(1);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

type Posting<'a> = FuturesUnordered<Pin<Box<dyn Future<Output = ()> + 'a>>>;

/// The way to a server behind an address.
#[derive(Debug, Clone)]
pub struct Remote {
    outward: Outward,
    url: Url,
    headers: Vec<(HeaderName, HeaderValue)>,
    session: Arc<Mutex<Option<HeaderValue>>>,
}

impl Remote {
    /// The way to a server. The headers go with each message.
    #[must_use]
    pub fn new(outward: Outward, url: Url, headers: Vec<(HeaderName, HeaderValue)>) -> Self {
        Self { outward, url, headers, session: Arc::default() }
    }

    fn session(&self) -> Option<HeaderValue> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Carries a client's messages to its server for as long as it is waited for.
    pub async fn live(&self, client: Client, mut words: UnboundedReceiver<Vec<u8>>) -> Infallible {
        let mut posting: Posting<'_> = FuturesUnordered::new();
        loop {
            let word = tokio::select! {
                word = words.recv() => word,
                // Answers that still stream are read on while the next message is waited for.
                Some(()) = posting.next() => continue,
            };
            // The client is gone, and its server is told by `close`.
            let Some(word) = word else { return std::future::pending().await };
            let asks = asked(&word);
            let posted = self.post(&client, word, asks);
            if asks.is_some() {
                // A request may stream its answer for an hour, and must not hold up the others.
                posting.push(Box::pin(posted));
                continue;
            }
            // What is not answered goes out in order: a server must hear that the greeting is over before it is asked more.
            let mut posted = pin!(posted);
            loop {
                tokio::select! {
                    () = &mut posted => break,
                    Some(()) = posting.next() => {}
                }
            }
        }
    }

    /// Gives the session back, if there is one.
    pub async fn close(&self, client: &Client) {
        let Some(session) = self.session.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let Ok(mut request) = self.request(Method::DELETE, Vec::new(), client.version().as_deref()) else { return };
        request.headers_mut().insert(SESSION, session);
        let told = tokio::time::timeout(FAREWELL, self.outward.send(request)).await;
        if !matches!(told, Ok(Ok(_))) {
            tracing::info!("a server of tools did not hear that its session is over");
        }
    }

    fn request(&self, method: Method, body: Vec<u8>, version: Option<&str>) -> Result<Request<Vec<u8>>, String> {
        let mut request = Request::builder().method(method).uri(self.url.as_str());
        let fixed = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        for (name, value) in fixed {
            request = request.header(name, value);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(version) = version {
            request = request.header(VERSION, version);
        }
        if let Some(session) = self.session() {
            request = request.header(SESSION, session);
        }
        request.body(body).map_err(|error| error.to_string())
    }

    /// Sends a message, and hears what is answered. `asks` is the number of the request that it is.
    async fn post(&self, client: &Client, word: Vec<u8>, asks: Option<u64>) {
        let answered = tokio::time::timeout(LONGEST, self.exchange(client, word, asks)).await;
        let answered = answered.unwrap_or(Err(McpError::TimedOut(LONGEST)));
        if let Some(id) = asks {
            let unanswered = || Err(McpError::Lost("its answer ended before it began".to_owned()));
            // Where the stream ended without an answer, whoever waits is told. An answer that came wins.
            client.answer(id, answered.and_then(|()| unanswered()));
        }
    }

    async fn exchange(&self, client: &Client, word: Vec<u8>, asks: Option<u64>) -> Result<(), McpError> {
        let lost = |why: String| McpError::Lost(why);
        let request = self.request(Method::POST, word, client.version().as_deref()).map_err(lost)?;
        let had_session = request.headers().contains_key(SESSION);
        let mut answer = self.outward.send(request).await.map_err(|error| lost(error.to_string()))?;
        if let Some(session) = answer.header(SESSION.as_str()).and_then(|value| HeaderValue::from_str(value).ok()) {
            // The first one stays: a server that changes it in the middle is not followed.
            self.session.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(session);
        }
        match answer.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(()),
            // By the specification the session has ended. Without one it is an address that is wrong.
            StatusCode::NOT_FOUND if had_session => {
                client.lose("its session is over");
                Ok(())
            }
            status if status.is_success() => hear(client, &mut answer, asks).await,
            status => {
                let body = answer.body(MAX_REASON).await.map(|(body, _)| body).unwrap_or_default();
                let said = String::from_utf8_lossy(&body);
                let said = clip(said.split_whitespace().collect::<Vec<_>>().join(" ").as_str(), MAX_REASON);
                Err(McpError::Refused(format!("HTTP {status} {said}").trim_end().to_owned()))
            }
        }
    }
}

/// The number of a request. `None` for what is not answered.
fn asked(word: &[u8]) -> Option<u64> {
    let message: Value = serde_json::from_slice(word).ok()?;
    message.get("method")?;
    message.get("id")?.as_u64()
}

/// Hears an answer: one message, or a stream of them until the one that is waited for.
async fn hear(client: &Client, answer: &mut Incoming, asks: Option<u64>) -> Result<(), McpError> {
    let lost = |error: crate::http::OutwardError| McpError::Lost(error.to_string());
    let kind = answer.header("content-type").unwrap_or_default().to_ascii_lowercase();
    if !kind.starts_with("text/event-stream") {
        let (body, cut) = answer.body(MAX_BODY).await.map_err(lost)?;
        if cut {
            return Err(McpError::Refused("its answer is too long".to_owned()));
        }
        said(client, &body);
        return Ok(());
    }
    let mut decoder = Decoder::default();
    let (mut all, mut since) = (0_usize, 0_usize);
    while let Some(chunk) = answer.chunk().await.map_err(lost)? {
        all = all.saturating_add(chunk.len());
        since = since.saturating_add(chunk.len());
        for event in decoder.push(&chunk) {
            // An event that came whole is no single long one any more.
            since = 0;
            said(client, event.data.as_bytes());
        }
        if all > MAX_STREAM || since > MAX_BODY {
            return Err(McpError::Refused("its answer is too long".to_owned()));
        }
        // The answer is there. Some servers keep the stream open all the same.
        if asks.is_some_and(|id| !client.waits_for(id)) {
            return Ok(());
        }
    }
    if let Some(event) = decoder.finish() {
        said(client, event.data.as_bytes());
    }
    Ok(())
}

/// Hands a message on, or each one of a list, as a line.
fn said(client: &Client, text: &[u8]) {
    match serde_json::from_slice::<Value>(text) {
        // Older versions of the protocol put several messages into one.
        Ok(Value::Array(messages)) => messages.iter().for_each(|message| line(client, message)),
        Ok(message) => line(client, &message),
        Err(error) => tracing::info!(%error, "a server of tools sent invalid JSON"),
    }
}

fn line(client: &Client, message: &Value) {
    client.hear(format!("{message}\n").as_bytes());
}
