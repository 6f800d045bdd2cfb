//! One iteration: fresh sessions, their change, the tests, the row, and what comes next.

mod past;
mod row;
mod unkept;
mod work;

use std::collections::BTreeSet;

use super::climb::{Climb, Sessions};
use super::commands::{self, At, Follows};
use super::context::{Context, LifecycleError, interrupted, paths};
use super::corrections;
use super::decision::{self, Decided};
use super::handoff;
use super::hold;
use super::judge::{self, Author};
use super::kept::{KEPT_TESTS, keep_patch, keep_text, kept_under};
use super::leaving::leave_tier;
use super::material;
use super::recorder::Recorder;
use super::roles::{self, Cap, Halt, RolesEnd};
use super::stage::Next;
use super::table::Table;
use super::targets;
use crate::agent::LastIteration;
use crate::domain::attempt::{Attempt, NOTHING_CHANGED, TierExit};
use crate::domain::blocker::Blocker;
use crate::domain::event::Event;
use crate::domain::foreign::Foreign;
use crate::domain::ladder::{Mode, Tier};
use crate::domain::outcome::Outcome;
use crate::domain::session_exit::SessionExit;
use crate::domain::stop::StopCause;
use crate::domain::verdict::Verdict;
use crate::policy::candidate::Candidate;
use crate::policy::escalation::{self, Decision, Observation};
use crate::policy::handover;
use crate::session::Memory;
use crate::trial::{self, Judged};
use crate::workspace::patch_hash;
use work::Work;

/// Begins the next iteration, or ends the run when a cap is reached.
pub(super) async fn begin(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    memory: &Memory,
    mut climb: Climb,
) -> Next {
    if let Some(signal) = context.signal() {
        let (outcome, reason) = interrupted(signal);
        return Next::end(climb, outcome, reason, Vec::new());
    }
    // Read before the budget is looked at: a comment may have raised it.
    if let Follows::Stop(reason) = commands::read(context, recorder, memory, &mut climb, At::Between).await {
        return commands::stop(context, climb, reason);
    }
    if context.world.wrap_up.wished() == Some(StopCause::Asked) {
        // The comment was seen while the model worked, and cannot be read any more.
        return commands::stop(context, climb, commands::stopped_by("somebody"));
    }
    if let Some(reason) = climb.over_budget(context, recorder) {
        let exit = TierExit::BudgetExhausted;
        let events = leave_tier(&context.charter, &mut climb, exit, Some(reason.clone()));
        return Next::end(climb, Outcome::Budget, reason, events);
    }
    let mut events = Vec::new();
    if climb.position.iterations == 0 {
        events.push(enter_tier(&mut climb));
    }
    climb.run_iterations += 1;
    events.push(Event::IterationStarted {
        tier_index: climb.position.tier_index,
        iteration: climb.iteration(),
        run_iteration: climb.run_iterations,
    });
    events.extend(climb.budget_warnings(context, recorder));
    Next::iterating(climb, events)
}

/// A tier starts from the best tree so far, with the history of the tiers below.
fn enter_tier(climb: &mut Climb) -> Event {
    let trees = &mut climb.trees;
    // The files stand as `current` does. Where `best` is another tree, they are put back before anybody works.
    trees.on_disk &= trees.current.tree == trees.best.tree;
    trees.current = trees.best.clone();
    let handover = handover::build(&climb.rows.prior);
    Event::TierStarted {
        tier_index: climb.position.tier_index,
        handover_chars: u32::try_from(handover.summary.chars().count()).unwrap_or(u32::MAX),
        dropped_tiers: handover.dropped_tiers,
        tree: climb.trees.best.tree.clone(),
    }
}

