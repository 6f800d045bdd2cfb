//! One request and one answer, through octocrab over our own HTTP client.
//!
//! Owns addresses, headers, time and size limits of a single exchange. Decides nothing about repeating it.
//!
//! Invariant: the token travels to the API's own origin only. A redirect elsewhere is followed without it.

use std::sync::OnceLock;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION};
use http::{Method, Request, Uri};
use http_body_util::BodyExt;
use octocrab::service::middleware::reqwest_connector::ReqwestConnector;
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::error::GithubError;
use crate::http::{Http, innermost};

/// How the path of Gitea's and Forgejo's API ends.
const GITEA_API: &str = "/api/v1";
/// The path of the GraphQL API. On a GitHub Enterprise Server it stands beside that of REST, not below it.
pub(super) const GRAPHQL: &str = "/graphql";
/// How the path of REST ends there.
const SERVER_REST: &str = "/v3";
/// How long one exchange may take: GitHub itself gives up after ten seconds.
const EXCHANGE: Duration = Duration::from_secs(30);
/// How long a log or an artifact may take.
const DOWNLOAD: Duration = Duration::from_secs(300);
/// The version of the API that the answers are read as.
const API_VERSION: &str = "2022-11-28";
/// The most bytes of an answer that are read: a hundred check runs with full outputs are below it.
const MAX_ANSWER: usize = 32 * 1024 * 1024;

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) method: Method,
    /// Path and query below the API's address.
    pub(super) path: String,
    pub(super) body: Option<Vec<u8>>,
    pub(super) etag: Option<String>,
}

/// An answer, whatever its status.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Broken {
    /// The request never left.
    NotSent(String),
    /// It left, or may have.
    Lost(String),
    /// More than we read.
    TooLarge(usize),
}

/// The way to one API with one token.
#[derive(Debug)]
pub(super) struct Wire {
    http: Http,
    base: Url,
    authorization: HeaderValue,
    octocrab: OnceLock<Octocrab>,
}

impl Wire {
    /// # Errors
    /// [`GithubError::Address`], [`GithubError::Token`].
    pub(super) fn new(http: &Http, base: &str, token: &SecretString) -> Result<Self, GithubError> {
        let refuse = |reason: &str| GithubError::Address { url: base.to_owned(), reason: reason.to_owned() };
        // Paths are joined as text, and begin with a slash of their own.
        let url = Url::parse(base.trim_end_matches('/')).map_err(|error| refuse(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(refuse("it is not a web address"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(refuse("it contains more than scheme, host, port and path"));
        }
        let token = token.expose_secret().trim();
        if token.is_empty() || token.contains(char::is_whitespace) {
            return Err(GithubError::Token);
        }
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_invalid| GithubError::Token)?;
        // So that the HTTP client never shows it where it prints headers.
        authorization.set_sensitive(true);
        Ok(Self { http: http.clone(), base: url, authorization, octocrab: OnceLock::new() })
    }

    /// Made on first use: octocrab starts a task, so it needs a running runtime.
    fn octocrab(&self) -> Result<&Octocrab, GithubError> {
        if self.octocrab.get().is_none() {
            let client = self.http.client_for(&self.base)?;
            let service = OctocrabBuilder::new_empty().with_service(ReqwestConnector::new(client));
            // Each request has the token in its own header.
            let Ok(made) = service.with_auth(AuthState::None).build();
            return Ok(self.octocrab.get_or_init(|| made));
        }
        self.octocrab.get().ok_or(GithubError::Token)
    }

    /// Where the API is.
    pub(super) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// Whether the address is that of Gitea's or Forgejo's API.
    pub(super) fn is_gitea(&self) -> bool {
        self.base.path().trim_end_matches('/').ends_with(GITEA_API)
    }

    fn uri(&self, path: &str) -> Result<Uri, GithubError> {
        let base = self.base.as_str().trim_end_matches('/');
        // `https://HOST/api/v3` is of REST, and GraphQL is `https://HOST/api/graphql`.
        let base = if path == GRAPHQL { base.strip_suffix(SERVER_REST).unwrap_or(base) } else { base };
        let text = format!("{base}{path}");
        text.parse()
            .map_err(|error: http::uri::InvalidUri| GithubError::Address { url: text, reason: error.to_string() })
    }

    /// The path below our address of a link that the server gave. `None` if it leads elsewhere.
    pub(super) fn path_of(&self, link: &str) -> Option<String> {
        let url = self.base.join(link).ok()?;
        // Scheme, host and port: the token must not go anywhere else.
        if url.origin() != self.base.origin() {
            return None;
        }
        let path = url.path().strip_prefix(self.base.path().trim_end_matches('/'))?;
        Some(url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}")))
    }

    /// Asks once and reads the whole answer.
    ///
    /// # Errors
    /// The outer error when no request can be made at all. The inner error when no answer came.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Result<Answer, Broken>, GithubError> {
        let request = self.request(ask)?;
        let octocrab = self.octocrab()?;
        let exchange = async {
            let response = octocrab.send(request).await.map_err(|error| broken(&error))?;
            let (parts, mut body) = response.into_parts();
            let mut read = Vec::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| Broken::Lost(innermost(&error)))?;
                let Ok(data) = frame.into_data() else { continue };
                // Before it is taken in, so that no single piece passes the limit.
                if read.len() + data.len() > MAX_ANSWER {
                    return Err(Broken::TooLarge(MAX_ANSWER));
                }
                read.extend_from_slice(&data);
            }
            Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body: read })
        };
        Ok(match tokio::time::timeout(EXCHANGE, exchange).await {
            Ok(result) => result,
            Err(_elapsed) => Err(Broken::Lost(format!("no answer within {} s", EXCHANGE.as_secs()))),
        })
    }

    fn request(&self, ask: &Ask) -> Result<Request<OctoBody>, GithubError> {
        let uri = self.uri(&ask.path)?;
        let mut request = Request::new(OctoBody::empty());
        *request.method_mut() = ask.method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, self.authorization.clone());
        headers.insert(ACCEPT, HeaderValue::from_static("application/vnd.github+json"));
        headers.insert("x-github-api-version", HeaderValue::from_static(API_VERSION));
        if let Some(etag) = ask.etag.as_deref().and_then(|etag| HeaderValue::from_str(etag).ok()) {
            headers.insert(IF_NONE_MATCH, etag);
        }
        if let Some(body) = &ask.body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            *request.body_mut() = OctoBody::from(body.clone());
        }
        Ok(request)
    }

    /// Fetches what a redirect points to, without our token, handing each piece to `take`.
    ///
    /// # Errors
    /// As [`Wire::ask`]. A status other than success comes back as `Ok(Ok(status))` with nothing taken.
    pub(super) async fn fetch_elsewhere(
        &self,
        answer: &Answer,
        mut take: impl FnMut(&[u8]) -> Result<(), Broken>,
    ) -> Result<Result<u16, Broken>, GithubError> {
        let Some(location) = answer.headers.get(LOCATION).and_then(|value| value.to_str().ok()) else {
            return Ok(Err(Broken::Lost("a redirect without an address".to_owned())));
        };
        let Ok(url) = self.base.join(location) else {
            return Ok(Err(Broken::Lost("a redirect to an invalid address".to_owned())));
        };
        // A log may hold what a network in between must not read.
        if url.scheme() != "https" && self.base.scheme() == "https" {
            return Ok(Err(Broken::Lost("a redirect to an address without encryption".to_owned())));
        }
        // A plain client: the address is signed, and our token has no business there.
        let client = self.http.client_for(&url)?;
        let exchange = async {
            let lost = |error: &dyn std::error::Error| Broken::Lost(innermost(error));
            let mut response = client.get(url).send().await.map_err(|error| lost(&error))?;
            let status = response.status().as_u16();
            if status == 200 {
                while let Some(piece) = response.chunk().await.map_err(|error| lost(&error))? {
                    take(&piece)?;
                }
            }
            Ok(status)
        };
        Ok(match tokio::time::timeout(DOWNLOAD, exchange).await {
            Ok(result) => result,
            Err(_elapsed) => Err(Broken::Lost(format!("not complete within {} s", DOWNLOAD.as_secs()))),
        })
    }
}

