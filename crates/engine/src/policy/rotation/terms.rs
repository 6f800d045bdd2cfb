//! Input and output of rotation: failures, identities, patience, the next step.

use serde::{Deserialize, Serialize};

use crate::domain::receipt::CallStatus;

/// The most that jitter adds, as a divisor of the wait: a quarter spreads parallel jobs and stays near the advice.
const JITTER_DIVISOR: u64 = 4;
/// The largest value of [`Jitter`].
const JITTER_FULL: u64 = 1_000;

/// A random number between 0 and 1,000, drawn by the caller. Larger values count as 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jitter(pub u16);

impl Jitter {
    /// No spread.
    pub const NONE: Self = Self(0);

    pub(super) fn spread(self, wait_ms: u64) -> u64 {
        // Divided first, so that a long wait cannot run over.
        wait_ms / JITTER_DIVISOR * u64::from(self.0).min(JITTER_FULL) / JITTER_FULL
    }
}

/// A failed call, as far as rotation must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureClass {
    /// The class of the failure.
    pub status: CallStatus,
    /// Whether the same request may succeed later on the same target.
    pub retryable: bool,
    /// How long the vendor wants us to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The targets that a refusal takes out.
    pub reach: Reach,
    /// Whether it cost nothing and may pass, so that [`Patience`] may wait for it.
    pub waitable: bool,
}

/// The targets that a refused key or quota takes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This target alone: the key may not use this model.
    Target,
    /// Every target of the account.
    Account,
}

/// The time that may be waited beyond the attempts, in milliseconds. Waiting uses it up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patience {
    /// For rate limits.
    pub limit_ms: u64,
    /// For outages.
    pub outage_ms: u64,
}

/// A target as rotation tells it from others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Identity {
    /// Equal for targets of one account.
    pub account: usize,
    /// Equal for targets of one host.
    pub host: usize,
    /// Its price in any unit, for comparison only.
    pub price: u64,
}

/// The next step after a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Ask the same target again after a wait.
    Retry {
        /// Zero-based target.
        target: usize,
        /// The wait in milliseconds. 0 for none.
        after_ms: u64,
    },
    /// Ask another target at once.
    Switch {
        /// Zero-based target.
        target: usize,
    },
    /// Every usable target is rate-limited or down: wait, then ask.
    SleepAll {
        /// Zero-based target to ask after the wait.
        target: usize,
        /// The wait in milliseconds.
        ms: u64,
    },
    /// No further call in this turn.
    GiveUp {
        /// Why.
        reason: GiveUp,
    },
}

/// Why a turn's attempts end without a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GiveUp {
    /// The key or quota of every target was refused.
    Refused,
    /// The last answer was a rate limit (contradiction 18: on the last tier a reason to park).
    Limited,
    /// The last failure was the network's, a timeout or the vendor's own trouble.
    Unreachable,
    /// The model or vendor rejects this request.
    Rejected,
    /// Answers came, but none could be read (contradiction 19: an `error` row, not the tier's end).
    Garbled,
    /// We ended the call ourselves.
    Aborted,
}
