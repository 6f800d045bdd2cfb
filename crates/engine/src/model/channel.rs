//! One request to one vendor and the bytes of its answer: headers, time limits, size limits, content type.
//!
//! Owns everything about a call that does not depend on the wire. The meaning of the bytes is the wire's affair, through [`Fold`].
//!
//! Invariant: after the first byte of an answer, every failure carries what the vendor said of its cost, and whether that is all of it
//! ([`Fold::usage_told`]).

use std::future::Future;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use crate::domain::bill::Bill;
use crate::domain::chat::Usage;
use crate::domain::clock::Clock;
use crate::domain::receipt::CallStatus;
use crate::http::{Http, innermost};
use crate::streams::{Stream, Streams};

use super::CallFailure;
use super::endpoint::{CallLimits, Endpoint, EndpointError};
use super::failure::{Blamed, Complaint, Scrubber, announces_limit};
use super::framing::{Decoder, Framing};
use crate::http::sse::Event;

/// How much of an error answer is read.
pub(super) const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Joins the events of a stream into what the same answer would have been without streaming.
pub(super) trait Fold: Send {
    /// Takes one event's data.
    ///
    /// # Errors
    /// [`Broken`] when it is no event of this wire or tells of an error.
    fn event(&mut self, data: Value) -> Result<(), Broken>;

    /// Whether the vendor said that the answer is complete.
    fn is_complete(&self) -> bool;

    /// The whole message.
    fn into_message(self) -> Value;

    /// The usage of this call as far as the vendor told it.
    fn usage_told(&self) -> Option<Usage>;

    /// Whether the vendor has counted to the end.
    fn is_counted(&self) -> bool {
        true
    }
}

/// Why a stream cannot be folded on.
#[derive(Debug)]
pub(super) enum Broken {
    /// The vendor reports an error in the middle.
    Error(Value),
}

/// A way to one endpoint.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    pub(super) blamed: Blamed,
    http: Http,
    clock: Arc<dyn Clock>,
    limits: CallLimits,
    streams: Option<Arc<Streams>>,
    key: Option<HeaderValue>,
    bearer: Option<HeaderValue>,
}

