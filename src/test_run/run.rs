//! Runs the test command and reads what it prints while it prints.

use super::junit_files::Files;
use super::parse::{self, Parser};
use super::{TestCommand, TestRun, filter, results};
use crate::domain::stop::Stop;
use crate::domain::test_report::{RunKind, RunStatus, TestReport, TestStatus};
use crate::process::{self, ProcessError, Program, Spec};

/// How much output is kept from the beginning, and as much from the end: enough for any model and any comment.
const KEPT_OUTPUT: usize = 128 * 1024;

/// See [`super::run`].
pub(super) async fn run(command: &TestCommand, wanted: Option<&str>, stop: &Stop) -> Result<TestRun, ProcessError> {
    let framework = command.framework.as_deref();
    let line = wanted.and_then(|wanted| filter::with_filter(&command.command, framework, wanted));
    let told = results::tell(command, line.unwrap_or_else(|| command.command.clone()));
    let spec = Spec {
        program: Program::Shell(told.line.clone()),
        cwd: command.cwd.clone(),
        env: told.env.clone(),
        stdin: Vec::new(),
        timeout: command.timeout,
        keep: KEPT_OUTPUT,
        merge_stderr: true,
        memory_mb: command.memory_mb,
        confinement: command.confinement.clone(),
    };
    let before = command.junit.as_deref().map(|path| Files::at(&command.cwd, path));
    let mut parser = Parser::new(framework);
    let finished = process::run(&spec, stop, &mut |chunk| parser.push(chunk)).await?;
    let printed = parser.finish(Some(finished.exit), framework);
    let written = before.and_then(|before| before.read_new(finished.exit, framework));
    Ok(TestRun {
        exit: finished.exit,
        report: choose(printed, written),
        filed: told.read(finished.exit),
        output: told.without_mention(parse::plain_text(&finished.output)),
        duration_ms: finished.duration_ms,
        stopped: finished.stopped,
    })
}

/// The JUnit report where it is whole, with the trouble that only the output shows; else what was printed.
fn choose(printed: TestReport, written: Option<TestReport>) -> TestReport {
    let Some(mut written) = written else { return printed };
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
