//! The report of pytest-json-report.

use serde::Deserialize;

use super::super::document::JsonDocument;
use super::super::findings::{Cases, Counts, Findings};
use super::super::python;
use crate::domain::test_report::{RunKind, RunStatus, TestStatus};
use crate::test_run::parse::needle::Seek as _;

#[derive(Debug, Deserialize)]
struct Report {
    exitcode: i64,
    summary: Summary,
    #[serde(default)]
    collectors: Vec<Collector>,
    #[serde(default)]
    tests: Vec<Test>,
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
#[derive(Debug, Default)]
pub(super) struct Json {
    document: JsonDocument,
    found: Option<Found>,
}

#[derive(Debug)]
struct Found {
    counts: Counts,
    collection_errors: bool,
    exitcode: i64,
}

impl Json {
    /// Takes a line; says whether it belongs to a document.
    pub(super) fn line(&mut self, line: &str, cases: &mut Cases) -> bool {
        if !self.document.is_open() && !line.starts_with('{') {
            return false;
        }
        let Some(text) = self.document.line(line) else { return self.document.is_open() };
        // The keys come in this order; other documents are not worth parsing.
        let head = text.get(..text.floor_char_boundary(2_000)).unwrap_or_default();
        if !head.holds("\"exitcode\"") {
            return false;
        }
        let Ok(report) = serde_json::from_str::<Report>(text) else { return false };
        self.found = Some(take(report, cases));
        true
    }

    /// Whether a document is being collected.
    pub(super) const fn is_open(&self) -> bool {
        self.document.is_open()
    }

    pub(super) const fn is_found(&self) -> bool {
        self.found.is_some()
    }

    /// The findings of the document.
    pub(super) fn findings(self, cases: Cases) -> Findings {
        let mut findings = Findings::new(super::FRAMEWORK);
        findings.finished = true;
        findings.tests = cases.into_list();
        if let Some(found) = self.found {
            findings.counts = found.counts;
            if found.collection_errors && found.exitcode == 2 {
                findings.status = Some(RunStatus::Error);
                findings.kind = Some(RunKind::CollectionError);
            }
        }
        findings
    }
}

fn take(report: Report, cases: &mut Cases) -> Found {
    let mut counts = Counts {
        total: Some(report.summary.collected.unwrap_or(report.summary.total)),
        passed: Some(0),
        failed: Some(0),
        skipped: Some(0),
        errors: Some(0),
    };
    let one = |number: &mut Option<u64>| *number = number.map(|number| number + 1);
    for test in &report.tests {
        let status = match test.outcome.as_str() {
            "passed" | "xpassed" => TestStatus::Passed,
            "failed" => TestStatus::Failed,
            "error" => TestStatus::Error,
            _ => TestStatus::Skipped,
        };
        let call = test.call.as_ref().map(|phase| phase.outcome.as_str());
        match (status, call) {
            (TestStatus::Passed, _) | (TestStatus::Error, Some("passed")) => one(&mut counts.passed),
            (TestStatus::Failed, _) | (TestStatus::Error, Some("failed")) => one(&mut counts.failed),
            (TestStatus::Skipped, _) => one(&mut counts.skipped),
            (TestStatus::Error, _) => {}
        }
        let at = cases.push(&test.nodeid, status);
        for (phase, is_call) in [(&test.setup, false), (&test.call, true), (&test.teardown, false)] {
            let Some(phase) = phase.as_ref().filter(|phase| phase.outcome == "failed") else { continue };
            if !is_call {
                one(&mut counts.errors);
            }
            let text = phase.longrepr.as_deref().or(phase.crash.as_ref().map(|crash| crash.message.as_str()));
            let place = phase.longrepr.as_deref().and_then(python::place_of);
            let place = place.or_else(|| phase.crash.as_ref().map(|crash| (crash.path.clone(), crash.lineno)));
            cases.explain(at, text.unwrap_or_default(), place);
        }
    }
    let mut collection_errors = false;
    for collector in report.collectors.iter().filter(|collector| collector.outcome == "failed") {
        collection_errors = true;
        one(&mut counts.errors);
        let at = cases.push(&collector.nodeid, TestStatus::Error);
        let text = collector.longrepr.as_deref().unwrap_or_default();
        cases.explain(at, text, python::place_of(text));
    }
    Found { counts, collection_errors, exitcode: report.exitcode }
}
