//! Endpoints: which wire, where, with which key.
//!
//! Owns the reading of base URLs as people write them (with or without a slash or `/v1`, `OLLAMA_HOST` without a scheme).
//! Reads no environment: the values come in as data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::streams::Streams;

/// The longest a whole call may take (S1-3).
pub const OVERALL_TIMEOUT: Duration = Duration::from_secs(600);
/// The longest silence before or inside an answer: reasoning models are known to be silent for minutes.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// The most bytes of an answer that are read: far above any reply, far below what would hurt.
pub const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// The variables that may hold Azure's `api-version`, the first present one wins: that of Microsoft's samples, that of
/// OpenAI's own client, that of LiteLLM.
pub const AZURE_VERSION_VARIABLES: [&str; 3] = ["AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION", "AZURE_API_VERSION"];

/// The vendor's protocol that an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI chat completions, as most vendors offer them.
    OpenAi,
    /// Gemini `generateContent`.
    Gemini,
    /// Ollama's own `/api/chat`.
    Ollama,
}

/// How long and how much one call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// From sending to the last byte.
    pub overall: Duration,
    /// The longest silence.
    pub idle: Duration,
    /// The longest answer in bytes.
    pub answer_bytes: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { overall: OVERALL_TIMEOUT, idle: IDLE_TIMEOUT, answer_bytes: MAX_ANSWER_BYTES }
    }
}

/// Everything that makes one provider.
#[derive(Clone)]
pub struct Endpoint {
    /// The provider's name: a built-in one (its peculiarities follow from it) or one of the configuration's.
    pub name: String,
    /// The wire that it uses.
    pub wire: Wire,
    /// The address, with or without a trailing slash, with or without the version segment.
    pub base_url: String,
    /// The key. `None` for local servers.
    pub api_key: Option<SecretString>,
    /// The variable the key came from, for error messages.
    pub key_variable: Option<String>,
    /// Azure's `api-version`, if not the default.
    pub api_version: Option<String>,
    /// Time and size limits of each call.
    pub limits: CallLimits,
    /// The place where raw answers are kept, if they are.
    pub streams: Option<Arc<Streams>>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("name", &self.name)
            .field("wire", &self.wire)
            .field("base_url", &self.base_url)
            // Whether there is a key, and never the key.
            .field("api_key", &self.api_key.is_some())
            .field("key_variable", &self.key_variable)
            .finish_non_exhaustive()
    }
}

/// Why an endpoint cannot be used: a fault of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The base URL is none.
    #[error(
        "provider `{provider}`: base URL `{url}` cannot be used: {reason} → Fix: write it as https://HOST[:PORT][/PATH]"
    )]
    BaseUrl {
        /// The provider.
        provider: String,
        /// The URL as given.
        url: String,
        /// The fault of the URL.
        reason: String,
    },
    /// The key has characters that no header can carry.
    #[error(
        "provider `{provider}`: the key{from} contains a line break or another control character → Fix: store it again without"
    )]
    Key {
        /// The provider.
        provider: String,
        /// ` in VARIABLE`, or nothing.
        from: String,
    },
    /// The key stands in quotes, as a file of variables has them that no shell reads. No vendor takes them for a part of the key.
    #[error("provider `{provider}`: the key{from} stands in quotes → Fix: store it again without them")]
    QuotedKey {
        /// The provider.
        provider: String,
        /// ` in VARIABLE`, or nothing.
        from: String,
    },
}

