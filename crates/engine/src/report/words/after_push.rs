//! The next steps about a change that is on a branch: by the last word of the outside.

use super::Sentence;
use super::sentence::{capitalised, without_advice};
use crate::domain::delivery::{Answer, Awaited};
use crate::domain::outcome::ALREADY_THERE;
use crate::report::view::RunView;

/// The step left to do about a fix. It depends on where the fix is and what was said of it there.
pub(super) fn review(view: &RunView) -> Sentence {
    const VOUCHED: &str = "upshift only vouches that the tests pass.";
    // Before all else: a change that upshift could not try is not vouched for.
    if let Some(jobs) = super::delivery::jobs(view.unseen_jobs()) {
        return Sentence::plain("Have CI run on the change before you merge it: upshift did not run ")
            .speech(&jobs)
            .ours(".");
    }
    if view.stop_reason() == ALREADY_THERE {
        return Sentence::plain("Nothing to do: somebody pushed a fix meanwhile, and the tests pass there.");
    }
    let Some(push) = view.delivery.pushes.last() else {
        return Sentence::plain(format!("Review the change before you commit it: {VOUCHED}"));
    };
    let answer = |awaited: Awaited| {
        // Of the last push alone: the answer to an earlier commit says nothing of this one.
        let wait = view.delivery.waits.iter().rev().find(|one| one.awaited == awaited && one.commit == push.commit);
        wait.and_then(|wait| wait.answer)
    };
    let sha = push.commit.short();
    // The wait for the merge began, so CI had been green.
    if let Some(Answer::Unreadable | Answer::Stopped) = answer(Awaited::Merge) {
        return Sentence::plain("Review the pull request and merge it, if it is not merged yet: CI is green.");
    }
    // A wait for the merge that ran out says less than CI, which was green before it.
    match answer(Awaited::Merge).filter(|answer| *answer != Answer::TimedOut).or_else(|| answer(Awaited::Ci)) {
        Some(Answer::Merged) => Sentence::plain("Nothing to do: it is merged."),
        Some(Answer::Red) => {
            Sentence::plain(format!("Read the failed checks of {sha}: the tests pass here, but those fail."))
        }
        Some(Answer::NeedsApproval) => Sentence::plain(format!(
            "Let the checks of {sha} run (\"Approve workflows to run\" on the pull request), then merge if they are green."
        )),
        Some(Answer::Superseded) => Sentence::plain(format!(
            "Somebody pushed after {sha}: check whether the fix is still there, then review the branch."
        )),
        Some(Answer::Cancelled) => Sentence::plain(format!(
            "Run the checks of {sha} again before you merge it: they were cancelled before they had an answer."
        )),
        Some(Answer::Skipped) => Sentence::plain(format!(
            "Have CI run on {sha} before you merge it: every check was skipped. See which condition of its workflow leaves the commit out."
        )),
        Some(Answer::TimedOut | Answer::Unreadable | Answer::Stopped) => {
            checks(view, "upshift did not see how they ended")
        }
        Some(Answer::Closed) => Sentence::plain("Nothing, if that was intended; the change stays on ")
            .name(&push.branch)
            .ours(". ")
            .ours("Otherwise reopen the pull request and merge it."),
        Some(Answer::ChangesRequested) => Sentence::plain(
            "Read the review: upshift has no more iterations for it. Change the fix yourself, or comment ",
        )
        .code("/upshift retry")
        .ours("."),
        Some(Answer::Absent) if is_left_out(view) => {
            Sentence::plain(format!("Have CI run on {sha} before you merge it: no check has. See whether "))
                .code("paths")
                .ours(" or ")
                .code("branches")
                .ours(" of its workflow leave the change out.")
        }
        Some(Answer::Absent) => Sentence::plain(format!(
            "Have CI run on {sha} before you merge it: no check has. Close and reopen the pull request, or set "
        ))
        .code("push-token")
        .ours(", since pushes with the job's own token start no workflow."),
        Some(Answer::RequiredMissing) => {
            let start = Sentence::plain(format!(
                "Find out why a check that the branch requires never ran for {sha}: without it nothing can be merged."
            ));
            match advice(view) {
                Some(advice) => start.ours(" ").advice(&advice).ours("."),
                None => start,
            }
        }
        Some(Answer::Green | Answer::Resolved) | None => {
            Sentence::plain(format!("Review the change before you merge it: {VOUCHED}"))
        }
    }
}

