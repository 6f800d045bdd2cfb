//! JUnit 5's ConsoleLauncher: the failures that it lists at the end, or tells as they come (flat and verbose details),
//! and its table of numbers.
//!
//! A name is the whole path that the list gives, without the engine: `CartTest:adds()`. A container that failed
//! (`@BeforeAll`) stands in the list as its tests do.

mod events;

use self::events::{Events, Failure};
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings};
use crate::needle::Seek as _;
use crate::place;
use crate::report::TestStatus;

const FRAMEWORK: &str = "junit5";
/// The words in the first line of flat and verbose details.
const STARTED: &str = "execution started. Number of static tests: ";
/// How the frames of libraries and of Java itself begin.
const FOREIGN: &[&str] =
    &["org.junit.", "org.opentest4j.", "org.assertj.", "org.hamcrest.", "org.mockito.", "java.", "java.base/", "jdk."];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Running,
    /// Behind `Failures (2):`.
    Failures,
    /// Behind `Test run finished after 331 ms`.
    Numbers,
}

/// Reads JUnit 5's ConsoleLauncher.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    /// With details that tell failures as they come.
    events: Option<Events>,
    /// Lines that may be a failure's head: its name and its source. The line after them shows it.
    head: Vec<String>,
    open: Option<usize>,
    /// Where the failures of this run begin.
    start: usize,
    /// The line that may be the last one before the numbers.
    last: Option<String>,
    block: Block,
    run: Counts,
    /// The tests of this run that gave up over an assumption.
    aborted: u64,
    counts: Counts,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] =
        &[STARTED, "MethodSource [className = '", "ClassSource [className = '", "Test run finished after "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Running,
            cases: Cases::new(budget),
            events: None,
            head: Vec::new(),
            open: None,
            start: 0,
            last: None,
            block: Block::default(),
            run: Counts::default(),
            aborted: 0,
            counts: Counts::default(),
            finished: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        // Only with the numbers below it is that line the end of a run.
        if let Some(last) = self.last.take() {
            if is_row(line).is_some_and(|(_, what)| what == "containers found") {
                self.settle();
                self.run = Counts::default();
                self.aborted = 0;
                self.part = Part::Numbers;
            } else {
                self.read(&last);
            }
        }
        if line.starts_with("Test run finished after ") && line.trim_end().ends_with(" ms") {
            self.last = Some(line.to_owned());
        } else {
            self.read(line);
        }
    }

    fn read(&mut self, line: &str) {
        match self.part {
            Part::Running => self.running(line),
            Part::Failures => self.listed(line),
            Part::Numbers => self.numbers(line),
        }
    }

    fn running(&mut self, line: &str) {
        if line.starts_with("Test ") && line.holds(STARTED) {
            self.events = Some(Events::default());
        } else if is_list(line) {
            // Where failures are listed they are not told as they come: that they would be was printed by a test.
            self.events = None;
            self.part = Part::Failures;
        } else if let Some(events) = &mut self.events {
            let failure = events.line(line);
            self.failed(failure);
        }
    }

    fn failed(&mut self, failure: Option<Failure>) {
        let Some(failure) = failure else { return };
        let status = if failure.is_class { TestStatus::Error } else { TestStatus::Failed };
        let at = self.cases.push(&failure.name, status);
        self.cases.explain(at, &failure.text, place_of(&failure.text));
    }

    /// A line of the list of failures: a head of a name, mostly a source, and `=> ` with the exception. Its trace follows.
    fn listed(&mut self, line: &str) {
        if let Some(exception) = line.strip_prefix("    => ")
            && !self.head.is_empty()
        {
            self.begins(exception);
        } else if is_source(line) && self.head.len() == 1 {
            self.head.push(line.to_owned());
        } else {
            self.no_head();
            if is_name(line) {
                self.head.push(line.to_owned());
            } else {
                self.block.push(line);
            }
        }
    }

    /// The lines that looked like a head belong to the message.
    fn no_head(&mut self) {
        for line in std::mem::take(&mut self.head) {
            self.block.push(&line);
        }
    }

    fn begins(&mut self, exception: &str) {
        let head = std::mem::take(&mut self.head);
        self.settle();
        let mut head = head.iter().map(|line| line.trim());
        let name = head.next().unwrap_or_default();
        let source = head.next().unwrap_or_default();
        // Such as `JUnit Jupiter:CartTest:adds()`.
        let name = name.cut(":").map_or(name, |(_engine, name)| name);
        let status = if source.starts_with("ClassSource ") { TestStatus::Error } else { TestStatus::Failed };
        self.open = self.cases.push(name, status);
        if !source.is_empty() {
            self.block.push(source);
        }
        self.block.push(exception);
    }

    fn settle(&mut self) {
        if let Some(mut events) = self.events.take() {
            self.failed(events.settle());
        }
        self.no_head();
        let text = self.block.take();
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), &text, place_of(&text));
        }
    }

    /// `[         2 tests successful      ]`: the last such line is that of the tests that failed.
    fn numbers(&mut self, line: &str) {
        let Some((number, what)) = is_row(line) else {
            self.part = Part::Running;
            return;
        };
        match what {
            "containers failed" => self.run.errors = number,
            "tests found" => self.run.total = number,
            "tests skipped" => self.run.skipped = number,
            "tests aborted" => self.aborted = number.unwrap_or(0),
            "tests successful" => self.run.passed = number,
            "tests failed" => {
                self.run.failed = number;
                // A test is aborted when an assumption of its does not hold.
                self.run.skipped = self.run.skipped.map(|skipped| skipped.saturating_add(self.aborted));
                if number == Some(0) && self.run.errors.unwrap_or(0) == 0 {
                    // What was listed nevertheless was printed by a test.
                    self.cases.retain_from(self.start, |_| false);
                }
                self.start = self.cases.len();
                self.counts.add(&self.run);
                self.finished = true;
                self.part = Part::Running;
            }
            _ => {}
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        if let Some(last) = self.last.take() {
            self.read(&last);
        }
        self.settle();
        if !self.finished && self.cases.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.finished = self.finished && self.part != Part::Numbers;
        if findings.finished {
            findings.counts = self.counts;
        }
        findings.tests = self.cases.into_list();
        Some(findings)
    }
}

