//! Tools that are one request to a web service each.
//!
//! Owns the way from a call's arguments to a request, and from its answer to text. Where a request may go is `http`'s to say.
//! Invariants: arguments fit the schema that a person wrote before anything is sent, and none of them changes the host or the number of
//! segments of the path. An answer is foreign text, capped.

use std::collections::BTreeMap;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue, Method, Request};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::config::{RestMethod, RestTool};
use crate::domain::json_schema::misfit;
use crate::domain::session_exit::SessionExit;
use crate::domain::tool::{ToolSource, ToolSpec};
use crate::http::{Incoming, Outward, OutwardError};

/// The longest answer, in bytes: more would be read by nobody, and the handle of a long output keeps all of it in memory.
const MAX_BODY: usize = 256 * 1024;
/// The most bytes of an answer to a request that failed.
const MAX_FAILURE: usize = 1_000;
/// The longest kind of content that is named, in bytes.
const MAX_KIND: usize = 80;
/// Signs that stand in an address for themselves (RFC 3986, 2.3). All others are encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Kinds of content that are text.
const TEXTS: [&str; 7] = ["text/", "json", "xml", "yaml", "javascript", "csv", "x-www-form-urlencoded"];

/// Why a call brought no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestError {
    /// The arguments are wrong: nothing was sent.
    #[error("{0}. Nothing was sent")]
    Arguments(String),
    /// The service could not be reached.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// The time was up.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The service said no.
    #[error("it answered {0}")]
    Refused(String),
}

impl RestError {
    /// The exit of the tool, where S1-15 has a name for it.
    #[must_use]
    pub const fn exit(&self) -> Option<SessionExit> {
        match self {
            Self::TimedOut(_) => Some(SessionExit::ToolTimeout),
            Self::Unreachable(_) | Self::Refused(_) => Some(SessionExit::ToolFailure),
            // The model is told, and asks anew.
            Self::Arguments(_) => None,
        }
    }
}

/// A tool that can be called.
#[derive(Debug)]
pub struct Rest {
    tool: RestTool,
    headers: Vec<(HeaderName, HeaderValue)>,
    outward: Outward,
}

impl Rest {
    /// A tool, and the headers that go with each request.
    #[must_use]
    pub const fn new(tool: RestTool, headers: Vec<(HeaderName, HeaderValue)>, outward: Outward) -> Self {
        Self { tool, headers, outward }
    }

    /// Its name on offer.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}{}", ToolSource::Rest.prefix(), self.tool.name)
    }

    /// Its description for a model.
    #[must_use]
    pub fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.name(), description: self.tool.description.clone(), parameters: self.tool.params.clone() }
    }

    /// Sends the request that arguments make, and returns its answer as text.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn call(&self, arguments: &Value) -> Result<String, RestError> {
        let limit = Duration::from_secs(u64::from(self.tool.timeout_seconds));
        let request = self.request(arguments)?;
        let talk = async {
            let mut answer = self.outward.send(request).await.map_err(unreachable)?;
            told(&mut answer).await
        };
        tokio::time::timeout(limit, talk).await.unwrap_or(Err(RestError::TimedOut(limit)))
    }

    fn request(&self, arguments: &Value) -> Result<Request<Vec<u8>>, RestError> {
        let none = Value::Object(Map::new());
        // Models send `null` or an empty text for no arguments.
        let arguments = if arguments.is_object() { arguments } else { &none };
        // Checked here, since a service may take wrong arguments for others that do harm.
        if let Some(why) = misfit(&self.tool.params, arguments) {
            return Err(RestError::Arguments(why));
        }
        let mut left: BTreeMap<&str, &Value> =
            arguments.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect();
        let mut url = filled(&self.tool.url, &mut left)?;
        let method = method_of(self.tool.method);
        let mut request = Request::builder().header("accept", "application/json, text/plain;q=0.9, */*;q=0.5");
        let mut body = Vec::new();
        if matches!(self.tool.method, RestMethod::Get | RestMethod::Delete) {
            for (name, value) in left {
                // The address may have a query of its own.
                url.push(if url.contains('?') { '&' } else { '?' });
                url.push_str(&format!("{}={}", encoded(name), encoded(&text_of(value))));
            }
        } else {
            request = request.header("content-type", "application/json");
            body = serde_json::to_vec(&left).unwrap_or_default();
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.method(method).uri(url).body(body).map_err(|error| RestError::Arguments(error.to_string()))
    }
}

const fn method_of(method: RestMethod) -> Method {
    match method {
        RestMethod::Get => Method::GET,
        RestMethod::Post => Method::POST,
        RestMethod::Put => Method::PUT,
        RestMethod::Patch => Method::PATCH,
        RestMethod::Delete => Method::DELETE,
    }
}

