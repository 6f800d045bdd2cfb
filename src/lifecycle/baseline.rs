//! The baseline: what fails before any model is asked, and whether it is worth paying for.

use std::path::Component;

use super::breakpoint::seen::Work;
use super::climb::Climb;
use super::context::{Context, LifecycleError, interrupted};
use super::measured::{Measured, Measuring, Origin};
use super::recorder::Recorder;
use super::stage::Next;
use super::{counted, failure, left_behind, leftovers, network, publish, red_ci, unbounded};
use crate::config::TestPlan;
use crate::domain::event::{BaselineFinished, Event, TestMessage, TestPlace};
use crate::domain::foreign::Foreign;
use crate::domain::outcome::{NOT_SEEN, Outcome, SETUP_FAILED};
use crate::domain::test_report::{RunKind, TestCase, TestReport};
use crate::domain::verdict::{Exit, Verdict};
use crate::files;
use crate::policy::asked::Asked;
use crate::policy::budget;
use crate::policy::candidate::Candidate;
use crate::policy::verdict::{self, Baseline};
use crate::process;
use crate::report::gist;
use crate::test_run::{self, Filed, ResultFiles, TestRun};
use crate::trial;

/// How many failing tests' messages are kept: as many as the progress shows.
const MOST_MESSAGES: usize = 5;
/// How much of such a message, in characters.
const MOST_SAID: usize = 200;
/// How many failing tests' places are kept: as many as a runner shows beside the code (GITHUB 19).
const MOST_PLACES: usize = 10;
/// The words about failing tests that are none of a run's.
pub(crate) const LEFT_ALONE: &str = "left alone, since the run is for some tests only";

/// Runs the setup command and the tests, sets flaky tests aside, and decides whether there is something to fix.
pub(super) async fn run(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    mut measuring: Measuring,
) -> Result<Next, LifecycleError> {
    network::tell(context, recorder);
    // With the checks beside them the tests are looked at once more in the same place.
    let failed = if measuring.setup.with_checks { None } else { set_up(context).await? };
    if let Some(reason) = failed {
        let broken = (Outcome::Broken { reason: reason.clone() }, reason);
        return Ok(stopped_or(context, recorder, measuring, broken, Vec::new()));
    }
    // Behind the setup command, whose files are the user's own, and before the tests.
    leftovers::note(context, recorder);
    let with_checks = measuring.setup.with_checks;
    let Some(seen) = look(context, recorder, &mut measuring).await? else {
        return Ok(stopped_or(context, recorder, measuring, (Outcome::Budget, String::new()), Vec::new()));
    };
    let Seen { origin, first, verdict, baseline, not_seen, finished } = seen;
    if context.world.stop.raised().is_some() {
        // A run that was cut short measures nothing: a resume takes the baseline anew.
        let events = vec![Event::BaselineFinished(finished)];
        return Ok(stopped_or(context, recorder, measuring, (Outcome::Budget, String::new()), events));
    }
    let red_ci = context.charter.red_ci.as_ref();
    // Green here and red in CI: the checks that failed there are run here as well, before CI alone has to judge.
    if let Some(red) = red_ci.filter(|_| !with_checks && verdict == Verdict::Green)
        && measuring.setup.add_checks(context)
    {
        return Ok(Next::measure_again(measuring, vec![Event::Warning { message: red_ci::announced(red) }]));
    }
    let RedCiAnswer { end: red, work, events } = about_red_ci(context, &verdict, with_checks).await;
    let (duration_ms, framework) = (first.duration_ms, Some(first.report.framework.clone()));
    let judged_by_ci = work.is_some();
    let failure = work.as_ref().map_or_else(|| failure::names(&baseline, &first.report), |work| work.failing.clone());
    let measured = Measured { setup: measuring.setup, origin, judged_by_ci, failure, baseline, duration_ms, framework };
    let described = trial::describe(&first, context.world.workspace.root());
    let candidate = trial::candidate(measured.origin.tree.clone(), &first, &described);
    let candidate = first_candidate(context, candidate, &measured.baseline, work);
    let mut climb = Climb::begin(measured, candidate, measuring.allowance, measuring.comments);
    let (red, counted) = before_any_money(context, &verdict, not_seen.or(red), &climb.measured).await;
    if let Some(left) = counted::left(context, &counted) {
        climb.allowance.budget.max_cost = climb.allowance.budget.max_cost.min(left);
    }
    Ok(decide(climb, verdict, finished, red, events.into_iter().chain(counted).collect()))
}

