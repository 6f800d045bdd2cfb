//! META in words: the data that roles gave beside their reports.

use serde_json::Value;

use super::sentence::Sentence;
use crate::domain::meta::{RISK, ROOT_CAUSE};
use crate::report::view::RunView;

/// A sentence for each block, then one for each that is missing.
#[must_use]
pub fn meta(view: &RunView) -> Vec<Sentence> {
    let blocks = view.meta.iter().flat_map(|meta| meta.blocks.iter().map(|(name, value)| (meta.role, name, value)));
    let missing = view.meta.iter().flat_map(|meta| meta.missing.iter().map(|missing| (meta.role, missing)));
    let told = blocks.map(|(role, name, value)| match name.as_str() {
        ROOT_CAUSE => root_cause(value),
        RISK => Sentence::plain("Risk: ").name(&text(value, "level")).ours(", because ").speech(&text(value, "why")),
        _ => Sentence::plain(format!("{} ", role.as_str())).name(name).ours(": ").speech(&flat(value)),
    });
    let lacks = missing.map(|(role, missing)| {
        Sentence::plain("Missing: ")
            .name(&missing.name)
            .ours(format!(", which the {} owes: ", role.as_str()))
            .speech(&missing.why)
    });
    told.chain(lacks).collect()
}

fn root_cause(value: &Value) -> Sentence {
    let line = value.get("line").map(|line| format!(":{line}")).unwrap_or_default();
    Sentence::plain("Cause: ")
        .name(&text(value, "category"))
        .ours(" in ")
        .code(format!("{}{line}", text(value, "file")))
        .ours(", ")
        .speech(&text(value, "why"))
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).map(flat).unwrap_or_default()
}

/// A value in a line: the fields of an object by their names, a text bare.
fn flat(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| format!("{key}: {}", flat(value))).collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => value.to_string(),
    }
}
