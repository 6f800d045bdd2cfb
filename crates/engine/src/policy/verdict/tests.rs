use super::*;
use crate::domain::test_report::{Problem, TestCase};

const OK: Exit = Exit::Code { code: 0 };
const FAILED: Exit = Exit::Code { code: 1 };

fn case(name: &str, status: TestStatus) -> TestCase {
    TestCase { name: name.to_owned(), status, message: String::new(), file: None, line: None }
}

fn report(kind: RunKind, passed: &[&str], failed: &[&str]) -> TestReport {
    let count = |names: &[&str]| Some(names.len() as u64);
    let status = match (kind, failed.is_empty()) {
        (RunKind::Tests, true) => RunStatus::Passed,
        (RunKind::Tests, false) => RunStatus::Failed,
        _ => RunStatus::Error,
    };
    let passing = passed.iter().map(|name| case(name, TestStatus::Passed));
    let failing = failed.iter().map(|name| case(name, TestStatus::Failed));
    TestReport {
        status,
        kind,
        total: Some((passed.len() + failed.len()) as u64),
        passed: count(passed),
        failed: count(failed),
        skipped: Some(0),
        errors: Some(0),
        tests: passing.chain(failing).collect(),
        ..TestReport::unreadable("x")
    }
}

fn baseline() -> Baseline {
    Baseline::from_report(&report(RunKind::Tests, &["a", "b"], &["c"]), Vec::new(), true)
}

fn word(baseline: &Baseline, exit: Exit, report: &TestReport) -> &'static str {
    judge(baseline, exit, report).verdict.as_str()
}

#[test]
fn a_suite_beside_the_tests_passes_with_what_failed_in_it_where_it_names_nothing() {
    let ok = Exit::Code { code: 0 };
    let before = Baseline::from_report(&report(RunKind::Tests, &["a"], &["task: x"]), Vec::new(), true);
    assert_eq!(word(&before, ok, &report(RunKind::Tests, &["a", "task"], &[])), "green");
    assert_eq!(word(&before, ok, &report(RunKind::Tests, &["a", "other"], &[])), "red");
    // A test of that name was there before: it says nothing of what failed.
    let before = Baseline::from_report(&report(RunKind::Tests, &["a", "task"], &["task: x"]), Vec::new(), true);
    assert_eq!(word(&before, ok, &report(RunKind::Tests, &["a", "task"], &[])), "tampered");
}

/// Issue 6, must-show 4: exit code × report → verdict.
#[test]
fn a_part_is_seen_passing_with_its_whole_test() {
    assert_eq!(whole_of_part("test_a (t.C.test_a) (row=[1])"), Some("test_a (t.C.test_a)"));
    assert_eq!(whole_of_part("test_a (t.C.test_a) [words]"), Some("test_a (t.C.test_a)"));
    assert_eq!((whole_of_part("test_a (t.C.test_a)"), whole_of_part("adds (1) (2)")), (None, Some("adds (1)")));
}

#[test]
fn the_truth_table_of_exit_codes_and_reports() {
    let all = report(RunKind::Tests, &["a", "b", "c"], &[]);
    let some = report(RunKind::Tests, &["a", "b"], &["c"]);
    let none = report(RunKind::NoTests, &[], &[]);
    let fewer = report(RunKind::Tests, &["b", "c"], &[]);
    let unreadable = TestReport::unreadable("generic");
    let signal = Exit::Signal { signal: 11 };
    let rows = [
        (OK, ["green", "red", "broken", "broken", "tampered"]),
        (FAILED, ["broken", "red", "broken", "broken", "broken"]),
        (signal, ["red"; 5]),
        (Exit::Timeout, ["red"; 5]),
        (Exit::Memory { limit_mb: 2_048 }, ["red"; 5]),
        (Exit::MachineMemory, ["red"; 5]),
        (Exit::MemoryTogether { limit_mb: 4_096 }, ["red"; 5]),
    ];
    for (exit, expected) in rows {
        for (report, expected) in [&all, &some, &none, &unreadable, &fewer].into_iter().zip(expected) {
            assert_eq!(word(&baseline(), exit, report), expected, "{exit} × {report:?}");
        }
    }
}

