//! ExUnit (`mix test`): numbered failures with their place, and a line of numbers behind `Finished in`.

use std::collections::BTreeSet;

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, TestStatus};

const FRAMEWORK: &str = "exunit";
/// The indentation of a failure's text in ExUnit.
const INDENT: usize = 5;
/// More modules are not named.
const MOST_INVALID: usize = 1_000;
/// The words behind a module's name when none of its tests could begin.
const SETUP_ALL: &str = ": failure on setup_all callback";

/// Reads ExUnit.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    number: u64,
    module: String,
    /// Scratch for a test's full name.
    full: String,
    open: Option<usize>,
    block: Block,
    /// A compiler's or mix's complaint is being read.
    trouble: Option<RunKind>,
    /// Modules that are said not to have been set up. The numbers at the end bear it out.
    invalid: Vec<String>,
    /// Behind `Finished in`.
    ending: bool,
    counts: Counts,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "  1) test ",
        "  1) doctest ",
        "  1) property ",
        SETUP_ALL,
        " on load, ",
        "s async, ",
        "Finished in ",
        "_test.exs",
        "** (",
        "== Compilation error in file ",
        "Randomized with seed ",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            number: 0,
            module: String::new(),
            full: String::new(),
            open: None,
            block: Block::default(),
            trouble: None,
            invalid: Vec::new(),
            ending: false,
            counts: Counts::default(),
            finished: false,
        }
    }

    /// A passing test, told by its frame: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        let is_mine = !self.ending && line.starts_with("  * test ") && line.ends_with(']');
        if is_mine {
            self.settle();
            self.traced(line);
        }
        is_mine
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.ending && line.is_empty() {
            return;
        }
        if std::mem::take(&mut self.ending) && self.numbers(line) {
            return;
        }
        if line.starts_with("Finished in ") {
            self.settle();
            self.ending = true;
            return;
        }
        if self.invalidated(line) {
            return;
        }
        if let Some(name) = self.entry(line) {
            self.settle();
            self.number += 1;
            self.open = self.cases.set(name, TestStatus::Failed);
            return;
        }
        if let Some(kind) = trouble(line) {
            self.settle();
            self.trouble = Some(kind);
            self.block.push(line);
            return;
        }
        let indent = line.len() - line.unindented().len();
        if self.open.is_some() || self.trouble.is_some() {
            if indent >= INDENT || line.trim().is_empty() || (self.trouble.is_some() && indent > 0) {
                self.block.push(line.get(INDENT.min(indent)..).unwrap_or_default());
                return;
            }
            self.settle();
        }
        if line.starts_with("  * ") {
            self.traced(line);
        } else if (line.ends_with(".exs]") || line.ends_with(" [nofile]"))
            && let Some((module, _)) = line.cut(" [")
        {
            // With `--trace` a module begins so: `CartTest [test/cart_test.exs]`.
            module.clone_into(&mut self.module);
        }
    }

    /// `  3) test crashes (ShopTest)`.
    fn entry<'a>(&self, line: &'a str) -> Option<&'a str> {
        let text = line.strip_prefix("  ")?.trim_start();
        let (number, name) = text.cut(") ")?;
        // The words of a failure may look like an entry, but not with the next number.
        (number.parse() == Ok(self.number + 1)).then(|| name.trim_end())
    }

    /// `  0) ShopTest: failure on setup_all callback, all tests have been invalidated`: the number counts the failures so far.
    fn invalidated(&mut self, line: &str) -> bool {
        let Some((number, text)) = line.strip_prefix("  ").and_then(|text| text.trim_start().cut(") ")) else {
            return false;
        };
        let Some((module, _)) = text.cut(SETUP_ALL).filter(|_| number.parse() == Ok(self.number)) else { return false };
        self.settle();
        self.block.push(text);
        self.trouble = Some(RunKind::CollectionError);
        if self.invalid.len() < MOST_INVALID {
            self.invalid.push(module.to_owned());
        }
        true
    }

    /// A trace shows the tests of modules that were not set up as if they had passed.
    fn invalidate(&mut self) {
        let modules: BTreeSet<String> = self.invalid.iter().map(|module| format!("({module})")).collect();
        for at in 0..self.cases.len() {
            if let Some(test) = self.cases.get_mut(at)
                && test.status == TestStatus::Passed
                && test.name.rsplit(' ').next().is_some_and(|module| modules.contains(module))
            {
                test.status = TestStatus::Error;
            }
        }
    }

    /// `  * test one (0.7ms) [L#5]`, drawn over its announcement.
    fn traced(&mut self, line: &str) {
        // The test may have printed something without an end of its line.
        let Some((_, text)) = line.cut_last("  * ") else { return };
        let Some((name, rest)) = text.cut_last(" [L#") else { return };
        if !rest.ends_with(']') {
            return;
        }
        let Some((name, result)) = name.cut_last(" (") else { return };
        let status = match result {
            "skipped)" | "excluded)" => TestStatus::Skipped,
            _ if result.ends_with("ms)") => TestStatus::Passed,
            _ => return,
        };
        let full = &mut self.full;
        full.clear();
        for part in [name, " (", &self.module, ")"] {
            full.push_str(part);
        }
        self.cases.set(full, status);
    }

    /// `8 tests, 6 failures, 1 skipped`, `2 doctests, 3 tests, 0 failures`.
    fn numbers(&mut self, line: &str) -> bool {
        let (mut total, mut failed, mut skipped, mut invalid) = (None, None, 0, 0);
        for part in line.split(", ") {
            let Some((number, what)) = part.trim().cut_word() else { return false };
            let Ok(number) = number.parse::<u64>() else { return false };
            match what {
                "test" | "tests" | "doctest" | "doctests" | "property" | "properties" | "feature" | "features" => {
                    total = Some(total.unwrap_or(0) + number);
                }
                "failure" | "failures" => failed = Some(number),
                "skipped" | "excluded" => skipped += number,
                "invalid" => invalid = number,
                _ => return false,
            }
        }
        let (Some(total), Some(failed)) = (total, failed) else { return false };
        self.finished = true;
        self.number = 0;
        self.counts.add(&Counts {
            total: Some(total),
            passed: Some(total.saturating_sub(failed + skipped + invalid)),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: (invalid > 0).then_some(invalid),
        });
        true
    }

    fn settle(&mut self) {
        if self.open.is_none() && self.trouble.is_none() {
            self.block.clear();
            return;
        }
        let text = self.block.take();
        let text = text.trim_end();
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), text, place_of(text));
        }
        if let Some(kind) = self.trouble.take() {
            let place = if text.holds(SETUP_ALL) { place_of(text) } else { place::find(text) };
            self.problems.push(kind, text, place);
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        // `** (RuntimeError)` is how any program in Elixir dies.
        let is_own = |message: &str| message.holds(".ex") || message.holds("(Mix)");
        let recognised = self.finished || self.problems.iter().any(|problem| is_own(&problem.message));
        if !recognised {
            return None;
        }
        // With whole numbers and no invalid test among them, a test printed the words.
        let borne_out = !self.finished || self.counts.errors.unwrap_or(0) > 0;
        if borne_out {
            self.invalidate();
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        if !self.finished || findings.has_failures() {
            findings.problems = self.problems.into_list();
            findings.problems.retain(|problem| borne_out || !problem.message.holds(SETUP_ALL));
        }
        Some(findings)
    }
}

