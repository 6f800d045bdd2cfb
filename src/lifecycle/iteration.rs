//! One iteration: fresh sessions, their change, the tests, the row, and what comes next.

mod past;
mod row;
mod work;

use super::commands::{self, At, Follows};
use super::corrections;
use super::decision;
use super::engine::{Engine, LifecycleError, interrupted, paths};
use super::judge::{self, Unwitnessed};
use super::kept::{KEPT_TESTS, keep_patch, keep_text, kept_under};
use super::leaving::leave_tier;
use super::material;
use super::roles::{self, Cap, Halt, RolesEnd};
use super::state::Phase;
use super::targets;
use crate::agent::{LastIteration, Material};
use crate::domain::attempt::{Attempt, NOTHING_CHANGED, TierExit};
use crate::domain::event::Event;
use crate::domain::foreign::Foreign;
use crate::domain::ladder::{Mode, Tier};
use crate::domain::outcome::Outcome;
use crate::domain::stop::StopCause;
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::policy::candidate::Candidate;
use crate::policy::escalation::{self, Decision, Observation};
use crate::policy::handover;
use crate::session::SessionEnd;
use crate::trial::{self, Judged};
use crate::workspace::{Diff, patch_hash};
use work::Work;

/// Begins the next iteration, or ends the run when a cap is reached.
pub(super) async fn begin(engine: &mut Engine<'_>) -> Result<(), LifecycleError> {
    if let Some(signal) = engine.signal() {
        let (outcome, reason) = interrupted(signal);
        engine.end_with(outcome, reason, &[]);
        return Ok(());
    }
    if let Follows::Stop(by) = commands::read(engine, At::Between).await {
        commands::stop(engine, &by);
        return Ok(());
    }
    if engine.world.wrap_up.wished() == Some(StopCause::Asked) {
        // The comment was seen while the model worked, and cannot be read any more.
        commands::stop(engine, "somebody");
        return Ok(());
    }
    if let Some(reason) = engine.over_budget() {
        let events = leave_tier(engine, TierExit::BudgetExhausted, Some(reason.clone()));
        engine.end_with(Outcome::Budget, reason, &events);
        return Ok(());
    }
    let mut events = Vec::new();
    let tier_index = engine.state.position.tier_index;
    if engine.state.position.iterations == 0 {
        events.push(enter_tier(engine)?);
    }
    engine.state.run_iterations += 1;
    engine.state.phase = Phase::Iterating;
    events.push(Event::IterationStarted {
        tier_index,
        iteration: engine.state.iteration(),
        run_iteration: engine.state.run_iterations,
    });
    events.extend(engine.budget_warnings());
    engine.record(&events);
    Ok(())
}

/// A tier starts from the best tree so far, with the history of the tiers below.
fn enter_tier(engine: &mut Engine<'_>) -> Result<Event, LifecycleError> {
    let best = engine.state.best.clone().ok_or_else(|| LifecycleError::State("there is no baseline".to_owned()))?;
    if engine.state.current.as_ref().is_none_or(|current| current.tree != best.tree) {
        engine.tree_is_current = false;
    }
    let handover = handover::build(&engine.state.prior);
    let event = Event::TierStarted {
        tier_index: engine.state.position.tier_index,
        handover_chars: u32::try_from(handover.summary.chars().count()).unwrap_or(u32::MAX),
        dropped_tiers: handover.dropped_tiers,
        tree: best.tree.clone(),
    };
    engine.state.current = Some(best);
    Ok(event)
}

/// Runs the iteration under way, writes its row and decides what comes next.
pub(super) async fn run(engine: &mut Engine<'_>) -> Result<(), LifecycleError> {
    let began = engine.world.clock.monotonic_ms();
    let tier = engine.state.tier().cloned();
    let tier = tier.ok_or_else(|| LifecycleError::State("the ladder has no such tier".to_owned()))?;
    let current = engine.state.current.clone();
    let current = current.ok_or_else(|| LifecycleError::State("there is no tree to build on".to_owned()))?;
    put_tree(engine, &current.tree).await?;
    let work = work(engine, &tier, &current).await?;
    conclude(engine, &tier, work, began);
    Ok(())
}

/// Makes the files those of the tier's tree, if they may not be.
async fn put_tree(engine: &mut Engine<'_>, tree: &TreeId) -> Result<(), LifecycleError> {
    if !engine.tree_is_current {
        engine.world.workspace.restore_paths(tree, &paths(&engine.state.touched)).await?;
        engine.tree_is_current = true;
    }
    Ok(())
}

