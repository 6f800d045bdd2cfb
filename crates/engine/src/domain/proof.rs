//! Proof: the evidence that a green was asked for, and what each piece showed.

use serde::{Deserialize, Serialize};

/// The tests pass, and evidence is about to be asked of that green.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofStarted {
    /// Tests that were seen passing.
    pub passed: u64,
    /// How long the command ran, in milliseconds.
    pub duration_ms: u64,
    /// The most that the evidence may take, in milliseconds.
    pub most_ms: u64,
}

/// One kind of evidence for a green.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The kind.
    pub evidence: EvidenceKind,
    /// How it ended.
    pub status: EvidenceStatus,
    /// How often it was tried, counted in [`EvidenceKind::unit`]s.
    pub tried: u32,
    /// In how many of them it showed what it must.
    pub noticed: u32,
    /// The reason of a status that is not [`EvidenceStatus::Held`]. Names of tests in it are not our text.
    #[serde(default)]
    pub why: Option<String>,
}

/// A kind of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// Every test that failed at the start was seen passing, and none is gone.
    Seen,
    /// The tests pass by the start's build files, or by what those say about tests.
    StartsRules,
    /// No file that judges changed while the tests ran, not even to be put back.
    Untouched,
    /// A failure put into a test's own body is reported.
    Poisoned,
    /// A test whose expected value is altered fails.
    AlteredExpectation,
    /// A test passes under another name.
    Renamed,
    /// A test passes when something else than its runner calls it.
    Direct,
    /// A check that is no test finds again what it found at the start, where that stands again.
    Planted,
    /// Without the change, the tests fail again.
    Counter,
    /// A test needs each condition that the change adds.
    Choices,
}

impl EvidenceKind {
    /// The things that are counted of it, one of them in a word.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Seen | Self::StartsRules | Self::Untouched | Self::Counter => "test",
            // A test may be made to fail in two ways.
            Self::Poisoned | Self::AlteredExpectation | Self::Renamed | Self::Direct => "experiment",
            Self::Planted => "check",
            Self::Choices => "place",
        }
    }

    /// The evidence in a few words, as it reads when it held.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Seen => "every test that failed was seen passing, and none is gone",
            Self::StartsRules => "the tests pass with the build files of the start",
            Self::Untouched => "no protected file was touched while the tests ran",
            Self::Poisoned => "a failure put into a test's own body is reported",
            Self::AlteredExpectation => "with another expected value the test fails",
            Self::Renamed => "the tests pass under other names",
            Self::Direct => "the tests pass when they are called without their runner",
            Self::Planted => "a fault put back is found by the check",
            Self::Counter => "without the change the tests fail again",
            Self::Choices => "a test needs each condition that the change adds",
        }
    }
}

/// How a kind of evidence ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceStatus {
    /// It showed what it must.
    Held,
    /// It showed that the green is none.
    Failed,
    /// It cannot be had for these tests.
    NotPossible,
    /// It was left out, for time or because it is switched off.
    LeftOut,
}

/// Whether experiments have shown of every test and every check that failed at the start that it can still fail.
#[must_use]
pub fn is_witnessed(proof: &[Evidence]) -> bool {
    let failed = proof.iter().any(|one| one.status == EvidenceStatus::Failed);
    let is_telling = |one: &&Evidence| matches!(one.evidence, EvidenceKind::Poisoned | EvidenceKind::Planted);
    // Only these two show that a failure would have been reported. The others hold with a runner that sees nothing.
    let mut telling = proof.iter().filter(is_telling).peekable();
    // At least one: of none at all everything could be said.
    !failed && telling.peek().is_some() && telling.all(|one| one.status == EvidenceStatus::Held)
}
