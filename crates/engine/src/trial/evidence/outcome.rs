//! The result of one test in a run. Pure.

use super::bodies::Located;
use crate::domain::test_report::{RunKind, TestStatus};
use crate::framework::source::{Source, TestBody};
use crate::test_run::TestRun;

/// The result of one test in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// It, or one of its rows, failed.
    Failed,
    /// It passed, or the run ended well without a word about it.
    Passed,
    /// The run did not end well and says nothing about it.
    Unknown,
}

/// Whether a run did not get as far as running tests: nothing was shown.
pub(super) fn did_not_run(run: &TestRun) -> bool {
    matches!(
        run.report.kind,
        RunKind::CompileError
            | RunKind::CollectionError
            | RunKind::ImportError
            | RunKind::MissingTool
            | RunKind::BadCommand
            | RunKind::NoTests
            | RunKind::Infrastructure
    )
}

/// The result of a test in the run.
pub(super) fn of(run: &TestRun, source: &Source, test: &Located) -> Shown {
    of_body(run, source, &test.body)
}

/// A test as it is called with an added word in its name.
pub(super) fn renamed(source: &Source, body: &TestBody, word: &str) -> TestBody {
    let mut body = body.clone();
    let own = body.names.pop().unwrap_or_default();
    body.names.push(source.name_with(&own, word));
    body
}

/// The result of a test with an added word in its name.
pub(super) fn of_renamed(run: &TestRun, source: &Source, test: &Located, word: &str) -> Shown {
    let body = renamed(source, &test.body, word);
    let shown = of_body(run, source, &body);
    let named = run.report.passing_names().any(|name| source.is_called(&body, name));
    // Where others are named that pass, one that is not named did not run.
    if shown == Shown::Passed && !named && run.report.passing_names().next().is_some() { Shown::Unknown } else { shown }
}

/// Whether a test failed of which this one is a part, so that it may not have begun.
fn around_fails(run: &TestRun, source: &Source, body: &TestBody) -> bool {
    let is_around = |other: &&TestBody| other.names.len() < body.names.len() && body.names.starts_with(&other.names);
    let fails = |other: &TestBody| run.report.failing().any(|test| source.is_called(other, &test.name));
    source.tests().iter().filter(is_around).any(fails)
}

/// Whether a run says anything about one of these tests: where it names tests, one of them is among them.
pub(super) fn tells_of(run: &TestRun, bodies: &[(&Source, TestBody)]) -> bool {
    let mut ran = run.report.tests.iter().filter(|test| test.status != TestStatus::Skipped).peekable();
    if ran.peek().is_none() {
        // A runner that counts none, or all as skipped, and is content, has selected none.
        let skipped = run.report.skipped.or_else(|| u64::try_from(run.report.tests.len()).ok());
        let none_ran = run.report.total.is_some_and(|total| total == 0 || Some(total) == skipped);
        return !(none_ran && run.exit.is_success());
    }
    ran.any(|test| bodies.iter().any(|(source, body)| source.is_called(body, &test.name)))
}

fn of_body(run: &TestRun, source: &Source, body: &TestBody) -> Shown {
    let called = |status: &[TestStatus]| {
        run.report.tests.iter().any(|test| status.contains(&test.status) && source.is_called(body, &test.name))
    };
    if called(&[TestStatus::Failed, TestStatus::Error]) || around_fails(run, source, body) {
        return Shown::Failed;
    }
    if called(&[TestStatus::Passed]) || run.exit.is_success() {
        return Shown::Passed;
    }
    let names_failures = run.report.failing().next().is_some();
    // A run that ends badly without naming a failing test is red for all that was asked of it.
    if names_failures { Shown::Unknown } else { Shown::Failed }
}
