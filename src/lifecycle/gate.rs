//! The gate: whether a run may happen at all, decided before money or a model (DESIGN §5).
//!
//! Pure: [`refusal`] knows the trigger alone and stands before the configuration, [`judge`] knows the looked-up [`facts`] as well.
//! Invariant: unknown facts are not trusted, and a refusal says what was refused, why, and what to do.

mod bots;
pub mod facts;
mod refusal;

use super::message::RUN_TRAILER;
use crate::config::{GithubPlan, Push};
use crate::domain::ci::{Account, CiContext, EventKind, PullRequestRef, RepoName};
use crate::domain::units::CommitSha;
use crate::github::{PullState, RepoRole};
use facts::{Facts, people};

pub use bots::only_runs_again;
pub use refusal::Refusal;

/// The beginning of the branches on which a merge queue tries commits.
const QUEUE: &str = "gh-readonly-queue/";

/// The conclusions of a workflow run by which it is red.
pub const RED: [&str; 3] = ["failure", "timed_out", "startup_failure"];
/// The beginning of the branches that upshift makes.
const OUR_BRANCHES: &str = "upshift/";

/// The decisions of a repository about its gate.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The label that keeps upshift away from a pull request.
    pub skip_label: &'a str,
    /// The bots that may start a run on their own pull requests, by their exact names.
    pub allowed_bots: &'a [String],
    /// Whether fixes are pushed onto the branch that failed itself (`push: commit`).
    pub pushes_onto_branch: bool,
}

impl<'a> From<&'a GithubPlan> for Rules<'a> {
    fn from(plan: &'a GithubPlan) -> Self {
        Self {
            skip_label: &plan.skip_label,
            allowed_bots: &plan.allowed_bots,
            pushes_onto_branch: plan.push == Push::Commit,
        }
    }
}

/// Whether a run is to begin or to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage<'a> {
    /// It begins.
    Begins,
    /// It goes on. The head of the pull request may be at a commit that it has delivered already.
    GoesOn {
        /// Its last commit there, if it pushed one.
        delivered: Option<&'a CommitSha>,
    },
}

/// Why a run may not happen, as far as the trigger itself tells. `None` opens the gate.
#[must_use]
pub fn refusal(context: Option<&CiContext>) -> Option<Refusal> {
    let context = context?;
    if context.event == EventKind::PullRequestTarget {
        return Some(Refusal::PullRequestTarget);
    }
    let of_upstream = context.upstream.as_ref().and_then(|upstream| upstream.head_branch.as_ref());
    if let Some(branch) = of_upstream.or(context.head_branch.as_ref()).filter(|branch| branch.starts_with(QUEUE)) {
        return Some(Refusal::MergeQueue { branch: branch.clone() });
    }
    let head = match (&context.pull_request, &context.upstream) {
        (PullRequestRef::Known(pull), _) => Some(pull.head_repository.as_ref()),
        // For forks the event lists no pull requests, so that the head's repository alone tells.
        (_, Some(upstream)) => Some(upstream.head_repository.as_ref()),
        (PullRequestRef::None | PullRequestRef::Number(_) | PullRequestRef::Head, None) => None,
    };
    head.and_then(|head| foreign_head(head, &context.repository))
}

/// The same for judging a change, which needs no secret: GitHub gives none to the pull request of a fork.
#[must_use]
pub fn refusal_to_judge(context: Option<&CiContext>) -> Option<Refusal> {
    let is_plain = context.is_some_and(|context| context.event == EventKind::PullRequest);
    refusal(context).filter(|why| !(is_plain && matches!(why, Refusal::Fork { .. } | Refusal::HeadRepositoryGone)))
}

/// Whether the trigger alone does not tell enough: somebody without the right to write may have caused it. People who push, dispatch or
/// schedule have that right. Anybody may open an issue, star or fork, so of all other events the people are asked about.
#[must_use]
pub fn asks(context: &CiContext) -> bool {
    let needs_write = match context.event {
        EventKind::Push | EventKind::Schedule | EventKind::WorkflowDispatch | EventKind::RepositoryDispatch => true,
        EventKind::PullRequest
        | EventKind::PullRequestTarget
        | EventKind::PullRequestReview
        | EventKind::PullRequestReviewComment
        | EventKind::WorkflowRun
        | EventKind::CheckSuite
        | EventKind::Status
        | EventKind::IssueComment
        | EventKind::Other(_) => false,
    };
    !needs_write || context.is_about_a_pull_request() || context.comment.is_some() || context.upstream.is_some()
}

/// Why a run may not happen after all that was looked up. `None` opens the gate.
#[must_use]
pub fn judge(context: &CiContext, facts: &Facts, rules: Rules<'_>, stage: Stage<'_>) -> Option<Refusal> {
    let people = people(context);
    if people.is_empty() {
        return Some(Refusal::Nobody);
    }
    let answered = is_answered(context, stage);
    people
        .into_iter()
        // CI of our own commit runs in the name of whoever's token pushed it.
        .filter(|person| !(answered && person.is_bot()))
        .find_map(|person| stranger(context, person, facts, rules, stage))
        .or_else(|| pull_request(context, facts, rules.skip_label, stage))
        .or_else(|| if answered { None } else { own_commit(context, facts, rules) })
}

/// Whether the event is what the run waited for: the end of CI of the commit that it pushed, a part of that, or the end of its pull request.
fn is_answered(context: &CiContext, stage: Stage<'_>) -> bool {
    let Stage::GoesOn { delivered: Some(delivered) } = stage else { return false };
    let is_over = context.event == EventKind::PullRequest && context.action.as_deref() == Some("closed");
    context.upstream.as_ref().is_some_and(|upstream| upstream.head_sha == *delivered)
        || ((is_over || context.event.only_wakes()) && context.head_sha.as_ref() == Some(delivered))
}