/// Whether a failed request can have reached the server.
fn broken(error: &octocrab::Error) -> Broken {
    let mut link: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(at) = link {
        if let Some(octocrab::Error::Reqwest { source, .. }) = at.downcast_ref::<octocrab::Error>()
            // Without a connection nothing was sent, so that even a write may be repeated.
            && source.is_connect()
        {
            return Broken::NotSent(format!("cannot connect: {}", innermost(error)));
        }
        link = at.source();
    }
    Broken::Lost(innermost(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpSettings;

    fn wire(base: &str, token: &str) -> Result<Wire, GithubError> {
        Wire::new(&Http::new(HttpSettings::default()), base, &token.into())
    }

    #[test]
    fn paths_are_joined_below_any_servers_address() {
        for (base, uri) in [
            ("https://api.github.com", "https://api.github.com/repos/o/r"),
            ("https://api.github.com/", "https://api.github.com/repos/o/r"),
            ("https://ghe.example/api/v3", "https://ghe.example/api/v3/repos/o/r"),
            ("http://127.0.0.1:3000/api/v1/", "http://127.0.0.1:3000/api/v1/repos/o/r"),
        ] {
            assert_eq!(wire(base, "t").unwrap().uri("/repos/o/r").unwrap().to_string(), uri);
        }
    }

    #[test]
    fn a_link_is_followed_below_our_own_address_only() {
        let wire = wire("https://ghe.example/api/v3", "t").unwrap();
        let path = |link| wire.path_of(link);
        assert_eq!(path("https://ghe.example/api/v3/x?page=2").as_deref(), Some("/x?page=2"));
        assert_eq!(path("https://evil.example/api/v3/x?page=2"), None);
        assert_eq!(path("http://ghe.example/api/v3/x"), None, "without encryption");
        assert_eq!(path("https://ghe.example/other"), None);
    }

    #[test]
    fn unusable_addresses_and_tokens_are_refused_and_no_token_is_shown() {
        for base in ["", "api.github.com", "ftp://x", "https://user:pw@x", "https://x?y=1"] {
            assert!(matches!(wire(base, "t"), Err(GithubError::Address { .. })), "{base}");
        }
        for token in ["", "  ", "two words", "line\nbreak", "gh\u{7f}s"] {
            assert_eq!(wire("https://x", token).err(), Some(GithubError::Token), "{token:?}");
        }
        let shown = format!("{:?}", wire("https://x", " ghs_secret\n").unwrap());
        assert!(!shown.contains("ghs_secret"), "{shown}");
    }
}
