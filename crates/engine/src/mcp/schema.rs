//! The schemas of tools' arguments as vendors take them: one that is refused costs a session its request, with every tool in it.

use serde_json::{Map, Value, json};

use super::trouble::clip;

/// The longest name that vendors take.
pub(super) const MAX_NAME: usize = 64;
/// The longest schema of arguments, in bytes.
const MAX_SCHEMA: usize = 8 * 1024;
/// How deep schemas may stand in schemas.
const MAX_DEPTH: usize = 16;
/// The types of JSON Schema.
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
/// Keywords that hold schemas by names.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];
/// Keywords that hold a list of schemas.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords that hold one schema.
const SINGLE: [&str; 3] = ["items", "additionalProperties", "not"];

/// The reason for which vendors would refuse a schema of arguments.
pub(super) fn unusable(schema: &Value) -> Option<String> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Some("its arguments are not of `type: object`".to_owned());
    }
    // Vendors refuse these at the top, and one such tool makes them refuse the whole request.
    if let Some(word) = ["oneOf", "anyOf", "allOf"].into_iter().find(|word| schema.get(*word).is_some()) {
        return Some(format!("`{word}` at the top of its arguments' schema"));
    }
    let size = schema.to_string().len();
    if size > MAX_SCHEMA {
        return Some(format!("its arguments' schema has {size} bytes of {MAX_SCHEMA} at most"));
    }
    fault(schema, &Place { root: schema, at: String::new(), depth: 0 })
}

/// The schema with `items` for every array that has none: OpenAI refuses one without, and it means the same.
pub(super) fn completed(mut schema: Value) -> Value {
    complete(&mut schema, 0);
    schema
}

fn complete(schema: &mut Value, depth: usize) {
    let Some(rules) = schema.as_object_mut().filter(|_| depth < MAX_DEPTH) else { return };
    if has_type(rules, "array") && !rules.contains_key("items") && !rules.contains_key("prefixItems") {
        rules.insert("items".to_owned(), json!({}));
    }
    for (keyword, inner) in rules.iter_mut() {
        for inner in schemas_of(keyword, inner) {
            complete(inner, depth + 1);
        }
    }
}

/// The schemas that a keyword holds.
fn schemas_of<'s>(keyword: &str, rule: &'s mut Value) -> Vec<&'s mut Value> {
    if NAMED.contains(&keyword) {
        rule.as_object_mut().map(|named| named.values_mut().collect()).unwrap_or_default()
    } else if LISTS.contains(&keyword) {
        rule.as_array_mut().map(|list| list.iter_mut().collect()).unwrap_or_default()
    } else if SINGLE.contains(&keyword) {
        vec![rule]
    } else {
        Vec::new()
    }
}

fn has_type(rules: &Map<String, Value>, wanted: &str) -> bool {
    match rules.get("type") {
        Some(Value::String(word)) => word == wanted,
        Some(Value::Array(words)) => words.iter().any(|word| word == wanted),
        _ => false,
    }
}

/// The place of a schema within another.
struct Place<'s> {
    root: &'s Value,
    /// Keys from the top, parted by dots.
    at: String,
    depth: usize,
}

impl Place<'_> {
    fn below(&self, key: &str) -> Self {
        let at = if self.at.is_empty() { key.to_owned() } else { format!("{}.{key}", self.at) };
        Self { root: self.root, at, depth: self.depth + 1 }
    }

    /// A fault as a person reads it.
    fn tell(&self, what: &str) -> String {
        if self.at.is_empty() { what.to_owned() } else { format!("{what} at `{}`", clip(&self.at, MAX_NAME)) }
    }
}

fn fault(schema: &Value, place: &Place<'_>) -> Option<String> {
    // `true` and `false` are schemas within another, and no description of arguments.
    if schema.is_boolean() && place.depth > 0 {
        return None;
    }
    let Some(rules) = schema.as_object() else { return Some(place.tell("a schema that is no object")) };
    if place.depth > MAX_DEPTH {
        return Some(format!("its schemas stand more than {MAX_DEPTH} deep in each other"));
    }
    rules.iter().find_map(|(keyword, rule)| of_keyword(keyword, rule, place))
}

