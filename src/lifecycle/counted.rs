//! How often one failure of a branch was tried, where no pull request is there to count for: a nightly run must not pay for the same
//! hopeless failure for ever.

use super::context::Context;
use super::failure;
use super::history::{self, Kept, OfFailure};
use super::outside::Counting;
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::domain::units::MicroUsd;
use crate::policy::attempts::{self, Admission, Known};
use crate::report::words::count;

/// How the run ends whose failure has had all its runs, else how it counts, with what is to be said of that.
pub(super) async fn failure(context: &Context<'_>, failure: &[String]) -> (Option<(Outcome, String)>, Vec<Event>) {
    let allowed = context.charter.plan.github.max_attempts_per_pr;
    let Some((key, wish, known)) = look(context, failure).await else { return (None, Vec::new()) };
    let (known, not_seen, kept) = match known {
        Ok(OfFailure { history, beyond, kept }) => {
            (Known::Counted(history), beyond.map(|seen| format!("it was not among {seen}")), kept)
        }
        // Unreadable is not none: a run that nobody asked for is refused then.
        Err(why) => (Known::Unreadable(why.clone()), Some(why), Vec::new()),
    };
    let kept = kept.into_iter().filter(|_| context.charter.plan.agent.cache).map(Event::ReportKept);
    let not_seen = not_seen.map(|why| Event::Warning {
        message: context.redact(&format!("whether this failure had runs before is not known: {why}")),
    });
    let most = context.charter.plan.shared_caps.per_pull_request;
    match attempts::admit(known, allowed, wish) {
        // A cap of dollars is one for people too.
        Admission::Admitted(before) if most.is_some_and(|most| before.spent >= most) => {
            let most = most.unwrap_or_default();
            let reason = format!(
                "the runs for this failure have cost {}, and `global.maxCostUsdPerPr` is {most} → Fix: raise it, or fix the failure",
                before.spent
            );
            (Some((Outcome::Refused { reason: reason.clone() }, reason)), Vec::new())
        }
        Admission::Admitted(before) => {
            let attempt = before.attempts.saturating_add(1);
            let counted = Event::FailureCounted { key, attempt, allowed, spent_before: before.spent };
            (None, not_seen.into_iter().chain([counted]).chain(kept).collect())
        }
        Admission::UsedUp { attempts } => {
            let reason = format!(
                "this failure has had {}, and `max-attempts-per-pr` is {allowed} → Fix: start the workflow by hand for one more, or fix it",
                count(u64::from(attempts), "run")
            );
            (Some((Outcome::Refused { reason: reason.clone() }, reason)), Vec::new())
        }
        Admission::Unknown { why } => {
            let reason = context.redact(&format!(
                "how many runs this failure has had, and what they cost, cannot be determined: {why} → Fix: give the job `actions: read`, or start \
                 the workflow by hand for one more"
            ));
            (Some((Outcome::Refused { reason: reason.clone() }, reason)), Vec::new())
        }
    }
}

/// The most that a run may cost which was counted so: what the runs before it have left of the failure's cap.
pub(super) fn left(context: &Context<'_>, counted: &[Event]) -> Option<MicroUsd> {
    let before =
        |event: &Event| if let Event::FailureCounted { spent_before, .. } = event { Some(*spent_before) } else { None };
    let spent_before = counted.iter().find_map(before)?;
    context.charter.plan.shared_caps.per_pull_request.map(|most| most.saturating_sub(spent_before))
}

type Looked = (String, attempts::Wish, Result<OfFailure, String>);

async fn look(context: &Context<'_>, failure: &[String]) -> Option<Looked> {
    let outside = context.world.outside?;
    let Counting::ByLogs { wish, default_branch } = &outside.counting else { return None };
    let (github, key) = (outside.github.as_ref()?, failure::key_of(&context.charter, failure)?);
    if let Err(error) = std::fs::create_dir_all(&context.world.keep) {
        // Not read is not none: this run must not be the one that nobody counts.
        let why = format!("no logs can be fetched to {}: {error}", context.world.keep.display());
        return Some((key, *wish, Err(why)));
    }
    let kept = Kept {
        github,
        workflow: outside.own_workflows.first().map(String::as_str),
        default_branch: default_branch.as_deref(),
        scratch: &context.world.keep,
    };
    let history = history::of_failure(kept, &key).await;
    Some((key, *wish, history))
}
