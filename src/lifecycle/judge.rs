//! The court is asked, and what it says is told.

use std::collections::BTreeSet;
use std::time::Duration;

use super::climb::Climb;
use super::context::{Context, LifecycleError};
use super::leftovers;
use super::recorder::Recorder;
use super::yours;
use crate::config::{Minimise, OnRemark, Proof};
use crate::domain::event::Event;
use crate::domain::proof::{ProofStarted, is_witnessed};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::stop::StopCause;
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::test_run::TestCommand;
use crate::trial::evidence::{self, Demand, Proven};
use crate::trial::needed::{self, Keep};
use crate::trial::{self, Bench, Judged};

/// The court's view of a run before its baseline.
pub(super) fn bench_before<'e>(
    context: &'e Context<'_>,
    tests: &'e TestCommand,
    none: &'e BTreeSet<String>,
) -> Bench<'e> {
    let world = &context.world;
    Bench {
        workspace: &world.workspace,
        tests,
        stop: &world.stop,
        clock: world.clock,
        guards: &world.guards,
        redactor: &world.redactor,
        import_roots: &world.import_roots,
        start: None,
        baseline: None,
        baseline_ms: 0,
        framework_seen: None,
        by_products: none,
        touched: none,
        best_fixed: 0,
    }
}

/// The court's view of a run on its ladder.
fn bench<'e>(context: &'e Context<'_>, climb: &'e Climb) -> Bench<'e> {
    let (measured, trees) = (&climb.measured, &climb.trees);
    Bench {
        start: Some(&measured.origin.tree),
        baseline: Some(&measured.baseline),
        baseline_ms: measured.duration_ms,
        framework_seen: measured.framework.as_deref(),
        by_products: &measured.origin.by_products,
        touched: &trees.touched,
        best_fixed: trees.best.fixed.len(),
        ..bench_before(context, &measured.setup.tests, &trees.touched)
    }
}

/// The author of the change that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// A model's: a green that no experiment was made on is refused, if something in it could deceive a runner.
    Model,
    /// A person's, who answers for it: the same is told. Where nothing failed at the start there is nothing to prove.
    Person {
        /// Whether the tests passed at the start.
        was_green: bool,
    },
    /// Somebody who pushed it meanwhile: nothing of it is delivered, so nothing is to be proven.
    Another,
}

/// Has a change judged.
pub(super) async fn run(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    climb: &Climb,
    tree: TreeId,
    author: Author,
) -> Result<Judged, LifecycleError> {
    let mut judged = trial::judge(&bench(context, climb), tree).await?;
    judged.cut_off(context.world.workspace.root());
    if judged.judgement.verdict == Verdict::Green {
        // The experiments begin with a clean tree: what this change left is named before it is gone.
        leftovers::collect(context, recorder);
    }
    let demand = demand(context, climb, author);
    if let (Some(demand), Verdict::Green) = (&demand, &judged.judgement.verdict) {
        // The experiments may take minutes: who looks on should not take them for the tests.
        recorder.emit(&Event::ProofStarted(ProofStarted {
            passed: trial::passed(&judged.run.report),
            duration_ms: judged.run.duration_ms,
            most_ms: u64::try_from(demand.most.as_millis()).unwrap_or(u64::MAX),
        }));
    }
    let mut proven = match demand {
        Some(demand) => {
            let is_minded_here = context.world.workspace.mind_all();
            let proven = evidence::prove(&bench(context, climb), &mut judged, demand).await;
            if is_minded_here {
                context.world.workspace.mind_less();
            }
            proven?
        }
        None => None,
    };
    // Experiments that a signal cut short prove nothing: whoever goes on with the run has the change judged anew.
    if let (Some(_), Some(StopCause::Signal(signal)), Verdict::Green) =
        (&proven, context.world.stop.raised(), &judged.judgement.verdict)
    {
        judged.cut_short(signal, context.world.workspace.root());
        proven = None;
    }
    let witnessed = proven.as_ref().is_some_and(|proven| is_witnessed(&proven.evidence));
    // Where no experiment has seen the tests fail, a remark may be the very reason why they pass.
    if (!witnessed && author == Author::Model) || context.charter.plan.safety.on_remark == OnRemark::Refuse {
        judged.refuse_remarked(context.world.workspace.root());
    }
    tell((context, recorder), (climb, author), &judged);
    yours::tell(context, recorder, &climb.measured.origin.by_products);
    if let Some(Proven { evidence: proof, runs, duration_ms }) = proven {
        recorder.emit(&Event::EvidenceGathered { proof, runs, duration_ms });
    }
    Ok(judged)
}

/// How much proof the configuration asks for, if any.
fn demand(context: &Context<'_>, climb: &Climb, author: Author) -> Option<Demand> {
    let of_person = author == (Author::Person { was_green: true }) && climb.failing_at_first().is_empty();
    // What CI alone judges cannot be made to fail here.
    if of_person || author == Author::Another || climb.measured.judged_by_ci || !context.world.guards.court_sits() {
        return None;
    }
    let plan = &context.charter.plan;
    // The run's own time may end before: what is told beforehand is what there can be.
    let left = climb.allowance.budget.max_active_ms.saturating_sub(context.active_ms());
    let most = Duration::from_secs(60 * u64::from(plan.test.proof_minutes)).min(Duration::from_millis(left));
    let required = match plan.safety.proof {
        Proof::Auto => false,
        Proof::Required => true,
        Proof::Off => return None,
    };
    Some(Demand { required, most })
}