/// Runs the iteration under way, writes its row and decides what comes next.
pub(super) async fn run(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    sessions: &mut Sessions,
    mut climb: Climb,
) -> Result<Next, LifecycleError> {
    let began = context.world.clock.monotonic_ms();
    let tier = climb.tier(&context.charter);
    let tier = tier.ok_or_else(|| LifecycleError::State("the ladder has no such tier".to_owned()))?;
    if !climb.trees.on_disk {
        let files = paths(&climb.trees.touched);
        context.world.workspace.restore_paths(&climb.trees.current.tree, &files).await?;
        climb.trees.on_disk = true;
    }
    let work = work(context, recorder, sessions, &mut climb, tier).await?;
    Ok(conclude((context, recorder), &sessions.memory, climb, tier, work, began))
}

/// The sessions and the judge of one iteration. Of the climb only the paths that were written change.
async fn work(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    sessions: &mut Sessions,
    climb: &mut Climb,
    tier: &Tier,
) -> Result<Work, LifecycleError> {
    let workspace = &context.world.workspace;
    let mut material = material::compose(context, climb);
    let mut table = Table { context, recorder, sessions, climb, tier };
    let ends = roles::change(&mut table, &mut material).await;
    if let Some(artisan) = &ends.artisan {
        corrections::tell(context, recorder, climb.start(), artisan)?;
    }
    let current = climb.trees.current.clone();
    let wrote = written(context, &current, &ends).await?;
    let wrote = unkept::without(context, recorder, &current.tree, wrote).await?;
    // The paths of all iterations: restoring a tree would leave files behind that an earlier iteration made.
    climb.trees.touched.extend(wrote.iter().cloned());
    let climb = &*climb;
    let tree = if wrote.is_empty() {
        current.tree.clone()
    } else {
        workspace.snapshot_paths(&current.tree, &climb.trees.touched).await?
    };
    let changed = tree != current.tree;
    let start = climb.start();
    let diff = workspace.diff(start, &tree).await?;
    // A green tree to which a critic objected is reviewed and judged again, also when nothing was changed.
    let pending = tree != *start && current.failing.is_empty() && !current.lost && !current.fixed.is_empty();
    let due = changed || pending;
    let mut halt = ends.halt.clone();
    let mut critic = None;
    if due && tier.mode == Mode::Full && may_go_on(halt.as_ref()) {
        let shown = Foreign::capped(&context.world.redactor.redact_diff(&diff.text), 4 * material::DIFF_CHARS);
        let mut table = Table { context, recorder, sessions, climb, tier };
        let end = roles::review(&mut table, &material, (&tree, &shown), &ends).await;
        halt = halt.or_else(|| {
            // A critic that is blocked or never gets a call right costs its review alone: the tests still judge.
            roles::halt_of(&end.report).filter(|halt| !matches!(halt, Halt::Blocked { .. } | Halt::Unusable(_)))
        });
        critic = Some(end);
    }
    let stopped = matches!(halt, Some(Halt::Stopped(_)));
    // Whoever asks for an end waits for the tests and their proof as well, not only for a session.
    let judging = context.world.wrap_up.judging();
    let judged = if due && !stopped {
        Some(judge::run(context, recorder, climb, tree.clone(), Author::Model).await?)
    } else {
        None
    };
    let approved = critic.as_ref().is_none_or(|end| roles::objections(&end.report).is_empty());
    let judged = match judged {
        Some(judged) if approved => Some(judge::minimise(context, recorder, climb, judged).await?),
        Some(judged) => Some(judge::with_added_tests(context, recorder, climb, judged).await?),
        None => None,
    };
    drop(judging);
    let judged_tree = judged.as_ref().map_or(&tree, |judged| &judged.candidate.tree);
    let diff = if *judged_tree == tree { diff } else { workspace.diff(start, judged_tree).await? };
    if let Some(cause) = judged.as_ref().and_then(|judged| judged.run.stopped) {
        // The verdict of tests that were cut short says nothing.
        halt = Some(Halt::Stopped(cause));
    }
    if halt.is_none() && approved && judged.as_ref().is_some_and(|one| one.judgement.verdict == Verdict::Green) {
        let shown = Foreign::capped(&context.world.redactor.redact_diff(&diff.text), 4 * material::DIFF_CHARS);
        handoff::write(&mut Table { context, recorder, sessions, climb, tier }, &material, &shown, &ends).await;
    }
    Ok(Work { ends, critic, halt, judged, diff, changed })
}

