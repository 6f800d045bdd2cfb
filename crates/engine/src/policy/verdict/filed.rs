//! The second witness: what the runner wrote into a file whose name nobody could know, beside what it printed.
//!
//! Each witness is measured by itself, so that their names need not agree. At the start the file is only believed if it says of the run
//! what the print says (a runner may be called in ways that no file can follow). From then on no green stands without it.

use std::collections::BTreeSet;

use super::{Baseline, Judgement, judge, judge_baseline};
use crate::domain::test_report::{RunKind, TestReport, TestStatus};
use crate::domain::verdict::{Exit, Verdict};

/// Takes the start's measure from a result file. `None` if it does not bear out what was `printed`, and its `verdict`.
///
/// Where a test file could not be loaded, its tests have no names yet, and the result file may call it what it likes: what failed
/// there is proven by more tests that pass.
#[must_use]
pub fn learn(
    (verdict, printed): (&Verdict, &TestReport),
    exit: Exit,
    filed: &TestReport,
    mut flaky: Vec<String>,
) -> Option<Box<Baseline>> {
    // Without the trust that a person's command gets: the file has to be readable by itself.
    let says = judge_baseline(exit, filed, false);
    let agrees =
        matches!((verdict, says), (Verdict::Green, Verdict::Green) | (Verdict::Red { .. }, Verdict::Red { .. }));
    if !agrees || filed.kind == RunKind::Unreadable {
        return None;
    }
    let unloaded = printed.kind != RunKind::Tests || printed.failing().any(|test| test.status == TestStatus::Error);
    flaky.extend(excused(printed, filed));
    let mut measure = Baseline::from_report(filed, flaky, false);
    if unloaded {
        // The file names a module where the print names its tests, or the other way round, so the names prove
        // nothing.
        measure.errored.clone_from(&measure.failing);
    }
    Some(Box::new(measure))
}

/// Failures in the file of tests that the print excuses: of one that is still to be done (`todo`) node's file has the failure alone.
fn excused(printed: &TestReport, filed: &TestReport) -> Vec<String> {
    let failing = filed.failing().map(|test| test.name.as_str()).collect();
    let skipped = printed.tests.iter().filter(|test| test.status == TestStatus::Skipped);
    skipped.filter_map(|test| name_in_file(&test.name, &failing)).map(str::to_owned).collect()
}

/// A green that the result file does not bear out, where there was one at the start, is none.
#[must_use]
pub fn confirm(mut judgement: Judgement, baseline: &Baseline, exit: Exit, filed: Option<&TestReport>) -> Judgement {
    let (Verdict::Green, Some(before)) = (&judgement.verdict, &baseline.filed) else { return judgement };
    let reason = match filed.map(|report| judge(before, exit, report).verdict) {
        Some(Verdict::Green) => return judgement,
        // A process that ends itself early prints what it likes, and never reaches the place where its runner writes
        // the file.
        None => "the runner printed success but wrote no result file, as it did at the start".to_owned(),
        Some(Verdict::Red { reason }) => disagrees(reason.as_deref().unwrap_or("tests failed")),
        Some(Verdict::Broken { reason } | Verdict::Tampered { reason }) => disagrees(&reason),
    };
    judgement.verdict = Verdict::Tampered { reason };
    judgement
}

/// The name that a printed test has in the result file, among those of `filed`: `test_a (tests.test_cart.CartTest.test_a)` and
/// `tests/test_cart.py::CartTest::test_a` are `tests.test_cart.CartTest.test_a` there, `carts > adds up` is `adds up`. `None` where none has
/// the test's own name, or several are as near.
#[must_use]
pub fn name_in_file<'f>(printed: &str, filed: &BTreeSet<&'f str>) -> Option<&'f str> {
    if let Some(same) = filed.get(printed) {
        return Some(same);
    }
    let own = words(own_name(printed)).count();
    let alike =
        |name: &&'f str| words(printed).rev().zip(words(name).rev()).take_while(|(one, other)| one == other).count();
    let most = filed.iter().map(alike).max().filter(|most| own > 0 && *most >= own)?;
    let mut nearest = filed.iter().filter(|name| alike(name) == most);
    nearest.next().copied().filter(|_| nearest.next().is_none())
}

