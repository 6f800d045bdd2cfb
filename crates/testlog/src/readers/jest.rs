//! Jest: what its default, verbose and summary reporters print, and its JSON report (vitest's is the same).
//!
//! A file's part is its header (`FAIL path`), a tree of results up to a blank line, and blocks `  ● A › b` with the reasons. Output of
//! tests is indented deeper or stands before the header.

mod json;

use self::json::Json;
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestCase, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "jest";
/// The joint between the parts of a test's name.
const ARROW: &str = " › ";
/// The text before a time.
const BRACKET: &str = " (";
/// The group in which its reporter for GitHub prints a file's failures, beside the default reporter.
pub(crate) const REPETITION: &str = "Errors thrown in ";
/// The block of a file that could not be run.
const SUITE_FAILED: &str = "Test suite failed to run";

/// Reads Jest.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    json: Json,
    file: String,
    /// Where the tests of the file that is being read begin in `cases`.
    file_start: usize,
    /// In the tree of results below a header.
    tree: bool,
    path: Vec<String>,
    /// Scratch for a test's full name.
    full: String,
    open: Open,
    block: Block,
    counts: Counts,
    suites_seen: bool,
    tests_seen: bool,
    suite_errors: u64,
    /// In what a test printed: `  console.log`, and the text indented below it.
    printed: bool,
    /// The file whose failures are printed in a group for GitHub: before or after, or instead of, the default reporter.
    group: Option<String>,
    /// There was such a group.
    annotated: bool,
    /// In the repetition of all failures that follows when there are many files.
    repeating: bool,
    found_nothing: bool,
}

