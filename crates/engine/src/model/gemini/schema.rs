//! JSON Schema cut down to the keywords of Gemini's `Schema` object (ai.google.dev, "Schema", whose words are those of `Type` in npm
//! `@google/genai` 3.1.0, read on 2026-11-23).

use std::cell::Cell;

use serde_json::{Map, Value, json};

/// Keys that mean the same there and are copied.
const COPIED: [&str; 11] = [
    "format",
    "title",
    "description",
    "minItems",
    "maxItems",
    "required",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "nullable",
];
/// Formats that the vendor accepts. Others are refused.
const FORMATS: [&str; 7] = ["float", "double", "int32", "int64", "enum", "date-time", "byte"];
/// How deep references are followed: a schema that contains itself has no end.
const MAX_DEPTH: usize = 8;
/// How many references are followed in one schema: one that names itself often would grow without an end.
const MAX_REFERENCES: usize = 64;
/// The vendor's word for an object.
const OBJECT: &str = "OBJECT";

/// A tool's parameters as the vendor takes them. `None` for an object without properties, which it refuses.
pub(super) fn subset(parameters: &Value) -> Option<Value> {
    let schema = cut(parameters, &Whole { root: parameters, left: Cell::new(MAX_REFERENCES) }, 0);
    let has_properties = schema.get("properties").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    has_properties.then_some(schema)
}

/// The schema that references lead into, and how many more of them are followed.
struct Whole<'v> {
    root: &'v Value,
    left: Cell<usize>,
}

impl<'v> Whole<'v> {
    /// The place that a reference names, as long as one more may be followed.
    fn place(&self, path: &str) -> Option<&'v Value> {
        self.left.set(self.left.get().checked_sub(1)?);
        self.root.pointer(path)
    }
}

fn cut(schema: &Value, root: &Whole<'_>, depth: usize) -> Value {
    // `true` is a schema as well, and an object is the widest that the vendor takes.
    let Some(source) = schema.as_object().filter(|_| depth < MAX_DEPTH) else { return json!({"type": OBJECT}) };
    // The vendor knows no references, so that each is replaced by the place that it names.
    if let Some(target) = source.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#')) {
        return root.place(target).map_or_else(|| json!({"type": OBJECT}), |found| cut(found, root, depth + 1));
    }
    let mut out = Map::new();
    set_type(&mut out, source);
    for key in COPIED {
        if let Some(value) = source.get(key).filter(|value| key != "format" || is_known_format(value)) {
            out.insert(key.to_owned(), value.clone());
        }
    }
    let constant = source.get("const").map(|value| vec![value.clone()]);
    if let Some(values) = source.get("enum").and_then(Value::as_array).cloned().or(constant) {
        // Only strings can be enumerated there.
        // Numbers stay without the list, which is wider and no fault.
        let words: Vec<&Value> = values.iter().filter(|value| value.is_string()).collect();
        if !words.is_empty() {
            out.insert("type".to_owned(), json!("STRING"));
            out.insert("enum".to_owned(), json!(words));
        }
    }
    if let Some(properties) = source.get("properties").and_then(Value::as_object) {
        let cut_down = properties.iter().map(|(name, inner)| (name.clone(), cut(inner, root, depth + 1)));
        out.insert("properties".to_owned(), Value::Object(cut_down.collect()));
    }
    // After the properties, on which it depends.
    keep_required(&mut out);
    if let Some(items) = source.get("items") {
        out.insert("items".to_owned(), cut(items, root, depth + 1));
    }
    if let Some(choices) = source.get("anyOf").or_else(|| source.get("oneOf")).and_then(Value::as_array) {
        set_choices(&mut out, choices, root, depth);
    }
    Value::Object(out)
}

/// Leaves the names that have a property: the vendor refuses others.
fn keep_required(out: &mut Map<String, Value>) {
    let Some(Value::Array(mut names)) = out.remove("required") else { return };
    let properties = out.get("properties").and_then(Value::as_object);
    names.retain(|name| name.as_str().is_some_and(|name| properties.is_some_and(|all| all.contains_key(name))));
    if !names.is_empty() {
        out.insert("required".to_owned(), Value::Array(names));
    }
}