/// The result of looking at the tests without any change.
struct Seen {
    /// The tree that was looked at.
    origin: Origin,
    /// The first run of the tests, without those that are set aside.
    first: TestRun,
    /// Our judgement.
    verdict: Verdict,
    /// The tests that fail and those that pass.
    baseline: Baseline,
    /// How a run ends that is asked for tests which were not seen.
    not_seen: Option<(Outcome, String)>,
    /// The same in the log.
    finished: BaselineFinished,
}

/// Records the tree, runs the tests and sets flaky ones aside. `None` where they were cut short: what a run printed until then says nothing
/// of what passes or fails.
async fn look(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    measuring: &mut Measuring,
) -> Result<Option<Seen>, LifecycleError> {
    let Origin { tree: start, base, .. } = record_start(context, recorder, measuring).await?;
    left_behind::note(context, recorder, &start);
    // Before the tests run: whatever is there by now, ignored files too, is the user's own.
    context.world.workspace.remember_files(&start)?;
    let began = context.world.clock.monotonic_ms();
    let mut first = first_look(context, recorder, measuring).await?;
    if first.stopped.is_some() {
        return Ok(None);
    }
    let with_checks = measuring.setup.with_checks;
    let explicit = context.charter.plan.test.command.is_some();
    let verdict = verdict::judge_baseline(first.exit, &first.report, explicit);
    // The second look may soften the verdict, and the result file is learnt from the first run alone.
    let first_verdict = verdict.clone();
    let (verdict, flaky, flaky_in_file) = match verdict {
        Verdict::Red { .. } if may_be_flaky(&first) => second_look(context, measuring, &first, verdict).await?,
        other @ (Verdict::Green | Verdict::Red { .. } | Verdict::Broken { .. } | Verdict::Tampered { .. }) => {
            (other, Vec::new(), Vec::new())
        }
    };
    // No model has been asked yet: what differs now is left by the tests themselves, and will never be called a change.
    let by_products = context.world.workspace.changed_since(&start).await?.into_iter().collect();
    let mut origin = Origin { tree: start, base, by_products, stirred: None };
    // Nobody's change has run yet: what these runs left may stay.
    context.world.workspace.remember_files(&origin.tree)?;
    origin.stirred = context.world.workspace.stirred_at_start();
    measuring.setup.tests.confinement.remember();
    let others = other_tests(&context.charter.plan.test.only, &first.report, &flaky);
    let environment = for_the_environment(&first.report, &flaky, &others);
    let named: Vec<String> = environment.iter().chain(&others).cloned().collect();
    let filed = learnt(&first, &first_verdict, flaky_in_file, &named);
    let aside = flaky.iter().chain(&named).cloned().collect();
    let baseline = Baseline { filed, ..Baseline::from_report(&first.report, aside, explicit) };
    let not_seen = not_seen(&context.charter.plan.test, &first, &first_verdict);
    trial::leave_out(&mut first.report, &named);
    // Where none of the tests that were asked for fails, there is nothing to mend. A command that does not work shows nothing of them.
    let none_fails = baseline.failing.is_empty() && !others.is_empty() && matches!(verdict, Verdict::Red { .. });
    let verdict = if none_fails { Verdict::Green } else { verdict };
    let finished = BaselineFinished {
        framework: first.report.framework.clone(),
        exit: first.exit,
        kind: first.report.kind,
        verdict: context.verdict_beneath(&trial::explained(&verdict, &first.report)),
        failing: baseline.failing.clone(),
        flaky,
        environment,
        others,
        not_run: not_run(context, with_checks),
        passed: trial::passed(&first.report),
        duration_ms: context.world.clock.monotonic_ms().saturating_sub(began),
        places: places(context, measuring, &first.report),
        messages: messages(context, &first.report),
    };
    measuring.origin = Some(origin.clone());
    Ok(Some(Seen { origin, first, verdict: context.verdict_beneath(&verdict), baseline, not_seen, finished }))
}

/// The jobs that failed in CI and of which nothing is run here.
fn not_run(context: &Context<'_>, with_checks: bool) -> Vec<String> {
    let Some(red) = &context.charter.red_ci else { return Vec::new() };
    let jobs = if with_checks { red.not_run() } else { red.beside(&context.charter.test_command) };
    jobs.into_iter().map(|job| context.redact(&job.name)).collect()
}

/// How a run ends before a model is asked, if it does, else how it counts.
async fn before_any_money(
    context: &Context<'_>,
    verdict: &Verdict,
    red: Option<(Outcome, String)>,
    measured: &Measured,
) -> (Option<(Outcome, String)>, Vec<Event>) {
    if red.is_some() || !(measured.judged_by_ci || matches!(verdict, Verdict::Red { .. })) {
        return (red, Vec::new());
    }
    match proposed(context, &measured.failure).await {
        // Counted last: a run that ends for another reason uses up none of the failure's runs.
        None => counted::failure(context, &measured.failure).await,
        proposed => (proposed, Vec::new()),
    }
}

