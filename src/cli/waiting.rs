//! Whether a run may end its job while CI is at work: only where the end of CI starts a job that can go on with it.

use super::environment::Environment;
use super::forge;
use super::step::Step;
use crate::config::{Plan, WaitFor};
use crate::domain::ci::{CiContext, EventKind, Forge};

/// Why the end of CI starts no job where the job's own token pushed (GITHUB 1).
const NO_PUSH_TOKEN: &str = "`wait-for: event` needs `push-token`: what the job's own token pushes starts no workflow, so that nothing \
                             would go on with the run; it waits in this job instead";

/// Whether the end of CI starts a job that goes on with this run: what is pushed starts CI, and the step behind ours keeps the log for a
/// job of the default branch's workflow, whose artifacts alone are believed.
pub(super) fn is_woken(context: &CiContext, environment: &Environment) -> bool {
    let keeps_its_log = Step::of(environment).is_some_and(Step::is_the_action);
    let is_believed = keeps_its_log && !is_of_a_head(context);
    context.forge == Forge::Github && is_believed && forge::push_token(environment).is_some()
}

/// Whether the job is one of a pull request's head, whose artifacts anybody who may push could have made.
pub(super) fn is_of_a_head(context: &CiContext) -> bool {
    matches!(context.event, EventKind::PullRequest | EventKind::PullRequestReview | EventKind::PullRequestReviewComment)
}

/// Has a run wait in its job where it was asked to end it and nothing would start another.
pub(super) fn settle(plan: &mut Plan, context: Option<&CiContext>, environment: &Environment) {
    if plan.github.wait_for == WaitFor::Event && context.is_some() && forge::push_token(environment).is_none() {
        plan.github.wait_for = WaitFor::Ci;
        plan.warnings.push(NO_PUSH_TOKEN.to_owned());
    }
}
