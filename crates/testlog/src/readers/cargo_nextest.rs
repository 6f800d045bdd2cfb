//! cargo nextest: one line per test, the output of failing tests below theirs or at the end, a summary.
//!
//! Each test is a process of its own, whose libtest output stands inside. That output is nobody's result. Names are the binary's id, a
//! blank, and the test's name, as printed.

use super::cargo_test::panics;
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems, sum};
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, RunStatus, TestStatus};

/// Reads nextest.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    counts: Counts,
    /// The test whose output is being printed.
    open: Option<String>,
    text: Block,
    trouble: Option<Block>,
    recognised: bool,
    finished: bool,
    no_tests: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "Nextest run ID",
        "     Summary [",
        "        FAIL [",
        "        PASS [",
        "error: creating test list failed",
        "error: no tests to run",
        "nextest profile",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            counts: Counts::default(),
            open: None,
            text: Block::default(),
            trouble: None,
            recognised: false,
            finished: false,
            no_tests: false,
        }
    }

    /// A passing test, told by its frame: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        if !self.recognised || self.trouble.is_some() {
            return false;
        }
        let Some(name) = line.strip_prefix("        PASS [").and_then(behind_time).and_then(test_name) else {
            return false;
        };
        // The output of a failing test ends with the next result.
        if self.open.is_some() {
            self.text_ends();
        }
        self.cases.set(name, TestStatus::Passed);
        true
    }

    /// In the output of a failing test.
    pub(super) const fn quotes(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn line(&mut self, line: &str) {
        if let Some(block) = &mut self.trouble {
            block.push(line);
            return;
        }
        match line.as_bytes().first() {
            Some(b' ') => {
                if line.unindented().starts_with("Nextest run ID") {
                    self.recognised = true;
                } else if let Some((words, rest)) = status_line(line) {
                    self.status(words, rest);
                    return;
                }
            }
            Some(b'e') if line.starts_with("error: ") && self.error(line) => return,
            Some(0xE2) if line.starts_with("────") => {
                self.text_ends();
                return;
            }
            _ => {}
        }
        if self.open.is_some() {
            // The output of a test is indented since 0.9.100; before, it was not.
            self.text.push(line.strip_prefix("    ").unwrap_or(line));
        }
    }

    fn error(&mut self, line: &str) -> bool {
        if line.starts_with("error: creating test list failed") {
            self.text_ends();
            self.recognised = true;
            let mut block = Block::default();
            block.push(line);
            self.trouble = Some(block);
        } else if line.starts_with("error: no tests to run") {
            self.no_tests = true;
            self.problems.push(RunKind::NoTests, line, None);
        } else if line.starts_with("error: test run failed") {
            self.text_ends();
        } else {
            return false;
        }
        true
    }

    fn status(&mut self, words: &str, rest: &str) {
        self.text_ends();
        if words == "Summary" {
            self.summary(rest);
            return;
        }
        // With retries: `TRY 2 FAIL`.
        let word = words.strip_prefix("TRY ").and_then(|rest| rest.cut_word()).map_or(words, |(_, word)| word);
        let status = match word {
            "PASS" | "LEAK" => TestStatus::Passed,
            "SKIP" => TestStatus::Skipped,
            "SLOW" | "TERMINATING" | "RETRY" | "DELAY" => return,
            _ if word.starts_with("FLAKY") || words.starts_with("FLAKY") => TestStatus::Passed,
            "FAIL" | "TIMEOUT" | "ABORT" | "LEAK-FAIL" | "XFAIL" | "TMT" | "EXEC FAIL" => TestStatus::Failed,
            _ if word.starts_with("SIG") => TestStatus::Failed,
            _ => return,
        };
        let Some(name) = test_name(rest) else { return };
        self.recognised = true;
        self.cases.set(name, status);
        if status == TestStatus::Failed {
            self.open = Some(name.to_owned());
            // A test that was killed may have printed nothing.
            if !matches!(word, "FAIL") {
                self.text.push(&format!("{word} {name}"));
            }
        }
    }

    fn text_ends(&mut self) {
        let text = self.text.take();
        let Some(name) = self.open.take() else { return };
        let Some(at) = self.cases.find(&name) else { return };
        let test = name.cut_word().map_or(name.as_str(), |(_, test)| test);
        let text = without_frame(&text, test);
        // A test is shown where it fails and again at the end, where less may be shown of it.
        let known = self.cases.get(at).map_or(0, |test| test.message.len());
        if known > 0 && known >= text.len() {
            return;
        }
        if let Some(test) = self.cases.get_mut(at) {
            test.message.clear();
        }
        self.cases.explain(Some(at), &text, panics::place_of(&text, test));
    }

    /// `19 tests run: 6 passed (1 flaky), 13 failed, 1 timed out, 2 skipped`, or `4/19 tests run: …`.
    fn summary(&mut self, rest: &str) {
        let Some((_, parts)) = rest.cut(" run: ") else { return };
        let mut counts = Counts { passed: Some(0), failed: Some(0), skipped: Some(0), errors: Some(0), total: None };
        // `15 passed (1 slow, 2 flaky)`: the words in parentheses are counted already.
        let mut depth = 0;
        let flat: String = parts
            .chars()
            .filter(|one| {
                depth += i32::from(*one == '(');
                let outside = depth == 0;
                depth -= i32::from(*one == ')');
                outside
            })
            .collect();
        for part in flat.split(", ") {
            let Some(number) = place::leading_number::<u64>(part.trim()) else { continue };
            let slot = if part.holds("passed") {
                &mut counts.passed
            } else if part.holds("skipped") {
                &mut counts.skipped
            } else if part.holds("failed") || part.holds("timed out") {
                &mut counts.failed
            } else {
                continue;
            };
            *slot = slot.map(|known| known.saturating_add(number));
        }
        counts.total = Some(sum(&[counts.passed, counts.failed, counts.skipped].map(Option::unwrap_or_default)));
        self.counts.add(&counts);
        self.finished = true;
        self.recognised = true;
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.text_ends();
        if !self.recognised {
            return None;
        }
        let mut findings = Findings::new("cargo-nextest");
        findings.counts = self.counts;
        findings.finished = self.finished;
        if let Some(mut block) = self.trouble.take() {
            let text = block.take();
            self.problems.push(RunKind::CollectionError, &text, None);
            findings.status = Some(RunStatus::Error);
        }
        if self.no_tests {
            findings.status = Some(RunStatus::Error);
            findings.kind = Some(RunKind::NoTests);
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// `        FAIL [   0.004s] ( 2/19) money ledger::tests::x` → `FAIL`, ` ( 2/19) money …`.
fn status_line(line: &str) -> Option<(&str, &str)> {
    let (words, rest) = line.cut("[")?;
    let rest = behind_time(rest)?;
    let words = words.trim_ascii();
    let is_status =
        words.chars().all(|one| one.is_ascii_uppercase() || one.is_ascii_digit() || matches!(one, ' ' | '/' | '-'));
    (is_status || words == "Summary").then_some((words, rest))
}

/// The text behind `   0.004s]` and `>60.000s]`.
fn behind_time(text: &str) -> Option<&str> {
    let (time, rest) = text.cut("]")?;
    let seconds = time.trim_ascii().trim_start_matches('>').trim_ascii_start().strip_suffix('s')?;
    let is_number = !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_number.then_some(rest)
}

/// The name behind the time and the count.
fn test_name(rest: &str) -> Option<&str> {
    let rest = rest.trim_ascii_start();
    let name = match rest.strip_prefix('(') {
        Some(count) => count.cut(") ").map(|(_, name)| name)?,
        None => rest,
    };
    let name = name.trim_ascii();
    name.cut_word().is_some().then_some(name)
}

/// The output without libtest's frame around a single test.
fn without_frame(text: &str, test: &str) -> String {
    let mut kept = Block::default();
    let mut blank = true;
    for line in text.lines() {
        let trimmed = line.trim();
        let is_frame = trimmed == "running 1 test"
            || trimmed == "failures:"
            || trimmed == test
            || trimmed == "stdout ───"
            || trimmed == "stderr ───"
            || trimmed.starts_with("test result: ")
            || trimmed.starts_with("--- STDOUT:")
            || trimmed.starts_with("--- STDERR:")
            || (trimmed.starts_with("test ") && trimmed.ends_with(" ... FAILED"))
            || (trimmed.starts_with("---- ") && trimmed.ends_with(" stdout ----"));
        if is_frame || (blank && trimmed.is_empty()) {
            continue;
        }
        blank = trimmed.is_empty();
        kept.push(line);
    }
    kept.take()
}
