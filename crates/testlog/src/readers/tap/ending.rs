//! The end of a whole log of results: whose they are, and the numbers in the dialect's own way of counting.

use std::collections::HashMap;

use super::Reader;
use super::dialect::{self, Dialect};
use crate::exit::Exit;
use crate::findings::{Counts, Findings};
use crate::needle::Seek as _;
use crate::report::{RunKind, RunStatus, TestStatus};
use crate::stack;

/// The joint between the names of a subtest and of a test in it.
pub(super) const JOIN: &str = " > ";

impl Reader {
    /// Bats reports a file that bash cannot read as a failing `setup_file`.
    fn move_unreadable_files(&mut self) {
        let mut moved = Vec::new();
        self.cases.retain_from(0, |test| {
            let unreadable = test.status == TestStatus::Failed
                && test.name == "setup_file failed"
                && test.message.holds(": syntax error");
            if unreadable {
                moved.push(test.message.clone());
            }
            !unreadable
        });
        for message in moved {
            self.problems.push(RunKind::CompileError, &message, stack::place_in_words(&message));
            // So that the run counts as not finished.
            self.planned = Some(u64::MAX);
        }
    }

    /// Tells errors from failures. Busted's TAP calls errors failures, too, and Lua's own words about a broken program tell them apart.
    fn move_errors(&mut self) {
        let mut errors = 0;
        for at in 0..self.cases.len() {
            let Some(test) = self.cases.get_mut(at) else { continue };
            if test.status == TestStatus::Failed && dialect::is_lua_error(&test.message) {
                test.status = TestStatus::Error;
                errors += 1;
            }
        }
        self.top.failed = self.top.failed.map(|failed| failed.saturating_sub(errors));
        self.top.errors = Some(errors);
    }

    /// A subtest or file that holds others says nothing of its own, but where it failed and none in it did.
    fn drop_parents(&mut self) {
        let mut parents: HashMap<String, bool> = HashMap::new();
        for test in self.cases.iter() {
            for (at, _) in test.name.match_indices(JOIN) {
                let Some(parent) = test.name.get(..at) else { continue };
                *parents.entry(parent.to_owned()).or_default() |= test.status == TestStatus::Failed;
            }
        }
        self.cases.retain_from(0, |test| match parents.get(&test.name) {
            None => true,
            Some(explained) => test.status == TestStatus::Failed && !explained,
        });
    }

    pub(crate) fn finish(mut self, exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        self.prove.settle(&mut self.problems);
        if self.prove.is_harness() {
            return Some(self.prove.finish(self.problems, exit));
        }
        if self.pretty.is_seen() && self.results == 0 {
            return Some(self.pretty.finish());
        }
        let dialect = self.clues.dialect();
        if dialect == Dialect::Bats {
            self.move_unreadable_files();
        }
        let ended = self.planned.is_some() || self.trailer.total.is_some();
        // Without a plan or a version it is TAP only when something that a known tool writes was seen, too.
        let evident = self.clues.is_evident() && self.results > 1;
        let planned = ended && (self.results > 0 || self.planned == Some(0));
        if !(self.version || planned || evident) && self.problems.is_empty() {
            return None;
        }
        if dialect == Dialect::Busted {
            self.move_errors();
        }
        if dialect == Dialect::NodeTap {
            self.drop_parents();
        }
        let mut findings = Findings::new(dialect.framework());
        findings.finished = if self.trailer.total.is_some() {
            true
        } else {
            self.planned.is_some_and(|planned| self.top_results() + self.opened == planned)
        };
        if findings.finished && !self.bailed_out {
            findings.counts = self.counts(dialect);
        }
        if dialect == Dialect::Deno {
            findings.finished = true;
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        if self.bailed_out && !findings.has_failures() {
            findings.status = Some(RunStatus::Error);
        }
        Some(findings)
    }

    fn top_results(&self) -> u64 {
        [self.top.passed, self.top.failed, self.top.skipped, self.top.errors].into_iter().flatten().sum()
    }

    fn counts(&self, dialect: Dialect) -> Counts {
        let trailed = self.trailer.total.is_some();
        let mut counts = match dialect {
            Dialect::Node if trailed => Counts { skipped: self.trailer.skipped.or(Some(0)), ..self.trailer },
            // mocha counts what is skipped apart.
            Dialect::Mocha if trailed => {
                let skipped = self.top.skipped.unwrap_or(0);
                let total = self.trailer.passed.unwrap_or(0) + self.trailer.failed.unwrap_or(0) + skipped;
                Counts { total: Some(total), skipped: Some(skipped), ..self.trailer }
            }
            // vitest's outermost results are files.
            Dialect::Vitest | Dialect::NodeTap => {
                let of = |status| Some(self.cases.count(status));
                let (passed, failed) = (of(TestStatus::Passed), of(TestStatus::Failed));
                let total = Some(u64::try_from(self.cases.len()).unwrap_or(u64::MAX));
                Counts { total, passed, failed, skipped: of(TestStatus::Skipped), errors: None }
            }
            Dialect::Node
            | Dialect::Mocha
            | Dialect::Ava
            | Dialect::Deno
            | Dialect::Busted
            | Dialect::Bats
            | Dialect::Perl
            | Dialect::Unknown => Counts {
                total: Some(self.top_results()),
                passed: Some(self.top.passed.unwrap_or(0)),
                failed: Some(self.top.failed.unwrap_or(0)),
                skipped: Some(self.top.skipped.unwrap_or(0)),
                errors: self.top.errors,
            },
        };
        if matches!(dialect, Dialect::Bats | Dialect::Vitest) && counts.total != Some(0) {
            counts.errors = Some(0);
        }
        counts
    }
}
