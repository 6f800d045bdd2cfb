//! The doctor's check of the inputs that a workflow gives to upshift's steps: their names, and every value that is not made by an
//! expression.

use std::collections::BTreeSet;
use std::path::Path;

use serde_yaml::Value;

use super::finding::Finding;
use crate::cli::plan;
use crate::cli::workflow_files::{Workflow, command, shown, steps_by_job};
use crate::config::{Problem, Setting, Settings, nearest};

const ABOUT: &str = "workflow";
/// The action as it is published, which names its inputs.
const ACTION: &str = include_str!("../../../action.yml");
/// Inputs that have no flag, with all values that they may have.
const WORDS: [(&str, &[&str]); 2] = [("command", &["run", "gate", "resume", "install"]), ("mode", &["fix", "judge"])];

/// A line for each input of upshift's steps that the action does not have, or whose value cannot be used.
pub(super) fn examine(workflow: &Workflow, checkout: &Path) -> Vec<Finding> {
    let ours = steps_by_job(&workflow.text).filter(|(_, _, step)| command(step).is_some());
    let of_step = |(job, number, step): (&str, usize, &Value)| {
        let place = format!("{}: job `{}`, step {number}", workflow.file, shown(job));
        problems(step, checkout)
            .into_iter()
            .map(move |problem| Finding::problem(ABOUT, format!("{place}: {}", sentence(&problem)), problem.fix))
    };
    ours.flat_map(of_step).collect()
}

/// The problem with the name of the input in place of the flag, which nobody wrote there.
fn sentence(problem: &Problem) -> String {
    // A path such as `--tiers line 3` holds the flag, then the place within its value.
    let (input, place) = problem.path.split_once(' ').unwrap_or((&problem.path, ""));
    let place = if place.is_empty() { String::new() } else { format!(", {place}") };
    format!("input `{}`{place}: {}", shown(input.trim_start_matches("--")), problem.message)
}

fn problems(step: &Value, checkout: &Path) -> Vec<Problem> {
    let known = inputs();
    let (mut problems, mut settings) = (Vec::new(), Settings::default());
    for (name, value) in step.get("with").and_then(Value::as_mapping).into_iter().flatten() {
        let Some(name) = name.as_str() else { continue };
        // GitHub takes inputs in any case.
        let input = name.to_ascii_lowercase();
        if !known.contains(&input) {
            problems.push(unknown(name, &known));
            continue;
        }
        let Some(text) = text(value) else {
            problems.push(problem(
                &input,
                "must be text",
                "Write it as text; a list goes into one text, one item per line.",
            ));
            continue;
        };
        // What an expression gives is known in the job alone.
        if text.contains("${{") || text.trim().is_empty() {
            continue;
        }
        if let Some((_, words)) = WORDS.iter().find(|(word, _)| *word == input)
            && !words.contains(&text.as_str())
        {
            problems.push(problem(
                &input,
                &format!("must be one of {}, found `{}`", words.join(", "), shown(&text)),
                "Use one of them, or leave it out.",
            ));
        }
        // Inputs are called like the flags, without their dashes.
        if let Some(setting) = Setting::ALL.iter().find(|setting| setting.flag().trim_start_matches("--") == input) {
            settings.set(*setting, Some(text));
        }
    }
    problems.extend(plan::faults_of_inputs(settings, checkout));
    problems
}

fn unknown(name: &str, known: &BTreeSet<String>) -> Problem {
    let fix = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("Did you mean `{near}`?"),
        None => "Remove it, or use one that docs/action.md lists.".to_owned(),
    };
    problem(name, "the action has no such input, and ignores it", &fix)
}

fn problem(input: &str, message: &str, fix: &str) -> Problem {
    Problem { path: input.to_owned(), message: message.to_owned(), fix: fix.to_owned() }
}

/// The names of all inputs.
fn inputs() -> BTreeSet<String> {
    let action: Value = serde_yaml::from_str(ACTION).unwrap_or_default();
    let inputs = action.get("inputs").and_then(Value::as_mapping);
    inputs.into_iter().flatten().filter_map(|(name, _)| name.as_str().map(str::to_owned)).collect()
}

/// A value as the action gets it. `None` for a list or a mapping.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Bool(yes) => Some(yes.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => None,
    }
}
