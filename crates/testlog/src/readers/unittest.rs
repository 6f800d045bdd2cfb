//! Python's unittest, and what prints like it: Django's runner, nose2.
//!
//! A run is: marks or one line per test, a block per failure between a rule of `=` and a rule of `-`, then a rule of
//! `-`, `Ran N tests`, and `OK` or `FAILED (…)`. A `FAIL:` line counts only below a rule of `=`: tests print such lines.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems, sum};
use crate::needle::Seek as _;
use crate::report::{RunKind, RunStatus, TestStatus};
use crate::{place, python};

/// The rules are seventy characters wide.
const RULE: usize = 70;

/// Where the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Results come in.
    Results,
    /// Below a rule of `=`: the failure's title comes.
    Title,
    /// Between the title and its rule of `-`: the test's description.
    Description,
    /// A failure's traceback.
    Text,
    /// Below `Ran N tests`: the result comes.
    Ran,
}

/// The dots between a test and its result.
const DOTS: &str = " ... ";

/// Reads unittest.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    problems: Problems,
    counts: Counts,
    /// The test whose line is begun: its description or what it prints stands between.
    pending: Option<String>,
    failing: Option<(String, TestStatus)>,
    text: Block,
    /// A rule of `-` inside a traceback may be the end of all, or printed.
    rule_seen: bool,
    ran: Option<u64>,
    recognised: bool,
    finished: bool,
    nose2: bool,
    failed: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "======================================================================",
        " ... ok",
        " ... FAIL",
        " ... ERROR",
        " ... skipped ",
        ") ... ",
        "Ran ",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Results,
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            counts: Counts::default(),
            pending: None,
            failing: None,
            text: Block::default(),
            rule_seen: false,
            ran: None,
            recognised: false,
            finished: false,
            nose2: false,
            failed: false,
        }
    }

    /// A passing test, told by its method and its class: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        if !self.recognised || self.part != Part::Results {
            return false;
        }
        let Some(name) = line.strip_suffix(" ... ok").filter(|name| is_name(name)) else { return false };
        self.ended(name, TestStatus::Passed);
        true
    }

    pub(super) fn line(&mut self, line: &str) {
        if is_rule(line, '=') {
            self.block_ends();
            self.part = Part::Title;
            return;
        }
        match self.part {
            Part::Title => self.title_line(line),
            Part::Description => {
                if is_rule(line, '-') {
                    self.part = Part::Text;
                } else if self.ran_line(line) {
                    // `UNEXPECTED SUCCESS:` has no traceback: its rule is the one above `Ran`.
                    self.block_ends();
                }
            }
            Part::Text => self.text_line(line),
            Part::Ran => self.end_line(line),
            Part::Results => {
                if self.ran_line(line) {
                    self.block_ends();
                } else {
                    self.result_line(line);
                }
            }
        }
    }

    fn title_line(&mut self, line: &str) {
        let (name, status) = if let Some(name) = line.strip_prefix("ERROR: ") {
            (name, TestStatus::Error)
        } else if let Some(name) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("UNEXPECTED SUCCESS: ")) {
            (name, TestStatus::Failed)
        } else {
            self.part = Part::Results;
            return;
        };
        self.nose2 |= name == "_ErrorHolder";
        self.failing = Some((name.to_owned(), status));
        self.part = Part::Description;
    }

    fn text_line(&mut self, line: &str) {
        // Such a rule may be printed by the test: only `Ran` below it makes it the end.
        if self.rule_seen {
            self.rule_seen = false;
            if self.ran_line(line) {
                self.block_ends();
                self.part = Part::Ran;
                return;
            }
            self.text.push(&"-".repeat(RULE));
        } else if self.ran_line(line) {
            self.block_ends();
            self.part = Part::Ran;
            return;
        }
        if is_rule(line, '-') {
            self.rule_seen = true;
        } else {
            self.text.push(line);
        }
    }

    /// `Ran 11 tests in 0.004s`.
    fn ran_line(&mut self, line: &str) -> bool {
        let parse = || {
            let rest = line.strip_prefix("Ran ")?;
            let (count, rest) = rest.cut_word()?;
            (rest.starts_with("tests in ") || rest.starts_with("test in ")).then(|| count.parse::<u64>().ok())?
        };
        let Some(count) = parse() else { return false };
        self.ran = Some(count);
        self.part = Part::Ran;
        true
    }

    /// `OK`, `OK (skipped=1)`, `FAILED (failures=7, errors=5)`, `NO TESTS RAN (skipped=2)`.
    fn end_line(&mut self, line: &str) {
        let (word, details) = line.cut(" (").unwrap_or((line, ""));
        if !matches!(word, "OK" | "FAILED" | "NO TESTS RAN") {
            if !line.is_empty() {
                self.part = Part::Results;
            }
            return;
        }
        self.part = Part::Results;
        let number = |key: &str| {
            details
                .trim_end_matches(')')
                .split(", ")
                .find_map(|part| part.strip_prefix(key)?.strip_prefix('=')?.parse::<u64>().ok())
        };
        let number = |key: &str| number(key).unwrap_or(0);
        let total = self.ran.take().unwrap_or(0);
        // Subtests that fail are counted one by one, so what is left is no number of passed tests.
        let clean = word == "OK" && details.is_empty();
        self.counts.add(&Counts {
            total: Some(total),
            passed: clean.then_some(total),
            failed: Some(sum(&[number("failures"), number("unexpected successes")])),
            skipped: Some(sum(&[number("skipped"), number("expected failures")])),
            errors: Some(number("errors")),
        });
        if !clean {
            // Unknown in one part, unknown in all.
            self.counts.passed = None;
        }
        self.failed |= word == "FAILED";
        self.recognised = true;
        self.finished = true;
        self.pending = None;
    }

    fn result_line(&mut self, line: &str) {
        let text = line.trim_ascii_start();
        if let Some((head, result)) = text.cut_last(DOTS) {
            let name = if is_name(head) { Some(head.to_owned()) } else { self.pending.take() };
            match (name, status(result)) {
                (Some(name), Some(status)) => self.ended(&name, status),
                (Some(name), None) => self.pending = Some(name),
                (None, _) => {}
            }
        } else if let Some(head) = text.strip_suffix(" ...") {
            if is_name(head) {
                self.pending = Some(head.to_owned());
            }
        } else if let Some(status) = self.pending.as_ref().and(status(text)) {
            if let Some(name) = self.pending.take() {
                self.ended(&name, status);
            }
        } else if is_name(text) {
            self.pending = Some(text.to_owned());
        } else {
            self.nose2 |= text.starts_with("skipped ") && self.recognised;
        }
    }

    fn ended(&mut self, name: &str, status: TestStatus) {
        self.recognised = true;
        self.cases.set_worst(name, status);
    }

    fn block_ends(&mut self) {
        self.rule_seen = false;
        let text = self.text.take();
        let Some((name, status)) = self.failing.take() else { return };
        self.recognised = true;
        let at = self.cases.set_worst(&name, status);
        self.cases.explain(at, &text, python::test_frame(&text));
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.block_ends();
        if !self.recognised {
            return None;
        }
        let mut findings = Findings::new(if self.nose2 { "nose2" } else { "unittest" });
        findings.finished = self.finished;
        findings.counts = self.counts;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        if self.failed {
            findings.status = Some(RunStatus::Failed);
        }
        let mut failing =
            findings.tests.iter().filter(|test| matches!(test.status, TestStatus::Failed | TestStatus::Error));
        if failing.next().is_some_and(is_load_failure) && failing.all(is_load_failure) {
            findings.kind = Some(RunKind::ImportError);
        }
        Some(findings)
    }
}

