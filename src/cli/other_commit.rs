//! A checkout of another commit than the one that a job is about: its tests say nothing of that, and a fix of it belongs elsewhere.
//!
//! `actions/checkout` takes the default branch where an event is not a push or a pull request's own (`workflow_run`, a comment, a clock).

use std::path::Path;

use super::environment::Environment;
use super::{Failure, delivery, place};
use crate::domain::ci::CiContext;
use crate::domain::stop::Stop;
use crate::domain::units::CommitSha;
use crate::workspace::Revisions;
use crate::workspace::publish::checked_out;

/// Refuses to begin a run on one.
///
/// # Errors
/// The commit that is checked out is neither the job's nor made right on top of it, as a pull request's merge is (exit 2).
pub(super) async fn refuse(
    context: Option<&CiContext>,
    checkout: &Path,
    environment: &Environment,
) -> anyhow::Result<()> {
    let found = checked_out(checkout);
    let (Some(context), Some(here)) = (context, &found.head) else { return Ok(()) };
    let Some(wanted) = context.head_sha.as_ref().filter(|wanted| *wanted != here) else { return Ok(()) };
    // A job may well test another repository beside its own, and one that came here by another way than actions/checkout.
    if found.origin.as_deref().and_then(delivery::repository_of).is_none_or(|name| name != context.repository) {
        return Ok(());
    }
    let Some(parents) = parents(checkout, environment).await else { return Ok(()) };
    if parents.contains(wanted) {
        return Ok(());
    }
    let branch = context.head_branch.as_ref().map(|branch| format!(" of `{branch}`")).unwrap_or_default();
    Err(Failure::usage(format!(
        "the checkout is at {}, and this job is about {}{branch}: the tests here say nothing of that\n→ Fix: check that commit out: \
         `ref: ${{{{ steps.gate.outputs.head-sha }}}}` at actions/checkout, behind a step with `command: gate`\nNo LLM calls were made.",
        here.short(),
        wanted.short(),
    )))
}

/// The parents of the commit that is checked out. `None` where git cannot tell.
async fn parents(checkout: &Path, environment: &Environment) -> Option<Vec<CommitSha>> {
    let stop = Stop::never();
    let revisions = Revisions::open(place::top(checkout)?, environment.raw(), &stop).await.ok()?;
    revisions.parents().await.ok()
}
