//! Robot Framework: its console output, verbose and dotted.

use super::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use super::place;
use crate::domain::test_report::{RunKind, RunStatus, TestStatus};
use crate::domain::verdict::Exit;
use crate::test_run::parse::needle::Seek as _;

/// Reads Robot Framework.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    counts: Counts,
    /// The result line that was seen last; whether it was a test or a suite shows in the next line.
    open: Option<(String, TestStatus)>,
    text: Block,
    recognised: bool,
    finished: bool,
    rule: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] =
        &["| PASS |", "| FAIL |", "| SKIP |", "Running suite '", "[ ERROR ] ", "Output:  "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            counts: Counts::default(),
            open: None,
            text: Block::default(),
            recognised: false,
            finished: false,
            rule: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        let after_rule = std::mem::take(&mut self.rule);
        if is_rule(line) {
            self.rule = true;
            self.test_ends();
        } else if let Some((name, status)) = result(line) {
            self.recognised = true;
            self.test_ends();
            self.open = Some((name.to_owned(), status));
        } else if let Some(name) = line.strip_prefix("FAIL: ").filter(|_| after_rule && self.recognised) {
            self.open = Some((bare(name).to_owned(), TestStatus::Failed));
        } else if self.summary(line) {
            // What had its numbers below was a suite.
            self.open = None;
            self.text.clear();
        } else if line.starts_with("Running suite '") {
            self.recognised = true;
        } else if line.starts_with("[ ERROR ] ") && !self.finished && self.open.is_none() {
            self.problems.push(RunKind::BadCommand, line, place::find(line));
        } else if self.open.is_some() {
            self.text.push(line);
        }
    }

    fn test_ends(&mut self) {
        let text = self.text.take();
        let Some((name, status)) = self.open.take() else { return };
        let at = self.cases.push(&name, status);
        self.cases.explain(at, &text, place::in_repository(&text));
    }

    /// `4 tests, 1 passed, 2 failed, 1 skipped`; the last one is the whole run's.
    fn summary(&mut self, line: &str) -> bool {
        let Some((head, rest)) = line.cut(", ") else { return false };
        if !(head.ends_with(" tests") || head.ends_with(" test")) || !rest.holds(" passed") {
            return false;
        }
        let Some(total) = place::leading_number::<u64>(head) else { return false };
        let number = |word: &str| rest.split(", ").find_map(|part| part.strip_suffix(word)?.trim().parse::<u64>().ok());
        self.counts = Counts {
            total: Some(total),
            passed: number("passed"),
            failed: number("failed"),
            skipped: Some(number("skipped").unwrap_or(0)),
            errors: Some(0),
        };
        self.finished = self.recognised;
        true
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.test_ends();
        if !self.recognised && self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new("robot");
        findings.finished = self.finished;
        if self.finished {
            findings.counts = self.counts;
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        if findings.tests.is_empty() && !self.finished {
            findings.status = Some(RunStatus::Error);
        }
        Some(findings)
    }
}

fn is_rule(line: &str) -> bool {
    line.len() >= 60 && (line.bytes().all(|byte| byte == b'=') || line.bytes().all(|byte| byte == b'-'))
}

/// `Milk Costs More :: Milk is dear.      | FAIL |`.
fn result(line: &str) -> Option<(&str, TestStatus)> {
    let (head, status) = if let Some(head) = line.strip_suffix("| PASS |") {
        (head, TestStatus::Passed)
    } else if let Some(head) = line.strip_suffix("| FAIL |") {
        (head, TestStatus::Failed)
    } else {
        (line.strip_suffix("| SKIP |")?, TestStatus::Skipped)
    };
    let name = head.cut(" :: ").map_or(head, |(name, _)| name).trim_end();
    (!name.is_empty()).then_some((name, status))
}

/// A test's name without its suites: `Cart.Milk Costs More`.
fn bare(name: &str) -> &str {
    name.rmatch_indices('.')
        .find_map(|(at, _)| name.get(at + 1..).filter(|rest| !rest.is_empty() && !rest.starts_with(' ')))
        .unwrap_or(name)
}
