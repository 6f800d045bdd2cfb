//! The schema of a block of data, as it stands in a file.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::node::Node;
use super::read::{Place, Readable};
use super::values::schema;
use crate::domain::json_schema::fault;

/// A schema that only says what is checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockSchema(pub(super) Value);

schema!([] BlockSchema, "block schema", json_schema!({"type": "object"}));

impl Readable for BlockSchema {
    fn kind() -> String {
        "JSON Schema".to_owned()
    }

    fn read(at: &Place<'_>) -> Option<Self> {
        let schema = json(at.node);
        if let Some((place, why)) = fault(&schema) {
            let place = if place.is_empty() { String::new() } else { format!("`{place}` ") };
            return at.fault(format!("{place}{why}"), "Use the supported keywords, or leave it out.");
        }
        Some(Self(schema))
    }
}

/// A part of a file as JSON. Of a key that stands twice the last counts.
fn json(node: &Node) -> Value {
    match node {
        Node::Null => Value::Null,
        Node::Bool(value) => Value::from(*value),
        // A number beyond 64 bits is no limit that anybody means, and JSON readers would round it.
        Node::Int(value) => i64::try_from(*value).map(Value::from).unwrap_or(Value::Null),
        Node::Float(value) => Value::from(*value),
        Node::Text(text) => Value::from(text.as_str()),
        Node::List(items) => items.iter().map(json).collect(),
        Node::Map(entries) => {
            Value::Object(entries.iter().map(|(key, node)| (key.clone(), json(node))).collect::<Map<_, _>>())
        }
    }
}
