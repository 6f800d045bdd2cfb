//! JUnit 4's own console runner (`org.junit.runner.JUnitCore`).

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings};
use crate::needle::Seek as _;
use crate::report::{Problem, RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "junit4";

/// Reads JUnitCore.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    recognised: bool,
    /// Behind `Time: …`.
    report: bool,
    number: u64,
    open: Option<usize>,
    block: Block,
    counts: Counts,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &["JUnit version "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            recognised: false,
            report: false,
            number: 0,
            open: None,
            block: Block::default(),
            counts: Counts::default(),
            finished: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with("JUnit version ") {
            self.settle();
            self.recognised = true;
            self.report = false;
            return;
        }
        if !self.recognised {
            return;
        }
        // Before this line tests print.
        if line.starts_with("Time: ") && !self.report {
            self.report = true;
            self.number = 0;
            return;
        }
        if !self.report {
            return;
        }
        if let Some((number, name)) = line.cut(") ")
            && number.parse() == Ok(self.number + 1)
        {
            self.settle();
            self.number += 1;
            self.open = self.cases.push(name.trim_end(), TestStatus::Failed);
        } else if line == "FAILURES!!!" {
            self.settle();
        } else if let Some(rest) = line.strip_prefix("Tests run: ") {
            self.settle();
            let failed = rest.cut("Failures: ").and_then(|(_, number)| place::leading_number(number));
            self.end(Counts { total: place::leading_number(rest), failed, ..Counts::default() });
        } else if let Some(rest) = line.strip_prefix("OK (") {
            self.settle();
            let total = place::leading_number(rest);
            self.end(Counts { total, passed: total, failed: Some(0), ..Counts::default() });
        } else if self.open.is_some() {
            self.block.push(line);
        }
    }

    fn end(&mut self, counts: Counts) {
        self.counts.add(&counts);
        self.finished = true;
        self.report = false;
    }

    fn settle(&mut self) {
        let text = self.block.take();
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), &text, stack::place_of(&text));
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if !self.recognised {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.finished;
        if !self.finished {
            let message = "JUnit began and did not say how it ended".to_owned();
            findings.problems.push(Problem { kind: RunKind::Crash, message, file: None, line: None });
        }
        findings.tests = self.cases.into_list();
        Some(findings)
    }
}
