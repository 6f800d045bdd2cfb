//! Red CI as a start: the tests pass here, and what failed there is run beside them, or told.
//!
//! Invariant: CI that is red is never called green because upshift looked at something else.

use super::breakpoint;
use super::breakpoint::seen::Work;
use super::context::Context;
use super::outside::Outside;
use super::publish;
use crate::config::WaitFor;
use crate::domain::ci::{FailedJob, RedCi};
use crate::domain::outcome::Outcome;
use crate::domain::verdict::Verdict;
use crate::github::checks::{self, CiState, Item, ItemKind, Question};
use crate::github::{Conclusion, GitHub, GithubError, Progress};

/// How many failed jobs are named.
const MOST_JOBS: usize = 5;

/// Stands before what is said of a command that does not work: here it is clear which.
const NO_WORK: &str = "the command does not work: ";

/// The message before the failed commands are run beside the tests.
pub(super) fn announced(red: &RedCi) -> String {
    let beside = red.commands().join("`, `");
    let mut told = format!("the tests pass here, but {}; run beside them from now on: `{beside}`", what_failed(red));
    let not_run = red.not_run();
    for job in not_run.iter().take(MOST_JOBS) {
        told.push_str(&format!("; {} is not run here{}", job.name, because(job)));
    }
    if not_run.len() > MOST_JOBS {
        told.push_str(&format!("; {} more are not run here", not_run.len().saturating_sub(MOST_JOBS)));
    }
    told
}

/// The message before changes are made that CI alone judges.
pub(super) fn handed_over(red: &RedCi, most: u32) -> String {
    let pushes = if most == 1 { "one push".to_owned() } else { format!("{most} pushes") };
    let because = red.failed.iter().find(|job| job.why_not.is_some()).map(because).unwrap_or_default();
    format!(
        "the tests pass here, but {}; upshift could not make it fail here{because}, so CI judges the changes, after {pushes} at most (max-pushes)",
        what_failed(red)
    )
}

/// What failed in CI as the input of an iteration, where a change can be pushed and CI asked about it, and there is a word about why it
/// failed: nobody is paid to guess.
///
/// # Errors
/// Any [`GithubError`]: the failures cannot be read.
pub(super) async fn work(context: &Context<'_>, red: &RedCi) -> Result<Option<Work>, GithubError> {
    let asks = context.charter.plan.github.wait_for != WaitFor::None && publish::is_due(&context.charter);
    let Some(outside) = context.world.outside.filter(|_| asks && !red.failed.is_empty()) else { return Ok(None) };
    let Some(github) = &outside.github else { return Ok(None) };
    let item = |job: &FailedJob| Item {
        name: job.name.clone(),
        url: String::new(),
        // On GitHub a job and its check run have one number.
        kind: ItemKind::Job { run: red.run.0, job: job.job, check_run: job.job },
        conclusion: Some(Conclusion::Failure),
        said: String::new(),
    };
    let mut failing: Vec<Item> = red.failed.iter().map(item).collect();
    failing.extend(of_other_apps(outside, github, red).await);
    let work = breakpoint::ci::work(context, github, &red.commit, &failing).await?;
    Ok(work.is_told.then_some(work))
}

/// What other apps than Actions call red at the same commit: they judge the change too.
async fn of_other_apps(outside: &Outside, github: &GitHub, red: &RedCi) -> Vec<Item> {
    let question = Question {
        own_run: outside.own_run,
        own_workflows: &outside.own_workflows,
        required: &[],
        // As if the time in which checks appear were over: only what is red by now is asked for.
        since_push_ms: checks::APPEAR_MS,
    };
    let Ok(facts) = github.ci_facts(&red.commit).await else { return Vec::new() };
    let failing = match checks::decide(&facts, &question) {
        CiState::Red { failing }
        | CiState::Pending { failing, .. }
        | CiState::ActionRequired { failing, .. }
        | CiState::WaitingForEnvironment { failing, .. } => failing,
        CiState::NotYet
        | CiState::NeverAppeared
        | CiState::Green { .. }
        | CiState::AllSkipped { .. }
        | CiState::Cancelled { .. }
        | CiState::RequiredMissing { .. } => Vec::new(),
    };
    let is_another_apps = |item: &Item| matches!(item.kind, ItemKind::Check { .. } | ItemKind::Status);
    failing.into_iter().filter(is_another_apps).collect()
}

/// Has the jobs that failed run once more, where their first run failed for a commit on which the tests pass here: CI may be flaky, and
/// that costs no money. Returns how the run ends then, also where they are running again by now (a process may have been killed since it
/// asked). `None` where they have run again, or the token does not allow it.
pub(super) async fn once_more(context: &Context<'_>, red: &RedCi) -> Option<(Outcome, String)> {
    let (run, attempt) = red.run;
    // A later attempt has run again already.
    let github = context.world.outside.and_then(|outside| outside.github.as_ref()).filter(|_| attempt == 1)?;
    if github.run_failed_again(run).await.is_err() {
        let now = github.workflow_run(run).await.ok()?;
        if now.progress == Progress::Completed {
            return None;
        }
    }
    let reason = format!(
        "{}, and runs once more, since the tests pass here; if it fails again, that or `/upshift retry` starts a run",
        what_failed(red)
    );
    Some((Outcome::Parked, reason))
}

/// How a run ends whose baseline came to this verdict although CI is red, with or without the checks that failed there beside the tests.
/// `None` where there is something to mend.
pub(super) fn end(red: &RedCi, verdict: &Verdict, with_checks: bool) -> Option<(Outcome, String)> {
    let beside = red.commands().join("`, `");
    let rest = match verdict {
        Verdict::Red { .. } => return None,
        // A command that is not run beside the tests is theirs.
        Verdict::Green if with_checks || !beside.is_empty() => {
            let told = |job: &&FailedJob| format!("; {} was not run here{}", job.name, because(job));
            let not_run: String = red.not_run().iter().take(MOST_JOBS).map(told).collect();
            format!("what failed there passes here: `{beside}`{not_run}")
        }
        Verdict::Green => {
            let why = red.failed.iter().find(|job| job.why_not.is_some()).map(because).unwrap_or_default();
            format!("upshift did not run what failed there{why}")
        }
        Verdict::Broken { reason } | Verdict::Tampered { reason } if with_checks => {
            reason.strip_prefix(NO_WORK).unwrap_or(reason).to_owned()
        }
        // Without the checks it is the test command itself that does not work, and the baseline's own verdict says so.
        Verdict::Broken { .. } | Verdict::Tampered { .. } => return None,
    };
    let reason = format!("{}, and {rest}", what_failed(red));
    Some((Outcome::Blocked { reason: reason.clone() }, reason))
}

fn because(job: &FailedJob) -> String {
    job.why_not.as_ref().map(|why| format!(", since {why}")).unwrap_or_default()
}

fn what_failed(red: &RedCi) -> String {
    let named: Vec<&str> = red.failed.iter().take(MOST_JOBS).map(|job| job.name.as_str()).collect();
    let workflow = &red.workflow;
    match named.as_slice() {
        [] => format!("the workflow {workflow} failed"),
        named => {
            let more = red.failed.len().saturating_sub(named.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more} failed in the workflow {workflow}", named.join(", "))
        }
    }
}
