//! The doctor's look at caps that are written twice: an input of the workflow counts in its job, and the file's own does not.

use std::time::Duration;

use serde_yaml::Value;

use super::finding::Finding;
use crate::cli::workflow_files::{Workflow, mends, steps_by_job};
use crate::config::{DEFAULT_CONFIG_PATH, Origin, Plan};
use crate::domain::units::{MicroUsd, human_duration};

const ABOUT: &str = "caps";

/// A line for each cap of the file that a workflow's own input replaces by another one.
pub(super) fn examine(workflows: &[Workflow], plan: &Plan) -> Vec<Finding> {
    let is_of_file =
        |key: &str| plan.values.iter().any(|value| value.key == key && matches!(value.origin, Origin::File(_)));
    let mut findings = Vec::new();
    for workflow in workflows {
        let ours = steps_by_job(&workflow.text).filter(|(_, _, step)| mends(step));
        for (input, key, cap) in ours.flat_map(|(_, _, step)| replaced(step, plan)) {
            // A default that an input replaces surprises nobody. A number that somebody wrote into the file does.
            if is_of_file(key) {
                findings.push(Finding::open(
                    ABOUT,
                    format!(
                        "{}: its `{input}` counts in the job, not {key} ({cap}) of {DEFAULT_CONFIG_PATH}",
                        workflow.file
                    ),
                ));
            }
        }
    }
    findings
}

/// The inputs of a step that differ from the plan's caps, each with its key and the plan's own.
fn replaced(step: &Value, plan: &Plan) -> Vec<(&'static str, &'static str, String)> {
    // An input with the same value changes nothing, so it is no finding.
    let cost = number(step, "max-cost-usd").and_then(MicroUsd::from_usd).filter(|cost| *cost != plan.budget.max_cost);
    let time = number(step, "max-duration-minutes")
        .and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok())
        .filter(|time| *time != Duration::from_millis(plan.budget.max_active_ms));
    let cost = cost.map(|_| ("max-cost-usd", "global.maxTotalCostUsd", plan.budget.max_cost.exact()));
    let time = time
        .map(|_| ("max-duration-minutes", "global.maxTotalDurationMinutes", human_duration(plan.budget.max_active_ms)));
    cost.into_iter().chain(time).collect()
}

fn number(step: &Value, input: &str) -> Option<f64> {
    match step.get("with")?.get(input)? {
        Value::Number(number) => number.as_f64(),
        // Inputs are texts to GitHub, so `"5"` and `5` are the same.
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => None,
    }
}
