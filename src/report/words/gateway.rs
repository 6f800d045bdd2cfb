//! Sentences about a program whose model calls passed the gateway: no ladder, no tests, money alone.

use super::{Mark, Sentence};
use crate::domain::outcome::{BY_ITSELF, EXIT_SUCCESS, Outcome};
use crate::domain::stop::signal_name;
use crate::report::view::RunView;

/// The end of the program. `None` for a run that mends a repository, and for a program that still runs.
pub(super) fn verdict(view: &RunView) -> Option<(Mark, Sentence)> {
    view.command()?;
    let start = Sentence::plain;
    Some(match view.outcome()? {
        Outcome::Ended { .. } if view.stop_reason() != BY_ITSELF => {
            (Mark::Bad, start("The program could not be started: ").speech(view.stop_reason()).ours("."))
        }
        Outcome::Ended { code: EXIT_SUCCESS } => (Mark::Good, start("The program ended.")),
        Outcome::Ended { code } => (Mark::Bad, Sentence::plain(format!("The program ended with exit code {code}."))),
        Outcome::Budget => (Mark::Bad, start("The cost cap was reached: the program gets no more model calls.")),
        Outcome::Interrupted { signal } => {
            (Mark::Bad, start("Interrupted by ").ours(signal_name(*signal)).ours(", and the program with it."))
        }
        Outcome::Fixed { .. }
        | Outcome::AlreadyGreen
        | Outcome::Proposed { .. }
        | Outcome::Exhausted
        | Outcome::Stalled
        | Outcome::Blocked { .. }
        | Outcome::Objected
        | Outcome::NoModel
        | Outcome::Refused { .. }
        | Outcome::Broken { .. }
        | Outcome::Parked => (Mark::Bad, start("The program was ended: ").speech(view.stop_reason())),
    })
}

/// The next steps for a person about it.
pub(super) fn next_steps(view: &RunView) -> Option<Vec<Sentence>> {
    view.command()?;
    let capped = matches!(view.outcome(), Some(Outcome::Budget));
    let step = "Raise --max-cost-usd, or hold the program to a cheaper model with --model.";
    Some(capped.then(|| Sentence::plain(step)).into_iter().collect())
}