impl Channel {
    pub(super) fn new(endpoint: &Endpoint, http: &Http, clock: Arc<dyn Clock>) -> Result<Self, EndpointError> {
        // A key that was pasted with its line break is the commonest of its faults.
        let key = endpoint.api_key.as_ref().map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty());
        let provider = || endpoint.name.clone();
        let from = || endpoint.key_variable.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        let is_quoted =
            |key: &str| key.len() > 1 && ['"', '\''].iter().any(|q| key.starts_with(*q) && key.ends_with(*q));
        if key.is_some_and(is_quoted) {
            return Err(EndpointError::QuotedKey { provider: provider(), from: from() });
        }
        let refuse = || EndpointError::Key { provider: provider(), from: from() };
        let header = |text: &str| {
            let mut value = HeaderValue::from_str(text).ok()?;
            // So that the HTTP client never shows it where it prints headers.
            value.set_sensitive(true);
            Some(value)
        };
        Ok(Self {
            blamed: Blamed {
                provider: endpoint.name.clone(),
                key_variable: endpoint.key_variable.clone(),
                scrubber: Scrubber::new(endpoint.api_key.clone()),
            },
            http: http.clone(),
            clock,
            limits: endpoint.limits,
            streams: endpoint.streams.clone(),
            key: key.map(|key| header(key).ok_or_else(refuse)).transpose()?,
            bearer: key.map(|key| header(&format!("Bearer {key}")).ok_or_else(refuse)).transpose()?,
        })
    }

    /// The same for a wire without streams: the vendor is silent until the whole answer is made.
    pub(super) fn unstreamed(mut self) -> Self {
        self.limits.idle = self.limits.overall;
        self
    }

    /// The key under a header of this name, if there is a key.
    pub(super) fn key_header(&self, name: &'static str) -> HeaderMap {
        let found = self.key.iter().map(|key| (HeaderName::from_static(name), key.clone()));
        found.collect()
    }

    /// The key as a bearer token, if there is a key.
    pub(super) fn bearer_header(&self) -> HeaderMap {
        self.bearer.iter().map(|token| (reqwest::header::AUTHORIZATION, token.clone())).collect()
    }

    /// Sends one request and brings the whole message, streamed or not.
    ///
    /// # Errors
    /// Any [`CallFailure`] but those that lie in the message itself.
    pub(super) async fn converse(
        &self,
        url: Url,
        headers: HeaderMap,
        body: Vec<u8>,
        fold: impl Fold,
    ) -> Result<Value, CallFailure> {
        // One for the whole call, so that a server which trickles cannot hold it for ever.
        let deadline = Instant::now() + self.limits.overall;
        let client = self.client_for(&url)?;
        let shown = url.clone();
        let request = client.post(url).headers(headers).header(CONTENT_TYPE, "application/json").body(body);
        let response = self.sent(request, (&Method::POST, &shown), deadline).await?;
        let stream = self.streams.as_ref().map(|streams| streams.open("answer"));
        let answer = Answer { stream, ..Answer::new(self, response, deadline) };
        // Nothing else is a reply. Redirects too: the key would go to another server.
        if answer.response.status() != StatusCode::OK {
            return Err(answer.refusal().await);
        }
        match answer.framing() {
            Some(framing) => answer.fold(fold, framing).await,
            None => answer.whole(Vec::new(), fold).await,
        }
    }

    /// Asks something that costs nothing and brings its JSON answer.
    ///
    /// # Errors
    /// Any [`CallFailure`].
    pub(super) async fn question(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<Value, CallFailure> {
        let deadline = Instant::now() + self.limits.overall;
        let client = self.client_for(&url)?;
        let (asked, shown) = (method.clone(), url.clone());
        let request = client.request(method, url).headers(headers);
        let request = match body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body),
            None => request,
        };
        let response = self.sent(request, (&asked, &shown), deadline).await?;
        let mut answer = Answer::new(self, response, deadline);
        if answer.response.status() != StatusCode::OK {
            return Err(answer.refusal().await);
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&body).map_err(|_error| self.blamed.unreadable("an answer that is not JSON"))
    }

    /// Passes another program's request on and brings the head of the answer, whatever its status.
    ///
    /// # Errors
    /// [`CallFailure`] when no answer came.
    pub(super) async fn pass(&self, url: Url, headers: HeaderMap, body: Vec<u8>) -> Result<Response, CallFailure> {
        let deadline = Instant::now() + self.limits.overall;
        let client = self.client_for(&url)?;
        let shown = url.clone();
        self.sent(client.post(url).headers(headers).body(body), (&Method::POST, &shown), deadline).await
    }

    fn client_for(&self, url: &Url) -> Result<reqwest::Client, CallFailure> {
        // A proxy or certificate that cannot be read is the same at the next try.
        let blame = |error: String| CallFailure { retryable: false, ..self.blamed.network(&error, false) };
        self.http.client_for(url).map_err(|error| blame(error.to_string()))
    }

    /// The failure that an error answer stands for.
    pub(super) fn refused(&self, status: u16, headers: &HeaderMap, complaint: &Complaint) -> CallFailure {
        self.blamed.refused(status, headers, self.clock.unix_ms(), complaint)
    }

    /// Sends a request and brings the head of its answer. Logged without headers and without the query, which may hold a key.
    async fn sent(
        &self,
        request: RequestBuilder,
        (method, url): (&Method, &Url),
        deadline: Instant,
    ) -> Result<Response, CallFailure> {
        let began = Instant::now();
        let answer = match self.within(deadline, request.send()).await {
            Ok(answer) => answer.map_err(|error| self.not_sent(&error)),
            Err(late) => Err(late),
        };
        let took = began.elapsed().as_millis();
        let (host, path) = (url.host_str().unwrap_or_default(), url.path());
        match &answer {
            Ok(answer) => {
                tracing::debug!(target: "upshift::http", %method, host, path, status = answer.status().as_u16(), ms = took, "answered");
            }
            Err(failure) => {
                tracing::debug!(target: "upshift::http", %method, host, path, ms = took, "no answer: {}", failure.message);
            }
        }
        answer
    }

    /// Waits for the network, but no longer than the idle limit and the call's deadline.
    async fn within<T>(&self, deadline: Instant, what: impl Future<Output = T>) -> Result<T, CallFailure> {
        // Whichever comes first, and the message names it.
        let limit = deadline.min(Instant::now() + self.limits.idle);
        tokio::time::timeout_at(limit, what).await.map_err(|_elapsed| {
            let what = if limit == deadline {
                format!("no complete answer within {}", seconds(self.limits.overall))
            } else {
                format!("silent for {}", seconds(self.limits.idle))
            };
            self.blamed.timed_out(&what, true)
        })
    }

    fn not_sent(&self, error: &reqwest::Error) -> CallFailure {
        let reason = innermost(error);
        // Without a connection nothing was sent, and nothing can be billed. After it nobody knows.
        match (error.is_connect(), error.is_timeout()) {
            (true, true) => self.blamed.timed_out("no connection in time", false),
            (true, false) => self.blamed.network(&format!("cannot connect: {reason}"), false),
            (false, true) => self.blamed.timed_out("no answer in time", true),
            (false, false) => self.blamed.network(&format!("the connection broke: {reason}"), true),
        }
    }

    /// The failure that an error object inside an answer with status 200 stands for.
    pub(super) fn error_inside(&self, error: &Value) -> CallFailure {
        self.blamed.refused(200, &HeaderMap::new(), self.clock.unix_ms(), &Complaint::of_json(error))
    }
}

