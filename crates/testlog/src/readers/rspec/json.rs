//! RSpec's JSON formatter.

use serde::Deserialize;

use super::{outside_kind, settle_status};
use crate::document::{JsonDocument, LeftOut, Part};
use crate::findings::{Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::TestStatus;
use crate::stack;

/// The list of tests.
const EXAMPLES: &str = "examples";

/// Reads the report when one comes.
#[derive(Debug)]
pub(super) struct Json {
    document: JsonDocument,
    /// The tests of a report that has not ended.
    read: Cases,
    budget: Budget,
    report: Option<(Cases, Report)>,
    left_out: LeftOut,
}

/// A report without its tests.
#[derive(Debug, Deserialize)]
struct Report {
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

impl Json {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            document: JsonDocument::new(&[EXAMPLES]),
            read: Cases::new(budget),
            budget: budget.clone(),
            report: None,
            left_out: LeftOut::default(),
        }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.document.is_open()
    }

    /// Takes a line from the start of a report on, behind which output may stand. Returns whether it belongs to one.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let (read, report, budget) = (&mut self.read, &mut self.report, &self.budget);
        let left_out = &mut self.left_out;
        let mut is_report = false;
        let taken = self.document.line(line, &mut |part| match part {
            Part::Begin => {
                if !read.is_empty() {
                    *read = Cases::new(budget);
                }
            }
            Part::LeftOut(_) => left_out.announce(),
            Part::Element(_, text, _) => {
                let before = read.len();
                example(text, read);
                left_out.element(read, before);
            }
            Part::Whole(text) => {
                if let Ok(found) = serde_json::from_str(text) {
                    *report = Some((std::mem::replace(read, Cases::new(budget)), found));
                    is_report = true;
                }
            }
        });
        if is_report {
            left_out.report(&self.document);
        }
        taken
    }

    pub(super) const fn is_found(&self) -> bool {
        self.report.is_some()
    }

    /// The findings of the last report, or of one that has no end, if there was any.
    pub(super) fn findings(self, mut problems: Problems) -> Option<Findings> {
        let Some((cases, report)) = self.report else {
            return Findings::broken_off(super::FRAMEWORK, self.read);
        };
        self.left_out.tell(&mut problems);
        for message in &report.messages {
            // Notices are among the messages too.
            if message.holds("An error occurred") {
                problems.push(outside_kind(message), message.trim(), stack::place_of(message));
            }
        }
        let summary = report.summary;
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
        Some(findings)
    }
}

fn example(text: &str, cases: &mut Cases) {
    let Ok(example) = serde_json::from_str::<Example>(text) else { return };
    let status = match example.status.as_str() {
        "passed" => TestStatus::Passed,
        "failed" => TestStatus::Failed,
        _ => TestStatus::Skipped,
    };
    let at = cases.push(&example.full_description, status);
    let Some(exception) = example.exception.filter(|_| status == TestStatus::Failed) else { return };
    let frames = exception.backtrace.unwrap_or_default();
    // Most of a backtrace is RSpec's own.
    let own: Vec<&str> = frames.iter().map(String::as_str).filter(|frame| !stack::is_foreign(frame)).collect();
    let text = format!("{}: {}\n{}", exception.class, exception.message.trim(), own.join("\n"));
    let found = own.iter().find_map(|frame| stack::place_of(frame));
    cases.explain(at, &text, found.or_else(|| Some((example.file_path, example.line_number?))));
}
