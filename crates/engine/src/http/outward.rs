//! The way out for tools: to hosts that a person named, and nowhere else.
//!
//! Invariant: a request goes to a named host alone, over TLS unless the host is this machine. Redirects leave no origin, and a name leads to
//! no private address that nobody named. Behind a proxy the proxy looks names up.

use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use reqwest::{Client, Response};
use url::Url;

use super::guard::Guard;
use super::{Certificates, Http, build, innermost, kept};
use crate::domain::web_host::refusal;

/// Why a request was not sent, or brought no answer. The address is not told, as it may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OutwardError(String);

/// A client for tools. It is cheap to clone, and costs nothing until it is used.
#[derive(Clone)]
pub struct Outward(Arc<Inner>);

struct Inner {
    http: Http,
    hosts: Vec<String>,
    client: Mutex<Option<Client>>,
}

impl fmt::Debug for Outward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outward").field("hosts", &self.0.hosts).finish_non_exhaustive()
    }
}

impl Outward {
    /// The way to some hosts: names, or addresses as they are written in an address of the web without brackets.
    #[must_use]
    pub fn to(http: Http, hosts: &[String]) -> Self {
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self(Arc::new(Inner { http, hosts, client: Mutex::new(None) }))
    }

    /// Sends a request and returns its answer, whatever its status.
    ///
    /// # Errors
    /// When it may not be sent, or no answer comes.
    pub async fn send(&self, request: ::http::Request<Vec<u8>>) -> Result<Incoming, OutwardError> {
        let url = Url::parse(&request.uri().to_string()).map_err(|error| OutwardError(error.to_string()))?;
        // Before the client: an address as a number needs no look-up, so the guard of names never sees it.
        if let Some(why) = refusal(&url, &self.0.hosts) {
            return Err(OutwardError(why));
        }
        let client = self.client()?;
        let request = reqwest::Request::try_from(request).map_err(|error| told(&error))?;
        let response = client.execute(request).await.map_err(|error| told(&error))?;
        Ok(Incoming(response))
    }

    fn client(&self) -> Result<Client, OutwardError> {
        let Inner { http, hosts, client } = &*self.0;
        let make = || {
            let settings = &http.0.settings;
            let guard = Guard { hosts: hosts.iter().cloned().collect(), proxies: settings.proxy.hosts() };
            build(settings, Certificates::System, Some(guard))
        };
        kept(client, make).map_err(|error| OutwardError(error.to_string()))
    }
}

fn told(error: &reqwest::Error) -> OutwardError {
    OutwardError(innermost(error))
}

/// An answer whose body may still be on its way.
#[derive(Debug)]
pub struct Incoming(Response);

impl Incoming {
    /// Its status.
    #[must_use]
    pub fn status(&self) -> ::http::StatusCode {
        self.0.status()
    }

    /// A header that is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    /// The next piece of the body. `None` at its end.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, OutwardError> {
        self.0.chunk().await.map_err(|error| told(&error))
    }

    /// The body up to so many bytes, and whether there was more.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn body(&mut self, most: usize) -> Result<(Vec<u8>, bool), OutwardError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
            // The connection is dropped with the rest unread, however long it is.
            if body.len() > most {
                body.truncate(most);
                return Ok((body, true));
            }
        }
        Ok((body, false))
    }
}
