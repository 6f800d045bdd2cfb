//! A closed subset of JSON Schema, read straight from its JSON: what a block of data or an answer must look like.
//!
//! Keywords: `type` (one word), `properties`, `required`, `additionalProperties` (true or false), `items` (one schema), `enum`, `minLength`,
//! `maxLength`, `minimum`, `maximum` and `description`. [`fault`] refuses every other one, so that no rule is silently left unchecked.
//! Within the subset [`misfit`] agrees with JSON Schema 2020-12.

use serde_json::{Map, Value};

/// The types that JSON Schema knows.
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// The keywords that are read.
const KEYWORDS: [&str; 11] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "description",
];

/// Why a schema cannot be used, and where: keys from its top, parted by dots.
#[must_use]
pub fn fault(schema: &Value) -> Option<(String, String)> {
    fault_at(schema, "")
}

fn fault_at(schema: &Value, at: &str) -> Option<(String, String)> {
    let here = |why: String| Some((at.to_owned(), why));
    let Some(rules) = schema.as_object() else {
        return here(format!("a schema is a mapping, not {}", type_of(schema)));
    };
    for (keyword, rule) in rules {
        let below = join(at, keyword);
        let wrong = |wanted: &str| Some((below.clone(), format!("must be {wanted}")));
        let found = match keyword.as_str() {
            "type" if !rule.as_str().is_some_and(|word| TYPES.contains(&word)) => {
                wrong(&format!("one of {}", TYPES.join(", ")))
            }
            "properties" => match rule.as_object() {
                Some(properties) => properties.iter().find_map(|(name, schema)| fault_at(schema, &join(&below, name))),
                None => wrong("a mapping of names to schemas"),
            },
            "required" if !is_list(rule, |name| name.is_string()) => wrong("a list of names"),
            "additionalProperties" if !rule.is_boolean() => wrong("true or false"),
            "items" => fault_at(rule, &below),
            "enum" if !is_list(rule, |_| true) || rule.as_array().is_some_and(Vec::is_empty) => {
                wrong("a list of at least one value")
            }
            "minLength" | "maxLength" if rule.as_u64().is_none() => wrong("a whole number from 0"),
            "minimum" | "maximum" if !rule.is_number() => wrong("a number"),
            "description" if !rule.is_string() => wrong("text"),
            // Known and well formed: the arms above take those that are not.
            known if KEYWORDS.contains(&known) => None,
            _ => Some((below.clone(), format!("is not a supported keyword; use {}", KEYWORDS.join(", ")))),
        };
        if found.is_some() {
            return found;
        }
    }
    crossed(rules).map(|keyword| (join(at, keyword), "is above its upper limit, so nothing fits".to_owned()))
}

/// The lower limit that is above its upper one.
fn crossed(rules: &Map<String, Value>) -> Option<&'static str> {
    let number = |keyword: &str| rules.get(keyword).and_then(Value::as_f64);
    // Nothing could ever fit, and each answer would be refused.
    let is_above = |lower, upper| Some(number(lower)? > number(upper)?).filter(|above| *above).map(|_| lower);
    is_above("minLength", "maxLength").or_else(|| is_above("minimum", "maximum"))
}

fn is_list(value: &Value, fits: impl Fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(fits))
}

fn join(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

/// Why a value does not fit a schema that has no [`fault`], in words for a model. `None` when it does.
#[must_use]
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    misfit_at(schema, value, "")
}

fn misfit_at(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let rules = schema.as_object()?;
    let say = |what: String| Some(if at.is_empty() { format!("it {what}") } else { format!("`{at}` {what}") });
    if let Some(wanted) = rules.get("type").and_then(Value::as_str)
        && !is_of(wanted, value)
    {
        return say(format!("must be of type {wanted}, not {}", type_of(value)));
    }
    if let Some(allowed) = rules.get("enum").and_then(Value::as_array)
        // Not by plain equality, in which 1 and 1.0 are two values.
        && !allowed.iter().any(|one| equal(one, value))
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return say(format!("must be one of {}", allowed.join(", ")));
    }
    match value {
        Value::String(text) => {
            // In characters, as JSON Schema counts, and not in bytes.
            let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
            let limit = |keyword: &str| rules.get(keyword).and_then(Value::as_u64);
            if let Some(least) = limit("minLength").filter(|least| length < *least) {
                return say(format!("must have at least {least} characters, not {length}"));
            }
            let most = limit("maxLength").filter(|most| length > *most)?;
            say(format!("must have at most {most} characters, not {length}"))
        }
        Value::Number(number) => {
            let number = number.as_f64()?;
            let limit = |keyword: &str| Some((rules.get(keyword)?.as_f64()?, rules.get(keyword)?));
            if let Some((_, least)) = limit("minimum").filter(|(least, _)| number < *least) {
                return say(format!("must be at least {least}, not {value}"));
            }
            let (_, most) = limit("maximum").filter(|(most, _)| number > *most)?;
            say(format!("must be at most {most}, not {value}"))
        }
        Value::Array(items) => {
            let schema = rules.get("items")?;
            (0_usize..).zip(items).find_map(|(index, item)| misfit_at(schema, item, &join(at, &index.to_string())))
        }
        Value::Object(fields) => misfit_of_fields(rules, fields, at),
        Value::Null | Value::Bool(_) => None,
    }
}