/// The last part of a test's name: what its suite, class or file calls it.
fn own_name(printed: &str) -> &str {
    let whole = printed.strip_suffix(')').and_then(|open| open.rsplit_once(" (")).map_or(printed, |(_, path)| path);
    // A sentence may end with a full stop, or hold a number.
    let joints: &[&str] = if whole.contains(' ') { &[" > ", "::"] } else { &[" > ", "::", "."] };
    joints.iter().fold(whole, |name, joint| name.rsplit(joint).next().unwrap_or(name))
}

fn words(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

fn disagrees(reason: &str) -> String {
    format!("the runner's result file contradicts its output: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_report::{RunStatus, TestCase};

    const OK: Exit = Exit::Code { code: 0 };
    const BAD: Exit = Exit::Code { code: 1 };

    fn report(tests: &[(&str, TestStatus)]) -> TestReport {
        let case = |(name, status): &(&str, TestStatus)| TestCase {
            name: (*name).to_owned(),
            status: *status,
            message: String::new(),
            file: None,
            line: None,
        };
        let red = tests.iter().any(|(_, status)| matches!(status, TestStatus::Failed | TestStatus::Error));
        TestReport {
            status: if red { RunStatus::Failed } else { RunStatus::Passed },
            kind: RunKind::Tests,
            tests: tests.iter().map(case).collect(),
            passed: u64::try_from(tests.iter().filter(|(_, status)| *status == TestStatus::Passed).count()).ok(),
            ..TestReport::unreadable("pytest")
        }
    }

    /// The print's names are others than the file's.
    fn baseline() -> Baseline {
        let start = report(&[("a", TestStatus::Failed), ("b", TestStatus::Passed)]);
        let filed = report(&[("m.a", TestStatus::Failed), ("m.b", TestStatus::Passed)]);
        let red = judge_baseline(BAD, &start, false);
        let filed = learn((&red, &start), BAD, &filed, Vec::new());
        assert!(filed.is_some());
        Baseline { filed, ..Baseline::from_report(&start, Vec::new(), false) }
    }

    fn green(filed: Option<&TestReport>) -> Verdict {
        let printed = report(&[("a", TestStatus::Passed), ("b", TestStatus::Passed)]);
        let judgement = judge(&baseline(), OK, &printed);
        assert_eq!(judgement.verdict, Verdict::Green);
        confirm(judgement, &baseline(), OK, filed).verdict
    }

    #[test]
    fn green_stands_only_with_a_file_that_says_so() {
        use TestStatus::{Failed, Passed, Skipped};
        assert_eq!(green(Some(&report(&[("m.a", Passed), ("m.b", Passed)]))), Verdict::Green);
        let refused = [
            None,
            Some(TestReport::unreadable("pytest")),
            Some(report(&[("m.a", Failed), ("m.b", Passed)])),
            Some(report(&[("m.b", Passed)])),
            Some(report(&[("m.a", Passed)])),
            Some(report(&[("m.a", Skipped), ("m.b", Passed)])),
        ];
        for filed in &refused {
            assert!(matches!(green(filed.as_ref()), Verdict::Tampered { .. }), "{filed:?}");
        }
    }

    #[test]
    fn a_file_that_never_bore_out_the_print_is_not_asked() {
        let red = Verdict::Red { reason: None };
        let start = report(&[("a", TestStatus::Failed), ("b", TestStatus::Passed)]);
        for filed in [report(&[("m.b", TestStatus::Passed)]), TestReport::unreadable("pytest")] {
            assert_eq!(learn((&red, &start), BAD, &filed, Vec::new()), None);
        }
        let without = Baseline { filed: None, ..baseline() };
        let printed = report(&[("a", TestStatus::Passed), ("b", TestStatus::Passed)]);
        assert_eq!(confirm(judge(&without, OK, &printed), &without, OK, None).verdict, Verdict::Green);
    }

    #[test]
    fn a_failure_that_the_print_excuses_is_one_in_the_file_alone() {
        use TestStatus::{Failed, Passed, Skipped};
        let red = Verdict::Red { reason: None };
        let start = report(&[("m > a", Failed), ("m > b", Passed), ("m > c is to do", Skipped)]);
        let filed = report(&[("a", Failed), ("b", Passed), ("c is to do", Failed)]);
        let filed = learn((&red, &start), BAD, &filed, Vec::new());
        assert!(filed.is_some());
        let baseline = Baseline { filed, ..Baseline::from_report(&start, Vec::new(), false) };
        let printed = report(&[("m > a", Passed), ("m > b", Passed), ("m > c is to do", Skipped)]);
        let verdict = |filed: &TestReport| confirm(judge(&baseline, OK, &printed), &baseline, OK, Some(filed)).verdict;
        assert_eq!(verdict(&report(&[("a", Passed), ("b", Passed), ("c is to do", Failed)])), Verdict::Green);
        let lying = report(&[("a", Failed), ("b", Passed), ("c is to do", Failed)]);
        assert!(matches!(verdict(&lying), Verdict::Tampered { .. }));
    }

    #[test]
    fn a_test_file_that_could_not_be_loaded_may_have_any_name_in_the_result_file() {
        let start = report(&[("price.js", TestStatus::Error)]);
        let filed = report(&[("/somewhere/price.js", TestStatus::Failed)]);
        let filed = learn((&Verdict::Red { reason: None }, &start), BAD, &filed, Vec::new());
        assert!(filed.is_some());
        let baseline = Baseline { filed, ..Baseline::from_report(&start, Vec::new(), false) };
        let now = report(&[("a", TestStatus::Passed), ("b", TestStatus::Passed)]);
        assert_eq!(confirm(judge(&baseline, OK, &now), &baseline, OK, Some(&now)).verdict, Verdict::Green);
        let empty = TestReport { kind: RunKind::NoTests, ..TestReport::unreadable("jest") };
        let verdict = confirm(judge(&baseline, OK, &now), &baseline, OK, Some(&empty)).verdict;
        assert!(matches!(verdict, Verdict::Tampered { .. }));
    }

    #[test]
    fn a_printed_test_is_found_in_the_file_by_its_whole_own_name() {
        let found = |printed: &str, filed: &[&'static str]| name_in_file(printed, &filed.iter().copied().collect());
        let unittest =
            ["t.CartTest.test_total", "t.CartTest.test_total_one", "t.OtherTest.test_total", "t.test_of[a b]"];
        let cases = [
            ("test_total_one (t.CartTest.test_total_one)", Some("t.CartTest.test_total_one")),
            ("test_total (t.CartTest.test_total)", Some("t.CartTest.test_total")),
            ("test_total (t.OtherTest.test_total)", Some("t.OtherTest.test_total")),
            ("tests/t.py::OtherTest::test_total", Some("t.OtherTest.test_total")),
            ("tests/t.py::test_of[a b]", Some("t.test_of[a b]")),
            ("test_one (t.CartTest.test_one)", None),
            ("test_total", None),
        ];
        for (printed, expected) in cases {
            assert_eq!(found(printed, &unittest), expected, "{printed}");
        }
        let node = ["is not done yet", "yet", "adds up.", "1.5 is 2"];
        assert_eq!(found("numbers > is not done yet", &node), Some("is not done yet"));
        assert_eq!(found("numbers > it is never yet", &node), None);
        assert_eq!(found("numbers > adds up.", &node), Some("adds up."));
        assert_eq!(found("numbers > 1.5 is 2", &node), Some("1.5 is 2"));
        assert_eq!(found("+", &["-"]), None);
    }

    #[test]
    fn red_stays_red_whatever_the_file_says() {
        let printed = report(&[("a", TestStatus::Failed), ("b", TestStatus::Passed)]);
        let filed = report(&[("m.a", TestStatus::Passed), ("m.b", TestStatus::Passed)]);
        let judgement = confirm(judge(&baseline(), BAD, &printed), &baseline(), BAD, Some(&filed));
        assert!(matches!(judgement.verdict, Verdict::Red { .. }));
    }
}
