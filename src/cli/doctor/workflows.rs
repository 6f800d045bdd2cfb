//! What a doctor sees in the repository's workflows: whether anything of a pull request runs before upshift's gate, or between the
//! gate and the step with the key.
//!
//! Looks at jobs alone that others than those with write access may start. Invariant: a workflow that cannot be read is no problem of
//! upshift's; the forge says so itself.

use std::path::Path;

use serde_yaml::Value;

use super::Finding;

/// Where workflows stand.
const FOLDER: &str = ".github/workflows";
/// A larger file is no workflow that a person wrote.
const MAX_BYTES: u64 = 512 * 1024;
/// Events that only somebody with write access, or a clock, causes.
const TRUSTED: [&str; 5] = ["push", "schedule", "workflow_dispatch", "repository_dispatch", "workflow_call"];
/// Parts of the names of actions that install a tool and run nothing of the repository.
const TOOLS: [&str; 2] = ["/setup-", "/create-github-app-token@"];
/// How many characters of a step's script name it.
const MAX_STEP: usize = 40;
const ABOUT: &str = "workflow";
const SHAPE: &str = "take the shape that `upshift init` writes: first a step with `command: gate`, then checkout, then upshift with the \
                     gate's `binary` and `sha256`";

/// A line for each problem in each job that uses upshift, or one for all of them.
pub(super) fn examine(top: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = 0_usize;
    for (name, workflow) in workflows(top) {
        if !is_for_strangers(&workflow) {
            continue;
        }
        for (job, steps) in jobs(&workflow) {
            if let Some(last) = steps.iter().rposition(is_upshift) {
                seen += 1;
                findings.extend(of_job(&format!("{name}, job `{job}`"), steps.get(..=last).unwrap_or_default()));
            }
        }
    }
    if findings.is_empty() && seen > 0 {
        findings.push(Finding::ok(ABOUT, "nothing of a pull request runs before upshift"));
    }
    findings
}

fn workflows(top: &Path) -> Vec<(String, Value)> {
    let Ok(entries) = std::fs::read_dir(top.join(FOLDER)) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_small = entry.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES);
        if is_small
            && (name.ends_with(".yml") || name.ends_with(".yaml"))
            && let Ok(text) = std::fs::read_to_string(entry.path())
            && let Ok(workflow) = serde_yaml::from_str(&text)
        {
            found.push((name, workflow));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// Whether somebody without write access may cause one of its events.
fn is_for_strangers(workflow: &Value) -> bool {
    let stranger = |event: &Value| event.as_str().is_none_or(|event| !TRUSTED.contains(&event));
    let Some(events) = workflow.get("on") else { return false };
    let listed = events.as_sequence().map(|events| events.iter().any(stranger));
    let keyed = events.as_mapping().map(|events| events.keys().any(stranger));
    listed.or(keyed).unwrap_or_else(|| stranger(events))
}

fn jobs(workflow: &Value) -> Vec<(String, Vec<Value>)> {
    let Some(jobs) = workflow.get("jobs").and_then(Value::as_mapping) else { return Vec::new() };
    let steps = |job: &Value| job.get("steps").and_then(Value::as_sequence).cloned().unwrap_or_default();
    jobs.iter().filter_map(|(name, job)| Some((name.as_str()?.to_owned(), steps(job)))).collect()
}

fn text<'v>(step: &'v Value, key: &str) -> Option<&'v str> {
    step.get(key)?.as_str()
}

fn input<'v>(step: &'v Value, name: &str) -> Option<&'v str> {
    text(step.get("with")?, name)
}

/// Whether a step uses this action, from its own repository or from a folder that is called so.
fn is_upshift(step: &Value) -> bool {
    let Some(uses) = text(step, "uses") else { return false };
    let action = uses.split('@').next().unwrap_or(uses);
    action.ends_with("/upshift") || action.starts_with("./") && action.contains("upshift")
}

fn is_gate(step: &Value) -> bool {
    is_upshift(step) && input(step, "command") == Some("gate")
}

