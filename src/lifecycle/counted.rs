//! How often one failure of a branch was tried, where no pull request is there to count for: a nightly run must not pay for the same
//! hopeless failure for ever.

use super::context::Context;
use super::failure;
use super::history::{self, Kept};
use super::outside::Counting;
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::domain::units::MicroUsd;
use crate::policy::attempts::{self, Admission, Known};
use crate::report::words::count;

/// How the run ends whose failure has had all its runs, else how it counts.
pub(super) async fn failure(context: &Context<'_>, failure: &[String]) -> (Option<(Outcome, String)>, Option<Event>) {
    let allowed = context.charter.plan.github.max_attempts_per_pr;
    let Some((key, wish, known)) = look(context, failure).await else { return (None, None) };
    // What cannot be looked through is no proof that anything was spent, unlike a comment of ours that names a log.
    let known = known.map_or_else(|_| Known::Counted(attempts::History::default()), Known::Counted);
    let most = context.charter.plan.shared_caps.per_pull_request;
    match attempts::admit(known, allowed, wish) {
        // A cap of dollars is one for people too.
        Admission::Admitted(before) if most.is_some_and(|most| before.spent >= most) => {
            let most = most.unwrap_or_default();
            let reason = format!(
                "the runs for this failure have cost {}, and `global.maxCostUsdPerPr` is {most} → Fix: raise it, or mend the failure",
                before.spent
            );
            (Some((Outcome::Refused { reason: reason.clone() }, reason)), None)
        }
        Admission::Admitted(before) => {
            let attempt = before.attempts.saturating_add(1);
            (None, Some(Event::FailureCounted { key, attempt, allowed, spent_before: before.spent }))
        }
        Admission::UsedUp { attempts } => {
            let reason = format!(
                "this failure has had {}, and `max-attempts-per-pr` is {allowed} → Fix: start the workflow by hand for one more, or mend it",
                count(u64::from(attempts), "run")
            );
            (Some((Outcome::Refused { reason: reason.clone() }, reason)), None)
        }
        Admission::Unknown { .. } => (None, None),
    }
}

/// The most that a run may cost which was counted so: what the runs before it have left of the failure's cap.
pub(super) fn left(context: &Context<'_>, counted: Option<&Event>) -> Option<MicroUsd> {
    let Some(Event::FailureCounted { spent_before, .. }) = counted else { return None };
    context.charter.plan.shared_caps.per_pull_request.map(|most| most.saturating_sub(*spent_before))
}

type Looked = (String, attempts::Wish, Result<attempts::History, String>);

async fn look(context: &Context<'_>, failure: &[String]) -> Option<Looked> {
    let outside = context.world.outside?;
    let Counting::ByLogs { wish, default_branch } = &outside.counting else { return None };
    let (github, key) = (outside.github.as_ref()?, failure::key_of(&context.charter, failure)?);
    std::fs::create_dir_all(&context.world.keep).ok()?;
    let kept = Kept {
        github,
        workflow: outside.own_workflows.first().map(String::as_str),
        default_branch: default_branch.as_deref(),
        scratch: &context.world.keep,
    };
    let history = history::of_failure(kept, &key).await;
    Some((key, *wish, history))
}
