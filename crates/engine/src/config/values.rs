//! The values a configuration can hold, each with its own range and its own words when it is out of it.
//!
//! Invariant: a text that looks like a secret key is refused and never shown again.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::domain::chat::Effort;
use crate::domain::ladder::{Mode, OnEntropy, Role};

use super::node::Node;
use super::read::{Place, Readable};
use super::secret_key::looks_like_key;
use super::suggest::nearest;

/// The longest name of a tier, which stands in tables and reports.
const MAX_NAME_CHARS: usize = 100;
/// The longest name of a test: parameters stand in it.
const MAX_TEST_NAME_CHARS: usize = 1_000;

const KEY_FIX: &str = "Keys never belong in a file or a flag: put it into an environment variable (a secret of the \
                       repository in CI), and revoke it if it was committed.";

/// The text here, if it is usable text at all: not blank, no NUL, no key.
fn text_here<'n>(at: &Place<'n>, wanted: &str) -> Option<&'n str> {
    let Node::Text(text) = at.node else {
        let fix = match at.node {
            Node::List(_) | Node::Map(_) => "Write one text: no brackets, no list.",
            Node::Null | Node::Bool(_) | Node::Int(_) | Node::Float(_) | Node::Text(_) => {
                "Put it in quotes if it is meant as text."
            }
        };
        return at.mismatch(wanted, fix);
    };
    // Before anything else, so that no message shows it.
    if looks_like_key(text) {
        return at.fault("this looks like a secret key", KEY_FIX);
    }
    if text.trim().is_empty() {
        return at.fault("must not be empty", "Give it a value; a key that is not required can be left out.");
    }
    // Paths, variables and arguments end at such a sign for the system.
    if text.contains('\0') {
        return at.fault("contains a NUL character", "Remove it.");
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
        // GitHub's expressions print `true`, and people write `True`.
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
pub(super) use schema;

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
        let long = text.chars().count();
        let fix = || format!("Use a short name of at most {MAX_NAME_CHARS} characters, such as `cheap`.");
        if long > MAX_NAME_CHARS {
            return at.fault(format!("has {long} characters"), fix());
        }
        if text.chars().any(char::is_control) {
            return at.fault("must be one line without control characters", fix());
        }
        Some(Self(text.to_owned()))
    }
}

/// The author of a commit: `Name <address>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitAuthor(pub(super) String);

schema!([] CommitAuthor, "author", json_schema!({"type": "string", "pattern": "^[^<>]*[^<> ][^<>]*<[^<> ]+>$"}));

impl Readable for CommitAuthor {
    fn kind() -> String {
        "Name <address>".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let text = text_here(at, "an author")?.trim();
        let parts = text.strip_suffix('>').and_then(|text| text.split_once('<'));
        let good = parts.is_some_and(|(name, address)| {
            let odd = |c: char| c.is_control() || matches!(c, '<' | '>');
            let address_is_one = !address.is_empty() && !address.contains(' ');
            !name.trim().is_empty() && address_is_one && !text.trim_end_matches('>').replacen('<', "", 1).contains(odd)
        });
        if !good {
            return at.fault("must be an author", "Write it as `Name <address>`.");
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
        "variable name".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let fix = "Name the variable that holds the value, such as MY_API_KEY; never the value itself.";
        let Node::Text(text) = at.node else { return at.mismatch("the name of a variable", fix) };
        let mut chars = text.chars();
        let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let plain = first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
        // A key of letters alone also fits the form of a name.
        if plain && !looks_like_key(text) {
            return Some(Self(text.clone()));
        }
        // The text may be a key: it is not shown.
        at.fault("must be the name of an environment variable", fix)
    }
}

/// The name of a test, as its runner prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestName(pub(super) String);

schema!([] TestName, "test", json_schema!({"type": "string", "minLength": 1, "maxLength": MAX_TEST_NAME_CHARS}));

impl Readable for TestName {
    const SEPARATORS: &'static [char] = &['\r', '\n'];

    fn kind() -> String {
        "test name".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let text = text_here(at, "the name of a test")?.trim();
        if text.is_empty() || text.chars().count() > MAX_TEST_NAME_CHARS || text.contains(char::is_control) {
            return at.fault("must be the name of a test in one line", "Copy it as the runner prints it.");
        }
        Some(Self(text.to_owned()))
    }
}

/// The login of a bot's account, to the letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BotName(pub(super) String);

schema!([] BotName, "bot", json_schema!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]*(\\[bot\\])?$", "maxLength": MAX_NAME_CHARS}));

impl Readable for BotName {
    const SEPARATORS: &'static [char] = &[',', ' ', '\t', '\r', '\n'];

    fn kind() -> String {
        "bot login".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let text = text_here(at, "the login of a bot")?.trim();
        let plain = text.strip_suffix("[bot]").unwrap_or(text);
        let first = plain.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
        let rest = plain.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if !first || !rest || text.len() > MAX_NAME_CHARS {
            return at.fault(
                "must be the login of one bot",
                "Write it as the Git host shows it, in quotes, such as \"renovate[bot]\"; there are no patterns.",
            );
        }
        Some(Self(text.to_owned()))
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
        // Addresses are printed in reports and logs, and a password in them would be, too.
        if !url.username().is_empty() || url.password().is_some() {
            return at.fault("must not contain credentials", fix);
        }
        // The path of a request is put behind the address, and would land in the query.
        if url.query().is_some() || url.fragment().is_some() {
            return at.fault("must not have a `?` or `#` part", fix);
        }
        // Else paths would begin with two slashes, which some servers take for another path.
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
        // Tried now: a glob that is no glob would protect nothing.
        if let Err(error) = globset::Glob::new(text) {
            return at.fault(error.kind().to_string(), "Use a glob such as `generated/**` or `**/*.lock`.");
        }
        Some(Self(text.to_owned()))
    }
}

/// One model or a list of models, tried in order. Each is as written.
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
        // One bad name makes the whole list unusable: a fallback that is missing would not be noticed.
        models.into_iter().collect::<Option<Vec<_>>>().map(Self)
    }
}

/// Which test files the task may edit: none, all, or those of some globs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestEdits(pub(super) Vec<Glob>);

/// The glob that `true` stands for.
const EVERY_PATH: &str = "**";

schema!(
    [] TestEdits,
    "test edits",
    json_schema!({"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string", "minLength": 1}}]})
);

impl Readable for TestEdits {
    fn kind() -> String {
        "true, false, or list of globs".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        match at.node {
            Node::Bool(true) => Some(Self(vec![Glob(EVERY_PATH.to_owned())])),
            Node::Bool(false) => Some(Self(Vec::new())),
            Node::Null | Node::Int(_) | Node::Float(_) | Node::Text(_) | Node::List(_) | Node::Map(_) => {
                Vec::read(at).map(Self)
            }
        }
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

/// One of a closed set of words. Its fault says which ones there are when it is none of them.
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
    Role RoleWord { Librarian "librarian", Artisan "artisan", Critic "critic", Advisor "advisor" }
    Role CallerWord { Librarian "librarian", Artisan "artisan" }
    Role ReporterWord { Librarian "librarian", Artisan "artisan", Critic "critic" }
}
