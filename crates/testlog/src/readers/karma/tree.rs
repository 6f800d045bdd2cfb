//! The trees of `karma-spec-reporter` and `karma-mocha-reporter`, and their lists of failures.
//!
//! A test's name is Karma's own name for it: the suites' and its own titles with spaces between.

use super::label::label;
use crate::findings::{Block, Cases, Counts};
use crate::needle::Seek as _;
use crate::report::TestStatus;
use crate::stack;

/// The deepest nesting that is followed.
const DEEPEST: usize = 32;

/// Where the tree is.
#[derive(Debug, Default)]
pub(super) struct Tree {
    path: Vec<String>,
    /// The list of failures has begun.
    listing: bool,
    /// The list has come as far as this test.
    listed: usize,
    /// The test that the lines below explain.
    open: Option<usize>,
    /// The title of an entry of the spec reporter's list, whose suites stand on the next line.
    title: Option<String>,
    block: Block,
    passed: Option<u64>,
    failed: Option<u64>,
    skipped: Option<u64>,
}

impl Tree {
    pub(super) fn line(&mut self, line: &str, cases: &mut Cases) {
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        if line == "FAILED TESTS:" {
            self.listing = true;
            self.path.clear();
            return;
        }
        if let Some(title) = self.title.take() {
            self.listed(&format!("{} {title}", text.trim()), cases);
            return;
        }
        if text.is_empty() {
            self.settle(cases);
            return;
        }
        if indent == 0 {
            self.heading(text, cases);
            return;
        }
        if let Some((status, title)) = marked(text) {
            self.settle(cases);
            self.result(indent, status, title, cases);
        } else if self.open.is_some() {
            // The list's first line says which browser it was.
            if !self.block.is_empty() || label(text).is_none_or(|(_, rest)| !rest.is_empty()) {
                self.block.push(text);
            }
        } else {
            self.suite(indent, text);
        }
    }

    /// `1) takes the discount`, `✔ 1 test completed`.
    fn heading(&mut self, text: &str, cases: &mut Cases) {
        if let Some((status, rest)) = marked(text) {
            let number = rest.cut_word().and_then(|(number, _)| number.parse().ok());
            if number.is_some() && status == TestStatus::Passed && rest.ends_with(" completed") {
                self.passed = number;
            } else if number.is_some() && status == TestStatus::Failed && rest.ends_with(" failed") {
                self.failed = number;
            }
        } else if let Some(rest) = text.strip_prefix("ℹ ") {
            self.skipped = rest
                .cut_word()
                .filter(|(_, rest)| rest.ends_with(" skipped"))
                .and_then(|(number, _)| number.parse().ok());
        } else if let Some((number, title)) = text.cut(") ")
            && number.parse::<u64>().is_ok()
        {
            self.settle(cases);
            self.title = Some(title.to_owned());
        }
    }

    fn suite(&mut self, indent: usize, text: &str) {
        let level = (indent / 2).saturating_sub(1);
        if indent.is_multiple_of(2) && level <= self.path.len() && level < DEEPEST {
            self.path.truncate(level);
            self.path.push(text.trim_end().to_owned());
        }
    }

    fn result(&mut self, indent: usize, status: TestStatus, title: &str, cases: &mut Cases) {
        let level = (indent / 2).saturating_sub(1);
        if self.listing && level > self.path.len() {
            self.listed_without_suite(title, cases);
            return;
        }
        if level > self.path.len() {
            return;
        }
        self.path.truncate(level);
        let skipped = title.strip_suffix(" (skipped)");
        let title = without_time(skipped.unwrap_or(title));
        let mut name = self.path.join(" ");
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(title);
        if self.listing {
            self.listed(&name, cases);
        } else {
            cases.set_worst(&name, if skipped.is_some() { TestStatus::Skipped } else { status });
        }
    }

    /// `karma-mocha-reporter` leaves inner suites out of its list: the next failing test of that title is meant.
    fn listed_without_suite(&mut self, title: &str, cases: &Cases) {
        let mut after = cases.iter().enumerate().skip(self.listed);
        self.open = after.find_map(|(at, test)| {
            let is_mine = test.name.strip_suffix(title).is_some_and(|suites| suites.ends_with(' '));
            (is_mine && test.status == TestStatus::Failed).then_some(at)
        });
        self.listed = self.open.map_or(self.listed, |at| at + 1);
    }

    /// An entry of the list of failures begins.
    fn listed(&mut self, name: &str, cases: &mut Cases) {
        self.open = cases.find(name).or_else(|| cases.push(name, TestStatus::Failed));
        self.listed = self.open.map_or(self.listed, |at| at + 1);
    }

    /// Ends the entry that is open.
    pub(super) fn settle(&mut self, cases: &mut Cases) {
        let text = self.block.take();
        if let Some(at) = self.open.take()
            && cases.get(at).is_some_and(|test| test.message.is_empty())
        {
            cases.explain(Some(at), text.trim(), stack::place_of(&text));
        }
    }

    /// The numbers of `karma-mocha-reporter`.
    pub(super) fn counts(&self) -> Counts {
        let (passed, failed, skipped) = (self.passed, self.failed, self.skipped);
        if passed.is_none() && failed.is_none() {
            return Counts::default();
        }
        let number = |one: Option<u64>| one.unwrap_or(0);
        Counts {
            total: Some(number(passed) + number(failed) + number(skipped)),
            passed: Some(number(passed)),
            failed: Some(number(failed)),
            skipped: Some(number(skipped)),
            errors: Some(0),
        }
    }
}

/// A result's mark, and what stands behind it.
fn marked(text: &str) -> Option<(TestStatus, &str)> {
    const MARKS: [(&str, TestStatus); 5] = [
        ("✓ ", TestStatus::Passed),
        ("✔ ", TestStatus::Passed),
        ("✗ ", TestStatus::Failed),
        ("✖ ", TestStatus::Failed),
        ("- ", TestStatus::Skipped),
    ];
    MARKS.iter().find_map(|(mark, status)| Some((*status, text.strip_prefix(mark)?.trim_end())))
}

/// Cuts `(123ms)` and `(slow: 0.1 secs / 0.05 secs)`.
fn without_time(title: &str) -> &str {
    match title.cut_last(" (") {
        Some((name, time))
            if time.starts_with("slow: ")
                || time.strip_suffix("ms)").is_some_and(|number| number.parse::<f64>().is_ok()) =>
        {
            name
        }
        _ => title,
    }
}
