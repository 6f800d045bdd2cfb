//! The message of a commit that holds a fix (pure).
//!
//! Invariant: nothing in it was written by a model or by the code under repair, whose `[skip ci]` would silence CI; and it always ends
//! with the trailers by which our own commits are known.

use super::state::{Fix, RunState};

/// The trailer that names the run; a commit that has it is ours.
pub const RUN_TRAILER: &str = "Upshift-Run-Id";
/// The message when nothing names another.
const TEMPLATE: &str = "fix: make {tests} pass";
/// What a template may hold.
pub const PLACEHOLDERS: [&str; 5] = ["{tests}", "{tier}", "{model}", "{run-id}", "{iteration}"];

/// The message with its trailers.
#[must_use]
pub fn compose(state: &RunState, fix: &Fix) -> String {
    let failing = state.baseline.as_ref().map_or(0, |baseline| baseline.failing.len());
    let tests = match failing {
        0 => "the build".to_owned(),
        1 => "1 failing test".to_owned(),
        many => format!("{many} failing tests"),
    };
    let tier = state.plan.tiers.get(usize::try_from(fix.tier_index).unwrap_or(usize::MAX));
    let tier = one_line(tier.map_or("", |tier| tier.name.as_str()));
    let values = [tests, tier.clone(), one_line(&fix.model), state.run_id.0.clone(), fix.iteration.to_string()];
    let mut text = state.plan.github.commit_message.clone().unwrap_or_else(|| TEMPLATE.to_owned());
    for (placeholder, value) in PLACEHOLDERS.iter().zip(&values) {
        text = text.replace(placeholder, value);
    }
    let (run, model) = (&state.run_id, one_line(&fix.model));
    format!("{}\n\n{RUN_TRAILER}: {run}\nUpshift-Tier: {tier}\nUpshift-Model: {model}\n", text.trim())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
