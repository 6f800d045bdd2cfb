//! The values a configuration can hold, each with its own range and its own words when it is out of it.
//!
//! Invariant: a text that looks like a secret key is refused and never shown again.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::domain::chat::Effort;
use crate::domain::ladder::{Mode, OnEntropy};
use crate::domain::units::MicroUsd;

use super::node::Node;
use super::read::{Place, Readable};
use super::suggest::nearest;

/// The most dollars any cap may have: above it is a slip.
const MAX_DOLLARS: f64 = 1_000_000.0;

/// The most minutes any cap may have: ten weeks.
const MAX_MINUTES: f64 = 100_000.0;

/// Milliseconds in a minute.
const MS_PER_MINUTE: f64 = 60_000.0;

/// The longest name of a tier; it stands in tables and reports.
const MAX_NAME_CHARS: usize = 100;

/// How keys of the known vendors begin.
const KEY_PREFIXES: [&str; 9] =
    ["sk-", "sk_", "ghp_", "ghs_", "gho_", "github_pat_", "AIza", "gsk_", "xai-"];

/// The shortest text with such a beginning that is taken for a key.
const MIN_KEY_CHARS: usize = 20;

const KEY_FIX: &str = "Keys never stand in a file or a flag: put it into an environment variable (a secret of the \
                       repository in CI), and revoke it if it was committed.";

/// Whether a text looks like a vendor's key.
pub(super) fn looks_like_key(text: &str) -> bool {
    let text = text.trim();
    text.len() >= MIN_KEY_CHARS
        && !text.contains(char::is_whitespace)
        && KEY_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// The text here, if it is usable text at all: not blank, no NUL, no key.
fn text_here<'n>(at: &Place<'n>, wanted: &str) -> Option<&'n str> {
    let Node::Text(text) = at.node else {
        return at.mismatch(wanted, "Put it in quotes if it is meant as text.");
    };
    if looks_like_key(text) {
        return at.fault("this looks like a secret key", KEY_FIX);
    }
    if text.trim().is_empty() {
        return at.fault("must not be empty", "Give it a value, or leave the key out.");
    }
    if text.contains('\0') {
        return at.fault("holds a NUL character", "Remove it.");
    }
    Some(text)
}

impl Readable for String {
    fn kind() -> String {
        "text".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        text_here(at, "text").map(str::to_owned)
    }

    fn node_of(text: &str) -> Node {
        Node::Text(text.to_owned())
    }
}

impl Readable for bool {
    fn kind() -> String {
        "true or false".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let Node::Bool(value) = at.node else {
            return at.mismatch("true or false", "Write true or false, without quotes.");
        };
        Some(*value)
    }

    fn node_of(text: &str) -> Node {
        Node::scalar(&text.trim().to_lowercase())
    }
}

/// Declares a newtype with a hand-written schema.
macro_rules! schema {
    ([$($generics:tt)*] $name:ty, $word:literal, $schema:expr) => {
        impl $($generics)* JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $word.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

/// A whole number within bounds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Whole<const MIN: u32, const MAX: u32>(pub(super) u32);

schema!([<const MIN: u32, const MAX: u32>] Whole<MIN, MAX>, "whole",
    json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX}));

impl<const MIN: u32, const MAX: u32> Readable for Whole<MIN, MAX> {
    fn kind() -> String {
        format!("whole number {MIN}–{MAX}")
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = || format!("Use a whole number from {MIN} to {MAX}.");
        let value = match at.node {
            Node::Int(value) => *value,
            // The seeds' files come from JavaScript, where 5.0 is 5.
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked beside it")]
            Node::Float(value) if value.fract() == 0.0 && value.abs() <= f64::from(u32::MAX) => *value as i128,
            Node::Null | Node::Bool(_) | Node::Float(_) | Node::Text(_) | Node::List(_) | Node::Map(_) => {
                return at.mismatch("a whole number", fix());
            }
        };
        match u32::try_from(value) {
            Ok(value) if (MIN..=MAX).contains(&value) => Some(Self(value)),
            Ok(_) | Err(_) => at.fault(format!("must be from {MIN} to {MAX}, found {value}"), fix()),
        }
    }

    fn node_of(text: &str) -> Node {
        Node::scalar(text)
    }
}

/// The number here, whole or not; infinite and undefined ones are faults.
fn number_here(at: &Place<'_>, wanted: &str, fix: &str) -> Option<f64> {
    match at.node {
        #[expect(clippy::cast_precision_loss, reason = "amounts that large are refused anyway")]
        Node::Int(value) => Some(*value as f64),
        Node::Float(value) if value.is_finite() => Some(*value),
        Node::Null | Node::Bool(_) | Node::Float(_) | Node::Text(_) | Node::List(_) | Node::Map(_) => {
            at.mismatch(wanted, fix)
        }
    }
}