async fn work(engine: &mut Engine<'_>, tier: &Tier, current: &Candidate) -> Result<Work, LifecycleError> {
    let mut material = material::compose(engine, current);
    let ends = roles::change(engine, tier, &mut material, current).await;
    if let Some(artisan) = &ends.artisan {
        corrections::tell(engine, artisan)?;
    }
    let mut wrote = ends.artisan.as_ref().map(|end| end.wrote.clone()).unwrap_or_default();
    if ends.artisan.as_ref().is_some_and(|end| end.commands_ran > 0) {
        // What an allowed command (a formatter, a generator) did to files that were there belongs to the change.
        let changed = engine.world.workspace.changed_since(&current.tree).await?;
        wrote.extend(changed.into_iter().filter(|path| engine.world.workspace.protected(path.as_ref()).is_none()));
    }
    engine.state.touched.extend(wrote.iter().cloned());
    let tree = if wrote.is_empty() {
        current.tree.clone()
    } else {
        engine.world.workspace.snapshot_paths(&current.tree, &engine.state.touched).await?
    };
    let changed = tree != current.tree;
    let start = engine.state.start.clone().unwrap_or_else(|| current.tree.clone());
    let diff = engine.world.workspace.diff(&start, &tree).await?;
    // A green tree to which a critic objected is reviewed and judged again, also when nothing was changed.
    let pending = tree != start && current.failing.is_empty() && !current.lost && !current.fixed.is_empty();
    let due = changed || pending;
    let mut halt = ends.halt.clone();
    let mut critic = None;
    if due && tier.mode == Mode::Full && may_go_on(halt.as_ref()) {
        let end = review(engine, tier, &material, &diff, &ends).await;
        halt = halt.or_else(|| {
            roles::halt_of(&end.report).filter(|halt| !matches!(halt, Halt::Blocked(_) | Halt::Unusable(_)))
        });
        critic = Some(end);
    }
    let stopped = matches!(halt, Some(Halt::Stopped(_)));
    let judged =
        if due && !stopped { Some(judge::run(engine, tree.clone(), Unwitnessed::Refused).await?) } else { None };
    let approved = critic.as_ref().is_none_or(|end| roles::objections(&end.report).is_empty());
    let judged = match judged {
        Some(judged) if approved => Some(judge::minimise(engine, judged).await?),
        Some(judged) => Some(judge::with_added_tests(engine, judged).await?),
        None => None,
    };
    let judged_tree = judged.as_ref().map_or(&tree, |judged| &judged.candidate.tree);
    let diff = if *judged_tree == tree { diff } else { engine.world.workspace.diff(&start, judged_tree).await? };
    if let Some(cause) = judged.as_ref().and_then(|judged| judged.run.stopped) {
        halt = Some(Halt::Stopped(cause));
    }
    Ok(Work { ends, critic, halt, judged, diff, changed })
}

/// Whether more money may be spent on an iteration that a session ended early.
fn may_go_on(halt: Option<&Halt>) -> bool {
    matches!(halt, None | Some(Halt::Unusable(_)))
}

async fn review(engine: &mut Engine<'_>, tier: &Tier, material: &Material, diff: &Diff, ends: &RolesEnd) -> SessionEnd {
    let shown = Foreign::capped(&engine.world.redactor.redact_diff(&diff.text), 4 * material::DIFF_CHARS);
    roles::review(engine, tier, material, &shown, ends).await
}

/// The row, the decision and everything that follows from it, made durable at once.
fn conclude(engine: &mut Engine<'_>, tier: &Tier, work: Work, began: u64) {
    let objections = work.critic.as_ref().map(|end| roles::objections(&end.report)).unwrap_or_default();
    let observation = observe(&work, &objections, engine.state.best.as_ref());
    let attempt = row::attempt(engine, tier, &work, &observation, &objections, began);
    let tier_index = engine.state.position.tier_index;
    let (rules, above) = (engine.state.rules(), targets::above(engine));
    let step = escalation::step(&rules, &mut engine.state.position, &observation, &above);
    if step.decision == Decision::Park {
        return targets::park(engine, tier, row::tier_reason(work.halt.as_ref()));
    }
    keep(engine, &work, &attempt);
    engine.state.attempts.push(attempt.clone());
    if let Some(past) = past::iteration(engine, &work, &attempt, &objections) {
        engine.state.keep_in_mind(past);
    }
    remember(engine, &work, objections);
    let mut events = vec![Event::IterationFinished(attempt)];
    if let Some(entropy) = step.entropy {
        let escalation::Rules { entropy_threshold: threshold, .. } = rules;
        events.push(Event::EntropyDetected { signature: entropy.signature, count: entropy.count, threshold });
    }
    let sessions = [&work.ends.librarian, &work.ends.artisan, &work.critic].into_iter().flatten().count();
    events.push(Event::ContextReset {
        run_iteration: engine.state.run_iterations,
        sessions_closed: u32::try_from(sessions).unwrap_or(u32::MAX),
    });
    events.extend(engine.budget_warnings());
    let reason = row::tier_reason(work.halt.as_ref()).or_else(|| no_progress(&step.decision, &work));
    decision::act(engine, step.decision, tier_index, reason, events);
}

