//! The doctor's checks of the workflows in the checkout: whether the gate stands first, and whether anything else runs with upshift's
//! rights.

use std::collections::BTreeSet;
use std::path::Path;

use serde_yaml::Value;

use super::finding::Finding;
use super::inputs;
use super::triggers;
use super::waits::{self, Waits};
use crate::cli::init::PLACEHOLDER;
use crate::cli::tool_actions as tools;
use crate::cli::workflow_files::{self as files, Workflow, action, all, command};
use crate::report::plain;

const ABOUT: &str = "workflow";
/// Events that bring code which nobody has merged.
const FOREIGN: [&str; 7] = [
    "pull_request",
    "pull_request_target",
    "workflow_run",
    "issue_comment",
    "pull_request_review",
    "pull_request_review_comment",
    "check_suite",
];
/// The most columns of a step's name.
const MAX_NAME: usize = 60;

/// A line for each workflow that uses upshift on pull requests, or one for each of its problems.
pub(super) fn examine(checkout: &Path, waits: Waits) -> Vec<Finding> {
    let workflows = all(checkout);
    let of_inputs = workflows.iter().flat_map(|workflow| inputs::examine(workflow, checkout));
    // The whole list goes along: whether a trigger's name is right depends on the other files.
    let of_workflows = workflows.iter().flat_map(|workflow| look(workflow, &workflows, waits));
    of_workflows.chain(of_inputs).collect()
}

/// A line for each workflow in which no job would go on once the last of these checks, none of Actions, has ended.
pub(super) fn deaf_to(checkout: &Path, outsiders: &[&str]) -> Vec<Finding> {
    all(checkout).iter().filter_map(|workflow| triggers::deaf_to(workflow, outsiders)).collect()
}

/// Where the keys of models come from that are not set here, in words. `None` where no workflow hands one over and one needs it.
pub(super) fn keys(checkout: &Path) -> Option<String> {
    let workflows = all(checkout);
    let secrets = |workflow: &Workflow| {
        let names: BTreeSet<String> = triggers::secrets_of_upshift(&workflow.text).map(str::to_owned).collect();
        (!names.is_empty()).then(|| (workflow.file.clone(), names.into_iter().collect::<Vec<_>>().join(", ")))
    };
    // One file is enough to say where the key is. The others would only repeat it.
    if let Some((file, names)) = workflows.iter().find_map(secrets) {
        return Some(format!(
            "no model's key is set here, so the ladder was not checked; {file} passes {names} to its job"
        ));
    }
    let judges = workflows.iter().find(|workflow| files::judges(&workflow.text))?;
    let mends = workflows.iter().any(|workflow| files::mends_somewhere(&workflow.text));
    (!mends).then(|| format!("no model's key is set here, and {} needs none: it judges", judges.file))
}

fn look(workflow: &Workflow, all: &[Workflow], waits: Waits) -> Vec<Finding> {
    let placeholder = placeholder(workflow);
    if !meets_foreign_code(&workflow.text) {
        return placeholder.into_iter().chain(unreleased(workflow)).collect();
    }
    let jobs = workflow.text.get("jobs").and_then(Value::as_mapping);
    let steps = jobs.into_iter().flatten().filter_map(|(_, job)| job.get("steps")?.as_sequence());
    let mut findings: Vec<Finding> = steps.flat_map(|steps| job(&workflow.file, steps)).collect();
    // One that has nothing to do with upshift has nothing found in it.
    if !findings.is_empty() {
        findings.extend(triggers::examine(workflow, all));
        findings.extend(waits::examine(workflow, all, waits));
    }
    findings.extend(placeholder);
    findings.extend(unreleased(workflow));
    findings
}

/// The problem of one in which nobody has said yet whose upshift it uses.
fn placeholder(workflow: &Workflow) -> Option<Finding> {
    triggers::actions(&workflow.text).any(|action| action.split('/').next() == Some(PLACEHOLDER)).then(|| {
        let fix = format!(
            "replace `{PLACEHOLDER}` by the account that upshift is forked or pushed to, and `@v1` by `@` and a commit"
        );
        Finding::problem(
            ABOUT,
            format!("{}: `{PLACEHOLDER}` is a placeholder: GitHub finds no such action", workflow.file),
            fix,
        )
    })
}

/// The notice about one that names a release: the first is still to come.
fn unreleased(workflow: &Workflow) -> Option<Finding> {
    let released = files::uses(&workflow.text).find(|uses| is_released(uses))?;
    let (action, _) = released.split_once('@')?;
    let address = action.split('/').take(2).collect::<Vec<_>>().join("/");
    Some(Finding::open(
        ABOUT,
        format!(
            "{}: `{released}`: upshift has no release yet, so GitHub finds `v1` only where you made that tag. Else replace it by a commit: \
             git ls-remote https://github.com/{address} HEAD",
            workflow.file
        ),
    ))
}

