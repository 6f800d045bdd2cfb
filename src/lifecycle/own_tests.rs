//! The base's own tests over a change's product: what passes only with the tests, helpers, data and configuration that the change brings is
//! named, since these judge as the head has them.

use std::collections::BTreeSet;

use super::context::{Context, LifecycleError};
use super::judge;
use super::measured::Measured;
use crate::domain::finding::{Finding, Standing};
use crate::domain::test_report::{RunKind, TestReport, TestStatus};
use crate::domain::units::TreeId;
use crate::policy::tamper::Change;
use crate::test_run::{self, TestRun};
use crate::trial;

/// Names the tests of the base that fail over the head's product and pass at the head.
///
/// # Errors
/// When a tree or the tests cannot be used.
pub(super) async fn ask(
    context: &Context<'_>,
    measured: &Measured,
    (base, change): (&TreeId, &TreeId),
    head: &TestRun,
    finding: &mut Finding,
) -> Result<(), LifecycleError> {
    if !matches!(finding.standing, Standing::Proven | Standing::NothingToProve) {
        return Ok(());
    }
    let none = BTreeSet::new();
    let bench = judge::bench_before(context, &context.world.tests, &none);
    let Some(tree) = trial::over_head(&bench, base, change).await? else { return Ok(()) };
    let mut failing: Option<BTreeSet<String>> = None;
    // Once more where some fail: a test that fails now and then says nothing of the change.
    for _look in 0..2 {
        context.world.workspace.restore(&tree).await?;
        let run = test_run::run(&measured.setup.tests, None, &context.world.stop).await?;
        if run.stopped.is_some() || run.report.kind != RunKind::Tests {
            finding.notes.push("the base's own tests could not be run over the head's product".to_owned());
            return Ok(());
        }
        let found: BTreeSet<String> = run.report.failing().map(|test| test.name.clone()).collect();
        let both = failing.map_or_else(|| found.clone(), |before| before.intersection(&found).cloned().collect());
        if both.is_empty() {
            return Ok(());
        }
        failing = Some(both);
    }
    let mut failing = failing.unwrap_or_default();
    // One that failed before and is taken away is nowhere in the runs of the head's tests.
    let changes = context.world.workspace.changes(base, change).await?;
    let gone: BTreeSet<String> = failing.extract_if(.., |name| is_taken_away(name, &changes)).collect();
    finding.only_with_changed_tests = passing_at_head(failing, &head.report, finding);
    finding.removed.extend(gone);
    finding.removed.sort();
    finding.removed.dedup();
    Ok(())
}

/// Whether a change takes the words by which a test is called out of a file, and puts them nowhere else.
fn is_taken_away(name: &str, changes: &[Change]) -> bool {
    let own = own_name(name);
    let holds = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(own));
    changes.iter().any(|change| holds(&change.before)) && !changes.iter().any(|change| holds(&change.after))
}

/// A test's name without its file, its classes or suites, and its row.
fn own_name(name: &str) -> &str {
    let name = name.split(['[', '(']).next().unwrap_or(name).trim();
    let last = name.rsplit(" > ").next().unwrap_or(name);
    let last = last.rsplit("::").next().unwrap_or(last);
    // A sentence may hold a dot, an identifier stands behind one.
    if last.contains(' ') { last } else { last.rsplit('.').next().unwrap_or(last) }
}

/// Those of some tests that pass at the head: by their names, or where the runner names none that pass, as those that do not fail there.
fn passing_at_head(mut tests: BTreeSet<String>, head: &TestReport, finding: &Finding) -> Vec<String> {
    let passing = head.tests.iter().filter(|test| test.status == TestStatus::Passed);
    let mut there: BTreeSet<&str> = passing.map(|test| test.name.as_str()).collect();
    if !there.is_empty() {
        there.extend(finding.fail_to_pass.iter().map(String::as_str));
        tests.retain(|name| there.contains(name.as_str()));
    }
    let failing = head.failing().map(|test| test.name.as_str());
    let not_there: BTreeSet<&str> =
        finding.removed.iter().chain(&finding.skipped).map(String::as_str).chain(failing).collect();
    // A runner may name a skipped test without its file.
    let is_not_there = |name: &str| not_there.iter().any(|one| name == *one || name.ends_with(&format!("::{one}")));
    tests.retain(|name| !is_not_there(name));
    // What a test's own body expects otherwise is told of it already.
    tests.retain(|name| !finding.weakened.iter().any(|one| name.contains(one.test.as_str())));
    tests.into_iter().collect()
}
