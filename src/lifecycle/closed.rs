//! The pull request that a fix is on its way through, where it was merged or closed, or upshift is to leave it alone: nothing more is pushed
//! to its branch.
//!
//! Invariant: a state that cannot be read is no open pull request.

use super::climb::Climb;
use super::context::Context;
use super::gate;
use crate::github::{GitHub, GithubError, Pull, PullState};

/// Why nothing more is pushed to a pull request.
pub(super) struct Over {
    /// Whether it was closed without a merge.
    pub(super) is_closed: bool,
    /// In words, and how to go on.
    pub(super) told: String,
}

/// Why nothing more is pushed to the pull request. `None` where it is open, or there is none.
///
/// # Errors
/// Any [`GithubError`]: whether it is open cannot be read.
pub(super) async fn look(context: &Context<'_>, climb: &Climb) -> Result<Option<Over>, GithubError> {
    let Some(outside) = context.world.outside else { return Ok(None) };
    let Some((github, number)) = outside.github.as_ref().zip(climb.pull_request(&context.charter)) else {
        return Ok(None);
    };
    match look_with((context, climb), github, number).await {
        // An App's installation token lives an hour. The job's own lasts as long as the job.
        Err(error) if error.is_token_refused() => match &outside.fallback {
            Some(own) => look_with((context, climb), own, number).await,
            None => Err(error),
        },
        looked => looked,
    }
}

async fn look_with(
    (context, climb): (&Context<'_>, &Climb),
    github: &GitHub,
    number: u64,
) -> Result<Option<Over>, GithubError> {
    let pull = github.pull(number).await?;
    // The label counts at once: a person has put it on, whoever pushed last.
    if let Some(told) = kept_away(context, &pull) {
        return Ok(Some(Over { is_closed: false, told }));
    }
    let told = match pull.state {
        PullState::Open => return Ok(None),
        PullState::Merged => format!(
            "pull request #{number} was merged meanwhile → Fix: let upshift run on {}, which it was merged into",
            pull.base.branch
        ),
        PullState::Closed => format!(
            "pull request #{number} was closed meanwhile → Fix: reopen it and comment `/upshift retry`, if it is still wanted"
        ),
    };
    // A process that died right behind its push recorded no commit and finds it here: it was pushed while the pull request was open.
    let is_recorded = climb.delivered.commits.contains(&pull.head.sha);
    let is_pushed = !is_recorded && is_ours(context, github, &pull).await?;
    Ok((!is_pushed).then(|| Over { is_closed: pull.state == PullState::Closed, told }))
}

/// The label that keeps upshift away, where somebody has put it on meanwhile: in words, and how to go on.
pub(super) fn kept_away(context: &Context<'_>, pull: &Pull) -> Option<String> {
    let label = &context.charter.plan.github.skip_label;
    let is_on = pull.state == PullState::Open && pull.labels.iter().any(|one| one.eq_ignore_ascii_case(label));
    is_on.then(|| {
        format!(
            "the label `{label}` was put on pull request #{} meanwhile → Fix: take the label off and comment `/upshift retry`",
            pull.number
        )
    })
}

async fn is_ours(context: &Context<'_>, github: &GitHub, pull: &Pull) -> Result<bool, GithubError> {
    let message = github.commit(&pull.head.sha.0).await?.message;
    Ok(gate::run_of(&message) == Some(context.charter.run_id.0.as_str()))
}
