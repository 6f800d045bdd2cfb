//! How many runs a pull request had, and whether it may have one more.

use std::path::Path;

use super::Failure;
use super::environment::Environment;
use super::step::Step;
use super::{forge, setup, trigger};
use crate::config::{Comment, Plan};
use crate::domain::ci::{CiContext, Forge};
use crate::domain::kept_report::KeptReport;
use crate::github::CommentSlot;
use crate::lifecycle::comment;
use crate::lifecycle::gate::Refusal;
use crate::lifecycle::history::{self, Evidence, Place};
use crate::lifecycle::state::PullRequestRuns;
use crate::policy::attempts::{self, Admission, Known, Wish};
use crate::report::{markdown, words};

/// A request to count the runs of a pull request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking<'a> {
    /// Names our comment.
    pub(super) key: &'a str,
    /// The origin of the wish for a run.
    pub(super) wish: Wish,
    /// The comment that gave the command for it, if one did.
    pub(super) comment: Option<u64>,
    /// Whether the log of the run before is known to be gone: then our comment counts, which claimed that run for this job.
    pub(super) is_log_gone: bool,
}

/// The knowledge of earlier runs for a pull request.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// The runs. `None` where this one is about no pull request.
    pub(super) runs: Option<PullRequestRuns>,
    /// Reports in the log of the last of them, where that is believed.
    pub(super) kept: Vec<KeptReport>,
}

/// The reason where a cap holds for money that nobody can tell.
const COST_IS_GONE: &str =
    "the log of the last run is gone, and with it what the pull request has cost, which global.maxCostUsdPerPr caps";

/// Counts the runs for the pull request that this one is about. `None` where the comment that started this job was answered by an earlier
/// run, so that there is nothing to do.
///
/// # Errors
/// They are used up, or cannot be told: a refusal with how to go on (exit 6).
pub(super) async fn count(
    plan: &Plan,
    context: Option<&CiContext>,
    asking: Asking<'_>,
    environment: &Environment,
    checkout: &Path,
) -> anyhow::Result<Option<Counted>> {
    let Some((context, number)) = context.and_then(|context| Some((context, context.pull_request_number()?))) else {
        return Ok(Some(Counted::default()));
    };
    let Some(token) = forge::token(environment) else { return Ok(Some(Counted::default())) };
    let unreadable = |error: crate::github::GithubError| untold(number, error.to_string());
    let github = forge::client(environment, &context.api_url, &context.repository, token).map_err(unreadable)?;
    let identity = github.identity(forge::token_kind(environment)).await.map_err(unreadable)?;
    let Asking { key, wish, comment: order, is_log_gone } = asking;
    let marker = markdown::marker(key);
    let scratch = environment.state_home(checkout);
    std::fs::create_dir_all(&scratch)?;
    let location = plan.audit.as_ref().map(|configured| setup::locate(configured, checkout, environment));
    // A log that git brought could be written by whoever opens the pull request, to look like fewer runs.
    let local = location.filter(|location| !setup::is_theirs(location)).map(|location| location.live);
    let slot = CommentSlot { number, marker: &marker, identity: &identity };
    let place = Place {
        github: &github,
        slot,
        workflow: context.run.workflow_path.as_deref(),
        default_branch: context.default_branch.as_deref(),
        scratch: &scratch,
        local: local.as_deref(),
        evidence: if is_log_gone { Evidence::Comment } else { evidence(context, environment) },
    };
    let mut looked = history::look(place).await;
    // Runs are told by the comment, money by the log alone: a log that can be deleted would make the cap be no cap.
    if is_log_gone && plan.shared_caps.per_pull_request.is_some() {
        looked.known = Known::Unreadable(COST_IS_GONE.to_owned());
    }
    // Whoever has a job run again wants it to do something.
    if context.run.attempt == 1 && order.is_some_and(|order| order <= looked.heard) {
        super::say("Nothing to do: an earlier run has answered this comment.");
        return Ok(None);
    }
    let max = plan.github.max_attempts_per_pr;
    // An unknown count refuses too: a history that can be hidden would make every run the first one.
    let (why, said) = match attempts::admit(looked.known, max, wish) {
        Admission::Admitted(history) => {
            let runs = PullRequestRuns {
                number,
                attempt: history.attempts.saturating_add(1),
                spent_before: history.spent,
                last: looked.last,
                heard: looked.heard,
            };
            return Ok(Some(Counted { runs: Some(runs), kept: looked.kept }));
        }
        Admission::UsedUp { attempts } => (
            Refusal::AttemptsUsedUp { number, attempts, max },
            format!(
                "this pull request has had {}, and `max-attempts-per-pr` is {max}",
                words::count(u64::from(attempts), "run")
            ),
        ),
        Admission::Unknown { why } => (
            Refusal::AttemptsUnknown { number, why },
            "how many runs this pull request has had cannot be determined; the job's log says why".to_owned(),
        ),
    };
    trigger::is_refused(order, &github).await;
    // The comment is a courtesy. Where it fails, the refusal itself still ends the job.
    if plan.github.comment != Comment::Off
        && let Err(error) = comment::note(&github, slot, &no_more(&said, context)).await
    {
        super::say(&format!("⚠ the comment on the pull request could not be updated: {error}"));
    }
    Err(Failure::refused(&why))
}

/// The text of the comment where no run follows. It holds no foreign text.
fn no_more(said: &str, context: &CiContext) -> String {
    let head = context.head_sha.as_ref().map(|sha| format!(" for `{}`", sha.short())).unwrap_or_default();
    format!("**No more runs:** {said}. Nothing was done{head}. Comment `/upshift retry` for one more.")
}

/// The place of the evidence. `action.yml` keeps the log as an artifact. A script does not, and other forges than GitHub cannot (GITHUB.md
/// 24).
fn evidence(context: &CiContext, environment: &Environment) -> Evidence {
    let is_kept = Step::of(environment).is_some_and(Step::is_the_action);
    if is_kept && context.forge == Forge::Github { Evidence::Artifacts } else { Evidence::Comment }
}

fn untold(number: u64, why: String) -> anyhow::Error {
    Failure::refused(&Refusal::AttemptsUnknown { number, why })
}