/// The owner of the block that is being read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Open {
    Nothing,
    Test(Option<usize>),
    Suite,
    /// Console output and the like.
    Ignored,
    /// Wrong configuration, printed without indentation.
    Config,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "PASS ",
        "FAIL ",
        "Test Suites: ",
        "No tests found, exiting with code",
        "\"numFailedTestSuites\":",
        "\"numTotalTestSuites\":",
        "● ",
        "  console.",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            json: Json::new(budget),
            file: String::new(),
            file_start: 0,
            tree: false,
            path: Vec::new(),
            full: String::new(),
            open: Open::Nothing,
            block: Block::default(),
            counts: Counts::default(),
            suites_seen: false,
            tests_seen: false,
            suite_errors: 0,
            printed: false,
            group: None,
            annotated: false,
            repeating: false,
            found_nothing: false,
        }
    }

    /// A passing test in the tree below a file's header: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        self.tree
            && !self.json.is_open()
            && line.starts_with("    ")
            && line.unindented().starts_with("✓ ")
            && self.tree_line(line)
    }

    /// In what a test printed.
    pub(super) fn quotes(&self) -> bool {
        self.printed || self.open == Open::Ignored
    }

    pub(super) fn line(&mut self, line: &str) {
        if (line.starts_with('{') || self.json.is_open()) && self.json.line(line) {
            return;
        }
        if self.printed {
            // Printed text is indented, and ends with the next line that is not.
            self.printed = line.starts_with("    ") || line.trim().is_empty();
            if self.printed {
                return;
            }
        }
        if self.tree && self.tree_line(line) {
            return;
        }
        if !self.tree && is_console(line) {
            self.printed = true;
            return;
        }
        if let Some(title) = line.strip_prefix("  ● ") {
            self.begin_block(title.trim_end());
            return;
        }
        let flush = !line.starts_with("  ") && !line.is_empty();
        if flush {
            if self.flush_line(line) {
                return;
            }
            if self.open == Open::Ignored {
                self.settle();
            }
        }
        if self.open != Open::Nothing {
            self.block.push(line.strip_prefix("    ").unwrap_or(line));
        }
    }

    /// A line without indentation.
    fn flush_line(&mut self, line: &str) -> bool {
        if let Some(file) = header(line) {
            self.settle();
            file.clone_into(&mut self.file);
            self.group = None;
            self.file_start = self.cases.len();
            self.tree = true;
            self.path.clear();
        } else if let Some(rest) = line.strip_prefix("Tests: ") {
            self.settle();
            self.numbers(rest);
        } else if line.starts_with("Test Suites: ") {
            self.settle();
            self.group = None;
            self.suites_seen = true;
            self.repeating = false;
        } else if line == "Summary of all failing tests" {
            self.settle();
            self.repeating = true;
        } else if line.starts_with("No tests found, exiting with code ") {
            self.settle();
            self.found_nothing = true;
            if !line.ends_with(" 0") {
                self.problems.push(RunKind::NoTests, line, None);
            }
        } else if let Some(file) = line.strip_prefix(REPETITION) {
            self.settle();
            self.group = Some(file.to_owned());
            self.annotated = true;
        } else if let Some(title) = line.strip_prefix("● ") {
            self.settle();
            if title.ends_with("Validation Error:") || title.starts_with("Unrecognized CLI Parameter") {
                self.open = Open::Config;
                self.block.push(title);
            }
        } else {
            return false;
        }
        true
    }

    /// A line of the tree: a result, or the name of a `describe`.
    fn tree_line(&mut self, line: &str) -> bool {
        let text = line.unindented();
        let indent = line.len() - text.len();
        if indent < 2 || text.starts_with('●') {
            self.tree = false;
            return false;
        }
        let level = indent / 2 - 1;
        let (mark, rest) = text.cut_word().unwrap_or((text, ""));
        let status = match mark {
            "✓" | "√" => TestStatus::Passed,
            "✕" | "×" => TestStatus::Failed,
            "○" | "✎" => TestStatus::Skipped,
            _ => {
                // Any other line is the title of a `describe`.
                self.path.truncate(level);
                self.path.push(text.trim_end().to_owned());
                return true;
            }
        };
        let rest = match mark {
            "○" => rest.strip_prefix("skipped ").unwrap_or(rest),
            "✎" => rest.strip_prefix("todo ").unwrap_or(rest),
            _ => rest,
        };
        self.path.truncate(level);
        let mut full = std::mem::take(&mut self.full);
        full.clear();
        for part in &self.path {
            full.push_str(part);
            full.push_str(ARROW);
        }
        full.push_str(without_time(rest));
        // The summary of failing tests shows their files' trees again.
        if self.repeating {
            self.cases.set_worst(&full, status)
        } else {
            self.cases.push(&full, status)
        };
        self.full = full;
        true
    }

    fn begin_block(&mut self, title: &str) {
        self.settle();
        self.tree = false;
        self.open = match title {
            "Console" => Open::Ignored,
            SUITE_FAILED => Open::Suite,
            _ if title.starts_with("Cannot log after tests are done") => Open::Ignored,
            _ if self.annotated && self.is_explained(title) => Open::Nothing,
            _ => {
                // The tree has named it, unless it was not printed.
                let known = self.cases.find(title).filter(|at| self.repeating || *at >= self.file_start);
                let at = known.or_else(|| self.cases.push(title, TestStatus::Failed));
                if let Some(test) = at.and_then(|at| self.cases.get_mut(at)) {
                    test.status = TestStatus::Failed;
                }
                Open::Test(at)
            }
        };
    }

    /// Whether a failure of that name has its message.
    fn is_explained(&mut self, title: &str) -> bool {
        let at = self.cases.find(title);
        at.and_then(|at| self.cases.get(at)).is_some_and(|test| !test.message.is_empty())
    }

    /// Whether a file failed with that message, in or outside of a group. The name outside is the whole one.
    fn is_known_suite(&mut self, text: &str) -> bool {
        let text = text.trim_matches('\n').trim_end();
        let is_same = |test: &TestCase| test.status == TestStatus::Error && test.message == text;
        let Some(at) = self.cases.iter().position(is_same) else { return false };
        if self.group.is_none()
            && let Some(test) = self.cases.get_mut(at)
        {
            test.name.clone_from(&self.file);
        }
        true
    }

    /// Ends the block that is open.
    fn settle(&mut self) {
        let text = self.block.take();
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing | Open::Ignored => {}
            Open::Config => self.problems.push(RunKind::BadCommand, &text, None),
            Open::Suite => {
                if self.repeating || (self.annotated && self.is_known_suite(&text)) {
                    return;
                }
                self.suite_errors += 1;
                let file = self.group.as_ref().unwrap_or(&self.file);
                let name = if file.is_empty() { SUITE_FAILED } else { file };
                let at = self.cases.push(name, TestStatus::Error);
                self.cases.explain(at, &text, stack::place_of(&text));
            }
            Open::Test(at) => {
                let known = at.and_then(|at| self.cases.get(at)).is_some_and(|test| !test.message.is_empty());
                // Its words were kept where it failed.
                if !(known && self.repeating) {
                    self.cases.explain(at, &text, stack::place_of(&text));
                }
            }
        }
    }

    /// `      9 failed, 1 skipped, 1 todo, 3 passed, 14 total`.
    fn numbers(&mut self, rest: &str) {
        let number = |word: &str| {
            rest.split(',').find_map(|part| part.trim().strip_suffix(word)?.trim_end().parse::<u64>().ok())
        };
        let Some(total) = number(" total") else { return };
        self.tests_seen = true;
        self.counts.add(&Counts {
            total: Some(total),
            passed: Some(number(" passed").unwrap_or(0)),
            failed: Some(number(" failed").unwrap_or(0)),
            skipped: Some(number(" skipped").unwrap_or(0) + number(" todo").unwrap_or(0)),
            errors: None,
        });
    }

    pub(super) fn finish(mut self, exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        let has_text = self.tests_seen || (!self.file.is_empty() && !self.cases.is_empty());
        if !has_text && let Some(findings) = self.json.findings() {
            return Some(findings);
        }
        if !has_text && !self.found_nothing && !self.suites_seen && self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        if self.tests_seen {
            findings.counts = self.counts;
            findings.counts.errors = Some(self.suite_errors);
        } else if self.found_nothing && exit.is_some_and(Exit::is_success) {
            let none = Some(0);
            findings.counts = Counts { total: none, passed: none, failed: none, skipped: none, errors: none };
        }
        findings.finished = self.tests_seen || (self.found_nothing && exit.is_some_and(Exit::is_success));
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// `  console.log`, and `  console.log src/a.js:3` of old versions.
fn is_console(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("  console.") else { return false };
    let word = rest.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
    word.len() < rest.len()
        && (word.is_empty() || (word.starts_with(' ') && word.ends_with(|last: char| last.is_ascii_digit())))
}

/// `FAIL tests/cart.test.js (5.1 s)`, `PASS unit src/a.test.ts`: the file.
fn header(line: &str) -> Option<&str> {
    let line = line.unindented();
    let rest = line.strip_prefix("FAIL ").or_else(|| line.strip_prefix("PASS "))?.trim();
    let timed = rest.strip_suffix(')').and_then(|rest| rest.cut_last(BRACKET));
    let path = timed.map_or(rest, |(head, _)| head);
    let path = path.rsplit(' ').next()?;
    // vitest's headers look alike, and name the test behind the file.
    (place::is_path(path) && (path.len() == rest.len() || !rest.holds(" > "))).then_some(path)
}

/// `two milks (35 ms)` → `two milks`.
fn without_time(text: &str) -> &str {
    let text = text.trim_end();
    match text.strip_suffix(')').and_then(|text| text.cut_last(BRACKET)) {
        Some((name, time)) if is_time(time) => name,
        _ => text,
    }
}

fn is_time(text: &str) -> bool {
    text.strip_suffix(" ms")
        .or_else(|| text.strip_suffix(" s"))
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
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
    fn the_repetition_of_all_failures_counts_once() {
        let file = "FAIL a.test.js\n  A\n    ✕ b (3 ms)\n\n  ● A › b\n\n    no\n\n";
        let suite = "FAIL c.test.js\n  ● Test suite failed to run\n\n    broken\n\n";
        let end = "Test Suites: 2 failed, 2 total\nTests:       1 failed, 1 total\n";
        let found = read(&format!("{file}{suite}Summary of all failing tests\n{file}{suite}{end}"));
        let seen: Vec<(&str, &str)> =
            found.tests.iter().map(|test| (test.name.as_str(), test.message.as_str())).collect();
        assert_eq!(seen, [("A › b", "no"), ("c.test.js", "broken")]);
        assert_eq!(found.counts.errors, Some(1));
    }

    #[test]
    fn a_group_for_github_before_or_after_the_report_counts_once_and_alone_it_counts() {
        let (test, suite) = ("  ● adds\n\n    no\n\n", "  ● Test suite failed to run\n\n    broken\n\n");
        let report = format!("FAIL src/a.test.js\n{test}FAIL src/b.test.js\n{suite}");
        let group = format!("Errors thrown in a.test.js\n{test}Errors thrown in b.test.js\n{suite}");
        let end = "Test Suites: 2 failed, 2 total\nTests:       1 failed, 1 total\n";
        let names = |log: &str| {
            let found = read(log);
            assert_eq!(found.counts.errors, Some(1), "{log}");
            found.tests.into_iter().map(|test| (test.name, test.message)).collect::<Vec<_>>()
        };
        let of = |file: &str| [("adds".into(), "no".into()), (file.into(), "broken".into())];
        assert_eq!(names(&format!("{group}{report}{end}")), of("src/b.test.js"));
        assert_eq!(names(&format!("{report}{group}{end}")), of("src/b.test.js"));
        assert_eq!(names(&format!("{group}{end}")), of("b.test.js"));
    }

    #[test]
    fn what_stands_below_console_log_is_quoted_up_to_the_next_line_of_the_report() {
        let mut reader = Reader::new(&Budget::new(STORED_BYTES));
        let mut quotes = |line: &str| {
            reader.line(line);
            reader.quotes()
        };
        let lines =
            ["  console.log", "    FAIL a.test.js", "", "      ● x", "PASS a.test.js", "  console.log", "    ✕ b"];
        // Below a header it is the name of a `describe`.
        assert_eq!(lines.map(&mut quotes), [true, true, true, true, false, false, false]);
    }
}
