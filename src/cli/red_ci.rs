//! Failures in CI, looked up before the run begins: in the workflow run that started this job, or in the newest red one of the commit where
//! a person did. Which jobs failed, and which of their commands run here.

use super::environment::Environment;
use super::forge;
use crate::config::failed_command;
use crate::domain::ci::{CiContext, FailedJob, PullRequestRef, RedCi, UpstreamRun};
use crate::github::{Conclusion, GitHub, GithubError, Job, Progress, WorkflowRun};
use crate::lifecycle::gate::RED;

/// How many failed jobs are looked into: as many legs as two matrices have, at most.
const MOST_JOBS: usize = 100;

/// Looks the failures up. `None` where no red workflow run started this job and none is known of the commit that a person asked about, or
/// where it is green by now. A run that cannot be read counts as red, as the event says.
pub(super) async fn look(context: Option<&CiContext>, environment: &Environment) -> Option<RedCi> {
    let context = context?;
    let asked;
    let upstream = match &context.upstream {
        Some(upstream) => upstream,
        None => {
            asked = of_the_commit(context, environment).await?;
            &asked
        }
    };
    // A green or cancelled run started this job for another reason.
    upstream.conclusion.as_deref().filter(|end| RED.contains(end))?;
    let unread = RedCi {
        workflow: upstream.name.clone(),
        run: (upstream.id, upstream.attempt),
        commit: upstream.head_sha.clone(),
        failed: Vec::new(),
    };
    // The event itself says red, which is enough to begin: only the details are missing.
    let Some(token) = forge::token(environment) else { return Some(unread) };
    let Ok(github) = forge::client(environment, &context.api_url, &context.repository, token) else {
        return Some(unread);
    };
    match read(&github, context, upstream, &unread).await {
        Ok(found) => found,
        Err(error) => {
            super::say(&format!("⚠ what failed in the workflow run {} could not be read: {error}", upstream.id));
            Some(unread)
        }
    }
}

/// The newest red workflow run of the pull request's head, where a label or a comment started this job.
async fn of_the_commit(context: &CiContext, environment: &Environment) -> Option<UpstreamRun> {
    let is_asked = context.comment.is_some() || context.action.as_deref() == Some("labeled");
    let head = context.head_sha.as_ref().filter(|_| is_asked && context.is_about_a_pull_request())?;
    let github = forge::client(environment, &context.api_url, &context.repository, forge::token(environment)?).ok()?;
    let runs = match github.workflow_runs(head).await {
        Ok(runs) => runs,
        Err(error) => {
            super::say(&format!("⚠ whether CI of {} is red could not be read: {error}", head.short()));
            return None;
        }
    };
    let own = context.run.workflow_path.as_deref();
    newest_red(runs, own).map(|run| UpstreamRun {
        id: run.id,
        // Nobody promised that its failure starts a run: it is not run once more.
        attempt: run.run_attempt.max(2),
        name: run.name,
        event: run.event,
        conclusion: Some(RED[0].to_owned()),
        actor: None,
        triggering_actor: None,
        head_sha: run.head_sha,
        head_branch: context.head_branch.clone(),
        head_repository: None,
    })
}

/// The newest run for a push or a pull request that is red and has no newer one of its workflow and event. Our own workflow is no check.
fn newest_red(mut runs: Vec<WorkflowRun>, own: Option<&str>) -> Option<WorkflowRun> {
    runs.retain(|run| ["pull_request", "push"].contains(&run.event.as_str()));
    runs.retain(|run| own.is_none_or(|own| run.path.split('@').next() != Some(own)));
    runs.sort_by(|a, b| b.created_at.cmp(&a.created_at).then(b.id.cmp(&a.id)));
    // A red run that a green one of the same workflow followed has been mended.
    let is_newest = |at: usize, run: &WorkflowRun| {
        !runs.iter().take(at).any(|newer| newer.workflow_id == run.workflow_id && newer.event == run.event)
    };
    // A newer run that is still at work hides an older red one, too.
    let found = runs.iter().enumerate().find(|(at, run)| run.conclusion.is_some_and(is_red) && is_newest(*at, run));
    found.map(|(_, run)| run.clone())
}

async fn read(
    github: &GitHub,
    context: &CiContext,
    upstream: &UpstreamRun,
    unread: &RedCi,
) -> Result<Option<RedCi>, GithubError> {
    let jobs = github.jobs(upstream.id).await?;
    let red: Vec<&Job> = jobs.iter().filter(|job| job.conclusion.is_some_and(is_red)).collect();
    // Somebody ran it again, and it passed. A job still at work leaves the question open.
    if red.is_empty() && !jobs.is_empty() && jobs.iter().all(|job| job.progress == Progress::Completed) {
        return Ok(None);
    }
    // The file is only read for the commands of failed steps.
    let workflow = if red.is_empty() { None } else { workflow(github, context, upstream).await? };
    let failed = red.into_iter().take(MOST_JOBS).map(|job| failed(job, workflow.as_deref())).collect();
    Ok(Some(RedCi { failed, ..unread.clone() }))
}

/// The workflow's file as the base has it: what the head says of it is the pull request's own.
async fn workflow(github: &GitHub, context: &CiContext, upstream: &UpstreamRun) -> Result<Option<String>, GithubError> {
    let run = github.workflow_run(upstream.id).await?;
    // A reusable workflow of elsewhere is named with where it is from.
    let path = run.path.split('@').next().unwrap_or_default().to_owned();
    let base = match &context.pull_request {
        PullRequestRef::Known(pull) => Some(pull.base_sha.0.clone()),
        PullRequestRef::None | PullRequestRef::Number(_) | PullRequestRef::Head => context.default_branch.clone(),
    };
    let bytes = github.file(&path, base.as_deref().unwrap_or("HEAD")).await?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn failed(job: &Job, workflow: Option<&str>) -> FailedJob {
    let step = job.steps.iter().find(|step| step.conclusion.is_some_and(is_red));
    let plain = FailedJob { name: job.name.clone(), job: job.id, ..FailedJob::default() };
    let (Some(step), Some(workflow)) = (step, workflow) else { return plain };
    match failed_command(workflow, &job.name, &step.name) {
        Ok(command) => FailedJob { command: Some(command), ..plain },
        Err(why) => FailedJob { why_not: Some(why.words().to_owned()), ..plain },
    }
}

fn is_red(conclusion: Conclusion) -> bool {
    match conclusion {
        Conclusion::Failure | Conclusion::TimedOut | Conclusion::StartupFailure => true,
        Conclusion::Success
        | Conclusion::Neutral
        | Conclusion::Skipped
        // Somebody or a newer push ended it, which says nothing of the code.
        | Conclusion::Cancelled
        | Conclusion::Stale
        // It waits for a person's click, and no change of code mends that.
        | Conclusion::ActionRequired
        | Conclusion::Unknown => false,
    }
}
