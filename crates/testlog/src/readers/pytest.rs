//! pytest: every verbosity, traceback style and plugin that keeps pytest's own report (xdist, sugar, timeout,
//! subtests, rerunfailures), and its JSON report.
//!
//! A session is: header, progress, `ERRORS` and `FAILURES` (one block per failure), `short test summary info` (the only place with whole
//! node ids), and the last line with the numbers. Names come from the short summary and from verbose progress. Blocks are matched to them
//! by the part of the id behind the file.

mod blocks;
mod json;
mod numbers;
mod progress;
mod usage;

use self::blocks::{Blocks, Entry};
use self::json::Json;
use self::numbers::Numbers;
use self::progress::{Marks, Progress};
use self::usage::is_usage;
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Needle;
use crate::needle::Seek as _;
use crate::report::{RunKind, RunStatus, TestStatus};
use crate::{place, python};

/// The name in reports.
const FRAMEWORK: &str = "pytest";
/// pytest's exit code for a wrong command line or configuration.
pub(crate) const EXIT_USAGE: i32 = 4;

/// The part of a session's report that the reader is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// No session, or its progress.
    Progress,
    /// Blocks of errors at setup, teardown or collection.
    Errors,
    /// Blocks of failures.
    Failures,
    /// The output of passing tests (`-rP`).
    Passes,
    /// Parts that say nothing about failures: warnings, durations.
    Other,
    /// The short summary: one entry per failure.
    Short,
    /// pytest-sugar's `Results (1.2s):`, whose numbers follow one per line.
    Results,
}

/// The interpreter's last words. They are searched for in every line that a test prints.
static FATAL: Needle = Needle::new("Fatal Python error: ");

