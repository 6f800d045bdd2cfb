//! Jasmine: dots, numbered failures, pending specs and one line of numbers.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "jasmine";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Dots,
    Failures,
    Pending,
}

/// Reads Jasmine.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    problems: Problems,
    number: u64,
    open: Option<usize>,
    /// An error outside of specs is being read.
    suite: bool,
    suite_errors: u64,
    block: Block,
    counts: Counts,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] =
        &["Started", " spec, ", " specs, ", "No specs found", "Randomized with seed "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Dots,
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            number: 0,
            open: None,
            suite: false,
            suite_errors: 0,
            block: Block::default(),
            counts: Counts::default(),
            finished: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        match line {
            "Failures:" | "Pending:" => {
                self.settle();
                self.part = if line == "Failures:" { Part::Failures } else { Part::Pending };
                self.number = 0;
                return;
            }
            "No specs found" => {
                self.problems.push(RunKind::NoTests, line, None);
                return;
            }
            _ => {}
        }
        if line.as_bytes().first().is_some_and(u8::is_ascii_digit) && (self.numbers(line) || self.entry(line)) {
            return;
        }
        if self.part == Part::Failures
            && let Some(suite) = line.strip_prefix("Suite error: ")
        {
            self.settle();
            self.suite = true;
            self.suite_errors += 1;
            self.block.push(suite);
        } else if self.open.is_some() || self.suite {
            self.block.push(line.strip_prefix("  ").unwrap_or(line));
        }
    }

    /// `1) cart nested milk costs more`.
    fn entry(&mut self, line: &str) -> bool {
        let Some((number, name)) = line.cut(") ") else { return false };
        // A message may have numbered lines of its own.
        if self.part == Part::Dots || number.parse() != Ok(self.number + 1) {
            return false;
        }
        self.settle();
        self.number += 1;
        if self.part == Part::Failures {
            self.open = self.cases.push(name.trim_end(), TestStatus::Failed);
        } else {
            self.cases.push(name.trim_end(), TestStatus::Skipped);
        }
        true
    }

    /// `5 specs, 2 failures, 2 pending specs`.
    fn numbers(&mut self, line: &str) -> bool {
        let mut parts = line.split(", ");
        let Some(total) = parts
            .next()
            .and_then(|part| part.strip_suffix(" specs").or_else(|| part.strip_suffix(" spec")))
            .and_then(|number| number.parse::<u64>().ok())
        else {
            return false;
        };
        let (mut failed, mut skipped) = (None, 0);
        for part in parts {
            let number = place::leading_number::<u64>(part);
            if part.holds("failure") {
                failed = number;
            } else if part.holds("pending") {
                skipped = number.unwrap_or(0);
            }
        }
        let Some(failed) = failed else { return false };
        self.settle();
        // Errors outside of specs are among the failures, not among the specs.
        let suite_errors = std::mem::take(&mut self.suite_errors);
        let failed = failed.saturating_sub(suite_errors);
        self.part = Part::Dots;
        self.finished = true;
        self.counts.add(&Counts {
            total: Some(total),
            passed: Some(total.saturating_sub(failed + skipped)),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: (suite_errors > 0).then_some(suite_errors),
        });
        true
    }

    fn settle(&mut self) {
        let text = self.block.take();
        if std::mem::take(&mut self.suite) {
            self.problems.push(RunKind::CollectionError, &text, stack::place_of(&text));
        }
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), &text, stack::place_of(&text));
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if !self.finished && self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_suites_are_no_specs() {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        let log = "Started\n.F\n\nFailures:\n1) a b\n  Message:\n    no\n\nSuite error: a\n  Message:\n    Error: db\n\n\
                   2 specs, 2 failures\n";
        log.lines().for_each(|line| reader.line(line));
        let counts = reader.finish(None).unwrap().counts;
        assert_eq!((counts.total, counts.passed, counts.failed, counts.errors), (Some(2), Some(1), Some(1), Some(1)));
    }
}
