//! The JSON report of Jest, which vitest writes too, of any size.

use std::borrow::Cow;

use serde::Deserialize;

use crate::document::{JsonDocument, LeftOut, Part, plain_texts};
use crate::findings::{Budget, Cases, Counts, Findings, Problems};
use crate::report::TestStatus;
use crate::stack;

/// The list of files, and the list of tests in each.
const FILES: &str = "testResults";
const TESTS: &str = "assertionResults";

/// Reads the report when one comes.
#[derive(Debug)]
pub(super) struct Json {
    document: JsonDocument,
    budget: Budget,
    read: Read,
    report: Option<(Read, Numbers)>,
}

/// The state of a report that has not ended.
#[derive(Debug)]
struct Read {
    cases: Cases,
    /// Where the tests of the file that is being read begin.
    file_start: usize,
    /// The lines of tests whose file is named behind them.
    lines: Vec<(usize, u32)>,
    /// Files that could not be run.
    errors: u64,
    left_out: LeftOut,
}

/// The report's own numbers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Numbers {
    num_total_tests: u64,
    num_passed_tests: u64,
    num_failed_tests: u64,
    num_pending_tests: u64,
    #[serde(default)]
    num_todo_tests: u64,
    /// Only Jest counts these.
    num_runtime_error_test_suites: Option<u64>,
}

/// One test file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

/// One test.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertion<'a> {
    #[serde(borrow)]
    full_name: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    failure_messages: Option<Vec<String>>,
    location: Option<Location>,
}

#[derive(Debug, Deserialize)]
struct Location {
    line: Option<u32>,
}

impl Json {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            document: JsonDocument::new(&[FILES, TESTS]).with_texts(["fullName", "status"]),
            budget: budget.clone(),
            read: Read::new(budget),
            report: None,
        }
    }

    /// Takes a line. Returns whether it belongs to a document.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let (read, report, budget) = (&mut self.read, &mut self.report, &self.budget);
        let mut is_report = false;
        let taken = self.document.line(line, &mut |part| match part {
            Part::Begin => {
                if !read.cases.is_empty() || read.errors > 0 {
                    *read = Read::new(budget);
                }
            }
            Part::Element(list, text, texts) => read.element(list, text, texts),
            Part::LeftOut(_) => read.left_out.announce(),
            Part::Whole(text) => {
                if let Ok(numbers) = serde_json::from_str(text) {
                    *report = Some((std::mem::replace(read, Read::new(budget)), numbers));
                    is_report = true;
                }
            }
        });
        if is_report && let Some((read, _)) = report {
            read.left_out.report(&self.document);
        }
        taken
    }

    pub(super) const fn is_open(&self) -> bool {
        self.document.is_open()
    }

    /// The findings of the last report, or of one that has no end, if there was any.
    pub(super) fn findings(self) -> Option<Findings> {
        let Some((read, numbers)) = self.report else {
            return Findings::broken_off(super::FRAMEWORK, self.read.cases);
        };
        let mut problems = Problems::new(&self.budget);
        read.left_out.tell(&mut problems);
        // vitest does not write this number.
        let jest = numbers.num_runtime_error_test_suites.is_some();
        let mut findings = Findings::new(if jest { super::FRAMEWORK } else { "vitest" });
        findings.counts = Counts {
            total: Some(numbers.num_total_tests),
            passed: Some(numbers.num_passed_tests),
            failed: Some(numbers.num_failed_tests),
            skipped: Some(numbers.num_pending_tests + numbers.num_todo_tests),
            errors: Some(read.errors),
        };
        findings.finished = true;
        findings.tests = read.cases.into_list();
        findings.problems = problems.into_list();
        Some(findings)
    }
}

impl Read {
    fn new(budget: &Budget) -> Self {
        Self { cases: Cases::new(budget), file_start: 0, lines: Vec::new(), errors: 0, left_out: LeftOut::default() }
    }

    fn element(&mut self, list: &str, text: &str, texts: Option<[&str; 2]>) {
        let before = self.cases.len();
        match texts {
            Some([name, "passed"]) if list == TESTS => {
                self.cases.push(name.trim(), TestStatus::Passed);
            }
            _ if list == TESTS => self.test(text),
            _ => self.file(text),
        }
        self.left_out.element(&mut self.cases, before);
    }

    fn test(&mut self, text: &str) {
        let Ok(test) = serde_json::from_str::<Assertion<'_>>(text) else { return };
        let status = match &*test.status {
            "passed" => TestStatus::Passed,
            "failed" => TestStatus::Failed,
            _ => TestStatus::Skipped,
        };
        let at = self.cases.push(test.full_name.trim(), status);
        if status == TestStatus::Failed {
            let message = test.failure_messages.as_deref().unwrap_or_default().join("\n");
            let found = stack::place_of(&message);
            // Then the report's line has to do, once the file is known.
            if found.is_none() {
                let line = test.location.and_then(|location| location.line);
                self.lines.extend(at.zip(line));
            }
            self.cases.explain(at, &message, found);
        }
    }

    /// A file comes behind its tests.
    fn file(&mut self, text: &str) {
        let start = std::mem::replace(&mut self.file_start, self.cases.len());
        let lines = std::mem::take(&mut self.lines);
        if lines.is_empty() && plain_texts(text, ["status"]) == Some(["passed"]) {
            return;
        }
        let failed = self.cases.iter().skip(start).any(|test| test.status == TestStatus::Failed);
        let Ok(file) = serde_json::from_str::<File<'_>>(text) else { return };
        for (at, line) in lines {
            self.cases.explain(Some(at), "", Some((file.name.to_string(), line)));
        }
        // Without a failing test it is the file that could not be run.
        if file.status == "failed" && !failed {
            self.errors += 1;
            let at = self.cases.push(&file.name, TestStatus::Error);
            self.cases.explain(at, &file.message, stack::place_of(&file.message));
            self.file_start = self.cases.len();
        }
    }
}
