//! The doctor's checks of a workflow's triggers: whether the CI that it follows exists, and whether CI of upshift's own commit wakes it.

use serde_yaml::Value;

use super::finding::Finding;
use crate::cli::init::WRITE_REVIEW;
use crate::cli::workflow_files::{
    Workflow, inputs, is_ours, jobs, judges_pulls, mends, mends_in, shown, uses, uses_upshift,
};
use crate::lifecycle::message::RUN_TRAILER;

const ABOUT: &str = "triggers";
/// The name of upshift's own workflow that tells of reviews.
const REVIEWS_NAME: &str = "upshift-review";
/// How many workflows are named.
const MOST_NAMED: usize = 8;

/// The problems of a workflow that runs upshift. Empty where it follows no other workflow.
pub(super) fn examine(ours: &Workflow, all: &[Workflow]) -> Vec<Finding> {
    // One that a comment or a schedule starts need not follow anything.
    let Some(trigger) = ours.text.get("on").and_then(|on| on.get("workflow_run")) else { return Vec::new() };
    let followed: Vec<&str> =
        trigger.get("workflows").and_then(Value::as_sequence).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut findings = strangers(ours, &followed, all);
    // A workflow of upshift's own never judges its fix, so it need not be followed.
    let unheard = all.iter().filter(|other| judges_pulls(&other.text) && !uses_upshift(&other.text));
    let unheard: Vec<String> = unheard
        .map(Workflow::name)
        .filter(|name| !followed.contains(&name.as_str()))
        .take(MOST_NAMED)
        .map(|name| format!("`{}`", shown(&name)))
        .collect();
    // A name that fits nothing is one mistake, and its mending names them too.
    if findings.is_empty() && pushes(&ours.text) && !unheard.is_empty() && !followed.is_empty() {
        let said = format!(
            "{}: it is not triggered by {}: if one that also runs on pull requests ends last, no job continues a waiting run",
            ours.file,
            unheard.join(", ")
        );
        findings.push(Finding::problem(ABOUT, said, "add them to `workflows:` under `workflow_run`"));
    }
    // A push of a given token starts CI, and only the end of that CI can wake the run that waits for it.
    if pushes(&ours.text) && !is_woken(&ours.text) {
        findings.push(Finding::problem(
            ABOUT,
            format!("{}: no job starts when CI passes on upshift's own commit, so a run that waits for it never ends", ours.file),
            format!("add `contains(github.event.workflow_run.head_commit.message, '{RUN_TRAILER}: ')` to the job's `if`, as in the workflow that `upshift init` writes"),
        ));
    }
    findings
}

/// The problems of the names that it follows: none here is called so, or all are upshift's own.
fn strangers(ours: &Workflow, followed: &[&str], all: &[Workflow]) -> Vec<Finding> {
    let named = |wanted: &str| all.iter().find(|other| other.name() == wanted);
    let others: Vec<String> = all
        .iter()
        .filter(|other| !is_ours(&other.text))
        .take(MOST_NAMED)
        .map(|other| format!("`{}`", shown(&other.name())))
        .collect();
    let fix = if others.is_empty() {
        "no workflow here runs the tests: write one first, and use its exact `name:`".to_owned()
    } else {
        format!("use the exact `name:` of the one that runs the tests: {}", others.join(", "))
    };
    let missing = followed.iter().filter(|wanted| named(wanted).is_none()).map(|&wanted| {
        let said = format!(
            "{}: it is triggered by the workflow `{}`, and there is none of that name",
            ours.file,
            shown(wanted)
        );
        // This one is ours to write, so the fix is a command instead of a name to look up.
        let is_reviews = wanted == REVIEWS_NAME;
        Finding::problem(ABOUT, said, if is_reviews { format!("`{WRITE_REVIEW}` writes it") } else { fix.clone() })
    });
    // A workflow that follows upshift's own alone would never hear of a red test.
    let own_only =
        !followed.is_empty() && followed.iter().all(|wanted| named(wanted).is_some_and(|other| is_ours(&other.text)));
    let own_only = own_only.then(|| {
        let said = format!("{}: it is triggered by upshift's own workflows only, so red CI never starts it", ours.file);
        Finding::problem(ABOUT, said, fix.clone())
    });
    missing.chain(own_only).collect()
}

/// The problem of a workflow whose pushes are judged by checks that are not of Actions, by their names, and whose job no end of theirs starts.
pub(super) fn deaf_to(ours: &Workflow, outsiders: &[&str]) -> Option<Finding> {
    let hears = |event: &str| ours.text.get("on").is_some_and(|on| on.get(event).is_some());
    if outsiders.is_empty()
        || !pushes(&ours.text)
        || !uses_upshift(&ours.text)
        // Both are needed: Apps end in `check_suite`, and older services only write a `status`.
        || (hears("check_suite") && hears("status"))
    {
        return None;
    }
    let named: Vec<String> = outsiders.iter().take(MOST_NAMED).map(|name| format!("`{}`", shown(name))).collect();
    let said = format!(
        "{}: checks outside of Actions judge commits here ({}): if one ends last, no job continues a waiting run",
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

/// The variables that its steps of upshift are given from secrets, but for the token: at the step, its job, or the workflow.
pub(super) fn secrets_of_upshift(workflow: &Value) -> impl Iterator<Item = &str> {
    let of_jobs = jobs(workflow).filter(|job| mends_in(job)).flat_map(move |job| {
        let steps = job.get("steps").and_then(Value::as_sequence).into_iter().flatten().filter(|step| mends(step));
        std::iter::once(job).chain(steps).chain(std::iter::once(workflow))
    });
    of_jobs.filter_map(|holder| holder.get("env")?.as_mapping()).flatten().filter_map(|(name, value)| {
        let is_secret =
            // `${{ secrets.GITHUB_TOKEN }}` and `${{ github.token }}` are the job's own, and no model's key.
            value.as_str().is_some_and(|value| value.contains("secrets.") && !value.contains("GITHUB_TOKEN"));
        name.as_str().filter(|name| is_secret && name.ends_with("_API_KEY"))
    })
}

/// The actions and reusable workflows that it uses, without their versions.
pub(super) fn actions(workflow: &Value) -> impl Iterator<Item = &str> {
    uses(workflow).filter_map(|uses| uses.split('@').next())
}

/// Whether a step is given a token whose pushes start CI.
pub(super) fn pushes(workflow: &Value) -> bool {
    inputs(workflow, "push-token").next().is_some()
}

/// Whether one of its jobs asks for our trailer, or for nothing at all.
fn is_woken(workflow: &Value) -> bool {
    jobs(workflow)
        // A job without a condition starts at every event, so it wakes as well.
        .any(|job| job.get("if").and_then(Value::as_str).is_none_or(|condition| condition.contains(RUN_TRAILER)))
}
