//! The framework's own counts, where it names no tests.

use std::collections::BTreeSet;

use crate::domain::test_report::{TestReport, TestStatus};

/// How many tests passed, of those that had no failing part. Where more results are counted than tests ran, parts are counted beside
/// their tests (pytest's subtests of unittest), so that a test that passed and one of whose parts failed is among the passed ones.
pub(super) fn passed_without_failed_parts(report: &TestReport) -> Option<u64> {
    let passed = report.passed_of_total()?;
    let Some(total) = report.total else { return Some(passed) };
    let failed = report.failed.unwrap_or(0);
    let skipped = report.skipped.unwrap_or(0);
    if passed.saturating_add(failed).saturating_add(skipped) <= total {
        return Some(passed);
    }
    let names: BTreeSet<&str> = names_with(report, TestStatus::Failed).collect();
    let failed_tests = u64::try_from(names.len()).unwrap_or(u64::MAX);
    Some(passed.min(total.saturating_sub(failed_tests).saturating_sub(skipped)))
}

/// How many more tests are skipped than at the start, by its counts of all tests, of those that passed and of those that did not.
pub(super) fn more_skipped((total, passed, failed): (Option<u64>, Option<u64>, usize), report: &TestReport) -> u64 {
    let Some((total, passed)) = total.zip(passed) else { return 0 };
    let before = total.saturating_sub(passed).saturating_sub(u64::try_from(failed).unwrap_or(u64::MAX));
    report.skipped.unwrap_or(0).saturating_sub(before)
}

/// The names of tests with a result.
pub(super) fn names_with(report: &TestReport, status: TestStatus) -> impl Iterator<Item = &str> {
    report.tests.iter().filter(move |test| test.status == status).map(|test| test.name.as_str())
}
