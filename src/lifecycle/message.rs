//! The message of a commit that holds a fix (pure).
//!
//! Invariant: nothing in it was written by a model or by the code under repair, whose `[skip ci]` would silence CI. It always ends with the
//! trailers by which our own commits are known.

use super::context::Charter;
use super::measured::Measured;
use super::state::Fix;

/// The trailer that names the run. A commit that has it is ours.
pub const RUN_TRAILER: &str = "Upshift-Run-Id";
/// How the branches of our pull requests begin.
pub(super) const BRANCH_PREFIX: &str = "upshift/fix-";
/// The message when nothing names another.
const TEMPLATE: &str = "fix: make {tests} pass";
/// The placeholders of a template.
pub const PLACEHOLDERS: [&str; 5] = ["{tests}", "{tier}", "{model}", "{run-id}", "{iteration}"];

/// The message with its trailers, for what failed before the fix.
pub(super) fn compose(charter: &Charter, measured: &Measured, fix: &Fix) -> String {
    let tests = match measured.baseline.failing.len() {
        _ if measured.judged_by_ci => "CI".to_owned(),
        0 => "the build".to_owned(),
        1 => "1 failing test".to_owned(),
        many => format!("{many} failing tests"),
    };
    let tier = one_line(charter.tier(fix.tier_index).map_or("", |tier| tier.name.as_str()));
    let values = [tests, tier.clone(), one_line(&fix.model), charter.run_id.0.clone(), fix.iteration.to_string()];
    let mut text = charter.plan.github.commit_message.clone().unwrap_or_else(|| TEMPLATE.to_owned());
    for (placeholder, value) in PLACEHOLDERS.iter().zip(&values) {
        text = text.replace(placeholder, value);
    }
    let (run, model) = (&charter.run_id, one_line(&fix.model));
    format!("{}\n\n{RUN_TRAILER}: {run}\nUpshift-Tier: {tier}\nUpshift-Model: {model}\n", text.trim())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