/// How a run ends for whose failure a fix waits already.
async fn proposed(context: &Context<'_>, failure: &[String]) -> Option<(Outcome, String)> {
    let (pull_request, url) = publish::proposed_already(context, failure).await?;
    Some((Outcome::Proposed { pull_request }, format!("a fix for this failure waits in #{pull_request}: {url}")))
}

/// Records the tree as the user has it, and the commit that it is told by in the log.
async fn record_start(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    measuring: &mut Measuring,
) -> Result<Origin, LifecycleError> {
    // Git is asked before any code under test has run.
    let base = recorder.portable.look(context, "HEAD").await;
    let tree = context.world.workspace.snapshot().await?;
    let by_products = measuring.origin.take().map(|origin| origin.by_products).unwrap_or_default();
    let origin = Origin { tree, base, by_products, stirred: None };
    measuring.origin = Some(origin.clone());
    Ok(origin)
}

/// The consequences of red CI, once the tests and the checks of it that run here have a verdict.
#[derive(Default)]
struct RedCiAnswer {
    /// How the run ends, if it does.
    end: Option<(Outcome, String)>,
    /// The input of the first iteration, where CI judges.
    work: Option<Work>,
    /// The events that are told.
    events: Vec<Event>,
}

async fn about_red_ci(context: &Context<'_>, verdict: &Verdict, with_checks: bool) -> RedCiAnswer {
    let Some(failed) = context.charter.red_ci.as_ref() else { return RedCiAnswer::default() };
    let ends = |end| RedCiAnswer { end, ..RedCiAnswer::default() };
    if *verdict != Verdict::Green {
        return ends(red_ci::end(failed, verdict, with_checks));
    }
    if let Some(again) = red_ci::once_more(context, failed).await {
        return ends(Some(again));
    }
    let work = match red_ci::work(context, failed).await {
        Ok(Some(work)) => work,
        Ok(None) => return ends(red_ci::end(failed, verdict, with_checks)),
        Err(error) => {
            let message = context.redact(&format!("what failed in CI could not be read: {error}"));
            let end = red_ci::end(failed, verdict, with_checks);
            return RedCiAnswer { end, work: None, events: vec![Event::Warning { message }] };
        }
    };
    let message = red_ci::handed_over(failed, context.charter.plan.github.max_pushes);
    RedCiAnswer { end: None, work: Some(work), events: vec![Event::Warning { message }] }
}

/// The tree that the ladder begins with: with what failed here, or in CI alone.
fn first_candidate(context: &Context<'_>, tree: Candidate, baseline: &Baseline, work: Option<Work>) -> Candidate {
    match work {
        Some(work) => Candidate {
            failing: work.failing,
            failures: Foreign::new(&context.redact(work.failures.as_str())),
            named: work.named,
            ..tree
        },
        None => Candidate { failing: baseline.failing.clone(), ..tree },
    }
}

/// Runs the tests for the first time, with what they turn out to need.
async fn first_look(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    measuring: &mut Measuring,
) -> Result<TestRun, LifecycleError> {
    let first = test_run::run(&measuring.setup.tests, None, &context.world.stop).await?;
    let first = network::open_if_needed(context, recorder, measuring, first).await?;
    let first = unbounded::tried(context, measuring, first).await?;
    without_result_file(context, measuring, first).await
}

/// Runs the setup command. Returns why it failed, if it did.
pub(super) async fn set_up(context: &Context<'_>) -> Result<Option<String>, LifecycleError> {
    let Some(spec) = &context.world.setup else { return Ok(None) };
    let finished = process::run(spec, &context.world.stop, &mut |_chunk| {}).await?;
    if finished.exit.is_success() {
        return Ok(None);
    }
    let output = String::from_utf8_lossy(&finished.output);
    let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    Ok(Some(format!("{SETUP_FAILED} ({}): {}", finished.exit, context.beneath(last.trim()))))
}

/// Runs a broken command once more as it stands, if its runner was told to write a result file: that may be what it cannot do.
async fn without_result_file(
    context: &Context<'_>,
    measuring: &mut Measuring,
    first: TestRun,
) -> Result<TestRun, LifecycleError> {
    let explicit = context.charter.plan.test.command.is_some();
    let broken = matches!(verdict::judge_baseline(first.exit, &first.report, explicit), Verdict::Broken { .. });
    let ended = matches!(first.exit, Exit::Code { .. }) && first.stopped.is_none();
    if first.filed == Filed::NotAsked || !(broken && ended) {
        return Ok(first);
    }
    // For the whole run, or its later runs would break the same way.
    measuring.setup.no_result_files = true;
    measuring.setup.tests.results = ResultFiles::Unwanted;
    Ok(test_run::run(&measuring.setup.tests, None, &context.world.stop).await?)
}