/// The paths that the artisan wrote.
async fn written(
    context: &Context<'_>,
    current: &Candidate,
    ends: &RolesEnd,
) -> Result<BTreeSet<String>, LifecycleError> {
    let workspace = &context.world.workspace;
    let Some(artisan) = &ends.artisan else { return Ok(BTreeSet::new()) };
    let mut wrote: BTreeSet<String> = artisan.wrote.iter().cloned().collect();
    if artisan.commands_ran > 0 {
        // What an allowed command (a formatter, a generator) did to files that were there belongs to the change.
        let changed = workspace.changed_since(&current.tree).await?;
        wrote.extend(changed.into_iter().filter(|path| workspace.protected(path.as_ref()).is_none()));
    }
    Ok(wrote)
}

/// Whether more money may be spent on an iteration that a session ended early.
fn may_go_on(halt: Option<&Halt>) -> bool {
    matches!(halt, None | Some(Halt::Unusable(_)))
}

/// The row, the decision and everything that follows from it.
fn conclude(
    (context, recorder): (&Context<'_>, &mut Recorder<'_>),
    memory: &Memory,
    mut climb: Climb,
    tier: &Tier,
    work: Work,
    began: u64,
) -> Next {
    let objections = work.critic.as_ref().map(|end| roles::objections(&end.report)).unwrap_or_default();
    let observation = observe(&work, &objections, &climb.trees.best);
    let attempt = row::attempt((context, recorder), &climb, tier, &work, &observation, &objections, began);
    let tier_index = climb.position.tier_index;
    let above = targets::above(context, &climb, memory);
    let step = escalation::step(&climb.allowance.rules, &mut climb.position, &observation, &above);
    // Before there is a row: an iteration that parks is not over, and is done anew once a model can be asked again.
    if step.decision == Decision::Park {
        return targets::park(context, climb, memory, tier, row::tier_reason(work.halt.as_ref()));
    }
    keep(context, recorder, &work, &attempt);
    climb.rows.attempts.push(attempt.clone());
    if let Some(past) = past::iteration(context, &work, &attempt, &objections) {
        climb.rows.keep_in_mind(past);
    }
    remember(context, &mut climb, &work, objections);
    let mut events = vec![Event::IterationFinished(attempt)];
    if let Some(entropy) = step.entropy {
        let threshold = climb.allowance.rules.entropy_threshold;
        let (signature, said) = (entropy.signature, context.redact(&entropy.said));
        events.push(Event::EntropyDetected { signature, said, count: entropy.count, threshold });
    }
    let ends = [&work.ends.librarian, &work.ends.artisan, &work.critic].into_iter().flatten();
    // A report that was used again closes no session.
    let sessions = ends.filter(|end| end.turns > 0 || end.exit != SessionExit::FinalAnswer).count();
    events.push(Event::ContextReset {
        run_iteration: climb.run_iterations,
        sessions_closed: u32::try_from(sessions).unwrap_or(u32::MAX),
    });
    events.extend(climb.budget_warnings(context, recorder));
    let reason = row::tier_reason(work.halt.as_ref()).or_else(|| no_progress(&step.decision, &work));
    // Before the decision is carried out, which would end the run.
    if let Some(blocked) = waits_for(context, &climb, &step.decision, work.halt.as_ref()) {
        return hold::reach(context, climb, blocked, events);
    }
    let decided = Decided { decision: step.decision, tier_index, reason, events };
    decision::act(context, recorder, memory, climb, decided)
}

/// The reason and the blockers that a run that would end as blocked can wait for instead.
fn waits_for(
    context: &Context<'_>,
    climb: &Climb,
    decision: &Decision,
    halt: Option<&Halt>,
) -> Option<(String, Vec<Blocker>)> {
    let Decision::End { exit: TierExit::Blocked, .. } = decision else { return None };
    let Some(Halt::Blocked { reason, on }) = halt else { return None };
    hold::worth_waiting_for(context, climb, on).map(|on| (context.redact(reason), on))
}