fn seconds(duration: Duration) -> String {
    if duration.as_secs() == 0 { format!("{} ms", duration.as_millis()) } else { format!("{} s", duration.as_secs()) }
}

/// An answer whose head has come.
struct Answer<'a> {
    channel: &'a Channel,
    response: Response,
    deadline: Instant,
    read: usize,
    stream: Option<Stream>,
    /// Unpacks an answer that came packed. Some gateways pack one although nobody asked for that.
    unpacker: Option<MultiGzDecoder<Vec<u8>>>,
}

impl<'a> Answer<'a> {
    fn new(channel: &'a Channel, response: Response, deadline: Instant) -> Self {
        let packed = response.headers().get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_gzip = ["gzip", "x-gzip"].iter().any(|name| packed.trim().eq_ignore_ascii_case(name));
        let unpacker = is_gzip.then(|| MultiGzDecoder::new(Vec::new()));
        Self { channel, response, deadline, read: 0, stream: None, unpacker }
    }

    /// A piece of the body as it was before a gateway packed it.
    fn unpacked(&mut self, chunk: Vec<u8>) -> Result<Vec<u8>, CallFailure> {
        let Some(unpacker) = &mut self.unpacker else { return Ok(chunk) };
        if unpacker.write_all(&chunk).is_err() || unpacker.flush().is_err() {
            return Err(self.channel.blamed.unreadable("an answer that says it is gzip and is not"));
        }
        Ok(std::mem::take(unpacker.get_mut()))
    }

    /// How the answer is framed, if it is a stream.
    fn framing(&self) -> Option<Framing> {
        let content_type = self.response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        content_type.and_then(Framing::of_content_type)
    }

    /// The next piece of the body. `None` at its proper end.
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, CallFailure> {
        let channel = self.channel;
        let chunk = match channel.within(self.deadline, self.response.chunk()).await? {
            Ok(chunk) => chunk,
            Err(error) if error.is_timeout() => {
                return Err(channel.blamed.timed_out("the answer stopped coming", true));
            }
            Err(error) => {
                let what = format!("the connection was cut inside the answer: {}", innermost(&error));
                return Err(channel.blamed.network(&what, true));
            }
        };
        let Some(chunk) = chunk else { return Ok(None) };
        let chunk = self.unpacked(chunk.into())?;
        self.stream.iter_mut().for_each(|stream| stream.push(&chunk));
        // Counted as they come, since no header has to tell the truth about the length.
        self.read += chunk.len();
        if self.read > channel.limits.answer_bytes {
            let what = format!("the answer is larger than {} bytes", channel.limits.answer_bytes);
            return Err(channel.blamed.unreadable(&what));
        }
        Ok(Some(chunk))
    }

    /// The failure behind a status other than 200. It reads the vendor's words about it, as far as they come.
    async fn refusal(mut self) -> CallFailure {
        let mut body = Vec::new();
        while body.len() < MAX_ERROR_BYTES {
            // The status says enough, also where the words are cut.
            let Ok(Some(chunk)) = self.chunk().await else { break };
            body.extend_from_slice(&chunk);
        }
        let (status, headers) = (self.response.status().as_u16(), self.response.headers());
        self.channel.blamed.refused(status, headers, self.channel.clock.unix_ms(), &Complaint::of_body(&body))
    }

