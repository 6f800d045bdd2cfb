//! Automake's `make check`, with both of its harnesses: the parallel one keeps the output of tests in log files, and shows them behind the
//! results with `VERBOSE=1`. The serial one (`serial-tests`) lets it through.
//!
//! Each folder with tests has results and numbers of its own.

use std::collections::VecDeque;

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings};
use crate::needle::Seek as _;
use crate::report::TestStatus;
use crate::{place, stack};

const FRAMEWORK: &str = "automake";
/// The most failures of one folder whose words are kept.
const MOST_EXPLAINED: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// One line a test, and what the serial harness lets through.
    Results,
    /// The output of failing tests, a section each.
    Logs,
    /// The parallel harness's numbers.
    Numbers,
    /// The serial harness's banner.
    Banner,
}

/// A result that is no passing one, whose words may stand further down.
#[derive(Debug)]
struct Unsettled {
    /// `FAIL: sells.sh`: the title of its section.
    title: String,
    case: Option<usize>,
    /// The output before it, which is the test's own with the serial harness.
    before: String,
}

/// Reads automake's harnesses.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    /// Where the tests of this folder begin.
    first: usize,
    /// Where those of the folder before begin.
    before: usize,
    unsettled: VecDeque<Unsettled>,
    /// The section that is open: its test, and its last line without what stands in parentheses.
    section: Option<(Option<usize>, String)>,
    block: Block,
    /// The line before was a rule.
    ruled: bool,
    counts: Counts,
    /// A harness was started.
    started: bool,
    budget: Budget,
    /// Numbers of this folder were seen.
    numbered: bool,
    /// A harness was started, and its end was not seen.
    unfinished: bool,
    ended: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] =
        &["check-TESTS", "Testsuite summary for ", "PASS: ", "FAIL: ", "SKIP: ", "did not behave as expected"];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Results,
            cases: Cases::new(budget),
            first: 0,
            before: 0,
            unsettled: VecDeque::new(),
            section: None,
            block: Block::default(),
            ruled: false,
            counts: Counts::default(),
            started: false,
            budget: budget.clone(),
            numbered: false,
            unfinished: false,
            ended: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        let ruled = std::mem::replace(&mut self.ruled, is_rule(line));
        match self.part {
            Part::Results => self.result_line(line, ruled),
            Part::Logs => self.log_line(line, ruled),
            Part::Numbers => self.number(line),
            Part::Banner => self.below_banner(line),
        }
    }

    fn result_line(&mut self, line: &str, ruled: bool) {
        if ruled && line.starts_with("Testsuite summary for ") {
            self.part = Part::Numbers;
        } else if ruled && line.starts_with("   ") && line.ends_with("test-suite.log") {
            self.part = Part::Logs;
        } else if ruled && let Some(counts) = banner(line) {
            self.serial_ends(&counts);
        } else if ruled && line.starts_with("See ") && line.ends_with("test-suite.log") {
            self.refer_to(line);
        } else if line.starts_with("make") && line.ends_with(" check-TESTS") {
            self.started = true;
            self.unfinished = true;
            self.block.clear();
        } else if let Some((status, name)) = result(line) {
            self.tested(status, name, line);
        } else if !line.starts_with("make[") && !self.ruled {
            self.block.push(line);
        }
    }

    fn tested(&mut self, status: TestStatus, name: &str, title: &str) {
        let case = self.cases.push(name, status);
        let before = self.block.take();
        // The log holds parts of all tests but those that pass.
        let is_kept = !title.starts_with("PASS") && self.unsettled.len() < MOST_EXPLAINED;
        if is_kept && self.budget.take(title.len() + before.len()) {
            self.unsettled.push_back(Unsettled { title: title.to_owned(), case, before });
        }
    }

    /// A line of what failing tests printed: sections in the order of the results, and behind the last one the numbers.
    fn log_line(&mut self, line: &str, ruled: bool) {
        if let Some((_, end)) = &self.section {
            // A part ends with a line like `FAIL add.sh (exit status: 1)`.
            if !line.starts_with(end.as_str()) {
                self.block.push(line);
                return;
            }
            let text = self.block.take();
            let case = self.section.take().and_then(|(case, _)| case);
            self.explain(case, text.trim_start_matches('='));
        } else if let Some(at) = self.unsettled.iter().position(|one| one.title == line) {
            let end = line.replacen(": ", " ", 1) + " (exit status: ";
            self.section = self.unsettled.drain(..=at).next_back().map(|one| (one.case, end));
        } else if ruled && line.starts_with("Testsuite summary for ") {
            self.part = Part::Numbers;
        }
    }

    /// `# TOTAL: 7` … up to a rule.
    fn number(&mut self, line: &str) {
        // The rule below the numbers, not the one above them.
        if self.ruled && self.numbered {
            self.folder_ends();
        }
        let Some((word, number)) = line.strip_prefix("# ").and_then(|rest| rest.cut(":")) else { return };
        let Ok(number) = number.trim().parse::<u64>() else { return };
        let (none, some) = (Counts::default(), Some(number));
        self.counts.add(&match word {
            "TOTAL" => Counts { total: some, ..none },
            "PASS" | "XFAIL" => Counts { passed: some, ..none },
            "SKIP" => Counts { skipped: some, ..none },
            "FAIL" | "XPASS" => Counts { failed: some, ..none },
            "ERROR" => Counts { errors: some, ..none },
            _ => return,
        });
        self.numbered = true;
    }

    /// `(1 test was not run)`, up to a rule.
    fn below_banner(&mut self, line: &str) {
        if let Some(number) = not_run(line) {
            let number = Some(number);
            self.counts.add(&Counts { total: number, skipped: number, ..Counts::default() });
        } else if self.ruled {
            self.folder_ends();
        }
    }

    /// Ends the serial harness's folder. The output that it let through stands before each result, and may look like one.
    fn serial_ends(&mut self, counts: &Counts) {
        // Make splits the list of tests at spaces.
        let is_name = |name: &str| !name.contains(' ');
        // With a space in the name a test printed it.
        self.cases.retain_from(self.first, |test| is_name(&test.name));
        let mut before = String::new();
        for one in std::mem::take(&mut self.unsettled) {
            before.push_str(&one.before);
            if let Some((_, name)) = result(&one.title).filter(|(_, name)| is_name(name)) {
                let case = self.cases.find(name);
                self.explain(case, &std::mem::take(&mut before));
            } else {
                // A line that was printed belongs to the words of the next test.
                before = format!("{before}\n{}\n", one.title);
            }
        }
        self.counts.add(counts);
        // Zero, unless the line below the banner says how many were not run.
        self.counts.add(&Counts { skipped: Some(0), errors: Some(0), ..Counts::default() });
        self.part = Part::Banner;
    }

    /// Gives a test that failed its message.
    fn explain(&mut self, case: Option<usize>, text: &str) {
        let failed =
            |at| self.cases.get(at).is_some_and(|test| matches!(test.status, TestStatus::Failed | TestStatus::Error));
        if case.is_some_and(failed) {
            let text = text.trim();
            self.cases.explain(case, text, stack::place_of(text).or_else(|| place::find(text)));
        }
    }

    /// Says of the failing tests of the folder that has ended where their words are, when they were not printed.
    fn refer_to(&mut self, log: &str) {
        for at in self.before..self.first {
            if self.cases.get(at).is_some_and(|test| test.message.is_empty()) {
                self.explain(Some(at), log);
            }
        }
    }

    fn folder_ends(&mut self) {
        self.part = Part::Results;
        self.ended = true;
        self.numbered = false;
        self.unsettled.clear();
        self.block.clear();
        self.before = std::mem::replace(&mut self.first, self.cases.len());
        // Until the next folder's `make check-TESTS`.
        self.unfinished = false;
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        if !self.ended && (!self.started || self.cases.is_empty()) {
            return None;
        }
        if !self.started {
            // What looks like a result behind the last numbers is not one.
            self.cases.retain_from(self.first, |_| false);
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.ended && !self.unfinished;
        findings.tests = self.cases.into_list();
        Some(findings)
    }
}