/// Whether no CI ran although the push should have started it: the advice then is no token.
fn is_left_out(view: &RunView) -> bool {
    let advice = view.delivery.waits.last().and_then(|wait| without_advice(&wait.detail).1);
    advice.is_some_and(|advice| !advice.contains("push-token"))
}

/// Whether CI or a reviewer said no to what was pushed last.
pub(super) fn is_refused(view: &RunView) -> bool {
    matches!(last_answer(view), Some(Answer::Red | Answer::ChangesRequested))
}

/// The step left to do about a commit that is on its branch while the run ended otherwise than fixed.
pub(super) fn look(view: &RunView) -> Sentence {
    let Some(wait) = view.delivery.waits.last() else {
        return match view.delivery.pushes.last() {
            Some(push) => Sentence::plain(format!("Review {}: the change is on ", push.commit.short()))
                .name(&push.branch)
                .ours(", and nothing was waited for."),
            None => Sentence::plain("Review the change: the tests pass with it."),
        };
    };
    match (wait.awaited, wait.answer) {
        // The merge is waited for only once CI is green.
        (Awaited::Merge, None | Some(Answer::TimedOut)) => merge(),
        (_, Some(Answer::ChangesRequested)) => of_commit(view, "Read the review of ")
            .ours(": the tests pass here, but a reviewer asks for something else."),
        (_, Some(Answer::Red)) => {
            of_commit(view, "Look at the checks of ").ours(": the tests pass here, but CI is still red.")
        }
        (Awaited::Ci, None) => checks(view, "the fix is on its branch; only the wait was ended"),
        (_, _) => checks(view, "upshift did not see how they ended"),
    }
}

/// The step left to do about an event that is waited for still: a merge where it is that, else checks.
pub(super) fn wait(view: &RunView) -> Sentence {
    if waits_for_merge(view) {
        return merge();
    }
    checks(view, "the tests pass here, and those may have ended by now")
}

/// The advice that the last wait ended with: on a check that the branch requires and that did not report.
pub(super) fn advised(view: &RunView) -> Option<Sentence> {
    advice(view).map(|advice| Sentence::default().advice(&advice).ours("."))
}

fn advice(view: &RunView) -> Option<String> {
    without_advice(&view.delivery.waits.last()?.detail).1.map(capitalised)
}

/// Whether a merge was waited for last.
pub(super) fn waits_for_merge(view: &RunView) -> bool {
    view.delivery.waits.last().is_some_and(|wait| wait.awaited == Awaited::Merge)
}

fn last_answer(view: &RunView) -> Option<Answer> {
    view.delivery.waits.last().and_then(|wait| wait.answer)
}

fn merge() -> Sentence {
    Sentence::plain("Review the pull request and merge it: CI is green, and only the merge is missing.")
}

/// The last commit and its branch behind some words.
fn of_commit(view: &RunView, start: &str) -> Sentence {
    match view.delivery.pushes.last() {
        Some(push) => Sentence::plain(format!("{start}{} on ", push.commit.short())).name(&push.branch),
        None => Sentence::plain(format!("{start}the pushed commit")),
    }
}

fn checks(view: &RunView, why: &str) -> Sentence {
    let commit = view.delivery.pushes.last().map_or("the pushed commit", |push| push.commit.short());
    Sentence::plain(format!("Look at the checks of {commit}: {why}."))
}
