//! Every YAML that a page prints is what its reader would paste: a workflow of known inputs, or a configuration that loads.

use std::collections::BTreeSet;

use serde_yaml::Value;

use super::markdown::{page, pages};
use crate::action;

/// The keys of a workflow that a part of one may hold alone.
const PARTS: [&str; 3] = ["jobs", "on", "steps"];

/// How a file of another CI system begins: no more is known of it than that it is YAML.
const ELSEWHERE: &str = "# .gitlab-ci.yml\n";

/// Every step below a value that uses an action.
fn steps(value: &Value, found: &mut Vec<Value>) {
    if value.get("uses").is_some() {
        found.push(value.clone());
    }
    value.as_mapping().into_iter().flatten().for_each(|(_, value)| steps(value, found));
    value.as_sequence().into_iter().flatten().for_each(|value| steps(value, found));
}

/// What is wrong with a step.
fn fault(step: &Value, inputs: &BTreeSet<String>) -> Option<String> {
    let uses = step["uses"].as_str()?;
    if uses.starts_with("YOUR-ACCOUNT/upshift/.github/workflows/") {
        // Its own inputs are held against the file by `action`.
        return None;
    }
    if !uses.starts_with("YOUR-ACCOUNT/upshift@") {
        let (_, reference) = uses.split_once('@')?;
        let is_commit = reference.len() == 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
        return (!is_commit).then(|| format!("{uses} is not pinned"));
    }
    let with = step.get("with").and_then(Value::as_mapping).into_iter().flatten();
    let unknown: Vec<_> = with.filter_map(|(key, _)| key.as_str()).filter(|key| !inputs.contains(*key)).collect();
    (!unknown.is_empty()).then(|| format!("{unknown:?} are no inputs"))
}

/// What is wrong with a sample.
fn sample(text: &str) -> Result<(), String> {
    let value: Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    if text.starts_with(ELSEWHERE) {
        return Ok(());
    }
    let inputs = action::inputs();
    let keys: Vec<_> = value.as_mapping().into_iter().flatten().filter_map(|(key, _)| key.as_str()).collect();
    if keys == ["tasks"] {
        return upshift::tracker::List::read(text).map(drop).map_err(|fault| fault.to_string());
    }
    if value.is_sequence() || keys.iter().any(|key| PARTS.contains(key)) {
        let mut found = Vec::new();
        steps(&value, &mut found);
        return found.iter().find_map(|step| fault(step, &inputs)).map_or(Ok(()), Err);
    }
    // Lines to be added to the step that calls the action.
    if !keys.is_empty() && keys.iter().all(|key| ["with", "env"].contains(key)) {
        let mut step = value.clone();
        step["uses"] = Value::from("YOUR-ACCOUNT/upshift@v1");
        return fault(&step, &inputs).map_or(Ok(()), Err);
    }
    if !keys.is_empty() && keys.iter().all(|key| inputs.contains(*key)) && !keys.contains(&"tiers") {
        return Ok(());
    }
    crate::config::loads(text)
}

#[test]
fn every_printed_yaml_can_be_pasted() {
    let mut seen = 0;
    for page in pages() {
        for fence in page.fences().iter().filter(|fence| fence.language == "yaml") {
            seen += 1;
            sample(&fence.text).unwrap_or_else(|fault| panic!("{}: {fault}\n{}", page.name, fence.text));
        }
    }
    assert!(seen >= 4, "{seen} samples were found");
}

#[test]
fn a_sample_that_is_wrong_is_noticed() {
    for wrong in [
        "a: [",
        "steps: [{uses: actions/checkout@v5}]",
        "jobs: {a: {steps: [{uses: YOUR-ACCOUNT/upshift@v1, with: {no-such-input: a}}]}}",
        "no-such-key: 1",
        "with: {no-such-input: a}",
        "tiers: no-such-model x3",
        "global: {maxTotalCostUsd: -1}",
    ] {
        assert!(sample(wrong).is_err(), "{wrong}");
    }
    for right in [
        "allowed-bots: a",
        "tiers: claude-haiku-5-5 x3",
        "- {uses: YOUR-ACCOUNT/upshift@v1, with: {command: gate}}",
        "with: {tiers: claude-haiku-5-5 x3}\nenv: {KEY: a}",
    ] {
        assert_eq!(sample(right), Ok(()), "{right}");
    }
}

#[test]
fn a_whole_workflow_asks_for_no_right_by_default_and_limits_its_time() {
    for page in pages() {
        for fence in page.fences().iter().filter(|fence| fence.language == "yaml") {
            let value: Value = serde_yaml::from_str(&fence.text).expect("YAML");
            if value.get("jobs").is_none() || !fence.text.contains("YOUR-ACCOUNT/upshift@") {
                continue;
            }
            assert!(value.get("permissions").is_some(), "{}: no permissions\n{}", page.name, fence.text);
            for (name, job) in value["jobs"].as_mapping().expect("jobs") {
                assert!(job.get("timeout-minutes").is_some(), "{}: {name:?} has no time limit", page.name);
            }
        }
    }
    assert!(page("docs/action.md").contains("permissions: {}"));
}
