//! The workflow files of a checkout: which of them run on pull requests, and what upshift does in them.

use std::path::{Path, PathBuf};

use serde_yaml::Value;

use crate::report::plain;

/// Where workflows lie.
const FOLDER: &str = ".github/workflows";
/// The largest workflow that is read. GitHub takes no larger one.
const MAX_BYTES: u64 = 512 * 1024;
/// The most columns of a workflow's name.
const MAX_NAME: usize = 60;
/// The event of a pull request.
const PULL_REQUEST: &str = "pull_request";
/// The event of a review.
const REVIEW: &str = "pull_request_review";

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
    pub(super) fn name(&self) -> String {
        let named = self.text.get("name").and_then(Value::as_str).map(str::to_owned);
        // GitHub calls a workflow without a name by its path.
        named.unwrap_or_else(|| format!("{FOLDER}/{}", self.file))
    }
}

/// The workflows of a checkout, by the names of their files.
pub(super) fn all(checkout: &Path) -> Vec<Workflow> {
    let folder = checkout.join(FOLDER);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    // A folder's order is the file system's, and findings must not change places.
    files.sort();
    files.iter().filter_map(|file| read(file)).collect()
}

/// A workflow from a file. `None` where the file cannot be read as YAML, which is no workflow to GitHub either, and GitHub says so itself.
fn read(file: &Path) -> Option<Workflow> {
    let is_yaml = file.extension().is_some_and(|end| end == "yml" || end == "yaml");
    // A pipe of that name would be waited for.
    let small = std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES);
    let text = (is_yaml && small).then(|| std::fs::read_to_string(file).ok()).flatten()?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Some(Workflow { file: name, text: serde_yaml::from_str::<Value>(&text).ok()? })
}

/// Whether it runs upshift, or only tells it of reviews: neither runs the tests.
pub(super) fn is_ours(workflow: &Value) -> bool {
    let triggers = workflow.get("on").and_then(Value::as_mapping);
    // A workflow that also runs on pull requests runs tests, whatever else it hears of.
    let hears_reviews_only = triggers.is_some_and(|on| on.len() == 1 && on.contains_key(REVIEW));
    hears_reviews_only || jobs(workflow).any(|job| runs_upshift(job) || calls_upshift(job))
}

/// Whether it runs when a pull request is opened or pushed to.
pub(super) fn judges_pulls(workflow: &Value) -> bool {
    let types = workflow.get("on").and_then(|on| on.get(PULL_REQUEST)?.get("types")).and_then(Value::as_sequence);
    let types: Vec<&str> = types.into_iter().flatten().filter_map(Value::as_str).collect();
    // Without `types` a push to the pull request starts it. With them it has to be named.
    runs_on(workflow, PULL_REQUEST) && (types.is_empty() || types.contains(&"synchronize"))
}

/// Whether an event of this name starts it.
pub(super) fn runs_on(workflow: &Value, event: &str) -> bool {
    let Some(on) = workflow.get("on") else { return false };
    let listed = on.as_sequence().into_iter().flatten().any(|listed| listed.as_str() == Some(event));
    // The three forms that GitHub takes: a word, a list, a mapping.
    on.as_str() == Some(event) || listed || on.get(event).is_some()
}

/// Whether a step of one of its jobs is upshift.
pub(super) fn uses_upshift(workflow: &Value) -> bool {
    jobs(workflow).any(runs_upshift)
}

/// Whether a step of a job is ours.
pub(super) fn runs_upshift(job: &Value) -> bool {
    job.get("steps").and_then(Value::as_sequence).into_iter().flatten().any(|step| command(step).is_some())
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
    // `resume` has other jobs run again, and changes nothing itself.
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

fn steps(workflow: &Value) -> impl Iterator<Item = &Value> {
    jobs(workflow).filter_map(|job| job.get("steps")?.as_sequence()).flatten()
}

/// The command of upshift that a step runs. `None` where the step does not use upshift.
pub(super) fn command(step: &Value) -> Option<&str> {
    let action = action(step)?;
    // The reusable workflow fetches the action into this folder, at the commit that its caller names.
    let ours = action.rsplit('/').next() == Some("upshift") || action == "./.upshift/action";
    // The action's own default.
    ours.then(|| step.get("with").and_then(|with| with.get("command")?.as_str()).unwrap_or("run"))
}

/// The action of a step, or the workflow of a job, without its version.
pub(super) fn action(step: &Value) -> Option<&str> {
    step.get("uses")?.as_str()?.split('@').next()
}

/// The actions and reusable workflows that it uses, each with its version.
pub(super) fn uses(workflow: &Value) -> impl Iterator<Item = &str> {
    let steps = jobs(workflow).filter_map(|job| job.get("steps")?.as_sequence()).flatten();
    jobs(workflow).chain(steps).filter_map(|step| step.get("uses")?.as_str())
}

/// The values of an input that steps are given.
pub(super) fn inputs<'w>(workflow: &'w Value, name: &'static str) -> impl Iterator<Item = &'w Value> {
    let steps = jobs(workflow).filter_map(|job| job.get("steps")?.as_sequence()).flatten();
    steps.filter_map(move |step| step.get("with")?.get(name))
}

/// The jobs of a workflow, each with its id.
pub(super) fn jobs_by_id(workflow: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let jobs = workflow.get("jobs").and_then(Value::as_mapping).into_iter().flatten();
    jobs.filter_map(|(id, job)| Some((id.as_str()?, job)))
}

/// The jobs of a workflow.
pub(super) fn jobs(workflow: &Value) -> impl Iterator<Item = &Value> {
    workflow.get("jobs").and_then(Value::as_mapping).into_iter().flatten().map(|(_, job)| job)
}

/// The steps of all jobs, with the job's id and their number in it, from 1.
pub(super) fn steps_by_job(workflow: &Value) -> impl Iterator<Item = (&str, usize, &Value)> {
    let jobs = workflow.get("jobs").and_then(Value::as_mapping).into_iter().flatten();
    jobs.flat_map(|(id, job)| {
        let steps = job.get("steps").and_then(Value::as_sequence).into_iter().flatten();
        // Steps are counted from one on GitHub's pages.
        steps.enumerate().map(move |(index, step)| (id.as_str().unwrap_or("?"), index + 1, step))
    })
}

/// A name as it may be printed between backticks.
pub(super) fn shown(name: &str) -> String {
    plain::clip(&plain::line(name), MAX_NAME).replace('`', "'")
}
