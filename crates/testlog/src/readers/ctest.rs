//! CTest: its progress lines, with and without the tests' output, and what its list at the end says.
//!
//! A test's own output stands below its result (`--output-on-failure`) or above it with its number (`-V`).

use std::collections::HashMap;

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "ctest";
/// How many tests may run at once whose output is kept.
const MOST_RUNNING: usize = 256;

/// Reads CTest.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    /// Output of running tests by their number (`-V`).
    running: HashMap<u64, Block>,
    open: Option<usize>,
    block: Block,
    /// The words of ctest before a result: a program that cannot be found.
    words: Block,
    recognised: bool,
    /// The last numbers: a test may print such a line, too.
    total: Option<(u64, u64)>,
    listing: bool,
    /// Tests that are switched off, which are not in the total.
    disabled: u64,
    none_found: bool,
    /// Compiler errors of a CMake build.
    building: bool,
    errors: Block,
    error_open: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "Test project ",
        " Test #",
        " Test  #",
        " Test   #",
        "% tests passed",
        "No tests were found!!!",
        "Internal ctest changing into directory",
        "CMakeFiles/",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            running: HashMap::new(),
            open: None,
            block: Block::default(),
            words: Block::default(),
            recognised: false,
            total: None,
            listing: false,
            disabled: 0,
            none_found: false,
            building: false,
            errors: Block::default(),
            error_open: false,
        }
    }

    /// The beginning of a test, or one that passed: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        if !self.recognised || self.listing {
            return false;
        }
        let text = line.unindented();
        match text.as_bytes().first() {
            Some(b'S') if text.len() < line.len() && is_start(text) => self.started(),
            Some(b'0'..=b'9') if line.ends_with(" sec") => match result_line(text) {
                Some((number, result)) if result.status == TestStatus::Passed => self.result(number, &result),
                _ => return false,
            },
            _ => return false,
        }
        true
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with("Test project ") || line.starts_with("Internal ctest changing into directory: ") {
            self.recognised = true;
            return;
        }
        // The build before the tests may have failed.
        if !self.recognised {
            self.build_line(line);
        }
        let text = line.trim_start_matches([' ', '\t']);
        if let Some((number, result)) = result_line(text) {
            self.result(number, &result);
            return;
        }
        if self.listing {
            self.listed(line, text);
            return;
        }
        // By the first byte, as most lines are the tests' own.
        let known = match line.as_bytes().first() {
            Some(b'0'..=b'9') => self.verbose_line(line) || self.percentage(line),
            Some(b'N' | b'F' | b'T') => self.summary_line(line),
            _ => false,
        };
        if known {
            return;
        }
        if line.starts_with(' ') && is_start(text) {
            self.started();
            return;
        }
        if self.open.is_some() { self.block.push(line) } else { self.words.push(line) }
    }

    /// A build that fails before ctest starts.
    fn build_line(&mut self, line: &str) {
        self.building |= line.holds("CMakeFiles/");
        let is_error = line.holds(" error: ") || line.holds("undefined reference to");
        let is_make = line.starts_with("gmake") || line.starts_with("make") || line.starts_with("ninja: ");
        // The words of an error go on until the build tool's next line.
        if is_error || (self.error_open && !is_make) {
            self.error_open = true;
            self.errors.push(line);
        } else {
            self.error_open = false;
        }
    }

    fn started(&mut self) {
        self.settle();
        self.words.clear();
    }

    fn result(&mut self, number: u64, result: &TestResult<'_>) {
        self.settle();
        self.recognised = true;
        // Repetitions come without a count, and further runs begin to count anew.
        let is_next = result.count == Some(self.cases.len() + 1);
        let at = if is_next {
            self.cases.push(result.name, result.status)
        } else {
            self.cases.set(result.name, result.status)
        };
        let output = if self.running.is_empty() { None } else { self.running.remove(&number) };
        if result.status != TestStatus::Failed {
            self.words.clear();
            self.disabled += u64::from(result.detail.holds("(Disabled)"));
            return;
        }
        let words = self.words.take();
        // With `--output-on-failure` and repetitions a test is explained more than once.
        let known = at.and_then(|at| self.cases.get(at)).is_some_and(|test| !test.message.is_empty());
        if !known {
            self.block.push(result.detail);
            if !words.trim().is_empty() {
                self.block.push(words.trim_end());
            }
            if let Some(mut output) = output {
                self.block.push(output.take().trim_end());
            }
        }
        self.open = at;
    }

    /// `12: text`: the output of test 12.
    fn verbose_line(&mut self, line: &str) -> bool {
        let Some((number, text)) = line.cut(": ") else { return false };
        let Ok(number) = number.parse::<u64>() else { return false };
        const FRAME: [&str; 4] =
            ["Test command: ", "Working Directory: ", "Test timeout computed", "Environment variables"];
        if FRAME.iter().any(|start| text.starts_with(start)) {
            self.running.entry(number).or_default();
            return true;
        }
        let Some(block) = self.running.get_mut(&number) else { return false };
        block.push(text);
        // Tests whose result never comes, as when a test prints lines like these.
        if self.running.len() > MOST_RUNNING {
            self.running.clear();
        }
        true
    }

    /// `23% tests passed, 10 tests failed out of 13`, and since CMake 4 `100% tests passed out of 13`.
    fn percentage(&mut self, line: &str) -> bool {
        let Some((percent, rest)) = line.cut("% tests passed") else { return false };
        let failed = match rest.strip_prefix(", ") {
            Some(rest) => place::leading_number::<u64>(rest),
            None => Some(0),
        };
        let total = rest.cut_last(" out of ").and_then(|(_, total)| total.trim_end().parse::<u64>().ok());
        let (Ok(_), Some(failed), Some(total)) = (percent.parse::<u64>(), failed, total) else { return false };
        self.total = Some((total, failed));
        // A test may have printed it: its output goes on.
        if self.open.is_some() {
            self.block.push(line);
        }
        true
    }

    fn summary_line(&mut self, line: &str) -> bool {
        if line == "No tests were found!!!" {
            self.none_found = true;
            self.problems.push(RunKind::NoTests, line, None);
        } else if line.starts_with("Failed to change working directory to ") {
            self.problems.push(RunKind::BadCommand, line, None);
        } else if line.starts_with("The following tests FAILED:") {
            self.settle();
            self.listing = true;
            // What passed at last after a repetition is not in the list.
            for at in 0..self.cases.len() {
                if let Some(test) = self.cases.get_mut(at)
                    && test.status == TestStatus::Failed
                {
                    test.status = TestStatus::Passed;
                }
            }
        } else if line.starts_with("The following tests did not run:") {
            self.settle();
        } else {
            return false;
        }
        true
    }

    /// `\t  1 - sums (Failed)`.
    fn listed(&mut self, line: &str, text: &str) {
        if !line.starts_with(['\t', ' ']) {
            self.listing = false;
            self.line(line);
            return;
        }
        let Some((number, rest)) = text.cut(" - ") else { return };
        let Some((name, _)) = rest.cut_last(" (") else { return };
        if number.parse::<u64>().is_ok() {
            self.cases.set(name, TestStatus::Failed);
        }
    }

    fn settle(&mut self) {
        let Some(at) = self.open.take() else {
            self.block.clear();
            return;
        };
        let text = self.block.take();
        self.cases.explain(Some(at), &text, stack::place_of(&text));
    }

    pub(super) fn finish(mut self, exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        let errors = self.errors.take();
        if !self.recognised && self.building && !errors.is_empty() {
            self.problems.push(RunKind::CompileError, &errors, place::find(&errors));
        } else if !self.recognised {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        if let Some((total, failed)) = self.total {
            let skipped = self.cases.iter().filter(|test| test.status == TestStatus::Skipped);
            // Disabled tests are not in the total.
            let skipped = skipped.count().try_into().unwrap_or(0u64).saturating_sub(self.disabled);
            findings.counts = Counts {
                total: Some(total),
                passed: Some(total.saturating_sub(failed + skipped)),
                failed: Some(failed),
                skipped: Some(skipped),
                errors: None,
            };
            findings.finished = true;
        } else if self.none_found && exit.is_some_and(Exit::is_success) {
            let none = Some(0);
            findings.counts = Counts { total: none, passed: none, failed: none, skipped: none, errors: None };
            findings.finished = true;
            findings.kind = Some(RunKind::NoTests);
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// A test's result as its line tells it.
struct TestResult<'a> {
    /// How many results there are up to this one.
    count: Option<usize>,
    name: &'a str,
    status: TestStatus,
    detail: &'a str,
}

/// ` 1/14 Test  #1: sums ........***Failed    0.00 sec`, without its indentation.
fn result_line(text: &str) -> Option<(u64, TestResult<'_>)> {
    let (count, rest) = behind_count(text).map_or((None, text), |(count, rest)| (Some(count), rest));
    let rest = rest.strip_prefix("Test ")?.trim_start().strip_prefix('#')?;
    let (number, rest) = rest.cut(": ")?;
    let number = number.trim().parse().ok()?;
    // A name may have dots itself; the filling is the last run of three or more.
    let end = rest.seek_last("...")?;
    let (head, detail) = rest.split_at_checked(end + 3)?;
    let dots = head.bytes().rev().take_while(|byte| *byte == b'.').count();
    let name = head.get(..head.len() - dots)?.trim_ascii_end();
    let status = if detail.trim_start().starts_with("Passed") {
        TestStatus::Passed
    } else if detail.holds("***Skipped") || detail.holds("(Disabled)") {
        TestStatus::Skipped
    } else if detail.holds("***") {
        TestStatus::Failed
    } else {
        return None;
    };
    Some((number, TestResult { count, name, status, detail: detail.trim_start_matches('*').trim() }))
}

/// `Start  1: sums`, without its indentation.
fn is_start(text: &str) -> bool {
    text.starts_with("Start ") && text.holds(": ")
}

/// ` 1/14 Test …` → the count and what stands behind it, without its indentation.
fn behind_count(text: &str) -> Option<(usize, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, rest) = text.split_at_checked(digits(text))?;
    let rest = rest.strip_prefix('/')?;
    let total = digits(rest);
    let rest = rest.get(total..)?.strip_prefix(' ').filter(|_| total > 0)?;
    Some((count.parse().ok()?, rest))
}
