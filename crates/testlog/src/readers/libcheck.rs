//! Check, the unit test framework for C: what tests print, then the numbers, then a line for each result that its verbosity
//! shows.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings};
use crate::needle::Seek as _;
use crate::report::TestStatus;

const FRAMEWORK: &str = "libcheck";

/// Where in a program's output we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Outside,
    /// Behind `Running suite(s):`, where tests may print anything.
    Tests,
    /// Behind the numbers.
    Results,
}

/// `cart_check.c:4:F:Core:sells:0: no`.
struct Result<'a> {
    file: &'a str,
    line: u32,
    status: TestStatus,
    /// `Core:sells`, and behind another colon the number of a loop test's row.
    name: &'a str,
    message: &'a str,
}

/// Reads Check.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    /// Where the tests of this program begin.
    first: usize,
    /// How many failures of this program are still to be listed.
    awaited: u64,
    open: Option<usize>,
    block: Block,
    /// The numbers of the programs before, and of this one.
    before: Counts,
    counts: Counts,
    started: u64,
    ended: u64,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &["Running suite(s):", "%: Checks: "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Outside,
            cases: Cases::new(budget),
            first: 0,
            awaited: 0,
            open: None,
            block: Block::default(),
            before: Counts::default(),
            counts: Counts::default(),
            started: 0,
            ended: 0,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Running suite(s):") {
            self.starts();
            // Without a suite the numbers stand in the same line.
            self.numbers(rest);
        } else if self.part == Part::Outside || self.numbers(line) || self.part == Part::Tests {
        } else if let Some(result) = result(line) {
            self.result(&result);
        } else if self.open.is_some() {
            // The last bad result's message may have further lines, but no empty one.
            if self.awaited == 0 && (line.is_empty() || line.starts_with("make")) {
                self.settle();
            } else {
                self.block.push(line);
            }
        }
    }

    /// A program begins. Two may not be at work at once.
    fn starts(&mut self) {
        self.settle();
        self.before.add(&self.counts);
        self.counts = Counts::default();
        self.first = self.cases.len();
        self.started += 1;
        self.part = Part::Tests;
    }

    /// `14%: Checks: 7, Failures: 3, Errors: 3`. Tests may print such a line before: the last one holds.
    fn numbers(&mut self, line: &str) -> bool {
        let Some((counts, bad)) = numbers(line) else { return false };
        // Numbers come once: a test printed the earlier ones.
        if self.part == Part::Results {
            self.settle();
            self.cases.retain_from(self.first, |_| false);
        } else {
            self.ended += 1;
        }
        self.part = Part::Results;
        self.counts = counts;
        self.awaited = bad;
        true
    }

    fn result(&mut self, result: &Result<'_>) {
        self.settle();
        let at = self.cases.push(result.name, result.status);
        if result.status != TestStatus::Passed {
            self.awaited = self.awaited.saturating_sub(1);
            self.cases.explain(at, "", Some((result.file.to_owned(), result.line)));
            self.block.push(result.message);
            self.open = at;
        }
    }

    fn settle(&mut self) {
        let text = self.block.take();
        self.cases.explain(self.open.take(), &text, None);
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        if self.started == 0 {
            return None;
        }
        // This adds the numbers of the last program, and counts one more as started.
        self.starts();
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.before;
        findings.finished = self.started == self.ended + 1;
        findings.tests = self.cases.into_list();
        Some(findings)
    }
}

/// The numbers, and how many results are not good. Printed numbers must add up.
fn numbers(line: &str) -> Option<(Counts, u64)> {
    let (percent, rest) = line.cut("%: Checks: ")?;
    let (checks, rest) = rest.cut(", Failures: ")?;
    let (failed, errors) = rest.cut(", Errors: ")?;
    let number = |text: &str| text.parse::<u64>().ok();
    let (percent, checks, failed, errors) = (number(percent)?, number(checks)?, number(failed)?, number(errors)?);
    let bad = failed.checked_add(errors)?;
    let passed = checks.checked_sub(bad)?;
    // The share is printed without its fraction.
    let share = passed.checked_mul(100)?.checked_div(checks).unwrap_or(100);
    if share.abs_diff(percent) > 1 {
        return None;
    }
    let counts =
        Counts { total: Some(checks), passed: Some(passed), failed: Some(failed), skipped: None, errors: Some(errors) };
    Some((counts, bad))
}