/// `[         6 containers found      ]`.
fn is_row(line: &str) -> Option<(Option<u64>, &str)> {
    let row = line.strip_prefix('[')?.trim_end().strip_suffix(']')?;
    let (number, what) = row.trim().cut_word()?;
    Some((number.parse().ok(), what.trim()))
}

/// `Failures (2):`.
fn is_list(line: &str) -> bool {
    let number = line.strip_prefix("Failures (").and_then(|rest| rest.trim_end().strip_suffix("):"));
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}

/// `  JUnit Jupiter:CartTest:adds()`.
fn is_name(line: &str) -> bool {
    line.strip_prefix("  ").is_some_and(|rest| !rest.is_empty() && !rest.starts_with([' ', '\t']))
}

/// `    MethodSource [className = 'CartTest', methodName = 'adds', methodParameterTypes = '']`.
fn is_source(line: &str) -> bool {
    line.strip_prefix("    ").and_then(|rest| rest.cut(" [")).is_some_and(|(kind, _)| kind.ends_with("Source"))
}

/// A line of a trace, with or without its `at `.
fn frame(line: &str) -> &str {
    let line = line.trim();
    line.strip_prefix("at ").unwrap_or(line)
}

/// The frame of the test's own class, or else the first that is no library's.
fn place_of(text: &str) -> Option<(String, u32)> {
    // The source is the first line of the text.
    let class = text.cut("[className = '").and_then(|(_, rest)| rest.cut("'")).map(|(class, _)| class);
    let frames = || text.lines().map(frame).filter(|line| line.ends_with(')'));
    let in_class = |line: &&str| {
        let rest = class.and_then(|class| line.strip_prefix(class));
        rest.is_some_and(|rest| rest.starts_with(['.', '$']))
    };
    let own = frames().find(in_class).and_then(place::find);
    own.or_else(|| frames().filter(|line| !FOREIGN.iter().any(|start| line.starts_with(start))).find_map(place::find))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: &str = "\nTest run finished after 33 ms\n[         6 containers found      ]\n\
        [         1 containers failed     ]\n[         4 tests found           ]\n[         1 tests skipped         ]\n\
        [         1 tests aborted         ]\n[         1 tests successful      ]\n[         1 tests failed          ]\n\n";

    fn read(log: &str) -> Findings {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None).unwrap()
    }

    #[test]
    fn failures_and_numbers_are_read_whatever_the_messages_look_like() {
        let found = read(&format!(
            "Failures (2):\n  JUnit Jupiter:a.CartTest:says: x\n    MethodSource [className = 'a.CartTest', methodName = 'f', \
             methodParameterTypes = '']\n    => org.opentest4j.AssertionFailedError: one\n  JUnit Jupiter:no:name\n\
             \x20      org.junit.jupiter.api.Fail.fail(Fail.java:3)\n       a.CartTest.f(CartTest.java:7)\n       [...]\n\
             \x20 JUnit Jupiter:DbTest\n    ClassSource [className = 'DbTest', filePosition = null]\n\
             \x20   => java.lang.IllegalStateException: db down\n       DbTest.all(DbTest.java:4)\n{NUMBERS}"
        ));
        let seen: Vec<_> = found.tests.iter().map(|test| (test.name.as_str(), test.status, test.line)).collect();
        let expected = [("a.CartTest:says: x", TestStatus::Failed, Some(7)), ("DbTest", TestStatus::Error, Some(4))];
        assert_eq!(seen, expected);
        assert!(found.tests[0].message.contains("one\n  JUnit Jupiter:no:name\n"), "{}", found.tests[0].message);
        let counts = Counts { total: Some(4), passed: Some(1), failed: Some(1), skipped: Some(2), errors: Some(1) };
        assert_eq!((found.counts, found.finished), (counts, true));
    }

    #[test]
    fn a_table_that_is_cut_is_no_end_and_two_runs_add_up() {
        let cut = NUMBERS.split("[         1 tests successful").next().unwrap();
        assert!(!read(&format!("{NUMBERS}{cut}")).finished);
        assert_eq!(read(&format!("{NUMBERS}{NUMBERS}")).counts.total, Some(8));
    }
}