/// Whether it is upshift, or a workflow of it, at its first release.
fn is_released(uses: &str) -> bool {
    // Only `@v1` is looked at: a commit or a tag of one's own is there, or GitHub says so by itself.
    let Some((action, "v1")) = uses.split_once('@') else { return false };
    let mut parts = action.split('/');
    parts.next().is_some_and(|owner| owner != PLACEHOLDER) && parts.next() == Some("upshift")
}

/// Whether one of its events may bring a pull request's code.
fn meets_foreign_code(workflow: &Value) -> bool {
    let Some(on) = workflow.get("on") else { return false };
    // GitHub takes three forms: `on: push`, `on: [push]` and `on: {push: …}`.
    let named = on.as_str().into_iter();
    let listed = on.as_sequence().into_iter().flatten().filter_map(Value::as_str);
    let keyed = on.as_mapping().into_iter().flatten().filter_map(|(key, _)| key.as_str());
    named.chain(listed).chain(keyed).any(|event| FOREIGN.contains(&event))
}

fn job(file: &str, steps: &[Value]) -> Vec<Finding> {
    // Steps behind the mending one run when the run is over, and are not looked at.
    let Some(run) = steps.iter().position(files::mends) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    // A secret that an earlier step leaks is gone before upshift can confine anything.
    let (before, rest) = steps.split_at(run);
    let takes = |input: &str| rest.first().and_then(|step| step.get("with")?.get(input)).is_some();
    let gate = before.iter().position(|step| command(step) == Some("gate"));
    match gate {
        None => findings.push(Finding::problem(
            ABOUT,
            format!("{file}: upshift runs after the checkout, without a gate before it"),
            "put a step with `command: gate` before the checkout, as in the workflow that `upshift init` writes",
        )),
        // Without the checksum a step between could have replaced the program that is given the keys.
        Some(_) if !(takes("binary") && takes("sha256")) => findings.push(Finding::problem(
            ABOUT,
            format!("{file}: upshift does not start the program that the gate's step installed"),
            "give it the gate's outputs `binary` and `sha256` as inputs",
        )),
        Some(_) => {}
    }
    findings.extend(before.iter().filter(|step| runs_foreign_code(step)).map(|step| {
        let said = format!("{file}: the step `{}` runs before upshift, with its rights", name(step));
        Finding::problem(ABOUT, said, "move it to `setup-command`, which is confined and has no keys")
    }));
    findings.extend(before.iter().filter_map(|step| {
        let remedy = tools::remedy_of_cache(step)?;
        let said = format!(
            "{file}: the step `{}` keeps a cache, which code of a pull request could write for jobs of the default branch",
            name(step)
        );
        Some(Finding::problem(ABOUT, said, remedy))
    }));
    if findings.is_empty() {
        findings
            .push(Finding::ok(ABOUT, format!("{file}: the gate comes first, and nothing else runs before upshift")));
    }
    findings
}

/// Whether it may start what the checkout holds: every script but one that starts images alone, and every action but those that fetch and
/// unpack.
fn runs_foreign_code(step: &Value) -> bool {
    match action(step) {
        None => step.get("run").is_some_and(|script| !script.as_str().is_some_and(starts_images_alone)),
        // It asks GitHub for a token and runs nothing of the repository.
        Some("actions/checkout" | "actions/create-github-app-token") => false,
        Some(action) => {
            // A step with a cache is reported by that, and not once more as foreign code.
            let is_seen = tools::remedy_of_cache(step).is_some();
            // A tool's set-up that also installs packages runs their scripts, which a pull request chooses.
            command(step).is_none() && !is_seen && (!tools::is_one(action) || tools::installs(step))
        }
    }
}

/// Whether a script only starts containers of published images, which are given nothing of the checkout.
fn starts_images_alone(script: &str) -> bool {
    let is_one = |line: &str| {
        // Each of these hands a part of the runner to an image, or reads a file that the checkout may hold.
        let shares = ["-v", "--volume", "--mount", "--volumes-from", "--env-file", "--privileged", "--label-file"];
        let takes = |word: &str| shares.iter().any(|share| word == *share || word.starts_with(&format!("{share}=")));
        line.strip_prefix("docker run ").is_some_and(|rest| {
            // A sign of the shell could start a second command behind the harmless one.
            !rest.contains(['$', '`', '&', ';', '|', '<', '>', '(']) && !rest.split_whitespace().any(takes)
        })
    };
    let mut lines = script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    // An empty script starts nothing. It still counts as unknown, since `all` would be true of it.
    lines.peek().is_some() && lines.all(is_one)
}

fn name(step: &Value) -> String {
    let of = |key: &str| step.get(key).and_then(Value::as_str);
    let name = of("name").or_else(|| of("run")).or_else(|| of("uses")).unwrap_or("?");
    plain::clip(&plain::line(name.lines().next().unwrap_or_default()), MAX_NAME).replace('`', "'")
}
