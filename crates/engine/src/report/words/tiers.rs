//! Why tiers ended, in words.

use super::{Sentence, count, without_advice};
use crate::domain::attempt::{Attempt, AttemptStatus, NOTHING_CHANGED, TierExit};
use crate::report::plain;
use crate::report::view::{TierState, TierView};

/// Why a tier did not end the run with green tests. Empty where its state says enough.
#[must_use]
pub fn why_it_ended(tier: &TierView) -> Sentence {
    said(tier, tier.reason.as_deref())
}

/// Why a tier ended, without a reason that the first line gives in full.
#[must_use]
pub fn why_it_ended_beside(first: &str, tier: &TierView) -> Sentence {
    // Its state is still told, only the reason that stands above is not told again.
    said(tier, tier.reason.as_deref().filter(|reason| !is_told(first, reason)))
}

/// Whether the first line of a report gives a reason in full.
#[must_use]
pub fn is_told(first: &str, reason: &str) -> bool {
    let said = without_advice(reason).0;
    !said.is_empty() && first.contains(&plain::line(said))
}

fn said(tier: &TierView, reason: Option<&str>) -> Sentence {
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    let ours = match tier.state {
        TierState::NotReached | TierState::Running | TierState::Solved => return Sentence::default(),
        TierState::Failed => failed(tier),
        TierState::Stalled => stall(tier).unwrap_or("no more progress").to_owned(),
        // A reason says so itself, and by how much.
        TierState::BudgetLimit => match reason {
            Some(reason) => return Sentence::default().speech(reason),
            None => "the budget did not allow another call".to_owned(),
        },
        TierState::NoModel => "no model of this tier could be used".to_owned(),
        TierState::RateLimited => "its models are rate-limited".to_owned(),
        TierState::Outage => "the host of its models is down, overloaded or not reachable".to_owned(),
        // Its label says so.
        TierState::Skipped => return Sentence::default().speech(reason.unwrap_or_default()),
        // One that gave no review has rejected nothing.
        TierState::Rejected if tier.attempts.last().is_some_and(|attempt| attempt.review.is_none()) => {
            "tests pass, no readable review".to_owned()
        }
        TierState::Rejected => "tests pass, critic rejects".to_owned(),
        TierState::Blocked => "a person is needed".to_owned(),
        TierState::Interrupted => "the process was ended".to_owned(),
        TierState::Parked => "waiting outside the runner".to_owned(),
    };
    match reason {
        // The same words twice would look like two reasons.
        Some(reason) if reason != ours => Sentence::plain(format!("{ours}: ")).speech(reason),
        _ => Sentence::plain(ours),
    }
}

/// The end of a tier whose iterations are used up: whether its tests were red, passed with a change that was refused, or judged none.
fn failed(tier: &TierView) -> String {
    let after = count(u64::from(tier.iterations), "iteration");
    let was_green = |row: &Attempt| {
        row.test_status == AttemptStatus::Passed && row.review.as_ref().is_none_or(|review| review.approves())
    };
    let is_unjudged = |row: &Attempt| row.test_status == AttemptStatus::Error;
    if tier.attempts.last().is_some_and(Attempt::is_refused) {
        format!("the last green was refused, after {after}")
    } else if !tier.attempts.is_empty() && tier.attempts.iter().all(is_unjudged) {
        format!("no change was judged in {after}")
    } else if tier.attempts.iter().any(was_green) {
        // Green here, so that it was somebody else who did not take it.
        format!("tests pass here, CI still red after {after}")
    } else {
        format!("tests still red after {after}")
    }
}

/// How a tier came to a standstill. `None` where it did not.
#[must_use]
pub fn stall(tier: &TierView) -> Option<&'static str> {
    match tier.exit? {
        TierExit::EntropyDetected => Some("the same error came back again and again"),
        TierExit::NoProgress if tier.reason.as_deref() == Some(NOTHING_CHANGED) => Some(NOTHING_CHANGED),
        TierExit::NoProgress => Some("the same patch came twice"),
        TierExit::Success
        | TierExit::IterationsExhausted
        | TierExit::BudgetExhausted
        | TierExit::ProviderError
        | TierExit::Blocked
        | TierExit::Objected
        | TierExit::Interrupted => None,
    }
}
