//! Reads what test runners print into one [`TestReport`].
//!
//! Bytes → [`lines`] (clean lines) → [`frames`] (CI wrappers off) → the readers, one per framework → [`merge`] (which
//! frameworks the log belongs to, and how the run ended). Everything streams; what is kept is bounded by
//! [`findings::STORED_BYTES`].
//!
//! Invariant: no input makes a reader panic, and memory does not grow with the log. A reader reads by the grammar of
//! its framework, never by one example.
//!
//! # How to add a framework
//!
//! 1. Write `parse/<framework>.rs` with a `pub(super) struct Reader` and on it
//!    - `const WAKE: &'static [&'static str]`: literals of three bytes or more (ASCII of less than five is looked for at
//!      the beginning of a line only, indentation aside), of which at least one stands in a line before anything that the reader must see. A reader sleeps, and costs nothing, until one occurs; then it is given
//!      the last [`LOOK_BACK`] lines and every line after. Choose marks of the framework that ordinary output does not
//!      have, and do not forget those of its errors (compile errors, bad arguments, no tests found);
//!    - `fn new(budget: &Budget) -> Self`: starts with nothing; what it stores goes into [`findings::Cases`] (tests),
//!      [`findings::Problems`] (trouble outside tests) and [`findings::Block`] (a message being collected), which are
//!      all bounded;
//!    - `fn line(&mut self, line: &str)`: sees each clean line. It is the hot path: decide by the first byte or a
//!      `starts_with` before anything dearer, no regular expressions, no allocation for lines that do not matter; a text
//!      that is searched for in ordinary lines is a static [`needle::Needle`];
//!    - `fn finish(self, exit: Option<Exit>) -> Option<Findings>`: `None` when it was not its log after all. Names are
//!      exactly as the framework gives them; a message is the framework's own words, whole (expected, actual, the
//!      frame); counts are those the framework prints, `None` for those it does not. Set `finished` only when the
//!      framework's own end (summary) was seen. Leave `status` and `kind` at `None` unless the framework has a rule of
//!      its own; [`merge`] knows the common ones.
//! 2. Add one line to `readers!` below: the module and the names under which `--framework` knows it.
//! 3. When its log contains another framework's output (a runner of runners), add the pair to `merge::ABSORBS`.
//!    Documents: a JSON report is one line or many; [`document::JsonDocument`] collects it (libtest's JSON lines:
//!    `cargo_test::json`). JUnit XML of every framework is read by `junit`, which also tells whose dialect it is.
//! 4. Add really made outputs with sidecars to `tests/fixtures/outputs/`; `tests/it/outputs.rs` checks them all.
//!
//! Tests print things: a line that looks like a summary inside captured output must not be counted. Prefer state (where
//! in the report are we) over the look of a line. `cargo_test` and `pytest` are the examples to follow.

mod document;
mod findings;
mod frames;
mod generic;
mod junit;
mod lines;
mod marks;
mod merge;
mod needle;
mod outside;
pub(super) mod place;
mod python;
mod stack;

mod ava;
mod behave;
mod boost_test;
mod bun_test;
mod busted;
mod cargo_nextest;
mod cargo_test;
mod catch2;
mod ctest;
mod deno_test;
mod doctest_cpp;
mod dotnet;
mod exunit;
mod go_test;
mod googletest;
mod gradle;
mod jasmine;
mod jest;
mod junit4;
mod maven_surefire;
mod meson_test;
mod minitest;
mod mocha;
mod node_test;
mod phpunit;
mod pytest;
mod robot;
mod rspec;
mod tap;
mod test_unit;
mod unittest;
mod vitest;

#[cfg(test)]
mod tests;

use std::io::Read;

use self::findings::{Budget, Findings, STORED_BYTES};
use self::generic::Generic;
use self::junit::Junit;
use self::lines::Lines;
use super::Reading;
use crate::domain::test_report::TestReport;
use crate::domain::verdict::Exit;