fn result(line: &str) -> Option<Result<'_>> {
    let letters = [
        (":F:", TestStatus::Failed),
        (":E:", TestStatus::Error),
        (":P:", TestStatus::Passed),
        // A fixture failed, which Check counts among the failures.
        (":S:", TestStatus::Failed),
    ];
    letters.into_iter().find_map(|(letter, status)| {
        let (at, rest) = line.cut(letter)?;
        let (file, number) = at.cut_last(":")?;
        let (name, message) = split_name(rest)?;
        Some(Result { file, line: number.parse().ok()?, status, name, message })
    })
}

/// `Core:sells:0: no`: the name without the number of a test that is no loop, and the message. A case may be named
/// with colons, a test may not.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let ends = memchr::memchr_iter(b':', text.as_bytes());
    ends.filter_map(|end| text.split_at_checked(end)).find_map(|(before, after)| {
        let message = after.strip_prefix(": ")?;
        let (name, row) = before.cut_last(":")?;
        let (_, test) = name.cut_last(":")?;
        let is_test = test.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let row: u64 = row.parse().ok().filter(|_| is_test && !test.is_empty())?;
        Some((if row == 0 { name } else { before }, message))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str) -> Option<Findings> {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None)
    }

    fn seen(found: &Findings) -> Vec<(&str, &str)> {
        found.tests.iter().map(|test| (test.name.as_str(), test.message.as_str())).collect()
    }

    #[test]
    fn rows_of_loops_are_told_apart_and_messages_may_have_lines() {
        let found = of("Running suite(s): Cart\n Till\n66%: Checks: 6, Failures: 2, Errors: 0\n\
                        ck.c:5:F:Core:rows:2: row 2: two\nlines: here\nck.c:7:F:the: till:colon:0: a:b:3: c\nmore\nmake: *** [check] Error 1\n");
        let found = found.unwrap();
        let expected = [("Core:rows:2", "row 2: two\nlines: here"), ("the: till:colon", "a:b:3: c\nmore")];
        assert_eq!(seen(&found), expected);
        assert_eq!((found.counts.total, found.counts.passed, found.finished), (Some(6), Some(4), true));
    }

    #[test]
    fn no_tests_are_a_whole_run() {
        let found = of("Running suite(s):100%: Checks: 0, Failures: 0, Errors: 0\n").unwrap();
        assert_eq!((found.counts.total, found.finished), (Some(0), true));
    }

    #[test]
    fn a_second_program_that_died_leaves_the_run_unfinished() {
        let first = "Running suite(s): A\n100%: Checks: 2, Failures: 0, Errors: 0\n";
        assert!(of(&first.repeat(2)).unwrap().finished);
        assert_eq!(of(&first.repeat(2)).unwrap().counts.total, Some(4));
        let found = of(&format!("{first}Running suite(s): B\n0%: Checks: 3, Failures: 0, Errors: 0\n")).unwrap();
        assert!(!found.finished);
        assert!(of("100%: Checks: 2, Failures: 0, Errors: 0\na.c:3:F:Core:x:0: no\n").is_none());
    }

    #[test]
    fn what_a_test_prints_before_the_numbers_is_no_result() {
        let found = of("Running suite(s): A\na.c:3:F:Core:x:0: no\n100%: Checks: 1, Failures: 0, Errors: 0\n\
                        a.c:4:F:Core:y:0: no\n 50%: Checks: 2, Failures: 1, Errors: 0\n50%: Checks: 2, Failures: 1, Errors: 0\n\
                        a.c:5:S:Core:z:0: no\n");
        let found = found.unwrap();
        assert_eq!(seen(&found), [("Core:z", "no")]);
        assert_eq!((found.counts.total, found.finished), (Some(2), true));
    }
}
