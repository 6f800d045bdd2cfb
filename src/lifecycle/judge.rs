//! The judging run: the original tests over the model's change.

mod belongings;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::engine::{Engine, LifecycleError};
use super::first_look::{self, Look};
use super::state::Candidate;
use crate::domain::event::Event;
use crate::domain::foreign::Foreign;
use crate::domain::test_report::{RunKind, TestReport, TestStatus};
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::policy::guard::Guard;
use crate::policy::tamper::{self, Change, region};
use crate::policy::verdict::{self, Baseline, Judgement};
use crate::test_run::{self, TestRun};
use crate::workspace::is_test_path;

/// What a model is shown of a red run, in characters at most.
const FAILURES_CHARS: usize = 4_000;
/// How many places the failures may name.
const MAX_NAMED: usize = 12;

/// Whether a judging run is one that people are told of, or a try of the minimiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// Told.
    Aloud,
    /// Not told.
    Quietly,
}

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

/// Puts test files, test configuration and test regions back to the start, runs the tests and judges them.
///
/// The tests that failed at the start may go first ([`first_look`]); the whole suite runs before any green. Failures of tests that did not fail at the start are looked at once more before they count. A green that a rule objects to
/// ([`tamper`]) is none.
pub(super) async fn run(engine: &mut Engine<'_>, tree: TreeId, telling: Telling) -> Result<Judged, LifecycleError> {
    let settled = settle(engine, tree).await?;
    let mut fresh = freshen(engine, &settled.tree).await?;
    let baseline = measure(engine);
    let (run, mut judgement) = match first_look::still_red(engine, &baseline).await? {
        Look::Red(red) => *red,
        Look::NotTaken => whole_suite(engine, &baseline, &settled.tree, &mut fresh).await?,
        Look::Undecided => {
            fresh.add(freshen(engine, &settled.tree).await?);
            whole_suite(engine, &baseline, &settled.tree, &mut fresh).await?
        }
    };
    let watches = engine.world.guards.has(Guard::Rewriting);
    let forged = if watches { restore_tests(engine, &settled.tree).await? } else { Vec::new() };
    let forged = (!forged.is_empty())
        .then(|| format!("the code rewrote test files while they ran (put back): {}", forged.join(", ")));
    let rewritten = fresh.rewritten;
    if let (Verdict::Green, Some(reason)) = (&judgement.verdict, forged.or(fresh.objection).or(settled.objection)) {
        judgement.verdict = Verdict::Tampered { reason };
    }
    if telling == Telling::Aloud {
        tell(engine, &rewritten, &settled.put_back, &judgement.verdict);
        engine.journal.emit(&Event::TestsFinished {
            exit: run.exit,
            kind: run.report.kind,
            verdict: explained(&judgement.verdict, &run.report),
            passed: passed(&run.report),
            failed: failed(&run.report),
            duration_ms: run.duration_ms,
        });
    }
    let described = with_reason(&judgement.verdict, describe(&run, engine.world.workspace.root()));
    let described = settled.put_back.iter().rev().fold(described, |text, note| format!("{note}\n{text}"));
    let mut candidate = candidate(settled.tree, &run, &described);
    candidate.fixed.clone_from(&judgement.fixed);
    // Where no test ran at the start, a failing one is no loss.
    let start = engine.state.baseline.as_ref();
    let measured = start.is_none_or(|start| !(start.failing.is_empty() && start.passing.is_empty()));
    let unsound = matches!(judgement.verdict, Verdict::Tampered { .. } | Verdict::Broken { .. });
    candidate.lost = unsound || (judgement.lost && measured);
    Ok(Judged { run, judgement, candidate })
}

/// Runs the whole suite, once more when only tests fail that did not fail at the start.
async fn whole_suite(
    engine: &Engine<'_>,
    baseline: &Baseline,
    tree: &TreeId,
    fresh: &mut Fresh,
) -> Result<(TestRun, Judgement), LifecycleError> {
    let run = test_run::run(&engine.world.tests, None, &engine.world.stop).await?;
    let judgement = judged(baseline, &run);
    if only_new_failures(&judgement, &baseline.failing, &run) {
        fresh.add(freshen(engine, tree).await?);
        let again = test_run::run(&engine.world.tests, None, &engine.world.stop).await?;
        if again.stopped.is_none() {
            let judgement = judged(baseline, &again);
            return Ok((again, judgement));
        }
    }
    Ok((run, judgement))
}

