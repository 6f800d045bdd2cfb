//! The judging run: the original tests over the model's change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::engine::{Engine, LifecycleError};
use super::first_look;
use super::state::Candidate;
use crate::domain::event::Event;
use crate::domain::test_report::{RunKind, TestReport, TestStatus};
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::policy::tamper;
use crate::policy::verdict::{self, Baseline, Judgement};
use crate::test_run::{self, TestRun};
use crate::workspace::Diff;

/// What a model is shown of a red run, in characters at most.
const FAILURES_CHARS: usize = 4_000;
/// How many places the failures may name.
const MAX_NAMED: usize = 12;

/// A judged run.
#[derive(Debug)]
pub(super) struct Judged {
    /// The run.
    pub(super) run: TestRun,
    /// The judgement.
    pub(super) judgement: Judgement,
    /// The tree it is about.
    pub(super) candidate: Candidate,
}

/// Puts test files and test configuration back to the start, runs the tests and judges them.
///
/// The tests that failed at the start may go first ([`first_look`]); the whole suite runs before any green. Failures of tests that did not fail at the start are looked at once more before they count, and a change that ends the
/// process with success is not believed.
pub(super) async fn run(engine: &mut Engine<'_>, tree: TreeId, diff: &Diff) -> Result<Judged, LifecycleError> {
    let rewritten = restore_tests(engine).await?;
    let baseline = engine.state.baseline.clone().unwrap_or_default();
    let (run, mut judgement) = match first_look::still_red(engine, &baseline).await? {
        Some(red) => red,
        None => whole_suite(engine, &baseline).await?,
    };
    let forged = restore_tests(engine).await?;
    let reason = if forged.is_empty() {
        tamper::forced_success(&diff.text).or_else(|| tamper::changed_test_script(&diff.text))
    } else {
        Some(format!("the code rewrote test files while they ran (put back): {}", forged.join(", ")))
    };
    if let (Verdict::Green, Some(reason)) = (&judgement.verdict, reason) {
        judgement.verdict = Verdict::Tampered { reason };
    }
    if !rewritten.is_empty() {
        let names = rewritten.join(", ");
        engine
            .journal
            .emit(&Event::Warning { message: format!("code under test had rewritten test files, put back: {names}") });
    }
    engine.journal.emit(&Event::TestsFinished {
        exit: run.exit,
        kind: run.report.kind,
        verdict: judgement.verdict.clone(),
        passed: passed(&run.report),
        failed: failed(&run.report),
        duration_ms: run.duration_ms,
    });
    let described = with_reason(&judgement.verdict, describe(&run, engine.world.workspace.root()));
    let mut candidate = candidate(tree, &run, described);
    candidate.fixed.clone_from(&judgement.fixed);
    candidate.lost = judgement.lost || matches!(judgement.verdict, Verdict::Tampered { .. } | Verdict::Broken { .. });
    Ok(Judged { run, judgement, candidate })
}

/// Runs the whole suite, once more when only tests fail that did not fail at the start.
async fn whole_suite(engine: &Engine<'_>, baseline: &Baseline) -> Result<(TestRun, Judgement), LifecycleError> {
    let run = test_run::run(&engine.world.tests, None, &engine.world.stop).await?;
    let judgement = verdict::judge(baseline, run.exit, &run.report);
    if only_new_failures(&judgement, &baseline.failing, &run) {
        let again = test_run::run(&engine.world.tests, None, &engine.world.stop).await?;
        if again.stopped.is_none() {
            let judgement = verdict::judge(baseline, again.exit, &again.report);
            return Ok((again, judgement));
        }
    }
    Ok((run, judgement))
}

/// All of F0 passes and only other tests fail: flaky, perhaps.
fn only_new_failures(judgement: &Judgement, failing: &[String], run: &TestRun) -> bool {
    let red = matches!(judgement.verdict, Verdict::Red { .. });
    red && run.stopped.is_none() && judgement.fixed.len() == failing.len() && !judgement.new_failures.is_empty()
}

/// Files that judge (tests, their configuration) and differ from the start are put back; returns which.
async fn restore_tests(engine: &Engine<'_>) -> Result<Vec<String>, LifecycleError> {
    let Some(start) = &engine.state.start else { return Ok(Vec::new()) };
    let workspace = &engine.world.workspace;
    let changed = workspace.changed_since(start).await?;
    let judges = changed.into_iter().filter(|path| workspace.protected(Path::new(path)).is_some());
    let judges: Vec<String> = judges.filter(|path| !engine.state.by_products.contains(path)).collect();
    if !judges.is_empty() {
        let paths: Vec<PathBuf> = judges.iter().map(PathBuf::from).collect();
        workspace.restore_paths(start, &paths).await?;
    }
    Ok(judges)
}

/// The failures of a run as a model is shown them.
pub(super) fn describe(run: &TestRun, root: &Path) -> String {
    test_run::describe(run, root, FAILURES_CHARS)
}

fn with_reason(verdict: &Verdict, described: String) -> String {
    match verdict {
        Verdict::Tampered { reason } => format!("REFUSED, the judging tests were tampered with: {reason}\n{described}"),
        Verdict::Broken { reason } => format!("The tests could not be judged: {reason}\n{described}"),
        Verdict::Red { reason: Some(reason) } => format!("{reason}\n{described}"),
        Verdict::Red { reason: None } | Verdict::Green => described,
    }
}

/// A tree with what its run says; nothing of F0 is counted as fixed yet.
pub(super) fn candidate(tree: TreeId, run: &TestRun, failures: String) -> Candidate {
    Candidate {
        tree,
        fixed: BTreeSet::new(),
        lost: false,
        failing: run.report.failing().map(|test| test.name.clone()).collect(),
        failures,
        named: named_places(&run.report),
    }
}

fn named_places(report: &TestReport) -> Vec<(String, Option<u32>)> {
    let problems = report.problems.iter().filter_map(|problem| Some((problem.file.clone()?, problem.line)));
    let tests = report.failing().filter_map(|test| Some((test.file.clone()?, test.line)));
    let mut places: Vec<(String, Option<u32>)> = Vec::new();
    for place in problems.chain(tests) {
        if !places.contains(&place) && places.len() < MAX_NAMED {
            places.push(place);
        }
    }
    places
}

/// Tests that passed: by the framework's count, else by name.
pub(super) fn passed(report: &TestReport) -> u64 {
    let named = report.tests.iter().filter(|test| test.status == TestStatus::Passed).count();
    report.passed.unwrap_or_else(|| u64::try_from(named).unwrap_or(u64::MAX))
}

fn failed(report: &TestReport) -> u64 {
    let named = u64::try_from(report.failing().count()).unwrap_or(u64::MAX);
    let counted = report.failed.unwrap_or(0) + report.errors.unwrap_or(0);
    named.max(counted)
}

/// What failed and how, to be compared with the iteration before: names and messages.
pub(super) fn signature(report: &TestReport, verdict: &Verdict) -> String {
    let mut parts: Vec<String> = report.failing().map(|test| format!("{} {}", test.name, test.message)).collect();
    parts.sort();
    parts.extend(report.problems.iter().map(|problem| problem.message.clone()));
    if parts.is_empty() || report.kind != RunKind::Tests {
        parts.extend(verdict.reason().map(str::to_owned));
    }
    parts.join("\n")
}
