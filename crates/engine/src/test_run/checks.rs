//! Checks: commands that run beside the tests and judge with them, such as linters, type checkers, formatters and other suites.
//!
//! Each is a command with a result of its own. A check whose output names tests adds those, behind its name. Any other is one test of that
//! name, which passes where the command exits with 0. Invariant: a check that could not work (a missing program, no network, a service that
//! is not there) is trouble of the whole run, never work for a model.

use testlog::Parser;

use super::command::{Check, Filed, TestCommand, TestRun};
use crate::domain::stop::Stop;
use crate::domain::test_report::{Problem, RunKind, RunStatus, TestCase, TestReport, TestStatus};
use crate::domain::verdict::Exit;
use crate::process::{self, ProcessError};

/// How much of a check's output is kept from the beginning, and as much from the end.
const KEPT_OUTPUT: usize = 16 * 1024;
/// The most that is told of a failed check, in characters.
const MESSAGE_CHARS: usize = 2_000;
/// How many places of a failed check are told.
const MOST_PLACES: usize = 30;
/// How much of the output's end says that a check could not work, in bytes: theirs comes last.
const LAST_WORDS: usize = 2_000;
/// Between the name of a check and that of a test in it.
const OF: &str = ": ";

/// Names that are wanted, parted: those of the tests alone, and the checks that are meant by the others.
pub(super) struct Wanted<'c> {
    /// The tests, one per line.
    pub(super) tests: String,
    /// The checks.
    pub(super) checks: Vec<&'c Check>,
}

/// Parts the wanted names.
pub(super) fn part<'c>(command: &'c TestCommand, wanted: &str) -> Wanted<'c> {
    let of = |line: &str| {
        let is_of = |check: &&Check| {
            // `lint` alone is the check, `lint: E501` a test of it. `linter` is another name.
            line.strip_prefix(check.name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(OF))
        };
        command.checks.iter().find(is_of)
    };
    let mut checks: Vec<&Check> = wanted.lines().filter_map(of).collect();
    checks.dedup_by(|one, other| one.name == other.name);
    let tests: Vec<&str> = wanted.lines().filter(|line| of(line).is_none()).collect();
    Wanted { tests: tests.join("\n"), checks }
}

/// Runs checks behind a run of the tests, each whatever became of the others, and adds what they came to.
pub(super) async fn add(
    command: &TestCommand,
    checks: &[&Check],
    mut run: TestRun,
    stop: &Stop,
) -> Result<TestRun, ProcessError> {
    for check in checks {
        // A run that a limit or a signal ended says nothing, and no check could make up for that.
        if run.stopped.is_some() || !matches!(run.exit, Exit::Code { .. }) {
            return Ok(run);
        }
        let result = carry_out(command, check, stop).await?;
        run.duration_ms = run.duration_ms.saturating_add(result.duration_ms);
        run.output.push_str(&format!("\n{}{OF}{}\n{}", check.name, check.run, result.output));
        if result.stopped.is_some() {
            run.stopped = result.stopped;
            return Ok(run);
        }
        let added = read(check, &result);
        // Only a green run takes over how a check ended: a red one has its own code already.
        if run.exit.is_success() {
            // Only tests are ended for a limit; a check says so itself.
            run.exit = match result.exit {
                exit @ Exit::Code { .. } => exit,
                Exit::Signal { .. }
                | Exit::Timeout
                | Exit::Memory { .. }
                | Exit::MemoryTogether { .. }
                | Exit::MachineMemory => Exit::Code { code: 1 },
            };
        }
        // In both reports, since the verdict compares them.
        if let Filed::Report(filed) = &mut run.filed {
            put(filed, added.clone());
        }
        put(&mut run.report, added);
    }
    Ok(run)
}

/// A run of which nothing but checks is wanted.
pub(super) fn none() -> TestRun {
    let report = TestReport {
        status: RunStatus::Passed,
        kind: RunKind::Tests,
        total: Some(0),
        passed: Some(0),
        ..TestReport::unreadable("generic")
    };
    TestRun {
        exit: Exit::Code { code: 0 },
        report,
        filed: Filed::NotAsked,
        output: String::new(),
        duration_ms: 0,
        stopped: None,
    }
}

/// Runs one check and reads what it prints.
async fn carry_out(command: &TestCommand, check: &Check, stop: &Stop) -> Result<TestRun, ProcessError> {
    let spec = command.spec(check.run.clone(), &check.cwd, command.env.clone(), KEPT_OUTPUT);
    let mut parser = Parser::new(None);
    let mut stream = command.streams.as_ref().map(|streams| streams.open("checks"));
    let mut take = |chunk: &[u8]| {
        parser.push(chunk);
        stream.iter_mut().for_each(|stream| stream.push(chunk));
    };
    let finished = process::run(&spec, stop, &mut take).await?;
    Ok(TestRun {
        exit: finished.exit,
        report: parser.finish(Some(finished.exit)),
        filed: Filed::NotAsked,
        output: testlog::plain_text(&finished.output),
        duration_ms: finished.duration_ms,
        stopped: finished.stopped,
    })
}

