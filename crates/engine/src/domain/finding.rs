//! A finding: what the court says of a change that people made.

use serde::Serialize;

use super::proof::Evidence;
use super::remark::Remark;

/// Where the configuration file is looked for when nothing names another.
pub const DEFAULT_CONFIG_PATH: &str = ".github/upshift.yml";

/// The court's finding: what the tests of a change prove of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The conclusion.
    pub standing: Standing,
    /// The reason where it is not proven. It may hold text that is not ours.
    pub reason: Option<String>,
    /// The commit that the change starts from.
    pub base: String,
    /// The commit that was judged. `working tree` for files that are in none.
    pub head: String,
    /// Tests of the head that fail over the base's product and pass at the head.
    pub fail_to_pass: Vec<String>,
    /// How many of the base's tests pass before and after.
    pub pass_to_pass: u64,
    /// Tests that pass over the base, and not at the head.
    pub pass_to_fail: Vec<String>,
    /// Tests that pass at the base and are not among the head's, by their names.
    pub removed: Vec<String>,
    /// Tests of the base that ran there and are skipped at the head.
    pub skipped: Vec<String>,
    /// Tests that expect less than they did, or something else.
    pub weakened: Vec<Weakened>,
    /// Tests of the base that pass at the head only with what the change alters of tests, their data or their configuration.
    pub only_with_changed_tests: Vec<String>,
    /// Changed files that decide how tests are run.
    pub deciding: Vec<String>,
    /// The parts that could not be looked at, in sentences.
    pub notes: Vec<String>,
    /// The remarks for a reviewer.
    pub remarks: Vec<Remark>,
    /// The evidence.
    pub proof: Vec<Evidence>,
}

impl Finding {
    /// The number of places that a person should look at, whatever the standing: all that is told with a `⚠`.
    #[must_use]
    pub fn places_to_look_at(&self) -> u64 {
        let lists = [&self.removed, &self.skipped, &self.only_with_changed_tests, &self.deciding];
        let named: usize = lists.iter().map(|list| list.len()).sum();
        (named + self.weakened.len() + self.remarks.len()) as u64
    }
}

/// The conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The tests tell base and head apart, and the evidence holds.
    Proven,
    /// No test tells base and head apart, and nothing speaks against the change.
    NothingToProve,
    /// A test fails, or evidence does.
    NotProven,
    /// The tests cannot be run.
    Broken,
}

/// A test that expects less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Weakened {
    /// Its name.
    pub test: String,
    /// Its file.
    pub file: String,
    /// Literals that it expected before and does not any more.
    pub gone: Vec<String>,
}
