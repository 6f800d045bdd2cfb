//! The CI breakpoint: one look at what CI says of the pushed commit, and what of a red one a model is shown.

use std::collections::BTreeSet;

use super::super::climb::Climb;
use super::super::closed;
use super::super::context::Context;
use super::super::outside::Outside;
use super::super::state::Wait;
use super::failed_check::{FailedCheck, Fetched};
use super::open;
use super::seen::{Seen, Work};
use crate::config::WaitFor;
use crate::domain::delivery::Answer;
use crate::domain::foreign::Foreign;
use crate::domain::units::CommitSha;
use crate::github::checks::{self, CiState, Item, ItemKind, Question};
use crate::github::{CheckOutput, GitHub, GithubError, Progress, WorkflowRun};

/// The most failing checks that a model is shown. The others are named.
const MOST_CHECKS: usize = 3;
/// The most failing checks that are looked into for those that tell why they failed.
const MOST_LOOKED_AT: usize = 12;
/// How much of a job's log is kept: its beginning and its end.
const LOG_BYTES: usize = 512 * 1024;
/// How many places the failures may name.
const MOST_PLACES: usize = 12;
/// The advice on the setup that lets CI run on our pushes (GITHUB.md 1, 4).
const SET_UP: &str = "→ Fix: give `push-token` an App's installation token or a fine-grained personal token; pushes with the job's own \
                      GITHUB_TOKEN start no workflow";
/// The advice where such a token pushed, and still no CI ran.
const LEFT_OUT: &str = "→ Fix: see whether `paths` or `branches` of CI's workflow leave the change out";
/// The advice where somebody has to approve (GITHUB.md 2, 3).
const APPROVE: &str = "→ Fix: approve the run on its page, or give `push-token` an App's installation token or a fine-grained personal \
                       token, whose pushes need no approval";

/// Looks once.
pub(super) async fn look(
    context: &Context<'_>,
    (outside, github): (&Outside, &GitHub),
    climb: &Climb,
    wait: &Wait,
    (waited_ms, runs_again): (u64, bool),
) -> Result<Seen, GithubError> {
    // First: checks of a commit that is not the head any more say nothing of the branch.
    if let Some(moved) = moved(github, climb, wait).await? {
        return Ok(moved);
    }
    let required = required(context, github, climb).await;
    let facts = github.ci_facts(&wait.commit).await?;
    // The wall clock may have been set back since the push. The time that was waited cannot.
    let since_push_ms = since_push_ms(context, climb).max(waited_ms);
    let question = Question {
        own_run: outside.own_run,
        own_workflows: &outside.own_workflows,
        required: &required,
        since_push_ms,
    };
    Ok(match checks::decide(&facts, &question) {
        CiState::Pending { unfinished, failing } if unfinished.is_empty() && failing.is_empty() => Seen::Settling,
        // Where a `paths` filter leaves the commit out no check will ever appear, whose end could start anything.
        CiState::NotYet => Seen::Settling,
        CiState::Pending { unfinished, .. } => Seen::Moving(open::told(&unfinished, &facts, &question)),
        CiState::Green { passed } => green(context, climb, passed).await?,
        CiState::NeverAppeared => {
            let advice = if context.world.starts_ci { LEFT_OUT } else { SET_UP };
            let unseen = open::unseen(&facts, &question);
            let beside = if unseen.is_empty() { unseen } else { format!("; {unseen}") };
            Seen::Answer(Answer::Absent, format!("no check appeared for {}{beside} {advice}", wait.commit.short()))
        }
        // The API may show the first attempt for a while yet.
        CiState::Red { failing } if runs_again && are_first(&facts.runs, &failing) => {
            Seen::Moving(format!("{} runs once more", names(&failing)))
        }
        CiState::Red { failing } => match once_more(context, github, climb, &facts.runs, &failing).await? {
            Some(told) => Seen::RunsAgain(told),
            None => red(context, github, (climb, wait), &failing).await?,
        },
        // A check that failed can be mended without waiting for somebody's approval of the others.
        CiState::ActionRequired { failing, .. } | CiState::WaitingForEnvironment { failing, .. }
            if !failing.is_empty() =>
        {
            red(context, github, (climb, wait), &failing).await?
        }
        CiState::ActionRequired { runs, .. } => {
            Seen::Answer(Answer::NeedsApproval, format!("{} waits for an approval {APPROVE}", names(&runs)))
        }
        CiState::WaitingForEnvironment { runs, .. } => Seen::Answer(
            Answer::NeedsApproval,
            format!("{} waits for an environment's reviewer → Fix: approve it on the run's page", names(&runs)),
        ),
        // A push in this very moment may have ended it, and then the newer commit's CI counts.
        CiState::Cancelled { cancelled } => match moved(github, climb, wait).await? {
            Some(moved) => moved,
            None => Seen::Answer(
                Answer::Cancelled,
                format!("{} was cancelled before it had an answer → Fix: run it again, on its page", names(&cancelled)),
            ),
        },
        CiState::AllSkipped { skipped } => Seen::Answer(
            Answer::Skipped,
            format!(
                "{} was skipped, so nothing ran → Fix: see which condition (`if:`) of its workflow leaves this commit out",
                names(&skipped)
            ),
        ),
        CiState::RequiredMissing { .. } => Seen::Answer(Answer::RequiredMissing, open::missing(&facts, &question)),
    })
}

