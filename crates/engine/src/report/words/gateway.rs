//! Sentences about a program whose model calls passed the gateway: no ladder, no tests, money alone.

use super::{Mark, Sentence};
use crate::domain::outcome::{EXIT_SUCCESS, Outcome};
use crate::domain::stop::signal_name;
use crate::report::view::RunView;

/// The end of the program. `None` for a run that mends a repository, and for a program that still runs.
pub(super) fn verdict(view: &RunView) -> Option<(Mark, Sentence)> {
    view.command()?;
    let start = Sentence::plain;
    Some(match view.outcome()? {
        // The code alone does not tell: a program that was never started and one that failed may share it.
        Outcome::Ended { .. } if view.never_started() => {
            (Mark::Bad, start("The program could not be started: ").speech(view.stop_reason()).ours("."))
        }
        Outcome::Ended { code: EXIT_SUCCESS } => ended_well(view),
        Outcome::Ended { code } => {
            let (told, said) = (format!("The program ended with exit code {code}"), failed(view));
            (
                Mark::Bad,
                if said.0.is_empty() {
                    Sentence::plain(told).ours(".")
                } else {
                    joined(Sentence::plain(told).ours("; "), said)
                },
            )
        }
        Outcome::Budget => (Mark::Bad, start("The cost cap was reached: the program gets no more model calls.")),
        Outcome::NoModel => (Mark::Bad, start("The program gets no more model calls: ").speech(view.stop_reason())),
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
        | Outcome::Refused { .. }
        | Outcome::Broken { .. }
        | Outcome::Parked => (Mark::Bad, start("The program was ended: ").speech(view.stop_reason())),
    })
}

/// A program that says that all went well. Where it had no answer to its last question, that is not sure.
fn ended_well(view: &RunView) -> (Mark, Sentence) {
    let said = failed(view);
    if said.0.is_empty() {
        return (Mark::Good, Sentence::plain("The program ended."));
    }
    // A call that failed on the way and was made again does no harm.
    let mark = if view.failed_calls.last.is_some() { Mark::Doubtful } else { Mark::Good };
    (mark, joined(Sentence::plain("The program ended; "), said))
}

fn joined(start: Sentence, end: Sentence) -> Sentence {
    Sentence(start.0.into_iter().chain(end.0).collect())
}

/// Its calls that brought no reply. Empty where all did.
fn failed(view: &RunView) -> Sentence {
    let (all, failed) = (view.calls, view.failed_calls.count);
    let told = match (all, failed) {
        (_, 0) => return Sentence::default(),
        (1, 1) => "its only model call got no reply".to_owned(),
        (all, failed) if all == failed => format!("none of its {all} model calls got a reply"),
        (all, failed) => format!("{failed} of its {all} model calls got no reply"),
    };
    match &view.failed_calls.last {
        Some(why) if all == failed => Sentence::plain(told).ours(": ").speech(why),
        Some(why) => Sentence::plain(told).ours(", nor did the last one: ").speech(why),
        None => Sentence::plain(told).ours("."),
    }
}

/// The next steps for a person about it.
pub(super) fn next_steps(view: &RunView) -> Option<Vec<Sentence>> {
    view.command()?;
    let capped = matches!(view.outcome(), Some(Outcome::Budget));
    let step = "Raise --max-cost-usd, or give the program a cheaper model with --model.";
    Some(capped.then(|| Sentence::plain(step)).into_iter().collect())
}