impl Endpoint {
    /// An endpoint without a key and with the default limits.
    #[must_use]
    pub fn new(name: impl Into<String>, wire: Wire, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            wire,
            base_url: base_url.into(),
            api_key: None,
            key_variable: None,
            api_version: None,
            limits: CallLimits::default(),
            streams: None,
        }
    }

    /// The same endpoint with a key and where it came from.
    #[must_use]
    pub fn with_key(mut self, key: SecretString, variable: impl Into<String>) -> Self {
        self.api_key = Some(key);
        self.key_variable = Some(variable.into());
        self
    }

    /// The base URL without a trailing slash. `OLLAMA_HOST` forms are completed.
    pub(super) fn parsed_base(&self) -> Result<Url, EndpointError> {
        let refuse = |reason: &str| EndpointError::BaseUrl {
            provider: self.name.clone(),
            url: self.base_url.clone(),
            reason: reason.to_owned(),
        };
        let text = self.base_url.trim();
        let text = if self.wire == Wire::Ollama { ollama_host(text) } else { text.to_owned() };
        let mut url = Url::parse(&text).map_err(|error| refuse(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse("it is neither http nor https"));
        }
        // Refused without being shown: the address stands in messages and logs, and a password with it.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EndpointError::BaseUrl {
                provider: self.name.clone(),
                url: "(hidden)".to_owned(),
                reason: "it contains a user name or password".to_owned(),
            });
        }
        // It is never sent, and would stand behind each path that is joined.
        url.set_fragment(None);
        let path = url.path().trim_end_matches('/');
        // Some people give the whole address of the method.
        let is_method = self.wire == Wire::Anthropic && path.ends_with("/v1/messages");
        let path = if is_method { path.trim_end_matches("/messages") } else { path }.to_owned();
        url.set_path(&path);
        Ok(url)
    }
}

/// Reads `OLLAMA_HOST` as Ollama does: the scheme defaults to http, the port to 11434. An address to listen on everywhere (`0.0.0.0`) is
/// reached on loopback.
fn ollama_host(text: &str) -> String {
    const PORT: u16 = 11_434;
    if text.contains("://") {
        return text.replacen("//0.0.0.0", "//127.0.0.1", 1);
    }
    let host = text.trim_end_matches('/').replacen("0.0.0.0", "127.0.0.1", 1);
    let host = if host.starts_with(':') { format!("127.0.0.1{host}") } else { host };
    // Behind the last colon, as `[::1]` has some of its own.
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.chars().all(|c| c.is_ascii_digit()));
    if has_port { format!("http://{host}") } else { format!("http://{host}:{PORT}") }
}

/// Appends a path, after the version segment if the base has none yet.
pub(super) fn join(base: &Url, version: &str, path: &str) -> Url {
    let mut url = base.clone();
    let stem = url.path().trim_end_matches('/').to_owned();
    // A base such as `https://host/api/v4` has a version already, and a second one leads nowhere.
    let versioned = version.is_empty() || stem.split('/').any(is_version_segment);
    let joined = if versioned { format!("{stem}/{path}") } else { format!("{stem}/{version}/{path}") };
    url.set_path(&joined);
    url
}

/// Whether a path segment names an API version: `v1`, `v1beta`, `v4`.
fn is_version_segment(segment: &str) -> bool {
    let mut rest = segment.chars();
    rest.next() == Some('v') && rest.next().is_some_and(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_join_with_and_without_slash_and_version() {
        for (base, joined) in [
            ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
            ("http://127.0.0.1:4300/proxy/x/", "http://127.0.0.1:4300/proxy/x/v1/messages"),
            ("https://host/v1beta/openai/", "https://host/v1beta/openai/messages"),
            // Some people give the whole address of the method.
            ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("http://127.0.0.1:4300/x/v1/messages/", "http://127.0.0.1:4300/x/v1/messages"),
        ] {
            let base = Endpoint::new("custom", Wire::Anthropic, base).parsed_base().unwrap();
            assert_eq!(join(&base, "v1", "messages").as_str(), joined);
        }
    }

    #[test]
    fn ollama_host_is_read_as_ollama_reads_it() {
        for (host, url) in [
            ("localhost", "http://localhost:11434/"),
            ("0.0.0.0", "http://127.0.0.1:11434/"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/"),
            (":8080", "http://127.0.0.1:8080/"),
            ("https://models.example.test/", "https://models.example.test/"),
            ("http://0.0.0.0:11434", "http://127.0.0.1:11434/"),
        ] {
            assert_eq!(Endpoint::new("ollama", Wire::Ollama, host).parsed_base().unwrap().as_str(), url);
        }
    }

    #[test]
    fn unusable_base_urls_are_refused_without_showing_a_password() {
        for url in ["", "api.example.test/v1", "ftp://host", "https://"] {
            assert!(Endpoint::new("custom", Wire::OpenAi, url).parsed_base().is_err(), "{url}");
        }
        let error = Endpoint::new("custom", Wire::OpenAi, "https://me:hunter22@host").parsed_base().unwrap_err();
        assert!(!error.to_string().contains("hunter22"));
    }
}
