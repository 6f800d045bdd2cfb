//! Reads what test runners print into one [`TestReport`].
//!
//! Bytes → [`lines`] (clean text) → [`frames`] (CI wrappers off; [`lanes`] for packages tested side by side) → the
//! readers, one per framework → [`merge`] (which frameworks the log belongs to, and how the run ended). Everything
//! streams; what is kept is bounded by [`findings::STORED_BYTES`]. Text goes through many lines at a time: whatever can
//! be said of all of them at once (no control character, all ASCII, no mark up to here) is not asked of each.
//!
//! Invariant: no input makes a reader panic, and memory does not grow with the log. A reader reads by the grammar of
//! its framework, never by one example.
//!
//! # How to add a framework
//!
//! 1. Write `parse/<framework>.rs` with a `pub(super) struct Reader` and on it
//!    - `const WAKE: &'static [&'static str]`: literals of three bytes or more (ASCII of less than five is looked for at
//!      the beginning of a line only, indentation aside), of which at least one stands in a line before anything that the reader must see. A reader sleeps, and costs nothing, until one occurs; then it is given
//!      the last [`recent::LOOK_BACK`] lines and every line after. Choose marks of the framework that ordinary output does not
//!      have, and do not forget those of its errors (compile errors, bad arguments, no tests found);
//!    - `fn new(budget: &Budget) -> Self`: starts with nothing; what it stores goes into [`findings::Cases`] (tests),
//!      [`findings::Problems`] (trouble outside tests) and [`findings::Block`] (a message being collected), which are
//!      all bounded;
//!    - `fn line(&mut self, line: &str)`: sees each clean line. It is the hot path: decide by the first byte or a
//!      `starts_with` before anything dearer, no regular expressions, no allocation for lines that do not matter; a text
//!      that is searched for in ordinary lines is a static [`needle::Needle`];
//!    - where one in three lines of a log may be such, `fn express(&mut self, line: &str) -> bool`: takes a line that is
//!      beyond doubt a result of a passing test, in a state where such lines come. Nobody else is shown it, nor is it
//!      searched for marks. Name the reader in `express!`;
//!    - where the framework shows what tests printed in a part of its own, `fn quotes(&self) -> bool`: whether the next
//!      line is in such a part, as far as the lines before tell. Nobody else is shown it, nor is it searched for marks: a
//!      test may print another framework's report. It must end by itself. Name the reader in `quotes!`;
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
mod infrastructure;
mod junit;
mod lanes;
mod launchers;
mod lines;
mod marks;
mod merge;
mod needle;
pub(super) mod place;
mod python;
mod recent;
mod refusals;
mod stack;

mod automake;
mod ava;
mod behave;
mod boost_test;
mod bun_test;
mod busted;
mod cargo_nextest;
mod cargo_test;
mod catch2;
mod cmocka;
mod cpputest;
mod criterion;
mod ctest;
mod cucumber;
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
mod junit5;
mod karma;
mod libcheck;
mod maven_surefire;
mod meson_test;
mod minitest;
mod minitest_reporters;
mod mocha;
mod node_test;
mod phpunit;
mod playwright;
mod pytest;
mod qt_test;
mod robot;
mod rspec;
mod static_checks;
mod tap;
mod test_unit;
mod unittest;
mod vitest;

#[cfg(test)]
mod tests;

use std::io::Read;
use std::ops::Range;

use self::findings::{Budget, Findings, STORED_BYTES};
use self::frames::Frames;
use self::generic::Generic;
use self::junit::Junit;
use self::lines::{Held, Lines};
use self::marks::{Filter, Scan};
use self::recent::{Recent, closing_words};
use super::Reading;

pub(super) use self::infrastructure::{is_blamed as blames_environment, misses_network};
use crate::domain::test_report::TestReport;
use crate::domain::verdict::Exit;

