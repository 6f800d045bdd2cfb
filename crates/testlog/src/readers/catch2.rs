//! Catch2 (v2 and v3): its console, compact and XML reporters.
//!
//! The console reporter prints a head (test case and sections between lines of `-`) before the first thing that it has
//! to say of a section.

mod xml;

use self::xml::Xml;
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "catch2";
/// The joint between a test case and its sections.
const JOIN: &str = " > ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Outside,
    /// Between the lines of `-`: names.
    Head,
    /// Behind the head: what was wrong.
    Body,
}

/// Reads Catch2.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    problems: Problems,
    name: String,
    failed: bool,
    block: Block,
    xml: Xml,
    recognised: bool,
    finished: bool,
    counts: Counts,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        " host application.",
        "All tests passed (",
        "test cases: ",
        "No tests ran",
        "No test cases matched",
        " test case, failed ",
        " test cases, failed ",
        ": FAILED:",
        ": failed: ",
        "<Catch name=",
        "<Catch2TestRun ",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Outside,
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            name: String::new(),
            failed: false,
            block: Block::default(),
            xml: Xml::default(),
            recognised: false,
            finished: false,
            counts: Counts::default(),
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.xml.line(line, &mut self.cases) {
            return;
        }
        if is_rule(line, b'-') {
            // The line below the names ends the head, any other one begins the next.
            if self.part == Part::Head && !self.name.is_empty() {
                self.part = Part::Body;
            } else {
                self.settle();
                self.part = Part::Head;
                self.name.clear();
            }
            return;
        }
        if is_rule(line, b'=') {
            self.settle();
            self.part = Part::Outside;
            return;
        }
        match self.part {
            Part::Head => {
                if !line.trim().is_empty() {
                    if !self.name.is_empty() {
                        self.name.push_str(JOIN);
                    }
                    self.name.push_str(line.trim());
                }
            }
            Part::Body => {
                self.failed |= line.trim_end().ends_with(": FAILED:");
                // Dots stand below the place of the section.
                if !is_rule(line, b'.') {
                    self.block.push(line);
                }
            }
            Part::Outside => self.outside(line),
        }
    }

    fn outside(&mut self, line: &str) {
        if line.holds(" is a Catch") && line.ends_with(" host application.") {
            self.recognised = true;
        } else if let Some(rest) = line.strip_prefix("test cases: ") {
            self.numbers(rest);
        } else if let Some(rest) = line.strip_prefix("All tests passed (").filter(|rest| rest.holds(" assertion")) {
            let total = rest.cut(" in ").and_then(|(_, cases)| place::leading_number::<u64>(cases));
            self.end(Counts { total, passed: total, failed: Some(0), skipped: Some(0), errors: None });
        } else if line.starts_with("No test cases matched ") {
            self.problems.push(RunKind::NoTests, line, None);
        } else if line == "No tests ran" {
            let none = Some(0);
            self.end(Counts { total: none, passed: none, failed: none, skipped: none, errors: None });
            self.problems.push(RunKind::NoTests, line, None);
        } else if let Some((head, message)) = line.cut(": failed: ") {
            // The compact reporter names no tests.
            if let Some(found) = place::find(&format!("{head}:")) {
                self.problems.push(RunKind::Tests, &format!("{head}: {message}"), Some(found));
            }
        } else if let Some(rest) = line.strip_prefix("Failed ").filter(|rest| rest.holds(" test case")) {
            let failed = place::leading_number(rest);
            self.end(Counts { failed, ..Counts::default() });
        }
    }

    /// `5 | 1 passed | 3 failed | 1 failed as expected`.
    fn numbers(&mut self, rest: &str) {
        let number = |word: &str| {
            rest.split('|').find_map(|part| part.trim().strip_suffix(word)?.trim_end().parse::<u64>().ok()).unwrap_or(0)
        };
        let Some(total) = place::leading_number(rest.trim_start()) else { return };
        self.end(Counts {
            total: Some(total),
            passed: Some(number("passed")),
            failed: Some(number("failed")),
            skipped: Some(number("skipped") + number("failed as expected")),
            errors: None,
        });
    }

    fn end(&mut self, counts: Counts) {
        self.counts.add(&counts);
        self.finished = true;
        self.recognised = true;
    }

    fn settle(&mut self) {
        let text = self.block.take();
        // A section is shown for a warning as well.
        if std::mem::take(&mut self.failed) && self.part == Part::Body {
            let at = self.cases.set(&self.name, TestStatus::Failed);
            // The first line says where the section is, not where it failed.
            let place = text.lines().find(|line| line.trim_end().ends_with(": FAILED:")).and_then(place::find);
            self.cases.explain(at, &text, place.or_else(|| stack::place_of(&text)));
        }
    }

    pub(super) fn finish(mut self, exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if let Some(counts) = self.xml.counts() {
            self.end(counts);
        }
        if !self.recognised {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.finished;
        if self.counts.total == Some(0) && exit.is_some_and(Exit::is_success) {
            findings.kind = Some(RunKind::NoTests);
        }
        findings.tests = self.cases.into_list();
        if self.counts.failed == Some(0) {
            // Tests that should fail are reported like any other; only the numbers say that all of them were expected.
            findings.tests.iter_mut().for_each(|test| test.status = TestStatus::Skipped);
        }
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// A line of one character.
fn is_rule(line: &str, mark: u8) -> bool {
    const SHORTEST: usize = 40;
    line.len() >= SHORTEST && line.bytes().all(|byte| byte == mark)
}
