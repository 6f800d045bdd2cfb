//! `deno test`: the pretty and dot reporters. Its TAP is read by [`super::tap`].
//!
//! Failures are told in the section ` ERRORS `. A step that fails stands there for its test.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "deno-test";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Results,
    /// The output of tests.
    Output,
    Errors,
    Failures,
}

/// Reads deno's test runner.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    problems: Problems,
    recognised: bool,
    open: Option<usize>,
    place: Option<(String, u32)>,
    block: Block,
    words: Block,
    counts: Counts,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        " tests from ",
        " test from ",
        " ERRORS ",
        "ok | ",
        "FAILED | ",
        "error: Type checking failed",
        "error: Import '",
        "error: Module not found",
        "error: No test modules found",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Results,
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            recognised: false,
            open: None,
            place: None,
            block: Block::default(),
            words: Block::default(),
            counts: Counts::default(),
            finished: false,
        }
    }

    /// A passing test, told by its frame: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        if !self.recognised || self.part != Part::Results || !line.ends_with(')') || line.starts_with(' ') {
            return false;
        }
        let Some((name, _)) = line.cut_last(" ... ").filter(|(_, result)| result.starts_with("ok (")) else {
            return false;
        };
        self.cases.push(name, TestStatus::Passed);
        true
    }

    /// In what a test printed.
    pub(super) fn quotes(&self) -> bool {
        self.recognised && self.part == Part::Output
    }

    pub(super) fn line(&mut self, line: &str) {
        match line {
            "------- output -------" | "------- post-test output -------" => {
                self.part = Part::Output;
                return;
            }
            "----- output end -----" | "----- post-test output end -----" => {
                self.part = Part::Results;
                return;
            }
            " ERRORS " | "ERRORS" => {
                self.part = Part::Errors;
                return;
            }
            " FAILURES " | "FAILURES" if self.part == Part::Errors => {
                self.settle();
                self.part = Part::Failures;
                return;
            }
            _ => {}
        }
        // Failures are listed behind the errors, and the numbers behind both: what stands in them was printed by tests.
        let may_end = !matches!(self.part, Part::Errors | Part::Output);
        if may_end
            && let Some(rest) = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | "))
            && self.numbers(rest)
        {
            return;
        }
        if self.part != Part::Errors && line.starts_with("error: ") && self.trouble(line) {
            return;
        }
        match self.part {
            Part::Results => self.result_line(line),
            Part::Errors => self.error_line(line),
            Part::Output | Part::Failures => {}
        }
    }

    /// `adds ... ok (16ms)`.
    fn result_line(&mut self, line: &str) {
        if line.starts_with("running ") && (line.holds(" tests from ") || line.holds(" test from ")) {
            self.recognised = true;
            self.words.clear();
            return;
        }
        // Errors of types follow the line of the file that is checked.
        if line.starts_with("Check ") {
            self.words.clear();
            return;
        }
        let candidate = line.ends_with(')') && !line.starts_with(' ');
        let result = candidate.then(|| line.cut_last(" ... ")).flatten();
        match result {
            Some((name, rest)) if rest.starts_with("ok (") => drop(self.cases.push(name, TestStatus::Passed)),
            Some((name, rest)) if rest.starts_with("ignored (") => drop(self.cases.push(name, TestStatus::Skipped)),
            _ => self.words.push(line),
        }
    }

    /// `steps ... second => ./cart_test.ts:7:11`, and the lines below it.
    fn error_line(&mut self, line: &str) {
        // Such as `adds => ./cart_test.ts:3:6`.
        if let Some((name, at)) = line.cut_last(" => ")
            && !line.starts_with(' ')
            && let Some(found) = place::find(at)
        {
            self.settle();
            self.open = self.cases.push(name, TestStatus::Failed);
            self.place = Some(found);
        } else if let Some(file) = line.strip_suffix(" (uncaught error)") {
            self.settle();
            self.open = self.cases.push(file, TestStatus::Error);
        } else if self.open.is_some() {
            self.block.push(line);
        }
    }

    /// Takes deno's words when it cannot run the tests.
    fn trouble(&mut self, line: &str) -> bool {
        let kind = if line.starts_with("error: Type checking failed") {
            RunKind::CompileError
        } else if line.starts_with("error: Import '") || line.starts_with("error: Module not found") {
            RunKind::ImportError
        } else if line.starts_with("error: No test modules found") {
            RunKind::NoTests
        } else {
            return false;
        };
        let text = format!("{}{line}", self.words.take());
        self.problems.push(kind, &text, place::find(&text));
        true
    }

    /// `1 passed (1 step) | 2 failed (1 step) | 1 ignored (24ms)`.
    fn numbers(&mut self, rest: &str) -> bool {
        let number = |word: &str| {
            // Behind it the number of steps may stand in parentheses.
            let part = rest
                .split(" | ")
                .find(|part| part.trim_start_matches(|digit: char| digit.is_ascii_digit()).starts_with(word))?;
            place::leading_number::<u64>(part)
        };
        let (Some(passed), Some(failed)) = (number(" passed"), number(" failed")) else { return false };
        let skipped = number(" ignored").unwrap_or(0);
        self.settle();
        self.part = Part::Results;
        self.finished = true;
        self.counts.add(&Counts {
            total: Some(passed + failed + skipped),
            passed: Some(passed),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: None,
        });
        true
    }

    fn settle(&mut self) {
        let text = self.block.take();
        let found = self.place.take();
        if let Some(at) = self.open.take() {
            let frame = stack::place_of(&text);
            self.cases.explain(Some(at), &text, found.or(frame));
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if !self.recognised && !self.finished && self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}