fn stranger(
    context: &CiContext,
    person: &Account,
    facts: &Facts,
    rules: Rules<'_>,
    stage: Stage<'_>,
) -> Option<Refusal> {
    if person.is_bot() {
        let delivered = match stage {
            Stage::Begins => None,
            Stage::GoesOn { delivered } => delivered,
        };
        return bots::refusal(context, person, facts, rules.allowed_bots, delivered);
    }
    let login = person.login.clone();
    // Whoever was not looked up has no rights.
    let role = facts.roles.get(&login).copied().unwrap_or(RepoRole::None);
    (role < RepoRole::Write).then(|| Refusal::Stranger { login, repository: context.repository.clone() })
}

fn pull_request(context: &CiContext, facts: &Facts, skip_label: &str, stage: Stage<'_>) -> Option<Refusal> {
    let labels = match &context.pull_request {
        PullRequestRef::Known(pull) => pull.labels.as_slice(),
        PullRequestRef::None | PullRequestRef::Number(_) | PullRequestRef::Head => &[],
    };
    let now = facts.pull.as_ref().map(|pull| pull.labels.as_slice()).unwrap_or_default();
    // By the event and by now: the label may have been put on while the job waited for its runner.
    if labels.iter().chain(now).any(|label| label.eq_ignore_ascii_case(skip_label)) {
        return Some(Refusal::SkipLabel { label: skip_label.to_owned() });
    }
    let Some(pull) = facts.pull.as_ref() else { return none_open(context, stage) };
    // An event that names the pull request only by its number could not be refused for this before.
    if let Some(why) = foreign_head(pull.head.repository.as_ref(), &context.repository) {
        return Some(why);
    }
    if let Stage::GoesOn { delivered: Some(delivered) } = stage
        && (pull.state != PullState::Open || pull.head.sha == *delivered)
    {
        // Merged or closed meanwhile: the breakpoint says what that means.
        return None;
    }
    if pull.state != PullState::Open {
        return Some(Refusal::NotOpen { number: pull.number });
    }
    let pinned = context.head_sha.as_ref()?;
    let is_own = facts.newer_message.as_deref().is_some_and(is_ours);
    let (from, to) = (pinned.clone(), pull.head.sha.clone());
    (from != to).then_some(if is_own { Refusal::MovedByUs { from, to } } else { Refusal::HeadMoved { from, to } })
}

/// A pull request's CI whose pull request is gone. Its branch may be any, the default one, too, and nobody asked for a push onto that.
fn none_open(context: &CiContext, stage: Stage<'_>) -> Option<Refusal> {
    let upstream = context.upstream.as_ref().filter(|upstream| upstream.event.starts_with("pull_request"))?;
    let is_gone = context.pull_request == PullRequestRef::Head && stage == Stage::Begins;
    is_gone.then(|| Refusal::NoneOpen { branch: upstream.head_branch.clone().unwrap_or_default() })
}

/// A push of our own must not trigger us again (with a personal token it would). A person may ask for more on top of it.
fn own_commit(context: &CiContext, facts: &Facts, rules: Rules<'_>) -> Option<Refusal> {
    let asked = context.comment.is_some() || context.action.as_deref() == Some("labeled");
    let message = facts.head_message.as_deref().or(context.head_message.as_deref())?;
    // With nobody's pull request and none of our branches it came there by a merge: by rebasing, say, which keeps the message.
    let is_on_our_branch = context.head_branch.as_ref().is_none_or(|branch| branch.starts_with(OUR_BRANCHES));
    let may_be_pushed = facts.pull.is_some() || rules.pushes_onto_branch || is_on_our_branch;
    let is_merged = !may_be_pushed || is_merged(context, message);
    // Green CI of our commit starts a job, too, for the run that waits for it.
    let ended = context.upstream.as_ref().map(|upstream| upstream.conclusion.as_deref());
    let is_green = ended.is_some_and(|end| end.is_none_or(|end| !RED.contains(&end)));
    (!asked && is_ours(message) && (!is_merged || is_green)).then_some(Refusal::OwnCommit)
}

/// Whether a commit of ours stands on the default branch as a merged pull request, squashed into one: what fails there is not its first fix's
/// to mend. GitHub puts the pull request's number behind the title, and keeps the trailer of a single commit.
fn is_merged(context: &CiContext, message: &str) -> bool {
    let is_default = context.head_branch.is_some() && context.head_branch == context.default_branch;
    let title = message.lines().next().unwrap_or_default().trim_end();
    let number = title.strip_suffix(')').and_then(|title| title.rsplit_once(" (#")).map(|(_, number)| number);
    is_default && number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether the last paragraph of a commit's message holds our trailer.
fn is_ours(message: &str) -> bool {
    run_of(message).is_some()
}

/// The run that made a commit, by the trailer in the last paragraph of its message.
#[must_use]
pub fn run_of(message: &str) -> Option<&str> {
    // Git looks for trailers in the last paragraph alone: a quoted one further up makes no commit ours.
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let trailers = last.lines().filter_map(|line| line.split_once(':'));
    let mut ours = trailers.filter(|(key, _)| key.trim().eq_ignore_ascii_case(RUN_TRAILER));
    ours.next().map(|(_, run)| run.trim())
}

fn foreign_head(head: Option<&RepoName>, base: &RepoName) -> Option<Refusal> {
    match head {
        Some(head) if head.is(base) => None,
        Some(head) => Some(Refusal::Fork { head: head.clone(), base: base.clone() }),
        None => Some(Refusal::HeadRepositoryGone),
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
