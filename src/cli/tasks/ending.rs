//! Meaning of a run's outcome for its task, the same for who saw it end and for who finds it in the log.

use crate::domain::outcome::{PASSES_BY_NOW, TIER_CAP};
use crate::policy::backlog::RunEnd;

/// The signal that stands in the log for a killed run whose files were put back: nobody goes on with it.
pub(super) const SIGKILL: i32 = 9;

/// The beginnings of reasons of a run that used up another cap than its share of the money: more money would not help it.
const OTHER_CAPS: [&str; 4] = ["max_iterations", "max_duration", "the active time is up", TIER_CAP];

/// Meaning of a run's outcome for its task, by the words that reports have for it. It is the same whoever saw the run end.
pub(super) fn run_end(outcome: &str, reason: &str) -> RunEnd {
    match outcome {
        "budget" if OTHER_CAPS.iter().any(|cap| reason.starts_with(cap)) => RunEnd::NotMended,
        "fixed" => RunEnd::Mended,
        "already_green" => RunEnd::NothingFails,
        // A person mended it while the run stood still.
        "blocked" if reason == PASSES_BY_NOW => RunEnd::NothingFails,
        "blocked" => RunEnd::Blocked,
        "budget" => RunEnd::ShareUsed,
        "parked" => RunEnd::Waits,
        "interrupted" => RunEnd::Interrupted,
        // No model, refused, no test that runs: that may lie in this task's own tests or command, and is said of it alone.
        _ => RunEnd::NotMended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::outcome::Outcome;

    #[test]
    fn an_outcome_means_the_same_whoever_saw_it() {
        let (reason, bare) =
            (String::new, |outcome: Outcome| run_end(outcome.as_str(), "max_cost_usd exceeded ($0.10 / $0.10)"));
        assert_eq!(bare(Outcome::Fixed { tier_index: 0, iteration: 1 }), RunEnd::Mended);
        assert_eq!(bare(Outcome::AlreadyGreen), RunEnd::NothingFails);
        assert_eq!(bare(Outcome::Blocked { reason: reason() }), RunEnd::Blocked);
        assert_eq!(run_end("blocked", PASSES_BY_NOW), RunEnd::NothingFails);
        assert_eq!(bare(Outcome::Budget), RunEnd::ShareUsed);
        for cap in ["max_iterations reached (1)", "max_duration_minutes exceeded (1.0 / 1)", TIER_CAP] {
            assert_eq!(run_end("budget", cap), RunEnd::NotMended, "{cap}: more money does not help");
        }
        assert_eq!(bare(Outcome::Parked), RunEnd::Waits);
        assert_eq!(bare(Outcome::Interrupted { signal: 15 }), RunEnd::Interrupted);
        for of_this_task_alone in [
            Outcome::Proposed { pull_request: 1 },
            Outcome::Exhausted,
            Outcome::Stalled,
            Outcome::Objected,
            Outcome::NoModel,
            Outcome::Refused { reason: reason() },
            Outcome::Broken { reason: reason() },
            Outcome::Ended { code: 1 },
        ] {
            assert_eq!(bare(of_this_task_alone), RunEnd::NotMended);
        }
    }
}
