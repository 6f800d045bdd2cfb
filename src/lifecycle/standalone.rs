//! A change that people made, judged: no model, no budget, and the person's own tests count.
//!
//! Three trees: the base, the head, and the head's tests on the base's product. The change has to answer for the tests that fail there
//! and pass at the head. The court then asks of that green what it asks of any other.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::climb::Climb;
use super::context::{Context, LifecycleError, World};
use super::judge::{self, Author};
use super::measured::{Measured, Measuring, TestSetup};
use super::recorder::Recorder;
use super::stage::{Ending, Reached, Stage};
use super::state::RunState;
use super::{baseline, leftovers, own_tests};
use crate::audit::Journal;
use crate::domain::event::Event;
use crate::domain::finding::{Finding, Standing};
use crate::domain::outcome::Outcome;
use crate::domain::proof::Evidence;
use crate::domain::stop::{StopCause, signal_name};
use crate::domain::test_report::{RunKind, TestReport};
use crate::domain::units::TreeId;
use crate::domain::verdict::{Exit, Verdict, over_memory};
use crate::policy::guard::Guard;
use crate::policy::verdict::{Baseline, name_in_file};
use crate::test_run::{self, TestRun};
use crate::trial::{self, Judged, Side};

/// The most tests without a result that are named.
const MOST_UNREACHED: usize = 3;

/// The two ends of a change, as recorded states.
#[derive(Debug, Clone)]
pub struct Ends {
    /// Before it, with its name for people.
    pub base: (TreeId, String),
    /// After it.
    pub head: (TreeId, String),
}

/// Judges a change. The files on disk are those of some tree of the court afterwards: the caller puts its own back.
///
/// # Errors
/// When a tree, the tests or the log cannot be used.
pub async fn judge(
    world: World<'_>,
    journal: &mut Journal,
    state: &RunState,
    ends: &Ends,
) -> Result<Finding, LifecycleError> {
    let (base, head) = (&ends.base.0, &ends.head.0);
    // The person's own tests count, also those inside of sources.
    let world = World { guards: world.guards.without(Guard::TestRegions), ..world };
    let context = Context::new(world, state);
    let mut recorder = Recorder::new(journal, state);
    // Made anew for each look, since the baseline takes it with it.
    let measure = || Measuring::of(&TestSetup::of(&context, state), state);
    let measuring = measure();
    let none = BTreeSet::new();
    let bench = judge::bench_before(&context, &context.world.tests, &none);
    let mut over = trial::over_base(&bench, base, head, &none).await?;
    let finding = Finding {
        standing: Standing::Broken,
        reason: None,
        base: ends.base.1.clone(),
        head: ends.head.1.clone(),
        fail_to_pass: Vec::new(),
        pass_to_pass: 0,
        pass_to_fail: Vec::new(),
        removed: Vec::new(),
        skipped: Vec::new(),
        only_with_changed_tests: Vec::new(),
        weakened: trial::weakened(&context.world.workspace.changes(base, head).await?),
        deciding: over.deciding.clone(),
        notes: over
            .untold
            .iter()
            .map(|file| format!("tests inside a source file could not be separated from it: {file}"))
            .collect(),
        remarks: Vec::new(),
        proof: Vec::new(),
    };
    context.world.workspace.restore(&over.tree).await?;
    let mut baseline = baseline::run(&context, &mut recorder, measuring).await?;
    if is_green(&baseline.stage) && !over.doubtful.is_empty() {
        // Nothing fails there: what is called like a test and holds none may be what was mended.
        let without = trial::over_base(&bench, base, head, &over.doubtful).await?;
        context.world.workspace.restore(&without.tree).await?;
        let again = baseline::run(&context, &mut recorder, measure()).await?;
        if fails(&again.stage) {
            context.world.workspace.take_for_product(&over.doubtful);
            (over, baseline) = (without, again);
        }
    }
    recorder.record(&context, &baseline.events, baseline.stage.saved(&context.charter));
    let news = if over.new_sources.is_empty() { News::None } else { News::Some };
    let limit = limit_met(&baseline.events);
    let found = measured(&context, &mut recorder, ends, (baseline.stage, &over.tree, news, limit), finding).await;
    leftovers::sweep(&context, &mut recorder);
    leftovers::forget(&context);
    found
}

/// Whether nothing failed.
fn is_green(stage: &Stage) -> bool {
    matches!(stage, Stage::Ending(ending) if ending.outcome == Outcome::AlreadyGreen)
}

