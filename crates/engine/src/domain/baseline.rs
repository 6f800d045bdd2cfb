//! The baseline: the tests before any model was asked.

use serde::{Deserialize, Serialize};

use super::test_report::RunKind;
use super::verdict::{Exit, Verdict};

/// The result of the tests before any model was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineFinished {
    /// The framework that was recognised.
    pub framework: String,
    /// How the command ended.
    pub exit: Exit,
    /// The kind of output.
    pub kind: RunKind,
    /// Our judgement.
    pub verdict: Verdict,
    /// F0: the failing tests that must be seen passing.
    pub failing: Vec<String>,
    /// Tests that failed once and passed once: set aside.
    pub flaky: Vec<String>,
    /// Tests that fail for lack of a service, or for the machine's sake, beside others that do not: set aside.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Tests that fail and that the run was not asked to mend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Jobs that failed in CI and of which nothing is run here, by name, where others are: their names are not our text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<String>,
    /// Tests seen passing.
    pub passed: u64,
    /// How long it took, in milliseconds, re-runs included.
    pub duration_ms: u64,
    /// Where the first of the failing tests stand, as far as the framework tells.
    #[serde(default)]
    pub places: Vec<TestPlace>,
    /// Messages of the first of the failing tests, in a line each.
    #[serde(default)]
    pub messages: Vec<TestMessage>,
}

/// The message of a failing test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestMessage {
    /// Its name.
    pub test: String,
    /// Its message, cut to a line. It is not our text.
    pub said: String,
}

/// Where a test stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestPlace {
    /// Its name.
    pub test: String,
    /// The file, from the top of the checkout.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u32>,
}
