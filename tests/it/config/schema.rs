//! The schema, the reference and the examples say the same as the reader.

use std::collections::BTreeSet;

use serde_json::Value;
use upshift::cli;
use upshift::config::{Sources, reference};

use super::{configured, errors, keys, plan};

const COMMITTED: &str = include_str!("../../../schema/upshift.schema.json");

pub(super) const EXAMPLES: [(&str, &str); 6] = [
    ("local-mid-strong.yml", include_str!("../../../examples/local-mid-strong.yml")),
    ("one-local-tier.yml", include_str!("../../../examples/one-local-tier.yml")),
    ("monorepo.yml", include_str!("../../../examples/monorepo.yml")),
    ("legacy-tiers.json", include_str!("../../../examples/legacy-tiers.json")),
    ("agents.yml", include_str!("../../../examples/agents.yml")),
    ("agents-in-one-tier.yml", include_str!("../../../examples/agents-in-one-tier.yml")),
];

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(COMMITTED).unwrap()).unwrap()
}

fn value(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    let fresh = cli::schema::render();
    assert!(fresh == COMMITTED, "run: cargo run -- schema > schema/upshift.schema.json");
}

#[test]
fn every_example_fits_the_schema_and_loads() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).unwrap();
    // The recorded example is a folder with a test of its own (`reports::looking`).
    let files = files.map(Result::unwrap).filter(|file| file.path().is_file());
    let on_disk: BTreeSet<String> = files.map(|file| file.file_name().into_string().unwrap()).collect();
    let listed: BTreeSet<String> = EXAMPLES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(on_disk, listed, "an example is not tested");
    let validator = validator();
    for (name, text) in EXAMPLES {
        let faults: Vec<String> = validator.iter_errors(&value(text)).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{name}: {faults:?}");
        let plan = plan(&configured(text));
        assert!(plan.warnings.is_empty(), "{name}: {:?}", plan.warnings);
    }
}

#[test]
fn what_init_writes_fits_the_schema_and_loads() {
    let text = cli::init::CONFIG;
    assert!(validator().is_valid(&value(text)));
    plan(&configured(text));
    // With every comment taken away it still holds: what it shows is true.
    let shown: String = text
        .lines()
        .map(|line| {
            line.strip_prefix("# ")
                .filter(|rest| rest.starts_with([' ', 't', 's']) && rest.contains([':', '-']))
                .unwrap_or(line)
        })
        .fold(String::new(), |all, line| all + line + "\n");
    assert!(shown.contains("\ntiers:\n") && shown.contains("\nsafety:\n"), "{shown}");
    assert!(validator().is_valid(&value(&shown)), "{shown}");
    plan(&configured(&shown));
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let validator = validator();
    for text in [
        "tier: []",
        "tiers: []",
        "tiers: [{name: a, mode: simple, maxIterations: 5}]",
        "tiers: [{name: a, mode: simple, maxIterations: 101, models: {artisan: gpt-5}}]",
        "tiers: [{name: a, mode: odd, maxIterations: 1, models: {artisan: gpt-5}}]",
        "tiers: [{name: a, mode: simple, maxIterations: 1, models: {artisan: []}}]",
        "global: {maxTotalCostUsd: 0}",
        "global: {auditDbPath: 5}",
        "providers: {own: {wire: cassette, baseUrl: 'http://x'}}",
        "safety: {network: offf}",
        "agent: {maxTurns: 0.5}",
    ] {
        assert!(!validator.is_valid(&value(text)), "the schema takes {text}");
        assert!(errors(&configured(text)).to_string().contains("→ Fix"), "the reader takes {text}");
    }
}

/// The paths of every property, `[]` for items and `*` for free names.
fn paths(schema: &Value, root: &Value, path: &str, out: &mut BTreeSet<String>) {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let pointer = name.strip_prefix('#').unwrap();
        return paths(root.pointer(pointer).unwrap(), root, path, out);
    }
    for part in ["anyOf", "allOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten() {
        paths(part, root, path, out);
    }
    for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        out.insert(path.clone());
        paths(property, root, &path, out);
    }
    if let Some(items) = schema.get("items") {
        paths(items, root, &format!("{path}[]"), out);
    }
    if let Some(free) = schema.get("additionalProperties").filter(|value| value.is_object()) {
        paths(free, root, &format!("{path}.*"), out);
    }
}

#[test]
fn the_reference_lists_every_key_of_the_schema_with_its_meaning() {
    let schema: Value = serde_json::from_str(COMMITTED).unwrap();
    let mut in_schema = BTreeSet::new();
    paths(&schema, &schema, "", &mut in_schema);
    let reference = reference();
    let in_reference: BTreeSet<String> = reference.iter().map(|entry| entry.key.clone()).collect();
    assert_eq!(in_reference, in_schema);
    assert!(reference.iter().all(|entry| entry.meaning.ends_with('.') && !entry.kind.is_empty()), "{reference:?}");
}

#[test]
fn every_object_of_the_schema_is_closed() {
    let schema: Value = serde_json::from_str(COMMITTED).unwrap();
    let objects = schema["$defs"].as_object().unwrap().values().chain([&schema]);
    for object in objects.filter(|object| object.get("properties").is_some()) {
        assert_eq!(object["additionalProperties"], Value::Bool(false), "{object}");
        assert!(object["description"].is_string(), "{object}");
    }
}

#[test]
fn the_documented_defaults_are_the_effective_ones() {
    let plan = plan(&Sources { config_file: None, ..keys() });
    for entry in reference().iter().filter(|entry| entry.default.parse::<f64>().is_ok()) {
        let Some(value) = plan.values.iter().find(|value| value.key == entry.key) else { continue };
        let shown = value.value.replace(['$', 'm'], "").replace(" 0s", "");
        let shown = shown.split(" (").next().unwrap_or_default();
        assert_eq!(shown, entry.default, "{}", entry.key);
    }
}