/// Whether tests that could be loaded failed.
fn fails(stage: &Stage) -> bool {
    matches!(stage, Stage::Ready(climb) if climb.trees.current.ran)
}

/// Whether a change brings source files of its own, whose tests stand nowhere over the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    None,
    Some,
}

/// Whether a command names its tests (`make` and scripts do not).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    None,
    Told,
    /// A limit ends the tests at the head as it does over the base.
    Ended(Exit),
}

/// How a limit of time or memory ended the tests, if one did.
fn limit_met(events: &[Event]) -> Option<Exit> {
    let exit =
        events.iter().find_map(|event| if let Event::BaselineFinished(it) = event { Some(it.exit) } else { None });
    exit.filter(|exit| is_limit(*exit))
}

/// The reason where time was up, and what can be done.
const SLOW: &str = "they did not end within their time limit; a larger `test.timeoutSeconds` raises it";

const fn is_limit(exit: Exit) -> bool {
    matches!(exit, Exit::Timeout | Exit::Memory { .. } | Exit::MemoryTogether { .. } | Exit::MachineMemory)
}

/// Decides the next question from the result of the head's tests on the base.
async fn measured(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    ends: &Ends,
    (stage, over, news, limit): (Stage, &TreeId, News, Option<Exit>),
    mut finding: Finding,
) -> Result<Finding, LifecycleError> {
    let workspace = &context.world.workspace;
    if let Some(cause) = context.world.stop.raised() {
        return Ok(broken(finding, stopped(cause)));
    }
    let cannot_run = |reason: &str| format!("the tests of the head cannot be run over the base: {reason}");
    let (mut climb, was_green) = match red_baseline_of(stage, limit) {
        Ok(baseline) => baseline,
        Err(reason) => return Ok(broken(finding, cannot_run(&reason))),
    };
    let measure = Arc::make_mut(&mut climb.measured);
    let mut names = Names::Told;
    // Named there, whatever is measured instead where they could not be loaded.
    let failed_over_base = measure.baseline.failing.clone();
    if !climb.trees.current.ran {
        names = measure_by_names(context, measure, ends, (limit, &mut finding)).await?;
    } else if news == News::Some {
        count_new_tests(context, measure, ends).await?;
    }
    if let Names::Ended(exit) = names {
        let why = over_memory(exit).unwrap_or_else(|| SLOW.to_owned());
        return Ok(broken(finding, cannot_run(&format!("there, and at the head, too, {why}"))));
    }
    let changes = workspace.changes(climb.start(), &ends.head.0).await?;
    // The court restores and records the paths of the change, as it does those that models wrote.
    climb.trees.touched = changes.into_iter().map(|change| change.path).collect();
    workspace.restore(&ends.head.0).await?;
    let author = Author::Person { was_green };
    let mut judged = judge::run(context, recorder, &climb, ends.head.0.clone(), author).await?;
    let all_along = failing_all_along(context, &climb, ends, (over, &judged)).await?;
    if !all_along.is_empty() {
        let names = all_along.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        finding.notes.push(format!("fails before the change and after it, set aside: {names}"));
        let measure = &mut Arc::make_mut(&mut climb.measured).baseline;
        set_aside(measure, &all_along, judged.run.filed.report());
        workspace.restore(&ends.head.0).await?;
        judged = judge::run(context, recorder, &climb, ends.head.0.clone(), author).await?;
    }
    if judged.run.stopped.is_some() {
        let cause = context.world.stop.raised().map_or_else(|| "stopped".to_owned(), stopped);
        return Ok(broken(finding, cause));
    }
    finding.proof = proof(recorder);
    finding.remarks.clone_from(&judged.remarks);
    finding.fail_to_pass = judged.judgement.fixed.iter().cloned().collect();
    let is_new = |name: &&String| !failed_over_base.contains(name);
    finding.pass_to_fail = judged.judgement.new_failures.iter().filter(is_new).cloned().collect();
    let tells_apart = match names {
        Names::None => !was_green,
        Names::Told | Names::Ended(_) => !climb.measured.baseline.failing.is_empty(),
    };
    conclude(&mut finding, &judged, tells_apart);
    if finding.standing == Standing::NothingToProve {
        // The evidence is about tests that failed before; there are none.
        finding.proof.clear();
    }
    finding.notes.extend(unreached(&climb.measured.baseline, &judged.run.report, &finding));
    compare_with_base(context, &climb.measured, ends, (over, &judged.run), &mut finding).await?;
    own_tests::ask(context, &climb.measured, (&ends.base.0, &ends.head.0), &judged.run, &mut finding).await?;
    Ok(finding)
}

