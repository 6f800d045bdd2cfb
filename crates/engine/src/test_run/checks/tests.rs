use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::domain::stop::Stop;
use crate::domain::test_report::{RunKind, RunStatus, TestStatus};
use crate::domain::verdict::{Exit, Verdict};
use crate::policy::verdict::{Baseline, judge, judge_baseline};
use crate::test_run::{Check, Filed, ResultFiles, TestCommand, TestRun, can_select};

const GREEN: &str = "printf 'tests/a.py::test_a PASSED\\n== 1 passed in 0.02s ==\\n'";
const RED: &str = "printf 'tests/a.py::test_a FAILED\\n=== short test summary info ===\\nFAILED tests/a.py::test_a - boom\\n\
                   == 1 failed in 0.02s ==\\n'; exit 1";

fn command(root: &Path, tests: &str, checks: &[(&str, &str)]) -> TestCommand {
    let check = |(name, run): &(&str, &str)| Check { name: (*name).into(), run: (*run).into(), cwd: root.to_owned() };
    TestCommand {
        command: tests.to_owned(),
        checks: checks.iter().map(check).collect(),
        cwd: root.to_owned(),
        env: BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]),
        timeout: Duration::from_secs(60),
        memory_mb: None,
        framework: None,
        junit: None,
        results: ResultFiles::Unwanted,
        streams: None,
        confinement: crate::process::Confinement::None,
    }
}

fn run(command: &TestCommand, wanted: Option<&str>) -> TestRun {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(crate::test_run::run(command, wanted, &Stop::never())).unwrap()
}

fn ends(run: &TestRun) -> Vec<(&str, TestStatus)> {
    run.report.tests.iter().map(|test| (test.name.as_str(), test.status)).collect()
}

#[test]
fn each_check_has_a_result_of_its_own_whatever_the_others_came_to() {
    let folder = tempfile::tempdir().unwrap();
    let lint = "echo 'shop/cart.py:2:8: F401 `os` imported but unused'; exit 3";
    let run = run(&command(folder.path(), GREEN, &[("lint", lint), ("types", "true")]), None);
    assert_eq!(
        ends(&run),
        [("tests/a.py::test_a", TestStatus::Passed), ("lint", TestStatus::Failed), ("types", TestStatus::Passed)]
    );
    assert_eq!(
        (run.exit, run.report.status, run.report.kind),
        (Exit::Code { code: 3 }, RunStatus::Failed, RunKind::Tests)
    );
    assert_eq!((run.report.passed, run.report.failed), (Some(2), Some(1)));
    let lint = run.report.failing().next().unwrap();
    assert_eq!((lint.file.as_deref(), lint.line), (Some("shop/cart.py"), Some(2)));
    assert!(lint.message.contains("imported but unused") && lint.message.contains("exit 3"), "{}", lint.message);
    assert_eq!(judge_baseline(run.exit, &run.report, true), Verdict::Red { reason: None });
}

#[test]
fn all_of_it_must_hold_and_what_held_may_not_be_lost() {
    let folder = tempfile::tempdir().unwrap();
    let checks = |lint, types| command(folder.path(), GREEN, &[("lint", lint), ("types", types)]);
    let start = run(&checks("false", "true"), None);
    let baseline = Baseline::from_report(&start.report, Vec::new(), true);
    assert_eq!(baseline.failing, ["lint"]);
    for (lint, types, green) in [("true", "true", true), ("false", "true", false), ("true", "false", false)] {
        let now = run(&checks(lint, types), None);
        let judged = judge(&baseline, now.exit, &now.report);
        assert_eq!(judged.verdict == Verdict::Green, green, "{lint} {types}: {:?}", judged.verdict);
        assert_eq!(judged.lost, types == "false");
    }
    // A check that is not run any more has not passed.
    let without = run(&command(folder.path(), GREEN, &[("types", "true")]), None);
    assert_ne!(judge(&baseline, without.exit, &without.report).verdict, Verdict::Green);
}

#[test]
fn another_suite_is_read_test_by_test() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(&command(folder.path(), GREEN, &[("slow", RED)]), None);
    assert_eq!(
        ends(&run),
        [("tests/a.py::test_a", TestStatus::Passed), ("slow: tests/a.py::test_a", TestStatus::Failed)]
    );
}

#[test]
fn what_cannot_work_here_is_no_work_for_a_model() {
    let folder = tempfile::tempdir().unwrap();
    for (run_line, why) in [
        ("no-such-linter .", "not found"),
        ("echo 'curl: (6) Could not resolve host: example.com'; exit 6", "needs the network"),
        ("kill -9 $$", "signal"),
    ] {
        let run = run(&command(folder.path(), GREEN, &[("lint", run_line)]), None);
        let verdict = judge_baseline(run.exit, &run.report, true);
        let Verdict::Broken { reason } = &verdict else { panic!("{run_line}: {verdict:?}") };
        assert!(reason.contains("lint") && reason.contains(why), "{reason}");
    }
}

#[test]
fn a_check_that_does_not_end_is_red_and_the_next_one_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path(), GREEN, &[("lint", "exec tail -f /dev/null"), ("types", "false")]);
    command.timeout = Duration::from_millis(300);
    let run = run(&command, None);
    let failing: Vec<&str> = run.report.failing().map(|test| test.name.as_str()).collect();
    assert_eq!(failing, ["lint", "types"]);
    assert!(run.report.failing().next().unwrap().message.contains("test.timeoutSeconds"));
}

#[test]
fn checks_can_be_selected_and_then_nothing_else_runs() {
    let folder = tempfile::tempdir().unwrap();
    let command = command(folder.path(), "touch ran && pytest", &[("lint", "false"), ("types", "touch typed")]);
    assert!(can_select(&command, "lint") && can_select(&command, "lint\ntests/a.py::test_a"));
    let run = run(&command, Some("lint"));
    assert_eq!(ends(&run), [("lint", TestStatus::Failed)]);
    assert!(!folder.path().join("ran").exists() && !folder.path().join("typed").exists());
}

#[test]
fn a_result_file_is_told_of_them_too() {
    let report = super::none().report;
    let mut with_file = TestRun { filed: Filed::Report(Box::new(report)), ..super::none() };
    let folder = tempfile::tempdir().unwrap();
    let command = command(folder.path(), GREEN, &[("lint", "false")]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let checks: Vec<&Check> = command.checks.iter().collect();
    with_file = runtime.block_on(super::add(&command, &checks, with_file, &Stop::never())).unwrap();
    assert_eq!(with_file.filed.report().unwrap().failing().count(), 1);
}