/// How many lines before its first mark a reader is given.
const LOOK_BACK: usize = 32;
/// How much of a line is kept for those that wake later.
const KEPT_OF_LINE: usize = 4 * 1024;
/// How much text may be kept before all but the last lines is dropped: seldom enough to cost nothing.
const KEPT_RECENT: usize = 256 * 1024;
/// How much is read at once from a log.
const CHUNK: usize = 128 * 1024;
/// How many of the last lines are the log's closing words: the summaries of all known runners fit.
const CLOSING_LINES: usize = 8;
/// How much of one closing line is kept.
const CLOSING_WIDTH: usize = 500;

/// One bit per reader.
type Mask = u64;

/// The bit of [`Generic`], which is woken for single lines.
const GENERIC: Mask = 1 << 63;

macro_rules! readers {
    ($($module:ident: [$($name:literal),+]),* $(,)?) => {
        /// One reader per framework.
        #[derive(Debug)]
        struct Readers { $($module: $module::Reader,)* }

        /// Each reader's names and marks, in the order of their bits.
        const READERS: &[(&[&str], &[&str])] = &[$((&[$($name),+], $module::Reader::WAKE),)*];

        impl Readers {
            fn new(budget: &Budget) -> Self {
                Self { $($module: $module::Reader::new(budget),)* }
            }

            /// Shows a line to the readers in `awake`.
            fn line(&mut self, awake: Mask, line: &str) {
                #[expect(non_camel_case_types, reason = "named like the modules")]
                enum Bit { $($module),* }
                let mut left = awake;
                while left != 0 {
                    match left.trailing_zeros() {
                        $(bit if bit == Bit::$module as u32 => self.$module.line(line),)*
                        _ => {}
                    }
                    left &= left - 1;
                }
            }

            /// Ends the readers in `awake`.
            fn finish(self, awake: Mask, exit: Option<Exit>) -> Vec<Findings> {
                let mut found = Vec::new();
                let mut left = awake;
                $(
                    if left & 1 == 1 { found.extend(self.$module.finish(exit)); }
                    left >>= 1;
                )*
                debug_assert_eq!(left, 0, "a bit without a reader");
                found
            }
        }
    };
}

readers! {
    cargo_test: ["cargo-test"],
    jest: ["jest"],
    vitest: ["vitest"],
    mocha: ["mocha"],
    node_test: ["node-test"],
    go_test: ["go-test", "go"],
    rspec: ["rspec"],
    minitest: ["minitest", "rails"],
    test_unit: ["test-unit"],
    phpunit: ["phpunit"],
    ctest: ["ctest"],
    googletest: ["googletest", "gtest"],
    catch2: ["catch2"],
    doctest_cpp: ["doctest-cpp"],
    boost_test: ["boost-test"],
    meson_test: ["meson-test"],
    ava: ["ava"],
    jasmine: ["jasmine"],
    bun_test: ["bun-test", "bun"],
    deno_test: ["deno-test", "deno"],
    maven_surefire: ["maven-surefire", "maven"],
    junit4: ["junit4"],
    exunit: ["exunit"],
    busted: ["busted"],
    tap: ["tap", "bats", "prove"],
    cargo_nextest: ["cargo-nextest"],
    pytest: ["pytest"],
    unittest: ["unittest", "nose2"],
    behave: ["behave"],
    robot: ["robot"],
    dotnet: ["dotnet"],
    gradle: ["gradle"],
}

/// Every name under which a reader is known, in order.
pub(super) fn names() -> Vec<&'static str> {
    let readers = READERS.iter().flat_map(|(names, _)| names.iter().copied());
    let mut names: Vec<&str> = readers.chain(["junit", "generic"]).collect();
    names.sort_unstable();
    names
}

/// A push parser from the bytes of a log to a report.
#[derive(Debug)]
pub(super) struct Parser {
    lines: Lines,
    shown: Shown,
}

/// What stands behind the lines: the readers and what they were shown.
#[derive(Debug)]
struct Shown {
    junit: Junit,
    generic: Generic,
    readers: Readers,
    awake: Mask,
    recent: Recent,
}

