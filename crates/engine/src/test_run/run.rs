//! Runs the test command and reads what it prints while it prints.

use std::path::Path;

use testlog::Parser;

use super::command::{TestCommand, TestRun};
use super::junit_files::Files;
use super::to_the_end::to_the_end;
use super::under_way::{self, UnderWay};
use super::{filter, results, uninstalled, unstarted};
use crate::domain::stop::Stop;
use crate::domain::test_report::{Problem, RunKind, RunStatus, TestCase, TestReport, TestStatus};
use crate::domain::verdict::Exit;
use crate::process::{self, ProcessError};

/// How much output is kept from the beginning, and as much from the end: enough for any model and any comment.
const KEPT_OUTPUT: usize = 128 * 1024;

/// See [`super::run`].
pub(super) async fn run(command: &TestCommand, wanted: Option<&str>, stop: &Stop) -> Result<TestRun, ProcessError> {
    let framework = command.framework.as_deref();
    let line = wanted.and_then(|wanted| filter::with_filter(&command.command, framework, wanted));
    let line = to_the_end(line.unwrap_or_else(|| command.command.clone()), framework);
    let told = results::tell(command, line);
    let spec = command.spec(told.line.clone(), &command.cwd, told.env.clone(), KEPT_OUTPUT);
    let junit = command.junit.clone().or_else(|| results::always_written(command));
    // Before the run, or an old file would be taken for one of this run.
    let before = junit.map(|path| Files::at(&command.cwd, &path));
    let mut parser = Parser::new(framework);
    let mut stream = command.streams.as_ref().map(|streams| streams.open("tests"));
    let mut take = |chunk: &[u8]| {
        parser.push(chunk);
        stream.iter_mut().for_each(|stream| stream.push(chunk));
    };
    let finished = process::run(&spec, stop, &mut take).await?;
    // So that the file of the raw output is whole when the report is read.
    drop(stream);
    let printed = parser.finish(Some(finished.exit));
    let written = before.and_then(|before| before.read_new(finished.exit, framework));
    let output = told.without_mention(testlog::plain_text(&finished.output));
    let mut report = choose(printed, written);
    // Both find failures that are the fault of the machine, before any test is blamed.
    unstarted::told_apart(&mut report, &output, &command.cwd);
    uninstalled::told_apart(&mut report, &command.cwd);
    // A run that was stopped did not meet its limit.
    if let Some(limit) = limit_met(finished.exit, command).filter(|_| finished.stopped.is_none()) {
        blame(&mut report, under_way::find(&output), limit, &command.cwd);
    }
    Ok(TestRun {
        exit: finished.exit,
        report,
        filed: told.read(finished.exit),
        output,
        duration_ms: finished.duration_ms,
        stopped: finished.stopped,
    })
}

const MEMORY_SETTING: &str = "(test.memoryMb)";

/// The limit that ended a run in the midst of a test, and how that is said. The verdict knows it by its setting.
fn limit_met(exit: Exit, command: &TestCommand) -> Option<(RunKind, String)> {
    match exit {
        Exit::Timeout => {
            let seconds = command.timeout.as_secs();
            Some((RunKind::Timeout, format!("did not end within {seconds} s (test.timeoutSeconds)")))
        }
        Exit::Memory { limit_mb } => {
            Some((RunKind::OutOfMemory, format!("took more than {limit_mb} MB in one process {MEMORY_SETTING}")))
        }
        Exit::MemoryTogether { .. } | Exit::MachineMemory | Exit::Code { .. } | Exit::Signal { .. } => None,
    }
}

/// Names the test that was under way when a limit was met: as a failing one where the runner had printed its name, else by its place.
fn blame(report: &mut TestReport, found: Option<UnderWay>, (kind, limit): (RunKind, String), cwd: &Path) {
    let Some(found) = found else { return };
    let message = found.said(&limit);
    let place = found.test().or(found.stack.first());
    let within = |file: &str| Path::new(file).strip_prefix(cwd).map(|file| file.display().to_string());
    let file = place.map(|frame| within(&frame.file).unwrap_or_else(|_| frame.file.clone()));
    let line = place.map(|frame| frame.line);
    // A test that has its result was over: the place then belongs to what came behind it.
    if let Some(name) = found.name.filter(|name| report.tests.iter().all(|test| test.name != *name)) {
        report.tests.push(TestCase { name, status: TestStatus::Failed, message, file, line });
    } else {
        report.problems.push(Problem { kind, message, file, line });
    }
    (report.status, report.kind) = (RunStatus::Failed, kind);
}

/// A run that met its memory limit, whose test under way is not to blame.
#[must_use]
pub fn without_blame(mut run: TestRun) -> TestRun {
    let is_blame = |message: &str| message.contains(MEMORY_SETTING);
    run.report.tests.retain(|test| !is_blame(&test.message));
    run.report.problems.retain(|problem| !is_blame(&problem.message));
    run.report.status = RunStatus::Error;
    run
}

/// The JUnit report where it is whole, with the trouble that only the output shows. Else the printed report.
fn choose(printed: TestReport, written: Option<TestReport>) -> TestReport {
    let Some(mut written) = written else { return printed };
    // A runner that died may leave an empty or half a file, and its output says more.
    if written.kind == RunKind::Unreadable || (written.tests.is_empty() && !printed.tests.is_empty()) {
        return printed;
    }
    if written.framework == "junit" && printed.framework != "generic" {
        written.framework = printed.framework;
    }
    // A file cannot take back what the output shows: a crash after it was written, failures it does not hold.
    let worse = match printed.status {
        RunStatus::Passed => false,
        RunStatus::Failed => written.status != RunStatus::Failed,
        RunStatus::Error => written.status == RunStatus::Passed && printed.kind != RunKind::Unreadable,
    };
    if worse {
        written.status = printed.status;
        written.kind = printed.kind;
        written.tests.extend(
            printed.tests.into_iter().filter(|test| matches!(test.status, TestStatus::Failed | TestStatus::Error)),
        );
    }
    written.problems.extend(printed.problems);
    written
}

#[cfg(test)]
mod tests;
