//! From a tree to typed values, collecting every fault on the way.
//!
//! Owns the rules that hold for any object: unknown keys and keys that stand twice are refused, required keys are
//! demanded, and a fault in one value never hides a fault in another. [`object`] declares an object once: its
//! reader, its JSON Schema and its page in the reference all come from that declaration and cannot drift apart.

use std::collections::BTreeMap;

use super::error::Faults;
use super::node::Node;
use super::secret_key::looks_like_key;
use super::suggest::{nearest, spelled_like};

/// A node, where it stands, and where its faults go.
#[derive(Debug)]
pub(super) struct Place<'n> {
    /// The value.
    pub(super) node: &'n Node,
    /// Its JSON path, flag or variable.
    pub(super) path: String,
    faults: &'n Faults,
}

impl<'n> Place<'n> {
    /// A place to start from.
    pub(super) fn new(node: &'n Node, path: &str, faults: &'n Faults) -> Self {
        Self { node, path: path.to_owned(), faults }
    }

    /// Notes a fault here.
    pub(super) fn fault<T>(&self, message: impl Into<String>, fix: impl Into<String>) -> Option<T> {
        self.faults.add(&self.path, message, fix);
        None
    }

    /// Notes that another type was wanted here.
    pub(super) fn mismatch<T>(&self, wanted: &str, fix: impl Into<String>) -> Option<T> {
        self.fault(format!("expected {wanted}, found {}", self.node.describe()), fix)
    }

    /// How sections are written that people take for a single value.
    fn sample(&self) -> Option<&'static str> {
        match self.path.as_str() {
            "models" => Some("Write `models: { \"PROVIDER/MODEL\": { inputPer1M: 3, outputPer1M: 15 } }`."),
            tier if tier.ends_with(".models") => Some("Write `models: { artisan: claude-haiku-5-5 }`."),
            "tiers" => Some("Write a ladder such as `claude-haiku-5-5 x5 > claude-sonnet-5-5 x3`, or a list of tiers."),
            "test" => Some("Write `test: { command: make test }`."),
            _ => None,
        }
    }

    /// Goes to a value under a key.
    fn under(&self, key: &str, node: &'n Node) -> Self {
        Self { node, path: join(&self.path, key), faults: self.faults }
    }

    /// Goes to the items of a list. `None` (with a fault) when it is none.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        let Node::List(items) = self.node else {
            let fix = self.sample().unwrap_or("Write it as a list: [a, b], or one `- item` per line.");
            return self.mismatch("a list", fix);
        };
        let place = |(index, node)| Self { node, path: format!("{}[{index}]", self.path), faults: self.faults };
        Some(items.iter().enumerate().map(place).collect())
    }

    /// Goes to the entries of a mapping with free keys, in order. A key that stands twice is a fault.
    pub(super) fn entries(&self) -> Option<Vec<(&'n str, Self)>> {
        let Node::Map(entries) = self.node else {
            return self.mismatch("a mapping", self.sample().unwrap_or("Write it as `key: value` lines."));
        };
        // A parser would silently take one of them, and a cap could be the other.
        for key in repeated(entries) {
            self.faults.add(&join(&self.path, key), "this key appears twice", "Keep one of them.");
        }
        Some(entries.iter().map(|(key, node)| (key.as_str(), self.under(key, node))).collect())
    }

    /// Goes to an object's known keys. Every other key is a fault.
    pub(super) fn known(&self, keys: &[&str]) -> Option<BTreeMap<&'n str, Self>> {
        let mut found = BTreeMap::new();
        for (key, place) in self.entries()? {
            // A misspelt cap that is ignored would be no cap.
            if !keys.contains(&key) {
                let fix = unknown_key_fix(key, keys, self.faults);
                let _none: Option<()> = place.fault("unknown key", fix);
            } else {
                found.insert(key, place);
            }
        }
        Some(found)
    }
}

/// A JSON path one key deeper. Keys that are no plain names are quoted.
fn join(path: &str, key: &str) -> String {
    // Somebody may write a secret as a key, and paths are printed.
    let key = if looks_like_key(key) { "…" } else { key };
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
    match (path.is_empty(), plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[\"{}\"]", key.escape_debug()),
    }
}

/// The keys that stand more than once, each named once.
fn repeated(entries: &[(String, Node)]) -> Vec<&str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, _) in entries {
        *counts.entry(key).or_default() += 1;
    }
    counts.into_iter().filter(|&(_, count)| count > 1).map(|(key, _)| key).collect()
}

/// Words that people write, the key that is known beside them (if one must be), and the key that they mean.
const MEANT: [(&str, &str, &str); 3] = [
    ("model", "maxIterations", "`models: {artisan: …}`"),
    ("model", "tiers", "`models: {artisan: …}` of a tier below `tiers`, or the flag --model"),
    ("maxcostusd", "", "`global.maxTotalCostUsd`, the cap of a run, or `tiers[].maxCostUsd`, that of a tier"),
];

fn unknown_key_fix(key: &str, keys: &[&str], faults: &Faults) -> String {
    // The most dangerous slip first: such a value is in a commit already.
    if matches!(spelled_like(key).as_str(), "apikey" | "key" | "token" | "secret") {
        return "Keys of providers never belong in a file: put the key into an environment variable (a secret of the \
                repository in CI) and name that variable as `apiKeyEnv`."
            .to_owned();
    }
    let meant =
        MEANT.iter().find(|(word, here, _)| spelled_like(key) == *word && (here.is_empty() || keys.contains(here)));
    if let Some((_, _, meant)) = meant {
        return format!("Did you mean {meant}?");
    }
    if let Some(near) = nearest(key, keys.iter().copied()) {
        return format!("Did you mean `{near}`?");
    }
    // Right word, wrong place: the word is known elsewhere in the file.
    let elsewhere = faults.known_paths(key);
    if let Some(path) = elsewhere.first() {
        return format!("It belongs at `{path}`.");
    }
    format!("Remove it, or use one of: {}.", keys.join(", "))
}

