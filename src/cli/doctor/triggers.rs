//! The doctor's checks of a workflow's triggers: whether the CI that it follows exists, and whether CI of upshift's own commit wakes it.

use serde_yaml::Value;

use super::finding::Finding;
use crate::cli::init::WRITE_REVIEW;
use crate::lifecycle::message::RUN_TRAILER;
use crate::report::plain;

const ABOUT: &str = "triggers";
/// The event of a pull request.
const PULL_REQUEST: &str = "pull_request";
/// The event of a review.
const REVIEW: &str = "pull_request_review";
/// The name of upshift's own workflow that tells of reviews.
const REVIEWS_NAME: &str = "upshift-review";
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
    let followed: Vec<&str> =
        trigger.get("workflows").and_then(Value::as_sequence).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut findings = strangers(ours, &followed, all);
    let unheard = all.iter().filter(|other| judges_pulls(&other.text) && !uses_upshift(&other.text));
    let unheard: Vec<String> = unheard
        .map(Workflow::name)
        .filter(|name| !followed.contains(&name.as_str()))
        .take(MOST_NAMED)
        .map(|name| format!("`{}`", shown(&name)))
        .collect();
    if pushes(&ours.text) && !unheard.is_empty() && !followed.is_empty() {
        let said = format!(
            "{}: it is not triggered by {}: if one that also runs on pull requests ends last, no job continues a waiting run",
            ours.file,
            unheard.join(", ")
        );
        findings.push(Finding::problem(ABOUT, said, "add them to `workflows:` under `workflow_run`"));
    }
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
        let is_reviews = wanted == REVIEWS_NAME;
        Finding::problem(ABOUT, said, if is_reviews { format!("`{WRITE_REVIEW}` writes it") } else { fix.clone() })
    });
    let own_only =
        !followed.is_empty() && followed.iter().all(|wanted| named(wanted).is_some_and(|other| is_ours(&other.text)));
    let own_only = own_only.then(|| {
        let said = format!("{}: it is triggered by upshift's own workflows only, so red CI never starts it", ours.file);
        Finding::problem(ABOUT, said, fix.clone())
    });
    missing.chain(own_only).collect()
}

/// Whether it runs upshift, or only tells it of reviews: neither runs the tests.
fn is_ours(workflow: &Value) -> bool {
    let triggers = workflow.get("on").and_then(Value::as_mapping);
    let hears_reviews_only = triggers.is_some_and(|on| on.len() == 1 && on.contains_key(REVIEW));
    hears_reviews_only || jobs(workflow).any(|job| runs_upshift(job) || calls_upshift(job))
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

/// Whether a job is one of upshift's own reusable workflows.
fn calls_upshift(job: &Value) -> bool {
    job.get("uses").and_then(Value::as_str).is_some_and(|uses| uses.contains("/upshift/.github/workflows/"))
}

/// Whether a step of a job may change the repository's code: what only gates, judges, or wakes others does not.
pub(super) fn mends_in(job: &Value) -> bool {
    job.get("steps").and_then(Value::as_sequence).into_iter().flatten().any(mends)
}

/// The same of a step.
pub(super) fn mends(step: &Value) -> bool {
    let judges = step.get("with").and_then(|with| with.get("mode")?.as_str()) == Some("judge");
    !judges && command(step).is_some_and(|command| command != "gate" && command != "resume")
}

/// Whether a step of upshift judges, and asks no model.
fn judges_in(step: &Value) -> bool {
    command(step).is_some() && step.get("with").and_then(|with| with.get("mode")?.as_str()) == Some("judge")
}

/// Whether a job of a workflow judges.
pub(super) fn judges(workflow: &Value) -> bool {
    steps(workflow).any(judges_in)
}

/// Whether a job of a workflow works on a run.
pub(super) fn mends_somewhere(workflow: &Value) -> bool {
    steps(workflow).any(mends)
}

/// The variables that its steps of upshift are given from secrets, but for the token: at the step, its job, or the workflow.
pub(super) fn secrets_of_upshift(workflow: &Value) -> impl Iterator<Item = &str> {
    let of_jobs = jobs(workflow).filter(|job| mends_in(job)).flat_map(move |job| {
        let steps = job.get("steps").and_then(Value::as_sequence).into_iter().flatten().filter(|step| mends(step));
        std::iter::once(job).chain(steps).chain(std::iter::once(workflow))
    });
    of_jobs.filter_map(|holder| holder.get("env")?.as_mapping()).flatten().filter_map(|(name, value)| {
        let is_secret =
            value.as_str().is_some_and(|value| value.contains("secrets.") && !value.contains("GITHUB_TOKEN"));
        name.as_str().filter(|name| is_secret && name.ends_with("_API_KEY"))
    })
}

fn steps(workflow: &Value) -> impl Iterator<Item = &Value> {
    jobs(workflow).filter_map(|job| job.get("steps")?.as_sequence()).flatten()
}

/// The command of upshift that a step runs. `None` where the step does not use upshift.
pub(super) fn command(step: &Value) -> Option<&str> {
    let action = action(step)?;
    let ours = action.rsplit('/').next() == Some("upshift") || action == "./.upshift/action";
    ours.then(|| step.get("with").and_then(|with| with.get("command")?.as_str()).unwrap_or("run"))
}

/// The action of a step, or the workflow of a job, without its version.
pub(super) fn action(step: &Value) -> Option<&str> {
    step.get("uses")?.as_str()?.split('@').next()
}

/// The actions and reusable workflows that it uses, without their versions.
pub(super) fn actions(workflow: &Value) -> impl Iterator<Item = &str> {
    uses(workflow).filter_map(|uses| uses.split('@').next())
}

/// The actions and reusable workflows that it uses, each with its version.
pub(super) fn uses(workflow: &Value) -> impl Iterator<Item = &str> {
    let steps = jobs(workflow).filter_map(|job| job.get("steps")?.as_sequence()).flatten();
    jobs(workflow).chain(steps).filter_map(|step| step.get("uses")?.as_str())
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

/// The steps of all jobs, with the job's id and their number in it, from 1.
pub(super) fn steps_by_job(workflow: &Value) -> impl Iterator<Item = (&str, usize, &Value)> {
    let jobs = workflow.get("jobs").and_then(Value::as_mapping).into_iter().flatten();
    jobs.flat_map(|(id, job)| {
        let steps = job.get("steps").and_then(Value::as_sequence).into_iter().flatten();
        steps.enumerate().map(move |(index, step)| (id.as_str().unwrap_or("?"), index + 1, step))
    })
}

pub(super) fn shown(name: &str) -> String {
    plain::clip(&plain::line(name), MAX_NAME).replace('`', "'")
}
