//! The ending: the tree put in order, the best patch kept, the last event.

use super::climb::{Climb, Rows};
use super::context::{Context, LifecycleError, paths};
use super::kept::{KEPT_AT_THE_END, KEPT_PATCH, ignore, keep_patch as keep_in_log, kept_under};
use super::leftovers;
use super::measured::Origin;
use super::recorder::Recorder;
use super::stage::Ending;
use super::state::Phase;
use super::yours;
use crate::domain::attempt::{Attempt, AttemptStatus, latest_errors};
use crate::domain::event::{DiffStat, Event, KeptChange, RunFinished};
use crate::domain::outcome::{Outcome, PASSES_BY_NOW};
use crate::domain::shell::quote_path;
use crate::domain::units::TreeId;
use crate::policy::candidate::Candidate;
use crate::report::gist;
use crate::workspace::Diff;
use std::collections::BTreeSet;

/// How many errors the report repeats.
const RECENT_ERRORS: usize = 5;

/// Leaves a fixed tree as it is. Restores the start of any other and keeps its best patch beside the audit log.
pub(super) async fn run(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    ending: &Ending,
) -> Result<Event, LifecycleError> {
    let outcome = &ending.outcome;
    if let Some(told) = context.world.only_hears {
        return Ok(Event::RunFinished(without_files(context, ending, told)));
    }
    let fixed = is_green(ending);
    let green = passes_with_change(ending);
    let last = green && *outcome != Outcome::Objected;
    let diff = best_diff(context, ending, last).await?;
    let climb = ending.climb();
    let tree =
        if fixed { climb.map(|climb| &climb.trees.current.tree) } else { ending.origin().map(|origin| &origin.tree) };
    // The tree first: whatever else fails, the user's files are in order.
    let yours = match climb {
        Some(climb) => yours::changed(context, climb).await,
        None => Vec::new(),
    };
    if yours.is_empty() {
        put_in_order(context, recorder, ending, tree.filter(|_| climb.is_some())).await?;
    } else {
        recorder.warn(yours::left_alone(&yours));
    }
    let best_patch = if fixed || diff.text.is_empty() { None } else { keep_patch(context, recorder, &diff.text) };
    // Where it is the best change as well, it is kept once.
    let unjudged = unjudged(recorder, ending).filter(|patch| *patch != context.world.redactor.redact_diff(&diff.text));
    let unjudged_patch = unjudged.as_ref().and_then(|patch| keep(context, recorder, "unjudged.patch", patch));
    let refused = refused(recorder, ending).filter(|_| !fixed);
    let refused_patch = refused.as_ref().and_then(|patch| keep(context, recorder, "refused.patch", patch));
    let other = unjudged.as_ref().or(refused.as_ref());
    let text = if diff.text.is_empty() { other.unwrap_or(&diff.text) } else { &diff.text };
    keep_in_log(context, recorder, KEPT_AT_THE_END, text);
    // The start's failures, if they were ever known.
    let at_first =
        || climb.map(|climb| climb.failing_at_first().to_vec()).filter(|_| ending.stop_reason != PASSES_BY_NOW);
    let still_failing = if fixed { Some(Vec::new()) } else { at_first() };
    // One that was pushed was judged green before.
    let pushed = is_pushed(ending, last);
    let green = green || pushed;
    let kept = climb.filter(|_| !fixed && !diff.stat.files.is_empty()).map(|climb| {
        let Candidate { fixed, breaks, .. } = best_candidate(climb, last);
        let fixed = fixed.iter().cloned().collect();
        Box::new(KeptChange { stat: diff.stat.clone(), green, pushed, fixed, breaks: *breaks })
    });
    let mended = fixed || last;
    Ok(Event::RunFinished(RunFinished {
        outcome: outcome.clone(),
        stop_reason: ending.stop_reason.clone(),
        recent_errors: climb
            .filter(|_| !mended)
            .map(|climb| recent_errors(&climb.rows, told_first(ending)))
            .unwrap_or_default(),
        still_failing,
        diff_stat: if fixed { diff.stat } else { DiffStat::default() },
        kept,
        best_patch,
        unjudged_patch,
        refused_patch,
        limited: ending.limited.clone().filter(|_| *outcome == Outcome::Parked).map(Box::new),
        active_ms: context.active_ms(),
        finished_at: context.world.clock.timestamp(),
    }))
}

