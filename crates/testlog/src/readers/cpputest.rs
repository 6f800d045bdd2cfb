//! CppUTest: dots, with `-v` a line for each test. Failures stand where they happen, and numbers at the end.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems, sum};
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, TestCase, TestStatus};

const FRAMEWORK: &str = "cpputest";
const FAILURE: &str = ": error: Failure in ";

/// Reads CppUTest.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    /// Where the tests of this program begin.
    first: usize,
    /// With `-v`, the test that began and has not ended. Empty when there is none.
    running: String,
    /// The failure whose words are being collected.
    open: Option<usize>,
    place: Option<(String, u32)>,
    block: Block,
    counts: Counts,
    ended: bool,
    /// A failure or a test's time was seen, which nobody else writes so.
    recognised: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &["TEST(", " filtered out, "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            first: 0,
            running: String::new(),
            open: None,
            place: None,
            block: Block::default(),
            counts: Counts::default(),
            ended: false,
            recognised: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.open.is_some() {
            self.more(line);
        } else if let Some((place, name)) = line.cut(FAILURE).and_then(|(place, rest)| Some((place, test(rest)?.0))) {
            self.fails(place, name);
        } else if let Some((name, rest)) = test(line) {
            self.runs(name, rest);
        } else if !self.running.is_empty() && is_time(line) {
            self.passes();
        } else if let Some(numbers) = numbers(line) {
            self.program_ends(&numbers);
        }
    }

    /// A line of a failure, up to an empty one.
    fn more(&mut self, line: &str) {
        if line.trim().is_empty() {
            self.settle();
        } else if let Some(place) = line.strip_suffix(": error:").filter(|_| self.block.is_empty()) {
            // It happened in another file than the test's.
            self.place = place_of(place).or_else(|| self.place.take());
        } else {
            self.block.push(line.strip_prefix('\t').unwrap_or(line));
        }
    }

    /// `TEST(Cart, adds) - 0 ms`, or with the time further down.
    fn runs(&mut self, name: &str, rest: &str) {
        // A test that was left without its time: the next one shows that it ended.
        self.passes();
        // An ignored test has its time in the same line.
        if name.starts_with("IGNORE_") && is_time(rest) {
            self.recognised = true;
            self.cases.push(name, TestStatus::Skipped);
            return;
        }
        name.clone_into(&mut self.running);
        if is_time(rest) {
            self.recognised = true;
            self.passes();
        }
    }

    fn passes(&mut self) {
        if self.running.is_empty() {
            return;
        }
        if self.current(&self.running).is_none() {
            self.cases.push(&self.running, TestStatus::Passed);
        }
        self.running.clear();
    }

    /// The last test that was named, when it is this one of this program.
    fn current(&self, name: &str) -> Option<usize> {
        // A test may fail several times, one behind the other.
        let last = self.cases.len().checked_sub(1).filter(|last| *last >= self.first)?;
        self.cases.get(last).filter(|test| test.name == name).map(|_| last)
    }

    fn fails(&mut self, place: &str, name: &str) {
        // Another test's failure was printed by this one.
        if !self.running.is_empty() && self.running != name {
            return;
        }
        self.recognised = true;
        self.open = self.current(name).or_else(|| self.cases.push(name, TestStatus::Failed));
        self.place = place_of(place);
    }

    fn settle(&mut self) {
        let text = self.block.take();
        self.cases.explain(self.open.take(), &text, self.place.take());
    }

    fn program_ends(&mut self, numbers: &Numbers) {
        self.passes();
        let failed = |test: &&TestCase| test.status == TestStatus::Failed;
        let named = self.cases.iter().skip(self.first).filter(failed).count().try_into().unwrap_or(u64::MAX);
        // A test that failed and leaked as well counts twice.
        let failed = if named == 0 { numbers.failures } else { numbers.failures.min(named) };
        self.counts.add(&Counts {
            total: Some(sum(&[numbers.ran, numbers.ignored])),
            passed: Some(numbers.ran.saturating_sub(failed)),
            failed: Some(failed),
            skipped: Some(numbers.ignored),
            errors: None,
        });
        self.first = self.cases.len();
        self.ended = true;
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if !self.recognised && !self.ended {
            return None;
        }
        if self.recognised && !self.running.is_empty() && self.current(&self.running).is_none() {
            self.problems.push(RunKind::Crash, &format!("{} did not end", self.running), None);
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.ended && self.running.is_empty() && self.cases.len() == self.first;
        if self.ended && !self.recognised {
            // What looks like a test stood in a compiler's words.
            self.cases.retain_from(0, |_| false);
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// `TEST(Cart, adds)` or `IGNORE_TEST(Cart, later)` at the beginning, and what stands behind.
fn test(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("IGNORE_").unwrap_or(line).strip_prefix("TEST(")?;
    let (inside, rest) = rest.cut(")")?;
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80);
    let (group, name) = inside.cut(", ")?;
    let end = line.len().checked_sub(rest.len())?;
    (is_name(group) && is_name(name) && !name.is_empty()).then_some((line.get(..end)?, rest))
}

/// ` - 12 ms`, behind what a test printed without an end of its line.
fn is_time(text: &str) -> bool {
    let number = text.strip_suffix(" ms").and_then(|text| text.cut_last(" - "));
    number.is_some_and(|(_, number)| number.parse::<u64>().is_ok())
}

/// `cpu.cpp:6`.
fn place_of(text: &str) -> Option<(String, u32)> {
    place::find(&format!("{text}:"))
}

/// The numbers at the end.
struct Numbers {
    failures: u64,
    ran: u64,
    ignored: u64,
}

/// `Errors (2 failures, 4 tests, 3 ran, 3 checks, 1 ignored, 0 filtered out, 0 ms)`, `OK (4 tests, 3 ran, …)`, and
/// `Errors (ran nothing, 4 tests, 0 ran, …)`.
fn numbers(line: &str) -> Option<Numbers> {
    let inside = line.strip_prefix("OK (").or_else(|| line.strip_prefix("Errors ("))?.strip_suffix(" ms)")?;
    let of = |word: &str| {
        let part = inside.split(", ").find_map(|part| part.strip_suffix(word))?;
        part.parse::<u64>().ok()
    };
    of(" filtered out")?;
    Some(Numbers { failures: of(" failures").unwrap_or(0), ran: of(" ran")?, ignored: of(" ignored")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str) -> Option<Findings> {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None)
    }

    fn seen(found: &Findings) -> Vec<(&str, TestStatus, &str, Option<u32>)> {
        found.tests.iter().map(|test| (test.name.as_str(), test.status, test.message.as_str(), test.line)).collect()
    }

    const GREEN: &str = ".\nOK (4 tests, 1 ran, 1 checks, 0 ignored, 3 filtered out, 0 ms)\n\n";

    #[test]
    fn a_failure_in_another_file_is_placed_there() {
        let found = of(
            "..\na.cpp:6: error: Failure in TEST(Cart, names)\nhelp.h:9: error:\n\texpected <1>\n\tbut was  <2>\n\n.\n\
                        Errors (1 failures, 3 tests, 3 ran, 3 checks, 0 ignored, 0 filtered out, 1 ms)\n",
        );
        let found = found.unwrap();
        let expected = [("TEST(Cart, names)", TestStatus::Failed, "expected <1>\nbut was  <2>", Some(9))];
        assert_eq!(seen(&found), expected);
        assert_eq!((found.counts.total, found.counts.passed, found.finished), (Some(3), Some(2), true));
    }

    #[test]
    fn what_a_test_prints_with_v_does_not_hide_its_end() {
        let found = of(
            "TEST(Cart, prints)hello\nb.cpp:1: error: Failure in TEST(Other, x)\nbye - 0 ms\nIGNORE_TEST(Cart, later) - 0 ms\n\
                        TEST(Cart, adds) - 3 ms\n\nOK (3 tests, 2 ran, 1 checks, 1 ignored, 0 filtered out, 0 ms)\n",
        );
        let found = found.unwrap();
        let names: Vec<_> = found.tests.iter().map(|test| (test.name.as_str(), test.status)).collect();
        let expected = [
            ("TEST(Cart, prints)", TestStatus::Passed),
            ("IGNORE_TEST(Cart, later)", TestStatus::Skipped),
            ("TEST(Cart, adds)", TestStatus::Passed),
        ];
        assert_eq!(names, expected);
        assert!(found.finished);
    }

    #[test]
    fn a_program_that_died_is_unfinished() {
        let died = "TEST(Cart, adds) - 0 ms\nTEST(Cart, dies)\n";
        assert!(!of(died).unwrap().finished);
        assert_eq!(of(died).unwrap().problems.first().unwrap().message, "TEST(Cart, dies) did not end");
        assert!(!of(&format!("{GREEN}{died}")).unwrap().finished);
        let found = of(&GREEN.repeat(2)).unwrap();
        assert_eq!((found.counts.total, found.counts.failed, found.finished), (Some(2), Some(0), true));
    }

    #[test]
    fn source_text_is_no_log() {
        assert!(of("a.cpp:5:1: error: expected ';'\n    5 | TEST(Cart, adds) { x }\nTEST(Cart, adds)\n").is_none());
        assert!(numbers("OK (3 tests, 3 assertions)").is_none());
    }
}
