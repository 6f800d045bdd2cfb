//! The court is asked, and what it says is told.

use super::engine::{Engine, LifecycleError};
use super::leftovers;
use super::state::Phase;
use std::time::Duration;

use crate::config::{Minimise, OnRemark, Proof};
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::domain::proof::is_witnessed;
use crate::domain::remark::Remark;
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::trial::evidence::{self, Demand, Proven};
use crate::trial::needed::{self, Keep};
use crate::trial::{self, Bench, Judged};

/// The court's view of the run.
pub(super) fn bench<'e>(engine: &'e Engine<'_>) -> Bench<'e> {
    let (world, state) = (&engine.world, &engine.state);
    Bench {
        workspace: &world.workspace,
        tests: &world.tests,
        stop: &world.stop,
        clock: world.clock,
        guards: &world.guards,
        redactor: &world.redactor,
        import_roots: &world.import_roots,
        start: state.start.as_ref(),
        baseline: state.baseline.as_ref(),
        baseline_ms: state.baseline_ms,
        framework_seen: state.framework_seen.as_deref(),
        by_products: &state.by_products,
        touched: &state.touched,
        best_fixed: state.best.as_ref().map_or(0, |best| best.fixed.len()),
    }
}

/// What becomes of a green that no experiment was made on, and in which something could deceive a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unwitnessed {
    /// It is refused: a model wrote it.
    Refused,
    /// It is told: a person answers for it.
    Told,
}

/// Has a change judged.
pub(super) async fn run(
    engine: &mut Engine<'_>,
    tree: TreeId,
    unwitnessed: Unwitnessed,
) -> Result<Judged, LifecycleError> {
    let mut judged = trial::judge(&bench(engine), tree).await?;
    if judged.judgement.verdict == Verdict::Green {
        // The experiments begin with a clean tree: what this change left is named before it is gone.
        leftovers::collect(engine);
    }
    let proven = match demand(engine) {
        Some(demand) => evidence::prove(&bench(engine), &mut judged, demand).await?,
        None => None,
    };
    let witnessed = proven.as_ref().is_some_and(|proven| is_witnessed(&proven.evidence));
    if (!witnessed && unwitnessed == Unwitnessed::Refused) || engine.state.plan.safety.on_remark == OnRemark::Refuse {
        judged.refuse_remarked(engine.world.workspace.root());
    }
    tell(engine, &judged);
    if let Some(Proven { evidence: proof, runs, duration_ms }) = proven {
        engine.journal.emit(&Event::EvidenceGathered { proof, runs, duration_ms });
    }
    Ok(judged)
}

/// How much proof the configuration asks for, if any. Where nothing failed at the start there is nothing to prove.
fn demand(engine: &Engine<'_>) -> Option<Demand> {
    let was_green = matches!(&engine.state.phase, Phase::Ending { outcome: Outcome::AlreadyGreen, .. });
    if was_green && engine.state.baseline.as_ref().is_some_and(|start| start.failing.is_empty()) {
        return None;
    }
    let plan = &engine.state.plan;
    let required = match plan.safety.proof {
        Proof::Auto => false,
        Proof::Required => true,
        Proof::Off => return None,
    };
    Some(Demand { required, most: Duration::from_secs(60 * u64::from(plan.test.proof_minutes)) })
}

/// What reviewers should know: what was put back, how the tests ended, and why a green was refused.
fn tell(engine: &mut Engine<'_>, judged: &Judged) {
    let verdict = &judged.judgement.verdict;
    let mut messages = judged.put_back.clone();
    if !judged.rewritten.is_empty() {
        messages.push(format!("code under test had rewritten test files, put back: {}", judged.rewritten.join(", ")));
    }
    if let Verdict::Tampered { reason } = verdict {
        let (tier, iteration) = (engine.state.position.tier_index + 1, engine.state.iteration());
        messages.push(format!("the green of tier {tier}, iteration {iteration} was refused as tampered: {reason}"));
    }
    for message in messages {
        engine.journal.emit(&Event::Warning { message });
    }
    let run = &judged.run;
    engine.journal.emit(&Event::TestsFinished {
        exit: run.exit,
        kind: run.report.kind,
        verdict: trial::explained(verdict, &run.report),
        passed: trial::passed(&run.report),
        failed: trial::failed(&run.report),
        duration_ms: run.duration_ms,
    });
}

/// Has the parts of a green change found that green does not need; they are named to reviewers and stay, unless the configuration has them
/// dropped. The tests that the change adds are part of it again.
pub(super) async fn minimise(engine: &mut Engine<'_>, mut judged: Judged) -> Result<Judged, LifecycleError> {
    let mut added = std::mem::take(&mut judged.added);
    let keep = match engine.state.plan.safety.minimise {
        Minimise::Off => None,
        Minimise::Remark => Some(Keep::Whole),
        Minimise::Drop => Some(Keep::Smaller),
    };
    let found = match keep {
        Some(keep) => needed::look(&bench(engine), &judged, keep).await?,
        None => None,
    };
    let (runs, duration_ms) = found.as_ref().map_or((0, 0), |found| (found.runs, found.duration_ms));
    let mut not_needed = Vec::new();
    if let Some(found) = found {
        not_needed = found.not_needed;
        if keep == Some(Keep::Smaller) {
            let dropped = u32::try_from(not_needed.len()).unwrap_or(u32::MAX);
            let kept = found.parts.saturating_sub(dropped);
            engine.journal.emit(&Event::PatchMinimised { dropped, kept, runs, duration_ms });
            judged = found.smaller.unwrap_or(judged);
            not_needed.clear();
            added = added.in_files_of_tests();
        }
    }
    judged.added = added;
    judged = with_added_tests(engine, judged).await?;
    let runs = if keep == Some(Keep::Smaller) { 0 } else { runs };
    Ok(remarked(engine, judged, not_needed, runs, duration_ms))
}

/// Puts back the tests that a judged change adds; in a green one they are run first.
pub(super) async fn with_added_tests(engine: &mut Engine<'_>, mut judged: Judged) -> Result<Judged, LifecycleError> {
    if let Some(message) = trial::added::put_back(&bench(engine), &mut judged).await? {
        engine.journal.emit(&Event::Warning { message });
    }
    Ok(judged)
}

/// Names to reviewers what they should look at in a green change; what could deceive a runner stands first.
fn remarked(engine: &mut Engine<'_>, judged: Judged, more: Vec<Remark>, runs: u32, duration_ms: u64) -> Judged {
    let mut remarks = judged.remarks.clone();
    remarks.extend(more);
    let green = judged.judgement.verdict == Verdict::Green;
    if green && (runs > 0 || !remarks.is_empty()) {
        engine.journal.emit(&Event::Remarked { remarks, runs, duration_ms });
    }
    judged
}
