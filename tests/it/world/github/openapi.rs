//! GitHub's own description of its API (`openapi.json`, cut from github/rest-api-description, MIT): what a request may hold,
//! what an answer must look like, and a least answer to build on.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

static TEXT: &str = include_str!("openapi.json");
/// Answers that any operation may give without its description naming them.
const ANYWHERE: [u16; 8] = [304, 401, 403, 404, 429, 500, 502, 503];

struct Description {
    document: Value,
    /// Path templates by their segments.
    paths: Vec<(Vec<String>, String)>,
    validators: Mutex<HashMap<String, Validator>>,
}

fn description() -> &'static Description {
    static LOADED: OnceLock<Description> = OnceLock::new();
    LOADED.get_or_init(|| {
        let mut document: Value = serde_json::from_str(TEXT).expect("openapi.json is JSON");
        json_schema(&mut document["components"]);
        json_schema(&mut document["paths"]);
        let names = document["paths"].as_object().expect("paths").keys().cloned().collect::<Vec<_>>();
        let split = |path: &String| path.split('/').skip(1).map(str::to_owned).collect();
        let paths = names.iter().map(|path| (split(path), path.clone())).collect();
        Description { document, paths, validators: Mutex::default() }
    })
}

/// Turns OpenAPI 3.0's `nullable` into what JSON Schema knows.
fn json_schema(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(json_schema),
        Value::Object(map) => {
            map.values_mut().for_each(json_schema);
            map.remove("discriminator");
            if map.get("nullable") == Some(&Value::Bool(true)) {
                map.remove("nullable");
                let whole = Value::Object(std::mem::take(map));
                map.insert("anyOf".to_owned(), json!([whole, { "type": "null" }]));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// One operation of the description.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) template: String,
    method: String,
}

impl Operation {
    /// The operation of a request; `None` for a path or method that the description does not have.
    pub(super) fn find(method: &str, path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        let actual: Vec<&str> = path.split('/').skip(1).collect();
        let fits = description().paths.iter().filter(|(template, _)| matches(template, &actual));
        let fixed = |template: &[String]| template.iter().filter(|part| !part.starts_with('{')).count();
        let (_, template) = fits.max_by_key(|(template, _)| (fixed(template), template.len()))?;
        let method = method.to_ascii_lowercase();
        description().document["paths"][template].get(&method)?;
        Some(Self { template: template.clone(), method })
    }

    /// Its path below the repository.
    pub(super) fn route(&self) -> String {
        self.template.replace("/repos/{owner}/{repo}", "")
    }

    fn value(&self) -> &'static Value {
        &description().document["paths"][&self.template][&self.method]
    }

    /// What is wrong with a request's query and body.
    pub(super) fn request_faults(&self, path: &str, body: &[u8]) -> Vec<String> {
        let mut faults = Vec::new();
        let query = path.split_once('?').map(|(_, query)| query).unwrap_or_default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let parameters = self.value()["parameters"].as_array().map_or(&[][..], Vec::as_slice);
            let known = parameters.iter().map(resolved).find(|known| known["in"] == "query" && known["name"] == name);
            match known {
                None => faults.push(format!("no query parameter `{name}`")),
                Some(known) => faults.extend(parameter_fault(&known["schema"], name, value)),
            }
        }
        let schema = &self.value()["requestBody"]["content"]["application/json"]["schema"];
        match (schema.is_null(), body.is_empty()) {
            (true, true) => {}
            (true, false) => faults.push("a body where none belongs".to_owned()),
            (false, true) if self.value()["requestBody"]["required"] == true => faults.push("no body".to_owned()),
            (false, true) => {}
            (false, false) => match serde_json::from_slice::<Value>(body) {
                Err(error) => faults.push(format!("the body is no JSON: {error}")),
                Ok(body) => {
                    faults.extend(self.faults("request", schema, &body));
                    faults.extend(unknown_keys(schema, &body));
                }
            },
        }
        faults
    }

    /// What is wrong with an answer.
    pub(super) fn answer_faults(&self, status: u16, body: Option<&Value>) -> Vec<String> {
        let response = &self.value()["responses"][status.to_string()];
        if response.is_null() {
            let fine = ANYWHERE.contains(&status);
            return if fine { Vec::new() } else { vec![format!("status {status} is not described")] };
        }
        let content = &resolved(response)["content"];
        let schema = &content["application/json"]["schema"];
        match body {
            Some(body) if !schema.is_null() => self.faults(&status.to_string(), schema, body),
            Some(_) if content.is_object() => vec![format!("no JSON is described for status {status}")],
            _ => Vec::new(),
        }
    }

    fn faults(&self, part: &str, schema: &Value, value: &Value) -> Vec<String> {
        let key = format!("{} {} {part}", self.method, self.template);
        let mut validators = description().validators.lock().unwrap_or_else(PoisonError::into_inner);
        let validator = validators.entry(key).or_insert_with(|| {
            let mut whole = json!({ "components": description().document["components"] });
            whole["allOf"] = json!([schema]);
            jsonschema::validator_for(&whole).expect("the description holds schemas")
        });
        let shown = |error: jsonschema::ValidationError<'_>| {
            let what: String = error.to_string().chars().take(300).collect();
            format!("at `{}`: {what}", error.instance_path())
        };
        validator.iter_errors(value).map(shown).collect()
    }
}

