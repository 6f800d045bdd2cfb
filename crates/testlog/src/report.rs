//! The report of a test run: one shape for every framework.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestStatus {
    /// Seen passing.
    Passed,
    /// Seen failing.
    Failed,
    /// Not run, or an expected failure.
    Skipped,
    /// Could not run: setup, import or collection failed.
    Error,
}

/// How a whole run ended, by what it printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Tests ran and none failed.
    Passed,
    /// At least one test failed.
    Failed,
    /// The run itself went wrong, or nothing ran.
    Error,
}

/// The kind of a run, finer than [`RunStatus`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Tests ran to the end.
    Tests,
    /// The code under test or the tests did not compile.
    CompileError,
    /// The runner could not load the tests.
    CollectionError,
    /// A module could not be imported.
    ImportError,
    /// The test process panicked, or a signal ended it.
    Crash,
    /// The run or a test ran out of time.
    Timeout,
    /// The tests took more memory than they may.
    OutOfMemory,
    /// A program the command needs is not installed.
    MissingTool,
    /// The command line or the runner's configuration is wrong.
    BadCommand,
    /// No test was found or selected.
    NoTests,
    /// Network, disk or a service failed, not the code.
    Infrastructure,
    /// Nothing in the output could be understood.
    Unreadable,
}

/// One test of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCase {
    /// The name as the runner itself gives it.
    pub name: String,
    /// How it ended.
    pub status: TestStatus,
    /// Why it failed: the runner's own words, trimmed of colour. Empty when it passed.
    #[serde(default)]
    pub message: String,
    /// The file where it failed, as printed.
    #[serde(default)]
    pub file: Option<String>,
    /// The one-based line in [`Self::file`].
    #[serde(default)]
    pub line: Option<u32>,
}

/// The report of a test run, read from its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The framework's name (`cargo-test`, `pytest`, …). `generic` when none was recognised.
    pub framework: String,
    /// How the run ended.
    pub status: RunStatus,
    /// The kind of the run.
    pub kind: RunKind,
    /// Counts as the framework gave them. `None` where it gave none.
    pub total: Option<u64>,
    /// Tests that passed.
    pub passed: Option<u64>,
    /// Tests that failed.
    pub failed: Option<u64>,
    /// Tests that were skipped.
    pub skipped: Option<u64>,
    /// Tests or files that could not run.
    pub errors: Option<u64>,
    /// Every test that is named in the output.
    pub tests: Vec<TestCase>,
    /// Trouble outside any test (compile errors, crashes, bad commands): the lines a model needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// The reasons given for parts of a test that were skipped, by the test's name, where a result file has them: pytest's subtests. A test
    /// that is skipped as a whole has one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped_parts: BTreeMap<String, Vec<String>>,
}

/// Trouble that belongs to no single test: a compile error, a crash, a missing tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The kind of trouble.
    pub kind: RunKind,
    /// The lines that say so.
    pub message: String,
    /// The file it points at, as printed.
    #[serde(default)]
    pub file: Option<String>,
    /// The one-based line in [`Self::file`].
    #[serde(default)]
    pub line: Option<u32>,
}

/// The result of reading a whole log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The report.
    pub report: Report,
    /// The last lines of the log, in its own words: where a runner sums up.
    pub closing: String,
}

impl Report {
    /// A report of output that nothing could be made of.
    #[must_use]
    pub fn unreadable(framework: &str) -> Self {
        Self {
            framework: framework.to_owned(),
            status: RunStatus::Error,
            kind: RunKind::Unreadable,
            total: None,
            passed: None,
            failed: None,
            skipped: None,
            errors: None,
            tests: Vec::new(),
            problems: Vec::new(),
            skipped_parts: BTreeMap::new(),
        }
    }

    /// Tests that passed: by the framework's count, else what the others leave of its total (`unittest` counts only those).
    #[must_use]
    pub fn passed_of_total(&self) -> Option<u64> {
        let rest = || {
            let others = self.failed? + self.errors.unwrap_or(0) + self.skipped.unwrap_or(0);
            self.total.filter(|_| self.kind == RunKind::Tests).map(|total| total.saturating_sub(others))
        };
        self.passed.or_else(rest)
    }

    /// The tests that failed or could not run, in the order printed.
    pub fn failing(&self) -> impl Iterator<Item = &TestCase> {
        self.tests.iter().filter(|test| matches!(test.status, TestStatus::Failed | TestStatus::Error))
    }

    /// The names of tests seen passing.
    pub fn passing_names(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().filter(|test| test.status == TestStatus::Passed).map(|test| test.name.as_str())
    }
}