/// One key of the configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path: `[]` stands for any item, `*` for any name.
    pub key: String,
    /// Its type in words.
    pub kind: String,
    /// Its default in words. Empty for a mere container.
    pub default: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}

impl Entry {
    /// Adds a key and all below it.
    pub(super) fn push<T: Readable>(
        out: &mut Vec<Self>,
        path: &str,
        key: &str,
        default: &'static str,
        meaning: &'static str,
    ) {
        let key = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        out.push(Self { key: key.clone(), kind: T::kind(), default, meaning: meaning.trim() });
        T::describe(&key, out);
    }
}

/// A value that configuration can hold.
pub(super) trait Readable: Sized {
    /// Whether an explicit null is a value of its own. Elsewhere it is the same as leaving the key out.
    const READS_NULL: bool = false;

    /// The characters that part the items of a list when it comes as one text.
    const SEPARATORS: &'static [char] = &[',', '\n'];

    /// The type in words, for the reference.
    fn kind() -> String;

    /// Reads it, noting every fault. `None` only after a fault was noted.
    fn read(at: &Place<'_>) -> Option<Self>;

    /// The tree of a flag's or variable's text.
    fn node_of(text: &str) -> Node {
        Node::Text(text.trim().to_owned())
    }

    /// The keys below it, for the reference, with the path that leads to them.
    fn describe(_path: &str, _out: &mut Vec<Entry>) {}
}

impl<T: Readable> Readable for Vec<T> {
    fn kind() -> String {
        format!("list ({})", T::kind())
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        // One bad item does not hide the faults of the others.
        Some(at.items()?.iter().filter_map(T::read).collect())
    }

    fn node_of(text: &str) -> Node {
        Node::list(text, T::SEPARATORS)
    }

    fn describe(path: &str, out: &mut Vec<Entry>) {
        T::describe(&format!("{path}[]"), out);
    }
}

impl<T: Readable> Readable for BTreeMap<String, T> {
    fn kind() -> String {
        "mapping".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let entries = at.entries()?;
        Some(entries.iter().filter_map(|(key, place)| Some(((*key).to_owned(), T::read(place)?))).collect())
    }

    fn describe(path: &str, out: &mut Vec<Entry>) {
        T::describe(&format!("{path}.*"), out);
    }
}

/// Reads one field of an object.
pub(super) fn field<T: Readable>(fields: &BTreeMap<&str, Place<'_>>, key: &str) -> Option<T> {
    T::read(present::<T>(fields, key)?)
}

/// A field's place, if it holds a value.
fn present<'f, 'n, T: Readable>(fields: &'f BTreeMap<&str, Place<'n>>, key: &str) -> Option<&'f Place<'n>> {
    // `key:` with nothing behind it is the same as no key, but for values where nothing is a choice.
    fields.get(key).filter(|place| T::READS_NULL || *place.node != Node::Null)
}

/// Reads one field of an object that must be there.
pub(super) fn required<T: Readable>(
    at: &Place<'_>,
    fields: &BTreeMap<&str, Place<'_>>,
    key: &str,
    fix: &str,
) -> Option<T> {
    if let Some(place) = present::<T>(fields, key) {
        return T::read(place);
    }
    at.faults.add(&join(&at.path, key), "is required", fix);
    None
}

/// Declares an object of the configuration: `"key" field: Type = "default in words", "how to give a required one";`
macro_rules! object {
    ($(#[$meta:meta])* $name:ident {
        $($(#[doc = $doc:literal])+ $(#[schemars $schema:tt])* $key:literal $field:ident: $ty:ty = $default:tt $(, $fix:literal)?;)+
    }) => {
        #[derive(Debug, Clone, Default, PartialEq, schemars::JsonSchema)]
        $(#[$meta])*
        #[schemars(deny_unknown_fields)]
        pub(super) struct $name {
            $($(#[doc = $doc])+ #[doc = $crate::config::read::object!(@default $default)] #[schemars(rename = $key)] $(#[schemars $schema])* pub(super) $field: Option<$ty>,)+
        }

        impl $crate::config::read::Readable for $name {
            fn kind() -> String {
                "object".to_owned()
            }

            fn read(at: &$crate::config::read::Place<'_>) -> Option<Self> {
                let fields = at.known(&[$($key),+])?;
                Some(Self {
                    $($field: $crate::config::read::object!(@field at, fields, $key $(, $fix)?),)+
                })
            }

            fn describe(path: &str, out: &mut Vec<$crate::config::read::Entry>) {
                $($crate::config::read::Entry::push::<$ty>(out, path, $key, $default, concat!($($doc),+));)+
            }
        }
    };
    (@default "") => { "" };
    (@default "required") => { "" };
    (@default $default:literal) => { concat!("Default: ", $default, ".") };
    (@field $at:ident, $fields:ident, $key:literal) => { $crate::config::read::field(&$fields, $key) };
    (@field $at:ident, $fields:ident, $key:literal, $fix:literal) => {
        $crate::config::read::required($at, &$fields, $key, $fix)
    };
}
pub(super) use object;