/// Where failing tests stand, in files of the checkout alone: what a framework prints is foreign text.
fn places(context: &Context<'_>, measuring: &Measuring, report: &TestReport) -> Vec<TestPlace> {
    let root = context.world.workspace.root();
    let place = |test: &TestCase| {
        let file = measuring.setup.tests.cwd.join(test.file.as_ref()?);
        let within = file.strip_prefix(root).ok()?;
        // A printed `src/../../x` begins like a path of the checkout, and leaves it.
        let plain = within.components().all(|part| matches!(part, Component::Normal(_)));
        let named = (plain && file.is_file() && within.to_str().is_some()).then(|| files::slashed(within))?;
        Some(TestPlace { test: test.name.clone(), file: named, line: test.line })
    };
    report.failing().filter_map(place).take(MOST_PLACES).collect()
}

/// The messages of the first failing tests, a line each.
fn messages(context: &Context<'_>, report: &TestReport) -> Vec<TestMessage> {
    let message = |test: &TestCase| {
        let said = gist::gist(&context.beneath(&test.message));
        // The name is shown beside the message already.
        let said = said.strip_prefix(&format!("{}: ", test.name)).unwrap_or(&said).chars().take(MOST_SAID).collect();
        TestMessage { test: test.name.clone(), said }
    };
    report.failing().take(MOST_MESSAGES).map(message).filter(|message| !message.said.trim().is_empty()).collect()
}

/// Tests that fail for lack of a service, or because of the machine, where others fail for another reason. Where all do, the run's kind
/// says so.
fn for_the_environment(report: &TestReport, flaky: &[String], others: &[String]) -> Vec<String> {
    let steady = |test: &&TestCase| !flaky.contains(&test.name) && !others.contains(&test.name);
    let (environment, code): (Vec<&TestCase>, Vec<&TestCase>) =
        report.failing().filter(steady).partition(|test| test_run::blames_environment(&test.message));
    if code.is_empty() { Vec::new() } else { environment.into_iter().map(|test| test.name.clone()).collect() }
}

/// Failing tests that this run is not asked to mend. Empty where it is asked for all.
fn other_tests(only: &[String], report: &TestReport, flaky: &[String]) -> Vec<String> {
    let asked = Asked::new(only, report);
    let is_other = |test: &&TestCase| !asked.means(&test.name) && !flaky.contains(&test.name);
    report.failing().filter(is_other).map(|test| test.name.clone()).collect()
}

/// How a run ends that is asked for tests which were not seen: nothing would prove that they pass.
fn not_seen(plan: &TestPlan, first: &TestRun, verdict: &Verdict) -> Option<(Outcome, String)> {
    // Where we saw them fail ourselves, they are tests, whatever the runner names now.
    let is_known = plan.known && first.report.kind == RunKind::Tests;
    if is_known || !matches!(verdict, Verdict::Green | Verdict::Red { .. }) {
        return None;
    }
    let why = Asked::new(&plan.only, &first.report).unproven(first.filed.report())?;
    let reason = format!("{NOT_SEEN}{why}");
    Some((Outcome::Blocked { reason: reason.clone() }, reason))
}

/// The baseline that the result file of the first run is good for from now on.
fn learnt(first: &TestRun, verdict: &Verdict, mut aside: Vec<String>, environment: &[String]) -> Option<Box<Baseline>> {
    let filed = first.filed.report()?;
    aside.extend(same_in_file(filed, environment)?);
    verdict::learn((verdict, &first.report), first.exit, filed, aside)
}

/// The names of these tests in the result file. `None` where they cannot be told, so that the file is no witness.
fn same_in_file(filed: &TestReport, tests: &[String]) -> Option<Vec<String>> {
    let names = filed.failing().map(|found| found.name.as_str()).collect();
    tests.iter().map(|test| verdict::name_in_file(test, &names).map(str::to_owned)).collect()
}

/// A broken build fails the same way every time. Only tests that ran can be flaky.
fn may_be_flaky(run: &TestRun) -> bool {
    run.report.kind == RunKind::Tests && run.report.failing().next().is_some()
}

