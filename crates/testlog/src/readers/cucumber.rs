//! Cucumber for JavaScript and for Ruby: numbers of scenarios, and the failing ones by name.
//!
//! JavaScript lists each failing scenario with its steps. Ruby prints the steps' errors where they occur (`pretty`) or together
//! (`progress`), and lists the failing scenarios' names at the end.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems, sum};
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, TestStatus};

const FRAMEWORK: &str = "cucumber";
/// More errors of steps than this are not kept for Ruby's list.
const MOST_ERRORS: usize = 1_000;

/// The lists of JavaScript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Nothing,
    Failures,
    Warnings,
    /// Ruby's.
    Failing,
}

/// Reads Cucumber.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    list: List,
    /// The entry of a list: its test, and where its scenario is.
    open: Option<(usize, Option<(String, u32)>)>,
    block: Block,
    /// Ruby's scenario that is being printed: its name, and whether a step of it is not defined.
    scenario: Option<(String, bool)>,
    /// The errors of Ruby's steps, by the step's place.
    errors: Vec<(String, u32, String)>,
    budget: Budget,
    counts: Counts,
    undefined: u64,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "Scenario: ",
        "Scenario Outline: ",
        " scenarios (",
        " scenario (",
        "0 scenarios",
        "Failing Scenarios:",
        "Parse error in \"",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            list: List::Nothing,
            open: None,
            block: Block::default(),
            scenario: None,
            errors: Vec::new(),
            budget: budget.clone(),
            counts: Counts::default(),
            undefined: 0,
            finished: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        match line {
            "Failures:" => return self.begins(List::Failures),
            "Warnings:" => return self.begins(List::Warnings),
            "Failing Scenarios:" => return self.begins(List::Failing),
            _ => {}
        }
        if line.starts_with(|first: char| first.is_ascii_digit()) && self.numbers(line) {
            self.begins(List::Nothing);
            return;
        }
        if let Some(rest) = line.strip_prefix("Parse error in \"") {
            let at = rest.cut("\" (").and_then(|(file, rest)| Some((file.to_owned(), place::leading_number(rest)?)));
            self.problems.push(RunKind::CompileError, line, at);
            return;
        }
        match self.list {
            List::Failures | List::Warnings => self.in_list(line),
            List::Failing => self.failing(line),
            List::Nothing => self.ruby_line(line),
        }
    }

    fn begins(&mut self, list: List) {
        self.settle();
        self.scenario_ends();
        self.list = list;
    }

    /// `1) Scenario: discount is taken (attempt 2) # features/cart.feature:5`, and its steps.
    fn in_list(&mut self, line: &str) {
        let entry = line.cut(") Scenario").filter(|(number, _)| number.parse::<u64>().is_ok());
        let Some((_, rest)) = entry else {
            if self.open.is_some() {
                self.block.push(line.strip_prefix("   ").unwrap_or(line));
            }
            return;
        };
        self.settle();
        let Some((name, at)) = rest.cut(": ").and_then(|(_, rest)| rest.cut_last(" # ")) else { return };
        // A later attempt decides.
        if name.ends_with(", retried)") {
            return;
        }
        let name = name.cut_last(" (attempt ").map_or(name, |(name, _)| name);
        let status = if self.list == List::Warnings { TestStatus::Skipped } else { TestStatus::Failed };
        self.open = self.cases.push(name, status).map(|case| (case, place::find(at)));
    }

    fn settle(&mut self) {
        let text = self.block.take();
        let Some((case, at)) = self.open.take() else { return };
        let Some(test) = self.cases.get_mut(case).filter(|test| test.status == TestStatus::Failed) else { return };
        if !text.lines().any(|line| line.starts_with("✖ ")) {
            // Steps that are not defined, or are so twice.
            test.status = TestStatus::Error;
        }
        self.cases.explain(Some(case), text.trim_end(), at);
    }

    /// `cucumber features/a.feature:4 # Scenario: fails`.
    fn failing(&mut self, line: &str) {
        let Some((at, title)) = line.strip_prefix("cucumber ").and_then(|rest| rest.cut(" # ")) else { return };
        let Some((file, number)) = place::find(at) else { return };
        let name = title.cut(": ").map_or(title, |(_, name)| name);
        let case = self.cases.set(name, TestStatus::Failed);
        // The scenario's error is that of the first step below its heading.
        let below = |(of, step, _): &&(String, u32, String)| *of == file && *step >= number;
        let text = self.errors.iter().filter(below).min_by_key(|(_, step, _)| *step).map(|(_, _, text)| text.clone());
        self.cases.explain(case, &text.unwrap_or_default(), Some((file, number)));
    }

    fn ruby_line(&mut self, line: &str) {
        let text = line.trim_start();
        if text.is_empty() {
            self.block.clear();
            self.scenario_ends();
        } else if let Some((title, _)) = text.cut(" # ").filter(|_| text.starts_with("Scenario")) {
            self.scenario_ends();
            let name = title.cut(": ").map_or(title, |(_, name)| name);
            self.scenario = Some((name.trim_end().to_owned(), false));
        } else if let Some((_, at)) = text.cut_last(" # ") {
            self.block.clear();
            // A step without a definition has its own line in the feature as its place.
            if let Some((_, undefined)) = &mut self.scenario {
                *undefined |= at.holds(".feature:");
            }
        } else {
            self.block.push(text);
            // The last line of an error: `features/cart.feature:5:in 'the total is 3'`.
            if text.holds(".feature:") && text.holds(":in ") {
                self.step_failed(text);
            }
        }
    }

    /// `features/a.feature:6:in `Then bad'` is the last line of a step's error.
    fn step_failed(&mut self, line: &str) {
        let text = self.block.take();
        if let Some((file, number)) = place::find(line)
            && self.errors.len() < MOST_ERRORS
            && self.budget.take(file.len() + text.len())
        {
            self.errors.push((file, number, text));
        }
        // Whether it failed, the list at the end says.
        if let Some((name, _)) = self.scenario.take() {
            self.cases.push(&name, TestStatus::Failed);
        }
    }

    fn scenario_ends(&mut self) {
        if let Some((name, undefined)) = self.scenario.take() {
            self.cases.push(&name, if undefined { TestStatus::Skipped } else { TestStatus::Passed });
        }
    }

    /// `6 scenarios (2 failed, 1 undefined, 1 pending, 2 passed)`, `0 scenarios`.
    fn numbers(&mut self, line: &str) -> bool {
        let Some((total, rest)) = line.cut_word() else { return false };
        let Some(rest) = rest.strip_prefix("scenario") else { return false };
        let Ok(total) = total.parse::<u64>() else { return false };
        let rest = rest.strip_prefix('s').unwrap_or(rest).trim();
        let parts =
            if rest.is_empty() { Some("") } else { rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) };
        let Some(parts) = parts else { return false };
        let number = |word: &str| {
            let found = parts.split(", ").find_map(|part| part.strip_suffix(word)?.trim().parse::<u64>().ok());
            found.unwrap_or(0)
        };
        self.undefined += number("undefined");
        self.counts.add(&Counts {
            total: Some(total),
            passed: Some(number("passed")),
            // An ambiguous step fails its scenario.
            failed: Some(sum(&[number("failed"), number("ambiguous")])),
            skipped: Some(sum(&[number("skipped"), number("pending")])),
            errors: Some(0),
        });
        self.finished = true;
        true
    }

    pub(super) fn finish(mut self, exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if !self.finished && self.problems.is_empty() {
            return None;
        }
        let undefined = Some(self.undefined);
        // Ruby does not mind steps that are not defined.
        let passed_over = exit.is_some_and(Exit::is_success);
        let (skipped, errors) = if passed_over { (undefined, Some(0)) } else { (Some(0), undefined) };
        self.counts.add(&Counts { skipped, errors, ..Counts::default() });
        let mut findings = Findings::new(FRAMEWORK);
        if self.finished {
            findings.counts = self.counts;
        }
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str, code: i32) -> Option<Findings> {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(Some(Exit::Code { code }))
    }

    #[test]
    fn undefined_steps_are_errors_where_the_command_minds() {
        let log = "..U\n\n3 scenarios (1 undefined, 2 passed)\n4 steps (1 undefined, 3 passed)\n";
        let (red, green) = (of(log, 1).unwrap(), of(log, 0).unwrap());
        assert_eq!((red.counts.errors, red.counts.skipped), (Some(1), Some(0)));
        assert_eq!((green.counts.errors, green.counts.skipped), (Some(0), Some(1)));
        assert!(green.finished && !green.has_failures());
    }

    #[test]
    fn a_run_without_numbers_is_not_cucumbers() {
        assert!(of("  Scenario: adds # features/a.feature:2\n    Given ok # features/steps.rb:1\n", 0).is_none());
        assert!(of("3 scenarios were thought of\n", 0).is_none());
    }
}