    /// A plain JSON answer, of which `body` has been read. An event stream under a wrong content type is read all the same.
    async fn whole(mut self, mut body: Vec<u8>, fold: impl Fold) -> Result<Value, CallFailure> {
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        if let Ok(value) = serde_json::from_slice(&body) {
            return Ok(value);
        }
        if let Some(framing) = Framing::of_body(&body) {
            let mut folding = Folding { channel: self.channel, decoder: framing.decoder(), fold };
            folding.take(&body).map_err(|failure| folding.with_usage(failure))?;
            return folding.finish();
        }
        // A gateway's words on a limit need not be JSON.
        let said = String::from_utf8_lossy(&body);
        if announces_limit(&said) {
            return Err(self.channel.error_inside(&Value::String(said.into_owned())));
        }
        let start: String = said.chars().take(80).collect();
        let what =
            if body.is_empty() { "an empty answer".to_owned() } else { format!("an answer that is not JSON: {start}") };
        Err(self.channel.blamed.unreadable(&what))
    }

    /// A stream. Plain JSON under a wrong content type is read all the same.
    async fn fold(mut self, fold: impl Fold, framing: Framing) -> Result<Value, CallFailure> {
        let mut folding = Folding { channel: self.channel, decoder: framing.decoder(), fold };
        let mut begun = false;
        loop {
            let step = match self.chunk().await {
                // Only at the very first bytes: later ones may begin with a bracket by chance.
                Ok(Some(bytes)) if !begun && framing.is_broken_by(&bytes) => {
                    return self.whole(bytes, folding.fold).await;
                }
                Ok(Some(bytes)) => folding.take(&bytes),
                Ok(None) => return folding.finish(),
                // The reply is all there; how the connection ends does not matter.
                Err(_) if folding.fold.is_complete() => return folding.finish(),
                Err(failure) => Err(failure),
            };
            step.map_err(|failure| folding.with_usage(failure))?;
            // A packed piece may hold nothing yet.
            begun |= self.read > 0;
        }
    }
}

struct Folding<'a, F> {
    channel: &'a Channel,
    decoder: Decoder,
    fold: F,
}

impl<F: Fold> Folding<'_, F> {
    fn take(&mut self, bytes: &[u8]) -> Result<(), CallFailure> {
        for event in self.decoder.push(bytes) {
            self.event(&event)?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), CallFailure> {
        let data = event.data.trim();
        // OpenAI's mark of the end is the one event that is no JSON.
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let Ok(value) = serde_json::from_str::<Value>(data) else {
            if event.name == "error" || announces_limit(data) {
                return Err(self.channel.error_inside(&Value::String(data.to_owned())));
            }
            return Err(self.channel.blamed.unreadable("an event that is not JSON inside the answer"));
        };
        match self.fold.event(value) {
            Ok(()) => Ok(()),
            // The answer had begun, so that its tokens may be billed whatever the error says.
            Err(Broken::Error(error)) => Err(CallFailure { may_be_billed: true, ..self.channel.error_inside(&error) }),
        }
    }

    fn finish(mut self) -> Result<Value, CallFailure> {
        if let Some(event) = self.decoder.finish()
            && let Err(failure) = self.event(&event)
            // A torn last event is no event; what it breaks shows below.
            && failure.status != CallStatus::InvalidResponse
        {
            return Err(self.with_usage(failure));
        }
        // A connection that ends early looks like a proper end in some proxies. Half a reply must not pass for a whole one.
        if !self.fold.is_complete() {
            let cut = self.channel.blamed.network("the answer ended before it was complete", true);
            return Err(self.with_usage(cut));
        }
        Ok(self.fold.into_message())
    }

    fn with_usage(&self, failure: CallFailure) -> CallFailure {
        let usage = self.fold.usage_told();
        let bill = Box::new(Bill { is_open: usage.is_some() && !self.fold.is_counted(), ..Bill::default() });
        // Counts were told, so that the vendor has worked on it.
        CallFailure { may_be_billed: failure.may_be_billed || usage.is_some(), usage, bill, ..failure }
    }
}
