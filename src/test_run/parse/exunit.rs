//! ExUnit (`mix test`): numbered failures with their place, and a line of numbers behind `Finished in`.

use super::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use super::place;
use crate::domain::test_report::{RunKind, TestStatus};
use crate::domain::verdict::Exit;
use crate::test_run::parse::needle::Seek as _;

const FRAMEWORK: &str = "exunit";
/// What ExUnit indents a failure's text by.
const INDENT: usize = 5;

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
        } else if line.ends_with(".exs]")
            && let Some((module, _)) = line.cut(" [")
        {
            module.clone_into(&mut self.module);
        }
    }

    /// `  3) test crashes (ShopTest)`.
    fn entry<'a>(&self, line: &'a str) -> Option<&'a str> {
        let text = line.strip_prefix("  ")?.trim_start();
        let (number, name) = text.cut(") ")?;
        (number.parse() == Ok(self.number + 1)).then(|| name.trim_end())
    }

    /// `  * test one (0.7ms) [L#5]`, drawn over its announcement.
    fn traced(&mut self, line: &str) {
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
            // The first line says where the test is; its stack trace where it failed.
            let trace = text.cut("stacktrace:").map_or(text, |(_, trace)| trace);
            let own = trace.lines().find(|line| {
                let dependency = line.holds("(ex_unit ") || line.holds("(elixir ") || line.holds("(stdlib ");
                !dependency && place::find(line).is_some()
            });
            self.cases.explain(Some(at), text, own.and_then(place::find).or_else(|| place::find(text)));
        }
        if let Some(kind) = self.trouble.take() {
            self.problems.push(kind, text, place::find(text));
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        let is_own = |message: &str| message.holds(".ex") || message.holds("(Mix)");
        let recognised = self.finished || self.problems.iter().any(|problem| is_own(&problem.message));
        if !recognised {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        if !self.finished || findings.has_failures() {
            findings.problems = self.problems.into_list();
        }
        Some(findings)
    }
}

/// What Elixir says when it cannot compile or start.
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