fn is_rule(line: &str) -> bool {
    line.len() > 8 && line.bytes().all(|byte| byte == b'=')
}

/// `XFAIL: later.sh`.
fn result(line: &str) -> Option<(TestStatus, &str)> {
    let (word, name) = line.get(..line.len().min(8))?.find(": ").map(|at| line.split_at(at))?;
    let status = match word {
        "PASS" | "XFAIL" => TestStatus::Passed,
        "FAIL" | "XPASS" => TestStatus::Failed,
        "ERROR" => TestStatus::Error,
        "SKIP" => TestStatus::Skipped,
        _ => return None,
    };
    let name = name.get(2..)?.trim_end();
    (!name.is_empty()).then_some((status, name))
}

/// The serial harness's last words: `All 3 tests passed`, `1 test passed`, `All 3 tests behaved as expected (1 expected failure)`,
/// `2 of 7 tests failed`, `4 of 6 tests did not behave as expected (1 unexpected pass)`.
fn banner(line: &str) -> Option<Counts> {
    const GOOD: [&str; 2] = ["passed", "behaved as expected ("];
    const BAD: [&str; 2] = ["failed", "did not behave as expected ("];
    let (number, rest) = line.strip_prefix("All ").unwrap_or(line).cut_word()?;
    let number: u64 = number.parse().ok()?;
    let (failed, total, words) = match rest.strip_prefix("of ").and_then(|rest| rest.cut_word()) {
        Some((total, rest)) => (number, total.parse().ok()?, rest),
        None => (0, number, rest),
    };
    let words = words.strip_prefix("tests ").or_else(|| words.strip_prefix("test "))?;
    let said = if failed > 0 { BAD } else { GOOD };
    if words != said[0] && !words.starts_with(said[1]) {
        return None;
    }
    let passed = total.checked_sub(failed)?;
    Some(Counts { total: Some(total), passed: Some(passed), failed: Some(failed), skipped: None, errors: None })
}

