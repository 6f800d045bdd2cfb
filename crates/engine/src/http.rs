//! The one place that makes HTTP clients. `model` and `github` get theirs here.
//!
//! Owns the transport's settings: proxies, certificate authorities, connect and idle timeouts, redirects. It knows nothing of vendors, keys
//! or retries, and reads no environment variable of its own (the variables that `cli` found come in as [`HttpSettings`], and only the
//! system's certificate loader looks at `SSL_CERT_FILE` and `SSL_CERT_DIR` itself).
//!
//! Invariant: clients are made on first use, and one for plain `http://` loads no certificates: reading the system's
//! costs more processor time than the rest of a start-up together.

mod guard;
mod outward;
pub mod sse;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy, redirect};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::domain::web_host::host_of;
use guard::Guard;
pub use outward::{Incoming, Outward, OutwardError};

/// How long a connection may take to be made: name, TCP and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest silence on an open connection. No model call is allowed more time in all (S1-3), so this is a backstop for callers that set
/// nothing tighter.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long an unused connection is kept: shorter than the sixty seconds after which common load balancers drop one
/// silently.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(50);
/// Redirects followed within one origin.
const MAX_REDIRECTS: usize = 5;
/// Loopback is never sent through a proxy (as in Go and in browsers): a local model is not reachable from there.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";
/// The name that we send.
const USER_AGENT: &str = concat!("upshift/", env!("CARGO_PKG_VERSION"));

/// Proxies as the customary variables name them. Proxy addresses may carry a password.
#[derive(Clone, Default)]
pub struct ProxySettings {
    /// `HTTP_PROXY` or `http_proxy`.
    pub http: Option<SecretString>,
    /// `HTTPS_PROXY` or `https_proxy`.
    pub https: Option<SecretString>,
    /// `ALL_PROXY` or `all_proxy`: where the two above are absent.
    pub all: Option<SecretString>,
    /// `NO_PROXY` or `no_proxy`: hosts, domains and address ranges, separated by commas.
    pub no_proxy: Option<String>,
}

impl fmt::Debug for ProxySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxySettings")
            // Only whether there is one: the address may hold a password.
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("all", &self.all.is_some())
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

/// The settings of every connection.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// The proxies to use.
    pub proxy: ProxySettings,
    /// A PEM file of certificate authorities trusted beside the system's (`SSL_CERT_FILE`, `NODE_EXTRA_CA_CERTS`).
    pub extra_ca: Option<PathBuf>,
    /// The time for making a connection, if not fifteen seconds.
    pub connect_timeout: Option<Duration>,
}

/// Why no client could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The extra certificate file cannot be read or holds no certificate.
    #[error(
        "cannot use the certificate file `{path}`: {reason} → Fix: point SSL_CERT_FILE or NODE_EXTRA_CA_CERTS at a PEM file, or unset it"
    )]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A proxy's address cannot be used. The address itself is not shown, as it may hold a password.
    #[error("cannot use the proxy of {variable}: {reason} → Fix: set it to http://HOST:PORT, or unset it")]
    Proxy {
        /// The variable that named it.
        variable: &'static str,
        /// Why.
        reason: String,
    },
    /// The TLS stack refused to start, mostly because the system has no certificates.
    #[error(
        "cannot set up TLS: {reason} → Fix: install the system's CA certificates (package ca-certificates) or set SSL_CERT_FILE"
    )]
    Tls {
        /// Why.
        reason: String,
    },
}

/// Makes clients on demand and keeps them. It is cheap to clone.
#[derive(Debug, Clone)]
pub struct Http(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: HttpSettings,
    plain: Mutex<Option<Client>>,
    secure: Mutex<Option<Client>>,
}

impl Http {
    /// Keeps the settings. It costs nothing until a client is asked for.
    #[must_use]
    pub fn new(settings: HttpSettings) -> Self {
        Self(Arc::new(Inner { settings, plain: Mutex::new(None), secure: Mutex::new(None) }))
    }

    /// The client for an address: one without certificates for plain `http://`, else one with.
    ///
    /// # Errors
    /// [`HttpError`] when the settings cannot be used.
    pub fn client_for(&self, url: &Url) -> Result<Client, HttpError> {
        let settings = &self.0.settings;
        // Loading the system's certificates takes milliseconds, which a local model does not need.
        if url.scheme() == "http" && !settings.proxy.is_secure_for_plain() {
            kept(&self.0.plain, || build(settings, Certificates::None, None))
        } else {
            kept(&self.0.secure, || build(settings, Certificates::System, None))
        }
    }
}

impl ProxySettings {
    /// The hosts of the proxies.
    fn hosts(&self) -> BTreeSet<String> {
        let proxies = [&self.http, &self.https, &self.all].into_iter().flatten();
        let urls = proxies.filter_map(|proxy| proxy_url(proxy.expose_secret().trim()).ok());
        urls.filter_map(|url| host_of(&url)).collect()
    }

    /// Whether even plain requests may travel through a TLS connection to the proxy.
    fn is_secure_for_plain(&self) -> bool {
        [&self.http, &self.all].into_iter().flatten().any(|proxy| proxy.expose_secret().starts_with("https://"))
    }
}

