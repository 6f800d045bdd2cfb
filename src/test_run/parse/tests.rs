//! Properties of the whole reader: no input makes it panic, chunks do not matter, memory is bounded.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// How many inputs the plain run tries; the ignored tests try a million.
const PLAIN_CASES: u32 = 1_500;
const MANY_CASES: u32 = 500_000;

/// All that a hostile log might want to break: marks of frameworks, halves of documents, control characters.
const SPICES: &[&str] = &[
    "\n",
    "\r",
    "\r\n",
    "\u{1b}[31m",
    "\u{1b}]0;",
    "\0",
    "\u{feff}",
    "{",
    "}",
    "{\n",
    "<testsuite name=\"a\">",
    "</testsuite>",
    "<testcase name=\"x\">",
    "<failure>",
    "]]>",
    "<![CDATA[",
    "test x ... FAILED\n",
    "running 3 tests\n",
    "test result: ok. ",
    "99999999999999999999 passed; 1 failed",
    "= FAILURES =",
    "____ a ____\n",
    "== 99999999999999999999999 failed in 1s ==\n",
    "=== RUN   TestA\n",
    "--- FAIL: TestA (0.00s)\n",
    "not ok 1 - ",
    "1..18446744073709551615\n",
    "TAP version 13\n",
    "    ok 1\n",
    "collected 5 items / 9 deselected / 3 selected\n",
    "é",
    "\u{2028}",
    "✓ ",
    "✖ ",
    "  1) ",
    "%]",
    "Ran 3 tests in 0.1s\n",
    "FAILED (failures=18446744073709551616)\n",
    "{\"type\":\"suite\",\"event\":\"ok\",\"passed\":18446744073709551615,\"failed\":1}\n",
    "section_start:1:x\r\u{1b}[0K",
    "2026-01-02T03:04:05.678Z ",
    "a-1  | ",
    "##[group]",
    "Summary [   0.1s] 9/9 tests run: 1 passed\n",
];

/// The stored outputs, to be broken.
fn fixtures() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outputs");
    let mut found: Vec<_> = folder.read_dir().unwrap().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "txt" || extension == "xml"));
    found.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[derive(Debug, Clone)]
enum Change {
    Cut(usize, usize),
    Repeat(usize, usize),
    Insert(usize, usize),
    Set(usize, u8),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<usize>(), 0..400usize).prop_map(|(at, length)| Change::Cut(at, length)),
        (any::<usize>(), 0..400usize).prop_map(|(at, length)| Change::Repeat(at, length)),
        (any::<usize>(), 0..SPICES.len()).prop_map(|(at, which)| Change::Insert(at, which)),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
    ]
}

fn apply(text: &mut Vec<u8>, change: &Change) {
    let length = text.len().max(1);
    match *change {
        Change::Cut(at, count) => {
            let start = at % length;
            drop(text.drain(start.min(text.len())..(start + count).min(text.len())));
        }
        Change::Repeat(at, count) => {
            let start = (at % length).min(text.len());
            let part = text[start..(start + count).min(text.len())].to_vec();
            text.splice(start..start, part);
        }
        Change::Insert(at, which) => {
            let start = (at % length).min(text.len());
            text.splice(start..start, SPICES[which].bytes());
        }
        Change::Set(at, byte) => {
            if let Some(slot) = text.get_mut(at % length) {
                *slot = byte;
            }
        }
    }
}

fn exits() -> impl Strategy<Value = Option<Exit>> {
    prop_oneof![
        Just(None),
        Just(Some(Exit::Timeout)),
        any::<i32>().prop_map(|code| Some(Exit::Code { code })),
        any::<i32>().prop_map(|signal| Some(Exit::Signal { signal })),
    ]
}

/// Reads in chunks of a size, and whole; both must say the same.
fn check(log: &[u8], chunk: usize, exit: Option<Exit>) {
    let whole = read(&mut &log[..], exit, None).unwrap().report;
    let mut parser = Parser::new(None);
    for part in log.chunks(chunk) {
        parser.push(part);
    }
    assert_eq!(parser.finish(exit, None), whole);
    assert!(whole.failing().all(|test| test.name.len() <= 4_096));
}

