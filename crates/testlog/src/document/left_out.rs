//! The report's notes on parts of a document that were too long: of one entry, or beside its entries.

use super::{JsonDocument, LONGEST_OBJECT};
use crate::findings::{Cases, Problems};
use crate::report::{RunKind, TestCase, TestStatus};

/// Keeps account of the elements of which something was left out.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// The element that comes next is one.
    next: bool,
    /// How many did not even name their test.
    unnamed: u64,
    /// A report says too much beside its lists.
    beside: bool,
}

impl LeftOut {
    /// Takes note of [`super::Part::LeftOut`].
    pub(crate) const fn announce(&mut self) {
        self.next = true;
    }

    /// Takes note that the element was read. The tests from `before` on are its.
    pub(crate) fn element(&mut self, cases: &mut Cases, before: usize) {
        if !std::mem::take(&mut self.next) {
            return;
        }
        // Only the tests that came of this element, of which there may be none.
        match before..cases.len() {
            named if named.is_empty() => self.unnamed += 1,
            named => {
                for at in named {
                    let fails = |test: &TestCase| matches!(test.status, TestStatus::Failed | TestStatus::Error);
                    // A passing test has nothing to explain.
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

    /// The document, which was a report, has ended.
    pub(crate) const fn report(&mut self, document: &JsonDocument) {
        self.beside |= document.is_cut();
    }

    /// Says in the report what no test can say.
    pub(crate) fn tell(&self, problems: &mut Problems) {
        if self.unnamed > 0 {
            let text = format!(
                "{} of the report's entries are too long to be read and were left out: an entry may have {} MB",
                self.unnamed,
                LONGEST_OBJECT >> 20
            );
            problems.push(RunKind::Tests, &text, None);
        }
        if self.beside {
            let text = format!(
                "the report says more beside its tests than is read: what follows the first {} MB of that was left out",
                LONGEST_OBJECT >> 20
            );
            problems.push(RunKind::Tests, &text, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LONGEST_OBJECT;

    #[test]
    fn every_reader_says_that_a_report_holds_more_than_is_read() {
        let reports = [
            (
                "jest",
                r#""numTotalTests":1,"numPassedTests":1,"numFailedTests":0,"numPendingTests":0,MORE,"testResults":[]"#,
            ),
            ("mocha", r#""stats":{"passes":1,"pending":0,"failures":0},MORE,"passes":[{"fullTitle":"a"}]"#),
            (
                "rspec",
                r#""version":"3.13.0","summary":{"example_count":1,"failure_count":0,"pending_count":0},MORE,"examples":[]"#,
            ),
            ("pytest", r#""exitcode":0,"summary":{"total":1},MORE,"tests":[{"nodeid":"a","outcome":"passed"}]"#),
            ("googletest", r#""tests":1,"failures":0,"testsuites":[{"name":"A","testsuite":[{"name":"a"}]}],MORE"#),
        ];
        let many: Vec<String> =
            (0..LONGEST_OBJECT / 32).map(|at| format!("\"k{at}\":\"{}\"", "x".repeat(32))).collect();
        for (framework, report) in reports {
            for (more, is_said) in [(many.join(",").as_str(), true), ("\"k\":1", false)] {
                let log = format!("{{{}}}\n{{\"other\":1}}\n", report.replace("MORE", more));
                let read = crate::parser::read(&mut log.as_bytes(), None, Some(framework)).unwrap();
                let says = read.report.problems.iter().any(|problem| problem.message.contains("beside its tests"));
                assert_eq!(says, is_said, "{framework}: {:?}", read.report.problems);
            }
        }
    }
}
