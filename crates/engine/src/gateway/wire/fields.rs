//! Fields of a request, and why one of them cannot be held to a cap: what the wires have in common.

use serde_json::{Map, Value};

/// A body.
pub(in crate::gateway) type Body = Map<String, Value>;

/// A part of a request that no cap can be held against.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("upshift cannot keep this request under the cost cap: {what} → Fix: {fix}")]
pub(in crate::gateway) struct Unbounded {
    what: String,
    fix: &'static str,
}

impl Unbounded {
    pub(super) fn new(what: impl Into<String>, fix: &'static str) -> Self {
        Self { what: what.into(), fix }
    }

    pub(super) fn tool(name: &str) -> Self {
        Self::new(
            format!("the tool `{name}` runs at the vendor and is billed beside the tokens"),
            "switch that tool off",
        )
    }

    pub(super) fn field(name: &str) -> Self {
        Self::new(format!("the cost of `{name}` cannot be known beforehand"), "send the request without it")
    }

    pub(super) fn elsewhere(what: &str) -> Self {
        Self::new(format!("{what} is not in the request, so its size is not known"), "send the content itself")
    }

    pub(super) fn tier(name: &str) -> Self {
        Self::new(format!("the service tier `{name}` has prices of its own"), "ask for the standard tier")
    }

    pub(super) fn twice(name: &str) -> Self {
        Self::new(format!("it has `{name}` in two spellings, and the vendor may read either"), "send one")
    }

    pub(super) fn several() -> Self {
        Self::new("it asks for several replies at once", "ask for one")
    }
}

pub(super) fn count(body: &Body, key: &str) -> Option<u64> {
    body.get(key).and_then(Value::as_u64)
}

/// Whether a number asks for more than one, in whatever notation: vendors read `"2"` and `2.0` as well.
pub(super) fn asks_for_several(value: Option<&Value>) -> bool {
    let most = match value {
        None | Some(Value::Null) => return false,
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(other) => other.as_f64(),
    };
    // A number that nobody can read counts as many.
    most.is_none_or(|most: f64| most.is_nan() || most > 1.0)
}

pub(super) fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Whether a field is there and says something.
pub(super) fn says(body: &Body, key: &str) -> bool {
    body.get(key).is_some_and(|value| match value {
        // Off or empty asks for nothing: many clients send every field that they know.
        Value::Null | Value::Bool(false) => false,
        Value::Array(values) => !values.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => true,
    })
}

/// The first of the fields that says something.
pub(super) fn none_of(body: &Body, keys: &[&str]) -> Result<(), Unbounded> {
    keys.iter().find(|key| says(body, key)).map_or(Ok(()), |key| Err(Unbounded::field(key)))
}

/// Service tiers with the catalogue's price, or a lower one.
pub(super) fn ordinary_tier(body: &Body, key: &str, ordinary: &[&str]) -> Result<(), Unbounded> {
    match body.get(key).and_then(Value::as_str) {
        Some(tier) if !ordinary.contains(&tier.to_ascii_lowercase().as_str()) => Err(Unbounded::tier(tier)),
        Some(_) | None => Ok(()),
    }
}

/// Whether an address is a picture's own bytes.
pub(super) fn is_data(url: &str) -> bool {
    url.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"))
}