/// Has the files that models wrote as `tree` has them, and those of the start that code under test rewrote as they were, unless the run is
/// green.
async fn put_in_order(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    ending: &Ending,
    tree: Option<&TreeId>,
) -> Result<(), LifecycleError> {
    let touched = ending.climb().map(|climb| &climb.trees.touched).filter(|touched| !touched.is_empty());
    if let (Some(tree), Some(touched)) = (tree, touched) {
        context.world.workspace.restore_paths(tree, &paths(touched)).await?;
    }
    if let Some(origin) = ending.origin().filter(|_| !is_green(ending)) {
        put_back_rewritten(context, recorder, origin).await?;
    }
    // Where it was put back, that is told below with all else that was.
    drop(context.world.workspace.mind_list()?);
    let none = BTreeSet::new();
    yours::tell(context, recorder, ending.origin().map_or(&none, |origin| &origin.by_products));
    leftovers::sweep(context, recorder);
    Ok(())
}

/// The change since the start of an iteration that a signal or a cap ended before it was judged, as the log keeps it. `None` where it made
/// none.
fn unjudged(recorder: &Recorder<'_>, ending: &Ending) -> Option<String> {
    let last = ending.climb()?.rows.all().next_back()?;
    let is_ended = matches!(ending.outcome, Outcome::Interrupted { .. } | Outcome::Budget);
    let is_cut_short = is_ended && last.test_status == AttemptStatus::Error && !last.is_broken();
    patch_of(recorder, last).filter(|_| is_cut_short)
}

/// The last change whose green was refused, as the log keeps it: a person may find it right. `None` where there was none.
fn refused(recorder: &Recorder<'_>, ending: &Ending) -> Option<String> {
    patch_of(recorder, ending.climb()?.rows.all().rev().find(|row| row.is_refused())?)
}

/// An iteration's change since the start of the run.
fn patch_of(recorder: &Recorder<'_>, row: &Attempt) -> Option<String> {
    let body = recorder.kept(KEPT_PATCH, &kept_under(row.tier_index, row.iteration))?;
    serde_json::from_str(&body).ok().filter(|patch: &String| !patch.is_empty())
}

/// The ending of a run whose files are elsewhere: what it changed is as it was told when it was parked.
fn without_files(context: &Context<'_>, ending: &Ending, told: &RunFinished) -> RunFinished {
    RunFinished {
        outcome: ending.outcome.clone(),
        stop_reason: ending.stop_reason.clone(),
        limited: None,
        active_ms: context.active_ms(),
        finished_at: context.world.clock.timestamp(),
        ..told.clone()
    }
}

/// Whether the run's tree is green here. One that is parked at a breakpoint waits with it, and one that is parked at a rate limit was in
/// the middle of its work.
fn is_green(ending: &Ending) -> bool {
    match &ending.outcome {
        Outcome::Fixed { .. } => true,
        Outcome::Parked => ending.limited.is_none() && !matches!(ending.resume_at, Some(Phase::Held { .. })),
        Outcome::AlreadyGreen
        | Outcome::Proposed { .. }
        | Outcome::Exhausted
        | Outcome::Stalled
        | Outcome::Blocked { .. }
        | Outcome::Objected
        | Outcome::Budget
        | Outcome::NoModel
        | Outcome::Refused { .. }
        | Outcome::Broken { .. }
        | Outcome::Interrupted { .. }
        | Outcome::Ended { .. } => false,
    }
}

/// Whether the tests were judged green with the run's last change, be it left in the files, and be it reviewed, or not.
fn passes_with_change(ending: &Ending) -> bool {
    let last = ending.climb().and_then(|climb| climb.rows.all().next_back());
    is_green(ending)
        || ending.outcome == Outcome::Objected
        || last.is_some_and(|row| row.test_status == AttemptStatus::Passed)
        || ending.climb().is_some_and(|climb| climb.trees.current.green)
}

/// The change of the best tree. The change of the last one where that is wanted, or when none was better than the start.
async fn best_diff(context: &Context<'_>, ending: &Ending, last: bool) -> Result<Diff, LifecycleError> {
    let Some(climb) = ending.climb() else { return Ok(Diff::default()) };
    let (start, tree) = (climb.start(), &best_candidate(climb, last).tree);
    if tree == start {
        return Ok(Diff::default());
    }
    Ok(context.world.workspace.diff(start, tree).await?)
}