/// By what was printed, and by the runner's result file where the start had one.
fn judged(baseline: &Baseline, run: &TestRun) -> Judgement {
    let judgement = verdict::judge(baseline, run.exit, &run.report);
    verdict::confirm(judgement, baseline, run.exit, run.filed.report())
}

/// A red verdict without a failing test says what was wrong instead: the first error of the compiler, say.
pub(super) fn explained(verdict: &Verdict, report: &TestReport) -> Verdict {
    let unexplained = *verdict == Verdict::Red { reason: None } && report.failing().next().is_none();
    let problem = report.problems.first().filter(|_| unexplained);
    let headline = problem.and_then(|problem| problem.message.lines().find(|line| !line.trim().is_empty()));
    headline.map_or_else(|| verdict.clone(), |line| Verdict::Red { reason: Some(line.trim().to_owned()) })
}

/// The start's measure; nothing to compare with when that guard is off.
fn measure(engine: &Engine<'_>) -> Baseline {
    let baseline = engine.state.baseline.clone().unwrap_or_default();
    if engine.world.guards.has(Guard::Baseline) {
        return baseline;
    }
    Baseline { unreadable: baseline.unreadable, explicit_command: baseline.explicit_command, ..Baseline::default() }
}

/// What reviewers should know: what was put back, and why a green was refused.
fn tell(engine: &mut Engine<'_>, rewritten: &[String], put_back: &[String], verdict: &Verdict) {
    let mut messages: Vec<String> = put_back.to_vec();
    if !rewritten.is_empty() {
        messages.push(format!("code under test had rewritten test files, put back: {}", rewritten.join(", ")));
    }
    if let Verdict::Tampered { reason } = verdict {
        let (tier, iteration) = (engine.state.position.tier_index + 1, engine.state.iteration());
        messages.push(format!("the green of tier {tier}, iteration {iteration} was refused as tampered: {reason}"));
    }
    for message in messages {
        engine.journal.emit(&Event::Warning { message });
    }
}

/// A change as it is judged.
#[derive(Debug)]
struct Settled {
    /// The tree, with the start's test regions.
    tree: TreeId,
    /// What was put back, in words for the model and for reviewers.
    put_back: Vec<String>,
    /// Why it cannot be green.
    objection: Option<String>,
}

/// Puts back what of the change lies in tests inside source files, and asks the rules about the rest.
async fn settle(engine: &Engine<'_>, tree: TreeId) -> Result<Settled, LifecycleError> {
    let Some(start) = &engine.state.start else {
        return Ok(Settled { tree, put_back: Vec::new(), objection: None });
    };
    let workspace = &engine.world.workspace;
    let mut settled = Settled { tree, put_back: Vec::new(), objection: None };
    let mut changes = workspace.changes(start, &settled.tree).await?;
    if engine.world.guards.has(Guard::TestRegions) {
        // Files that are tests by their name are another guard's: they are put back whole.
        let is_source = |change: &&Change| !change.may_edit_tests && !is_test_path(Path::new(&change.path));
        for change in changes.iter().filter(is_source) {
            put_back_regions(engine, start, change, &mut settled).await?;
        }
        if !settled.put_back.is_empty() {
            settled.tree = workspace.snapshot_paths(&settled.tree, &engine.state.touched).await?;
            changes = workspace.changes(start, &settled.tree).await?;
        }
    }
    let objection = || {
        tamper::inspect(&changes, &engine.world.guards, &engine.world.import_roots)
            .or_else(|| taken_secret(engine, &changes))
    };
    settled.objection = settled.objection.or_else(objection);
    if settled.objection.is_none() && engine.world.guards.has(Guard::TestPaths) {
        let changed: Vec<Change> = changes.into_iter().filter(|change| !change.may_edit_tests).collect();
        let linked = workspace.test_data_by_link(start, &changed)?;
        settled.objection =
            linked.map(|(data, test)| format!("the change alters {data}, which the test data {test} is a link to"));
    }
    Ok(settled)
}

/// A secret of this job that the change would carry out of it, by a file's text or name.
fn taken_secret(engine: &Engine<'_>, changes: &[Change]) -> Option<String> {
    let redactor = &engine.world.redactor;
    let knows = |text: &Option<String>| text.as_deref().is_some_and(|text| redactor.knows(text));
    let takes = |change: &&Change| {
        change.after.is_some()
            && (knows(&change.after) && !knows(&change.before)
                || change.before.is_none() && redactor.knows(&change.path))
    };
    let change = changes.iter().filter(|_| engine.world.guards.has(Guard::TakenSecrets)).find(takes)?;
    Some(format!("the change holds a secret of this job, in {}", redactor.redact(&change.path)))
}