/// How much of a line is kept for those that wake later.
const KEPT_OF_LINE: usize = 4 * 1024;
/// How much is read at once from a log.
const CHUNK: usize = 128 * 1024;

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

        /// The number of each reader's bit.
        #[expect(non_camel_case_types, reason = "named like the modules")]
        enum Bit { $($module),* }

        impl Readers {
            fn new(budget: &Budget) -> Self {
                Self { $($module: $module::Reader::new(budget),)* }
            }

            /// Shows a line to the readers in `awake`.
            #[expect(non_upper_case_globals, reason = "named like the modules; constants make a table of jumps")]
            fn line(&mut self, awake: Mask, line: &str) {
                $(const $module: u32 = Bit::$module as u32;)*
                let mut left = awake;
                while left != 0 {
                    match left.trailing_zeros() {
                        $($module => self.$module.line(line),)*
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
    junit5: ["junit5"],
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
    playwright: ["playwright"],
    automake: ["automake"],
    karma: ["karma"],
    static_checks: ["static-checks"],
    minitest_reporters: ["minitest-reporters"],
    cucumber: ["cucumber"],
    cmocka: ["cmocka"],
    qt_test: ["qt-test", "qttest"],
    libcheck: ["libcheck"],
    cpputest: ["cpputest"],
    criterion: ["criterion"],
}

macro_rules! express {
    ($($module:ident),* $(,)?) => {
        /// The readers that take lines by [`Readers::express`].
        const EXPRESS: Mask = $(1 << Bit::$module as u32)|*;

        impl Readers {
            /// Whether one of the readers in `awake` took the line for itself.
            fn express(&mut self, awake: Mask, line: &str) -> bool {
                $((awake & 1 << Bit::$module as u32 != 0 && self.$module.express(line)))||*
            }
        }
    };
}

express! {
    cargo_test, pytest, go_test, jest, vitest, cargo_nextest, googletest, unittest, exunit, bun_test, gradle, dotnet, maven_surefire,
    minitest, tap, node_test, mocha, deno_test, ctest, ava,
}

macro_rules! quotes {
    ($($module:ident),* $(,)?) => {
        /// The readers that know by [`Readers::quoting`] whose words they are shown.
        const QUOTES: Mask = $(1 << Bit::$module as u32)|*;

        impl Readers {
            /// Those in `awake` that are in the middle of what a test printed.
            fn quoting(&self, awake: Mask) -> Mask {
                let mut quoting = 0;
                $(if awake & 1 << Bit::$module as u32 != 0 && self.$module.quotes() {
                    quoting |= 1 << Bit::$module as u32;
                })*
                quoting
            }
        }
    };
}

quotes! { pytest, cargo_test, cargo_nextest, go_test, jest, vitest, deno_test }

/// Runners of other runners: they see what a test of those printed as well.
const WRAPPERS: Mask = 1 << Bit::cargo_nextest as u32 | 1 << Bit::ctest as u32 | 1 << Bit::meson_test as u32;

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
    frames: Frames,
    junit: Junit,
    generic: Generic,
    readers: Readers,
    awake: Mask,
    /// Passes the marks of those that are not awake.
    filter: Filter,
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
                frames: Frames::default(),
                junit: Junit::new(&budget),
                generic: Generic::new(&budget),
                readers: Readers::new(&budget),
                awake: hinted,
                filter: Filter::new(!hinted),
                recent: Recent::default(),
            },
        }
    }

    /// Takes more bytes of the log.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let shown = &mut self.shown;
        self.lines.push(bytes, &mut |text, held| shown.text(text, held));
    }

    /// Ends the log.
    pub(super) fn finish(self, exit: Option<Exit>, framework: Option<&str>) -> TestReport {
        self.finish_with_words(exit, framework).report
    }

    /// Ends the log; the report and the log's own last words.
    fn finish_with_words(mut self, exit: Option<Exit>, framework: Option<&str>) -> Reading {
        let shown = &mut self.shown;
        self.lines.finish(&mut |text, held| shown.text(text, held));
        let rest = shown.frames.rest();
        shown.plain(&rest);
        let Shown { junit, generic, readers, awake, recent, .. } = self.shown;
        let mut found = readers.finish(awake, exit);
        found.extend(junit.finish());
        let last: Vec<&str> = recent.lines("").collect();
        let closing = closing_words(&last);
        Reading { report: merge::merge(found, generic.finish(), &last, exit, framework), closing }
    }
}