/// Runs the failing tests once more: what passes now is flaky and set aside, by the print's names and by the result file's.
async fn second_look(
    context: &Context<'_>,
    measuring: &Measuring,
    first: &TestRun,
    verdict: Verdict,
) -> Result<(Verdict, Vec<String>, Vec<String>), LifecycleError> {
    let second = test_run::run(&measuring.setup.tests, None, &context.world.stop).await?;
    // A second run that never came to its tests acquits none of them.
    if second.stopped.is_some() || second.report.kind != RunKind::Tests {
        return Ok((verdict, Vec::new(), Vec::new()));
    }
    let flaky = differing(&first.report, &second.report);
    let in_file = match (first.filed.report(), second.filed.report()) {
        (Some(first), Some(second)) => differing(first, second),
        (Some(_) | None, _) => Vec::new(),
    };
    let steady = first.report.failing().any(|test| !flaky.contains(&test.name));
    // Nothing failed twice: there is nothing to mend.
    Ok((if steady { verdict } else { Verdict::Green }, flaky, in_file))
}

/// Tests that failed in one of two runs alone.
fn differing(first: &TestReport, second: &TestReport) -> Vec<String> {
    let once = |one: &TestReport, other: &TestReport| -> Vec<String> {
        let others: Vec<&str> = other.failing().map(|test| test.name.as_str()).collect();
        one.failing().filter(|test| !others.contains(&test.name.as_str())).map(|test| test.name.clone()).collect()
    };
    let mut names = once(first, second);
    // A test that passes first and fails then is as flaky as one the other way round.
    names.extend(once(second, first));
    names
}

/// Decides the next phase from the tests as they were.
fn decide(
    climb: Climb,
    verdict: Verdict,
    finished: BaselineFinished,
    red: Option<(Outcome, String)>,
    mut told: Vec<Event>,
) -> Next {
    let mut aside = set_aside(&finished);
    let told_apart = finished.others.len();
    let mut events = vec![Event::BaselineFinished(finished)];
    events.append(&mut aside);
    events.append(&mut told);
    if let Some((outcome, reason)) = red {
        return Next::end(climb, outcome, reason, events);
    }
    let why = match told_apart {
        0 => "the tests already pass".to_owned(),
        count => format!("none of the named tests fails; {count} others do"),
    };
    match verdict {
        // The failure is one that only CI sees, so green here ends nothing.
        Verdict::Green if climb.measured.judged_by_ci => Next::ready(climb, events),
        Verdict::Green => Next::end(climb, Outcome::AlreadyGreen, why, events),
        Verdict::Red { .. } => Next::ready(climb, events),
        Verdict::Broken { reason } | Verdict::Tampered { reason } => {
            Next::end(climb, Outcome::Broken { reason: reason.clone() }, reason, events)
        }
    }
}

/// Which tests are set aside, and why.
fn set_aside(finished: &BaselineFinished) -> Vec<Event> {
    let mut events = Vec::new();
    if !finished.flaky.is_empty() {
        let names = finished.flaky.join(", ");
        events.push(Event::Warning { message: format!("flaky, set aside (failed, then passed unchanged): {names}") });
    }
    if !finished.environment.is_empty() {
        let names = finished.environment.join(", ");
        let message = format!(
            "set aside, since they fail for lack of a service or because of the machine, not because of the code: {names}. To have them judged, start \
             what they need (`services:` in the workflow, test.setupCommand) and see `network`"
        );
        events.push(Event::Warning { message });
    }
    if !finished.others.is_empty() {
        let count = finished.others.len();
        let names = finished.others.iter().take(MOST_MESSAGES).cloned().collect::<Vec<_>>().join(", ");
        let more = if count > MOST_MESSAGES { ", …" } else { "" };
        let tests =
            if count == 1 { "1 other failing test is".to_owned() } else { format!("{count} other failing tests are") };
        let message = format!("{tests} {LEFT_ALONE}: {names}{more}");
        events.push(Event::Warning { message });
    }
    events
}

/// Ends the run: by the signal or the clock if they stopped it, else as given.
fn stopped_or(
    context: &Context<'_>,
    recorder: &Recorder<'_>,
    measuring: Measuring,
    otherwise: (Outcome, String),
    events: Vec<Event>,
) -> Next {
    let (outcome, reason) = match (context.signal(), context.world.stop.raised()) {
        (Some(signal), _) => interrupted(signal),
        (None, Some(_)) => {
            let over = budget::check(&measuring.allowance.budget, &recorder.spent(context, 0));
            (Outcome::Budget, over.unwrap_or_else(|| "the active time is up".to_owned()))
        }
        (None, None) => otherwise,
    };
    Next::end(measuring, outcome, reason, events)
}
