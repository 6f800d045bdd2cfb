//! Vitest: its default, verbose, tree, dot and GitHub reporters. Its TAP is read by [`super::tap`], its JSON by
//! [`super::jest`].
//!
//! Results come as lines with marks. The reasons stand in sections (`⎯⎯ Failed Tests 9 ⎯⎯`) behind them, where names are whole. The default
//! reporter leaves `describe`s out of its tree, so its names are only used where whole.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "vitest";
/// The joint between the parts of a test's name.
const ARROW: &str = " > ";

/// The section that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Results,
    /// The output of a test, up to a blank line.
    Printed,
    FailedTests,
    FailedSuites,
    Unhandled,
}

/// Reads vitest.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    /// The failures that the GitHub reporter names, which may be one reporter of several.
    annotated: Cases,
    problems: Problems,
    /// The file and the `describe`s that are open in the tree, by level.
    path: Vec<String>,
    /// The tests whose reason is being read: equal reasons are printed once.
    open: Vec<usize>,
    block: Block,
    counts: Counts,
    files_seen: bool,
    tests_seen: bool,
    recognised: bool,
    errors: u64,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] =
        &[" RUN  v", " DEV  v", " Test Files  ", "⎯⎯⎯⎯⎯", "No test files found, exiting", "::error file="];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Results,
            cases: Cases::new(budget),
            annotated: Cases::new(budget),
            problems: Problems::new(budget),
            path: Vec::new(),
            open: Vec::new(),
            block: Block::default(),
            counts: Counts::default(),
            files_seen: false,
            tests_seen: false,
            recognised: false,
            errors: 0,
        }
    }

    /// A passing file or test: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        let is_mine = self.recognised
            && self.part == Part::Results
            && line.starts_with(" ")
            && line.ends_with("ms")
            && line.unindented().starts_with("✓ ");
        if is_mine {
            self.result_line(line);
        }
        is_mine
    }

    /// In what a test printed.
    pub(super) fn quotes(&self) -> bool {
        self.part == Part::Printed
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with('⎯') {
            self.rule(line);
            return;
        }
        if self.part == Part::Printed {
            if line.is_empty() {
                self.part = Part::Results;
            }
            return;
        }
        if line.starts_with(' ') && self.summary_line(line) {
            return;
        }
        match self.part {
            Part::Results => self.result_line(line),
            Part::FailedTests | Part::FailedSuites => self.reason_line(line),
            Part::Unhandled => self.block.push(line),
            Part::Printed => {}
        }
    }

    /// A line of `⎯`: the head of a section, or the end of a reason (`⎯⎯⎯[1/10]⎯`).
    fn rule(&mut self, line: &str) {
        let title = line.trim_matches('⎯').trim();
        // `⎯⎯[1/9]⎯⎯` stands behind each entry of a section.
        if !(title.is_empty() || title.starts_with('[')) {
            self.recognised = true;
        }
        match title {
            _ if title.starts_with("Failed Tests") => {
                self.settle();
                self.part = Part::FailedTests;
            }
            _ if title.starts_with("Failed Suites") => {
                self.settle();
                self.part = Part::FailedSuites;
            }
            _ if title.starts_with("Unhandled ") || title.starts_with("Startup Error") => {
                self.settle();
                self.part = Part::Unhandled;
            }
            _ => self.settle(),
        }
    }

    /// ` Test Files  1 failed (1)`, `      Tests  9 failed | 2 passed (14)`.
    fn summary_line(&mut self, line: &str) -> bool {
        let text = line.trim_start();
        if !matches!(text.as_bytes().first(), Some(b'T' | b'R' | b'D')) {
            return false;
        }
        if let Some(rest) = text.strip_prefix("Test Files  ") {
            if !rest.ends_with(')') {
                return false;
            }
            self.settle();
            self.part = Part::Results;
            self.files_seen = true;
            true
        } else if let Some(rest) = text.strip_prefix("Tests  ").filter(|_| self.files_seen) {
            self.numbers(rest);
            true
        } else if let Some(rest) = text.strip_prefix("RUN  v").or_else(|| text.strip_prefix("DEV  v")) {
            self.recognised |= rest.starts_with(|digit: char| digit.is_ascii_digit());
            true
        } else {
            false
        }
    }

    fn numbers(&mut self, rest: &str) {
        let total =
            rest.rsplit_once('(').and_then(|(_, total)| total.trim_end().strip_suffix(')')?.parse::<u64>().ok());
        let parts = rest.rsplit_once('(').map_or(rest, |(parts, _)| parts);
        let number = |word: &str| {
            parts.split('|').find_map(|part| part.trim().strip_suffix(word)?.trim_end().parse::<u64>().ok())
        };
        if total.is_none() && !rest.starts_with("no tests") {
            return;
        }
        self.tests_seen = true;
        self.counts.add(&Counts {
            total: Some(total.unwrap_or(0)),
            passed: Some(number(" passed").unwrap_or(0) + number(" expected fail").unwrap_or(0)),
            failed: Some(number(" failed").unwrap_or(0)),
            skipped: Some(number(" skipped").unwrap_or(0) + number(" todo").unwrap_or(0)),
            errors: None,
        });
    }

    fn result_line(&mut self, line: &str) {
        if line.starts_with("stdout | ") || line.starts_with("stderr | ") {
            self.part = Part::Printed;
            return;
        }
        if line.starts_with("No test files found, exiting with code ") {
            self.recognised = true;
            if !line.ends_with(" 0") {
                self.problems.push(RunKind::NoTests, line, None);
            }
            return;
        }
        if line.starts_with("::error file=") {
            self.annotation(line);
            return;
        }
        let text = line.unindented();
        let indent = line.len() - text.len();
        // Marks stand at odd columns.
        if indent.is_multiple_of(2) {
            return;
        }
        let Some((mark, rest)) = text.cut_word() else { return };
        let status = match mark {
            "✓" | "√" => TestStatus::Passed,
            "×" | "❯" => TestStatus::Failed,
            "↓" | "□" => TestStatus::Skipped,
            _ => return,
        };
        let level = indent / 2;
        let name = without_time(rest);
        if (mark == "❯" || level == 0)
            && let Some(group) = without_count(name)
        {
            self.path.truncate(level + 1);
            // Where a level is left out the names below are not whole.
            if let Some(open) = self.path.get_mut(level) {
                group.clone_into(open);
            } else if self.path.len() == level {
                self.path.push(group.to_owned());
            }
            return;
        }
        if mark == "❯" {
            return;
        }
        if level == 0 {
            // Without an arrow it is a file.
            if name.holds(ARROW) {
                self.cases.push(name, status);
            }
            return;
        }
        self.path.truncate(level);
        if self.path.len() == level {
            let full = self.path.join(ARROW) + ARROW + name;
            self.cases.push(&full, status);
        }
    }

    fn reason_line(&mut self, line: &str) {
        if let Some(title) = line.strip_prefix(" FAIL ") {
            // Several names may stand above one reason.
            if !self.block.is_empty() {
                self.settle();
            }
            let title = title.trim();
            let name = title.cut_last(" [ ").filter(|(_, path)| path.ends_with(" ]")).map_or(title, |(name, _)| name);
            // A suite's hook that fails, fails its file: that is what vitest counts.
            let name = match name.cut(ARROW) {
                Some((file, _)) if self.part == Part::FailedSuites => {
                    self.block.push(name);
                    file
                }
                _ => name,
            };
            let status = if self.part == Part::FailedSuites { TestStatus::Error } else { TestStatus::Failed };
            if self.cases.find(name).is_none() && status == TestStatus::Error {
                self.errors += 1;
            }
            self.open.extend(self.cases.set(name, status));
        } else if !self.open.is_empty() {
            self.block.push(line);
        }
    }

    fn settle(&mut self) {
        let text = self.block.take();
        if self.part == Part::Unhandled {
            // These words only open the section.
            if !text.trim_start().starts_with("Vitest caught ") {
                self.problems.push(RunKind::Crash, &text, stack::place_of(&text));
            }
            return;
        }
        for at in self.open.drain(..) {
            self.cases.explain(Some(at), &text, stack::place_of(&text));
        }
    }

    /// `::error file=/x/a.test.ts,title=a.test.ts > A > b,line=1,column=2::message%0A…`.
    fn annotation(&mut self, line: &str) {
        let Some((head, message)) = line.strip_prefix("::error ").and_then(|rest| rest.cut("::")) else {
            return;
        };
        let Some((file, rest)) = head.strip_prefix("file=").and_then(|rest| rest.cut(",title=")) else { return };
        let Some((title, line)) = rest.cut_last(",line=") else { return };
        // Other tools annotate too, without a file in the title.
        if !title.split(ARROW).next().is_some_and(place::is_path) {
            return;
        }
        self.recognised = true;
        let message = message.replace("%0A", "\n").replace("%0D", "").replace("%25", "%");
        let name = title.replace("%2C", ",").replace("%3A", ":").replace("%0A", "\n").replace("%25", "%");
        let at = self.annotated.set(&name, TestStatus::Failed);
        self.annotated.explain(at, &message, place::leading_number(line).map(|line| (file.to_owned(), line)));
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if !self.recognised && !self.tests_seen {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        if self.tests_seen {
            findings.counts = self.counts;
            findings.counts.errors = Some(self.errors);
        }
        findings.finished = self.tests_seen;
        findings.tests = self.cases.into_list();
        if !self.tests_seen {
            // No other reporter spoke.
            findings.tests.extend(self.annotated.into_list());
        }
        findings.problems = self.problems.into_list();
        if !findings.has_tests() && findings.problems.is_empty() {
            return None;
        }
        Some(findings)
    }
}