/// An amount of money above nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dollars(pub(super) MicroUsd);

schema!([] Dollars, "dollars", json_schema!({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_DOLLARS}));

impl Readable for Dollars {
    fn kind() -> String {
        "number above 0 (USD)".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Use an amount in dollars above 0, such as 2.5; local models cost nothing whatever the cap.";
        let usd = number_here(at, "an amount in dollars", fix)?;
        let amount = MicroUsd::from_usd(usd).filter(|_| usd > 0.0 && usd <= MAX_DOLLARS);
        amount.map(Self).or_else(|| at.fault(format!("must be above 0 and at most {MAX_DOLLARS}, found {usd}"), fix))
    }

    fn node_of(text: &str) -> Node {
        Node::scalar(text.trim().trim_start_matches('$'))
    }
}

/// A price in micro-dollars per million tokens; may be nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PerMillion(pub(super) u64);

schema!([] PerMillion, "price", json_schema!({"type": "number", "minimum": 0, "maximum": MAX_DOLLARS}));

impl Readable for PerMillion {
    fn kind() -> String {
        "number from 0 (USD per 1M tokens)".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Use dollars per million tokens, such as 3 or 0.25; 0 if it costs nothing.";
        let usd = number_here(at, "a price in dollars", fix)?;
        let price = MicroUsd::from_usd(usd).filter(|_| usd <= MAX_DOLLARS);
        price
            .map(|price| Self(price.0))
            .or_else(|| at.fault(format!("must be from 0 to {MAX_DOLLARS}, found {usd}"), fix))
    }

    fn node_of(text: &str) -> Node {
        Node::scalar(text)
    }
}

/// A duration given in minutes, kept in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Minutes(pub(super) u64);

schema!([] Minutes, "minutes", json_schema!({"type": "number", "exclusiveMinimum": 0, "maximum": MAX_MINUTES}));