/// The place of a failure. Its first line says where the test is, and its stack trace where it failed.
fn place_of(text: &str) -> Option<(String, u32)> {
    let trace = text.cut("stacktrace:").map_or(text, |(_, trace)| trace);
    let own = trace.lines().find(|line| {
        let dependency = line.holds("(ex_unit ") || line.holds("(elixir ") || line.holds("(stdlib ");
        !dependency && place::find(line).is_some()
    });
    own.and_then(place::find).or_else(|| place::find(text))
}

/// The kind of trouble that a line names when Elixir cannot compile or start.
fn trouble(line: &str) -> Option<RunKind> {
    if line.starts_with("== Compilation error in file ") {
        return Some(RunKind::CompileError);
    }
    let (class, _) = line.strip_prefix("** (")?.split_once(')')?;
    match class {
        "CompileError" | "SyntaxError" | "TokenMissingError" | "MismatchedDelimiterError" => {
            Some(RunKind::CompileError)
        }
        "Mix" => Some(RunKind::BadCommand),
        "UndefinedFunctionError" | "ArgumentError" | "RuntimeError" | "Code.LoadError" => {
            Some(RunKind::CollectionError)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_whose_setup_failed_has_a_problem_and_no_passing_tests() {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        let log = "\nBTest [test/b_test.exs]\n  * test two (0.00ms) [L#24]\n\n  0) BTest: failure on setup_all callback, all tests have \
                   been invalidated\n     ** (RuntimeError) db down\n     stacktrace:\n       test/b_test.exs:22: BTest.setup/1\n\n\
                   ATest [test/a_test.exs]\n  * test one (0.00ms) [L#4]\n\n  1) test one (ATest)\n     test/a_test.exs:4\n     boom\n\n\
                   Finished in 0.1 seconds\n2 tests, 1 failure, 1 invalid\n";
        log.lines().for_each(|line| reader.line(line));
        let found = reader.finish(None).unwrap();
        let seen: Vec<_> = found.tests.iter().map(|test| (test.name.as_str(), test.status)).collect();
        assert_eq!(seen, [("test two (BTest)", TestStatus::Error), ("test one (ATest)", TestStatus::Failed)]);
        assert!(found.problems[0].message.starts_with("BTest: failure on setup_all callback"));
        assert!(found.problems[0].message.ends_with("BTest.setup/1"));
        assert_eq!((found.problems[0].line, found.counts.errors), (Some(22), Some(1)));
    }
}
