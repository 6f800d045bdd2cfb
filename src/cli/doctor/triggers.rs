//! What a doctor reads of a workflow's triggers: whether the CI that it follows exists, and whether CI of upshift's own commit wakes it.

use serde_yaml::Value;

use super::finding::Finding;
use crate::lifecycle::message::RUN_TRAILER;
use crate::report::plain;

const ABOUT: &str = "triggers";
/// How many workflows are named.
const MOST_NAMED: usize = 8;
/// The most columns of a workflow's name.
const MAX_NAME: usize = 60;

/// A workflow of the checkout.
#[derive(Debug)]
pub(super) struct Workflow {
    /// The name of its file.
    pub(super) file: String,
    /// What stands in it.
    pub(super) text: Value,
}

impl Workflow {
    /// What `workflow_run` calls it: its name, else its path.
    fn name(&self) -> String {
        let named = self.text.get("name").and_then(Value::as_str).map(str::to_owned);
        named.unwrap_or_else(|| format!(".github/workflows/{}", self.file))
    }
}

/// The problems of one that runs upshift; none where it follows no other workflow.
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
    if pushes(&ours.text) && !is_woken(&ours.text) {
        findings.push(Finding::problem(
            ABOUT,
            format!("{}: no job starts when CI of upshift's own commit ends well, so that a run that waits for it never ends", ours.file),
            format!("add `contains(github.event.workflow_run.head_commit.message, '{RUN_TRAILER}: ')` to the job's `if`, as the workflow of `upshift init` has it"),
        ));
    }
    findings
}

/// Whether a step is given a token whose pushes start CI.
fn pushes(workflow: &Value) -> bool {
    let steps = jobs(workflow).filter_map(|job| job.get("steps")?.as_sequence()).flatten();
    steps.filter_map(|step| step.get("with")?.get("push-token")).next().is_some()
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
