//! The readers, one per framework.
//!
//! # How to add a framework
//!
//! 1. Write `readers/<framework>.rs` with a `pub(super) struct Reader` and on it
//!    - `const WAKE: &'static [&'static str]`: literals of three bytes or more (ASCII of less than five is looked for at the beginning of a
//!      line only, indentation aside), of which at least one stands in a line before anything that the reader must see. A reader sleeps,
//!      and costs nothing, until one occurs. Then it is given the last [`crate::recent::LOOK_BACK`] lines and every line after. Choose
//!      marks of the framework that ordinary output does not have, and do not forget those of its errors (compile errors, bad arguments, no
//!      tests found).
//!    - `fn new(budget: &Budget) -> Self`: starts with nothing. Its findings go into [`crate::findings::Cases`] (tests),
//!      [`crate::findings::Problems`] (trouble outside tests) and [`crate::findings::Block`] (a message being collected), which are all
//!      bounded.
//!    - `fn line(&mut self, line: &str)`: sees each clean line. It is the hot path: decide by the first byte or a `starts_with` before
//!      anything dearer, no regular expressions, no allocation for lines that do not matter. A text that is searched for in ordinary lines
//!      is a static [`crate::needle::Needle`].
//!    - where one in three lines of a log may be such, `fn express(&mut self, line: &str) -> bool`: takes a line that is beyond doubt a
//!      result of a passing test, in a state where such lines come. Nobody else is shown it, nor is it searched for marks. Name the reader
//!      in `express!`.
//!    - where the framework shows the output of tests in a part of its own, `fn quotes(&self) -> bool`: whether the next line is in such a
//!      part, as far as the lines before tell. Nobody else is shown it, nor is it searched for marks: a test may print another framework's
//!      report. It must end by itself. Name the reader in `quotes!`.
//!    - `fn finish(self, exit: Option<Exit>) -> Option<Findings>`: `None` when it was not its log after all. Names are exactly as the
//!      framework gives them. A message is the framework's own words, whole (expected, actual, the frame). Counts are those the framework
//!      prints, `None` for those it does not. Set `finished` only when the framework's own end (summary) was seen. Leave `status` and
//!      `kind` at `None` unless the framework has a rule of its own: [`crate::merge`] knows the common ones.
//! 2. Add one line to `readers!` below: the module and the names under which `--framework` knows it.
//! 3. When its log contains another framework's output (a runner of runners), add the pair to `merge::ABSORBS`. Documents: a JSON report is
//!    one line or many, and [`crate::document::JsonDocument`] collects it (libtest's JSON lines: `cargo_test::json`). JUnit XML of every
//!    framework is read by `junit`, which also tells whose dialect it is.
//! 4. Add really made outputs with sidecars to `tests/fixtures/outputs/`. `tests/it/outputs.rs` checks them all.
//!
//! Tests print things: a line that looks like a summary inside captured output must not be counted. Prefer state (where
//! in the report are we) over the look of a line. `cargo_test` and `pytest` are the examples to follow.

mod automake;
mod ava;
mod behave;
mod boost_test;
mod bun_test;
mod busted;
mod cargo_nextest;
pub(crate) mod cargo_test;
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
pub(crate) mod jest;
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
pub(crate) mod pytest;
mod qt_test;
mod robot;
mod rspec;
pub(crate) mod static_checks;
mod tap;
mod test_unit;
mod unittest;
mod vitest;

use crate::exit::Exit;
use crate::findings::{Budget, Findings};

/// One bit per reader.
pub(crate) type Mask = u64;

/// The bit of [`crate::generic::Generic`], which is woken for single lines.
pub(crate) const GENERIC: Mask = 1 << 63;

macro_rules! readers {
    ($($module:ident: [$($name:literal),+]),* $(,)?) => {
        /// One reader per framework.
        #[derive(Debug)]
        pub(crate) struct Readers { $($module: $module::Reader,)* }

        /// Each reader's names and marks, in the order of their bits.
        pub(crate) const READERS: &[(&[&str], &[&str])] = &[$((&[$($name),+], $module::Reader::WAKE),)*];

        /// The number of each reader's bit.
        #[expect(non_camel_case_types, reason = "named like the modules")]
        enum Bit { $($module),* }

        impl Readers {
            pub(crate) fn new(budget: &Budget) -> Self {
                Self { $($module: $module::Reader::new(budget),)* }
            }

            /// Shows a line to the readers in `awake`.
            #[expect(non_upper_case_globals, reason = "named like the modules; constants make a table of jumps")]
            pub(crate) fn line(&mut self, awake: Mask, line: &str) {
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
            pub(crate) fn finish(self, awake: Mask, exit: Option<Exit>) -> Vec<Findings> {
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
        pub(crate) const EXPRESS: Mask = $(1 << Bit::$module as u32)|*;

        impl Readers {
            /// Whether one of the readers in `awake` took the line for itself.
            pub(crate) fn express(&mut self, awake: Mask, line: &str) -> bool {
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
        pub(crate) const QUOTES: Mask = $(1 << Bit::$module as u32)|*;

        impl Readers {
            /// The readers in `awake` that are in the middle of a test's output.
            pub(crate) fn quoting(&self, awake: Mask) -> Mask {
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
pub(crate) const WRAPPERS: Mask = 1 << Bit::cargo_nextest as u32 | 1 << Bit::ctest as u32 | 1 << Bit::meson_test as u32;

/// Every name under which a reader is known, in order.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let readers = READERS.iter().flat_map(|(names, _)| names.iter().copied());
    let mut names: Vec<&str> = readers.chain(["junit", "generic"]).collect();
    names.sort_unstable();
    names
}