/// A check's part of the report of a run.
#[derive(Debug, Clone, Default)]
struct Added {
    tests: Vec<TestCase>,
    trouble: Option<Problem>,
}

fn read(check: &Check, run: &TestRun) -> Added {
    if let Some(trouble) = trouble(check, run) {
        return Added { trouble: Some(trouble), ..Added::default() };
    }
    // A linter names no tests, and is one test as a whole.
    let named = run.report.kind == RunKind::Tests && !run.report.tests.is_empty();
    // A suite that ends with an error although each of its tests passes has failed as a whole.
    let whole = !run.exit.is_success() && run.report.failing().next().is_none();
    if named && !whole {
        let behind = |test: &TestCase| TestCase { name: format!("{}{OF}{}", check.name, test.name), ..test.clone() };
        return Added { tests: run.report.tests.iter().map(behind).collect(), trouble: None };
    }
    let place = run.report.problems.iter().find(|problem| problem.file.is_some() && !run.exit.is_success());
    let case = TestCase {
        name: check.name.clone(),
        status: if run.exit.is_success() { TestStatus::Passed } else { TestStatus::Failed },
        message: if run.exit.is_success() { String::new() } else { said(check, run) },
        file: place.and_then(|problem| problem.file.clone()),
        line: place.and_then(|problem| problem.line),
    };
    Added { tests: vec![case], trouble: None }
}

/// Why a check that failed could not work, if that is so.
fn trouble(check: &Check, run: &TestRun) -> Option<Problem> {
    if run.exit.is_success() {
        return None;
    }
    // Only at the end, as a linter may well quote code that speaks of networks.
    let at = run.output.floor_char_boundary(run.output.len().saturating_sub(LAST_WORDS));
    let end = run.output.get(at..).unwrap_or_default();
    let needs = testlog::misses_network(end) || testlog::blames_environment(end);
    let why = match run.exit {
        // The codes of a shell for a program that cannot be executed, or is not found.
        Exit::Code { code: 126 | 127 } => {
            let said = run.output.lines().rev().find(|line| !line.trim().is_empty());
            said.unwrap_or("it is not found or cannot be executed").trim().to_owned()
        }
        Exit::Code { .. } if needs => {
            "it needs the network, a service or something of the machine that is not there".to_owned()
        }
        Exit::Code { .. } => return None,
        // Too slow is a failure that a change may have caused.
        Exit::Timeout => return None,
        Exit::Signal { .. } | Exit::Memory { .. } | Exit::MemoryTogether { .. } | Exit::MachineMemory => {
            run.exit.to_string()
        }
    };
    let message = format!("the check {} (`{}`) does not work here: {why}", check.name, check.run);
    Some(Problem { kind: RunKind::BadCommand, message, file: None, line: None })
}

/// The text of a failed check: its whole output where that is short, else the places it names, else its end.
fn said(check: &Check, run: &TestRun) -> String {
    let exit = if run.exit == Exit::Timeout {
        "it did not end within its time limit (test.timeoutSeconds)".to_owned()
    } else {
        run.exit.to_string()
    };
    let head = format!("`{}` failed: {exit}\n", check.run);
    let output = run.output.trim();
    let room = MESSAGE_CHARS.saturating_sub(head.chars().count());
    if output.chars().count() <= room {
        return head + output;
    }
    // Places first where not all fits: a model can look up the rest.
    let placed = run.report.problems.iter().filter_map(|problem| {
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        let first = problem.message.lines().next().unwrap_or_default();
        problem.file.as_ref().map(|file| format!("{file}{line}: {first}"))
    });
    let placed: Vec<String> = placed.take(MOST_PLACES).collect();
    if placed.is_empty() {
        // The end, where most tools say what they found.
        let from = output.chars().count().saturating_sub(room);
        return head + &output.chars().skip(from).collect::<String>();
    }
    (head + &placed.join("\n")).chars().take(MESSAGE_CHARS).collect()
}

/// Adds to a report what a check came to.
fn put(report: &mut TestReport, added: Added) {
    if let Some(trouble) = added.trouble {
        (report.status, report.kind) = (RunStatus::Error, RunKind::BadCommand);
        // What is said of a broken command is its first problem.
        report.problems.insert(0, trouble);
        return;
    }
    for test in added.tests {
        let count = match test.status {
            TestStatus::Passed => &mut report.passed,
            TestStatus::Failed => &mut report.failed,
            TestStatus::Error => &mut report.errors,
            TestStatus::Skipped => &mut report.skipped,
        };
        let failed = matches!(test.status, TestStatus::Failed | TestStatus::Error);
        // A runner that counts names what it did not meet as none; some count no passing tests.
        if count.is_some() || (report.total.is_some() && test.status != TestStatus::Passed) {
            *count = Some(count.unwrap_or(0).saturating_add(1));
        }
        report.total = report.total.map(|total| total.saturating_add(1));
        if failed && report.status == RunStatus::Passed {
            report.status = RunStatus::Failed;
        }
        report.tests.push(test);
    }
}

#[cfg(test)]
mod tests;
