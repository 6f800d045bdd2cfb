//! YAML and JSON text as one tree that keeps duplicate keys, so that every fault of a file can be told at once.
//!
//! Invariant: a hostile text (alias bombs, deep nesting, sheer size) ends in an error, never in exhausted memory.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The longest text taken: a hundred times the largest sensible configuration.
pub(super) const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The most memory a parsed text may take, in bytes: what keeps aliases of aliases from multiplying.
const MAX_TREE_BYTES: usize = 4 * 1024 * 1024;

/// The deepest nesting of brackets taken: the YAML reader's time grows with its square.
const MAX_BRACKET_DEPTH: usize = 64;

/// The bytes that a node counts beside its text.
const NODE_BYTES: usize = 64;

/// A value as it stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in the order written. A key may stand twice.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Reads a file: JSON if it is JSON, else YAML.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(format!("the text has {} bytes; {MAX_TEXT_BYTES} is the maximum", text.len()));
        }
        // Looked at before the parser, whose time grows with the square of the depth.
        if deepest_bracket(text) > MAX_BRACKET_DEPTH {
            return Err(format!("brackets are nested more than {MAX_BRACKET_DEPTH} deep"));
        }
        // Some editors on Windows put it at the beginning of a file.
        let text = text.trim_start_matches('\u{feff}');
        if text.trim_start().starts_with('{') {
            // A text that begins with a brace may also be YAML's flow style. JSON's message is told, since JSON was meant.
            return Self::parse_json(text).or_else(|json| Self::parse_yaml(text).map_err(|_yaml| json));
        }
        Self::parse_yaml(text)
    }

    fn parse_json(text: &str) -> Result<Self, String> {
        let left = Cell::new(MAX_TREE_BYTES);
        let mut reader = serde_json::Deserializer::from_str(text);
        let node = Seed(&left).deserialize(&mut reader).map_err(|error| error.to_string())?;
        // Text behind the object is a fault, and no second document.
        reader.end().map_err(|error| error.to_string())?;
        Ok(node)
    }

    fn parse_yaml(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::Null);
        }
        let left = Cell::new(MAX_TREE_BYTES);
        Seed(&left).deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|error| error.to_string())
    }

    /// Reads a flag's or variable's text as a number or a boolean where it is one.
    pub(super) fn scalar(text: &str) -> Self {
        let text = text.trim();
        match text {
            // Only these two: `yes` and `on` are plain words in YAML 1.2.
            "true" => return Self::Bool(true),
            "false" => return Self::Bool(false),
            _ => {}
        }
        if let Ok(int) = text.parse() {
            return Self::Int(int);
        }
        text.parse().map_or_else(|_| Self::Text(text.to_owned()), Self::Float)
    }

    /// Reads a flag's or variable's text as a list of its parts.
    pub(super) fn list(text: &str, separators: &[char]) -> Self {
        let parts = text.split(separators).map(str::trim).filter(|part| !part.is_empty());
        Self::List(parts.map(|part| Self::Text(part.to_owned())).collect())
    }

    /// A description of it for messages. Long text is shortened.
    pub(super) fn describe(&self) -> String {
        const SHOWN: usize = 40;
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Text(text) if super::secret_key::looks_like_key(text) => "what looks like a secret key".to_owned(),
            // A whole file that stands in place of a value would fill the page.
            Self::Text(text) if text.chars().count() > SHOWN => {
                format!("'{}…'", text.chars().take(SHOWN).collect::<String>().escape_debug())
            }
            Self::Text(text) => format!("'{}'", text.escape_debug()),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// How deep brackets are nested, those in quoted text counted too: an upper bound is enough.
fn deepest_bracket(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            // A closing bracket in a text must not end the count below nothing.
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Reads one node within what is left of the memory allowance.
struct Seed<'c>(&'c Cell<usize>);

impl Seed<'_> {
    fn take<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        let left = self.0.get().checked_sub(bytes.saturating_add(NODE_BYTES));
        let left = left.ok_or_else(|| E::custom("the text becomes too large when its aliases are expanded"))?;
        self.0.set(left);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        // Each node counts, also an empty one: aliases can multiply empty lists.
        self.take(0)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping, a list, text, a number, true, false or null")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Int(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Int(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Node, E> {
        Ok(Node::Int(value))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Node, E> {
        // A number beyond all bounds stays beyond all bounds.
        Ok(Node::Int(i128::try_from(value).unwrap_or(i128::MAX)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Node, E> {
        self.take(text.len())?;
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Seed(self.0))? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(Key(key)) = entries.next_key()? {
            self.take(key.len())?;
            map.push((key, entries.next_value_seed(Seed(self.0))?));
        }
        Ok(Node::Map(map))
    }
}

/// A mapping's key: text, or a plain scalar taken as text.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A key is read without the seed, so it has an allowance of its own.
        let allowance = Cell::new(MAX_TEXT_BYTES + NODE_BYTES * 2);
        match Seed(&allowance).deserialize(deserializer)? {
            Node::Text(text) => Ok(Self(text)),
            Node::Bool(value) => Ok(Self(value.to_string())),
            Node::Int(value) => Ok(Self(value.to_string())),
            Node::Float(value) => Ok(Self(value.to_string())),
            Node::Null | Node::List(_) | Node::Map(_) => Err(D::Error::custom("a key must be text")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_yaml_read_to_the_same_tree() {
        let json = Node::parse("\u{feff}{\"a\": [1, 2.5, true, null, \"x\"]}").unwrap();
        let yaml = Node::parse("a:\n  - 1\n  - 2.5\n  - true\n  -\n  - x\n").unwrap();
        assert_eq!(json, yaml);
        assert_eq!(Node::parse("{a: 1}").unwrap(), Node::Map(vec![("a".to_owned(), Node::Int(1))]), "YAML in braces");
        assert_eq!(Node::parse("{\n\t\"a\": 1\n}"), Node::parse("a: 1"), "JSON may be indented with tabs");
    }

    #[test]
    fn a_duplicate_key_is_kept_to_be_told() {
        for text in ["{\"a\":1,\"a\":2}", "a: 1\na: 2\n"] {
            let Ok(Node::Map(entries)) = Node::parse(text) else { panic!("{text}") };
            assert_eq!(entries.len(), 2);
        }
    }

    #[test]
    fn bombs_end_in_an_error() {
        let mut aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}, ", level - 1).repeat(10);
            aliases.push_str(&format!("a{level}: &a{level} [{before}]\n"));
        }
        let wide = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(30_000));
        let deep_json = format!("{}{}", "{\"a\":".repeat(40_000), "}".repeat(40_000));
        let deep_yaml = "[".repeat(100_000);
        let deep_block = "- ".repeat(100_000);
        let deep_keys = "? ".repeat(100_000);
        let long = "x".repeat(MAX_TEXT_BYTES + 1);
        for text in [aliases, wide, deep_json, deep_yaml, deep_block, deep_keys, long] {
            assert!(Node::parse(&text).is_err());
        }
    }

    #[test]
    fn what_is_neither_is_an_error() {
        for text in ["{\"a\":", "a:\n\t- b", "a: !tag b", "? [a]\n: b", "a: 1\n---\nb: 2\n"] {
            assert!(Node::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(Node::parse(" \n# nothing\n").unwrap(), Node::Null);
    }
}