#[test]
fn the_same_table_at_the_baseline() {
    let all = report(RunKind::Tests, &["a"], &[]);
    let some = report(RunKind::Tests, &["a"], &["c"]);
    let none = report(RunKind::NoTests, &[], &[]);
    let rows = [
        (OK, ["green", "red", "broken"]),
        (FAILED, ["broken", "red", "broken"]),
        (Exit::Signal { signal: 9 }, ["broken"; 3]),
        (Exit::Timeout, ["broken"; 3]),
        (Exit::Memory { limit_mb: 2_048 }, ["broken"; 3]),
        (Exit::MachineMemory, ["broken"; 3]),
        (Exit::MemoryTogether { limit_mb: 4_096 }, ["broken"; 3]),
        (Exit::Code { code: 127 }, ["broken"; 3]),
        (Exit::Code { code: 126 }, ["broken"; 3]),
    ];
    for (exit, expected) in rows {
        for (report, expected) in [&all, &some, &none].into_iter().zip(expected) {
            assert_eq!(judge_baseline(exit, report, true).as_str(), expected, "{exit} × {report:?}");
        }
    }
    let mut unreadable = TestReport::unreadable("generic");
    assert_eq!(judge_baseline(FAILED, &unreadable, true).as_str(), "broken", "it said nothing at all");
    let message = "it went wrong somewhere".to_owned();
    unreadable.problems.push(Problem { kind: RunKind::Unreadable, message, file: None, line: None });
    assert_eq!(judge_baseline(OK, &unreadable, true).as_str(), "green");
    assert_eq!(judge_baseline(FAILED, &unreadable, true).as_str(), "red");
    assert_eq!(judge_baseline(OK, &unreadable, false).as_str(), "broken");
    assert_eq!(judge_baseline(FAILED, &unreadable, false).as_str(), "broken");
}

#[test]
fn failures_alone_of_a_command_that_nobody_named_are_not_paid_for() {
    let mut alone = report(RunKind::Tests, &[], &["got 3"]);
    (alone.framework, alone.passed, alone.total) = ("generic".to_owned(), None, None);
    assert_eq!(judge_baseline(FAILED, &alone, true).as_str(), "red");
    let Verdict::Broken { reason } = judge_baseline(FAILED, &alone, false) else { panic!("{alone:?}") };
    assert_eq!(reason, FAILURES_ALONE);
    let beside = report(RunKind::Tests, &["a"], &["got 3"]);
    assert_eq!(judge_baseline(FAILED, &beside, false).as_str(), "red");
}

#[test]
fn compile_and_collection_errors_are_red() {
    for kind in [RunKind::CompileError, RunKind::CollectionError, RunKind::ImportError] {
        assert_eq!(word(&baseline(), FAILED, &report(kind, &[], &[])), "red");
        assert_eq!(judge_baseline(FAILED, &report(kind, &[], &[]), true).as_str(), "red");
        assert_eq!(word(&baseline(), OK, &report(kind, &[], &[])), "red", "exit 0 does not excuse it");
    }
}

#[test]
fn a_missing_tool_and_a_broken_service_are_not_paid_for() {
    for kind in [RunKind::MissingTool, RunKind::BadCommand, RunKind::Infrastructure] {
        let mut broken = report(kind, &[], &[]);
        broken.problems.push(Problem { kind, message: "\nno such thing\nmore".to_owned(), file: None, line: None });
        let verdict = judge_baseline(FAILED, &broken, true);
        assert_eq!(verdict.as_str(), "broken");
        assert!(verdict.reason().unwrap_or_default().contains("no such thing"));
    }
}

#[test]
fn an_exit_in_the_middle_of_the_suite_is_not_green() {
    let cut = report(RunKind::Tests, &["a", "c"], &[]);
    let judgement = judge(&baseline(), OK, &cut);
    assert_eq!(judgement.verdict.as_str(), "tampered");
    assert!(judgement.lost);
    let hidden = report(RunKind::Tests, &["a", "b", "x"], &[]);
    assert_eq!(word(&baseline(), OK, &hidden), "red", "c was not seen passing");
}

