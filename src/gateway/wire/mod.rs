//! What of a client's request costs money, wire by wire: what cannot be bounded is refused, the reply's limit is read and set.
//!
//! Pure: a body in, a decision or a changed body out. Invariant: a request that [`unbounded`] lets pass costs at most its bytes and
//! [`extra_tokens`] as prompt and [`limit`] as reply.

mod chat;
mod generate;
mod messages;
mod responses;

use serde_json::{Map, Value};

use crate::model::meter::Spoken;

/// A body.
pub(super) type Body = Map<String, Value>;

/// Prompt tokens that an image can come to beside its bytes: a small file may hold a large picture. Above the vendors' own limits for
/// one picture (Anthropic 4,784 in its newest models, OpenAI and Gemini less).
const IMAGE_TOKENS: u64 = 8_192;

/// What a request asks for that no cap can be held against.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("upshift cannot hold this request to the cost cap: {what} → Fix: {fix}")]
pub(super) struct Unbounded {
    what: String,
    fix: &'static str,
}

impl Unbounded {
    fn new(what: impl Into<String>, fix: &'static str) -> Self {
        Self { what: what.into(), fix }
    }

    fn tool(name: &str) -> Self {
        Self::new(
            format!("the tool `{name}` runs at the vendor and is billed beside the tokens"),
            "switch that tool off",
        )
    }

    fn field(name: &str) -> Self {
        Self::new(format!("`{name}` may cost what nobody can know beforehand"), "send the request without it")
    }

    fn elsewhere(what: &str) -> Self {
        Self::new(format!("{what} is not in the request, so its size is not known"), "send the content itself")
    }

    fn tier(name: &str) -> Self {
        Self::new(format!("the service tier `{name}` has prices of its own"), "ask for the standard tier")
    }

    fn several() -> Self {
        Self::new("it asks for several replies at once", "ask for one")
    }
}

/// Why a request cannot be held to a cap.
pub(super) fn unbounded(spoken: Spoken, body: &Body) -> Result<(), Unbounded> {
    match spoken {
        Spoken::Messages => messages::unbounded(body),
        Spoken::Responses => responses::unbounded(body),
        Spoken::Chat => chat::unbounded(body),
        Spoken::Generate => generate::unbounded(body),
    }
}

/// The reply's limit, where the request has one.
pub(super) fn limit(spoken: Spoken, body: &Body) -> Option<u64> {
    match spoken {
        Spoken::Messages => count(body, "max_tokens"),
        Spoken::Responses => count(body, "max_output_tokens"),
        Spoken::Chat => chat::limit(body),
        Spoken::Generate => generate::limit(body),
    }
}

/// Sets the reply's limit; `field` is the one that chat completions have for it where the request names none.
pub(super) fn set_limit(spoken: Spoken, body: &mut Body, tokens: u64, field: &str) {
    match spoken {
        Spoken::Messages => messages::set_limit(body, tokens),
        Spoken::Responses => drop(body.insert("max_output_tokens".to_owned(), tokens.into())),
        Spoken::Chat => chat::set_limit(body, tokens, field),
        Spoken::Generate => generate::set_limit(body, tokens),
    }
}

/// Prompt tokens that the request's bytes do not stand for.
pub(super) fn extra_tokens(spoken: Spoken, body: &Body) -> u64 {
    let images = match spoken {
        Spoken::Messages => messages::images(body),
        Spoken::Responses => responses::images(body),
        Spoken::Chat => chat::images(body),
        Spoken::Generate => generate::images(body),
    };
    images.saturating_mul(IMAGE_TOKENS)
}

/// Whether writing to the vendor's cache costs more than the catalogue's price: Anthropic's cache of an hour.
pub(super) fn caches_for_an_hour(spoken: Spoken, body: &Body) -> bool {
    spoken == Spoken::Messages && messages::caches_for_an_hour(body)
}

/// Has a stream of chat completions tell its counts; whether the body was changed by it.
pub(super) fn ask_for_counts(spoken: Spoken, body: &mut Body) -> bool {
    spoken == Spoken::Chat && chat::ask_for_counts(body)
}

fn count(body: &Body, key: &str) -> Option<u64> {
    body.get(key).and_then(Value::as_u64)
}

fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Whether a field is there and says something.
fn says(body: &Body, key: &str) -> bool {
    body.get(key).is_some_and(|value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(values) => !values.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => true,
    })
}

/// The first of the fields that says something.
fn none_of(body: &Body, keys: &[&str]) -> Result<(), Unbounded> {
    keys.iter().find(|key| says(body, key)).map_or(Ok(()), |key| Err(Unbounded::field(key)))
}

/// Service tiers with the catalogue's price, or a lower one.
fn ordinary_tier(body: &Body, key: &str, ordinary: &[&str]) -> Result<(), Unbounded> {
    match body.get(key).and_then(Value::as_str) {
        Some(tier) if !ordinary.contains(&tier.to_ascii_lowercase().as_str()) => Err(Unbounded::tier(tier)),
        Some(_) | None => Ok(()),
    }
}

/// Whether an address is a picture's own bytes.
fn is_data(url: &str) -> bool {
    url.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"))
}

#[cfg(test)]
mod tests;
