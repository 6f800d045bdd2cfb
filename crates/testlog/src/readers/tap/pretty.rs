//! Bats' output for terminals: ` ✓ name`, ` ✗ name` with its lines indented by three, ` - name (skipped: why)`.

use crate::findings::{Block, Budget, Cases, Counts, Findings};
use crate::needle::Seek as _;
use crate::report::TestStatus;
use crate::{place, stack};

/// Collects Bats' pretty output.
#[derive(Debug)]
pub(super) struct Pretty {
    cases: Cases,
    open: Option<usize>,
    block: Block,
    counts: Counts,
    finished: bool,
}

impl Pretty {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            open: None,
            block: Block::default(),
            counts: Counts::default(),
            finished: false,
        }
    }

    /// Takes a line when it is Bats'.
    pub(super) fn line(&mut self, line: &str) -> bool {
        // The marks begin with this byte; only a summary and what explains a failure have none.
        let marked = memchr::memchr(0xE2, line.as_bytes()).is_some();
        if !marked {
            let numbers = line.as_bytes().first().is_some_and(u8::is_ascii_digit);
            let skipped = line.ends_with(')') && line.holds(" (skipped");
            if self.open.is_some() && line.starts_with("   ") && !skipped {
                self.block.push(line.get(3..).unwrap_or_default());
                return true;
            }
            if !(numbers || skipped) {
                return false;
            }
        }
        let Some(text) = drawn_last(line) else { return false };
        if let Some(name) = text.strip_prefix("✓ ") {
            self.settle();
            self.cases.push(name.trim_end(), TestStatus::Passed);
        } else if let Some(name) = text.strip_prefix("✗ ") {
            self.settle();
            self.open = self.cases.push(name.trim_end(), TestStatus::Failed);
        } else if let Some(name) = text.strip_prefix("- ").and_then(skipped_name) {
            self.settle();
            self.cases.push(name, TestStatus::Skipped);
        } else if self.open.is_some() && line.starts_with("   ") {
            self.block.push(line.get(3..).unwrap_or_default());
        } else {
            return !self.cases.is_empty() && self.summary(text);
        }
        true
    }

    /// `8 tests, 4 failures, 2 skipped`.
    fn summary(&mut self, text: &str) -> bool {
        if !text.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) {
            return false;
        }
        let mut parts = text.split(", ");
        let total = parts.next().and_then(|part| part.strip_suffix(" tests").or_else(|| part.strip_suffix(" test")));
        let Some(total) = total.and_then(|number| number.parse::<u64>().ok()) else { return false };
        let mut failed = None;
        let mut skipped = 0;
        for part in parts {
            let number = place::leading_number::<u64>(part);
            if part.holds("failure") {
                failed = number;
            } else if part.holds("skipped") {
                skipped = number.unwrap_or(0);
            }
        }
        let Some(failed) = failed else { return false };
        self.settle();
        self.finished = true;
        self.counts = Counts {
            total: Some(total),
            passed: Some(total.saturating_sub(failed + skipped)),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: Some(0),
        };
        true
    }

    fn settle(&mut self) {
        let text = self.block.take();
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), &text, stack::place_in_words(&text));
        }
    }

    /// Whether a failing test's lines are being read, which may look like TAP.
    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) const fn is_seen(&self) -> bool {
        self.finished
    }

    pub(super) fn finish(mut self) -> Findings {
        self.settle();
        let mut findings = Findings::new("bats");
        findings.counts = self.counts;
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        findings
    }
}

/// The text that was drawn last where Bats moved the cursor back: a result line is drawn over its announcement.
fn drawn_last(line: &str) -> Option<&str> {
    let last = ["✓ ", "✗ "].iter().filter_map(|mark| line.seek_last(mark)).max();
    if let Some(at) = last {
        return line.get(at..);
    }
    match line.seek_last(" - ") {
        Some(at) if line.ends_with(')') => line.get(at + 1..),
        _ => Some(line.trim()),
    }
}

fn skipped_name(text: &str) -> Option<&str> {
    let (name, reason) = text.trim_end().cut_last(" (skipped")?;
    (reason == ")" || (reason.starts_with(": ") && reason.ends_with(')'))).then_some(name)
}