/// Reads pytest.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    problems: Problems,
    blocks: Blocks,
    entries: Vec<Entry>,
    progress: Progress,
    json: Json,
    marks: Marks,
    numbers: Option<Numbers>,
    collected: Option<u64>,
    /// The sum of the counts of the sessions that are over.
    sum: Counts,
    sessions: u64,
    unfinished: u64,
    repeated: bool,
    /// A trouble outside of tests that is being collected.
    trouble: Option<(RunKind, Block)>,
    fatal: Option<RunKind>,
    collection_failed: bool,
    seen: bool,
    started: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "= test session starts =",
        "= FAILURES =",
        "= ERRORS =",
        "= short test summary info =",
        "[100%]",
        ".py::",
        ".py .",
        " passed in ",
        " failed in ",
        " error in ",
        " errors in ",
        " skipped in ",
        " deselected in ",
        " warning in ",
        " warnings in ",
        " passed, ",
        " failed, ",
        "no tests ran in ",
        "pytest: error: ",
        "ImportError while loading conftest",
        "ConftestImportFailure",
        "INTERNALERROR> ",
        "ERROR: file or directory not found",
        "ERROR: not found: ",
        "ERROR: usage: ",
        "_pytest.outcomes.Exit",
        "Exit: ",
        "No module named pytest",
        "\"exitcode\": ",
        "\"exitcode\":",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Progress,
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            blocks: Blocks::new(budget),
            entries: Vec::new(),
            progress: Progress::default(),
            json: Json::new(budget),
            marks: Marks::default(),
            numbers: None,
            collected: None,
            sum: Counts::default(),
            sessions: 0,
            unfinished: 0,
            repeated: false,
            trouble: None,
            fatal: None,
            collection_failed: false,
            seen: false,
            started: false,
        }
    }

    /// A result of a passing test: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        self.part == Part::Progress
            && self.seen
            && self.numbers.is_none()
            && self.trouble.is_none()
            && !self.json.is_open()
            && self.progress.passed(line, &mut self.cases, &mut self.marks)
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.json.line(line, &mut self.cases) {
            return;
        }
        if self.trouble.is_some() && self.trouble_line(line) {
            return;
        }
        let taken = match line.as_bytes().first() {
            Some(b'=') => self.section_line(line),
            Some(b'!') => self.stop_line(line),
            Some(b'-') => numbers::title(line, '-').is_some_and(|title| title.starts_with("generated xml")),
            Some(b'I' | b'E' | b'F' | b'+') if self.part != Part::Short => self.starts_trouble(line),
            _ => false,
        };
        if taken {
            return;
        }
        match self.part {
            Part::Progress => self.progress_line(line),
            Part::Errors | Part::Failures => {
                self.quiet_numbers(line);
                self.blocks.line(line, self.part == Part::Errors);
            }
            Part::Passes | Part::Other => self.quiet_numbers(line),
            Part::Short => self.short_line(line),
            Part::Results => self.results_line(line),
        }
    }

    /// Whether the line is in a failure's block (source, reasons, and the test's output), or in that of a passing test.
    pub(super) const fn quotes(&self) -> bool {
        self.numbers.is_none()
            && match self.part {
                Part::Errors | Part::Failures => self.blocks.is_open(),
                Part::Passes => true,
                Part::Progress | Part::Other | Part::Short | Part::Results => false,
            }
    }

    /// A line of `=`: a part's title or the numbers.
    fn section_line(&mut self, line: &str) -> bool {
        let Some(title) = numbers::title(line, '=') else { return false };
        let part = match title {
            "test session starts" => {
                if !self.seen {
                    self.entries.clear();
                }
                self.session_ends();
                self.started = true;
                self.seen = true;
                Part::Progress
            }
            "FAILURES" => Part::Failures,
            "ERRORS" => Part::Errors,
            "short test summary info" => Part::Short,
            "PASSES" | "XPASSES" | "XFAILURES" => Part::Passes,
            "warnings summary" | "rerun test summary info" => Part::Other,
            _ if title.starts_with("warnings summary")
                || title.starts_with("slowest ")
                || title.starts_with("tests coverage")
                || title.starts_with("tests durations") =>
            {
                Part::Other
            }
            _ => {
                let Some(found) = Numbers::parse(title) else { return false };
                if matches!(self.part, Part::Errors | Part::Failures | Part::Passes) {
                    // A test may have printed it: it stays in the block, and the last such line counts.
                    self.numbers = Some(found);
                    return false;
                }
                self.ended_with(found);
                return true;
            }
        };
        let between = self.numbers.is_some() && self.part == Part::Progress && self.blocks.is_empty();
        if title != "test session starts" && between {
            // The numbers before were another session's: a quiet session has no header.
            self.session_ends();
        }
        self.seen = true;
        self.blocks.close();
        if part == Part::Short {
            self.entries.clear();
        }
        if self.part != Part::Progress || part != Part::Progress {
            self.numbers = None;
        }
        self.part = part;
        true
    }

    /// The last line of a session.
    fn ended_with(&mut self, found: Numbers) {
        self.seen = true;
        self.blocks.close();
        self.numbers = Some(found);
        if self.part != Part::Progress {
            self.session_ends();
        }
    }

    /// `-q` prints the numbers without a frame.
    fn quiet_numbers(&mut self, line: &str) {
        if line.as_bytes().first().is_some_and(u8::is_ascii_digit)
            && let Some(found) = Numbers::parse(line)
        {
            match self.part {
                Part::Errors | Part::Failures | Part::Passes => self.numbers = Some(found),
                Part::Progress | Part::Other | Part::Short | Part::Results => self.ended_with(found),
            }
        }
    }

    fn short_line(&mut self, line: &str) {
        if line.as_bytes().first().is_some_and(u8::is_ascii_digit) && Numbers::parse(line).is_some() {
            self.quiet_numbers(line);
        } else if let Some(entry) = Entry::parse(line) {
            self.entries.push(entry);
        } else if let Some(reason) = line.strip_prefix("SKIPPED [") {
            self.problems.push(RunKind::Tests, &format!("SKIPPED [{reason}"), None);
        } else if line.starts_with("Results (") && line.ends_with("s):") {
            self.part = Part::Results;
            self.numbers = Some(Numbers::default());
        } else if let Some(entry) = self.entries.last_mut() {
            entry.goes_on(line);
        }
    }

    /// `      12 failed`.
    fn results_line(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(numbers) = &mut self.numbers
            && (numbers.add(text) || text.starts_with("- ") || text.is_empty())
        {
            return;
        }
        self.session_ends();
        self.progress_line(line);
    }

    fn progress_line(&mut self, line: &str) {
        if line.ends_with("%]") && self.numbers.is_some() {
            // Progress after the numbers: a second session without a header.
            self.session_ends();
        }
        if line.starts_with("collected ")
            || line.starts_with("collecting ")
            || line.ends_with(" items]")
            || line.ends_with(" item]")
        {
            if let Some(count) = progress::collected(line) {
                self.collected = Some(count);
            }
        } else if line.starts_with("Results (") && line.ends_with("s):") && self.seen {
            self.part = Part::Results;
            self.numbers = Some(Numbers::default());
        } else if self.progress.line(line, &mut self.cases, &mut self.marks) {
            self.seen = true;
        } else if line.starts_with("――") && self.seen {
            self.blocks.sugar(line);
        } else if !self.seen
            && let Some(entry) = Entry::parse(line).filter(Entry::has_id)
        {
            // The head of the log is cut off in the middle of the short summary.
            self.entries.push(entry);
        } else {
            self.quiet_numbers(line);
            if self.blocks.is_sugar() {
                self.blocks.line(line, false);
            } else if let Some(at) = FATAL.find(line) {
                self.open_trouble(RunKind::Crash, line.get(at..).unwrap_or(line));
            } else if line.ends_with("++++") && line.holds("+ Timeout +") && self.seen {
                self.open_trouble(RunKind::Timeout, line);
            }
        }
    }

    /// `!!!!!!!! Interrupted: 1 error during collection !!!!!!!!`.
    fn stop_line(&mut self, line: &str) -> bool {
        let Some(title) = numbers::title(line, '!') else { return false };
        if title.starts_with("Interrupted: ") && title.holds("during collection") {
            self.collection_failed = true;
        } else if title == "KeyboardInterrupt" || title.holds("KeyboardInterrupt") {
            self.fatal = Some(RunKind::Crash);
            self.open_trouble(RunKind::Crash, title);
        } else if title.holds("Exit: ") {
            self.fatal = Some(RunKind::Crash);
            self.problems.push(RunKind::Crash, title, None);
            self.numbers = None;
            self.sum = Counts::default();
            self.unfinished += 1;
        } else if !title.starts_with("stopping after") && !title.starts_with("xdist.dsession.Interrupted") {
            return false;
        }
        true
    }

    /// Errors that end a session before or beside tests.
    fn starts_trouble(&mut self, line: &str) -> bool {
        let kind =
            if line.starts_with("ImportError while loading conftest") || line.starts_with("ConftestImportFailure") {
                self.fatal = Some(RunKind::ImportError);
                RunKind::ImportError
            } else if line.starts_with("INTERNALERROR>") {
                self.fatal = Some(RunKind::CollectionError);
                RunKind::CollectionError
            } else if line.starts_with("ERROR: ")
                && !matches!(self.part, Part::Errors | Part::Failures)
                // It says so below its last line, too, where it found nothing to run.
                && (!self.started || self.numbers.is_none_or(|numbers| numbers == Numbers::default()))
                && is_usage(line)
            {
                self.fatal = Some(RunKind::BadCommand);
                RunKind::BadCommand
            } else if line.starts_with("Fatal Python error: ") && self.seen {
                RunKind::Crash
            } else if line.starts_with("++++") && line.holds(" Timeout ") && self.seen && self.part == Part::Progress {
                RunKind::Timeout
            } else {
                return false;
            };
        self.open_trouble(kind, line);
        true
    }

    fn open_trouble(&mut self, kind: RunKind, line: &str) {
        self.close_trouble();
        self.seen = true;
        let mut block = Block::default();
        block.push(line);
        self.trouble = Some((kind, block));
    }

    /// Whether the line belongs to the open trouble.
    fn trouble_line(&mut self, line: &str) -> bool {
        let Some((kind, block)) = &mut self.trouble else { return false };
        let ends = match kind {
            RunKind::CollectionError => !line.starts_with("INTERNALERROR>"),
            RunKind::BadCommand => line.is_empty() || line.starts_with("==="),
            RunKind::Timeout => numbers::title(line, '+').is_some() || line.ends_with("%]") || line.starts_with("==="),
            RunKind::Tests
            | RunKind::CompileError
            | RunKind::ImportError
            | RunKind::Crash
            | RunKind::MissingTool
            | RunKind::NoTests
            | RunKind::OutOfMemory
            | RunKind::Infrastructure
            | RunKind::Unreadable => line.starts_with("===") || line.starts_with("____"),
        };
        if !ends {
            block.push(line);
            return true;
        }
        let closing = *kind == RunKind::Timeout && line.starts_with('+');
        self.close_trouble();
        closing
    }

    fn close_trouble(&mut self) {
        if let Some((kind, mut block)) = self.trouble.take() {
            let mut text = block.take();
            let place = python::place_of(&text).or_else(|| place::find_last(&text));
            // Who reads the first line alone wants the error, which is the last of its traceback.
            if let Some(error) = text.lines().next_back().filter(|line| line.starts_with("INTERNALERROR>")) {
                text = format!("{error}\n{text}");
            }
            self.problems.push(kind, &text, place);
        }
    }

    /// Closes the books of a session.
    fn session_ends(&mut self) {
        self.close_trouble();
        self.blocks.close();
        let numbers = self.numbers.take();
        let marks = std::mem::take(&mut self.marks);
        let has_report = !self.blocks.is_empty() || !self.entries.is_empty();
        if numbers.is_none() && !has_report && marks.is_empty() && !self.started {
            return;
        }
        self.sessions += 1;
        let entries = std::mem::take(&mut self.entries);
        let subtests = entries.iter().filter(|entry| entry.is_of_subtest()).count().max(self.blocks.of_subtests());
        let settled =
            self.blocks.settle(entries, (numbers.is_some(), marks.files()), &mut self.cases, &mut self.problems);
        self.repeated |= settled.repeated;
        let collected = self.collected.take();
        match numbers {
            Some(numbers) => {
                let subtests = u64::try_from(subtests).unwrap_or(u64::MAX);
                self.sum.add(&numbers.counts(collected, settled.untested_errors, subtests));
            }
            None if marks.complete() => self.sum.add(&marks.counts()),
            None => self.unfinished += 1,
        }
        self.collection_failed |= settled.collection_errors && marks.is_empty();
        if marks.failed() && numbers.is_none() {
            self.marks.keep_failed();
        }
        self.part = Part::Progress;
        self.started = false;
    }

    pub(super) fn finish(mut self, exit: Option<Exit>) -> Option<Findings> {
        if self.json.is_found() {
            return Some(self.json.findings(self.cases));
        }
        self.session_ends();
        if !self.seen {
            return self.json.broken_off();
        }
        let silent = self.cases.is_empty() && self.problems.is_empty() && self.sum == Counts::default();
        let mut findings = Findings::new(FRAMEWORK);
        if self.fatal.is_none() && silent && exit == Some(Exit::Code { code: EXIT_USAGE }) {
            // Which of its words is the reason is left to the fallback.
            findings.kind = Some(RunKind::BadCommand);
        }
        findings.finished = self.sessions > 0 && self.unfinished == 0;
        let nothing_ran = self.fatal.is_some_and(|kind| kind != RunKind::Crash);
        if findings.finished && !self.repeated && !nothing_ran {
            findings.counts = self.sum;
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        let failed_test = findings.tests.iter().any(|test| test.status == TestStatus::Failed);
        let ran = findings.counts.passed.unwrap_or(0) > 0 || failed_test;
        if let Some(kind) = self.fatal {
            findings.kind = Some(kind);
            if !failed_test {
                findings.status = Some(RunStatus::Error);
            }
        } else if self.collection_failed && !ran {
            let imports = findings.tests.iter().all(|test| python::is_import_error(&test.message));
            findings.kind = Some(if imports { RunKind::ImportError } else { RunKind::CollectionError });
            findings.status = Some(RunStatus::Error);
        } else if self.marks.failed() {
            findings.status = Some(RunStatus::Failed);
        }
        Some(findings)
    }
}
