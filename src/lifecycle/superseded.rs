//! CI of a commit of our own on top of which there is another by now: nobody needs its answer, and somebody pays for its minutes.
//!
//! Invariants: only runs for a commit that upshift made are cancelled, only where they judge a change (a run that a push to a branch of
//! people started may deploy), and none of our own workflows. Where the token may not cancel, nothing comes of it.

use super::context::Context;
use super::gate;
use super::outside::Outside;
use crate::domain::delivery::BRANCH_PREFIX;
use crate::domain::units::CommitSha;
use crate::github::{GitHub, Progress, WorkflowRun};

/// The event of CI that judges a change.
const PULL_REQUEST: &str = "pull_request";
/// The event of CI that judges a branch.
const PUSH: &str = "push";

/// Has the runs cancelled that are at work on a commit that this run pushed. Returns the cancelled runs in words.
pub(super) async fn cancel(context: &Context<'_>, commit: &CommitSha, branch: &str) -> Option<String> {
    let outside = context.world.outside?;
    let github = outside.github.as_ref()?;
    let runs = github.workflow_runs(commit).await.ok()?;
    let mut cancelled = 0;
    for run in runs.iter().filter(|run| is_needless(run, outside, branch)) {
        // Without `actions: write` the first says no for all.
        match github.cancel_run(run.id).await {
            Ok(()) => cancelled += 1,
            Err(error) if error.is_forbidden() => break,
            // It may have ended meanwhile. Cancelling saves minutes, and nothing depends on it.
            Err(_) => {}
        }
    }
    (cancelled > 0)
        .then(|| format!("CI of {} was cancelled ({cancelled} at work): there is a newer commit", commit.short()))
}

/// The same for whatever a push was put on top of: an earlier run of ours may have made it, which waits no more.
pub(super) async fn cancel_below(
    context: &Context<'_>,
    parent: &CommitSha,
    is_of_this_run: bool,
    branch: &str,
) -> Option<String> {
    let github = context.world.outside?.github.as_ref()?;
    if !is_of_this_run && !is_ours(github, parent).await {
        return None;
    }
    cancel(context, parent, branch).await
}

async fn is_ours(github: &GitHub, commit: &CommitSha) -> bool {
    github.commit(&commit.0).await.is_ok_and(|commit| gate::run_of(&commit.message).is_some())
}

fn is_needless(run: &WorkflowRun, outside: &Outside, branch: &str) -> bool {
    // `path` may carry the ref: `.github/workflows/upshift.yml@main`.
    let path = run.path.split('@').next().unwrap_or_default();
    let is_own = Some(run.id) == outside.own_run || outside.own_workflows.iter().any(|own| own == path);
    let judges = run.event == PULL_REQUEST || (run.event == PUSH && branch.starts_with(BRANCH_PREFIX));
    run.progress != Progress::Completed && judges && !is_own
}
