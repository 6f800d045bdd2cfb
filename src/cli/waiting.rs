//! Whether a run may end its job while CI is at work: only where the end of CI starts a job that can go on with it.

use super::environment::Environment;
use super::forge;
use super::step::Step;
use crate::config::{Comment, Plan, Push, WaitFor};
use crate::domain::ci::{CiContext, EventKind, Forge};

/// Why the end of CI starts no job where the job's own token pushed (GITHUB 1).
const NO_PUSH_TOKEN: &str = "`wait-for: event` needs a `push-token` other than the job's own: its pushes start no workflow, so nothing would continue the run; it waits in this job instead";
/// Why no job goes on where the step behind ours keeps no log, or one that nobody believes.
const NOT_BELIEVED: &str = "`wait-for: event` needs a job that runs the default branch's workflow, and the Action on github.com, which keeps its log: nothing would continue this run; it waits in this job instead";

/// Why no job goes on where no comment of ours says which run waits.
const NOT_FOUND: &str = "`wait-for: event` needs a comment of upshift's that names the run (`comment: always` or `on-change`, and a pull \
                         request): the next job finds it by that; it waits in this job instead";

/// Whether the end of CI starts a job that goes on with this run: what is pushed starts CI, and the step behind ours keeps the log for a
/// job of the default branch's workflow, whose artifacts alone are believed.
pub(super) fn is_woken(context: &CiContext, environment: &Environment) -> bool {
    let keeps_its_log = Step::of(environment).is_some_and(Step::is_the_action);
    let is_believed = keeps_its_log && !is_of_a_head(context);
    context.forge == Forge::Github && is_believed && starts_ci(environment)
}

/// Whether the job is one of a pull request's head, whose artifacts anybody who may push could have made.
pub(super) fn is_of_a_head(context: &CiContext) -> bool {
    matches!(context.event, EventKind::PullRequest | EventKind::PullRequestReview | EventKind::PullRequestReviewComment)
}

/// Whether what is pushed starts CI.
pub(super) fn starts_ci(environment: &Environment) -> bool {
    // A job's own token that is given once more as the push token starts no CI either.
    forge::push_token(environment).is_some_and(|token| !forge::is_jobs_own(environment, &token))
}

/// Whether a parked run is commented: on the pull request that it is about, or on the one that it opens.
fn is_commented(plan: &Plan, pull_request: Option<u64>) -> bool {
    let is_made = match plan.github.comment {
        Comment::Always | Comment::OnChange => true,
        Comment::OnFailure | Comment::Off => false,
    };
    // The pull request that it opens gets the comment.
    is_made && (pull_request.is_some() || plan.github.push == Push::Pr)
}

/// Has a run wait in its job where it was asked to end it and nothing would go on with it.
pub(super) fn settle(
    plan: &mut Plan,
    context: Option<&CiContext>,
    pull_request: Option<u64>,
    environment: &Environment,
) {
    let pushes = plan.github.push != Push::None;
    let Some(context) = context.filter(|_| pushes && plan.github.wait_for == WaitFor::Event) else { return };
    let why = match (is_woken(context, environment), is_commented(plan, pull_request)) {
        (true, true) => return,
        (true, false) => NOT_FOUND,
        (false, _) if starts_ci(environment) => NOT_BELIEVED,
        (false, _) => NO_PUSH_TOKEN,
    };
    // The wish itself is kept as far as it goes: it waits, in this job.
    plan.github.wait_for = WaitFor::Ci;
    plan.warnings.push(why.to_owned());
}
