//! Properties of the whole reader: no input makes it panic, chunks do not matter, memory is bounded.

mod printed;

use super::*;
use crate::findings::STORED_BYTES;

/// How many inputs the plain run tries. The ignored test tries a million others.
const PLAIN_INPUTS: u64 = 2_000;
const MANY_INPUTS: u64 = 1_000_000;
/// How much of a stored output a broken input begins with, at most: enough for a head, results and a summary.
const MOST_OF_FIXTURE: usize = 3_000;
/// One input in so many is read twice, in pieces and whole.
const COMPARED: usize = 4;

/// Texts that a hostile log might want to break: marks of frameworks, halves of documents, control characters.
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

/// Numbers that look random and are the same for the same seed (SplitMix64, Steele and others 2014).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap();
        usize::try_from(self.roll() % limit).unwrap()
    }

    fn byte(&mut self) -> u8 {
        self.roll().to_le_bytes()[0]
    }

    fn exit(&mut self) -> Option<Exit> {
        let [a, b, c, d, ..] = self.roll().to_le_bytes();
        let number = i32::from_le_bytes([a, b, c, d]);
        match self.below(5) {
            0 => None,
            1 => Some(Exit::Timeout),
            2 => Some(Exit::Signal { signal: number }),
            3 => Some(Exit::Code { code: number }),
            _ => Some(Exit::Code { code: number & 1 }),
        }
    }
}

/// Says which input it was when the reader panics.
struct Naming(u64);

#[expect(clippy::print_stderr, reason = "the panic that is under way knows nothing of the input")]
impl Drop for Naming {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input of seed {} did it", self.0);
        }
    }
}

/// A piece of a stored output, cut, repeated, spiced and bitten.
fn broken(dice: &mut Dice, fixtures: &[Vec<u8>]) -> Vec<u8> {
    let fixture = &fixtures[dice.below(fixtures.len())];
    // Most begin at the beginning, where frameworks introduce themselves.
    let start = if dice.below(3) == 0 { dice.below(fixture.len()) } else { 0 };
    let length = dice.below(MOST_OF_FIXTURE) + 64;
    let mut log = fixture[start..(start + length).min(fixture.len())].to_vec();
    for _ in 0..=dice.below(10) {
        let start = dice.below(log.len() + 1);
        let end = (start + dice.below(300)).min(log.len());
        match dice.below(5) {
            0 => drop(log.drain(start..end)),
            1 => {
                let part = log[start..end].to_vec();
                drop(log.splice(start..start, part));
            }
            2 | 3 => drop(log.splice(start..start, SPICES[dice.below(SPICES.len())].bytes())),
            _ => {
                if let Some(slot) = log.get_mut(start) {
                    *slot = dice.byte();
                }
            }
        }
    }
    log
}

/// Bytes, spices and lines of anything.
fn noise(dice: &mut Dice) -> Vec<u8> {
    let mut log = Vec::new();
    for _ in 0..dice.below(40) {
        match dice.below(4) {
            0 => (0..dice.below(24)).for_each(|_| log.push(dice.byte())),
            1 | 2 => log.extend(SPICES[dice.below(SPICES.len())].bytes()),
            _ => {
                (0..dice.below(60)).for_each(|_| log.push(b' ' + dice.byte() % 95));
                log.push(b'\n');
            }
        }
    }
    log
}

/// Reads in chunks. Every few inputs are also read whole, which must say the same.
fn check(dice: &mut Dice, log: &[u8]) {
    let exit = dice.exit();
    let mut parser = Parser::new(None);
    for part in log.chunks(dice.below(2_000) + 1) {
        parser.push(part);
    }
    let report = parser.finish(exit);
    assert!(report.failing().all(|test| test.name.len() <= 4_096));
    if dice.below(COMPARED) == 0 {
        assert_eq!(report, read(&mut &log[..], exit).unwrap());
    }
}

fn check_seeds(seeds: std::ops::Range<u64>, fixtures: &[Vec<u8>]) {
    for seed in seeds {
        let naming = Naming(seed);
        let mut dice = Dice(seed);
        let log = if seed % 2 == 0 { broken(&mut dice, fixtures) } else { noise(&mut dice) };
        check(&mut dice, &log);
        drop(naming);
    }
}

#[test]
fn broken_and_random_logs_neither_panic_nor_depend_on_how_they_arrive() {
    check_seeds(0..PLAIN_INPUTS, &fixtures());
}

#[test]
fn stored_logs_say_the_same_in_pieces_of_any_size() {
    for log in fixtures() {
        let whole = read(&mut &log[..], None).unwrap();
        for size in [1, 61, 997] {
            let mut parser = Parser::new(None);
            log.chunks(size).for_each(|part| parser.push(part));
            assert_eq!(parser.finish(None), whole, "{size}: {}", String::from_utf8_lossy(&log));
        }
    }
}