/// Keeps what the tests printed and what was changed, for a person who looks into the run.
fn keep(engine: &mut Engine<'_>, work: &Work, attempt: &Attempt) {
    let under = kept_under(attempt.tier_index, attempt.iteration);
    keep_patch(engine, &under, &work.diff.text);
    if let Some(judged) = &work.judged {
        let printed = engine.world.redactor.redact(&judged.run.output).into_owned();
        keep_text(engine, KEPT_TESTS, &under, &printed);
    }
}

/// What no progress means where it is not that the same patch came twice.
fn no_progress(decision: &Decision, work: &Work) -> Option<String> {
    let exit = match decision {
        Decision::Iterate | Decision::Park => return None,
        Decision::Escalate { exit } | Decision::End { exit, .. } => *exit,
    };
    (exit == TierExit::NoProgress && !work.changed).then(|| NOTHING_CHANGED.to_owned())
}

/// What the next iteration of this tier, and the next tier, will build on.
fn remember(engine: &mut Engine<'_>, work: &Work, objections: Vec<Foreign>) {
    // A judging run that was cut short says nothing: a resumed run does the iteration's work anew, from where it began,
    // or the next artisan would find its change already made and leave it unjudged.
    let Some(judged) = work.judged.as_ref().filter(|judged| judged.run.stopped.is_none()) else { return };
    let candidate = judged.candidate.clone();
    if engine.state.best.as_ref().is_none_or(|best| candidate.beats(best)) {
        engine.state.best = Some(candidate.clone());
    }
    let refused = matches!(judged.judgement.verdict, Verdict::Tampered { .. });
    let redact = |text: &str| engine.world.redactor.redact(text).into_owned();
    engine.state.last = Some(LastIteration {
        diff: Foreign::capped(&engine.world.redactor.redact_diff(&work.diff.text), material::DIFF_CHARS),
        taken_back: refused,
        result: Foreign::new(&redact(&verdict_line(&judged.judgement.verdict, judged))),
        objections,
    });
    if refused {
        // What was refused is taken back, or it would lie under everything that comes after it.
        engine.tree_is_current = false;
    } else {
        engine.state.current = Some(candidate);
    }
}

fn verdict_line(verdict: &Verdict, judged: &Judged) -> String {
    let (fixed, failing) = (judged.judgement.fixed.len(), judged.candidate.failing.len());
    let reason = verdict.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
    if matches!(verdict, Verdict::Tampered { .. }) {
        return format!(
            "REFUSED, tampered{reason}. The change was taken back: make the code right, and leave tests and runner alone"
        );
    }
    format!(
        "{}{reason}; {failing} tests fail, {fixed} of the tests that failed at the start were seen passing",
        verdict.as_str()
    )
}

fn observe(work: &Work, objections: &[Foreign], best: Option<&Candidate>) -> Observation {
    if let Some(Halt::Stopped(StopCause::Signal(signal))) = work.halt {
        return Observation::Interrupted { signal };
    }
    let verdict = work.judged.as_ref().map(|judged| &judged.judgement.verdict);
    if verdict == Some(&Verdict::Green) && work.halt.as_ref().is_none_or(|halt| matches!(halt, Halt::Unusable(_))) {
        return if objections.is_empty() { Observation::Green } else { Observation::Rejected };
    }
    // Green although the artisan's session was cut short: nothing is left to pay for, unless a review is due.
    if verdict == Some(&Verdict::Green) && work.critic.is_none() && work.ends.librarian.is_none() {
        return Observation::Green;
    }
    match &work.halt {
        Some(Halt::Blocked(reason)) => Observation::Blocked { reason: reason.clone() },
        Some(Halt::NoModel { why, .. }) => Observation::NoModel { why: *why },
        Some(Halt::Budget(Cap::Tier, _)) => Observation::TierBudget,
        Some(Halt::Budget(Cap::Run, _) | Halt::Stopped(StopCause::TimeUp)) => Observation::RunBudget,
        Some(Halt::Stopped(StopCause::Signal(_) | StopCause::Asked) | Halt::Unusable(_)) | None => {
            not_green(work, best)
        }
    }
}

fn not_green(work: &Work, best: Option<&Candidate>) -> Observation {
    match &work.judged {
        Some(judged) => Observation::NotGreen {
            signature: Some(trial::signature(&judged.run.report, &judged.judgement.verdict)),
            patch: Some(patch_hash(&work.diff)),
            progress: best.is_some_and(|best| judged.candidate.beats(best)),
        },
        // A model that says it is done and changed nothing will do so again; one that said nothing may not.
        None if work.halt.is_none() => {
            Observation::NotGreen { signature: None, patch: Some(patch_hash(&work.diff)), progress: false }
        }
        // A model that refuses, or that never gets a call right, will do so again: the same words three times are a stall.
        None => Observation::NotGreen { signature: row::halt_words(work.halt.as_ref()), patch: None, progress: false },
    }
}
