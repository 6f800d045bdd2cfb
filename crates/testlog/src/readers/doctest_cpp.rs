//! doctest (C++): a block per test case with something to say, between lines of `=`.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings};
use crate::needle::Seek as _;
use crate::report::TestStatus;
use crate::{place, stack};

const FRAMEWORK: &str = "doctest-cpp";

/// Reads doctest.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    name: Option<String>,
    failed: bool,
    block: Block,
    counts: Counts,
    recognised: bool,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &["[doctest] "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            name: None,
            failed: false,
            block: Block::default(),
            counts: Counts::default(),
            recognised: false,
            finished: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("[doctest] ") {
            self.recognised = true;
            if let Some(numbers) = rest.strip_prefix("test cases: ") {
                self.settle();
                self.numbers(numbers);
            }
            return;
        }
        if line.starts_with("======") && line.bytes().all(|byte| byte == b'=') {
            self.settle();
            return;
        }
        if let Some(name) = line.trim_start().strip_prefix("TEST CASE: ") {
            self.name = Some(name.trim().to_owned());
            return;
        }
        if self.name.is_some() {
            self.failed |= line.holds(": ERROR: ") || line.holds(": FATAL ERROR: ");
            // A test that may fail is reported like any other.
            let forgiven = ["Failed as expected so marking it", "Allowed to fail so marking it"];
            if forgiven.iter().any(|start| line.starts_with(start)) {
                self.failed = false;
            }
            self.block.push(line);
        }
    }

    /// `3 | 1 passed | 2 failed | 1 skipped`.
    fn numbers(&mut self, rest: &str) {
        let number = |word: &str| {
            rest.split('|').find_map(|part| part.trim().strip_suffix(word)?.trim_end().parse::<u64>().ok())
        };
        let Some(total) = place::leading_number(rest.trim_start()) else { return };
        self.finished = true;
        self.counts.add(&Counts {
            total: Some(total),
            passed: number("passed"),
            failed: number("failed"),
            skipped: number("skipped"),
            errors: None,
        });
    }

    fn settle(&mut self) {
        let text = self.block.take();
        let failed = std::mem::take(&mut self.failed);
        // Messages and warnings have a block too.
        if let Some(name) = self.name.take()
            && failed
        {
            let at = self.cases.set(&name, TestStatus::Failed);
            self.cases.explain(at, &text, stack::place_of(&text));
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
        findings.tests = self.cases.into_list();
        Some(findings)
    }
}
