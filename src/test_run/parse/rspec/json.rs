//! RSpec's JSON formatter.

use serde::Deserialize;

use super::{outside_kind, settle_status};
use crate::domain::test_report::TestStatus;
use crate::test_run::parse::findings::{Cases, Counts, Findings, Problems};
use crate::test_run::parse::stack;
use crate::test_run::parse::needle::Seek as _;

/// A whole report.
#[derive(Debug, Deserialize)]
pub(super) struct Report {
    examples: Vec<Example>,
    summary: Summary,
    #[serde(default)]
    messages: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Example {
    full_description: String,
    status: String,
    #[serde(default)]
    file_path: String,
    line_number: Option<u32>,
    exception: Option<Exception>,
}

#[derive(Debug, Deserialize)]
struct Exception {
    class: String,
    message: String,
    backtrace: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Summary {
    example_count: u64,
    failure_count: u64,
    pending_count: u64,
    #[serde(default)]
    errors_outside_of_examples_count: u64,
}

/// Reads a report from the start of a text; output may stand behind it.
pub(super) fn parse(text: &str) -> Option<Report> {
    serde_json::Deserializer::from_str(text).into_iter::<Report>().next()?.ok()
}

impl Report {
    /// Makes findings of the report.
    pub(super) fn into_findings(self, mut cases: Cases, mut problems: Problems) -> Findings {
        for example in self.examples {
            let status = match example.status.as_str() {
                "passed" => TestStatus::Passed,
                "failed" => TestStatus::Failed,
                _ => TestStatus::Skipped,
            };
            let at = cases.push(&example.full_description, status);
            let Some(exception) = example.exception.filter(|_| status == TestStatus::Failed) else { continue };
            let frames = exception.backtrace.unwrap_or_default();
            let own: Vec<&str> = frames.iter().map(String::as_str).filter(|frame| !stack::is_foreign(frame)).collect();
            let text = format!("{}: {}\n{}", exception.class, exception.message.trim(), own.join("\n"));
            let found = own.iter().find_map(|frame| stack::place_of(frame));
            cases.explain(at, &text, found.or_else(|| Some((example.file_path, example.line_number?))));
        }
        for message in &self.messages {
            if message.holds("An error occurred") {
                problems.push(outside_kind(message), message.trim(), stack::place_of(message));
            }
        }
        let summary = self.summary;
        let mut findings = Findings::new(super::FRAMEWORK);
        findings.counts = Counts {
            total: Some(summary.example_count),
            passed: Some(summary.example_count.saturating_sub(summary.failure_count + summary.pending_count)),
            failed: Some(summary.failure_count),
            skipped: Some(summary.pending_count),
            errors: Some(summary.errors_outside_of_examples_count),
        };
        findings.finished = true;
        findings.tests = cases.into_list();
        findings.problems = problems.into_list();
        settle_status(&mut findings);
        findings
    }
}
