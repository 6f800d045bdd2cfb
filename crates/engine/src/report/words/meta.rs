//! META in words: the data that roles gave beside their reports.

use serde_json::Value;

use super::sentence::Sentence;
use crate::domain::json_schema;
use crate::domain::meta::{MetaReported, RISK, ROOT_CAUSE, built_in};
use crate::report::view::RunView;

/// The longest path of a cause, in characters: its end says most.
const MAX_PATH: usize = 120;

/// A sentence for each block of a run, then one for each that is missing.
#[must_use]
pub fn meta(view: &RunView) -> Vec<Sentence> {
    meta_of(&view.meta)
}

/// The same for what sessions gave.
#[must_use]
pub fn meta_of(told: &[MetaReported]) -> Vec<Sentence> {
    let blocks = told.iter().flat_map(|meta| meta.blocks.iter().map(|(name, value)| (meta.role, name, value)));
    let missing = told.iter().flat_map(|meta| meta.missing.iter().map(|missing| (meta.role, missing)));
    let told = blocks.map(|(role, name, value)| match name.as_str() {
        // A person's own schema may stand under the same name.
        ROOT_CAUSE if is_built_in(name, value) => root_cause(value),
        RISK if is_built_in(name, value) => {
            Sentence::plain("Risk: ").name(&text(value, "level")).ours(", because ").speech(&text(value, "why"))
        }
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

fn is_built_in(name: &str, value: &Value) -> bool {
    built_in(name).is_some_and(|schema| json_schema::misfit(&schema, value).is_none())
}

fn root_cause(value: &Value) -> Sentence {
    let file = text(value, "file");
    let over = file.chars().count().saturating_sub(MAX_PATH);
    // One more is cut for the mark that stands in its place.
    let file = if over > 0 { format!("…{}", file.chars().skip(over + 1).collect::<String>()) } else { file };
    let line = value.get("line").map(|line| format!(":{line}")).unwrap_or_default();
    Sentence::plain("Cause: ")
        .name(&text(value, "category"))
        .ours(" in ")
        .code(format!("{file}{line}"))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::ladder::Role;
    use crate::report::words::sentence::Piece;

    fn said(name: &str, value: Value) -> String {
        let blocks = [(name.to_owned(), value)].into();
        let told = MetaReported { role: Role::Artisan, session_id: String::new(), blocks, missing: Vec::new() };
        let shown = |piece: &Piece| match piece {
            Piece::Ours(text) | Piece::Name(text) | Piece::Code(text) | Piece::Speech(text) | Piece::Advice(text) => {
                text.clone()
            }
        };
        meta_of(&[told]).iter().map(|sentence| sentence.render(shown)).collect()
    }

    #[test]
    fn a_schema_of_ones_own_under_a_built_in_name_is_shown_whole() {
        assert_eq!(said("risk", json!("high, and why")), "artisan risk: high, and why");
        assert_eq!(said("risk", json!({"level": 3, "reach": "all"})), "artisan risk: level: 3, reach: all");
        assert_eq!(said("root_cause", json!({"commit": "1f"})), "artisan root_cause: commit: 1f");
        assert_eq!(said("risk", json!({"level": "low", "why": "a typo"})), "Risk: low, because a typo");
    }

    #[test]
    fn the_path_of_a_cause_is_cut_and_keeps_its_end() {
        let file = format!("{}/cart.py", "deep/".repeat(50));
        let told = said("root_cause", json!({"category": "logic", "file": file, "line": 3, "why": "so"}));
        assert!(told.starts_with("Cause: logic in …") && told.contains("/cart.py:3, so"), "{told}");
        assert!(told.chars().count() < 160, "{told}");
    }
}
