//! `upshift resume` in a job that the clock started, or the end of a pull request or issue: parked runs of pull requests go on, in jobs of their own.

use super::environment::Environment;
use super::{Failure, forge};
use crate::config::{DEFAULT_SKIP_LABEL, Setting};
use crate::domain::ci::{CiContext, EventKind};
use crate::domain::outcome::{EXIT_NOT_FIXED, EXIT_SUCCESS};
use crate::lifecycle::gate::Refusal;
use crate::lifecycle::parked::{self, Due, Queue, Taken};

/// The event of an issue.
const ISSUES: &str = "issues";

/// Whether a job goes on with the runs of pull requests, not with one of its own: always where the clock started it, and, where there is
/// no log, where a click did, or the end of what a run may be blocked on.
pub(super) fn is_wanted(context: &CiContext, has_log: bool) -> bool {
    // A run may be blocked on another pull request or on an issue, and its end frees it.
    let is_an_end = context.event == EventKind::PullRequest || context.event.as_str() == ISSUES;
    let is_an_end = is_an_end && context.action.as_deref() == Some("closed");
    let is_a_click = context.event == EventKind::WorkflowDispatch;
    context.event == EventKind::Schedule || ((is_a_click || is_an_end) && !has_log)
}

/// Has the parked runs that are due run again, and reports on each. Exit 1 where the forge did not let us.
///
/// # Errors
/// Nothing can be looked up (exit 6), or the runner does not say which workflow this is (exit 2).
pub(super) async fn resume(context: &CiContext, environment: &Environment) -> anyhow::Result<u8> {
    let workflow = context.run.workflow_path.as_deref().ok_or_else(|| {
        Failure::usage(
            "the runner does not say which workflow this is\n→ Fix: run it in a job of a workflow, with the runner's \
             GITHUB_WORKFLOW_REF",
        )
    })?;
    let unknown = |error: crate::github::GithubError| Failure::refused(&Refusal::Unknown { why: error.to_string() });
    let token = forge::token(environment).ok_or_else(|| Failure::refused(&Refusal::NoToken))?;
    let github = forge::client(environment, &context.api_url, &context.repository, token).map_err(unknown)?;
    let identity = github.identity(forge::token_kind(environment)).await.map_err(unknown)?;
    let queue = Queue {
        github: &github,
        identity: &identity,
        workflow,
        // The configuration is not read here: it is that of each run, and this job has none of its own.
        skip_label: environment.get(Setting::SkipLabel.env()).unwrap_or(DEFAULT_SKIP_LABEL),
        now: u64::try_from(super::stop_sources::clock(environment).unix_ms() / 1_000).unwrap_or(0),
    };
    let taken = parked::take_up(queue).await.map_err(unknown)?;
    if taken.is_empty() {
        super::say("Nothing to do: no parked run of a pull request can continue yet.");
    }
    let mut code = EXIT_SUCCESS;
    for (due, what) in &taken {
        super::say(&told(due, what));
        // The others are still tried, and the job fails at its end so that somebody looks.
        if matches!(what, Taken::Failed(_)) {
            code = EXIT_NOT_FIXED;
        }
    }
    Ok(code)
}

fn told(due: &Due, what: &Taken) -> String {
    let (number, (run, _)) = (due.pull_request, due.job);
    match what {
        Taken::Again => format!("✔ Pull request #{number}: workflow run {run} was started again."),
        Taken::Left(why) => format!("– Pull request #{number}: nothing is done, {why}."),
        Taken::Failed(error) => {
            format!("✖ Pull request #{number}: workflow run {run} could not be run again: {error}")
        }
    }
}