/// `(2 tests were not run)`, below the banner.
fn not_run(line: &str) -> Option<u64> {
    let (number, rest) = line.strip_prefix('(')?.cut_word()?;
    matches!(rest, "test was not run)" | "tests were not run)").then(|| number.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "===========================\n";

    fn of(log: &str) -> Option<Findings> {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None)
    }

    #[test]
    fn a_serial_banner_gives_the_numbers() {
        let numbers = |text: &str| banner(text).map(|counts| (counts.failed.unwrap(), counts.total.unwrap()));
        assert_eq!(numbers("All 3 tests passed"), Some((0, 3)));
        assert_eq!(numbers("1 test passed"), Some((0, 1)));
        assert_eq!(numbers("All 3 tests behaved as expected (1 expected failure)"), Some((0, 3)));
        assert_eq!(numbers("2 of 7 tests failed"), Some((2, 7)));
        assert_eq!(numbers("4 of 6 tests did not behave as expected (1 unexpected pass)"), Some((4, 6)));
        for other in ["3 of 2 tests failed", "All is well", "2 tests failed", "3 passed", ""] {
            assert_eq!(numbers(other), None, "{other}");
        }
    }

    #[test]
    fn a_green_folder_is_counted() {
        let log = format!("PASS: a.sh\nSKIP: b.sh\n{RULE}1 test passed\n(1 test was not run)\n{RULE}PASS: printed\n");
        let found = of(&log).unwrap();
        let counts = (found.counts.total, found.counts.passed, found.counts.failed, found.counts.skipped);
        assert_eq!(counts, (Some(2), Some(1), Some(0), Some(1)));
        assert_eq!(found.tests.len(), 2);
        assert!(found.finished);
    }

    #[test]
    fn a_harness_that_did_not_end_is_unfinished_and_other_peoples_passes_are_not_automakes() {
        let found = of("make  check-TESTS\nPASS: a.sh\n").unwrap();
        assert!(!found.finished);
        assert_eq!(found.tests.len(), 1);
        assert!(of("PASS: shop :: a.txt (1 of 2)\nFAIL: shop :: b.txt (2 of 2)\n").is_none());
    }

    #[test]
    fn the_second_folder_may_fail_to_begin() {
        let first = format!(
            "make  check-TESTS\nPASS: a.sh\n{RULE}Testsuite summary for x 1\n{RULE}# TOTAL: 1\n# PASS:  1\n# SKIP:  0\n# XFAIL: 0\n# FAIL:  0\n# XPASS: 0\n# ERROR: 0\n{RULE}"
        );
        assert!(of(&first).unwrap().finished);
        assert!(!of(&format!("{first}make  check-TESTS\n")).unwrap().finished);
    }
}