impl Shown {
    /// Takes whole lines, or a piece of a document.
    fn text(&mut self, text: &str, held: Held) {
        self.frames.look_at(text);
        let mut scan = Scan::new(text);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain(std::iter::once(text.len())) {
            let mut whole = text.get(start..end).unwrap_or_default();
            if held == Held::Lines {
                whole = lines::capped(whole);
            }
            if let Some(line) = self.frames.strip(whole) {
                let at = start + (whole.len() - line.len());
                self.line(text, at..at + line.len(), line, &mut scan);
            } else if let Some(ready) = self.frames.ready() {
                // At once: the order of the lines must not depend on how the log arrives.
                self.recent.text_ends(text);
                self.plain(&ready);
            }
            start = end + 1;
        }
        self.recent.text_ends(text);
    }

    /// Takes whole lines that have no frames any more.
    fn plain(&mut self, text: &str) {
        let Some(text) = text.strip_suffix('\n') else { return };
        let mut scan = Scan::new(text);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain(std::iter::once(text.len())) {
            self.line(text, start..end, text.get(start..end).unwrap_or_default(), &mut scan);
            start = end + 1;
        }
        self.recent.text_ends(text);
    }

    /// Shows a line that a test printed to the readers that quote it, and says whether there are any: whatever it
    /// looks like, it is nobody's result.
    fn quoted(&mut self, line: &str) -> bool {
        if self.awake & QUOTES == 0 {
            return false;
        }
        let quoting = self.readers.quoting(self.awake & QUOTES);
        if quoting == 0 {
            return false;
        }
        // A runner of runners quotes the inner one's quotations.
        let outer = quoting & WRAPPERS;
        let shown = if outer == 0 { quoting | self.awake & WRAPPERS } else { outer };
        self.readers.line(shown, line);
        true
    }

    /// A line of nothing holds no mark.
    fn blank_line(&mut self, line: &str, place: Range<usize>) {
        if self.junit.is_open() && self.junit.wants(line) {
            return;
        }
        if self.generic.wants_more() {
            self.generic.more(line);
        }
        if self.awake != 0 && !self.quoted(line) {
            self.readers.line(self.awake, line);
        }
        self.recent.push(place);
    }

    /// Takes one line, which stands in `text` at `place`.
    fn line(&mut self, text: &str, place: Range<usize>, line: &str, scan: &mut Scan) {
        let Some(first) = line.bytes().find(|byte| !byte.is_ascii_whitespace()) else {
            self.blank_line(line, place);
            return;
        };
        if self.junit.is_open() && self.junit.wants(line) {
            return;
        }
        if self.awake & EXPRESS != 0 && !self.generic.wants_more() && self.readers.express(self.awake, line) {
            self.recent.push(place);
            return;
        }
        if self.quoted(line) {
            self.recent.push(place);
            return;
        }
        if first == b'<' && !self.junit.is_open() && self.junit.wants(line) {
            return;
        }
        let wanted = if self.generic.listens() { !self.awake } else { !(self.awake | GENERIC) };
        let hits = scan.wakes(&self.filter, text, place.clone(), first, wanted);
        if hits & GENERIC != 0 {
            self.generic.hit(line.get(..line.floor_char_boundary(KEPT_OF_LINE)).unwrap_or(line));
        } else if self.generic.wants_more() {
            self.generic.more(line);
        }
        let woken = hits & !self.awake & !GENERIC;
        if woken != 0 {
            for earlier in self.recent.lines(text) {
                self.readers.line(woken, earlier);
            }
            self.frames.framework_speaks();
            self.awake |= woken;
            self.filter = Filter::new(!self.awake);
        }
        if self.awake != 0 {
            self.readers.line(self.awake, line);
        }
        self.recent.push(place);
    }
}

/// A log as plain text: colours, control characters and CI frames gone.
pub(super) fn plain_text(bytes: &[u8]) -> String {
    let mut plain = String::with_capacity(bytes.len());
    let mut frames = Frames::default();
    let mut add = |text: &str, _: Held| {
        frames.look_at(text);
        for line in text.split('\n').filter_map(|line| frames.strip(lines::capped(line))) {
            plain.push_str(line);
            plain.push('\n');
        }
    };
    let mut lines = Lines::new();
    lines.push(bytes, &mut add);
    lines.finish(&mut add);
    plain.push_str(&frames.rest());
    plain
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
