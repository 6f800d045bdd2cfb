//! Tests of which parts are skipped: a result file calls such a test skipped once nothing of it fails any more, though the rest of it ran.
//! And names that stand for a whole file of tests.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use crate::domain::test_report::{TestReport, TestStatus};

/// The skipped parts of the tests that fail in a result file.
pub(super) fn parts_of_failing(report: &TestReport) -> BTreeMap<String, Vec<String>> {
    let parts = report.failing().filter_map(|test| report.skipped_parts.get_key_value(&test.name));
    parts.map(|(name, parts)| (name.clone(), parts.clone())).collect()
}

/// The report in which a test of F0 passes of which no more is skipped than was `before`, while it failed. What skips more is skipped.
pub(super) fn passed_but_for_parts<'r>(
    before: &BTreeMap<String, Vec<String>>,
    report: &'r TestReport,
) -> Cow<'r, TestReport> {
    let is_meant = |name: &str| match (before.get(name), report.skipped_parts.get(name)) {
        (Some(before), Some(now)) => is_contained(now, before),
        // Without both lists nothing tells how much of the test ran, so it stays skipped.
        (None, _) | (_, None) => false,
    };
    let is_passed = |status: TestStatus, name: &str| status == TestStatus::Skipped && is_meant(name);
    if !report.tests.iter().any(|test| is_passed(test.status, &test.name)) {
        return Cow::Borrowed(report);
    }
    let mut report = report.clone();
    for test in report.tests.iter_mut().filter(|test| is_passed(test.status, &test.name)) {
        test.status = TestStatus::Passed;
        // The counts follow, or the sum would contradict the names.
        report.passed = report.passed.map(|passed| passed.saturating_add(1));
        report.skipped = report.skipped.map(|skipped| skipped.saturating_sub(1));
    }
    Cow::Owned(report)
}

/// Whether each of some reasons is among others, as often at least.
fn is_contained(now: &[String], before: &[String]) -> bool {
    // Reasons are counted rather than looked for: two parts may be skipped for the same one.
    let often = |reason: &String, of: &[String]| of.iter().filter(|other| *other == reason).count();
    now.iter().all(|reason| often(reason, now) <= often(reason, before))
}

/// Whether a test's name is the whole path of a script: the process ended with 0 before any test of the file was told of. No test has passed.
pub(super) fn stands_for_a_file(name: &str) -> bool {
    let path = Path::new(name);
    let is_script =
        path.extension().is_some_and(|kind| ["js", "mjs", "cjs", "ts", "mts", "cts"].iter().any(|one| kind == *one));
    (path.is_absolute() || name.starts_with('/')) && is_script
}

#[cfg(test)]
mod tests {
    use super::super::{Baseline, judge};
    use crate::domain::verdict::{Exit, Verdict};

    /// As pytest 9 writes it: a test whose parts are skipped has a `skipped` for each, beside the failure of another part.
    fn verdict(before: &[&str], now: &[&str]) -> Verdict {
        let read = |failure: &str, parts: &[&str], code: i32| {
            let parts: String = parts
                .iter()
                .map(|why| format!("<skipped type=\"pytest.skip\" message=\"{why}\">x</skipped>"))
                .collect();
            let document = format!(
                "<?xml version=\"1.0\"?><testsuites name=\"pytest tests\"><testsuite name=\"pytest\"><testcase classname=\"t.T\" name=\"a\">\
                 {failure}{parts}</testcase><testcase classname=\"t.T\" name=\"b\"/></testsuite></testsuites>\n"
            );
            let mut parser = testlog::Parser::new(Some("pytest"));
            parser.push(document.as_bytes());
            parser.finish(Some(Exit::Code { code }))
        };
        let start = read("<failure message=\"1 != 2\">E 1 != 2</failure>", before, 1);
        let baseline = Baseline::from_report(&start, Vec::new(), false);
        judge(&baseline, Exit::Code { code: 0 }, &read("", now, 0)).verdict
    }

    #[test]
    fn a_test_passes_whose_parts_were_skipped_while_it_failed() {
        assert_eq!(verdict(&[], &[]), Verdict::Green);
        assert_eq!(verdict(&["no re2", "no re2", "no x"], &["no re2", "no x", "no re2"]), Verdict::Green);
        assert_eq!(verdict(&["no re2", "no re2"], &["no re2"]), Verdict::Green, "one part runs now");
        for (before, now) in
            [(&[][..], &["no re2"][..]), (&["no re2"], &["no re2", "no re2"]), (&["no re2"], &["later"])]
        {
            assert!(matches!(verdict(before, now), Verdict::Tampered { .. }), "{before:?} {now:?}");
        }
    }
}
