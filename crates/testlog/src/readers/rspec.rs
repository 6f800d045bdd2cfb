//! RSpec: its progress, documentation, failures and JSON formatters.
//!
//! The parts behind the dots are recognised by their headings. The numbers count only behind `Finished in`. Output of examples stands above
//! them.

mod json;

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, RunStatus, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "rspec";
/// The most lines of a documentation tree that are kept.
const MOST_LINES: usize = 20_000;
/// The longest line of such a tree.
const LONGEST_LINE: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Dots or the tree, and what examples print.
    Results,
    Pending,
    Failures,
    /// An error outside of examples.
    Outside,
    /// Behind `Finished in`.
    Numbers,
    /// The commands that run the failures again.
    Again,
}

/// Reads RSpec.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    problems: Problems,
    tree: Vec<(usize, String)>,
    open: Option<usize>,
    number: u64,
    block: Block,
    counts: Counts,
    finished: bool,
    json: json::Json,
    listed: u64,
    budget: Budget,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "Failures:",
        "Finished in ",
        "(FAILED - ",
        "(PENDING: ",
        "Randomized with seed ",
        "An error occurred ",
        "_spec.rb:",
        "\"examples\":[",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Results,
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            tree: Vec::new(),
            open: None,
            number: 0,
            block: Block::default(),
            counts: Counts::default(),
            finished: false,
            json: json::Json::new(budget),
            listed: 0,
            budget: budget.clone(),
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.json.is_open() && self.json.line(line) {
            return;
        }
        match line.as_bytes().first() {
            Some(b'F' | b'P' | b'A' | b'N') if self.heading(line) => return,
            Some(b'.' | b'/' | b's') if self.part == Part::Results && self.failure_list(line) => return,
            _ => {}
        }
        // Another formatter's dots may stand before the report.
        let begins = memchr::memchr(b'{', line.as_bytes()).and_then(|_| line.seek("{\"version\":\""));
        if begins.and_then(|at| line.get(at..)).is_some_and(|text| self.json.line(text)) {
            return;
        }
        match self.part {
            Part::Results => self.tree_line(line),
            Part::Failures => self.failure_line(line),
            Part::Outside => self.block.push(line),
            Part::Numbers => self.numbers(line),
            Part::Pending => self.pending_line(line),
            Part::Again => {}
        }
    }

    /// The headings of the parts.
    fn heading(&mut self, line: &str) -> bool {
        if line.starts_with("An error occurred while loading ") || line.starts_with("An error occurred in a") {
            self.settle();
            self.part = Part::Outside;
            self.block.push(line);
        } else if line == "Failures:" {
            self.settle();
            self.part = Part::Failures;
            self.number = 0;
        } else if line.starts_with("Pending: (Failures listed here") {
            self.settle();
            self.part = Part::Pending;
            self.number = 0;
        } else if line.starts_with("Finished in ") && line.holds(" to load)") {
            self.settle();
            self.part = Part::Numbers;
        } else if line == "Failed examples:" {
            self.settle();
            self.part = Part::Again;
        } else if line == "No examples found." && self.part == Part::Outside {
            self.settle();
            self.part = Part::Results;
        } else {
            return false;
        }
        true
    }

    /// A line of the documentation tree, or anything else that is printed.
    fn tree_line(&mut self, line: &str) {
        let text = line.unindented();
        let indent = line.len() - text.len();
        let skipped = text.is_empty() || !indent.is_multiple_of(2) || text.len() > LONGEST_LINE;
        if skipped || self.tree.len() >= MOST_LINES || !self.budget.take(text.len()) {
            return;
        }
        self.tree.push((indent / 2, text.trim_end().to_owned()));
    }

    fn failure_line(&mut self, line: &str) {
        if let Some(name) = self.entry(line) {
            self.settle();
            self.number += 1;
            // A pending example that passes fails.
            let name = name.strip_suffix(" FIXED").unwrap_or(name);
            self.open = self.cases.push(name, TestStatus::Failed);
        } else if self.open.is_some() {
            self.block.push(line.strip_prefix("     ").unwrap_or(line));
        }
    }

    fn pending_line(&mut self, line: &str) {
        if let Some(name) = self.entry(line) {
            self.number += 1;
            self.cases.push(name, TestStatus::Skipped);
        }
    }

    /// `  3) Cart compares hashes`, when it is the next of its part.
    fn entry<'a>(&self, line: &'a str) -> Option<&'a str> {
        let (number, name) = line.strip_prefix("  ")?.cut(") ")?;
        (number.parse() == Ok(self.number + 1)).then(|| name.trim_end())
    }

    /// `./spec/cart_spec.rb:35:is expected to …`: the failures formatter.
    fn failure_list(&mut self, line: &str) -> bool {
        let Some((file, rest)) = line.cut("_spec.rb:") else { return false };
        let Some((number, name)) = rest.split_once(':') else { return false };
        let Ok(number) = number.parse::<u32>() else { return false };
        // Such as `./spec/cart_spec.rb:3:in 'block'`.
        if name.is_empty() || name.starts_with("in ") || name.starts_with(' ') || file.contains(' ') {
            return false;
        }
        self.listed += 1;
        let at = self.cases.push(name.trim_end(), TestStatus::Failed);
        self.cases.explain(at, line, Some((format!("{file}_spec.rb"), number)));
        true
    }

    fn settle(&mut self) {
        let text = self.block.take();
        if self.part == Part::Outside {
            self.problems.push(outside_kind(&text), &text, stack::place_of(&text));
        }
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), &text, stack::place_of(&text));
        }
    }

    /// `17 examples, 12 failures, 3 pending, 1 error occurred outside of examples`.
    fn numbers(&mut self, line: &str) {
        if !line.holds(" example") {
            return;
        }
        let number =
            |word: &str| line.split(", ").find(|part| part.contains(word)).and_then(place::leading_number::<u64>);
        let (Some(total), Some(failed)) = (number(" example"), number(" failure")) else { return };
        let skipped = number(" pending").unwrap_or(0);
        self.finished = true;
        self.counts.add(&Counts {
            total: Some(total),
            passed: Some(total.saturating_sub(failed + skipped)),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: Some(number(" occurred outside").unwrap_or(0)),
        });
        self.part = Part::Results;
    }

    /// Names the passing examples of the documentation formatter, when the tree is whole.
    fn name_passing(&mut self) {
        let tree = std::mem::take(&mut self.tree);
        let mut path: Vec<String> = Vec::new();
        let mut passing = Vec::new();
        let mut leaves = 0;
        for (at, (level, text)) in tree.iter().enumerate() {
            path.truncate(*level);
            let parent = path.last().map_or("", String::as_str);
            let full = join(parent, text);
            if tree.get(at + 1).is_some_and(|(next, _)| next > level) {
                // Where a level is left out its parent stands in.
                path.resize(*level, parent.to_owned());
                path.push(full);
                continue;
            }
            // Not the marks of the progress formatter: with one example they would be its name.
            if text.chars().all(|c| matches!(c, '.' | 'F' | '*')) {
                continue;
            }
            leaves += 1;
            // Lists name these.
            let marked = text.ends_with(')') && (text.holds(" (FAILED - ") || text.holds(" (PENDING: "));
            if !marked {
                passing.push(full);
            }
        }
        // What examples print among the tree would make wrong names.
        if self.counts.total == Some(leaves) {
            for name in passing {
                self.cases.push(&name, TestStatus::Passed);
            }
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        let has_text = self.finished || !self.problems.is_empty() || !self.cases.is_empty();
        if !self.finished && (self.json.is_found() || !has_text) {
            return self.json.findings(self.problems);
        }
        if self.finished {
            self.name_passing();
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        settle_status(&mut findings);
        Some(findings)
    }
}

/// Errors outside of examples alone are no failing tests.
fn settle_status(findings: &mut Findings) {
    if findings.counts.failed == Some(0) && findings.counts.errors.is_some_and(|errors| errors > 0) {
        findings.status = Some(RunStatus::Error);
    }
}

fn outside_kind(text: &str) -> RunKind {
    if text.holds("SyntaxError:") {
        RunKind::CompileError
    } else if text.holds("LoadError:") {
        RunKind::ImportError
    } else {
        RunKind::CollectionError
    }
}

/// Joins descriptions as RSpec does: methods (`#add`, `.new`) stand close.
fn join(parent: &str, text: &str) -> String {
    let close = text.starts_with('#') || text.starts_with('.') || text.starts_with("::");
    let between = if parent.is_empty() || close { "" } else { " " };
    format!("{parent}{between}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::STORED_BYTES;

    #[test]
    fn a_documentation_tree_names_the_passing_examples() {
        let mut reader = Reader::new(&Budget::new(STORED_BYTES));
        let log = "\nCart\n  has a total\n  #add\n    returns itself\n    breaks (FAILED - 1)\n\nFailures:\n\n  1) Cart#add breaks\n     no\n\nFinished in 0.1 seconds (files took 0.1 seconds to load)\n3 examples, 1 failure\n";
        log.lines().for_each(|line| reader.line(line));
        let found = reader.finish(None).unwrap();
        let passing: Vec<&str> = found
            .tests
            .iter()
            .filter(|test| test.status == TestStatus::Passed)
            .map(|test| test.name.as_str())
            .collect();
        assert_eq!(passing, ["Cart has a total", "Cart#add returns itself"]);
    }

    #[test]
    fn the_mark_of_one_example_is_no_name() {
        let mut reader = Reader::new(&Budget::new(STORED_BYTES));
        let log = "F\n\nFailures:\n\n  1) Cart adds\n     no\n\nFinished in 0.1 seconds (files took 0.1 seconds to load)\n1 example, 1 failure\n";
        log.lines().for_each(|line| reader.line(line));
        let names: Vec<String> = reader.finish(None).unwrap().tests.into_iter().map(|test| test.name).collect();
        assert_eq!(names, ["Cart adds"]);
    }
}
