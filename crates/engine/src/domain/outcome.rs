//! How a run ends, and what the caller's shell learns of it.

use serde::{Deserialize, Serialize};

/// The advice about a vendor that is down or busy.
pub const WAIT_AND_RUN_AGAIN: &str =
    "wait and run again, or name a model of another provider as a second target for this tier";

/// Every way a run can end (DESIGN §2.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Outcome {
    /// Green after an iteration.
    Fixed {
        /// Zero-based tier that did it.
        tier_index: u32,
        /// One-based iteration within that tier.
        iteration: u32,
    },
    /// Green before any model was asked.
    AlreadyGreen,
    /// A fix for the very same failure waits in an open pull request of ours. No model was asked.
    Proposed {
        /// The pull request's number.
        pull_request: u64,
    },
    /// Every tier used its iterations.
    Exhausted,
    /// No more progress, and the configuration says to stop.
    Stalled,
    /// A person is needed: a model says so, or CI is red in what upshift could not run.
    Blocked {
        /// Why.
        reason: String,
    },
    /// Green, but the critic still rejects.
    Objected,
    /// A cap of the budget was reached.
    Budget,
    /// No model could be used.
    NoModel,
    /// Refused before any work: gate, fork, unsafe.
    Refused {
        /// Why.
        reason: String,
    },
    /// The test command itself does not work.
    Broken {
        /// Why.
        reason: String,
    },
    /// A signal ended it.
    Interrupted {
        /// SIGHUP (1), SIGINT (2) or SIGTERM (15).
        signal: i32,
    },
    /// Waiting outside the runner. `upshift resume` goes on.
    Parked,
    /// The program behind the gateway ended by itself.
    Ended {
        /// Its exit code, or 128 and the number of the signal that ended it.
        code: u8,
    },
}

/// The beginning of the reason of a run whose fix the outside did not take. What follows may be the outside's own words.
pub const NOT_PUSHED: &str = "the fix could not be pushed: ";

/// The beginning of the reason of a run that is parked in front of its push or its pull request. What bars the way follows, in foreign words.
pub const UNDELIVERED: &str = "the fix is not out yet: ";

/// The reason of a run where somebody else has pushed a fix meanwhile, so that nothing was left to push.
pub const ALREADY_THERE: &str = "the tests pass, and on the branch, too: somebody has pushed a fix meanwhile";

/// The beginning of the reason of a run that is asked for tests which nobody saw. What follows names them, in foreign words.
pub const NOT_SEEN: &str = "not seen, so that nothing would prove it: ";

/// The beginning of the reason of a run whose setup command failed. Its exit and its last line follow.
pub const SETUP_FAILED: &str = "the setup command failed";

/// The end of the reason of a command whose output tells of no test. Of one that a person named its exit code is believed.
pub const UNREAD: &str = "no test result can be read from its output";

/// The reason of a command that was only detected and whose output tells of failures alone.
pub const FAILURES_ALONE: &str = "the output names what fails and nothing that passes, so that only the exit code could show a fix, and that of a command \
                                  which was merely detected is not believed";

/// The reason why a killed run ended whose files a later run put back: nobody goes on with it.
pub const DISCARDED: &str = "discarded by a later run";

/// The reason of a run whose tests pass with what was changed while it stood still: nothing has shown that they can still fail.
pub const PASSES_BY_NOW: &str =
    "the tests pass now, with what was changed while the run waited; whether they can still fail was not tried";

/// The beginning of the reason of a run whose last tier had a cap of its own, and used it up.
pub const TIER_CAP: &str = "the tier's own cap does not allow another call";

/// The end of the reason of a run that a person ended: who did stands before it.
pub const STOPPED_BY_COMMENT: &str = "stopped the run by a comment";

/// The beginning of the reason of a run that the label ended which keeps upshift away: which label and where stands behind it.
pub const STOPPED_BY_LABEL: &str = "somebody stopped the run: ";

/// The end of the reason of a parked run that another job goes on with by itself.
pub const GOES_ON_BY_ITSELF: &str = "starts the job that goes on with this run";