fn matches(template: &[String], actual: &[&str]) -> bool {
    let greedy = template.last().is_some_and(|last| last == "{path}" || last == "{ref}");
    let enough = if greedy { actual.len() >= template.len() } else { actual.len() == template.len() };
    enough && template.iter().zip(actual).all(|(part, actual)| part.starts_with('{') || part == actual)
}

fn resolved(value: &'static Value) -> &'static Value {
    let Some(reference) = value["$ref"].as_str() else { return value };
    let pointer = reference.trim_start_matches('#');
    description().document.pointer(pointer).unwrap_or_else(|| panic!("{reference} is in openapi.json"))
}

fn parameter_fault(schema: &'static Value, name: &str, value: &str) -> Option<String> {
    let schema = resolved(schema);
    let integer = schema["type"] == "integer" && value.parse::<u64>().is_err();
    let listed = schema["enum"].as_array().is_some_and(|allowed| !allowed.iter().any(|word| word == value));
    (integer || listed || value.is_empty()).then(|| format!("query parameter `{name}` cannot be `{value}`"))
}

fn unknown_keys(schema: &'static Value, body: &Value) -> Vec<String> {
    let (Some(known), Some(body)) = (resolved(schema)["properties"].as_object(), body.as_object()) else {
        return Vec::new();
    };
    body.keys().filter(|key| !known.contains_key(*key)).map(|key| format!("no property `{key}`")).collect()
}

/// The least object of a schema with `own` values laid over it.
pub(super) fn object(schema: &str, own: Value) -> Value {
    static LEAST: OnceLock<Mutex<HashMap<String, Value>>> = OnceLock::new();
    let mut least = LEAST.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let base = least.entry(schema.to_owned()).or_insert_with(|| {
        let found = &description().document["components"]["schemas"][schema];
        assert!(!found.is_null(), "openapi.json has no schema {schema}");
        sample(found)
    });
    let mut object = base.clone();
    lay_over(&mut object, own);
    object
}

fn lay_over(base: &mut Value, own: Value) {
    match (base, own) {
        (Value::Object(base), Value::Object(own)) => {
            for (key, value) in own {
                lay_over(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, own) => *base = own,
    }
}

/// The least value that a schema allows.
fn sample(schema: &'static Value) -> Value {
    let schema = resolved(schema);
    if let Some(all) = schema["allOf"].as_array() {
        let mut whole = json!({});
        all.iter().for_each(|part| lay_over(&mut whole, sample(part)));
        return whole;
    }
    if let Some(choices) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        // A nullable one is filled: what lies over it may be an object.
        return choices.first().map(sample).unwrap_or_default();
    }
    if let Some(first) = schema["enum"].as_array().and_then(|words| words.first()) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let mut map = Map::new();
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                map.insert(name.to_owned(), sample(&schema["properties"][name]));
            }
            Value::Object(map)
        }
        Some("array") => json!([]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(false),
        Some("string") => json!(match schema["format"].as_str() {
            Some("date-time") => "2026-01-01T00:00:00Z",
            Some("uri") => "http://127.0.0.1/",
            _ => "",
        }),
        _ => Value::Null,
    }
}
