//! Reads what test runners print, and the result files that they write, into one [`Report`].
//!
//! ```
//! use testlog::{Exit, RunStatus};
//!
//! let log = "running 2 tests\ntest adds ... ok\ntest divides ... FAILED\n\nfailures:\n\n---- divides stdout ----\n\n\
//!     thread 'divides' panicked at src/lib.rs:9:5:\nattempt to divide by zero\n\nfailures:\n    divides\n\n\
//!     test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
//! let report = testlog::read(log.as_bytes(), Some(Exit::Code { code: 101 }))?;
//!
//! assert_eq!((report.framework.as_str(), report.status), ("cargo-test", RunStatus::Failed));
//! let failing = report.failing().next().unwrap();
//! assert_eq!((failing.name.as_str(), failing.line), ("divides", Some(9)));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A log comes whole ([`read`]) or in pieces as it is printed ([`Parser`]). Nobody has to say whose it is: over forty frameworks are
//! known by what they print, in any mixture, behind the prefixes of CI systems, package managers and containers.
//!
//! Bytes → `lines` (clean text) → `frames` (CI wrappers off, `lanes` for packages tested side by side) → `readers`, one per framework →
//! `merge` (which frameworks the log belongs to, and how the run ended). Everything streams, and memory is bounded by
//! `findings::STORED_BYTES`. Text goes through many lines at a time: a property that all of them can be asked for at once (no control
//! character, all ASCII, no mark up to here) is not asked of each.
//!
//! Invariant: no input makes a reader panic, and memory does not grow with the log. A reader reads by the grammar of its framework,
//! never by one example. How to add a framework stands at the top of `src/readers/mod.rs`.

mod document;
mod exit;
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
mod parser;
pub mod place;
mod python;
mod readers;
mod recent;
mod refusals;
mod report;
mod stack;

#[cfg(test)]
mod tests;

use std::io::Read;

pub use self::exit::Exit;
pub use self::infrastructure::{blames_environment, misses_network};
pub use self::parser::{Parser, plain_text};
pub use self::readers::names;
pub use self::report::{Problem, Reading, Report, RunKind, RunStatus, TestCase, TestStatus};

/// Reads a whole log of any size in bounded memory.
///
/// # Errors
/// Errors of reading the log.
pub fn read(mut log: impl Read, exit: Option<Exit>) -> std::io::Result<Report> {
    Ok(parser::read(&mut log, exit, None)?.report)
}

/// Reads a whole log of which something is known before: the name of its framework (one of [`names`]), as a hint.
///
/// # Errors
/// Errors of reading the log.
pub fn read_as(mut log: impl Read, exit: Option<Exit>, framework: Option<&str>) -> std::io::Result<Reading> {
    parser::read(&mut log, exit, framework)
}
