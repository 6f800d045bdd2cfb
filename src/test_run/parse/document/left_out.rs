//! What is said in the report of entries of a document that are too long to be read.

use super::LONGEST_OBJECT;
use crate::domain::test_report::{RunKind, TestCase, TestStatus};
use crate::test_run::parse::findings::{Cases, Problems};

/// Keeps account of the elements of which something was left out.
#[derive(Debug, Default)]
pub(in crate::test_run::parse) struct LeftOut {
    /// The element that comes next is one.
    next: bool,
    /// How many did not even name their test.
    unnamed: u64,
}

impl LeftOut {
    /// Takes note of [`super::Part::LeftOut`].
    pub(in crate::test_run::parse) const fn announce(&mut self) {
        self.next = true;
    }

    /// The element was read; the tests from `before` on are its.
    pub(in crate::test_run::parse) fn element(&mut self, cases: &mut Cases, before: usize) {
        if !std::mem::take(&mut self.next) {
            return;
        }
        match before..cases.len() {
            named if named.is_empty() => self.unnamed += 1,
            named => {
                for at in named {
                    let fails = |test: &TestCase| matches!(test.status, TestStatus::Failed | TestStatus::Error);
                    let at = cases.get(at).is_some_and(fails).then_some(at);
                    cases.explain(
                        at,
                        "[… the report says more of this test than is read: parts were left out …]",
                        None,
                    );
                }
            }
        }
    }

    /// Says in the report what no test can say.
    pub(in crate::test_run::parse) fn tell(&self, problems: &mut Problems) {
        if self.unnamed > 0 {
            let text = format!(
                "{} of the report's entries are too long to be read and were left out: an entry may have {} MB",
                self.unnamed,
                LONGEST_OBJECT >> 20
            );
            problems.push(RunKind::Tests, &text, None);
        }
    }
}