fn is_known_format(value: &Value) -> bool {
    value.as_str().is_some_and(|format| FORMATS.contains(&format))
}

/// The vendor's word for a type: JSON Schema's in capitals.
fn upper(kind: &Value) -> Value {
    kind.as_str().map_or_else(|| kind.clone(), |word| json!(word.to_ascii_uppercase()))
}

/// Sets one type. A list with null becomes nullable, and a list of several becomes the first.
fn set_type(out: &mut Map<String, Value>, source: &Map<String, Value>) {
    match source.get("type") {
        Some(Value::Array(types)) => {
            if types.iter().any(|kind| kind == "null") {
                out.insert("nullable".to_owned(), json!(true));
            }
            if let Some(first) = types.iter().find(|kind| *kind != "null") {
                out.insert("type".to_owned(), upper(first));
            }
        }
        Some(kind) => drop(out.insert("type".to_owned(), upper(kind))),
        None if source.contains_key("properties") => drop(out.insert("type".to_owned(), json!(OBJECT))),
        None => {}
    }
}

fn set_choices(out: &mut Map<String, Value>, choices: &[Value], root: &Whole<'_>, depth: usize) {
    let is_null = |choice: &&Value| choice.get("type").is_some_and(|kind| kind == "null");
    if choices.iter().any(|choice| is_null(&choice)) {
        out.insert("nullable".to_owned(), json!(true));
    }
    let mut kept: Vec<Value> =
        choices.iter().filter(|choice| !is_null(choice)).map(|choice| cut(choice, root, depth + 1)).collect();
    // `anyOf` of a type and null is that type, nullable.
    if let (1, Some(Value::Object(only))) = (kept.len(), kept.last_mut()) {
        out.extend(std::mem::take(only));
    } else {
        out.insert("anyOf".to_owned(), Value::Array(kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_names_itself_often_stays_small() {
        let own: Map<String, Value> = (0..400).map(|n| (format!("p{n}"), json!({"$ref": "#"}))).collect();
        let schema = json!({"type": "object", "properties": own});
        let size = subset(&schema).unwrap().to_string().len();
        assert!(size < 64 * schema.to_string().len(), "{size}");
    }

    #[test]
    fn a_required_name_without_a_property_is_gone() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "object", "required": ["b"]}}, "required": ["c", "a"]});
        let kept = json!({"type": "OBJECT", "properties": {"a": {"type": "OBJECT"}}, "required": ["a"]});
        assert_eq!(subset(&schema), Some(kept));
    }

    #[test]
    fn what_the_vendor_refuses_is_gone_and_the_rest_is_kept() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
            "properties": {
                "path": {"type": "string", "description": "where", "pattern": "^/", "format": "uri"},
                "line": {"type": ["integer", "null"], "format": "uint32", "minimum": 1},
                "status": {"enum": ["done", "blocked"]},
                "kind": {"const": "x"},
                "deep": {"$ref": "#/$defs/deep"},
                "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": true}},
            },
            "required": ["path"],
            "$defs": {"deep": {"type": "boolean", "examples": [true]}},
        });
        let expected = json!({
            "type": "OBJECT",
            "required": ["path"],
            "properties": {
                "path": {"type": "STRING", "description": "where"},
                "line": {"nullable": true, "type": "INTEGER", "minimum": 1},
                "status": {"type": "STRING", "enum": ["done", "blocked"]},
                "kind": {"type": "STRING", "enum": ["x"]},
                "deep": {"type": "BOOLEAN"},
                "maybe": {"nullable": true, "type": "STRING"},
                "list": {"type": "ARRAY", "items": {"type": "OBJECT", "properties": {"a": {"type": "NUMBER"}}}},
            },
        });
        assert_eq!(subset(&schema), Some(expected));
    }

    #[test]
    fn a_tool_without_parameters_declares_none() {
        assert_eq!(subset(&json!({"type": "object", "properties": {}})), None);
        assert_eq!(subset(&json!({"type": "object"})), None);
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        assert!(subset(&schema).unwrap().to_string().len() < 2_000);
    }
}
