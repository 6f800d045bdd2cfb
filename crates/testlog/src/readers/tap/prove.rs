//! prove (TAP::Harness): one line per file, and a summary of what was wrong with which file.
//!
//! The harness sees a file as the unit that fails. The single tests' diagnostics (`#   Failed test 'x'`) become problems with their places.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "prove";

/// Collects what the harness prints.
#[derive(Debug)]
pub(super) struct Prove {
    cases: Cases,
    /// In the summary report.
    summary: bool,
    /// The file of the report that is being read.
    file: Option<usize>,
    block: Block,
    /// The file whose line is not ended: its results stand below.
    running: Option<usize>,
    /// The output since the last file ended.
    output: Block,
    diagnostic: Block,
    diagnostic_open: bool,
    failed: u64,
    skipped: u64,
    todo: u64,
    /// Failing TODOs that only their comments show (`prove --comments`).
    todo_comments: u64,
    /// Whether a line per file was seen: `prove -Q` writes none, and then nothing tells what was skipped.
    file_lines: bool,
    total: Option<u64>,
    result: bool,
    no_tests: bool,
    trouble: Option<String>,
}

impl Prove {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            summary: false,
            file: None,
            block: Block::default(),
            running: None,
            output: Block::default(),
            diagnostic: Block::default(),
            diagnostic_open: false,
            failed: 0,
            skipped: 0,
            todo: 0,
            todo_comments: 0,
            file_lines: false,
            total: None,
            result: false,
            no_tests: false,
            trouble: None,
        }
    }

    /// Whether the harness's summary is being read.
    pub(super) const fn is_summing_up(&self) -> bool {
        self.summary
    }

    /// Whether a harness wrote this log.
    pub(super) fn is_harness(&self) -> bool {
        self.summary || self.total.is_some() || !self.cases.is_empty() || self.trouble.is_some()
    }

    /// Takes a line at the outermost level when it is the harness's.
    pub(super) fn line(&mut self, line: &str) -> bool {
        if self.summary && self.summary_line(line) {
            return true;
        }
        if line.starts_with('#') {
            return false;
        }
        if line == "Test Summary Report" {
            self.summary = true;
            return true;
        }
        if let Some(rest) = line.strip_prefix("Files=") {
            self.totals(rest);
            return true;
        }
        if line.starts_with("Result: ") && self.total.is_some() {
            self.result = true;
            self.no_tests = line.ends_with("NOTESTS");
            return true;
        }
        if let Some(rest) = line.trim_ascii_start().strip_prefix("(less ") {
            // Such as `(less 2 skipped subtests: 4 okay)`.
            let number = place::leading_number::<u64>(rest).unwrap_or(0);
            self.skipped += if rest.holds("skipped") { number } else { 0 };
            return true;
        }
        // With `-v` the verdict stands below the output.
        if let Some(at) = self.running.filter(|_| ends_file(line)) {
            let text = self.output.take();
            self.cases.explain(Some(at), &text, None);
            self.running = None;
            return true;
        }
        if line.starts_with("Cannot detect source of ") {
            self.trouble = Some(line.to_owned());
            return true;
        }
        self.file_line(line)
    }

    /// `t/fine.t .. ok`, `t/basic.t ........ `, `t/skipall.t .. skipped: needs a card reader`.
    fn file_line(&mut self, line: &str) -> bool {
        let Some((name, rest)) = without_clock(line).cut_word().filter(|(_, rest)| rest.starts_with("..")) else {
            return false;
        };
        let state = rest.trim_start_matches('.');
        if !(name.ends_with(".t") || place::is_path(name)) {
            return false;
        }
        let state = state.trim();
        let status = match state {
            "" => TestStatus::Passed,
            _ if state == "ok" || state.starts_with("ok ") => TestStatus::Passed,
            _ if state.starts_with("skipped") => TestStatus::Skipped,
            _ if state.starts_with("Failed") || state.starts_with("Dubious") => TestStatus::Failed,
            _ => return false,
        };
        self.file_lines = true;
        let at = self.cases.set(name, status);
        let text = self.output.take();
        self.cases.explain(at, &text, None);
        self.running = at.filter(|_| state.is_empty());
        true
    }

    fn summary_line(&mut self, line: &str) -> bool {
        if let Some((name, rest)) = line.cut(" (Wstat: ").or_else(|| line.cut("(Wstat: ")) {
            self.end_file();
            let failed = rest.cut("Failed: ").and_then(|(_, number)| place::leading_number::<u64>(number));
            self.failed += failed.unwrap_or(0);
            self.file = self.cases.find(name.trim()).or_else(|| self.cases.push(name.trim(), TestStatus::Passed));
            return true;
        }
        if line.starts_with("Files=") || line.starts_with("---") {
            self.end_file();
            return line.starts_with("---");
        }
        false
    }

    /// The indented lines of the summary: what was wrong with the file.
    pub(super) fn summary_detail(&mut self, line: &str) -> bool {
        let Some(at) = self.file.filter(|_| self.summary) else { return false };
        let text = line.trim_start();
        // A test that need not pass and does is no failure.
        if !text.starts_with("TODO passed:") {
            self.block.push(text);
            if let Some(test) = self.cases.get_mut(at) {
                test.status = TestStatus::Failed;
            }
        }
        true
    }

    fn end_file(&mut self) {
        let text = self.block.take();
        if let Some(at) = self.file.take() {
            self.cases.explain(Some(at), &text, None);
        }
    }

    /// `11, Tests=21,  0 wallclock secs ( 0.04 usr …`.
    fn totals(&mut self, rest: &str) {
        if let Some((_, tests)) = rest.cut("Tests=") {
            self.total = place::leading_number(tests);
        }
    }

    /// Counts a failing TODO, which the harness counts as passed, when it is shown.
    pub(super) const fn todo(&mut self) {
        self.todo += 1;
    }

    /// A line of a file's own output.
    pub(super) fn output(&mut self, line: &str) {
        if !line.trim().is_empty() && !line.starts_with("Failed ") && !line.starts_with("All ") {
            self.output.push(line);
        }
    }

    /// A comment of Test::More: `  Failed test 'x'`, `  at t/x.t line 3.`, `         got: '1'`.
    pub(super) fn diagnostic(&mut self, comment: &str, indent: usize, problems: &mut Problems) {
        let text = comment.trim_start();
        if text.starts_with("Failed test") {
            self.settle(problems);
            self.diagnostic_open = true;
            self.diagnostic.push(text);
        } else if text.starts_with("Failed (TODO) test") {
            self.settle(problems);
            self.todo_comments += u64::from(indent == 0);
        } else if text.starts_with("Looks like you") {
            self.settle(problems);
            self.output.push(comment);
        } else if self.diagnostic_open {
            self.diagnostic.push(comment.get(2..).filter(|_| indent == 0).unwrap_or(comment));
        }
    }

    /// Ends the diagnostic that is open.
    pub(super) fn settle(&mut self, problems: &mut Problems) {
        if std::mem::take(&mut self.diagnostic_open) {
            let text = self.diagnostic.take();
            problems.push(RunKind::Tests, &text, stack::place_in_words(&text));
        }
    }

    pub(super) fn finish(mut self, mut problems: Problems, exit: Option<Exit>) -> Findings {
        self.end_file();
        let mut findings = Findings::new(FRAMEWORK);
        if let Some(message) = &self.trouble {
            problems.push(RunKind::BadCommand, message, None);
        }
        findings.finished = self.result && self.trouble.is_none();
        if let Some(total) = self.total.filter(|_| findings.finished) {
            let skipped = self.skipped + self.todo.max(self.todo_comments);
            findings.counts = Counts {
                total: Some(total),
                passed: Some(total.saturating_sub(self.failed + skipped)),
                failed: Some(self.failed),
                skipped: self.file_lines.then_some(skipped),
                errors: None,
            };
        }
        if self.no_tests && exit.is_some_and(Exit::is_success) {
            findings.kind = Some(RunKind::NoTests);
        }
        findings.tests = self.cases.into_list();
        findings.problems = problems.into_list();
        findings
    }
}

/// `Dubious, test returned 6 (wstat 1536, 0x600)`, `Failed 6/9 subtests`: the harness's word on a file.
pub(super) fn ends_file(line: &str) -> bool {
    match line.as_bytes().first() {
        Some(b'D') => line.starts_with("Dubious, test returned "),
        Some(b'F') => line.starts_with("Failed ") && line.trim_end().ends_with(" subtests"),
        Some(b'A') => line.starts_with("All ") && line.trim_end().ends_with(" subtests passed"),
        Some(b'N') => line.trim_end() == "No subtests run",
        Some(b'o') => line == "ok",
        _ => false,
    }
}

/// `[02:06:47] t/fail.t .. ` → `t/fail.t .. `: what `--timer` puts before each file.
fn without_clock(line: &str) -> &str {
    let is_clock = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    let timed = line.strip_prefix('[').and_then(|rest| rest.cut("] "));
    timed.filter(|(clock, _)| is_clock(clock)).map_or(line, |(_, rest)| rest)
}