/// The address with its placeholders filled. What they took is taken out of the arguments.
fn filled(template: &str, left: &mut BTreeMap<&str, &Value>) -> Result<String, RestError> {
    let mut url = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        // Taken out, so that a value in the path does not stand in the query as well.
        let value = left.remove(name).map(text_of).unwrap_or_default();
        // An empty segment or one of dots would name another place.
        if matches!(value.as_str(), "" | "." | "..") {
            return Err(RestError::Arguments(format!("`{name}` must be given, and be no dots alone")));
        }
        url.push_str(before);
        url.push_str(&encoded(&value));
        rest = after;
    }
    url.push_str(rest);
    Ok(url)
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// A text as it is, anything else as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn unreachable(error: OutwardError) -> RestError {
    RestError::Unreachable(error.to_string())
}

async fn told(answer: &mut Incoming) -> Result<String, RestError> {
    let status = answer.status();
    // As the service wrote it: in another case, or cut, a secret in it would not be known for one.
    let kind = answer.header("content-type").unwrap_or("text/plain").to_owned();
    let lower = kind.to_ascii_lowercase();
    let is_text = TEXTS.iter().any(|text| lower.contains(text));
    if !status.is_success() {
        // A failure is read by a model, and its beginning says what was wrong.
        let (body, _) = answer.body(MAX_FAILURE).await.map_err(unreachable)?;
        let elsewhere = if status.is_redirection() { " (to another place, where it is not followed)" } else { "" };
        let said = if is_text { String::from_utf8_lossy(&body).into_owned() } else { String::new() };
        return Err(RestError::Refused(format!("{status}{elsewhere} {said}").trim_end().to_owned()));
    }
    // Bytes of a picture would only cost tokens.
    if !is_text {
        let kind = if kind.len() > MAX_KIND { "content of another kind" } else { &kind };
        return Ok(format!("[{kind}: not shown]"));
    }
    let (body, cut) = answer.body(MAX_BODY).await.map_err(unreachable)?;
    let mut text = String::from_utf8_lossy(&body).into_owned();
    if cut {
        text.push_str(&format!("\n[cut after {MAX_BODY} bytes]"));
    }
    Ok(if text.is_empty() { format!("{status}, without a body") } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::domain::ladder::Role;
    use crate::http::{Http, HttpSettings};

    fn rest(method: RestMethod, url: &str) -> Rest {
        let tool = RestTool {
            name: "issue".to_owned(),
            description: "Reads.".to_owned(),
            method,
            url: url.to_owned(),
            params: json!({"type": "object", "properties": {"id": {"type": "string", "maxLength": 9}, "page": {"type": "integer"}},
                "required": ["id"], "additionalProperties": false}),
            headers: BTreeMap::new(),
            roles: vec![Role::Librarian],
            timeout_seconds: 5,
        };
        let headers = vec![(HeaderName::from_static("x-key"), HeaderValue::from_static("k"))];
        Rest::new(tool, headers, Outward::to(Http::new(HttpSettings::default()), &[]))
    }

    fn asked(method: RestMethod, url: &str, arguments: &Value) -> Result<(String, String), RestError> {
        let request = rest(method, url).request(arguments)?;
        assert_eq!(request.headers()["x-key"], "k");
        Ok((request.uri().to_string(), String::from_utf8(request.into_body()).unwrap()))
    }

    #[test]
    fn arguments_fill_the_path_the_query_or_the_body() {
        let get = asked(RestMethod::Get, "https://a.example/i/{id}?v=1", &json!({"id": "a/b?c#d", "page": 2})).unwrap();
        assert_eq!(get, ("https://a.example/i/a%2Fb%3Fc%23d?v=1&page=2".to_owned(), String::new()));
        let post = asked(RestMethod::Post, "https://a.example/i/{id}", &json!({"id": "é", "page": 2})).unwrap();
        assert_eq!(post, ("https://a.example/i/%C3%A9".to_owned(), r#"{"page":2}"#.to_owned()));
        let query = asked(RestMethod::Get, "https://a.example/i", &json!({"id": "a&b=c"})).unwrap();
        assert_eq!(query.0, "https://a.example/i?id=a%26b%3Dc");
    }

    #[test]
    fn wrong_arguments_are_told_and_nothing_is_sent() {
        for arguments in [
            json!({}),
            json!({"id": 5}),
            json!({"id": "a", "page": "x"}),
            json!({"id": "a", "evil": 1}),
            json!({"id": "0123456789"}),
            json!({"id": ".."}),
            json!({"id": "."}),
            json!({"id": ""}),
            json!("a"),
        ] {
            let refused = asked(RestMethod::Get, "https://a.example/i/{id}", &arguments).unwrap_err();
            assert!(matches!(refused, RestError::Arguments(_)), "{arguments}: {refused}");
        }
    }
}
