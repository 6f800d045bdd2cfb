//! The gate: whether a run may happen at all, decided before configuration, money or model (DESIGN §5).
//!
//! Today it knows the triggers that can never be safe; permissions of actors join it with the GitHub client.

use crate::domain::ci::{CiContext, EventKind, PullRequestRef, RepoName};

/// Why a run may not happen, as far as the trigger itself tells; `None` opens the gate.
#[must_use]
pub fn refusal(context: Option<&CiContext>) -> Option<String> {
    let context = context?;
    if context.event == EventKind::PullRequestTarget {
        return Some(
            "`pull_request_target` runs with the base's secrets over code that anybody can send\n→ Fix: use `on: pull_request`"
                .to_owned(),
        );
    }
    let head = match (&context.pull_request, &context.upstream) {
        (PullRequestRef::Known(pull), _) => Some(pull.head_repository.as_ref()),
        (_, Some(upstream)) => Some(upstream.head_repository.as_ref()),
        (PullRequestRef::None | PullRequestRef::Number(_) | PullRequestRef::Head, None) => None,
    };
    head.and_then(|head| foreign_head(head, &context.repository))
}

fn foreign_head(head: Option<&RepoName>, base: &RepoName) -> Option<String> {
    match head {
        Some(head) if head.is(base) => None,
        Some(head) => Some(format!(
            "the pull request comes from the fork {head}: its code must not meet the secrets of {base}\n→ Fix: run upshift on \
             branches of the repository itself"
        )),
        None => Some(
            "the repository that the pull request comes from is gone\n→ Fix: run upshift on branches of the repository itself"
                .to_owned(),
        ),
    }
}

/// Whether configuration files of the checkout may be written by whoever sends a pull request, so that they must not
/// be read (a hostile `baseUrl` would be handed the key).
#[must_use]
pub fn distrusts_checkout(context: Option<&CiContext>) -> bool {
    context.is_some_and(CiContext::is_about_a_pull_request)
}

#[cfg(test)]
mod tests;