/// The answer where the branch has another head by now.
async fn moved(github: &GitHub, climb: &Climb, wait: &Wait) -> Result<Option<Seen>, GithubError> {
    let Some(branch) = &climb.delivered.branch else { return Ok(None) };
    let head = github.head_of(branch).await?.filter(|head| *head != wait.commit);
    Ok(head.map(|head| Seen::Answer(Answer::Superseded, format!("{branch} is at {} now", head.short()))))
}

/// The names that have to pass before merging, where they can be read.
async fn required(context: &Context<'_>, github: &GitHub, climb: &Climb) -> Vec<String> {
    let Some(destination) = &context.charter.destination else { return Vec::new() };
    // Rules stand on the branch that is merged into: a pull request of ours goes to the branch that the run is about.
    let ours = climb.delivered.pull_request.is_some();
    let base = destination.base.as_ref().filter(|_| !ours).unwrap_or(&destination.branch);
    // Not every token may read them. Without the names every check that appears counts.
    github.required_checks(base).await.unwrap_or_default()
}

fn since_push_ms(context: &Context<'_>, climb: &Climb) -> u64 {
    let since = context.world.clock.unix_ms().saturating_sub(climb.delivered.pushed_at_ms);
    u64::try_from(since).unwrap_or(0)
}

fn names(items: &[Item]) -> String {
    let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    names.join(", ")
}

/// Has failed workflow runs run their failed jobs once more, where all that is red is the first attempt of one: CI may be flaky, since the
/// fix passed here. That costs no money. Returns the message about it, also where they run again already (a process may have been killed
/// since it asked). `None` where there is nothing to run again, or the token does not allow it.
///
/// # Errors
/// The forge cannot be asked now.
async fn once_more(
    context: &Context<'_>,
    github: &GitHub,
    climb: &Climb,
    runs: &[WorkflowRun],
    failing: &[Item],
) -> Result<Option<String>, GithubError> {
    // Where CI alone judges, nothing has passed here.
    if climb.measured.judged_by_ci || !are_first(runs, failing) {
        return Ok(None);
    }
    let mut any = false;
    for run in failed_runs(failing) {
        any |= match github.run_failed_again(run).await {
            Ok(()) => true,
            Err(error) if error.is_passing() => return Err(error),
            Err(_) => github.workflow_run(run).await?.progress != Progress::Completed,
        };
    }
    let names = context.redact(&names(failing));
    let told = format!("{names} failed in CI and runs once more before any model is called, since the tests pass here");
    Ok(any.then_some(told))
}

/// The workflow runs that failed. One failure that is no workflow's empties the list: the others would run again for a CI that stays red.
fn failed_runs(failing: &[Item]) -> BTreeSet<u64> {
    let run_of = |item: &Item| match item.kind {
        ItemKind::Job { run, .. } | ItemKind::Run { run } => Some(run),
        ItemKind::Check { .. } | ItemKind::Status => None,
    };
    failing.iter().map(run_of).collect::<Option<_>>().unwrap_or_default()
}

/// Whether all that failed are first attempts of workflow runs.
fn are_first(runs: &[WorkflowRun], failing: &[Item]) -> bool {
    let failed = failed_runs(failing);
    let is_first = |id: &u64| runs.iter().any(|run| run.id == *id && run.run_attempt == 1);
    !failed.is_empty() && failed.iter().all(is_first)
}

/// Green CI. Of a pull request that was closed without a merge it says so: there is nothing to merge any more.
async fn green(context: &Context<'_>, climb: &Climb, passed: usize) -> Result<Seen, GithubError> {
    let passed = format!("{passed} passed");
    // A wait for the merge sees that by itself, behind this one.
    let is_last = context.charter.plan.github.wait_for != WaitFor::Merge;
    let looked = if is_last { closed::look(context, climb).await } else { Ok(None) };
    let over = match looked {
        Ok(over) => over,
        Err(GithubError::Stopped(cause)) => return Err(GithubError::Stopped(cause)),
        // CI was read, and is green whatever becomes of the pull request.
        Err(_unread) => None,
    };
    Ok(match over.filter(|over| over.is_closed) {
        Some(over) => Seen::Answer(Answer::Closed, format!("CI is green, {passed}; {}", over.told)),
        None => Seen::Answer(Answer::Green, passed),
    })
}