/// Keeps what the tests printed and what was changed, for a person who looks into the run.
fn keep(context: &Context<'_>, recorder: &mut Recorder<'_>, work: &Work, attempt: &Attempt) {
    let under = kept_under(attempt.tier_index, attempt.iteration);
    keep_patch(context, recorder, &under, &work.diff.text);
    if let Some(judged) = &work.judged {
        keep_text(recorder, KEPT_TESTS, &under, &context.redact(&judged.run.output));
    }
}

/// The reason for no progress where it is not that the same patch came twice.
fn no_progress(decision: &Decision, work: &Work) -> Option<String> {
    let exit = match decision {
        Decision::Iterate | Decision::Park => return None,
        Decision::Escalate { exit } | Decision::End { exit, .. } => *exit,
    };
    (exit == TierExit::NoProgress && !work.changed).then(|| NOTHING_CHANGED.to_owned())
}

/// Keeps the state that the next iteration of this tier, and the next tier, will build on.
fn remember(context: &Context<'_>, climb: &mut Climb, work: &Work, objections: Vec<Foreign>) {
    // A judging run that was cut short says nothing: a resumed run does the iteration's work anew, from where it began,
    // or the next artisan would find its change already made and leave it unjudged.
    let Some(judged) = work.judged.as_ref().filter(|judged| judged.run.stopped.is_none()) else { return };
    let green = judged.judgement.verdict == Verdict::Green;
    let (candidate, trees) = (Candidate { green, ..judged.candidate.clone() }, &mut climb.trees);
    if candidate.beats(&trees.best) {
        trees.best = candidate.clone();
    }
    let refused = matches!(judged.judgement.verdict, Verdict::Tampered { .. });
    climb.rows.last = Some(LastIteration {
        diff: Foreign::capped(&context.world.redactor.redact_diff(&work.diff.text), material::DIFF_CHARS),
        taken_back: refused,
        result: Foreign::new(&context.redact(&verdict_line(&judged.judgement.verdict, judged))),
        objections,
    });
    if refused {
        // What was refused is taken back, or it would lie under everything that comes after it.
        trees.on_disk = false;
    } else {
        trees.current = candidate;
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

fn observe(work: &Work, objections: &[Foreign], best: &Candidate) -> Observation {
    // First: tests that a signal cut short have no verdict to go by.
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
        Some(Halt::Blocked { reason, .. }) => Observation::Blocked { reason: reason.clone() },
        Some(Halt::NoModel { why, .. }) => Observation::NoModel { why: *why },
        Some(Halt::Budget(Cap::Tier, _)) => Observation::TierBudget,
        Some(Halt::Budget(Cap::Run, _) | Halt::Stopped(StopCause::TimeUp)) => Observation::RunBudget,
        // A stop that somebody asked for is no reason to lose this iteration's row: `begin` ends the run before the next one.
        Some(Halt::Stopped(StopCause::Signal(_) | StopCause::Asked | StopCause::OwnTime(_)) | Halt::Unusable(_))
        | None => not_green(work, best),
    }
}

fn not_green(work: &Work, best: &Candidate) -> Observation {
    match &work.judged {
        Some(judged) => Observation::NotGreen {
            signature: Some(trial::signature(&judged.run.report, &judged.judgement.verdict)),
            patch: Some(patch_hash(&work.diff)),
            progress: judged.candidate.beats(best),
        },
        // A model that says it is done and changed nothing will do so again; one that said nothing may not.
        None if work.halt.is_none() => {
            Observation::NotGreen { signature: None, patch: Some(patch_hash(&work.diff)), progress: false }
        }
        // A model that refuses, or that never gets a call right, will do so again: the same words three times are a stall.
        None => Observation::NotGreen { signature: row::halt_words(work.halt.as_ref()), patch: None, progress: false },
    }
}
