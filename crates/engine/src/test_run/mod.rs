//! Test runs: detect the framework, run the command, read the output, choose what a model sees.

mod checks;
mod command;
mod describe;
pub mod direct;
pub mod elsewhere;
mod filter;
mod junit_files;
mod results;
mod run;
mod to_the_end;
mod under_way;
mod uninstalled;
mod unstarted;

use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

use crate::domain::stop::Stop;
use crate::domain::verdict::Exit;
use crate::process::ProcessError;

pub use crate::framework::detect::{Detected, detect, framework_of};
pub use command::{Check, Filed, ResultFiles, TestCommand, TestRun};
pub use run::without_blame;
pub use testlog::Reading;

/// Runs the tests and what is checked beside them, and reads what they print. A filter names what alone is to run, one per line: tests,
/// checks, or both.
///
/// # Errors
/// When a process could not be started or read.
pub async fn run(command: &TestCommand, filter: Option<&str>, stop: &Stop) -> Result<TestRun, ProcessError> {
    let Some(wanted) = filter.map(|filter| checks::part(command, filter)) else {
        let run = run::run(command, None, stop).await?;
        return checks::add(command, &command.checks.iter().collect::<Vec<_>>(), run, stop).await;
    };
    // Without tests to select, the runner would be called with an empty filter and run all of them.
    let nothing_but_checks = wanted.tests.is_empty() && !wanted.checks.is_empty();
    let run = if nothing_but_checks { checks::none() } else { run::run(command, Some(&wanted.tests), stop).await? };
    checks::add(command, &wanted.checks, run, stop).await
}

/// Whether the command can be told to run only the named tests, one per line.
#[must_use]
pub fn can_select(command: &TestCommand, wanted: &str) -> bool {
    let wanted = checks::part(command, wanted);
    let nothing_but_checks = wanted.tests.is_empty() && !wanted.checks.is_empty();
    nothing_but_checks || filter::with_filter(&command.command, command.framework.as_deref(), &wanted.tests).is_some()
}

/// The names that a framework may be called by in configuration and flags.
#[must_use]
pub fn frameworks() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(testlog::names);
    &NAMES
}

/// Reads a log of any size in bounded memory.
///
/// # Errors
/// The reader's own errors.
pub fn read(log: &mut dyn Read, exit: Option<Exit>, framework: Option<&str>) -> std::io::Result<Reading> {
    testlog::read_as(log, exit, framework)
}

/// Whether a failing run's output says that the tests miss the network: resolvers, sockets, package managers.
#[must_use]
pub fn misses_network(output: &str) -> bool {
    testlog::misses_network(output)
}

/// Whether a failing test's message blames the machine or a service that is not there: name resolution, a refused connection to a
/// service's port, a full disk.
#[must_use]
pub fn blames_environment(message: &str) -> bool {
    testlog::blames_environment(message)
}

/// The text of a red run for a model: the failures that matter, in at most `budget` characters.
#[must_use]
pub fn describe(run: &TestRun, root: &Path, budget: usize) -> String {
    describe::describe(run, root, budget)
}
