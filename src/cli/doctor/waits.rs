//! The doctor's checks of a workflow that waits: whether the end of the awaited CI or merge starts a job, and whether a job lasts as long
//! as the waits that are allowed in it.

use serde_yaml::Value;

use super::finding::Finding;
use super::triggers;
use crate::cli::workflow_files::{self as files, Workflow};
use crate::config::{Plan, WaitFor};

const ABOUT: &str = "triggers";
/// Milliseconds in a minute.
const MINUTE_MS: u64 = 60_000;
/// How long a job lasts that says nothing of it, in minutes.
const JOB_MINUTES: u64 = 360;
/// The time of a job that is left for its other steps, in minutes. A run that waits is parked that long before the job's end.
const REST_MINUTES: u64 = 5;

/// The waits of a run, and the limits of its time and the job's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    /// Whether it waits for the merge.
    is_for_merge: bool,
    /// The most minutes of a run in a job: at work, and waiting there.
    pub(super) minutes: u64,
    /// `github.jobTimeoutMinutes`.
    job_minutes: u64,
}

impl Waits {
    /// As the plan has them.
    pub(super) fn of(plan: &Plan) -> Self {
        let waits = match plan.github.wait_for {
            // A run that waits for an event does so without a job.
            WaitFor::None | WaitFor::Event => 0,
            WaitFor::Ci => plan.github.ci_timeout_minutes,
            WaitFor::Merge => plan.github.ci_timeout_minutes.saturating_add(plan.github.merge_timeout_minutes),
        };
        Self {
            is_for_merge: plan.github.wait_for == WaitFor::Merge,
            minutes: plan.budget.max_active_ms.div_ceil(MINUTE_MS) + u64::from(waits),
            job_minutes: u64::from(plan.github.job_timeout_minutes),
        }
    }
}

/// The problems of one that runs upshift.
pub(super) fn examine(ours: &Workflow, all: &[Workflow], waits: Waits) -> Vec<Finding> {
    let mut findings: Vec<Finding> = merge(ours, all, waits).into_iter().collect();
    let jobs = ours.text.get("jobs").and_then(Value::as_mapping).into_iter().flatten();
    findings.extend(
        jobs.filter(|(_, job)| files::runs_upshift(job) && files::mends_in(job))
            .filter_map(|(_, job)| deadline(ours, job, waits)),
    );
    findings
}

/// A run that waits for a merge without a job is woken by these events alone.
fn merge(ours: &Workflow, all: &[Workflow], waits: Waits) -> Option<Finding> {
    // The input of the step is looked at too: here the workflow's own plan may differ from this checkout's.
    let is_for_merge = waits.is_for_merge || files::inputs(&ours.text, "wait-for").any(|value| value == "merge");
    // Without a token that starts CI nothing is waited for this way.
    if !is_for_merge || !triggers::pushes(&ours.text) {
        return None;
    }
    let followed = all.iter().filter(|other| triggers::follows(&ours.text, other));
    let hears_reviews = followed.into_iter().any(|other| starts_at(&other.text, "pull_request_review", "submitted"));
    let closed = (!starts_at(&ours.text, "pull_request", "closed"))
        .then(|| "add `pull_request: types: [closed]` to its triggers".to_owned());
    let reviewed = (!hears_reviews).then(|| {
        "trigger it by a workflow on `pull_request_review: types: [submitted]` (a review's own job keeps nothing that is believed)"
            .to_owned()
    });
    let missing: Vec<String> = closed.into_iter().chain(reviewed).collect();
    (!missing.is_empty()).then(|| {
        Finding::problem(
            ABOUT,
            format!("{}: no job continues a run that waits for a merge when it is merged or reviewed", ours.file),
            format!("{}, as `upshift init` writes them", missing.join(", and ")),
        )
    })
}

fn starts_at(workflow: &Value, event: &str, kind: &str) -> bool {
    let trigger = workflow.get("on").and_then(|on| on.get(event));
    match trigger.and_then(|trigger| trigger.get("types")) {
        Some(Value::Sequence(types)) => types.iter().any(|one| one.as_str() == Some(kind)),
        Some(types) => types.as_str() == Some(kind),
        // Without `types`, `pull_request` means opened, synchronize and reopened, none of which is a merge. A review means all of its kinds.
        None => event == "pull_request_review" && files::runs_on(workflow, event),
    }
}

/// A job that the runner ends in the middle of a wait keeps no log.
fn deadline(ours: &Workflow, job: &Value, waits: Waits) -> Option<Finding> {
    // A time that is an expression is not known here, and then nothing is said.
    let lasts = job.get("timeout-minutes").map_or(Some(JOB_MINUTES), Value::as_u64)?;
    let parks = waits.job_minutes.saturating_sub(REST_MINUTES);
    // The configured time ends the wait early, though the runner would give more.
    if waits.job_minutes < lasts && waits.minutes > parks {
        let said = format!(
            "{}: a run may take {} minutes, and one that waits is parked after {parks}, though its job lasts {lasts}",
            ours.file, waits.minutes
        );
        return Some(Finding::problem(ABOUT, said, format!("set `github.jobTimeoutMinutes` to {lasts}")));
    }
    let is_told = waits.job_minutes <= lasts;
    (!is_told && waits.minutes + REST_MINUTES > lasts).then(|| {
        let said = format!("{}: its job ends after {lasts} minutes, and a run may take {}", ours.file, waits.minutes);
        Finding::problem(ABOUT, said, format!("set `github.jobTimeoutMinutes` to {lasts}, or give the job more time"))
    })
}
