//! The report of pytest-json-report.

use serde::Deserialize;

use crate::document::{JsonDocument, LeftOut, Part};
use crate::findings::{Budget, Cases, Counts, Findings, Problems};
use crate::python;
use crate::report::{RunKind, RunStatus, TestStatus};

/// The lists of the report.
const TESTS: &str = "tests";
const COLLECTORS: &str = "collectors";

/// A report without its lists.
#[derive(Debug, Deserialize)]
struct Report {
    exitcode: i64,
    summary: Summary,
}

#[derive(Debug, Deserialize)]
struct Summary {
    #[serde(default)]
    collected: Option<u64>,
    #[serde(default)]
    total: u64,
}

#[derive(Debug, Deserialize)]
struct Collector {
    nodeid: String,
    outcome: String,
    longrepr: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Test {
    nodeid: String,
    outcome: String,
    setup: Option<Phase>,
    call: Option<Phase>,
    teardown: Option<Phase>,
}

#[derive(Debug, Deserialize)]
struct Phase {
    outcome: String,
    crash: Option<Crash>,
    longrepr: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Crash {
    path: String,
    lineno: u32,
    message: String,
}

/// Reads the document when one comes.
#[derive(Debug)]
pub(super) struct Json {
    document: JsonDocument,
    budget: Budget,
    read: Read,
    found: Option<Found>,
}

/// The state of a document that has not ended.
#[derive(Debug)]
struct Read {
    cases: Cases,
    counts: Counts,
    collection_errors: bool,
    left_out: LeftOut,
}

#[derive(Debug)]
struct Found {
    counts: Counts,
    collection_errors: bool,
    left_out: LeftOut,
    exitcode: i64,
}

impl Json {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            document: JsonDocument::new(&[TESTS, COLLECTORS]),
            budget: budget.clone(),
            read: Read::new(budget),
            found: None,
        }
    }

    /// Takes a line. Returns whether it belongs to a document.
    pub(super) fn line(&mut self, line: &str, cases: &mut Cases) -> bool {
        if !self.document.is_open() && !line.starts_with('{') {
            return false;
        }
        let (read, found, budget) = (&mut self.read, &mut self.found, &self.budget);
        let mut is_other = false;
        let taken = self.document.line(line, &mut |part| match part {
            Part::Begin => {
                if !read.cases.is_empty() {
                    *read = Read::new(budget);
                }
            }
            Part::Element(list, text, _) => read.element(list, text),
            Part::LeftOut(_) => read.left_out.announce(),
            Part::Whole(text) => {
                let Ok(report) = serde_json::from_str::<Report>(text) else {
                    is_other = true;
                    return;
                };
                let read = std::mem::replace(read, Read::new(budget));
                *found = Some(read.ended(&report, cases));
            }
        });
        let is_mine = taken && !is_other;
        if is_mine && let Some(found) = found {
            found.left_out.report(&self.document);
        }
        is_mine
    }

    /// Whether a document is being collected.
    pub(super) const fn is_open(&self) -> bool {
        self.document.is_open()
    }

    pub(super) const fn is_found(&self) -> bool {
        self.found.is_some()
    }

    /// The findings of a document that has no end, if there was one.
    pub(super) fn broken_off(self) -> Option<Findings> {
        Findings::broken_off(super::FRAMEWORK, self.read.cases)
    }

    /// The findings of the document.
    pub(super) fn findings(self, cases: Cases) -> Findings {
        let mut findings = Findings::new(super::FRAMEWORK);
        findings.finished = true;
        findings.tests = cases.into_list();
        if let Some(found) = self.found {
            let mut problems = Problems::new(&self.budget);
            found.left_out.tell(&mut problems);
            findings.problems = problems.into_list();
            findings.counts = found.counts;
            if found.collection_errors && found.exitcode == 2 {
                findings.status = Some(RunStatus::Error);
                findings.kind = Some(RunKind::CollectionError);
            }
        }
        findings
    }
}

impl Read {
    fn new(budget: &Budget) -> Self {
        let none = Some(0);
        let counts = Counts { total: none, passed: none, failed: none, skipped: none, errors: none };
        Self { cases: Cases::new(budget), counts, collection_errors: false, left_out: LeftOut::default() }
    }

    fn element(&mut self, list: &str, text: &str) {
        let before = self.cases.len();
        if list == TESTS {
            self.test(text);
        } else {
            self.collector(text);
        }
        self.left_out.element(&mut self.cases, before);
    }

    fn ended(self, report: &Report, cases: &mut Cases) -> Found {
        let total = Some(report.summary.collected.unwrap_or(report.summary.total));
        cases.absorb(self.cases);
        Found {
            counts: Counts { total, ..self.counts },
            collection_errors: self.collection_errors,
            left_out: self.left_out,
            exitcode: report.exitcode,
        }
    }

    fn test(&mut self, text: &str) {
        let Ok(test) = serde_json::from_str::<Test>(text) else { return };
        let one = |number: &mut Option<u64>| *number = number.map(|number| number + 1);
        let status = match test.outcome.as_str() {
            "passed" | "xpassed" => TestStatus::Passed,
            "failed" => TestStatus::Failed,
            "error" => TestStatus::Error,
            _ => TestStatus::Skipped,
        };
        let call = test.call.as_ref().map(|phase| phase.outcome.as_str());
        // A test that passes and cannot be torn down counts twice.
        match (status, call) {
            (TestStatus::Passed, _) | (TestStatus::Error, Some("passed")) => one(&mut self.counts.passed),
            (TestStatus::Failed, _) | (TestStatus::Error, Some("failed")) => one(&mut self.counts.failed),
            (TestStatus::Skipped, _) => one(&mut self.counts.skipped),
            (TestStatus::Error, _) => {}
        }
        let at = self.cases.push(&test.nodeid, status);
        for (phase, is_call) in [(&test.setup, false), (&test.call, true), (&test.teardown, false)] {
            let Some(phase) = phase.as_ref().filter(|phase| phase.outcome == "failed") else { continue };
            if !is_call {
                one(&mut self.counts.errors);
            }
            let text = phase.longrepr.as_deref().or(phase.crash.as_ref().map(|crash| crash.message.as_str()));
            let place = phase.longrepr.as_deref().and_then(python::place_of);
            let place = place.or_else(|| phase.crash.as_ref().map(|crash| (crash.path.clone(), crash.lineno)));
            self.cases.explain(at, text.unwrap_or_default(), place);
        }
    }

    fn collector(&mut self, text: &str) {
        let Ok(collector) = serde_json::from_str::<Collector>(text) else { return };
        if collector.outcome != "failed" {
            return;
        }
        self.collection_errors = true;
        self.counts.errors = self.counts.errors.map(|number| number + 1);
        let at = self.cases.push(&collector.nodeid, TestStatus::Error);
        let text = collector.longrepr.as_deref().unwrap_or_default();
        self.cases.explain(at, text, python::place_of(text));
    }
}
