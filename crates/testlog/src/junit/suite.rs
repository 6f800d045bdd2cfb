//! Errors of a suite's own, `<error>` beside its test cases: those of hooks, and of files that could not be loaded.

use super::{dialect, without_repeated_message};
use crate::findings::{Block, Counts, Findings, Problems};
use crate::report::{RunKind, RunStatus};

/// More of them are counted only.
const MOST_SHOWN: u64 = 200;

/// Reads them and counts them.
#[derive(Debug, Default)]
pub(super) struct SuiteErrors {
    open: bool,
    text: Block,
    count: u64,
}

impl SuiteErrors {
    /// An element begins outside of test cases.
    pub(super) fn begin(&mut self, kind: &str, message: Option<&str>) {
        if kind != "error" {
            return;
        }
        self.count += 1;
        // Counted all the same.
        self.open = self.count <= MOST_SHOWN;
        if self.open
            && let Some(message) = message
        {
            self.text.push(message);
        }
    }

    /// Text outside of test cases.
    pub(super) fn add(&mut self, text: &str) {
        if self.open {
            self.text.add(text);
        }
    }

    /// An element of that sort ends.
    pub(super) fn end(&mut self, problems: &mut Problems) {
        if std::mem::take(&mut self.open) {
            self.text.end_line();
            let text = without_repeated_message(&self.text.take());
            problems.push(RunKind::CollectionError, &text, dialect::place_of(&text, ""));
        }
    }

    /// Adds them to the findings, and to their counts where `counted` is set, because the report's own numbers leave them out.
    pub(super) fn tell(&self, findings: &mut Findings, counted: bool) {
        if self.count == 0 {
            return;
        }
        let cases_fail = findings.counts.failed.unwrap_or(0) + findings.counts.errors.unwrap_or(0) > 0;
        // Where a test fails the run is red by that.
        findings.status = (!cases_fail).then_some(RunStatus::Error);
        if counted {
            findings.counts.add(&Counts { errors: Some(self.count), ..Counts::default() });
        }
    }
}
