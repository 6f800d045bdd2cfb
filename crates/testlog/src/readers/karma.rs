//! Karma: its progress and dots reporters, and the trees of `karma-spec-reporter` and `karma-mocha-reporter`.
//!
//! Every reporter but the last says for each browser `LABEL: Executed 4 of 6 (3 FAILED) (skipped 2) (…)`, again and again or once. Failing
//! tests stand above it with their messages indented by a tab.

mod label;
mod tree;

use self::label::{Executed, executed, label};
use self::tree::Tree;
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::stack;

const FRAMEWORK: &str = "karma";
/// More browsers than this are not told apart.
const MOST_BROWSERS: usize = 32;

/// The owner of the indented lines below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    /// The message of a test, indented by a tab.
    Case(Option<usize>),
    /// A browser's own error outside of tests, indented by two spaces.
    Error,
    /// Why no browser started or nothing could be run, indented by a tab.
    Start(RunKind),
}

/// Reads Karma.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    /// The tests that each browser ran so far.
    browsers: Vec<(String, Executed)>,
    /// The browsers that connected: others are somebody's words.
    connected: Vec<String>,
    tree: Tree,
    open: Open,
    block: Block,
    started: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "[karma-server]: ",
        "[launcher]: ",
        "): Executed ",
        "Chrome Headless ",
        "Firefox ",
        "ERROR [config]: ",
        "FAILED TESTS:",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            browsers: Vec::new(),
            connected: Vec::new(),
            tree: Tree::default(),
            open: Open::Nothing,
            block: Block::default(),
            started: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.goes_on(line) {
            return;
        }
        self.settle();
        if line.as_bytes().first().is_some_and(u8::is_ascii_digit) && line.holds("]: ") && self.log_line(line) {
            return;
        }
        // A browser that did not connect says nothing: a test printed it.
        if line.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
            && let Some((browser, rest)) = label(line)
            && (self.connected.is_empty() || self.connected.iter().any(|known| known == browser))
            && self.browser_says(browser, rest)
        {
            return;
        }
        self.tree.line(line, &mut self.cases);
    }

    /// Whether the line belongs to what is open.
    fn goes_on(&mut self, line: &str) -> bool {
        let text = match self.open {
            Open::Nothing => None,
            Open::Case(_) | Open::Start(_) => line.strip_prefix('\t'),
            Open::Error => line.strip_prefix("  "),
        };
        text.is_some_and(|text| {
            self.block.push(text);
            true
        })
    }

    /// `23 11 2026 05:49:09.777:INFO [karma-server]: Karma v6.4.4 server started at …`.
    fn log_line(&mut self, line: &str) -> bool {
        let Some((head, text)) = line.cut("]: ") else { return false };
        let Some((level, who)) = head.cut_last(" [") else { return false };
        let fails = level.ends_with(":ERROR");
        match who {
            "karma-server" if text.starts_with("Karma v") => self.started = true,
            "launcher" if fails && text.starts_with("Cannot start ") => self.begins(text, RunKind::Infrastructure),
            "launcher" if fails && text.starts_with("No binary for ") => self.begins(text, RunKind::Infrastructure),
            "config" | "plugin" if fails => self.begins(text, RunKind::BadCommand),
            _ if text.starts_with("Connected on socket ") && self.connected.len() < MOST_BROWSERS => {
                self.connected.push(who.to_owned());
            }
            _ => return level.ends_with(":INFO") || level.ends_with(":WARN") || fails,
        }
        true
    }

    fn begins(&mut self, text: &str, kind: RunKind) {
        self.block.push(text);
        self.open = Open::Start(kind);
    }

    fn browser_says(&mut self, browser: &str, rest: &str) -> bool {
        if let Some(numbers) = rest.strip_prefix(": ").and_then(executed) {
            let many = self.browsers.len() >= MOST_BROWSERS;
            // The numbers are printed again and again, and the last ones count.
            if let Some((_, known)) = self.browsers.iter_mut().find(|(known, _)| known == browser) {
                *known = numbers;
            } else if !many {
                self.browsers.push((browser.to_owned(), numbers));
            }
            return true;
        }
        if rest == " ERROR" {
            self.open = Open::Error;
            return true;
        }
        let name = rest.strip_prefix(' ').and_then(|rest| rest.strip_suffix(" FAILED"));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.open = Open::Case(self.cases.set_worst(name, TestStatus::Failed));
            return true;
        }
        false
    }

    fn settle(&mut self) {
        let open = std::mem::replace(&mut self.open, Open::Nothing);
        if open == Open::Nothing {
            return;
        }
        let text = self.block.take();
        let text = text.trim_end();
        let found = stack::place_of(text);
        match open {
            Open::Nothing => {}
            Open::Case(case) => {
                // Another browser's words on the same test are the same.
                if case.and_then(|at| self.cases.get(at)).is_some_and(|test| test.message.is_empty()) {
                    self.cases.explain(case, text, found);
                }
            }
            Open::Error => self.problems.push(kind_of(text), text, found),
            Open::Start(kind) => self.problems.push(kind, text, None),
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        self.tree.settle(&mut self.cases);
        let summary = self.tree.counts();
        if self.browsers.is_empty() && (!self.started || summary.total.is_none()) && self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        if self.browsers.is_empty() {
            findings.finished = summary.total.is_some();
            findings.counts = summary;
        } else {
            findings.finished = self.browsers.iter().all(|(_, one)| one.ended());
            for (_, one) in &self.browsers {
                findings.counts.add(&one.counts());
            }
        }
        if findings.counts.total == Some(0) && self.cases.is_empty() {
            findings.counts = Counts::default();
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// The kind of trouble in a browser's own error.
fn kind_of(text: &str) -> RunKind {
    if text.holds("SyntaxError: ") {
        RunKind::CompileError
    } else if text.holds("Cannot find module") || text.holds("Failed to fetch dynamically imported module") {
        RunKind::ImportError
    } else {
        RunKind::Crash
    }
}