#[test]
fn newly_skipped_tests_are_tampering() {
    let mut skipping = report(RunKind::Tests, &["a", "b"], &[]);
    skipping.tests.push(case("c", TestStatus::Skipped));
    skipping.total = Some(3);
    assert_eq!(word(&baseline(), OK, &skipping), "tampered");
}

#[test]
fn runners_that_do_not_name_passing_tests_are_judged_by_their_counts() {
    let quiet = |passed: u64, failed: &[&str]| {
        let mut quiet = report(RunKind::Tests, &[], failed);
        quiet.passed = Some(passed);
        quiet.total = Some(passed + failed.len() as u64);
        quiet.status = if failed.is_empty() { RunStatus::Passed } else { RunStatus::Failed };
        quiet
    };
    let baseline = Baseline::from_report(&quiet(5, &["c", "d"]), Vec::new(), true);
    assert_eq!(word(&baseline, OK, &quiet(7, &[])), "green");
    assert_eq!(word(&baseline, OK, &quiet(6, &[])), "tampered", "one test is missing");
    let mut skips = quiet(6, &[]);
    (skips.total, skips.skipped) = (Some(7), Some(1));
    let Verdict::Red { reason: Some(reason) } = judge(&baseline, OK, &skips).verdict else { panic!("not red") };
    assert_eq!(reason, "not seen passing: c, d; by the counts, 1 more skipped than at the start");
    let halfway = judge(&baseline, FAILED, &quiet(6, &["d"]));
    assert_eq!(halfway.verdict.as_str(), "red");
    assert_eq!(halfway.fixed.into_iter().collect::<Vec<_>>(), ["c"]);
}

/// The report of `python -m unittest` without `-v`: the total, the failures by name, the skipped tests by number.
fn terse(total: u64, skipped: u64, failed: &[&str]) -> TestReport {
    let mut terse = report(RunKind::Tests, &[], failed);
    terse.passed = None;
    terse.total = Some(total);
    terse.skipped = Some(skipped);
    terse.status = if failed.is_empty() { RunStatus::Passed } else { RunStatus::Failed };
    terse
}

#[test]
fn runners_that_do_not_count_passing_tests_are_judged_by_the_rest_of_their_total() {
    let baseline = Baseline::from_report(&terse(5, 1, &["c", "sometimes"]), vec!["sometimes".to_owned()], true);
    assert_eq!(baseline.passed, Some(2));
    assert_eq!(word(&baseline, OK, &terse(5, 1, &[])), "green");
    assert_eq!(word(&baseline, FAILED, &terse(5, 1, &["sometimes"])), "green", "it is known to be flaky");
    assert_eq!(word(&baseline, FAILED, &terse(5, 2, &["sometimes"])), "red", "what failed may be skipped");
    assert_eq!(word(&baseline, FAILED, &terse(5, 1, &["other"])), "red");
    assert_eq!(word(&baseline, OK, &terse(4, 1, &[])), "tampered");
    assert_eq!(word(&baseline, OK, &terse(5, 5, &[])), "broken", "nothing ran");
}

#[test]
fn files_that_could_not_be_loaded_are_fixed_when_their_tests_run() {
    let mut before = report(RunKind::CollectionError, &[], &[]);
    before.tests.push(case("tests/test_a.py", TestStatus::Error));
    before.errors = Some(1);
    let baseline = Baseline::from_report(&before, Vec::new(), true);
    let after = report(RunKind::Tests, &["tests/test_a.py::one", "tests/test_a.py::two"], &[]);
    assert_eq!(word(&baseline, OK, &after), "green");
    assert_eq!(word(&baseline, OK, &report(RunKind::NoTests, &[], &[])), "broken");
}

#[test]
fn doctests_may_move_within_their_file() {
    let before = report(RunKind::Tests, &["src/lib.rs - add (line 3)"], &["c"]);
    let baseline = Baseline::from_report(&before, Vec::new(), true);
    let after = report(RunKind::Tests, &["src/lib.rs - add (line 9)", "c"], &[]);
    assert_eq!(word(&baseline, OK, &after), "green");
}