impl Readable for Minutes {
    fn kind() -> String {
        "number above 0 (minutes)".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Use minutes above 0, such as 15 or 0.5.";
        let minutes = number_here(at, "a number of minutes", fix)?;
        if !(minutes > 0.0 && minutes <= MAX_MINUTES) {
            return at.fault(format!("must be above 0 and at most {MAX_MINUTES}, found {minutes}"), fix);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 and 6e9")]
        let ms = (minutes * MS_PER_MINUTE).ceil() as u64;
        Some(Self(ms))
    }

    fn node_of(text: &str) -> Node {
        Node::scalar(text)
    }
}

/// A sampling temperature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Temperature(pub(super) f64);

schema!([] Temperature, "temperature", json_schema!({"type": "number", "minimum": 0, "maximum": 2}));

impl Readable for Temperature {
    fn kind() -> String {
        "number 0–2".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Use a number from 0 to 2.";
        let value = number_here(at, "a number", fix)?;
        let inside = (0.0..=2.0).contains(&value);
        if inside { Some(Self(value)) } else { at.fault(format!("must be from 0 to 2, found {value}"), fix) }
    }
}

/// The name of a tier: one short line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(pub(super) String);

schema!([] Name, "name", json_schema!({"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS}));

impl Readable for Name {
    fn kind() -> String {
        "text".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let text = text_here(at, "a name")?.trim();
        if text.chars().any(char::is_control) || text.chars().count() > MAX_NAME_CHARS {
            return at.fault(
                "must be one line without control characters",
                format!("Use a short name of at most {MAX_NAME_CHARS} characters, such as `cheap`."),
            );
        }
        Some(Self(text.to_owned()))
    }
}

/// The name of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VarName(pub(super) String);

schema!([] VarName, "variable", json_schema!({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}));

impl Readable for VarName {
    const SEPARATORS: &'static [char] = &[',', ' ', '\t', '\r', '\n'];

    fn kind() -> String {
        "name of a variable".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Name the variable that holds the value, such as MY_API_KEY; never the value itself.";
        let Node::Text(text) = at.node else { return at.mismatch("the name of a variable", fix) };
        let mut chars = text.chars();
        let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let plain = first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
        if plain && !looks_like_key(text) {
            return Some(Self(text.clone()));
        }
        // The text may be a key: it is not shown.
        at.fault("must be the name of an environment variable", fix)
    }
}

/// An `http://` or `https://` address without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpUrl(pub(super) String);

schema!([] HttpUrl, "url", json_schema!({"type": "string", "pattern": "^https?://"}));

impl Readable for HttpUrl {
    fn kind() -> String {
        "http(s) address".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Use an address such as https://models.example.com/v1, without user name, password or key in it.";
        let text = text_here(at, "an http(s) address")?.trim();
        // The text may hold credentials: it is not shown.
        let Ok(url) = url::Url::parse(text) else { return at.fault("must be an http(s) address", fix) };
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return at.fault("must be an http(s) address", fix);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return at.fault("must not hold credentials", fix);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return at.fault("must not have a `?` or `#` part", fix);
        }
        Some(Self(text.trim_end_matches('/').to_owned()))
    }
}

/// A glob over paths of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob(pub(super) String);

schema!([] Glob, "glob", json_schema!({"type": "string", "minLength": 1}));

impl Readable for Glob {
    fn kind() -> String {
        "glob".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let text = text_here(at, "a glob")?;
        if let Err(error) = globset::Glob::new(text) {
            return at.fault(error.kind().to_string(), "Use a glob such as `generated/**` or `**/*.lock`.");
        }
        Some(Self(text.to_owned()))
    }
}

/// One model or a list of models, tried in order; each as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Targets(pub(super) Vec<String>);

schema!([] Targets, "targets", json_schema!({"anyOf": [
    {"type": "string", "minLength": 1},
    {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
]}));

impl Readable for Targets {
    fn kind() -> String {
        "model or list of models".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        if !matches!(at.node, Node::List(_)) {
            let model = text_here(at, "a model such as `anthropic/claude-haiku-4-5`, or a list of models")?;
            return Some(Self(vec![model.trim().to_owned()]));
        }
        let items = at.items()?;
        if items.is_empty() {
            return at.fault("must name at least one model", "Name a model, such as `anthropic/claude-haiku-4-5`.");
        }
        let models = items.iter().map(|item| text_here(item, "a model").map(|model| model.trim().to_owned()));
        let models: Vec<Option<String>> = models.collect();
        models.into_iter().collect::<Option<Vec<_>>>().map(Self)
    }
}

/// Where the audit log goes, or that there is none (contradiction 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AuditPath {
    /// Here.
    At(String),
    /// Nowhere.
    Off,
}

schema!([] AuditPath, "audit path", json_schema!({"anyOf": [
    {"type": "string", "minLength": 1}, {"const": false}, {"type": "null"},
]}));

impl Readable for AuditPath {
    const READS_NULL: bool = true;

    fn kind() -> String {
        "path, or null or false for none".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        match at.node {
            Node::Null | Node::Bool(false) => Some(Self::Off),
            Node::Bool(true) | Node::Int(_) | Node::Float(_) | Node::Text(_) | Node::List(_) | Node::Map(_) => {
                text_here(at, "a path, or null or false for no audit log").map(|path| Self::At(path.to_owned()))
            }
        }
    }
}

/// One of a closed set of words; says which ones there are when it is none of them.
pub(super) fn word_here<T>(at: &Place<'_>, words: &[&str], from_word: fn(&str) -> Option<T>) -> Option<T> {
    let wanted = format!("one of {}", words.join(", "));
    let Node::Text(text) = at.node else { return at.mismatch(&wanted, format!("Use {wanted}.")) };
    if let Some(value) = from_word(text.trim()) {
        return Some(value);
    }
    let fix =
        nearest(text, words.iter().copied()).map_or(format!("Use {wanted}."), |near| format!("Did you mean `{near}`?"));
    at.mismatch(&wanted, fix)
}

/// The schema of a closed set of words.
pub(super) fn words_schema(words: &[&str]) -> Schema {
    json_schema!({"type": "string", "enum": words})
}

macro_rules! domain_words {
    ($($name:ident $wrapper:ident { $($variant:ident $word:literal),+ })+) => {
        $(
            /// The domain's choice as configuration spells it.
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub(super) struct $wrapper(pub(super) $name);

            schema!([] $wrapper, "choice", words_schema(&[$($word),+]));

            impl Readable for $wrapper {
                fn kind() -> String {
                    [$($word),+].join(", ")
                }

                fn read(at: &Place<'_>) -> Option<Self> {
                    word_here(at, &[$($word),+], |word| match word {
                        $($word => Some(Self($name::$variant)),)+
                        _ => None,
                    })
                }
            }
        )+
    };
}

domain_words! {
    Mode ModeWord { Simple "simple", Full "full" }
    OnEntropy OnEntropyWord { Escalate "escalate", Continue "continue", Halt "halt" }
    Effort EffortWord { Low "low", Medium "medium", High "high" }
}