fn misfit_of_fields(rules: &Map<String, Value>, fields: &Map<String, Value>, at: &str) -> Option<String> {
    let required = rules.get("required").and_then(Value::as_array);
    let absent = required.into_iter().flatten().filter_map(Value::as_str).find(|name| !fields.contains_key(*name));
    if let Some(name) = absent {
        return Some(format!("`{}` is missing", join(at, name)));
    }
    let known = rules.get("properties").and_then(Value::as_object);
    // Unknown fields may stand unless it is said otherwise.
    let closed = rules.get("additionalProperties").and_then(Value::as_bool) == Some(false);
    fields.iter().find_map(|(name, value)| match known.and_then(|known| known.get(name)) {
        Some(schema) => misfit_at(schema, value, &join(at, name)),
        None => closed.then(|| format!("`{}` is not asked for", join(at, name))),
    })
}

fn is_of(wanted: &str, value: &Value) -> bool {
    match value {
        // 3.0 is an integer.
        Value::Number(number) if wanted == "integer" => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        Value::Number(_) => wanted == "number",
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            wanted == type_of(value)
        }
    }
}

/// Equality of JSON: numbers by their value, so that 1 equals 1.0.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        // Both, since large integers are no longer told apart as floating numbers.
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => one == other,
    }
}

const fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3_i64..4).prop_map(Value::from),
            prop_oneof![Just(1.0), Just(-2.5), Just(3.0)].prop_map(|number: f64| json!(number)),
            "[a-c日]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!({})),
            prop::sample::select(TYPES.as_slice()).prop_map(|word| json!({"type": word})),
            (0_u64..3, 0_u64..4).prop_map(|(least, more)| json!({"minLength": least, "maxLength": least + more})),
            (-2_i64..2, 0_i64..3).prop_map(|(least, more)| json!({"minimum": least, "maximum": least + more})),
            prop::collection::vec(value(), 1..4).prop_map(|values| json!({"enum": values})),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            let parts = (
                prop::collection::btree_map("[a-c]", inner.clone(), 0..3),
                prop::collection::btree_set("[a-c]", 0..3),
                any::<bool>(),
                inner,
            );
            parts.prop_map(|(properties, required, more, items)| {
                json!({"properties": properties, "required": required, "additionalProperties": more, "items": items})
            })
        })
    }

    proptest! {
        /// A validator that is not ours is the measure.
        #[test]
        fn the_subset_means_what_json_schema_means(schema in schema(), value in value()) {
            prop_assert_eq!(fault(&schema), None);
            let others = jsonschema::validator_for(&schema).unwrap();
            prop_assert_eq!(misfit(&schema, &value).is_none(), others.is_valid(&value), "{} {}", schema, value);
        }
    }

    #[test]
    fn what_would_go_unchecked_is_refused_with_its_place() {
        for (schema, place) in [
            (json!({"oneOf": []}), "oneOf"),
            (json!({"type": ["string", "null"]}), "type"),
            (json!({"type": "text"}), "type"),
            (json!({"properties": {"a": {"pattern": "x"}}}), "properties.a.pattern"),
            (json!({"items": {"minLength": -1}}), "items.minLength"),
            (json!({"items": [{}]}), "items"),
            (json!({"additionalProperties": {}}), "additionalProperties"),
            (json!({"enum": []}), "enum"),
            (json!({"required": [1]}), "required"),
            (json!({"maximum": "3"}), "maximum"),
            (json!({"properties": {"a": {"minimum": 5, "maximum": 4.5}}}), "properties.a.minimum"),
            (json!({"minLength": 3, "maxLength": 2}), "minLength"),
            (json!({"description": 3}), "description"),
            (json!(true), ""),
        ] {
            assert_eq!(fault(&schema).map(|(at, _)| at).as_deref(), Some(place), "{schema}");
        }
    }

    #[test]
    fn a_misfit_names_its_place() {
        let schema = json!({"type": "object", "properties": {"list": {"items": {"type": "integer"}}},
            "additionalProperties": false});
        assert_eq!(
            misfit(&schema, &json!({"list": [1, "x"]})).unwrap(),
            "`list.1` must be of type integer, not string"
        );
        assert_eq!(misfit(&schema, &json!({"b": 1})).unwrap(), "`b` is not asked for");
        assert_eq!(misfit(&schema, &json!([])).unwrap(), "it must be of type object, not array");
    }
}
