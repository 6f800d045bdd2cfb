//! The next step after a ladder that is used up, or whose last tier came to a standstill.

use super::commands::setting;
use super::sentence::Sentence;
use crate::domain::attempt::{Attempt, CONTEXT_FULL, NO_USABLE_REPLY, NOTHING_CHANGED};
use crate::domain::outcome::Outcome;
use crate::report::view::RunView;

/// Stands in the error of tests that did not end in time.
const TIME_OF_TESTS: &str = "(test.timeoutSeconds)";

/// The step left to do when every tier is used up.
pub(super) fn exhausted(view: &RunView) -> Sentence {
    if let Some(step) = without_a_change(view) {
        return step;
    }
    let last = attempts(view).last();
    let (first, then) = match last {
        // Not every refusal comes from the proof: a test that is gone is seen before it.
        Some(row) if row.is_refused() && view.proof.is_empty() => {
            ("Read in the notes why the green was refused, then add a stronger tier", "")
        }
        Some(row) if row.is_refused() => ("Read under Proof why the green was refused, then add a stronger tier", ""),
        _ if view.recent_errors.is_empty() => ("Add a stronger tier", ", raise a tier's maxIterations"),
        _ => ("Read the most recent errors, then add a stronger tier", ", raise a tier's maxIterations"),
    };
    let goal = Sentence::plain(format!("{first}{then}, or name the goal with "));
    goal.ours(setting(view, "objective")).ours(".")
}

/// The step left to do about a standstill.
pub(super) fn stalled(view: &RunView) -> Sentence {
    if let Some(step) = without_a_change(view) {
        return step;
    }
    let last = view.position.and_then(|position| view.tier(position.tier_index));
    if last.is_some_and(|tier| tier.reason.as_deref() == Some(NOTHING_CHANGED)) {
        return Sentence::plain(
            "The model found nothing more to change: look whether the code can be the cause, then add a stronger tier, or name the goal with ",
        )
        .ours(setting(view, "objective"))
        .ours(".");
    }
    Sentence::plain(
        "Read the error that keeps coming back: if the code is not its cause (environment, the test itself), no model will fix it. Otherwise add a \
         stronger tier.",
    )
}

/// The step left to do where the time of the tests was up in the end.
pub(super) fn slow_tests(view: &RunView) -> Option<Sentence> {
    let given_up = matches!(view.outcome(), Some(Outcome::Exhausted | Outcome::Stalled | Outcome::Budget));
    let was_up = |row: &Attempt| row.error_messages.iter().any(|said| said.contains(TIME_OF_TESTS));
    (given_up && attempts(view).any(was_up)).then(|| {
        let step = Sentence::plain("If the tests only need longer, raise ").code("test.timeoutSeconds");
        step.ours(": their time was up in an iteration.")
    })
}

/// The step left to do where no iteration came to a change, for a reason that is not the code's.
fn without_a_change(view: &RunView) -> Option<Sentence> {
    if each_ended(view, |said| said.starts_with(NO_USABLE_REPLY)) {
        let step = Sentence::plain(
            "No reply of a model could be used: check that the address speaks this provider's API (`providers.NAME.wire`). For a model that cannot call \
             tools set ",
        );
        return Some(step.code("models.NAME.tools: false").ours(": it is asked in plain text then."));
    }
    each_ended(view, |said| said.ends_with(CONTEXT_FULL)).then(|| {
        Sentence::plain("Use a model with a larger context window, or correct its ")
            .code("models.NAME.contextWindow")
            .ours(": no iteration had room to end.")
    })
}

/// Whether each iteration ended with such an error.
fn each_ended(view: &RunView, with: impl Fn(&str) -> bool) -> bool {
    let mut attempts = attempts(view).peekable();
    attempts.peek().is_some() && attempts.all(|attempt| attempt.error_messages.iter().any(|said| with(said)))
}

fn attempts(view: &RunView) -> impl Iterator<Item = &Attempt> {
    view.tiers.iter().flat_map(|tier| &tier.attempts)
}