/// The problems of a job's steps, of which the last is upshift's.
fn of_job(place: &str, steps: &[Value]) -> Vec<Finding> {
    if let [only] = steps
        && input(only, "command") == Some("resume")
    {
        // It has the workflow begin again for parked runs, and neither a key nor a checkout.
        return Vec::new();
    }
    let Some(gate) = steps.iter().position(is_gate) else {
        return vec![Finding::problem(ABOUT, format!("{place}: no gate stands before upshift"), SHAPE)];
    };
    let mut findings = Vec::new();
    for step in steps.iter().filter(|step| runs_code(step)) {
        let said = format!("{place}: the step `{}` runs before upshift, with upshift's rights", name_of(step));
        findings.push(Finding::problem(ABOUT, said, "do it in `setup-command`, which runs confined and without keys"));
    }
    let of_head =
        |step: &&Value| is_checkout(step) && !input(step, "ref").is_some_and(|at| at.contains("default_branch"));
    if steps.get(..gate).unwrap_or_default().iter().any(|step| of_head(&step)) {
        findings.push(Finding::problem(ABOUT, format!("{place}: the head is checked out before the gate"), SHAPE));
    }
    let is_given = |step: &Value| ["binary", "sha256"].iter().all(|name| input(step, name).is_some());
    if steps.last().is_some_and(|last| !is_gate(last) && !is_given(last)) {
        let said = format!("{place}: upshift's step does not take the gate's `binary` and `sha256`");
        findings.push(Finding::problem(ABOUT, said, SHAPE));
    }
    findings
}

fn is_checkout(step: &Value) -> bool {
    text(step, "uses").is_some_and(|uses| uses.starts_with("actions/checkout@"))
}

/// Whether a step may run code of the repository.
fn runs_code(step: &Value) -> bool {
    let Some(uses) = text(step, "uses") else { return true };
    !is_upshift(step) && !is_checkout(step) && !TOOLS.iter().any(|tool| uses.contains(tool))
}

fn name_of(step: &Value) -> String {
    let named = ["name", "uses", "run"].iter().find_map(|key| text(step, key)).unwrap_or("without a name");
    named.lines().next().unwrap_or_default().chars().take(MAX_STEP).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::init::WORKFLOW;

    fn said(workflow: &str) -> Vec<String> {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(top.path().join(FOLDER)).unwrap();
        std::fs::write(top.path().join(FOLDER).join("upshift.yml"), workflow).unwrap();
        examine(top.path()).iter().map(Finding::render).collect()
    }

    #[test]
    fn what_init_writes_has_the_gate_first() {
        assert_eq!(said(WORKFLOW), ["✔ workflow: nothing of a pull request runs before upshift"]);
        assert_eq!(said("on: push\njobs: {}\n"), [""; 0]);
    }

    #[test]
    fn the_job_that_has_parked_runs_begin_again_needs_no_gate() {
        let found = said(&crate::cli::init::workflow(crate::cli::init::Schedule::HalfHourly));
        assert_eq!(found, ["✔ workflow: nothing of a pull request runs before upshift"]);
    }

    #[test]
    fn the_old_shape_is_named() {
        let old = "on: pull_request\njobs:\n  fix:\n    steps:\n      - uses: actions/checkout@v5\n      - run: npm ci\n      - uses: acme/upshift@v1\n";
        let found = said(old);
        assert!(
            found.len() == 1 && found[0].starts_with("✖ workflow: upshift.yml, job `fix`: no gate stands"),
            "{found:?}"
        );
        // Who pushes may write anyway.
        assert_eq!(said(&old.replace("pull_request", "[push, schedule]")), [""; 0]);
    }

    #[test]
    fn a_step_of_ones_own_before_upshift_is_named_and_a_tool_is_not() {
        let with = |step: &str| {
            let at = "      # No step of yours in between";
            said(&WORKFLOW.replace(at, &format!("      - {step}\n{at}")))
        };
        let found = with("run: npm ci");
        assert!(found.len() == 1 && found[0].contains("the step `npm ci` runs before upshift"), "{found:?}");
        assert!(found[0].contains("→ Fix: do it in `setup-command`"), "{found:?}");
        assert!(with("uses: acme/deploy@v1")[0].contains("acme/deploy@v1"));
        assert_eq!(with("uses: actions/setup-node@v5").len(), 1);
        assert!(with("uses: actions/setup-node@v5")[0].starts_with('✔'));
    }

    #[test]
    fn a_checkout_before_the_gate_and_a_binary_from_elsewhere_are_named() {
        let early = WORKFLOW.replace("    steps:\n", "    steps:\n      - uses: actions/checkout@v5\n");
        assert!(said(&early).iter().any(|line| line.contains("the head is checked out before the gate")));
        let other = WORKFLOW.replace("          binary: ${{ steps.gate.outputs.binary }}\n", "");
        assert!(said(&other).iter().any(|line| line.contains("does not take the gate's `binary`")));
    }
}