/// Fixed, already green, or a fix waits in a pull request.
pub const EXIT_SUCCESS: u8 = 0;
/// Not fixed: exhausted, stalled, blocked, objected.
pub const EXIT_NOT_FIXED: u8 = 1;
/// Usage or configuration.
pub const EXIT_USAGE: u8 = 2;
/// Budget exhausted.
pub const EXIT_BUDGET: u8 = 3;
/// Parked: waiting, resumable.
pub const EXIT_PARKED: u8 = 4;
/// No model could be used.
pub const EXIT_NO_MODEL: u8 = 5;
/// Refused: gate, fork, unsafe.
pub const EXIT_REFUSED: u8 = 6;
/// The test command is broken.
pub const EXIT_BROKEN: u8 = 7;
/// An error of upshift's own.
pub const EXIT_INTERNAL: u8 = 70;
/// Added to the number of the signal that ended the run.
pub const EXIT_SIGNAL_BASE: u8 = 128;

/// The reason of the end of a program behind the gateway that ended by itself. Any other is why it could not be started.
pub const BY_ITSELF: &str = "the program ended by itself";

impl Outcome {
    /// The process exit code, by an exhaustive match.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Fixed { .. } | Self::AlreadyGreen | Self::Proposed { .. } => EXIT_SUCCESS,
            Self::Exhausted | Self::Stalled | Self::Blocked { .. } | Self::Objected => EXIT_NOT_FIXED,
            Self::Budget => EXIT_BUDGET,
            Self::NoModel => EXIT_NO_MODEL,
            Self::Refused { .. } => EXIT_REFUSED,
            Self::Broken { .. } => EXIT_BROKEN,
            Self::Interrupted { signal } => {
                // As a shell tells it: 128 and the signal's number.
                u8::try_from(*signal).map_or(EXIT_INTERNAL, |n| EXIT_SIGNAL_BASE.saturating_add(n))
            }
            Self::Parked => EXIT_PARKED,
            Self::Ended { code } => *code,
        }
    }

    /// The exact word in `run_state.outcome`, JSON and the Action's output.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Fixed { .. } => "fixed",
            Self::AlreadyGreen => "already_green",
            Self::Proposed { .. } => "proposed",
            Self::Exhausted => "exhausted",
            Self::Stalled => "stalled",
            Self::Blocked { .. } => "blocked",
            Self::Objected => "objected",
            Self::Budget => "budget",
            Self::NoModel => "no_model",
            Self::Refused { .. } => "refused",
            Self::Broken { .. } => "broken",
            Self::Interrupted { .. } => "interrupted",
            Self::Parked => "parked",
            Self::Ended { .. } => "ended",
        }
    }

    /// The seeds' word in `run_metadata.outcome` (DESIGN §2.1).
    #[must_use]
    pub const fn seed_outcome(&self) -> &'static str {
        match self {
            // The words of the older program, which knows these four alone.
            Self::Fixed { .. } | Self::AlreadyGreen | Self::Ended { code: EXIT_SUCCESS } => "success",
            Self::Exhausted
            | Self::Stalled
            | Self::Blocked { .. }
            | Self::Objected
            | Self::NoModel
            | Self::Refused { .. }
            | Self::Broken { .. }
            | Self::Interrupted { .. }
            | Self::Ended { .. } => "failed",
            Self::Budget => "budget_exhausted",
            // Neither is over: the one goes on, and of the other a person decides.
            Self::Parked | Self::Proposed { .. } => "in_progress",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_the_published_ones() {
        let reason = String::new;
        let table = [
            (Outcome::Fixed { tier_index: 0, iteration: 1 }, 0, "success"),
            (Outcome::AlreadyGreen, 0, "success"),
            (Outcome::Exhausted, 1, "failed"),
            (Outcome::Stalled, 1, "failed"),
            (Outcome::Blocked { reason: reason() }, 1, "failed"),
            (Outcome::Objected, 1, "failed"),
            (Outcome::Budget, 3, "budget_exhausted"),
            (Outcome::Parked, 4, "in_progress"),
            (Outcome::NoModel, 5, "failed"),
            (Outcome::Refused { reason: reason() }, 6, "failed"),
            (Outcome::Broken { reason: reason() }, 7, "failed"),
            (Outcome::Interrupted { signal: 1 }, 129, "failed"),
            (Outcome::Interrupted { signal: 2 }, 130, "failed"),
            (Outcome::Interrupted { signal: 15 }, 143, "failed"),
            (Outcome::Ended { code: 0 }, 0, "success"),
            (Outcome::Ended { code: 41 }, 41, "failed"),
        ];
        for (outcome, code, seed) in table {
            assert_eq!((outcome.exit_code(), outcome.seed_outcome()), (code, seed), "{outcome:?}");
        }
    }
}
