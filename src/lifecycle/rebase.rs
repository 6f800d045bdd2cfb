//! Somebody pushed while the run was at work: the fix is put on top of that, the tests and the court judge it once more, and only then it
//! is pushed.
//!
//! Invariants: the pushed change was seen green on the very files that it lands on. The checkout is left as it was, with the fix and
//! without what somebody else pushed. A process killed in between begins this leg again.

use std::path::PathBuf;
use std::sync::Arc;

use super::climb::Climb;
use super::context::{Context, LifecycleError, paths};
use super::judge::{self, Author};
use super::leaving::{conclude_there, interrupt, stuck};
use super::measured::{Measured, Origin};
use super::outside::Outside;
use super::publish;
use super::recorder::Recorder;
use super::stage::{Leg, Next};
use super::state::Fix;
use crate::domain::event::Event;
use crate::domain::stop::StopCause;
use crate::domain::units::{CommitSha, TreeId};
use crate::domain::verdict::Verdict;
use crate::trial::Judged;
use crate::workspace::publish::{PublishError, Rebased, Surroundings};

/// Judges the fix on top of the branch's head.
pub(super) async fn run(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    mut climb: Climb,
    fix: Fix,
) -> Result<Next, LifecycleError> {
    let (Some(outside), Some(destination)) = (context.world.outside, &context.charter.destination) else {
        return Ok(stuck(&context.charter, climb, "there is nowhere to push to".to_owned()));
    };
    let branch = fix.branch.clone().unwrap_or_else(|| destination.branch.clone());
    let parent = fix.onto.clone().unwrap_or_else(|| climb.delivered.parent(destination));
    let (head, Rebased { start, fix: tree, files }) =
        match moved(context, outside, (&climb, &fix), (&branch, &parent)).await {
            Ok(found) => found,
            Err(error) => return Ok(publish::barred(context, climb, (Leg::Rebase, fix), &error).await),
        };
    let short = head.short().to_owned();
    let begun = format!(
        "somebody pushed {short} to {branch} meanwhile: the tests run on that alone, then with the fix on top of it"
    );
    recorder.warn(context.redact(&begun));
    // Their push alone first: where the tests pass with it nothing of ours is needed, whether or not it fits.
    let theirs = judged(context, recorder, (&mut climb, &fix), (&start, &start, Author::Another), &files).await?;
    if theirs.judgement.verdict == Verdict::Green {
        return Ok(conclude_there(&context.charter, climb, &fix));
    }
    if let Some(StopCause::Signal(signal)) = context.signals() {
        return Ok(interrupt(climb, Leg::Rebase(fix), signal));
    }
    let tree = match tree {
        Ok(tree) => tree,
        Err(PublishError::Conflict { path, why }) => {
            return Ok(stuck(&context.charter, climb, context.redact(&no_fit(&head, &branch, (&path, &why)))));
        }
        Err(error) => return Ok(publish::barred(context, climb, (Leg::Rebase, fix), &error).await),
    };
    let judged = judged(context, recorder, (&mut climb, &fix), (&start, &tree, Author::Model), &files).await?;
    if judged.judgement.verdict != Verdict::Green {
        if let Some(StopCause::Signal(signal)) = context.signals() {
            return Ok(interrupt(climb, Leg::Rebase(fix), signal));
        }
        let verdict = &judged.judgement.verdict;
        let why = verdict.reason().map(|reason| format!(" ({reason})")).unwrap_or_default();
        let reason = format!(
            "somebody pushed {short} to {branch} meanwhile, and on top of that the fix is {}{why}; nothing was pushed",
            verdict.as_str()
        );
        return Ok(stuck(&context.charter, climb, context.redact(&reason)));
    }
    let message = format!("the fix was put on top of {short}: tests and proof hold there");
    let started = Event::PublishStarted { branch, parent: head.clone() };
    let fix = Fix { onto: Some(head), rebased: fix.rebased + 1, ..fix };
    Ok(Next::deliver(climb, Leg::Publish(fix), vec![Event::Warning { message: context.redact(&message) }, started]))
}

/// Why a fix is not pushed that changes what somebody else changed, and what helps.
fn no_fit(head: &CommitSha, branch: &str, (path, why): (&str, &str)) -> String {
    format!(
        "somebody pushed {} to {branch} meanwhile, and the fix does not fit on top of that: {path} ({why}); nothing was pushed \
         → Fix: start upshift again, on what is there now",
        head.short()
    )
}

/// The branch's head, and the start and the fix with what was pushed since.
async fn moved(
    context: &Context<'_>,
    outside: &Outside,
    (climb, fix): (&Climb, &Fix),
    (branch, parent): (&str, &CommitSha),
) -> Result<(CommitSha, Rebased), PublishError> {
    let workspace = &context.world.workspace;
    let around = Surroundings { environment: &outside.environment, stop: &outside.signals };
    let gone = || PublishError::Gone { branch: branch.to_owned() };
    let head = workspace.remote_head(&outside.remote, branch, around).await?.ok_or_else(gone)?;
    let rebased = workspace.rebased(&outside.remote, (parent, &head), (climb.start(), &fix.tree), around).await?;
    Ok((head, rebased))
}

/// Has a state judged over another start. The files are as before when this returns.
async fn judged(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    (climb, fix): (&mut Climb, &Fix),
    (start, tree, author): (&TreeId, &TreeId, Author),
    pushed: &[PathBuf],
) -> Result<Judged, LifecycleError> {
    let workspace = &context.world.workspace;
    let mut files = paths(&climb.trees.touched);
    // The files that somebody pushed are in the checkout only while the fix is judged over them.
    files.extend(pushed.iter().cloned());
    workspace.restore_paths(tree, &files).await?;
    let measured = Arc::clone(&climb.measured);
    let origin = Origin { tree: start.clone(), ..measured.origin.clone() };
    climb.measured = Arc::new(Measured { origin, ..(*measured).clone() });
    let judged = judge::run(context, recorder, climb, tree.clone(), author).await;
    // Before an error of the judge is passed on: the climb and the files are as before in every case.
    climb.measured = measured;
    workspace.restore_paths(&fix.tree, &files).await?;
    judged
}