/// `two milks 6ms (retry x2)` → `two milks`.
fn without_time(text: &str) -> &str {
    let text = without_note(text.trim_end());
    match text.cut_last(" ") {
        Some((name, time)) if time.strip_suffix("ms").or_else(|| time.strip_suffix('s')).is_some_and(is_decimal) => {
            name
        }
        _ => text,
    }
}

/// Cuts what stands behind a time: `(retry x2)`, `(repeat x3)`, `(retry x2, repeat x3)` and `52 MB heap used`.
fn without_note(text: &str) -> &str {
    let text = match text.strip_suffix(" MB heap used").and_then(|text| text.cut_last(" ")) {
        Some((head, number)) if is_decimal(number) => head,
        _ => text,
    };
    if let Some((head, _)) = text.strip_suffix(')').and_then(|text| text.cut_last(" (re")) {
        let note = text.get(head.len()..).unwrap_or_default();
        if note.starts_with(" (retry x") || note.starts_with(" (repeat x") {
            return head;
        }
    }
    text
}

fn is_decimal(text: &str) -> bool {
    text.starts_with(|digit: char| digit.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// `tests/cart.test.ts (14 tests | 9 failed)` and `Cart (12)`: the name of a group.
fn without_count(text: &str) -> Option<&str> {
    let (name, count) = text.cut_last(" (")?;
    let count = count.strip_suffix(')')?;
    let number = count.cut_word().map_or(count, |(number, _)| number);
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::STORED_BYTES;

    fn read(log: &str) -> Findings {
        let mut reader = Reader::new(&Budget::new(STORED_BYTES));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None).unwrap()
    }

    #[test]
    fn equal_reasons_are_printed_once_for_several_tests() {
        let found = read(
            "⎯⎯⎯⎯⎯ Failed Tests 2 ⎯⎯⎯⎯⎯\n\n FAIL  a.test.ts > x\n FAIL  a.test.ts > y\nError: no\n ❯ a.test.ts:3:1\n\n⎯⎯⎯⎯⎯⎯[1/2]⎯\n\n Test Files  1 failed (1)\n      Tests  2 failed (2)\n",
        );
        assert_eq!(found.tests.len(), 2);
        assert!(found.tests.iter().all(|test| test.message.starts_with("Error: no") && test.line == Some(3)));
    }

    #[test]
    fn names_of_version_3_are_whole_in_one_line() {
        let found = read(
            " ❯ a.test.ts (2 tests | 1 failed) 5ms\n   × Cart > adds 3ms\n     → no\n   ✓ Cart > is empty 1ms\n\n Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)\n",
        );
        let names: Vec<&str> = found.tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["a.test.ts > Cart > adds", "a.test.ts > Cart > is empty"]);
    }

    #[test]
    fn what_stands_behind_a_time_is_no_part_of_a_name() {
        for note in [
            "",
            " (retry x2)",
            " (repeat x3)",
            " (retry x1, repeat x3)",
            " 52 MB heap used",
            " (retry x1) 52 MB heap used",
        ] {
            assert_eq!(without_time(&format!("adds (retry twice) 6ms{note}")), "adds (retry twice)", "{note}");
        }
    }
}
