//! Mocha: its spec, dot, min, list, progress and landing reporters, its JSON and its JSON stream. Its TAP is read by
//! [`super::tap`].
//!
//! Every text reporter ends with the same epilogue: numbers, then numbered failures with whole titles. Passing tests
//! come from the tree above it.

mod json;

use self::json::Json;
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, RunStatus, TestStatus};
use crate::stack;

const FRAMEWORK: &str = "mocha";
/// The joint between the titles of a test.
const JOIN: &str = " > ";
/// The indentation of a failure's second title.
const SECOND_TITLE: usize = 7;
/// How many failures of a log without epilogue are kept.
const MOST_UNEXPLAINED: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The tree, or dots.
    Results,
    /// The numbers of the epilogue.
    Numbers,
    /// The numbered failures.
    Failures,
    /// Mocha could not even start.
    Exception,
}

/// Reads mocha.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    problems: Problems,
    json: Json,
    path: Vec<String>,
    /// Scratch for a test's full name.
    full: String,
    /// The failures of the tree, for logs that end before the epilogue.
    unexplained: Vec<String>,
    counts: Counts,
    numbers: u64,
    failure: u64,
    title: Option<String>,
    open: Option<usize>,
    block: Block,
    blank: u32,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        " passing (",
        "✔ ",
        "✓ ",
        "  1) ",
        " Exception during run: ",
        "Error: No test files found",
        "\"passes\": ",
        "[\"start\",{",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Results,
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            json: Json::new(budget),
            path: Vec::new(),
            full: String::new(),
            unexplained: Vec::new(),
            counts: Counts::default(),
            numbers: 0,
            failure: 0,
            title: None,
            open: None,
            block: Block::default(),
            blank: 0,
        }
    }

    /// A passing test, told by its mark, its place below a suite and its time without a fraction: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        if self.part != Part::Results || self.path.is_empty() || self.json.is_open() || !line.starts_with("    ") {
            return false;
        }
        let text = line.unindented();
        let is_mine = text.starts_with("✔ ") && line.ends_with("ms)") && !line.holds(".");
        if is_mine {
            self.tree_line(text, line.len() - text.len());
        }
        is_mine
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.part == Part::Results {
            if (line.starts_with('{') || self.json.is_open()) && self.json.line(line, &mut self.cases) {
                return;
            }
            if line.starts_with("[\"") && self.json.event(line, &mut self.cases) {
                return;
            }
        }
        let text = line.unindented();
        let indent = line.len() - text.len();
        // Outside the tree only errors are of interest.
        if indent == 0 && self.part == Part::Results && !text.starts_with('E') {
            return;
        }
        if indent <= 1 && text.starts_with("Exception during run: ") {
            self.part = Part::Exception;
        }
        if indent == 0 && text.starts_with("Error: No test files found") {
            self.problems.push(RunKind::NoTests, text, None);
            return;
        }
        if indent == 2 && self.number(text) {
            return;
        }
        match self.part {
            Part::Results => self.tree_line(text, indent),
            Part::Numbers | Part::Failures => self.failure_line(line, text, indent),
            Part::Exception => self.block.push(line),
        }
    }

    /// `2 passing (323ms)`, `2 pending`, `9 failing`.
    fn number(&mut self, text: &str) -> bool {
        if !text.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) {
            return false;
        }
        let Some((digits, rest)) = text.cut_word() else { return false };
        let Ok(number) = digits.parse::<u64>() else { return false };
        if rest.starts_with("passing (") {
            if self.part == Part::Failures {
                self.settle();
            }
            self.part = Part::Numbers;
            self.numbers += 1;
            self.failure = 0;
            // Lines for numbers that are zero are not printed.
            let zero = Some(0);
            let passed = Some(number);
            self.counts.add(&Counts { total: passed, passed, failed: zero, skipped: zero, errors: None });
        } else if self.part == Part::Numbers && rest.trim_end() == "pending" {
            self.counts.add(&Counts { total: Some(number), skipped: Some(number), ..Counts::default() });
        } else if self.part == Part::Numbers && rest.trim_end() == "failing" {
            self.counts.add(&Counts { total: Some(number), failed: Some(number), ..Counts::default() });
        } else {
            return false;
        }
        true
    }

    fn tree_line(&mut self, text: &str, indent: usize) {
        if indent < 2 || !indent.is_multiple_of(2) || text.is_empty() {
            return;
        }
        let level = indent / 2 - 1;
        let may_be_result = matches!(text.as_bytes().first(), Some(0xE2 | b'-' | b'0'..=b'9'));
        let (mark, rest) = text.cut_word().filter(|_| may_be_result).unwrap_or((text, ""));
        let numbered = || mark.strip_suffix(')').is_some_and(|digits| digits.parse::<u64>().is_ok());
        let status = match mark {
            "✔" | "✓" | "√" => TestStatus::Passed,
            "-" => TestStatus::Skipped,
            _ if numbered() => TestStatus::Failed,
            _ => {
                self.path.truncate(level + 1);
                if let Some(open) = self.path.get_mut(level) {
                    text.trim_end().clone_into(open);
                } else if self.path.len() == level {
                    self.path.push(text.trim_end().to_owned());
                }
                return;
            }
        };
        let mut full = std::mem::take(&mut self.full);
        full.clear();
        for part in self.path.get(..level).unwrap_or(&self.path) {
            full.push_str(part);
            full.push_str(JOIN);
        }
        full.push_str(without_time(rest));
        // Failing tests are named by the epilogue, with their words.
        if status != TestStatus::Failed {
            self.cases.push(&full, status);
        } else if self.unexplained.len() < MOST_UNEXPLAINED {
            self.unexplained.push(full.clone());
        }
        self.full = full;
    }

    /// A line of the numbered failures.
    fn failure_line(&mut self, line: &str, text: &str, indent: usize) {
        if indent == 2
            && let Some((number, title)) = text.cut(") ")
            && number.parse() == Ok(self.failure + 1)
        {
            self.settle();
            self.part = Part::Failures;
            self.failure += 1;
            self.blank = 0;
            self.title = Some(String::new());
            self.add_title(title);
            return;
        }
        if self.part != Part::Failures {
            return;
        }
        if self.title.is_some() {
            if indent >= SECOND_TITLE {
                self.add_title(text);
                return;
            }
            self.end_title();
        }
        if text.is_empty() {
            self.blank += 1;
        } else {
            if self.blank > 1 && indent == 0 {
                // The epilogue is over.
                self.settle();
                self.part = Part::Results;
                self.path.clear();
                return;
            }
            self.blank = 0;
        }
        self.block.push(line.strip_prefix("     ").unwrap_or(line));
    }

    /// Adds one of the lines with the titles of a failure. The last ends with a colon.
    fn add_title(&mut self, text: &str) {
        let Some(title) = &mut self.title else { return };
        if !title.is_empty() {
            title.push_str(JOIN);
        }
        match text.trim_end().strip_suffix(':') {
            Some(last) => {
                title.push_str(last);
                self.end_title();
            }
            None => title.push_str(text.trim_end()),
        }
    }

    fn end_title(&mut self) {
        if let Some(title) = self.title.take() {
            self.open = self.cases.push(&title, TestStatus::Failed);
        }
    }

    fn settle(&mut self) {
        self.end_title();
        let text = self.block.take();
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), text.trim_end(), stack::place_of(&text));
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        let mut findings = Findings::new(FRAMEWORK);
        if self.part == Part::Exception {
            let text = self.block.take();
            self.problems.push(exception_kind(&text), text.trim(), stack::place_of(&text));
            // Mocha's exit code is 0 when a reporter cannot be made.
            findings.status = Some(RunStatus::Error);
        }
        self.settle();
        if self.numbers == 0 && !self.json.is_seen() && self.problems.is_empty() {
            return self.json.broken_off();
        }
        if self.numbers > 0 {
            findings.counts = self.counts;
            findings.finished = true;
        } else if let Some(counts) = self.json.counts() {
            self.json.tell(&mut self.problems);
            findings.counts = counts;
            findings.finished = true;
        }
        // The numbers came without a list of failures.
        if self.numbers > 0 && self.failure == 0 {
            for name in &self.unexplained {
                self.cases.push(name, TestStatus::Failed);
            }
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// Why mocha could not start.
fn exception_kind(text: &str) -> RunKind {
    if text.holds("SyntaxError") || text.holds("TSError") {
        RunKind::CompileError
    } else if text.holds("Cannot find module")
        || text.holds("Cannot find package")
        || text.holds("does not provide an export")
    {
        RunKind::ImportError
    } else {
        RunKind::CollectionError
    }
}

/// `name (323ms)` and the list reporter's `name: 0ms` → `name`.
fn without_time(text: &str) -> &str {
    let text = text.trim_end();
    let is_time = |time: &str| {
        let digits = time.strip_suffix("ms").or_else(|| time.strip_suffix('s'));
        digits.is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        })
    };
    if !text.ends_with([')', 's']) {
        return text;
    }
    if let Some((name, time)) = text.cut_last(" (")
        && time.strip_suffix(')').is_some_and(is_time)
    {
        return name;
    }
    match text.cut_last(": ") {
        Some((name, time)) if is_time(time) => name,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_no_part_of_names() {
        assert_eq!(without_time("adds (323ms)"), "adds");
        assert_eq!(without_time("adds: 0ms"), "adds");
        assert_eq!(without_time("adds (twice)"), "adds (twice)");
    }
}
