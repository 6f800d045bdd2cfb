//! The JSON report of Jest, which vitest writes too.

use serde::Deserialize;

use crate::domain::test_report::TestStatus;
use crate::test_run::parse::findings::{Cases, Counts, Findings};
use crate::test_run::parse::stack;

/// A whole report.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    num_total_tests: u64,
    num_passed_tests: u64,
    num_failed_tests: u64,
    num_pending_tests: u64,
    #[serde(default)]
    num_todo_tests: u64,
    /// Only Jest counts these.
    num_runtime_error_test_suites: Option<u64>,
    test_results: Vec<File>,
}

/// One test file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    name: String,
    status: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    assertion_results: Vec<Assertion>,
}

/// One test.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion {
    full_name: String,
    status: String,
    failure_messages: Option<Vec<String>>,
    location: Option<Location>,
}

#[derive(Debug, Deserialize)]
struct Location {
    line: Option<u32>,
}

/// Reads a document, if it is such a report.
pub(super) fn parse(text: &str) -> Option<Report> {
    serde_json::from_str(text).ok()
}

impl Report {
    /// Makes findings of the report.
    pub(super) fn into_findings(self, mut cases: Cases) -> Findings {
        let mut errors = 0;
        for file in &self.test_results {
            let mut failed = false;
            for test in &file.assertion_results {
                let status = match test.status.as_str() {
                    "passed" => TestStatus::Passed,
                    "failed" => TestStatus::Failed,
                    _ => TestStatus::Skipped,
                };
                failed |= status == TestStatus::Failed;
                let at = cases.push(test.full_name.trim(), status);
                if status == TestStatus::Failed {
                    let message = test.failure_messages.as_deref().unwrap_or_default().join("\n");
                    let line = test.location.as_ref().and_then(|location| location.line);
                    let found = stack::place_of(&message).or_else(|| Some((file.name.clone(), line?)));
                    cases.explain(at, &message, found);
                }
            }
            if file.status == "failed" && !failed {
                errors += 1;
                let at = cases.push(&file.name, TestStatus::Error);
                cases.explain(at, &file.message, stack::place_of(&file.message));
            }
        }
        let jest = self.num_runtime_error_test_suites.is_some();
        let mut findings = Findings::new(if jest { super::FRAMEWORK } else { "vitest" });
        findings.counts = Counts {
            total: Some(self.num_total_tests),
            passed: Some(self.num_passed_tests),
            failed: Some(self.num_failed_tests),
            skipped: Some(self.num_pending_tests + self.num_todo_tests),
            errors: Some(errors),
        };
        findings.finished = true;
        findings.tests = cases.into_list();
        findings
    }
}
