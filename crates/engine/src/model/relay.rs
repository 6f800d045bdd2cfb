//! Another program's request passed on to a vendor with the real key, and the answer's bytes as they come.
//!
//! Owns the addresses of the wires and the key's header. It decides nothing: the permission to send and the cost are the gateway's affair.
//! [`super::meter`] reads the usage.
//!
//! Invariant: nothing is sent twice, and of the other program's headers only those go on that `HEADERS` lists.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use url::Url;

use super::anthropic::VERSION;
use super::channel::{Channel, MAX_ERROR_BYTES};
use super::endpoint::{Endpoint, EndpointError, join};
use super::failure::Complaint;
use super::meter::Spoken;
use super::{CallFailure, openai};
use crate::domain::clock::Clock;
use crate::http::{Http, innermost};

/// Headers of a client that a vendor gets: what says how the body is to be read, and who wrote it.
const HEADERS: [&str; 7] = [
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "openai-beta",
    "user-agent",
    "x-goog-api-client",
    "x-stainless-retry-count",
];

/// The question that is asked. Each has its own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A reply, in the form that the body asks for.
    Reply,
    /// A reply as a stream, where the address says so (Gemini).
    Stream,
    /// The length of a prompt, which costs nothing (Anthropic, Gemini).
    CountTokens,
}

/// A request to be passed on.
#[derive(Debug)]
pub struct Passed<'a> {
    /// The question that is asked.
    pub method: Method,
    /// The model, which Gemini has in its address.
    pub model: &'a str,
    /// The query, without a key.
    pub query: Option<&'a str>,
    /// The client's headers.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

/// A way to one vendor.
#[derive(Debug)]
pub struct Relay {
    channel: Channel,
    spoken: Spoken,
    base: Url,
    limit_field: &'static str,
}

impl Relay {
    /// The way to an endpoint that speaks this. Nothing is sent.
    ///
    /// # Errors
    /// [`EndpointError`] when the URL or the key cannot be used.
    pub fn new(endpoint: &Endpoint, spoken: Spoken, http: &Http, clock: Arc<dyn Clock>) -> Result<Self, EndpointError> {
        let base = endpoint.parsed_base()?;
        let limit_field = openai::limit_field(&endpoint.name, &base);
        Ok(Self { channel: Channel::new(endpoint, http, clock)?, spoken, base, limit_field })
    }

    /// The name of the field that limits a reply in chat completions here.
    #[must_use]
    pub const fn limit_field(&self) -> &'static str {
        self.limit_field
    }

    /// Passes a request on and brings the head of the answer, whatever its status.
    ///
    /// # Errors
    /// [`CallFailure`] when no answer came.
    pub async fn pass(&self, passed: Passed<'_>) -> Result<Passing, CallFailure> {
        let mut url = self.url(passed.method, passed.model);
        url.set_query(passed.query);
        let response = self.channel.pass(url, self.headers(passed.headers), passed.body).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Passing { status, headers, body: Body(Box::pin(response.bytes_stream())) })
    }

    /// The failure that an error answer stands for, also one inside an answer with status 200.
    #[must_use]
    pub fn failure(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> CallFailure {
        self.channel.refused(status, headers, &Complaint::of_body(body))
    }

    fn url(&self, method: Method, model: &str) -> Url {
        match (self.spoken, method) {
            (Spoken::Messages, Method::CountTokens) => join(&self.base, "v1", "messages/count_tokens"),
            (Spoken::Messages, Method::Reply | Method::Stream) => join(&self.base, "v1", "messages"),
            (Spoken::Responses, _) => join(&self.base, "v1", "responses"),
            (Spoken::Chat, _) => join(&self.base, "v1", "chat/completions"),
            (Spoken::Generate, method) => {
                let verb = match method {
                    Method::Reply => "generateContent",
                    Method::Stream => "streamGenerateContent",
                    Method::CountTokens => "countTokens",
                };
                let mut url = join(&self.base, "v1beta", "");
                // As one segment, in which a slash of the model's name is escaped.
                if let Ok(mut segments) = url.path_segments_mut() {
                    segments.pop_if_empty().push("models").push(&format!("{model}:{verb}"));
                }
                url
            }
        }
    }

    fn headers(&self, theirs: &HeaderMap) -> HeaderMap {
        let mut headers = match self.spoken {
            Spoken::Messages => self.channel.key_header("x-api-key"),
            Spoken::Generate => self.channel.key_header("x-goog-api-key"),
            Spoken::Responses | Spoken::Chat => self.channel.bearer_header(),
        };
        // By a list of what goes on, since a client may send headers of its own with a key in them.
        let passed = HEADERS.iter().map(|name| HeaderName::from_static(name));
        for (name, value) in passed.filter_map(|name| Some((name.clone(), theirs.get(&name)?.clone()))) {
            headers.insert(name, value);
        }
        // The vendor refuses a request without a version, and not each client sends one.
        if self.spoken == Spoken::Messages {
            headers.entry("anthropic-version").or_insert(HeaderValue::from_static(VERSION));
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Counts are read while the answer passes: packed, they would have to be unpacked first.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers
    }
}

/// An answer whose head has come.
#[derive(Debug)]
pub struct Passing {
    /// Its status.
    pub status: u16,
    /// The vendor's headers.
    pub headers: HeaderMap,
    /// The rest of the answer.
    pub body: Body,
}

impl Passing {
    /// The beginning of an error's body, as much as is read for one. The body still comes whole.
    pub async fn opening(&mut self) -> Vec<u8> {
        /// How long it is waited for: an error's body is small and comes at once.
        const PATIENCE: Duration = Duration::from_secs(5);
        let (mut seen, mut opening) = (Vec::new(), Vec::new());
        let reads = async {
            while opening.len() < MAX_ERROR_BYTES {
                let Some(next) = self.body.0.next().await else { break };
                let is_cut = next.is_err();
                opening.extend_from_slice(next.as_deref().unwrap_or_default());
                seen.push(next);
                if is_cut {
                    break;
                }
            }
        };
        // What has come by then is what can be read.
        drop(tokio::time::timeout(PATIENCE, reads).await);
        // The bytes that were read come again, before the rest.
        let rest = std::mem::replace(&mut self.body, Body(Box::pin(stream::empty())));
        self.body = Body(Box::pin(stream::iter(seen).chain(rest.0)));
        opening
    }
}

/// An answer's bytes as they come. Dropping it ends the call.
pub struct Body(Pin<Box<dyn Stream<Item = Result<Bytes, reqwest::Error>> + Send>>);

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Body")
    }
}

impl Body {
    /// The next bytes. `None` at the proper end, the network's words where it was cut.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, String>>> {
        self.0.as_mut().poll_next(context).map_err(|error| innermost(&error))
    }
}
