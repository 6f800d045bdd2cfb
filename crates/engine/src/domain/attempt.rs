//! Iterations and tiers as they are recorded: the seeds' `TierAttemptRecord` and `TierRunResult`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::clock::Timestamp;
use super::ladder::Mode;
use super::review::Review;
use super::units::{Charge, MicroUsd};

/// The reason of a tier that ended with [`TierExit::NoProgress`] because its models changed nothing any more.
pub const NOTHING_CHANGED: &str = "nothing was changed any more";

/// The seeds' three test states (S2-1). Tampered counts as failed, broken as error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttemptStatus {
    /// Green.
    Passed,
    /// Red or tampered.
    Failed,
    /// No judgement: broken command, unusable reply, failed call, interrupt.
    Error,
}

impl AttemptStatus {
    /// The word in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
        }
    }
}

/// One iteration's row in `tier_attempts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Zero-based tier.
    pub tier_index: u32,
    /// The tier's name.
    pub tier_name: String,
    /// The tier's mode.
    pub tier_mode: Mode,
    /// The artisan's model that answered last, as `provider/model`.
    pub model_artisan: String,
    /// The librarian's. `None` in simple tiers.
    pub model_librarian: Option<String>,
    /// The critic's. `None` in simple tiers.
    pub model_critic: Option<String>,
    /// The model that the artisan's vendor says it billed for the last reply. `None` when it did not say, as in the two below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billed_artisan: Option<String>,
    /// The same of the librarian's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billed_librarian: Option<String>,
    /// The same of the critic's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billed_critic: Option<String>,
    /// One-based iteration within the tier.
    pub iteration: u32,
    /// The change in words, at most 200 characters (S0-29).
    pub code_change_summary: String,
    /// How the tests ended.
    pub test_status: AttemptStatus,
    /// Failing tests by the runner's names.
    pub failed_tests: Vec<String>,
    /// Their messages, trimmed.
    pub error_messages: Vec<String>,
    /// The critic's review. `None` where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<Review>>,
    /// The known cost of this iteration alone (S2-5).
    pub cost: MicroUsd,
    /// The most that its failed calls cost beyond that.
    #[serde(default)]
    pub unknown_cost: MicroUsd,
    /// Wall-clock time of this iteration in milliseconds.
    pub duration_ms: u64,
    /// When it ended.
    pub timestamp: Timestamp,
}

impl Attempt {
    /// Whether its green was refused.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.error_messages.iter().any(|said| said.starts_with(TAMPERED))
    }

    /// Whether its tests pass, and its critic gave no review that could be read.
    #[must_use]
    pub fn is_unreviewed(&self) -> bool {
        self.review.is_none() && self.error_messages.iter().any(|said| said.starts_with(UNREVIEWED))
    }

    /// Whether its tests could not run with the change.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.error_messages.iter().any(|said| said.starts_with(BROKEN))
    }

    /// The cost of this iteration alone.
    #[must_use]
    pub fn charge(&self) -> Charge {
        Charge { known: self.cost, unknown: self.unknown_cost }
    }
}

/// Why a tier ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TierExit {
    /// Green.
    Success,
    /// Its iteration cap was reached.
    IterationsExhausted,
    /// The run's or the tier's budget ended it.
    BudgetExhausted,
    /// No target of a role could be used.
    ProviderError,
    /// The same error three times in a row.
    EntropyDetected,
    /// The same patch twice.
    NoProgress,
    /// The model said that a person is needed.
    Blocked,
    /// Green, but the critic objected to the end.
    Objected,
    /// A signal.
    Interrupted,
}

impl TierExit {
    /// The word in events and the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::IterationsExhausted => "iterations_exhausted",
            Self::BudgetExhausted => "budget_exhausted",
            Self::ProviderError => "provider_error",
            Self::EntropyDetected => "entropy_detected",
            Self::NoProgress => "no_progress",
            Self::Blocked => "blocked",
            Self::Objected => "objected",
            Self::Interrupted => "interrupted",
        }
    }
}

/// One tier that ran to its end (S0-20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierResult {
    /// Zero-based tier.
    pub tier_index: u32,
    /// The tier's name.
    pub tier_name: String,
    /// Why it ended.
    pub exit: TierExit,
    /// Iterations that ran, errors included.
    pub iterations: u32,
    /// The cost of all iterations together.
    pub cost: Charge,
    /// One record per iteration, in order.
    pub attempts: Vec<Attempt>,
}

/// The beginning of the error of a session whose model gave no reply that could be read.
pub const NO_USABLE_REPLY: &str = "no usable reply: ";
/// The beginning of the error of an iteration whose green was refused: the verdict's word.
const TAMPERED: &str = "tampered: ";
/// The same where the tests could not run.
const BROKEN: &str = "broken: ";
/// The beginning of the message about a critic whose words are no review.
const UNREVIEWED: &str = "reviewer: no readable review";
/// The end of the error of an iteration whose conversation grew too long for its model.
pub const CONTEXT_FULL: &str = "the conversation no longer fits into the model's context window";

/// The error messages of attempts that come latest first. Of each test those of its latest attempt alone: what came before was said of
/// other code.
pub fn latest_errors<'a>(attempts: impl Iterator<Item = &'a Attempt>) -> Vec<&'a str> {
    let (mut found, mut told) = (Vec::new(), BTreeSet::new());
    for attempt in attempts {
        let messages: Vec<(&str, &str)> =
            attempt.error_messages.iter().map(|said| (attempt.test_of(said), said.as_str())).collect();
        // The newest word on each test: an older attempt's may be mended by now.
        let fresh = messages.iter().filter(|(test, _)| !told.contains(test)).map(|(_, said)| *said);
        found.extend(fresh.collect::<Vec<_>>());
        // Only after the whole attempt, as one test may have several messages in it.
        told.extend(messages.into_iter().map(|(test, _)| test));
    }
    found
}

impl Attempt {
    /// The failing test that a message is of. A message of none stands for itself.
    fn test_of<'a>(&'a self, message: &'a str) -> &'a str {
        // `tests/a.py::test_b: AssertionError`. Without the colon `test_b` would take what `test_b2` says.
        let is_of = |test: &&String| message.strip_prefix(test.as_str()).is_some_and(|rest| rest.starts_with(':'));
        self.failed_tests.iter().find(is_of).map_or(message, String::as_str)
    }
}
