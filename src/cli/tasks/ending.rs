//! Meaning of a run's outcome for its task, the same for who saw it end and for who finds it in the log.

use crate::domain::budget::{OF_DAY, OF_PULL_REQUEST};
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

/// The beginning of the words for a cap that is shared.
pub(super) const SHARED: &str = "the cap of all runs";

/// The cap shared with other runs that a run ended at, in words for a task's reason. `None` where it was the task's own share.
pub(super) fn shared_cap(stop_reason: &str) -> Option<String> {
    let at = |cap: &str, key: &str| format!("{cap} (`global.{key}`) does not allow another call");
    if stop_reason.contains(OF_DAY) {
        return Some(at(OF_DAY, "maxCostUsdPerDay"));
    }
    stop_reason.contains(OF_PULL_REQUEST).then(|| at(OF_PULL_REQUEST, "maxCostUsdPerPr"))
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

    #[test]
    fn a_task_that_the_days_cap_ended_is_told_with_that_cap() {
        let said = "the next call may cost up to $0.01, and $0.00 is left of the cost cap (the cap of all runs of the day, 2026-11-29)";
        let told = shared_cap(said).unwrap();
        assert_eq!(told, "the cap of all runs of the day (`global.maxCostUsdPerDay`) does not allow another call");
        assert_eq!(shared_cap("the next call may cost up to $0.01, and $0.00 is left of the cost cap"), None);
    }
}