/// A note on tests of the head that come to no result over the base: a panic of another one ends their process before them. `None` where tests
/// could not be loaded there, which have no names then.
fn unreached(before: &Baseline, head: &TestReport, finding: &Finding) -> Option<String> {
    if !before.errored.is_empty() || before.failing.is_empty() {
        return None;
    }
    let named = |names: &[String], name: &str| names.iter().any(|known| known == name);
    let is_known = |name: &str| {
        before.passing.contains_key(name)
            || before.skipped.contains(name)
            || named(&before.failing, name)
            || named(&before.flaky, name)
            || named(&finding.fail_to_pass, name)
    };
    let names: BTreeSet<&str> = head.passing_names().filter(|name| !is_known(name)).collect();
    let first = names.iter().take(MOST_UNREACHED).copied().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MOST_UNREACHED);
    let and_more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| {
        format!(
            "without the change there is no result of {first}{and_more}: the command ended before them (a panic, or a runner that stops at the first failure), or the code makes their names"
        )
    })
}

/// Takes tests out of what has to pass, also by the names that they have in the runner's result file.
fn set_aside(measure: &mut Baseline, tests: &BTreeSet<String>, head: Option<&TestReport>) {
    if let Some(before) = &mut measure.filed {
        let aside = by_their_filed_names(before, tests, head);
        before.failing.retain(|name| !aside.contains(name));
        before.errored.retain(|name| !aside.contains(name));
        before.flaky.extend(aside);
    }
    measure.failing.retain(|name| !tests.contains(name));
    measure.flaky.extend(tests.iter().cloned());
}

/// The names of tests in the result file. Where not every one can be told: all that fail there before and at the head, if they are as many.
/// A file that calls a test failed of which the print says otherwise has more of them, or others.
fn by_their_filed_names(before: &Baseline, tests: &BTreeSet<String>, head: Option<&TestReport>) -> BTreeSet<String> {
    let names = before.failing.iter().map(String::as_str).collect();
    let named: BTreeSet<String> =
        tests.iter().filter_map(|test| name_in_file(test, &names)).map(str::to_owned).collect();
    let fails_at_head = |name: &&String| head.is_some_and(|head| head.failing().any(|test| test.name == **name));
    let all_along: BTreeSet<String> = before.failing.iter().filter(fails_at_head).cloned().collect();
    let tells_all = named.len() == tests.len() || all_along.len() != tests.len() || !named.is_subset(&all_along);
    if tells_all { named } else { all_along }
}

/// Tests that fail at the head, and failed before it with the base's own tests as well: they say nothing of the change. Empty where no other
/// test says something.
async fn failing_all_along(
    context: &Context<'_>,
    climb: &Climb,
    ends: &Ends,
    (over, judged): (&TreeId, &Judged),
) -> Result<BTreeSet<String>, LifecycleError> {
    let before = &climb.measured.baseline;
    let failing: BTreeSet<String> = judged.run.report.failing().map(|test| test.name.clone()).collect();
    let is_known = failing.iter().all(|name| before.failing.contains(name) && !before.absent.contains(name));
    let is_red = matches!(judged.judgement.verdict, Verdict::Red { .. });
    if !is_red || failing.is_empty() || !is_known || before.failing.iter().all(|name| failing.contains(name)) {
        return Ok(BTreeSet::new());
    }
    // The change brings no tests: over the base the base itself was measured.
    if ends.base.0 == *over {
        return Ok(failing);
    }
    context.world.workspace.restore(&ends.base.0).await?;
    let run = test_run::run(&climb.measured.setup.tests, None, &context.world.stop).await?;
    let failed: BTreeSet<String> = run.report.failing().map(|test| test.name.clone()).collect();
    Ok(if failing.is_subset(&failed) { failing } else { BTreeSet::new() })
}

/// The baseline as it was measured and whether it was green. Where it is broken, why.
pub(super) fn baseline_of(stage: Stage) -> Result<(Climb, bool), String> {
    match stage {
        Stage::Ready(climb) | Stage::Iterating(climb) => Ok((*climb, false)),
        Stage::Delivering(delivering) => Ok((delivering.climb, false)),
        Stage::Held(held) => Ok((held.climb, false)),
        Stage::Measuring(_) => Err("they were not run".to_owned()),
        Stage::Ending(ending) => match (ending.reached, ending.outcome) {
            (_, Outcome::Broken { reason } | Outcome::Blocked { reason }) => Err(reason),
            (Reached::Measuring(_), _) => Err(ending.stop_reason),
            (Reached::Climb(climb), outcome) => Ok((*climb, outcome == Outcome::AlreadyGreen)),
        },
    }
}