#[test]
#[ignore = "a million inputs take minutes"]
fn a_million_broken_and_random_logs_do_not_panic() {
    let fixtures = fixtures();
    let half = PLAIN_INPUTS + MANY_INPUTS / 2;
    std::thread::scope(|threads| {
        threads.spawn(|| check_seeds(PLAIN_INPUTS..half, &fixtures));
        threads.spawn(|| check_seeds(half..PLAIN_INPUTS + MANY_INPUTS, &fixtures));
    });
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

fn endless(bytes: u64, line: impl FnMut(u64) -> String) -> Report {
    read(&mut Endless { line, next: 0, bytes, rest: Vec::new() }, Some(Exit::Code { code: 1 })).unwrap()
}

fn stored(report: &Report) -> usize {
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

/// A JSON report as its framework writes it: head, the test of this number, end.
type Document = (&'static str, &'static str, fn(u64) -> String, &'static str);

fn state(at: u64) -> &'static str {
    if at % 1_000 == 999 { "failed" } else { "passed" }
}

const DOCUMENTS: [Document; 4] = [
    (
        "jest",
        "{\"numFailedTestSuites\":1,\"numFailedTests\":7,\"numPassedTests\":8,\"numPendingTests\":0,\"numRuntimeErrorTestSuites\":0,\
        \"numTotalTests\":15,\"testResults\":[{\"assertionResults\":[",
        |at| {
            let (name, state) = (format!("test {at}"), state(at));
            format!(
                "{{\"failureMessages\":[\"no {at}\\n    at f (src/a.js:3:1)\"],\"fullName\":\"{name}\",\"status\":\"{state}\",\"title\":\"\"}},"
            )
        },
        "{\"fullName\":\"end\",\"status\":\"failed\"}],\"name\":\"a.test.js\",\"status\":\"failed\"}]}\n",
    ),
    (
        "mocha",
        "{\n  \"stats\": {\"passes\": 9, \"pending\": 0, \"failures\": 1},\n  \"failures\": [\n",
        |at| {
            let pad = "x".repeat(300);
            format!(
                "    {{\n      \"fullTitle\": \"test {at}\",\n      \"err\": {{\"message\": \"no {at} {pad}\"}}\n    }},\n"
            )
        },
        "    {\"fullTitle\": \"end\", \"err\": {}}\n  ],\n  \"passes\": []\n}\n",
    ),
    (
        "rspec",
        "{\"version\":\"3.13.0\",\"examples\":[",
        |at| {
            let (name, state) = (format!("test {at}"), state(at));
            format!(
                "{{\"full_description\":\"{name}\",\"status\":\"{state}\",\"exception\":{{\"class\":\"E\",\"message\":\"no {at}\"}}}},"
            )
        },
        "{\"full_description\":\"end\",\"status\":\"failed\"}],\"summary\":{\"example_count\":9,\"failure_count\":1,\
        \"pending_count\":0}}\n",
    ),
    (
        "pytest",
        "{\"created\":1.5,\"exitcode\":1,\"summary\":{\"total\":9},\"tests\":[",
        |at| {
            let (name, state) = (format!("test_a.py::test_{at}"), state(at));
            format!(
                "{{\"nodeid\":\"{name}\",\"outcome\":\"{state}\",\"call\":{{\"outcome\":\"{state}\",\"longrepr\":\"no\"}}}},"
            )
        },
        "{\"nodeid\":\"end\",\"outcome\":\"failed\"}]}\n",
    ),
];

/// A document of a size in a log, and what was read of it.
fn document(bytes: usize, (framework, head, test, end): &Document) -> Report {
    let mut log = format!("> test\n{head}");
    let mut at = 0;
    while log.len() < bytes {
        log.push_str(&test(at));
        at += 1;
    }
    log.push_str(end);
    let report = read(&mut log.as_bytes(), Some(Exit::Code { code: 1 })).unwrap();
    assert_eq!((report.framework.as_str(), report.status), (*framework, RunStatus::Failed));
    report
}

#[test]
fn documents_longer_than_memory_may_hold_are_read_to_their_end() {
    for one in &DOCUMENTS {
        let report = document(9 * 1024 * 1024, one);
        let failing: Vec<&str> = report.failing().map(|test| test.name.as_str()).collect();
        assert_eq!(failing.last(), Some(&"end"), "{}", one.0);
        assert!(failing.len() > 20, "{}", one.0);
    }
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
    let (_, head, test, end) = DOCUMENTS[0];
    let tests = Endless { line: test, next: 0, bytes: GIB, rest: Vec::new() };
    let mut log = head.as_bytes().chain(tests).chain(end.as_bytes());
    let report = read(&mut log, Some(Exit::Code { code: 1 })).unwrap();
    assert!(report.failing().any(|test| test.name == "end"), "{:?} {}", report.status, report.tests.len());
    let grown = (peak_kib() - before) / 1024;
    assert!(grown <= 64, "{grown} MiB");
}