fn kept(slot: &Mutex<Option<Client>>, make: impl FnOnce() -> Result<Client, HttpError>) -> Result<Client, HttpError> {
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(client) = &*slot {
        return Ok(client.clone());
    }
    let client = make()?;
    *slot = Some(client.clone());
    Ok(client)
}

/// Installs the process-wide TLS provider. Later calls do nothing.
///
/// `main` calls it first, and so does every client made here, as reqwest panics without one.
pub fn install_tls_provider() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // An error means that somebody else installed one before, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Certificates {
    None,
    System,
}

fn build(settings: &HttpSettings, certificates: Certificates, guard: Option<Guard>) -> Result<Client, HttpError> {
    install_tls_provider();
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(settings.connect_timeout.unwrap_or(CONNECT_TIMEOUT))
        // No limit for the whole request: a reply that still streams is no silent one.
        .read_timeout(IDLE_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .redirect(redirect::Policy::custom(stay_at_origin))
        // A call that is sent twice is paid twice, so that trying again is decided where calls are booked.
        .retry(reqwest::retry::never())
        // An address may hold a key, and would be told to the next host.
        .referer(false);
    let builder = with_proxies(builder, &settings.proxy)?;
    let builder = match guard {
        Some(guard) => builder.dns_resolver(Arc::new(guard)),
        None => builder,
    };
    let builder = match certificates {
        Certificates::None => builder.tls_certs_only([]),
        Certificates::System => with_extra_ca(builder, settings)?,
    };
    builder.build().map_err(|error| HttpError::Tls { reason: innermost(&error) })
}

/// Follows redirects inside one origin only: a key must not travel to another host.
fn stay_at_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    // The origin is scheme, host and port, so that a step from https to http is none of it.
    let same_origin = attempt.previous().last().is_some_and(|before| before.origin() == attempt.url().origin());
    if same_origin && attempt.previous().len() <= MAX_REDIRECTS { attempt.follow() } else { attempt.stop() }
}

fn with_extra_ca(builder: ClientBuilder, settings: &HttpSettings) -> Result<ClientBuilder, HttpError> {
    let Some(path) = &settings.extra_ca else { return Ok(builder) };
    let refuse = |reason: String| HttpError::Certificates { path: path.clone(), reason };
    let pem = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| refuse(innermost(&error)))?;
    if certificates.is_empty() {
        return Err(refuse("it holds no certificate".to_owned()));
    }
    Ok(builder.tls_certs_merge(certificates))
}

/// Applies the proxies that were handed in, and none that the environment names behind our back.
fn with_proxies(builder: ClientBuilder, settings: &ProxySettings) -> Result<ClientBuilder, HttpError> {
    let exempt = settings.no_proxy.as_deref().unwrap_or_default();
    let exempt = NoProxy::from_string(&format!("{LOOPBACK},{exempt}"));
    // Without it the library would read the environment itself.
    let mut builder = builder.no_proxy();
    // The special one beats the general one, as curl has it.
    let http = settings.http.as_ref().or(settings.all.as_ref());
    let https = settings.https.as_ref().or(settings.all.as_ref());
    for (variable, address) in [("HTTP_PROXY", http), ("HTTPS_PROXY", https)] {
        let Some(address) = address.filter(|address| !address.expose_secret().trim().is_empty()) else { continue };
        let refuse = |reason: String| HttpError::Proxy { variable, reason };
        let url = proxy_url(address.expose_secret().trim()).map_err(|error| refuse(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse(format!("a proxy that speaks {} is not supported", url.scheme())));
        }
        let proxy = if variable == "HTTP_PROXY" { Proxy::http(url) } else { Proxy::https(url) };
        let proxy = proxy.map_err(|error| refuse(innermost(&error)))?;
        builder = builder.proxy(proxy.no_proxy(exempt.clone()));
    }
    Ok(builder)
}

fn proxy_url(address: &str) -> Result<Url, url::ParseError> {
    // `proxy:3128` without a scheme is how many write it.
    if address.contains("://") { Url::parse(address) } else { Url::parse(&format!("http://{address}")) }
}

/// The message at the bottom of an error's chain: reqwest's own outer ones say only "builder error".
#[must_use]
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(proxy: ProxySettings) -> HttpSettings {
        HttpSettings { proxy, ..HttpSettings::default() }
    }

    #[test]
    fn an_unusable_certificate_file_is_named() {
        let http = Http::new(HttpSettings { extra_ca: Some("/nowhere/ca.pem".into()), ..HttpSettings::default() });
        let error = http.client_for(&Url::parse("https://example.test").unwrap()).unwrap_err().to_string();
        assert!(error.contains("/nowhere/ca.pem") && error.contains("Fix:"), "{error}");
        assert!(
            http.client_for(&Url::parse("http://example.test").unwrap()).is_ok(),
            "plain http needs no certificates"
        );
    }

    #[test]
    fn a_proxy_password_shows_in_no_error_and_no_debug_text() {
        let proxy = ProxySettings { https: Some("socks9://user:hunter22@host".into()), ..ProxySettings::default() };
        assert!(!format!("{proxy:?}").contains("hunter22"));
        let error = Http::new(settings(proxy)).client_for(&Url::parse("https://example.test").unwrap()).unwrap_err();
        assert!(!error.to_string().contains("hunter22") && error.to_string().contains("HTTPS_PROXY"), "{error}");
    }
}
