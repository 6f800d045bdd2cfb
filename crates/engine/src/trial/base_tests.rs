//! What became of the base's own tests at the head of a person's change. Pure.

use std::collections::BTreeSet;

use crate::domain::test_report::{TestReport, TestStatus};
use crate::policy::verdict::Baseline;

/// The tests of one side, as they were printed and as the runner's own result file has them.
#[derive(Debug)]
pub struct Side {
    printed: Baseline,
    filed: Option<Baseline>,
}

/// The base's tests by what became of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BaseTests {
    /// How many pass on both sides.
    pub pass_to_pass: u64,
    /// Those that ran at the base and are skipped now.
    pub skipped: Vec<String>,
    /// Those that passed at the base and are not there any more.
    pub gone: Vec<String>,
    /// How many more are skipped than at the base, where their names are not known.
    pub more_skipped: u64,
    /// Whether tests that pass have names on both sides.
    pub are_named: bool,
}

impl Side {
    /// A run of the tests.
    #[must_use]
    pub fn of(printed: &TestReport, filed: Option<&TestReport>) -> Self {
        let measured = |report: &TestReport| {
            let mut measured = Baseline::from_report(report, Vec::new(), true);
            let skipped = report.tests.iter().filter(|test| test.status == TestStatus::Skipped);
            measured.skipped.extend(skipped.map(|test| test.name.clone()));
            measured
        };
        Self { printed: measured(printed), filed: filed.map(measured) }
    }

    /// The start of a run that was measured already.
    #[must_use]
    pub fn measured(baseline: &Baseline) -> Self {
        Self { printed: baseline.clone(), filed: baseline.filed.as_deref().cloned() }
    }
}

/// What became of the base's tests at the head. Names in the runner's own file are taken where those that pass are not printed.
#[must_use]
pub fn base_tests(base: &Side, head: &Side) -> BaseTests {
    let is_named = |base: &Baseline, head: &Baseline| {
        (!base.passing.is_empty() || passes_none(base) && !head.passing.is_empty()) && !names_none(head)
    };
    if is_named(&base.printed, &head.printed) {
        return compared(&base.printed, &head.printed);
    }
    if let (Some(base), Some(head)) = (&base.filed, &head.filed)
        && is_named(base, head)
    {
        return compared(base, head);
    }
    let more = skips(&head.printed).zip(skips(&base.printed)).map_or(0, |(now, before)| now.saturating_sub(before));
    BaseTests { more_skipped: more, ..BaseTests::default() }
}

/// Whether every test that ran failed: then there is none that passes to be named.
fn passes_none(run: &Baseline) -> bool {
    run.passing.is_empty() && !run.failing.is_empty() && run.passed.is_none_or(|passed| passed == 0)
}

/// Whether tests pass, and none of them has a name.
fn names_none(run: &Baseline) -> bool {
    run.passing.is_empty() && run.passed.is_some_and(|passed| passed > 0)
}

fn compared(base: &Baseline, head: &Baseline) -> BaseTests {
    let mut found = BaseTests { are_named: true, ..BaseTests::default() };
    let failed: BTreeSet<&String> = base.failing.iter().collect();
    for (name, &before) in &base.passing {
        let now = head.passing.get(name).copied().unwrap_or_default();
        found.pass_to_pass += u64::from(before.min(now));
        let missing = before.saturating_sub(now);
        if missing == 0 {
            continue;
        }
        // Tests of several files or classes share a name where a runner gives no more of it.
        let named = if before == 1 { name.clone() } else { format!("{name} ({missing} of {before})") };
        if head.skipped.contains(name) {
            found.skipped.push(named);
        } else if !head.failing.contains(name) {
            // One that fails at the head is still there, and is told as a failure.
            found.gone.push(named);
        }
    }
    found.skipped.extend(failed.into_iter().filter(|name| head.skipped.contains(*name)).cloned());
    found
}

/// How many tests were skipped: the rest of the runner's own counts.
fn skips(run: &Baseline) -> Option<u64> {
    let ran = run.passed? + u64::try_from(run.failing.len() + run.flaky.len()).unwrap_or(u64::MAX);
    run.total.map(|total| total.saturating_sub(ran))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_run;

    fn unittest(last: &str) -> Side {
        let log = format!(
            "----------------------------------------------------------------------\nRan 3 tests in 0.001s\n\n{last}\n"
        );
        let reading = test_run::read(&mut log.as_bytes(), None, Some("unittest")).expect("a log");
        Side::of(&reading.report, None)
    }

    #[test]
    fn a_base_in_which_every_test_fails_has_no_test_that_could_be_gone() {
        let side = |log: &str| {
            let reading = test_run::read(&mut log.as_bytes(), None, Some("unittest")).expect("a log");
            Side::of(&reading.report, None)
        };
        let end = "----------------------------------------------------------------------\nRan 1 test in 0.001s\n\n";
        let base = side(&format!(
            "test_a (t.T.test_a) ... FAIL\n\n======================================================================\nFAIL: test_a (t.T.test_a)\n\
             ----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"t.py\", line 3, in test_a\n\
             AssertionError: 1 != 2\n\n{end}FAILED (failures=1)\n"
        ));
        let found = base_tests(&base, &side(&format!("test_a (t.T.test_a) ... ok\n\n{end}OK\n")));
        assert!(found.are_named && found.gone.is_empty());
        // A runner that names none may have had others.
        assert!(!base_tests(&base, &unittest("OK")).are_named);
    }

    #[test]
    fn tests_that_share_a_name_are_counted_one_by_one() {
        let side = |files: &[&str]| {
            let cases: String =
                files.iter().map(|file| format!("<testcase classname=\"{file}\" name=\"test_a\"/>")).collect();
            let count = files.len();
            let log = format!(
                "<testsuites><testsuite name=\"pytest\" errors=\"0\" failures=\"0\" skipped=\"0\" tests=\"{count}\">{cases}</testsuite></testsuites>"
            );
            Side::of(&test_run::read(&mut log.as_bytes(), None, Some("pytest")).expect("a log").report, None)
        };
        let found = base_tests(&side(&["one", "two", "three"]), &side(&["one"]));
        assert_eq!((found.pass_to_pass, found.gone), (1, vec!["test_a (2 of 3)".to_owned()]));
    }

    #[test]
    fn a_skip_is_counted_where_nothing_is_named() {
        let found = base_tests(&unittest("OK"), &unittest("OK (skipped=1)"));
        assert_eq!((found.more_skipped, found.are_named), (1, false));
        assert_eq!(base_tests(&unittest("OK (skipped=1)"), &unittest("OK (skipped=1)")).more_skipped, 0);
    }
}
