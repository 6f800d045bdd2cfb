//! PHPUnit (8 and later): progress, TestDox, debug and TeamCity output.
//!
//! The report begins behind `Time: …, Memory: …`. Headings that look like it before that were printed by tests.

mod teamcity;
mod testdox;

use self::teamcity::TeamCity;
use self::testdox::TestDox;
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, RunStatus, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "phpunit";
/// From this version on, warnings and the like are no results of tests.
const WARNINGS_APART: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Errors,
    Failures,
    Skipped,
    /// Warnings of PHPUnit itself.
    Warnings,
    Other,
}

/// Reads PHPUnit.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    testdox: TestDox,
    teamcity: TeamCity,
    version: Option<u32>,
    /// Behind `Time: …`.
    report: bool,
    section: Option<Section>,
    number: u64,
    open: Option<usize>,
    block: Block,
    /// PHP's words when it dies.
    fatal: Block,
    fatal_open: bool,
    words: Block,
    counts: Counts,
    finished: bool,
    none_ran: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "PHPUnit ",
        " by Sebastian Bergmann",
        "PHP Fatal error: ",
        "PHP Parse error: ",
        "PHP Warning: ",
        "Tests: ",
        "OK (",
        "##teamcity[test",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            testdox: TestDox::new(budget),
            teamcity: TeamCity::new(budget),
            version: None,
            report: false,
            section: None,
            number: 0,
            open: None,
            block: Block::default(),
            fatal: Block::default(),
            fatal_open: false,
            words: Block::default(),
            counts: Counts::default(),
            finished: false,
            none_ran: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        match line.as_bytes().first() {
            Some(b'P') if self.php_line(line) => return,
            Some(b'T') if line.starts_with("Time: ") && line.holds(", Memory: ") => {
                self.testdox.settle();
                self.report = true;
                return;
            }
            Some(b'T' | b'O' | b'N' | b'E' | b'F' | b'W') if self.summary_line(line) => return,
            Some(b'#') if self.teamcity.line(line) => return,
            _ => {}
        }
        if self.fatal_open {
            self.fatal.push(line);
        } else if self.report {
            self.report_line(line);
        } else if self.version.is_some() && !self.testdox.line(line) {
            self.words.push(line);
        }
    }

    /// `PHPUnit 9.6.7 by …`, `PHP Fatal error:  …`.
    fn php_line(&mut self, line: &str) -> bool {
        if let Some(version) = line.strip_prefix("PHPUnit ").filter(|rest| rest.holds(" by Sebastian Bergmann")) {
            self.settle();
            self.version = place::leading_number(version).or(Some(0));
            self.report = false;
            return true;
        }
        if line.starts_with("PHP Fatal error: ") || line.starts_with("PHP Parse error: ") {
            self.fatal_open = true;
            self.fatal.push(line);
            return true;
        }
        // A warning may say why the fatal error below came.
        if line.starts_with("PHP Warning: ") && !self.report {
            self.fatal.push(line);
            return true;
        }
        false
    }

    /// The last lines: how it went, and the numbers.
    fn summary_line(&mut self, line: &str) -> bool {
        if line == "No tests executed!" {
            self.none_ran = true;
            self.finished = true;
            let none = Some(0);
            self.counts.add(&Counts { total: none, passed: none, failed: none, skipped: none, errors: none });
            self.problems.push(RunKind::NoTests, line, None);
            return true;
        }
        if !self.report {
            return false;
        }
        if let Some(rest) = line.strip_prefix("OK (") {
            let Some(total) = place::leading_number::<u64>(rest) else { return false };
            self.settle();
            self.finish_numbers(Counts { total: Some(total), passed: Some(total), ..Counts::default() });
        } else if let Some(rest) = line.strip_prefix("Tests: ") {
            self.settle();
            self.numbers(rest);
        } else if matches!(line, "ERRORS!" | "FAILURES!" | "WARNINGS!") || line.starts_with("OK, but ") {
            self.settle();
            self.section = None;
        } else if let Some(section) = section(line) {
            self.settle();
            self.section = Some(section);
            self.number = 0;
        } else {
            return false;
        }
        true
    }

    /// `15, Assertions: 8, Errors: 3, Failures: 6, Skipped: 2, Incomplete: 1, Risky: 1.`
    fn numbers(&mut self, rest: &str) {
        let Some(total) = place::leading_number::<u64>(rest) else { return };
        let number = |word: &str| {
            rest.split(", ").find_map(|part| place::leading_number::<u64>(part.strip_prefix(word)?)).unwrap_or(0)
        };
        let (failed, errors) = (number("Failures: "), number("Errors: "));
        let skipped = number("Skipped: ") + number("Incomplete: ");
        let warnings =
            if self.version.is_some_and(|version| version >= WARNINGS_APART) { 0 } else { number("Warnings: ") };
        // A risky test has neither passed nor failed.
        let other = number("Risky: ") + warnings;
        self.finish_numbers(Counts {
            total: Some(total),
            passed: Some(total.saturating_sub(failed + errors + skipped + other)),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: Some(errors),
        });
    }

    fn finish_numbers(&mut self, counts: Counts) {
        // Numbers that are zero are not printed.
        let zero = Some(0);
        self.counts.add(&Counts { total: None, passed: None, failed: zero, skipped: zero, errors: zero });
        self.counts.add(&counts);
        self.finished = true;
        self.report = false;
        self.section = None;
    }

    fn report_line(&mut self, line: &str) {
        let Some(section) = self.section else { return };
        if let Some((number, name)) = line.cut(") ")
            && number.parse() == Ok(self.number + 1)
        {
            self.settle();
            self.section = Some(section);
            self.number += 1;
            let name = without_arguments(name.trim_end());
            match section {
                Section::Errors => self.open = self.cases.push(name, TestStatus::Error),
                Section::Failures => self.open = self.cases.push(name, TestStatus::Failed),
                Section::Skipped => drop(self.cases.push(name, TestStatus::Skipped)),
                Section::Warnings => self.block.push(name),
                Section::Other => {}
            }
            return;
        }
        // Stands between two lists.
        if line == "--" {
            self.settle();
        } else if self.open.is_some() || section == Section::Warnings {
            self.block.push(line);
        }
    }

    fn settle(&mut self) {
        let text = self.block.take();
        if let Some(at) = self.open.take() {
            let text = text.trim();
            self.cases.explain(Some(at), text, stack::place_of(text));
        } else if self.section == Some(Section::Warnings) {
            self.problems.push(RunKind::CollectionError, text.trim(), stack::place_of(&text));
        }
    }

    /// Takes PHP's words when it died, if that was under PHPUnit.
    fn settle_fatal(&mut self) -> bool {
        let text = self.fatal.take();
        // Any program in PHP dies with such words.
        if !self.fatal_open || !(self.version.is_some() || text.to_ascii_lowercase().holds("phpunit")) {
            return false;
        }
        let kind = if text.holds("ParseError") || text.holds("Parse error") || text.holds("syntax error") {
            RunKind::CompileError
        } else if text.holds("Failed opening required") || text.holds("not found in") {
            RunKind::ImportError
        } else {
            RunKind::Crash
        };
        self.problems.push(kind, text.trim(), stack::place_of(&text).or_else(|| stack::place_in_words(&text)));
        true
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        let died = self.settle_fatal();
        let named = !self.cases.is_empty();
        let mut findings = Findings::new(FRAMEWORK);
        if self.version.is_none() && !died && !self.finished {
            return None;
        }
        let words = self.words.take();
        if self.version.is_some() && !self.finished {
            // PHPUnit 9 does not notice when a test ends the process, and exits with 0.
            findings.status = Some(RunStatus::Error);
            if !died {
                let bad = ["Cannot open file ", "Test file ", "Unknown option ", "unrecognized option", "Could not "];
                let bad = bad.iter().any(|start| words.lines().any(|line| line.starts_with(start)));
                let kind = if bad { RunKind::BadCommand } else { RunKind::Crash };
                self.problems.push(kind, words.trim(), stack::place_of(&words));
            }
        }
        findings.finished = self.finished;
        findings.counts = self.counts;
        findings.tests = self.cases.into_list();
        // The other outputs name tests in their own way; two ways would name each twice.
        if !named && self.teamcity.is_seen() {
            findings.tests.extend(self.teamcity.into_list());
        } else if !named {
            findings.tests.extend(self.testdox.into_list());
        } else {
            findings
                .tests
                .extend(self.testdox.into_list().into_iter().filter(|test| test.status == TestStatus::Passed));
        }
        findings.problems = self.problems.into_list();
        if self.none_ran && findings.tests.is_empty() {
            findings.kind = Some(RunKind::NoTests);
        }
        Some(findings)
    }
}

/// `There were 3 errors:`.
fn section(line: &str) -> Option<Section> {
    let rest = line.strip_prefix("There was ").or_else(|| line.strip_prefix("There were "))?;
    let (number, what) = rest.strip_suffix(':')?.cut_word()?;
    number.parse::<u64>().ok()?;
    Some(match what {
        "error" | "errors" => Section::Errors,
        "failure" | "failures" => Section::Failures,
        "skipped test" | "skipped tests" | "incomplete test" | "incomplete tests" => Section::Skipped,
        _ if what.holds("warning") || what.holds("PHPUnit") => Section::Warnings,
        _ => Section::Other,
    })
}

/// `testPrices with data set "two" (2, 901)` → `testPrices with data set "two"`.
fn without_arguments(name: &str) -> &str {
    let Some(at) = name.seek(" with data set ") else { return name };
    let rest = name.get(at..).unwrap_or_default();
    let end = if rest.starts_with(" with data set #") { rest.seek(" (") } else { rest.seek("\" (").map(|end| end + 1) };
    end.and_then(|end| name.get(..at + end)).unwrap_or(name)
}
