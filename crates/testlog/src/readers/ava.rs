//! AVA: a line per test, then a block per failure that begins with the test's title. Its TAP is read by [`super::tap`].

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "ava";
/// The most failing lines whose titles are looked for.
const MOST_FAILURES: usize = 10_000;

/// Reads AVA.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    /// The lines behind `[fail]:`: a title, and a message with nothing between that would tell them apart.
    failing: Vec<String>,
    /// Lines of `─` that were seen: the second ends the blocks.
    rules: u32,
    blank: u32,
    open: Option<usize>,
    block: Block,
    counts: Counts,
    counted: bool,
    /// In what AVA prints of an exception that no test caught.
    uncaught: bool,
    /// A failure was named as AVA alone does.
    evident: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &["  ✔ ", "  ✘ ", "  ─", "  - ["];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            failing: Vec::new(),
            rules: 0,
            blank: 0,
            open: None,
            block: Block::default(),
            counts: Counts::default(),
            counted: false,
            uncaught: false,
            evident: false,
        }
    }

    /// A passing test of a log that is AVA's: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        if !self.evident || self.rules > 0 || self.uncaught {
            return false;
        }
        // `✔ [expected fail] ` comes with a word in brackets.
        let Some(name) = line.strip_prefix("  ✔ ").filter(|name| !name.starts_with('[')) else { return false };
        self.blank = 0;
        self.cases.push(without_time(name), TestStatus::Passed);
        true
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.bytes().all(|byte| byte.is_ascii_whitespace()) {
            self.blank += 1;
            if self.keeps() {
                self.block.push("");
            }
            return;
        }
        let blank = std::mem::take(&mut self.blank);
        let Some(text) = line.strip_prefix("  ") else {
            if self.keeps() {
                self.block.push(line);
            }
            return;
        };
        if text.strip_prefix('─').is_some_and(|rest| rest.trim_ascii_end().is_empty()) {
            self.settle();
            self.rules += 1;
            // Behind a rule a title may come at once.
            self.blank = 2;
            return;
        }
        if self.rules == 0 {
            self.result(text);
            return;
        }
        if self.total(text) {
            return;
        }
        // A title stands below two empty lines, which tells it from text inside a block.
        if blank >= 2
            && let Some(at) = self.failing.iter().position(|failure| is_title(failure, text))
        {
            self.settle();
            self.failing.remove(at);
            self.open = self.cases.push(text.trim_end(), TestStatus::Failed);
            return;
        }
        self.block.push(text);
    }

    /// Whether what stands outside of results is told: behind them, or below an exception.
    const fn keeps(&self) -> bool {
        self.rules > 0 || self.uncaught
    }

    fn result(&mut self, text: &str) {
        if text.starts_with("Uncaught exception in ") || text.starts_with("Unhandled rejection in ") {
            self.end_uncaught();
            self.uncaught = true;
            self.block.clear();
            self.block.push(text);
            return;
        }
        // Until the next result all is the error's.
        if self.uncaught && !text.starts_with(['✔', '✘', '-']) {
            self.block.push(text);
            return;
        }
        self.end_uncaught();
        if let Some(rest) = text.strip_prefix("✔ ") {
            if !rest.starts_with("[expected fail] ") {
                self.cases.push(without_time(rest), TestStatus::Passed);
            }
        } else if let Some(rest) = text.strip_prefix("✘ [fail]: ") {
            self.evident = true;
            if self.failing.len() < MOST_FAILURES {
                self.failing.push(rest.trim_end().to_owned());
            }
        } else if let Some(rest) = text.strip_prefix("- [skip] ").or_else(|| text.strip_prefix("- [todo] ")) {
            self.cases.push(rest.trim_end(), TestStatus::Skipped);
        } else if let Some(rest) = text.strip_prefix("✘ ") {
            if rest.holds("did not match the filters") || rest.starts_with("Couldn’t find any files to test") {
                self.problems.push(RunKind::NoTests, rest, None);
            } else if rest.holds(" exited due to ") || rest.holds(" exited with a non-zero exit code") {
                self.problems.push(RunKind::Crash, rest, None);
            }
        }
    }

    /// The exception is told: what is behind it decides what kind of trouble it is.
    fn end_uncaught(&mut self) {
        if !std::mem::take(&mut self.uncaught) {
            return;
        }
        let text = self.block.take();
        let kind = if text.holds("SyntaxError: ") {
            RunKind::CompileError
        } else if text.holds("Cannot find module") || text.holds("Cannot find package") {
            RunKind::ImportError
        } else {
            RunKind::Crash
        };
        self.problems.push(kind, &text, stack::place_of(&text));
    }

    /// `4 tests failed`, `1 test skipped`.
    fn total(&mut self, text: &str) -> bool {
        let Some((number, what)) = text.trim_end().cut_word() else { return false };
        let Ok(number) = number.parse::<u64>() else { return false };
        let one = |passed, failed, skipped| Counts { total: None, passed, failed, skipped, errors: None };
        let number = Some(number);
        let counts = match what {
            "test passed" | "tests passed" => one(number, None, None),
            "test failed" | "tests failed" => one(None, number, None),
            "test skipped" | "tests skipped" | "test todo" | "tests todo" => one(None, None, number),
            "known failure" | "known failures" => Counts::default(),
            _ => return false,
        };
        self.settle();
        self.counted = true;
        self.counts.add(&counts);
        true
    }

    fn settle(&mut self) {
        self.end_uncaught();
        let text = self.block.take();
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), text.trim(), own_place(&text));
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if !self.counted && self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.finished = self.counted;
        if self.counted {
            let zero = Some(0);
            let passed = self.counts.passed;
            findings.counts = self.counts;
            // Numbers that are zero are not printed.
            findings.counts.add(&Counts { failed: zero, skipped: zero, ..Counts::default() });
            if let Some(passed) = passed {
                let rest = findings.counts.failed.unwrap_or(0) + findings.counts.skipped.unwrap_or(0);
                findings.counts.total = Some(passed + rest);
            } else {
                // AVA does not print how many passed when something failed.
                findings.counts.passed = Some(self.cases.count(TestStatus::Passed));
            }
        }
        for failure in &self.failing {
            self.cases.push(failure, TestStatus::Failed);
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// Whether a line is the title at the start of what stood behind `[fail]:`.
fn is_title(failure: &str, text: &str) -> bool {
    let text = text.trim_end();
    failure.strip_prefix(text).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// `test/cart.js:4` alone on a line, or the first frame.
fn own_place(text: &str) -> Option<(String, u32)> {
    let alone = text.lines().map(str::trim).find(|line| !line.contains(' ') && place::find(line).is_some());
    alone.and_then(place::find).or_else(|| stack::place_of(text))
}

fn without_time(text: &str) -> &str {
    let text = text.trim_end();
    match text.cut_last(" (") {
        Some((name, time)) if time.ends_with("s)") && time.starts_with(|digit: char| digit.is_ascii_digit()) => name,
        _ => text,
    }
}