/// The same, also of tests that a limit ended: a bug may take all time or memory, and no test has a name then.
fn red_baseline_of(stage: Stage, limit: Option<Exit>) -> Result<(Climb, bool), String> {
    let Stage::Ending(ending) = stage else { return baseline_of(stage) };
    match *ending {
        Ending { reached: Reached::Climb(climb), .. } if limit.is_some() => Ok((*climb, false)),
        ending => baseline_of(Stage::Ending(Box::new(ending))),
    }
}

/// Where the head's tests do not even compile over the base, or a limit of time or memory ends them, no test there has a name: those that
/// pass at the head and not at the base stand for them.
async fn measure_by_names(
    context: &Context<'_>,
    measured: &mut Measured,
    ends: &Ends,
    (limit, finding): (Option<Exit>, &mut Finding),
) -> Result<Names, LifecycleError> {
    let mut ends_of = Vec::new();
    for tree in [&ends.base.0, &ends.head.0] {
        context.world.workspace.restore(tree).await?;
        let run = test_run::run(&measured.setup.tests, None, &context.world.stop).await?;
        if limit.is_some() && *tree == ends.head.0 && is_limit(run.exit) {
            return Ok(Names::Ended(run.exit));
        }
        ends_of.push((Baseline::from_report(&run.report, Vec::new(), true), run.report.framework, run.exit));
    }
    // The head was run last.
    let (Some((at_head, framework, exit)), Some((at_base, ..))) = (ends_of.pop(), ends_of.pop()) else {
        return Ok(Names::Told);
    };
    if !exit.is_success() && at_head.is_silent() {
        // They do not begin at the head either, which the verdict on the head says.
        return Ok(Names::None);
    }
    let why = match limit {
        None => "cannot be loaded over the base".to_owned(),
        Some(exit) => format!("meet a limit over the base ({exit})"),
    };
    if at_head.passing.is_empty() && at_base.passing.is_empty() {
        let changes = context.world.workspace.changes(&ends.base.0, &ends.head.0).await?;
        let brought = trial::changed_tests(&changes, &framework).brought;
        return Ok(measure_by_text(measured, at_head, (at_base.passed, at_base.total), brought, (&why, finding)));
    }
    let (at_head, at_base) = (at_head.passing, at_base.passing);
    let measure = &mut measured.baseline;
    measure.failing = at_head.keys().filter(|name| !at_base.contains_key(*name)).cloned().collect();
    measure.absent = measure.failing.iter().cloned().collect();
    measure.passing = at_base.into_iter().filter(|(name, _)| at_head.contains_key(name)).collect();
    finding.notes.push(format!(
        "the head's tests {why}: those that pass at the head and are not among the base's count as failing there"
    ));
    Ok(Names::Told)
}

/// The same where the runner names no test that passes: the tests that the change brings are told by their text.
fn measure_by_text(
    measured: &mut Measured,
    at_head: Baseline,
    (passed, total): (Option<u64>, Option<u64>),
    brought: Vec<String>,
    (why, finding): (&str, &mut Finding),
) -> Names {
    // A runner that counts its tests and does not name them is asked no more than before: what does not load may be a new name alone.
    if at_head.is_silent() {
        finding.notes.push(
            "the command names no test: by its exit alone, the head's tests fail over the base and pass at the head"
                .to_owned(),
        );
        return Names::None;
    }
    let measure = &mut measured.baseline;
    (measure.passed, measure.total) = (passed, total);
    measure.absent = brought.iter().cloned().collect();
    measure.failing = brought;
    finding.notes.push(format!("the head's tests {why}: those that the change brings count as failing there"));
    Names::Told
}

/// Tests in source files that are new with the change fail without it, since they are not there.
async fn count_new_tests(context: &Context<'_>, measured: &mut Measured, ends: &Ends) -> Result<(), LifecycleError> {
    context.world.workspace.restore(&ends.head.0).await?;
    let run = test_run::run(&measured.setup.tests, None, &context.world.stop).await?;
    let at_head = Baseline::from_report(&run.report, Vec::new(), true).passing;
    let measure = &mut measured.baseline;
    if measure.passing.is_empty() {
        // The runner names none that pass: a new name would be any.
        return Ok(());
    }
    let is_new = |name: &&String| !measure.passing.contains_key(*name) && !measure.failing.contains(name);
    let new: Vec<String> = at_head.keys().filter(is_new).cloned().collect();
    measure.absent.extend(new.iter().cloned());
    measure.failing.extend(new);
    Ok(())
}