#[test]
fn flaky_tests_do_not_keep_a_tree_red() {
    let before = report(RunKind::Tests, &["a"], &["c", "sometimes"]);
    let baseline = Baseline::from_report(&before, vec!["sometimes".to_owned()], true);
    assert_eq!(baseline.failing, ["c"]);
    let after = report(RunKind::Tests, &["a", "c"], &["sometimes"]);
    let judgement = judge(&baseline, FAILED, &after);
    assert_eq!(judgement.verdict, Verdict::Green);
    assert!(judgement.new_failures.is_empty());
}

#[test]
fn failed_parts_are_no_tests_that_must_pass_beside_their_own() {
    let names = ["test_a [x] (i=1)", "test_a [x] (i=2)", "test_a", "Old.test_b (i=1)", "Old.test_b (i=2)"];
    let baseline = Baseline {
        failing: names.iter().map(|name| (*name).to_owned()).collect(),
        passed: Some(0),
        total: Some(3),
        ..Baseline::default()
    };
    let quiet = |passed: u64| {
        let mut quiet = report(RunKind::Tests, &[], &[]);
        (quiet.passed, quiet.total, quiet.status) = (Some(passed), Some(passed), RunStatus::Passed);
        quiet
    };
    assert_eq!(word(&baseline, OK, &quiet(3)), "green");
    assert_eq!(word(&baseline, OK, &quiet(2)), "tampered", "one of them is gone");
}

#[test]
fn a_file_that_ended_its_process_is_no_test_that_could_be_gone() {
    let before = report(RunKind::Tests, &["a", "/w/test/opts.test.js"], &["c"]);
    let baseline = Baseline::from_report(&before, Vec::new(), true);
    assert_eq!(word(&baseline, OK, &report(RunKind::Tests, &["a", "c", "opts > reads"], &[])), "green");
    // A test that is called like a path of the repository is one.
    let before = report(RunKind::Tests, &["a", "test/opts.test.js"], &["c"]);
    let baseline = Baseline::from_report(&before, Vec::new(), true);
    assert_eq!(word(&baseline, OK, &report(RunKind::Tests, &["a", "c", "d"], &[])), "tampered");
}

#[test]
fn a_test_that_is_called_by_the_time_is_found_under_its_new_name_and_no_fewer_of_them_count() {
    let before = report(RunKind::Tests, &["a", "t[11-29-2026 20:45:03]", "t[11-29-2026 20:45:04]", "n[1]"], &["c"]);
    let baseline = Baseline::from_report(&before, Vec::new(), true);
    let later = ["a", "c", "n[1]", "t[11-29-2026 20:46:10]", "t[11-29-2026 20:46:11]"];
    assert_eq!(word(&baseline, OK, &report(RunKind::Tests, &later, &[])), "green");
    assert_eq!(word(&baseline, OK, &report(RunKind::Tests, &[&later[..4], &["d"]].concat(), &[])), "tampered");
    let other = ["a", "c", "n[2]", later[3], later[4]];
    assert_eq!(word(&baseline, OK, &report(RunKind::Tests, &other, &[])), "tampered", "a number is no time");
}

#[test]
fn a_failing_test_that_is_called_by_the_time_is_seen_passing_under_its_new_name() {
    let old = ["t[11-29-2026 20:45:03]", "t[11-29-2026 20:45:04]"];
    let new = ["t[11-29-2026 20:46:10]", "t[11-29-2026 20:46:11]"];
    let before = report(RunKind::Tests, &["a"], &old);
    let baseline = Baseline::from_report(&before, Vec::new(), true);
    assert_eq!(word(&baseline, OK, &report(RunKind::Tests, &["a", new[0], new[1]], &[])), "green");
    let red = Exit::Code { code: 1 };
    assert_eq!(word(&baseline, red, &report(RunKind::Tests, &["a", new[0]], &new[1..])), "red");
    assert_ne!(word(&baseline, OK, &report(RunKind::Tests, &["a", new[0], "b"], &[])), "green", "one of them is gone");
    let both = report(RunKind::Tests, &["a", old[0]], &old[1..]);
    let both = Baseline::from_report(&both, Vec::new(), true);
    assert_ne!(word(&both, OK, &report(RunKind::Tests, &["a", new[0], "b"], &[])), "green", "it cannot stand for both");
    assert_eq!(word(&both, OK, &report(RunKind::Tests, &["a", new[0], new[1]], &[])), "green");
}