/// Tells reviewers what was put back, how the tests ended, and why a green was refused.
fn tell((context, recorder): (&Context<'_>, &mut Recorder<'_>), (climb, author): (&Climb, Author), judged: &Judged) {
    let verdict = &judged.judgement.verdict;
    let mut messages = judged.put_back.clone();
    if !judged.rewritten.is_empty() {
        // By code under test or by a person: between two runs of the tests nobody watches who writes.
        messages.push(format!(
            "rewritten by no edit of a model, and put back before the tests ran: {}",
            judged.rewritten.join(", ")
        ));
    }
    // A person's change belongs to no tier, and its finding has the reason.
    if let (Verdict::Tampered { reason }, Author::Model) = (verdict, author) {
        let (tier, iteration) = (climb.position.tier_index + 1, climb.iteration());
        messages.push(format!("the green of tier {tier}, iteration {iteration} was refused as tampered: {reason}"));
    }
    for message in messages {
        recorder.warn(message);
    }
    let run = &judged.run;
    recorder.emit(&Event::TestsFinished {
        exit: run.exit,
        kind: run.report.kind,
        verdict: context.verdict_beneath(&trial::explained(verdict, &run.report)),
        passed: trial::passed(&run.report),
        failed: trial::failed(&run.report),
        duration_ms: run.duration_ms,
    });
}

/// Has the parts of a green change found that green does not need. They are named to reviewers and stay, unless the configuration has them
/// dropped. The tests that the change adds are part of it again.
pub(super) async fn minimise(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    climb: &Climb,
    mut judged: Judged,
) -> Result<Judged, LifecycleError> {
    let mut added = std::mem::take(&mut judged.added);
    let of_tests = !climb.measured.judged_by_ci;
    let wish = if context.world.guards.court_sits() { context.charter.plan.safety.minimise } else { Minimise::Off };
    let keep = match wish {
        Minimise::Off => None,
        Minimise::Remark => Some(Keep::Whole),
        Minimise::Drop => Some(Keep::Smaller),
    };
    let found = match keep {
        // Tests that passed all along need nothing of the change.
        Some(keep) if of_tests => needed::look(&bench(context, climb), &judged, keep).await?,
        Some(_) | None => None,
    };
    let (runs, duration_ms) = found.as_ref().map_or((0, 0), |found| (found.runs, found.duration_ms));
    let mut not_needed = Vec::new();
    if let Some(found) = found {
        not_needed = found.not_needed;
        if keep == Some(Keep::Smaller) {
            let dropped = u32::try_from(not_needed.len()).unwrap_or(u32::MAX);
            let kept = found.parts.saturating_sub(dropped);
            recorder.emit(&Event::PatchMinimised { dropped, kept, runs, duration_ms });
            judged = found.smaller.unwrap_or(judged);
            // They are dropped, so there is nothing for a reviewer to look at.
            not_needed.clear();
            added = added.in_files_of_tests();
        }
    }
    judged.added = added;
    judged = with_added_tests(context, recorder, climb, judged).await?;
    // `PatchMinimised` has told them already.
    let runs = if keep == Some(Keep::Smaller) { 0 } else { runs };
    Ok(remarked(recorder, judged, not_needed, runs, duration_ms))
}

/// Puts back the tests that a judged change adds. In a green one they are run first.
pub(super) async fn with_added_tests(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    climb: &Climb,
    mut judged: Judged,
) -> Result<Judged, LifecycleError> {
    if let Some(message) = trial::added::put_back(&bench(context, climb), &mut judged).await? {
        recorder.warn(message);
    }
    Ok(judged)
}

/// Whether a part of a change holds the place of a remark.
fn holds(part: &Remark, remark: &Remark) -> bool {
    match (part.lines, remark.lines) {
        (Some((first, last)), Some((line, _))) => (first..=last).contains(&line),
        // A remark without lines is about the whole file.
        (None, _) | (_, None) => true,
    }
}

/// Names to reviewers the places that they should look at in a green change. Places that could deceive a runner stand first.
fn remarked(recorder: &mut Recorder<'_>, judged: Judged, more: Vec<Remark>, runs: u32, duration_ms: u64) -> Judged {
    let mut remarks = judged.remarks.clone();
    // What alters the build without need is told as that already.
    let is_told = |part: &Remark| {
        judged
            .remarks
            .iter()
            .any(|one| one.kind == RemarkKind::AltersBuild && one.file == part.file && holds(part, one))
    };
    remarks.extend(more.into_iter().filter(|part| !is_told(part)));
    let green = judged.judgement.verdict == Verdict::Green;
    if green && (runs > 0 || !remarks.is_empty()) {
        recorder.emit(&Event::Remarked { remarks, runs, duration_ms });
    }
    judged
}