fn is_load_failure(test: &crate::report::TestCase) -> bool {
    test.name.holds("unittest.loader._FailedTest") || test.name.holds("unittest.loader.ModuleImportFailure")
}

/// A whole line of one character, as wide as unittest draws it.
fn is_rule(line: &str, fill: char) -> bool {
    line.len() == RULE && line.chars().all(|character| character == fill)
}

/// The bytes of ASCII that the path of a test is made of.
static IS_PART: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < u8::MAX {
        #[expect(clippy::indexing_slicing, reason = "256 entries for a byte")]
        {
            table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'<' | b'>');
        }
        byte += 1;
    }
    table
};

/// `test_three (tests.test_stock.CountTest.test_three)`, perhaps with a subtest behind.
fn is_name(text: &str) -> bool {
    if !text.ends_with([')', ']']) {
        return false;
    }
    let Some((method, rest)) = text.cut(" (") else { return false };
    let Some((path, sub)) = rest.cut(")") else { return false };
    let is_part = |byte: u8| IS_PART.get(usize::from(byte)) == Some(&true);
    let is_word = |text: &str| {
        if text.is_ascii() {
            return !text.is_empty() && text.bytes().all(is_part);
        }
        !text.is_empty()
            && text.chars().all(|one| one.is_alphanumeric() || one == '_' || one == '.' || one == '<' || one == '>')
    };
    is_word(method)
        && is_word(path)
        && (path.contains('.') || path.starts_with("__main__") || path.chars().next().is_some_and(char::is_alphabetic))
        && (sub.is_empty() || sub.starts_with(" [") || sub.starts_with(" ("))
        && place::leading_number::<u32>(path).is_none()
}

fn status(result: &str) -> Option<TestStatus> {
    match result {
        "ok" => Some(TestStatus::Passed),
        "FAIL" => Some(TestStatus::Failed),
        "ERROR" => Some(TestStatus::Error),
        "expected failure" => Some(TestStatus::Skipped),
        "unexpected success" => Some(TestStatus::Failed),
        _ if result.starts_with("skipped ") => Some(TestStatus::Skipped),
        _ => None,
    }
}