/// Red CI, reduced to the failures that matter. Of a pull request that is over by now it is no model's work: nothing more could be pushed.
async fn red(
    context: &Context<'_>,
    github: &GitHub,
    (climb, wait): (&Climb, &Wait),
    failing: &[Item],
) -> Result<Seen, GithubError> {
    if let Some(over) = closed::look(context, climb).await? {
        return Ok(Seen::Answer(Answer::Red, format!("{}; {}", names(failing), over.told)));
    }
    Ok(Seen::Work(Answer::Red, work(context, github, &wait.commit, failing).await?))
}

/// The work for a model from the checks that failed for a commit on which the tests pass here.
///
/// # Errors
/// Errors of the API. Parts of one check that cannot be read are left out.
pub(in crate::lifecycle) async fn work(
    context: &Context<'_>,
    github: &GitHub,
    commit: &CommitSha,
    failing: &[Item],
) -> Result<Work, GithubError> {
    let mut told = format!("The tests pass here, but CI is red on the commit {}.\n", commit.short());
    let (mut tests, mut named, mut signature, mut is_told) = (Vec::new(), Vec::new(), String::new(), false);
    let (shown, others) = most_telling(context, github, failing).await?;
    for (item, check) in shown {
        told.push_str(&format!("\nFailing: {}\n{}\n", item.name, check.text));
        signature.push_str(&check.signature);
        is_told |= check.is_told;
        tests.extend(if check.failing.is_empty() { vec![format!("CI: {}", item.name)] } else { check.failing });
        named.extend(check.named);
    }
    if !others.is_empty() {
        let others: Vec<&str> = others.iter().map(|item| item.name.as_str()).collect();
        told.push_str(&format!("\nFailing too: {}\n", others.join(", ")));
    }
    named.truncate(MOST_PLACES);
    let detail = names(failing);
    let failures = Foreign::new(&told);
    Ok(Work { detail, failures, failing: tests, named, signature, is_told })
}

/// The checks that a model is shown, those that tell why they failed before those that do not, and the ones that are only named.
async fn most_telling<'a>(
    context: &Context<'_>,
    github: &GitHub,
    failing: &'a [Item],
) -> Result<(Vec<(&'a Item, FailedCheck)>, Vec<&'a Item>), GithubError> {
    let (mut telling, mut silent) = (Vec::new(), Vec::new());
    let mut looked_at = 0;
    for item in failing.iter().take(MOST_LOOKED_AT) {
        let check = FailedCheck::of(context.world.workspace.root(), &fetch(github, item).await?);
        looked_at += 1;
        if check.is_told { &mut telling } else { &mut silent }.push((item, check));
        if telling.len() == MOST_CHECKS {
            break;
        }
    }
    telling.append(&mut silent);
    let unshown = telling.split_off(telling.len().min(MOST_CHECKS));
    let others = unshown.into_iter().map(|(item, _)| item).chain(failing.iter().skip(looked_at));
    Ok((telling, others.collect()))
}

/// Fetches what a failed check says: a job's log, another app's report, the remarks of both, a status's line.
async fn fetch(github: &GitHub, item: &Item) -> Result<Fetched, GithubError> {
    let log = match item.kind {
        ItemKind::Job { job, .. } => github.job_log(job, LOG_BYTES).await?.map(|log| log.text()),
        ItemKind::Check { .. } | ItemKind::Status | ItemKind::Run { .. } => None,
    };
    let (check_run, reports) = match item.kind {
        ItemKind::Job { check_run, .. } => (Some(check_run), false),
        ItemKind::Check { check_run } => (Some(check_run), true),
        ItemKind::Status | ItemKind::Run { .. } => (None, false),
    };
    let Some(check_run) = check_run else {
        return Ok(Fetched { log, output: said(item), annotations: Vec::new() });
    };
    // A job's report is empty: what it has to say stands in its log.
    let output = if reports { github.check_output(check_run).await.unwrap_or_else(|_| said(item)) } else { said(item) };
    Ok(Fetched { log, output, annotations: github.annotations(check_run).await.unwrap_or_default() })
}

fn said(item: &Item) -> CheckOutput {
    CheckOutput { title: item.said.clone(), ..CheckOutput::default() }
}