fn mutated(cases: u32) {
    let fixtures = fixtures();
    assert!(!fixtures.is_empty());
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let strategy = (0..fixtures.len(), prop::collection::vec(change(), 1..12), 1..5_000usize, exits());
    runner
        .run(&strategy, |(which, changes, chunk, exit)| {
            let mut log = fixtures[which].clone();
            for change in &changes {
                apply(&mut log, change);
            }
            check(&log, chunk, exit);
            Ok(())
        })
        .unwrap();
}

fn random(cases: u32) {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        (0..SPICES.len()).prop_map(|which| SPICES[which].as_bytes().to_vec()),
        "[ -~]{0,60}\n".prop_map(String::into_bytes),
    ];
    let strategy = (prop::collection::vec(piece, 0..60), 1..300usize, exits());
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    runner
        .run(&strategy, |(pieces, chunk, exit)| {
            check(&pieces.concat(), chunk, exit);
            Ok(())
        })
        .unwrap();
}

#[test]
fn broken_logs_neither_panic_nor_depend_on_how_they_arrive() {
    mutated(PLAIN_CASES / 5);
}

#[test]
fn random_logs_neither_panic_nor_depend_on_how_they_arrive() {
    random(PLAIN_CASES);
}

#[test]
#[ignore = "a million inputs take minutes"]
fn a_million_broken_and_random_logs_do_not_panic() {
    random(MANY_CASES);
    mutated(MANY_CASES);
}

/// A log without end: lines are made as they are read.
struct Endless<F> {
    line: F,
    next: u64,
    bytes: u64,
    rest: Vec<u8>,
}

impl<F: FnMut(u64) -> String> Read for Endless<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.bytes == 0 && self.rest.is_empty() {
            return Ok(0);
        }
        while self.rest.len() < buffer.len() && self.bytes > 0 {
            let line = (self.line)(self.next);
            self.next += 1;
            self.bytes = self.bytes.saturating_sub(line.len() as u64);
            self.rest.extend(line.into_bytes());
        }
        let count = self.rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        drop(self.rest.drain(..count));
        Ok(count)
    }
}

fn endless(bytes: u64, line: impl FnMut(u64) -> String) -> TestReport {
    read(&mut Endless { line, next: 0, bytes, rest: Vec::new() }, Some(Exit::Code { code: 1 }), None).unwrap().report
}

fn stored(report: &TestReport) -> usize {
    let tests = report.tests.iter().map(|test| test.name.len() + test.message.len());
    let problems = report.problems.iter().map(|problem| problem.message.len());
    tests.chain(problems).sum()
}

#[test]
fn more_failures_than_fit_are_counted_and_not_kept() {
    let report = endless(48 * 1024 * 1024, |at| match at {
        0 => "== short test summary info ==\n".to_owned(),
        at => format!("FAILED tests/test_a.py::test_{at} - {}\n", "x".repeat(200)),
    });
    assert!(stored(&report) <= STORED_BYTES, "{}", stored(&report));
}

/// The process's peak memory so far, in KiB.
#[cfg(target_os = "linux")]
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "reads gigabytes; run alone, since memory is the whole process's"]
fn a_gigabyte_is_read_in_64_megabytes() {
    const GIB: u64 = 1 << 30;
    let before = peak_kib();
    drop(endless(GIB, |at| format!("[{at}] compiling something quite ordinary, nothing to see here, go on\n")));
    drop(endless(GIB, |at| format!("test module::test_{at} ... ok\n")));
    drop(endless(GIB, |at| {
        if at == 0 { "running 9 tests\n".to_owned() } else { format!("test module::test_{at} ... FAILED\n") }
    }));
    drop(endless(GIB, |at| match at {
        0 => "<testsuite name=\"s\">".to_owned(),
        at => format!("<testcase name=\"test_{at}\"><failure message=\"no\">at a.rs:3</failure></testcase>"),
    }));
    drop(endless(GIB / 4, |_| "x".repeat(1 << 20)));
    let grown = (peak_kib() - before) / 1024;
    assert!(grown <= 64, "{grown} MiB");
}
