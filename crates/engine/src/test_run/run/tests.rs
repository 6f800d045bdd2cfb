use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::domain::verdict::Exit;

fn command(root: &Path, line: &str) -> TestCommand {
    let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    TestCommand {
        command: line.to_owned(),
        checks: Vec::new(),
        cwd: root.to_owned(),
        env: BTreeMap::from([path]),
        timeout: Duration::from_secs(60),
        memory_mb: None,
        framework: None,
        junit: None,
        results: crate::test_run::ResultFiles::Wanted,
        streams: None,
        confinement: crate::process::Confinement::None,
    }
}

fn run_now(command: &TestCommand) -> TestRun {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(command, None, &Stop::never())).unwrap()
}

const SUMMARY: &str =
    "== short test summary info ==\\nFAILED tests/a.py::test_b - boom\\n== 1 failed, 2 passed in 0.02s ==\\n";

#[test]
fn what_a_command_prints_on_both_streams_is_read_and_kept_without_colours() {
    let folder = tempfile::tempdir().unwrap();
    let run =
        run_now(&command(folder.path(), &format!("printf '\\033[31mred\\033[0m\\n' >&2; printf '{SUMMARY}'; exit 1")));
    assert_eq!(run.exit, Exit::Code { code: 1 });
    assert_eq!((run.report.framework.as_str(), run.report.failed, run.report.passed), ("pytest", Some(1), Some(2)));
    assert!(run.output.starts_with("red\n"), "{}", run.output);
    assert_eq!(run.stopped, None);
}

#[test]
fn a_command_that_is_not_there_is_a_missing_tool() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_now(&command(folder.path(), "no-such-runner-of-tests --all"));
    assert_eq!((run.report.status, run.report.kind), (RunStatus::Error, RunKind::MissingTool));
}

#[test]
fn time_up_is_a_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path(), "echo begun; exec tail -f /dev/null");
    command.timeout = Duration::from_millis(300);
    let run = run_now(&command);
    assert_eq!((run.exit, run.report.status, run.report.kind), (Exit::Timeout, RunStatus::Error, RunKind::Timeout));
}

const JUNIT: &str = "<testsuites><testsuite name=\"s\"><testcase name=\"a\"/><testcase name=\"b\"><failure message=\"no\"/></testcase></testsuite></testsuites>";

#[test]
fn a_junit_file_is_believed_when_this_run_wrote_it_and_not_when_it_is_old() {
    let folder = tempfile::tempdir().unwrap();
    let mut fresh = command(folder.path(), &format!("printf '%s' '{JUNIT}' > r.xml; echo opaque; exit 1"));
    fresh.junit = Some("r.xml".into());
    let report = run_now(&fresh).report;
    assert_eq!((report.total, report.failed), (Some(2), Some(1)));
    assert_eq!(report.failing().map(|test| test.name.as_str()).collect::<Vec<_>>(), ["b"]);

    let mut stale = command(folder.path(), "echo opaque; exit 1");
    stale.junit = Some("r.xml".into());
    assert_eq!(run_now(&stale).report.total, None);
}

#[cfg(unix)]
#[test]
fn a_junit_file_behind_a_link_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x.xml"), JUNIT).unwrap();
    let target = outside.path().join("x.xml").display().to_string();
    let mut command = command(folder.path(), &format!("ln -s {target} r.xml; exit 1"));
    command.junit = Some("r.xml".into());
    assert_eq!(run_now(&command).report.total, None);
}

#[test]
fn a_file_cannot_take_back_a_failure_that_the_output_shows() {
    let folder = tempfile::tempdir().unwrap();
    let green = "<testsuite name=\"s\"><testcase name=\"a\"/></testsuite>";
    let mut command = command(folder.path(), &format!("printf '%s' '{green}' > r.xml; printf '{SUMMARY}'; exit 1"));
    command.junit = Some("r.xml".into());
    let report = run_now(&command).report;
    assert_eq!(report.status, RunStatus::Failed);
    assert!(report.failing().any(|test| test.name == "tests/a.py::test_b"));
}
