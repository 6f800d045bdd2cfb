//! Playwright Test: its reporters list, line, dot and github.
//!
//! Only list names the tests that passed. Failures stand in numbered blocks whose titles may go on with the step that failed. A test that
//! is expected to fail is drawn like one that does. The lists at the end say which tests failed: theirs is the last word, and a test's
//! earlier output that looks like an end is none.
//!
//! Names are the framework's titles without line and column, which move with every edit.

use std::collections::BTreeSet;

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "playwright";
/// Between the parts of a title.
const PART: &str = " › ";
/// The filling of the lines of titles.
const RULE: char = '─';
/// More titles than these are not remembered from one end.
const MOST_NAMED: usize = 10_000;
/// No step stands deeper in others.
const MOST_STEPS: usize = 16;
/// More titles than these are not looked for by their steps.
const MOST_SEARCHED: usize = 500;

/// A list of titles at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Failed,
    Flaky,
    Other,
}

/// The lists and numbers of the end: the last one counts.
#[derive(Debug, Default)]
struct End {
    seen: bool,
    /// The line before was a part of it.
    open: bool,
    counts: Counts,
    list: Option<List>,
    named: Vec<(List, String)>,
}

/// Reads Playwright.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    /// A run was announced, of how many tests, and where they begin.
    running: bool,
    planned: u64,
    start: usize,
    end: End,
    searched: usize,
    /// The test whose block is being read, if it still counts, and the block.
    failure: Option<usize>,
    block: Block,
    sum: Counts,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[" tests using ", " test using ", "Error: No tests found"];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            running: false,
            planned: 0,
            start: 0,
            end: End::default(),
            searched: 0,
            failure: None,
            block: Block::default(),
            sum: Counts::default(),
            finished: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if !self.running {
            self.outside(line);
            return;
        }
        if line.is_empty() {
            self.more(line);
            return;
        }
        let is_end = line.starts_with("  ") && (self.number(line) || self.listed(line));
        if !is_end {
            self.end.open = false;
            self.end.list = None;
            let shown = line.starts_with("  ") && (self.header(line) || self.result(line));
            let known = shown || (self.end.seen && self.announced(line));
            if !known {
                self.more(line);
            }
        }
    }

    /// Before the first run.
    fn outside(&mut self, line: &str) {
        if line.starts_with("Error: No tests found") {
            self.problems.push(RunKind::NoTests, line, None);
        } else {
            self.announced(line);
        }
    }

    /// `Running 14 tests using 2 workers, shard 1 of 2`.
    fn announced(&mut self, line: &str) -> bool {
        let told = || {
            let (number, rest) = line.strip_prefix("Running ")?.cut_word()?;
            let number = number.parse::<u64>().ok()?;
            rest.strip_prefix("tests using ").or_else(|| rest.strip_prefix("test using ")).map(|_| number)
        };
        let Some(planned) = told() else { return false };
        self.run_ends();
        self.planned = planned;
        self.running = true;
        self.start = self.cases.len();
        true
    }

    /// `  8 failed`, `  1 did not run`, `  3 passed (9.1s)`.
    fn number(&mut self, line: &str) -> bool {
        let Some((number, word)) = line.get(2..).and_then(|rest| rest.cut_word()) else { return false };
        let Ok(number) = number.parse::<u64>() else { return false };
        let one = |to: &mut Option<u64>| *to = Some(to.unwrap_or(0) + number);
        let is_passed = word == "passed" || (word.starts_with("passed (") && word.ends_with(')'));
        let is_error = word.starts_with("error was not a part") || word.starts_with("errors were not a part");
        let known = ["failed", "interrupted", "flaky", "skipped", "did not run"].contains(&word);
        if !known && !is_passed && !is_error {
            return false;
        }
        // Earlier numbers were no end, or these would not come.
        if !self.end.open {
            self.settle();
            self.end = End { seen: true, open: true, ..End::default() };
        }
        let end = &mut self.end;
        match word {
            "failed" | "interrupted" => one(&mut end.counts.failed),
            "skipped" | "did not run" => one(&mut end.counts.skipped),
            _ if is_error => one(&mut end.counts.errors),
            _ => one(&mut end.counts.passed),
        }
        end.list = Some(match word {
            "failed" | "interrupted" => List::Failed,
            "flaky" => List::Flaky,
            _ => List::Other,
        });
        true
    }

    /// `    [unit] › tests/cart.spec.ts:5:7 › cart › takes a discount ───`, behind a number.
    fn listed(&mut self, line: &str) -> bool {
        let (Some(list), Some(title)) = (self.end.list, line.strip_prefix("    ").and_then(title)) else {
            return false;
        };
        if list != List::Other && self.end.named.len() < MOST_NAMED {
            self.end.named.push((list, title.to_owned()));
        }
        true
    }

    /// `  1) [unit] › tests/cart.spec.ts:5:7 › cart › takes a discount › step ───`.
    fn header(&mut self, line: &str) -> bool {
        let Some((number, rest)) = line.trim_start().cut(") ") else { return false };
        let Some(title) = title(rest).filter(|_| number.parse::<u64>().is_ok()) else { return false };
        self.settle();
        // Behind an end there are no failures, so it was none.
        self.end = End::default();
        self.failure = self.known(title).or_else(|| self.cases.push(title, TestStatus::Failed));
        true
    }

    /// `  ✓   1 [unit] › tests/cart.spec.ts:4:7 › cart › adds (15ms)`.
    fn result(&mut self, line: &str) -> bool {
        let told = || {
            let (mark, rest) = line.trim_start().cut_word()?;
            let status = match mark {
                "✓" | "ok" => TestStatus::Passed,
                "✘" | "x" => TestStatus::Failed,
                "-" => TestStatus::Skipped,
                _ => return None,
            };
            let (number, rest) = rest.trim_start().cut_word()?;
            number.parse::<u64>().ok()?;
            Some((status, title(without_times(rest))?))
        };
        let Some((status, title)) = told() else { return false };
        self.settle();
        self.end = End::default();
        // A later attempt decides.
        match self.find(title).and_then(|at| self.cases.get_mut(at)) {
            Some(test) => test.status = status,
            None => drop(self.cases.push(title, status)),
        }
        true
    }

    /// A line of a block, whose first attempt is read.
    fn more(&mut self, line: &str) {
        if self.failure.is_none() {
            return;
        }
        let text = line.strip_prefix("    ").unwrap_or(line);
        // Each attempt has words of its own, and those of the first are kept.
        if text.starts_with("Retry #") && text.ends_with(RULE) {
            self.settle();
        } else {
            self.block.push(text);
        }
    }

    fn settle(&mut self) {
        if let Some(at) = self.failure.take() {
            let text = self.block.take();
            self.cases.explain(Some(at), text.trim_matches('\n'), stack::place_of(&text));
        }
    }

    /// A test of this run.
    fn find(&mut self, title: &str) -> Option<usize> {
        self.cases.find(title).filter(|at| *at >= self.start)
    }

    /// A test of this run by the title of its block, whose last parts may be steps.
    fn known(&mut self, title: &str) -> Option<usize> {
        let mut rest = title;
        for _ in 0..MOST_STEPS {
            if let Some(at) = self.find(rest) {
                return Some(at);
            }
            rest = rest.rsplit_once(PART)?.0;
        }
        None
    }

    /// Takes the end's word for what failed.
    fn run_ends(&mut self) {
        self.settle();
        let end = std::mem::take(&mut self.end);
        let Counts { passed, failed: failing, skipped, errors, .. } = end.counts;
        let total = [passed, failing, skipped].into_iter().flatten().sum();
        // An end that does not add up was printed by a test, or is cut.
        self.finished = end.seen && total == self.planned;
        if !self.finished {
            return;
        }
        let named = end.named.iter().filter(|(list, _)| *list == List::Failed).count();
        let all_named = u64::try_from(named).unwrap_or(u64::MAX) >= failing.unwrap_or(0);
        let mut failed = BTreeSet::new();
        for (list, title) in &end.named {
            let Some(at) = self.find(title).or_else(|| self.by_step(title)) else {
                if *list == List::Failed {
                    failed.extend(self.cases.push(title, TestStatus::Failed));
                }
                continue;
            };
            if *list == List::Failed {
                failed.insert(at);
            }
        }
        for at in self.start..self.cases.len() {
            let Some(test) = self.cases.get_mut(at) else { continue };
            if failed.contains(&at) {
                test.status = TestStatus::Failed;
            } else if test.status == TestStatus::Failed && all_named {
                // It was expected to fail, or a later attempt passed.
                test.status = TestStatus::Passed;
                test.message.clear();
            }
        }
        let known = |number: Option<u64>| Some(number.unwrap_or(0));
        self.sum.add(&Counts {
            total: Some(total),
            passed: known(passed),
            failed: known(failing),
            skipped: known(skipped),
            errors: known(errors),
        });
        self.running = false;
    }

    /// The test of this run that is known by a title with the step behind it, which it loses.
    fn by_step(&mut self, title: &str) -> Option<usize> {
        self.searched += 1;
        if self.searched > MOST_SEARCHED {
            return None;
        }
        let is_it = |name: &str| name.strip_prefix(title).is_some_and(|rest| rest.starts_with(PART));
        let at = (self.start..self.cases.len()).find(|at| self.cases.get(*at).is_some_and(|test| is_it(&test.name)))?;
        self.cases.get_mut(at)?.name.truncate(title.len());
        Some(at)
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        if !self.running && self.problems.is_empty() && !self.finished {
            return None;
        }
        if self.running {
            self.run_ends();
        }
        let mut findings = Findings::new(FRAMEWORK);
        if self.finished {
            findings.counts = self.sum;
        }
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        for test in &mut findings.tests {
            let Some((start, length, found)) = place_in(&test.name) else { continue };
            if test.file.is_none() {
                (test.file, test.line) = (Some(found.0), Some(found.1));
            }
            test.name.replace_range(start..start + length, "");
        }
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// A title with its rule gone. It names a place.
fn title(text: &str) -> Option<&str> {
    let title = text.trim_end_matches(RULE).trim();
    place_in(title).map(|_| title)
}

/// Where `:5:7` stands in a title and how long it is, and the file and line.
fn place_in(title: &str) -> Option<(usize, usize, (String, u32))> {
    // Such as `[chromium] › tests/cart.spec.ts:5:7 › adds`.
    let first = if title.starts_with('[') { title.find("] › ")? + "] › ".len() } else { 0 };
    let rest = title.get(first..)?;
    let part = rest.split(PART).next()?;
    let (head, column) = part.rsplit_once(':')?;
    let (file, line) = head.rsplit_once(':')?;
    column.parse::<u32>().ok()?;
    let line = place::leading_number(line).filter(|_| line.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some((first + file.len(), part.len() - file.len(), (file.to_owned(), line)))
}

/// `adds (retry #1) (15ms)` → `adds`.
fn without_times(text: &str) -> &str {
    let text = text.trim_end();
    let timed = text.strip_suffix(')').and_then(|head| head.rsplit_once(" ("));
    let is_time = |word: &str| {
        let number = word.trim_end_matches(|end: char| end.is_ascii_alphabetic());
        number.len() < word.len() && number.parse::<f64>().is_ok()
    };
    let text = timed.filter(|(_, word)| is_time(word)).map_or(text, |(head, _)| head.trim_end());
    let retried = text.strip_suffix(')').and_then(|head| head.rsplit_once(" (retry #"));
    retried.map_or(text, |(head, _)| head.trim_end())
}

#[cfg(test)]
mod tests {
    use crate::exit::Exit;
    use crate::parser::read;
    use crate::report::{Report, RunStatus};

    fn of(log: &str, code: i32) -> Report {
        read(&mut log.as_bytes(), Some(Exit::Code { code }), None).unwrap().report
    }

    #[test]
    fn steps_are_no_part_of_a_name_and_a_test_named_like_a_describe_is_told_apart() {
        let report = of(
            "Running 3 tests using 1 worker\nFF·\n\n  1) a.spec.ts:3:5 › cart › fill › press ──\n\n    Error: no\n\n  2) a.spec.ts:9:5 › \
             cart ──\n\n    Error: neither\n\n  2 failed\n    a.spec.ts:3:5 › cart › fill ──\n    a.spec.ts:9:5 › cart ──\n  1 passed (1.0s)\n",
            1,
        );
        let seen: Vec<_> =
            report.failing().map(|test| (test.name.as_str(), test.message.as_str(), test.line)).collect();
        assert_eq!(
            seen,
            [("a.spec.ts › cart › fill", "Error: no", Some(3)), ("a.spec.ts › cart", "Error: neither", Some(9))]
        );
        assert_eq!((report.total, report.passed), (Some(3), Some(1)));
    }

    #[test]
    fn an_end_that_a_test_printed_is_none() {
        let report = of(
            "Running 2 tests using 1 worker\n\n  1 failed\n    a.spec.ts:1:1 › x ──\n  ✓  1 a.spec.ts:3:5 › one (1ms)\n  ✓  2 \
             a.spec.ts:4:5 › two (2ms)\n\n  2 passed (1.0s)\n",
            0,
        );
        assert_eq!((report.status, report.failed, report.passed), (RunStatus::Passed, Some(0), Some(2)));
        assert_eq!(report.tests.len(), 2);
    }

    #[test]
    fn a_run_without_its_end_is_not_believed_and_two_runs_add_up() {
        let cut = "Running 2 tests using 1 worker\n\n  ✓  1 a.spec.ts:3:5 › one (1ms)\n";
        let cut = read(&mut cut.as_bytes(), None, None).unwrap().report;
        assert_eq!((cut.status, cut.total), (RunStatus::Error, None), "{cut:?}");
        let one = "Running 1 test using 1 worker\n\n  ✓  1 a.spec.ts:3:5 › one (1ms)\n\n  1 passed (1.0s)\n";
        let two = of(&one.repeat(2), 0);
        assert_eq!((two.status, two.total, two.tests.len()), (RunStatus::Passed, Some(2), 2));
    }
}