impl Parser {
    /// Starts at the beginning of a log; `framework` is a hint, not an order.
    pub(super) fn new(framework: Option<&str>) -> Self {
        let budget = Budget::new(STORED_BYTES);
        let hinted = framework.map_or(0, |wanted| {
            READERS
                .iter()
                .enumerate()
                .filter(|(_, (names, _))| names.contains(&wanted))
                .fold(0, |mask, (bit, _)| mask | 1 << bit)
        });
        Self {
            lines: Lines::new(),
            shown: Shown {
                junit: Junit::new(&budget),
                generic: Generic::new(&budget),
                readers: Readers::new(&budget),
                awake: hinted,
                recent: Recent::default(),
            },
        }
    }

    /// Takes more bytes of the log.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let shown = &mut self.shown;
        self.lines.push(bytes, &mut |line| shown.line(line));
    }

    /// Ends the log.
    pub(super) fn finish(self, exit: Option<Exit>, framework: Option<&str>) -> TestReport {
        self.finish_with_words(exit, framework).report
    }

    /// Ends the log; the report and the log's own last words.
    fn finish_with_words(mut self, exit: Option<Exit>, framework: Option<&str>) -> Reading {
        let shown = &mut self.shown;
        self.lines.finish(&mut |line| shown.line(line));
        let Shown { junit, generic, readers, awake, recent } = self.shown;
        let mut found = readers.finish(awake, exit);
        found.extend(junit.finish());
        let closing = closing_words(&recent);
        let last: Vec<&str> = recent.lines().collect();
        Reading { report: merge::merge(found, generic.finish(), &last, exit, framework), closing }
    }
}

impl Shown {
    fn line(&mut self, line: &str) {
        if self.junit.wants(line) {
            return;
        }
        let hits = marks::of(line, if self.generic.listens() { !self.awake } else { !(self.awake | GENERIC) });
        if hits & GENERIC != 0 {
            self.generic.hit(line);
        } else if self.generic.wants_more() {
            self.generic.more(line);
        }
        let woken = hits & !self.awake & !GENERIC;
        if woken != 0 {
            for earlier in self.recent.lines() {
                self.readers.line(woken, earlier);
            }
            self.awake |= woken;
        }
        if self.awake != 0 {
            self.readers.line(self.awake, line);
        }
        self.recent.push(line);
    }
}

/// The last lines, one behind the other in one text.
#[derive(Debug, Default)]
struct Recent {
    text: String,
}

impl Recent {
    /// Adds a line.
    fn push(&mut self, line: &str) {
        if self.text.len() > KEPT_RECENT {
            let from = self.start();
            self.text.drain(..from);
        }
        self.text.push_str(line.get(..line.floor_char_boundary(KEPT_OF_LINE)).unwrap_or(line));
        self.text.push('\n');
    }

    /// Where the last [`LOOK_BACK`] lines begin.
    fn start(&self) -> usize {
        memchr::memrchr_iter(b'\n', self.text.as_bytes()).nth(LOOK_BACK).map_or(0, |end| end + 1)
    }

    /// The last [`LOOK_BACK`] lines.
    fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.text.get(self.start()..).unwrap_or_default().lines()
    }
}

/// The last lines that are not empty, where runners sum up.
fn closing_words(recent: &Recent) -> String {
    let mut lines: Vec<&str> = recent.lines().rev().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.truncate(CLOSING_LINES);
    lines.reverse();
    let shown: Vec<&str> =
        lines.iter().map(|line| line.get(..line.floor_char_boundary(CLOSING_WIDTH)).unwrap_or(line)).collect();
    shown.join("\n")
}

/// A log as plain text: colours, control characters and CI frames gone.
pub(super) fn plain_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut add = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    let mut lines = Lines::new();
    lines.push(bytes, &mut add);
    lines.finish(&mut add);
    text
}

/// Reads a whole log.
pub(super) fn read(log: &mut dyn Read, exit: Option<Exit>, framework: Option<&str>) -> std::io::Result<Reading> {
    let mut parser = Parser::new(framework);
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = match log.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        parser.push(chunk.get(..count).unwrap_or_default());
    }
    Ok(parser.finish_with_words(exit, framework))
}