async fn put_back_regions(
    engine: &Engine<'_>,
    start: &TreeId,
    change: &Change,
    settled: &mut Settled,
) -> Result<(), LifecycleError> {
    let workspace = &engine.world.workspace;
    let path = &change.path;
    if belongings::is_of_tests(engine, start, path)? {
        workspace.restore_paths(start, &[PathBuf::from(path)]).await?;
        settled.put_back.push(format!("{path} holds tests only: its change was put back before judging"));
        return Ok(());
    }
    let is_document = region::is_document(path);
    if is_document && !belongings::is_run(engine, start, change)? {
        return Ok(());
    }
    let examples = belongings::examples_in(engine, start, change)?;
    let holds_tests = |text: &str| region::has_regions(path, text) || is_document;
    let lost = |region: &str| format!("the change removes tests inside {path} that cannot be put back: {region}");
    match (&change.before, &change.after) {
        (Some(before), None) if holds_tests(before) => settled.objection = Some(lost("the whole file")),
        (before, Some(after)) => match region::restore(path, before.as_deref().unwrap_or_default(), after, examples) {
            region::Restored::Same => {}
            region::Restored::Lost { region } => settled.objection = Some(lost(&region)),
            region::Restored::Changed { text, regions } => {
                let regions = regions.join(", ");
                match workspace.replace_text(path, &text) {
                    Ok(()) => settled.put_back.push(format!(
                        "tests inside {path} were changed and put back before judging: {regions}. Change the code, not its tests"
                    )),
                    Err(_) => settled.objection = Some(lost(&regions)),
                }
            }
        },
        (Some(_) | None, None) => {}
    }
    Ok(())
}

/// All of F0 passes and only other tests fail: flaky, perhaps.
fn only_new_failures(judgement: &Judgement, failing: &[String], run: &TestRun) -> bool {
    let red = matches!(judgement.verdict, Verdict::Red { .. });
    red && run.stopped.is_none() && judgement.fixed.len() == failing.len() && !judgement.new_failures.is_empty()
}

/// What stood in the way of a run that judges.
#[derive(Debug, Default)]
struct Fresh {
    /// Files that judge, which were put back.
    rewritten: Vec<String>,
    /// What cannot be put back.
    objection: Option<String>,
}

impl Fresh {
    fn add(&mut self, more: Self) {
        self.rewritten.extend(more.rewritten);
        self.objection = self.objection.take().or(more.objection);
    }
}

/// Makes the world as if nothing but the baseline had ever run: the next run judges the tree, not what earlier runs left behind.
async fn freshen(engine: &Engine<'_>, tree: &TreeId) -> Result<Fresh, LifecycleError> {
    let mut fresh = Fresh::default();
    if engine.world.guards.has(Guard::Leftovers) {
        fresh.objection = engine.world.workspace.remove_leftovers(tree)?.into_iter().next();
        if let Err(error) = engine.world.tests.confinement.forget() {
            fresh.objection =
                Some(format!("what an earlier run left in the private folder cannot be removed: {error}"));
        }
    }
    fresh.rewritten = restore_tests(engine, tree).await?;
    Ok(fresh)
}

/// Files that judge (tests, their configuration) and differ from the start are put back, and all others made those of the tree;
/// returns the former.
async fn restore_tests(engine: &Engine<'_>, tree: &TreeId) -> Result<Vec<String>, LifecycleError> {
    let Some(start) = &engine.state.start else { return Ok(Vec::new()) };
    let workspace = &engine.world.workspace;
    if engine.world.guards.has(Guard::Leftovers) {
        return Ok(workspace.put_right(start, tree, &engine.state.by_products).await?);
    }
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
pub(super) fn candidate(tree: TreeId, run: &TestRun, failures: &str) -> Candidate {
    Candidate {
        tree,
        fixed: BTreeSet::new(),
        lost: false,
        ran: run.report.kind == RunKind::Tests,
        failing: run.report.failing().map(|test| test.name.clone()).collect(),
        failures: Foreign::new(failures),
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

/// Tests that passed: by the framework's counts, else by name.
pub(super) fn passed(report: &TestReport) -> u64 {
    let named = report.tests.iter().filter(|test| test.status == TestStatus::Passed).count();
    report.passed_of_total().unwrap_or_else(|| u64::try_from(named).unwrap_or(u64::MAX))
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
