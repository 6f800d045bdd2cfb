//! Maven with Surefire or Failsafe: results by class, failures with their stack, sums, and why a build broke.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "maven-surefire";

/// Reads Maven.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    recognised: bool,
    open: Option<usize>,
    block: Block,
    /// Behind `Results:`.
    results: bool,
    /// In the list of compiler errors.
    compiling: bool,
    counts: Counts,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "[INFO] Scanning for projects",
        "T E S T S",
        "Tests run: ",
        "<<< FAILURE!",
        "<<< ERROR!",
        "[ERROR] COMPILATION ERROR",
        "[ERROR] Failed to execute goal",
        "[ERROR] The goal you specified requires",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            recognised: false,
            open: None,
            block: Block::default(),
            results: false,
            compiling: false,
            counts: Counts::default(),
            finished: false,
        }
    }

    /// A passing test, told by its frame: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        let is_mine =
            line.starts_with("[INFO] Running ") || (line.starts_with("[INFO] Tests run: ") && line.holds(" -- in "));
        if is_mine {
            self.line(line);
        }
        is_mine
    }

    pub(super) fn line(&mut self, line: &str) {
        let (level, text) = level(line);
        // Maven's own words end a stack trace.
        if level.is_some() {
            self.settle();
        }
        if memchr::memchr(b'<', text.as_bytes()).is_some() && text.holds("<<< ") && self.failure(text) {
            return;
        }
        if let Some(rest) = text.strip_prefix("Tests run: ") {
            self.numbers(rest, level.is_some());
            return;
        }
        match (level, text.trim()) {
            (Some("INFO"), "Scanning for projects..." | "T E S T S") | (None, "T E S T S") => self.recognised = true,
            (_, "Results:" | "Results :") => self.results = true,
            (Some("ERROR"), "COMPILATION ERROR :") => self.compiling = true,
            (Some("ERROR"), error) => self.error(error),
            (Some(_), rest) => {
                // `[INFO] 2 errors` stands below the compiler's.
                if rest.ends_with(" errors") || rest.ends_with(" error") {
                    self.compiling = false;
                }
            }
            (None, _) if self.open.is_some() || self.compiling => self.block.push(line),
            (None, _) => {}
        }
    }

    /// `wrongException(org.example.CartTest)  Time elapsed: 0.001 s  <<< ERROR!`.
    fn failure(&mut self, text: &str) -> bool {
        let status = if text.trim_end().ends_with("<<< FAILURE!") {
            TestStatus::Failed
        } else if text.trim_end().ends_with("<<< ERROR!") {
            TestStatus::Error
        } else {
            return false;
        };
        let Some((name, _)) = text.cut("Time elapsed: ") else { return false };
        // The numbers of a class in which something failed end in the same words.
        if name.starts_with("Tests run: ") {
            return false;
        }
        self.settle();
        self.recognised = true;
        // Surefire 3 writes `CartTest.fails -- Time elapsed: 0.01 s <<< FAILURE!`.
        let name = name.trim_end().trim_end_matches("--").trim_end();
        self.open = self.cases.push(name, status);
        true
    }

    /// `14, Failures: 4, Errors: 5, Skipped: 2`: the sum of a module, when no time stands behind it.
    fn numbers(&mut self, rest: &str, has_level: bool) {
        // The numbers of one class are a part of the sums.
        if rest.holds("Time elapsed") || rest.holds("<<<") {
            self.recognised = true;
            return;
        }
        // What a test prints has no level.
        if !has_level && !self.results {
            return;
        }
        let number = |word: &str| {
            rest.split(", ").find_map(|part| place::leading_number::<u64>(part.trim().strip_prefix(word)?))
        };
        let Some(total) = place::leading_number::<u64>(rest) else { return };
        let (failed, errors) = (number("Failures: ").unwrap_or(0), number("Errors: ").unwrap_or(0));
        let skipped = number("Skipped: ").unwrap_or(0);
        self.recognised = true;
        self.finished = true;
        self.results = false;
        self.counts.add(&Counts {
            total: Some(total),
            passed: Some(total.saturating_sub(failed + errors + skipped)),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: Some(errors),
        });
    }

    fn error(&mut self, text: &str) {
        if self.compiling {
            self.block.push(text);
            return;
        }
        let kind = if text.holds("No tests were executed") || text.holds("No tests matching pattern") {
            RunKind::NoTests
        } else if text.starts_with("The goal you specified requires") || text.starts_with("Unknown lifecycle phase") {
            RunKind::BadCommand
        } else if !text.starts_with("Failed to execute goal ") || text.holds("There are test failures") {
            return;
        } else if text.holds("Compilation failure") {
            RunKind::CompileError
        } else if text.holds("Could not resolve dependencies") || text.holds("Could not transfer artifact") {
            RunKind::Infrastructure
        } else if text.holds("The forked VM terminated") {
            RunKind::Crash
        } else {
            RunKind::BadCommand
        };
        self.recognised = true;
        self.problems.push(kind, text, stack::place_of(text));
    }

    fn settle(&mut self) {
        if self.block.is_empty() && self.open.is_none() {
            return;
        }
        let text = self.block.take();
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), &text, stack::place_of(&text));
        } else {
            self.recognised = true;
            self.problems.push(RunKind::CompileError, &text, in_brackets(&text).or_else(|| place::find(&text)));
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if !self.recognised {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        (findings.has_tests() || !findings.problems.is_empty()).then_some(findings)
    }
}

/// `[ERROR] text` → the level and the text.
fn level(line: &str) -> (Option<&str>, &str) {
    let found = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match found {
        Some((level @ ("INFO" | "WARNING" | "ERROR" | "DEBUG"), rest)) => {
            (Some(level), rest.strip_prefix(' ').unwrap_or(rest))
        }
        _ => (None, line),
    }
}

/// `/x/BadTest.java:[8,17] incompatible types` → the place.
fn in_brackets(text: &str) -> Option<(String, u32)> {
    let (file, rest) = text.cut(":[")?;
    let file = file.rsplit(char::is_whitespace).next()?;
    place::is_path(file).then(|| Some((file.to_owned(), place::leading_number(rest)?)))?
}