/// The best tree. The last one where that is wanted, or when none was better than the start.
fn best_candidate(climb: &Climb, last: bool) -> &Candidate {
    let (best, current) = (&climb.trees.best, &climb.trees.current);
    if last || best.tree == *climb.start() { current } else { best }
}

/// Whether that tree is the one that the run pushed.
fn is_pushed(ending: &Ending, last: bool) -> bool {
    ending.climb().is_some_and(|climb| climb.delivered.tree.as_ref() == Some(&best_candidate(climb, last).tree))
}

/// Puts back files of the start that code under test rewrote by itself, and says which.
async fn put_back_rewritten(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    origin: &Origin,
) -> Result<(), LifecycleError> {
    let workspace = &context.world.workspace;
    let changed = workspace.changed_since(&origin.tree).await?;
    let mut rewritten: Vec<String> = changed.into_iter().filter(|path| !origin.by_products.contains(path)).collect();
    if rewritten.is_empty() {
        return Ok(());
    }
    // The output of a program that was started meanwhile, such as a new run after this one's backlog was killed.
    rewritten = workspace.not_written_now(rewritten);
    let unkept = workspace.unkept(&origin.tree, &workspace.snapshot().await?)?;
    if unkept.iter().any(|(_, was_there)| *was_there) {
        // A new one stays as well: it may be the old one by another name, and then it is the only copy.
        let left: Vec<String> = unkept.into_iter().map(|(path, _)| path).collect();
        rewritten.retain(|path| !left.contains(path));
        recorder.warn(format!("changed meanwhile, and too large to be put back: {}", yours::named(&left)));
    }
    if !rewritten.is_empty() {
        workspace.restore_paths(&origin.tree, &paths(&rewritten.iter().cloned().collect())).await?;
        recorder.warn(format!("changed while the tests ran, put back: {}", rewritten.join(", ")));
    }
    Ok(())
}

/// Writes `best.patch` into the run's folder. It is redacted, because a person may share it.
fn keep_patch(context: &Context<'_>, recorder: &mut Recorder<'_>, text: &str) -> Option<String> {
    let redacted = context.world.redactor.redact_diff(text).into_owned();
    keep(context, recorder, "best.patch", &redacted)
}

/// Writes a redacted patch into the run's folder. Returns its path. A run does not fail for it.
pub(super) fn keep(context: &Context<'_>, recorder: &mut Recorder<'_>, name: &str, redacted: &str) -> Option<String> {
    let folder = context.world.keep.join(context.charter.run_id.short());
    let path = folder.join(name);
    let write = || {
        std::fs::create_dir_all(&folder)?;
        ignore(&context.world.keep)?;
        std::fs::write(&path, redacted.as_bytes())
    };
    let written: std::io::Result<()> = write();
    let path = path.display().to_string();
    match written {
        Ok(()) => Some(path),
        Err(error) => {
            // Without its path, which means nothing to a reader who is elsewhere. The log has it all the same.
            let by_log = context.charter.plan.audit.as_ref().map_or_else(String::new, |log| {
                let (run, log) = (context.charter.run_id.short(), quote_path(log));
                format!("; `upshift show {run} --last-patch --audit-db {log}` prints it")
            });
            recorder.warn(format!("{name} could not be kept beside the log ({error}){by_log}"));
            None
        }
    }
}

/// The reason that a report's first line gives. That of a stall is the error that came again, which stands among the errors alone.
fn told_first(ending: &Ending) -> &str {
    if ending.outcome == Outcome::Stalled { "" } else { &ending.stop_reason }
}

/// The errors of the last iterations, the latest first, each once, and the last one alone of each test. The reason why the run ended is told
/// for itself.
fn recent_errors(rows: &Rows, reason: &str) -> Vec<String> {
    let mut errors: Vec<String> = Vec::new();
    let is_told = |message: &str| !reason.is_empty() && message.ends_with(reason);
    let messages = latest_errors(rows.all().rev()).into_iter();
    let messages = messages.filter(|message| !is_closing_line(message) && !is_told(message));
    for message in messages.map(gist::gist) {
        if !errors.contains(&message) && errors.len() < RECENT_ERRORS {
            errors.push(message);
        }
    }
    errors
}

/// How cargo ends after errors that it has told.
fn is_closing_line(message: &str) -> bool {
    message.starts_with("error: could not compile") || message.starts_with("error: aborting due to")
}