fn of_keyword(keyword: &str, rule: &Value, place: &Place<'_>) -> Option<String> {
    let wrong = |what: &str| Some(place.tell(what));
    match (keyword, rule) {
        ("type", rule) if !is_type(rule) => wrong("an unknown `type`"),
        ("required", rule) if !rule.as_array().is_some_and(|names| names.iter().all(Value::is_string)) => {
            wrong("a `required` that is no list of names")
        }
        ("enum", rule) if rule.as_array().is_none_or(Vec::is_empty) => wrong("an `enum` without values"),
        ("$ref", rule) if !leads_somewhere(rule, place.root) => wrong("a `$ref` that leads nowhere in it"),
        (named, Value::Object(inner)) if NAMED.contains(&named) => {
            // The names of definitions are the schema's own. Only names of arguments reach the vendor.
            let odd = inner.keys().find(|name| named == "properties" && !is_plain(name));
            if let Some(name) = odd {
                return Some(
                    place.tell(&format!("an argument of a name that vendors refuse, {:?},", clip(name, MAX_NAME))),
                );
            }
            inner.iter().find_map(|(name, inner)| fault(inner, &place.below(name)))
        }
        (named, _) if NAMED.contains(&named) => wrong(&format!("`{named}` that are no object")),
        (list, Value::Array(inner)) if LISTS.contains(&list) => {
            let empty = || inner.is_empty().then(|| place.tell(&format!("`{list}` without a schema")));
            inner.iter().find_map(|inner| fault(inner, &place.below(list))).or_else(empty)
        }
        (list, _) if LISTS.contains(&list) => wrong(&format!("`{list}` that is no list")),
        (single, inner) if SINGLE.contains(&single) => fault(inner, &place.below(single)),
        _ => None,
    }
}

fn is_type(rule: &Value) -> bool {
    let is_word = |rule: &Value| rule.as_str().is_some_and(|word| TYPES.contains(&word));
    is_word(rule) || rule.as_array().is_some_and(|words| !words.is_empty() && words.iter().all(is_word))
}

/// Whether a reference stays within the schema and finds something there.
fn leads_somewhere(rule: &Value, root: &Value) -> bool {
    // A reference to elsewhere is nothing that a vendor follows.
    rule.as_str().and_then(|path| path.strip_prefix('#')).is_some_and(|path| root.pointer(path).is_some())
}

/// The signs and the length of an argument's name that vendors take.
fn is_plain(name: &str) -> bool {
    let sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(inner: &Value) -> Value {
        json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": inner}}}})
    }

    #[test]
    fn faults_below_the_top_are_found_and_named_with_their_place() {
        for (inner, told) in [
            (json!("string"), "a schema that is no object at `a.b`"),
            (json!({"type": "text"}), "an unknown `type` at `a.b`"),
            (json!({"type": []}), "an unknown `type` at `a.b`"),
            (json!({"required": "c"}), "a `required` that is no list of names at `a.b`"),
            (json!({"enum": []}), "an `enum` without values at `a.b`"),
            (json!({"$ref": "#/$defs/none"}), "a `$ref` that leads nowhere in it at `a.b`"),
            (json!({"$ref": "https://example.org/s.json"}), "a `$ref` that leads nowhere in it at `a.b`"),
            (json!({"properties": []}), "`properties` that are no object at `a.b`"),
            (json!({"properties": {"$x": {}}}), "an argument of a name that vendors refuse, \"$x\", at `a.b`"),
            (json!({"anyOf": []}), "`anyOf` without a schema at `a.b`"),
            (json!({"anyOf": {}}), "`anyOf` that is no list at `a.b`"),
            (json!({"items": {"type": "any"}}), "an unknown `type` at `a.b.items`"),
            (json!({"items": [{"type": "string"}]}), "a schema that is no object at `a.b.items`"),
        ] {
            assert_eq!(unusable(&of(&inner)).as_deref(), Some(told), "{inner}");
        }
    }

    #[test]
    fn schemas_that_vendors_take_stay() {
        for inner in [
            json!({"type": ["string", "null"], "description": "x"}),
            json!({"$ref": "#/properties/a"}),
            json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1}]}}),
            json!({"type": "object", "additionalProperties": true, "required": ["c"], "properties": {"c": true}}),
            json!({"enum": ["a", 1, null], "default": {"type": "no schema"}}),
        ] {
            assert_eq!(unusable(&of(&inner)), None, "{inner}");
        }
        let deep = (0..40).fold(json!({}), |inner, _| json!({"items": inner}));
        assert_eq!(unusable(&of(&deep)).as_deref(), Some("its schemas stand more than 16 deep in each other"));
    }

    #[test]
    fn an_array_of_anything_says_so() {
        let schema = completed(of(&json!({"type": ["array", "null"]})));
        assert_eq!(schema.pointer("/properties/a/properties/b/items"), Some(&json!({})));
        let whole = of(&json!({"type": "array", "items": {"type": "string"}, "default": {"type": "array"}}));
        assert_eq!(completed(whole.clone()), whole);
    }
}
