//! The doctor's checks of a workflow's triggers: whether the CI that it follows exists, and whether CI of upshift's own commit wakes it.

use serde_yaml::Value;

use super::finding::Finding;
use crate::lifecycle::message::RUN_TRAILER;
use crate::report::plain;

const ABOUT: &str = "triggers";
/// The event of a pull request.
const PULL_REQUEST: &str = "pull_request";
/// How many workflows are named.
const MOST_NAMED: usize = 8;
/// The most columns of a workflow's name.
const MAX_NAME: usize = 60;

/// A workflow of the checkout.
#[derive(Debug)]
pub(super) struct Workflow {
    /// The name of its file.
    pub(super) file: String,
    /// Its content.
    pub(super) text: Value,
}

impl Workflow {
    /// The name that `workflow_run` knows it by: its name, else its path.
    fn name(&self) -> String {
        let named = self.text.get("name").and_then(Value::as_str).map(str::to_owned);
        named.unwrap_or_else(|| format!(".github/workflows/{}", self.file))
    }
}

/// The problems of a workflow that runs upshift. Empty where it follows no other workflow.
pub(super) fn examine(ours: &Workflow, all: &[Workflow]) -> Vec<Finding> {
    let Some(trigger) = ours.text.get("on").and_then(|on| on.get("workflow_run")) else { return Vec::new() };
    let mut findings = Vec::new();
    let followed = trigger.get("workflows").and_then(Value::as_sequence).into_iter().flatten();
    let names: Vec<String> = all.iter().map(Workflow::name).collect();
    for wanted in followed.filter_map(Value::as_str).filter(|wanted| !names.iter().any(|name| name == wanted)) {
        let others: Vec<String> = names
            .iter()
            .filter(|name| **name != ours.name())
            .take(MOST_NAMED)
            .map(|name| format!("`{}`", shown(name)))
            .collect();
        let fix = if others.is_empty() {
            "name the workflow that runs the tests, as its `name:` has it".to_owned()
        } else {
            format!("name the one that runs the tests, as its `name:` has it: {}", others.join(", "))
        };
        let said = format!("{}: it follows the workflow `{}`, and none here is called so", ours.file, shown(wanted));
        findings.push(Finding::problem(ABOUT, said, fix));
    }
    let followed: Vec<&str> =
        trigger.get("workflows").and_then(Value::as_sequence).into_iter().flatten().filter_map(Value::as_str).collect();
    let unheard = all.iter().filter(|other| judges_pulls(&other.text) && !uses_upshift(&other.text));
    let unheard: Vec<String> = unheard
        .map(Workflow::name)
        .filter(|name| !followed.contains(&name.as_str()))
        .take(MOST_NAMED)
        .map(|name| format!("`{}`", shown(&name)))
        .collect();
    if pushes(&ours.text) && !unheard.is_empty() && !followed.is_empty() {
        let said = format!(
            "{}: it does not follow {}: what runs on pull requests too and ends last starts no job for a run that waits",
            ours.file,
            unheard.join(", ")
        );
        findings.push(Finding::problem(ABOUT, said, "add them to `workflows:` under `workflow_run`"));
    }
    if pushes(&ours.text) && !is_woken(&ours.text) {
        findings.push(Finding::problem(
            ABOUT,
            format!("{}: no job starts when CI of upshift's own commit ends well, so that a run that waits for it never ends", ours.file),
            format!("add `contains(github.event.workflow_run.head_commit.message, '{RUN_TRAILER}: ')` to the job's `if`, as the workflow of `upshift init` has it"),
        ));
    }
    findings
}

/// The problem of a workflow whose pushes are judged by checks that are not of Actions, by their names, and whose job no end of theirs starts.
pub(super) fn deaf_to(ours: &Workflow, outsiders: &[&str]) -> Option<Finding> {
    let hears = |event: &str| ours.text.get("on").is_some_and(|on| on.get(event).is_some());
    if outsiders.is_empty()
        || !pushes(&ours.text)
        || !uses_upshift(&ours.text)
        || (hears("check_suite") && hears("status"))
    {
        return None;
    }
    let named: Vec<String> = outsiders.iter().take(MOST_NAMED).map(|name| format!("`{}`", shown(name))).collect();
    let said = format!(
        "{}: checks outside of Actions judge commits here ({}): where one ends last, it starts no job for a run that waits",
        ours.file,
        named.join(", ")
    );
    Some(Finding::problem(ABOUT, said, "add the triggers that `upshift init --external-checks` writes"))
}

/// Whether the end of another workflow starts it.
pub(super) fn follows(workflow: &Value, other: &Workflow) -> bool {
    let followed = workflow.get("on").and_then(|on| on.get("workflow_run")?.get("workflows")?.as_sequence());
    followed.into_iter().flatten().any(|name| name.as_str() == Some(&other.name()))
}

/// Whether it runs when a pull request is opened or pushed to.
fn judges_pulls(workflow: &Value) -> bool {
    let Some(on) = workflow.get("on") else { return false };
    let listed = on.as_sequence().into_iter().flatten().filter_map(Value::as_str);
    let on_a_push = |types: &Value| {
        let types = types.as_sequence().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
        types.is_empty() || types.contains(&"synchronize")
    };
    let keyed = on.get("pull_request").is_some_and(|options| options.get("types").is_none_or(on_a_push));
    on.as_str() == Some(PULL_REQUEST) || listed.into_iter().any(|event| event == PULL_REQUEST) || keyed
}

fn uses_upshift(workflow: &Value) -> bool {
    jobs(workflow).any(runs_upshift)
}

/// Whether a step of a job is ours.
pub(super) fn runs_upshift(job: &Value) -> bool {
    let steps = job.get("steps").and_then(Value::as_sequence).into_iter().flatten();
    let mut actions = steps.filter_map(|step| step.get("uses")?.as_str()?.split('@').next());
    actions.any(|action| action.rsplit('/').next() == Some("upshift"))
}

/// Whether a step is given a token whose pushes start CI.
pub(super) fn pushes(workflow: &Value) -> bool {
    inputs(workflow, "push-token").next().is_some()
}

/// The values of an input that steps are given.
pub(super) fn inputs<'w>(workflow: &'w Value, name: &'static str) -> impl Iterator<Item = &'w Value> {
    let steps = jobs(workflow).filter_map(|job| job.get("steps")?.as_sequence()).flatten();
    steps.filter_map(move |step| step.get("with")?.get(name))
}

/// Whether one of its jobs asks for our trailer, or for nothing at all.
fn is_woken(workflow: &Value) -> bool {
    jobs(workflow)
        .any(|job| job.get("if").and_then(Value::as_str).is_none_or(|condition| condition.contains(RUN_TRAILER)))
}

fn jobs(workflow: &Value) -> impl Iterator<Item = &Value> {
    workflow.get("jobs").and_then(Value::as_mapping).into_iter().flatten().map(|(_, job)| job)
}

fn shown(name: &str) -> String {
    plain::clip(&plain::line(name), MAX_NAME).replace('`', "'")
}
