//! Boost.Test: its log and its detailed report.

use crate::exit::Exit;
use crate::findings::{Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, TestStatus};

const FRAMEWORK: &str = "boost-test";

/// Reads Boost.Test.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    open: Option<usize>,
    running: Option<u64>,
    ended: bool,
    /// Some of what failed was expected to, without a word on which.
    expected: bool,
    problems: Problems,
    /// In the numbers of the whole module.
    module: bool,
    counts: Counts,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        " test case...",
        " test cases...",
        "error: in \"",
        "*** No errors detected",
        "Entering test module \"",
        "Test module \"",
        "Test setup error: ",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            open: None,
            running: None,
            ended: false,
            expected: false,
            problems: Problems::new(budget),
            module: false,
            counts: Counts::default(),
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Running ") {
            if rest.ends_with(" test cases...") || rest.ends_with(" test case...") {
                // Several programs may run one behind the other.
                self.running = place::leading_number::<u64>(rest).map(|count| count + self.running.unwrap_or(0));
            }
            return;
        }
        let ends = |line: &str| line.holds(" detected") && line.holds(" in the test module");
        if line.starts_with("*** No errors detected") || (line.starts_with("*** ") && ends(line)) {
            self.open = None;
            self.ended = true;
            self.expected |= line.holds(" expected)");
            return;
        }
        if line.starts_with("Test setup error: ") {
            self.problems.push(RunKind::NoTests, line, None);
            return;
        }
        if memchr::memchr(b'"', line.as_bytes()).is_some()
            && let Some((head, message)) = line.cut("error: in \"")
        {
            self.error(head, message);
            return;
        }
        if line.starts_with("Test module \"") {
            self.module = true;
            self.ended = true;
            return;
        }
        if self.module && self.report_line(line) {
            return;
        }
        self.explain(line);
    }

    /// `bo/bo.cpp(9): error: in "prices/wrong": six is not seven`.
    fn error(&mut self, head: &str, rest: &str) {
        let Some((name, message)) = rest.cut("\": ").or_else(|| rest.split_once('"')) else { return };
        let at = self.cases.set(name, TestStatus::Failed);
        let found = in_parentheses(head);
        let text = match &found {
            Some((file, line)) => format!("{file}:{line}: {message}"),
            None => message.to_owned(),
        };
        self.cases.explain(at, &text, found);
        self.open = at;
    }

    /// Takes the lines after an error: its context, and the last checkpoint.
    fn explain(&mut self, line: &str) {
        let Some(at) = self.open else { return };
        // Behind a fatal error or a time-out the checkpoint is all that tells the place.
        if let Some((head, _)) = line.cut("): last checkpoint: ") {
            self.cases.explain(Some(at), line, in_parentheses(&format!("{head})")));
        } else if line.holds(" Entering ") || line.holds(" Leaving ") || line.is_empty() {
            self.open = None;
        } else {
            self.cases.explain(Some(at), line, None);
        }
    }

    /// The detailed report: `  1 test case out of 5 passed`, `    Test case "prices/simple" has passed with:`.
    fn report_line(&mut self, line: &str) -> bool {
        let text = line.unindented();
        let indent = line.len() - text.len();
        if let Some((name, rest)) = text.strip_prefix("Test case \"").and_then(|rest| rest.split_once('"')) {
            let status = if rest.holds("passed") {
                TestStatus::Passed
            } else if rest.holds("skipped") {
                TestStatus::Skipped
            } else {
                TestStatus::Failed
            };
            self.cases.set(name, status);
            return true;
        }
        if indent != 2 || !text.holds(" test case") && !text.holds(" out of ") {
            return false;
        }
        let number = place::leading_number::<u64>(text);
        let total = text.cut(" out of ").and_then(|(_, rest)| place::leading_number::<u64>(rest));
        // Numbers of assertions are printed like those of tests.
        if text.holds(" assertion") {
            return true;
        }
        if total.is_some() {
            self.counts.total = total;
        }
        match text.rsplit(' ').next() {
            Some("passed") => self.counts.passed = number,
            Some("failed") => self.counts.failed = number,
            Some("skipped") => self.counts.skipped = number,
            _ => {}
        }
        true
    }

    pub(super) fn finish(self, _exit: Option<Exit>) -> Option<Findings> {
        if self.running.is_none() && !self.ended && self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.finished = self.ended;
        findings.counts = self.counts;
        if self.counts.total.is_some() {
            // Numbers that are zero are left out of the report.
            let zero = Counts { passed: Some(0), failed: Some(0), skipped: Some(0), ..Counts::default() };
            findings.counts.add(&zero);
        } else if let Some(total) = self.running.filter(|_| self.ended) {
            let failed = Some(self.cases.count(TestStatus::Failed)).filter(|_| !self.expected);
            findings.counts = Counts {
                total: Some(total),
                passed: failed.map(|failed| total.saturating_sub(failed)),
                failed,
                // Disabled tests are neither run nor counted.
                skipped: Some(0),
                errors: None,
            };
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// `bo/bo.cpp(9): ` → the place.
fn in_parentheses(text: &str) -> Option<(String, u32)> {
    let (file, rest) = text.split_once('(')?;
    let line = place::leading_number(rest)?;
    let file = file.trim();
    place::is_path(file).then(|| (file.to_owned(), line))
}