fn conclude(finding: &mut Finding, judged: &Judged, tells_apart: bool) {
    let verdict = trial::explained(&judged.judgement.verdict, &judged.run.report);
    (finding.standing, finding.reason) = match verdict {
        Verdict::Green if !tells_apart && judged.judgement.fixed.is_empty() => {
            (Standing::NothingToProve, Some("no test has another result at the head than at the base".to_owned()))
        }
        Verdict::Green => (Standing::Proven, None),
        Verdict::Red { reason } => {
            let failing: Vec<&str> = judged.run.report.failing().map(|test| test.name.as_str()).take(3).collect();
            let named = (!failing.is_empty()).then(|| format!("tests fail at the head: {}", failing.join(", ")));
            (Standing::NotProven, named.or(reason).or_else(|| Some("the tests fail at the head".to_owned())))
        }
        Verdict::Tampered { reason } => (Standing::NotProven, Some(reason)),
        Verdict::Broken { reason } => {
            (Standing::Broken, Some(format!("the tests cannot be run at the head: {reason}")))
        }
    };
}

/// The base's own tests over the base: what ran there has to pass at the head, or to be named.
async fn compare_with_base(
    context: &Context<'_>,
    measured: &Measured,
    ends: &Ends,
    (over, head): (&TreeId, &TestRun),
    finding: &mut Finding,
) -> Result<(), LifecycleError> {
    if finding.standing == Standing::Broken {
        return Ok(());
    }
    let base = if ends.base.0 == *over {
        Side::measured(&measured.baseline)
    } else {
        context.world.workspace.restore(&ends.base.0).await?;
        let run = test_run::run(&measured.setup.tests, None, &context.world.stop).await?;
        if run.stopped.is_some() || run.report.kind != RunKind::Tests {
            finding.notes.push("the base's own tests could not be run, so removed tests are not reported".to_owned());
            return Ok(());
        }
        Side::of(&run.report, run.filed.report())
    };
    if head.report.kind != RunKind::Tests {
        let why = if head.exit == (Exit::Code { code: 0 }) { "names no test" } else { "did not finish" };
        finding.notes.push(format!("the head's run {why}, so removed tests are not reported"));
        return Ok(());
    }
    let found = trial::base_tests(&base, &Side::of(&head.report, head.filed.report()));
    (finding.pass_to_pass, finding.skipped) = (found.pass_to_pass, found.skipped);
    if found.are_named {
        finding.removed = found.gone;
        return Ok(());
    }
    let changes = context.world.workspace.changes(&ends.base.0, &ends.head.0).await?;
    finding.removed = trial::changed_tests(&changes, &head.report.framework).gone;
    finding.notes.push(
        "the runner does not name tests that pass: removed tests are found by the text of the changed files only"
            .to_owned(),
    );
    if found.more_skipped > 0 {
        let more = match found.more_skipped {
            1 => "1 more test is skipped than at the base".to_owned(),
            more => format!("{more} more tests are skipped than at the base"),
        };
        finding
            .notes
            .push(format!("{more}; the runner does not say which: run it with its verbose option (often `-v`)"));
    }
    Ok(())
}

/// The evidence that the journal holds.
fn proof(recorder: &Recorder<'_>) -> Vec<Evidence> {
    let events = recorder.journal.events().iter().rev();
    let mut proofs =
        events.filter_map(|event| if let Event::EvidenceGathered { proof, .. } = event { Some(proof) } else { None });
    proofs.next().cloned().unwrap_or_default()
}

fn broken(finding: Finding, reason: String) -> Finding {
    Finding { standing: Standing::Broken, reason: Some(reason), ..finding }
}

fn stopped(cause: StopCause) -> String {
    match cause {
        StopCause::Signal(signal) => format!("stopped by {}", signal_name(signal)),
        StopCause::Asked => "somebody asked for it".to_owned(),
        StopCause::TimeUp => "the time was up: raise --max-duration-minutes".to_owned(),
        StopCause::OwnTime(seconds) => format!("its {seconds} s are over"),
    }
}
