//! The writer of the pull request's comment, and the choice of this job's comment among several.

use std::sync::Arc;

use super::forge;
use super::setup::{Setup, artifact};
use crate::config::{Comment, Plan, Push};
use crate::domain::ci::JobRun;
use crate::domain::event::Event;
use crate::lifecycle::comment::{Assignment, Writer};
use crate::lifecycle::outside::Outside;
use crate::lifecycle::state::RunState;

/// A writer for the run's comment. `None` where there is to be none, or nobody to be told.
pub(super) fn writer(setup: &Setup<'_>, state: &RunState, outside: Option<&Outside>, past: &[Event]) -> Option<Writer> {
    let context = setup.context?;
    let plan = &state.plan.github;
    let pull_request = state.destination.as_ref().and_then(|destination| destination.pull_request);
    // With `push: pr` the run opens the pull request itself, and comments on it then.
    if pull_request.is_none() && plan.push != Push::Pr {
        if plan.comment != Comment::Off {
            let place = match setup.environment.get("GITHUB_STEP_SUMMARY") {
                Some(_) => "the report goes into the job's summary",
                None => "the report goes into this step's log",
            };
            super::say(&format!("There is no pull request to comment on: {place}."));
        }
        return None;
    }
    let Some(github) = outside.and_then(|outside| outside.github.clone()) else {
        // A person who wants no comment misses no token.
        if plan.comment == Comment::Off {
            return None;
        }
        super::say(
            "⚠ no comment was written on the pull request: there is no token for the API → Fix: set `github-token`",
        );
        return None;
    };
    let assignment = Assignment {
        github,
        token: forge::token_kind(setup.environment),
        wish: plan.comment,
        // A resumed run keeps the key with which it began: another step's settings would begin a second comment.
        key: state.comment_key.clone().unwrap_or_else(|| key(&state.plan, &context.run)),
        job_url: Some(context.run_url()),
        artifact: artifact(context, &state.run_id),
        kept_in: setup.kept_in(&state.run_id, state.plan.audit.as_deref()),
        attempt: state.runs.as_ref().map_or(0, |runs| runs.attempt),
        heard: state.runs.as_ref().map_or(0, |runs| runs.heard),
        run: state.run_id.clone(),
        pull_request,
        commit: context.head_sha.clone(),
        clock: Arc::clone(&setup.clock),
        redactor: Arc::clone(&setup.redactor),
    };
    Some(Writer::start(assignment, past))
}

/// Tells the comment of this job from those of others on the same pull request, whichever event started it: the workflow's file,
/// the job, and the folder that it works in.
pub(super) fn key(plan: &Plan, run: &JobRun) -> String {
    let file = run.workflow_path.as_deref().and_then(|path| path.rsplit('/').next());
    // A workflow that was renamed from `.yaml` to `.yml` goes on with the same comment.
    let workflow = file.map_or(run.workflow.as_str(), |file| file.trim_end_matches(".yml").trim_end_matches(".yaml"));
    let folder = plan.working_directory.as_deref().map(|folder| format!("/{folder}")).unwrap_or_default();
    format!("{workflow}/{}{folder}", run.job)
}
