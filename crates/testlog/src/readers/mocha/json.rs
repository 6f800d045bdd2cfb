//! Mocha's JSON report and its JSON stream (one `[event, data]` a line).

use serde::Deserialize;

use crate::document::{JsonDocument, LeftOut, Part};
use crate::findings::{Budget, Cases, Counts, Findings, Problems};
use crate::report::TestStatus;
use crate::stack;

/// The lists of the report. A fourth, of all tests, says nothing more.
const PASSES: &str = "passes";
const FAILURES: &str = "failures";
const PENDING: &str = "pending";

/// The state of the report read so far.
#[derive(Debug)]
pub(super) struct Json {
    document: JsonDocument,
    /// The tests of a document that has not ended.
    read: Cases,
    budget: Budget,
    seen: bool,
    stats: Option<Stats>,
    left_out: LeftOut,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Stats {
    passes: u64,
    pending: u64,
    failures: u64,
}

#[derive(Debug, Deserialize)]
struct Report {
    stats: Stats,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    full_title: String,
    #[serde(default)]
    file: Option<String>,
    /// An object in the report, a text in the stream.
    #[serde(default)]
    err: serde_json::Value,
    #[serde(default)]
    stack: Option<String>,
}

impl Json {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            document: JsonDocument::new(&[PASSES, FAILURES, PENDING]),
            read: Cases::new(budget),
            budget: budget.clone(),
            seen: false,
            stats: None,
            left_out: LeftOut::default(),
        }
    }

    /// Takes a line. Returns whether it belongs to a document.
    pub(super) fn line(&mut self, line: &str, cases: &mut Cases) -> bool {
        let (read, budget) = (&mut self.read, &self.budget);
        let (seen, stats, left_out) = (&mut self.seen, &mut self.stats, &mut self.left_out);
        let mut is_report = false;
        let taken = self.document.line(line, &mut |part| match part {
            Part::Begin => {
                if !read.is_empty() {
                    *read = Cases::new(budget);
                }
            }
            Part::LeftOut(_) => left_out.announce(),
            Part::Element(list, text, _) => {
                let before = read.len();
                if let Ok(test) = serde_json::from_str::<Test>(text) {
                    match list {
                        PASSES => drop(read.push(&test.full_title, TestStatus::Passed)),
                        PENDING => drop(read.push(&test.full_title, TestStatus::Skipped)),
                        _ => fail(&test, read),
                    }
                }
                left_out.element(read, before);
            }
            Part::Whole(text) => {
                let Ok(report) = serde_json::from_str::<Report>(text) else { return };
                *seen = true;
                is_report = true;
                *stats = Some(report.stats);
                cases.absorb(std::mem::replace(read, Cases::new(budget)));
            }
        });
        if is_report {
            left_out.report(&self.document);
        }
        taken
    }

    pub(super) const fn is_open(&self) -> bool {
        self.document.is_open()
    }

    /// Reads a line of the stream.
    pub(super) fn event(&mut self, line: &str, cases: &mut Cases) -> bool {
        let Ok((event, data)) = serde_json::from_str::<(String, serde_json::Value)>(line) else { return false };
        match event.as_str() {
            "start" => self.seen = true,
            "end" => self.stats = serde_json::from_value(data).ok(),
            "pass" | "fail" | "pending" => {
                let Ok(test) = serde_json::from_value::<Test>(data) else { return false };
                match event.as_str() {
                    "pass" => drop(cases.push(&test.full_title, TestStatus::Passed)),
                    "pending" => drop(cases.push(&test.full_title, TestStatus::Skipped)),
                    _ => fail(&test, cases),
                }
            }
            _ => return false,
        }
        true
    }

    pub(super) const fn is_seen(&self) -> bool {
        self.seen
    }

    /// The findings of a report that has no end, if there was one.
    pub(super) fn broken_off(self) -> Option<Findings> {
        Findings::broken_off(super::FRAMEWORK, self.read)
    }

    /// Says what was left out of a report.
    pub(super) fn tell(&self, problems: &mut Problems) {
        self.left_out.tell(problems);
    }

    /// The numbers, when the end was seen.
    pub(super) fn counts(&self) -> Option<Counts> {
        let stats = self.stats?;
        Some(Counts {
            total: Some(stats.passes + stats.pending + stats.failures),
            passed: Some(stats.passes),
            failed: Some(stats.failures),
            skipped: Some(stats.pending),
            errors: None,
        })
    }
}

fn fail(test: &Test, cases: &mut Cases) {
    let at = cases.push(&test.full_title, TestStatus::Failed);
    let field = |name: &str| test.err.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
    // In the stream the error is a text, in the report an object.
    let (message, stack) = match test.err.as_str() {
        Some(message) => (message, test.stack.as_deref().unwrap_or_default()),
        None => (field("message"), field("stack")),
    };
    // Some engines put the message at the beginning of the stack.
    let text = if stack.contains(message) { stack.to_owned() } else { format!("{message}\n{stack}") };
    let mut text = text.trim().to_owned();
    for (label, value) in [("actual", field("actual")), ("expected", field("expected"))] {
        if !value.is_empty() {
            text.push_str(&format!("\n{label}: {value}"));
        }
    }
    if text.is_empty()
        && let Some(file) = &test.file
    {
        text.clone_from(file);
    }
    cases.explain(at, &text, stack::place_of(stack));
}
