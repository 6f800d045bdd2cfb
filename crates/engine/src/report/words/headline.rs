//! The first line of every report: what came of the run, in which files, how far it got outside, and what it cost.

use super::{Mark, Sentence, brief_cost, count, u64_of};
use crate::domain::delivery::{Answer, Awaited};
use crate::domain::event::DiffStat;
use crate::domain::outcome::Outcome;
use crate::domain::stop::signal_name;
use crate::domain::units::Charge;
use crate::report::view::{Ending, RunView, WaitView};

/// The most files that are named. More are counted.
const NAMED_FILES: usize = 2;

/// The whole run in one line.
#[must_use]
pub fn headline(view: &RunView) -> (Mark, Sentence) {
    match &view.ending {
        // Before the change is looked at: a run that waits for something in its way has more to do, whatever it has
        // pushed.
        Ending::Finished(_) if view.blocked_at().is_some() => unmended(view),
        Ending::Finished(finished) if finished.outcome == Outcome::Parked && waiting(view).is_some() => {
            let at = waiting(view).unwrap_or_default();
            (Mark::Waiting, told(view).ours(format!("; {at}")))
        }
        Ending::Finished(finished) if !view.passes_with_change() => unmended(view),
        Ending::Finished(finished) if matches!(finished.outcome, Outcome::Fixed { .. }) => fixed(view),
        Ending::Finished(finished) => (mark_of(&finished.outcome), undelivered(view, &finished.outcome)),
        Ending::Died if view.passes_with_change() => {
            // The change is there all the same, in the files or on a branch, so it is told first.
            let end = "; this run did not end: interrupted";
            (Mark::Bad, told(view).ours(waiting(view).map_or_else(|| end.to_owned(), |at| format!("{end} while {at}"))))
        }
        Ending::Running | Ending::Died => unmended(view),
    }
}

/// The tier that fixed it (FR-011). `None` for a run that did not.
#[must_use]
pub fn resolved_by(view: &RunView) -> Option<Sentence> {
    matches!(view.outcome(), Some(Outcome::Fixed { .. })).then(|| super::verdict(view).1)
}

fn fixed(view: &RunView) -> (Mark, Sentence) {
    let (mark, outside) = outside(view);
    let proposed = view.delivery.pull_request.as_ref().map(|pull| format!("proposed in #{}", pull.number));
    let mut sentence = change(view);
    for part in proposed.into_iter().chain(outside).chain(commit(view)).chain(cost(view)) {
        sentence = sentence.ours(", ").ours(part);
    }
    // Who reads no further should know of them.
    if let Some(places) = super::remarks_heading(view) {
        sentence = sentence.ours("; ").ours(places);
    }
    match super::delivery::jobs(view.unseen_jobs()) {
        Some(jobs) => (Mark::Doubtful, sentence.ours(", but upshift did not run what is red in CI: ").speech(&jobs)),
        None => (mark, sentence),
    }
}

/// A green change that is not in the files: a person has to do the rest.
fn undelivered(view: &RunView, outcome: &Outcome) -> Sentence {
    let start = told(view);
    match outcome {
        Outcome::Objected if view.is_pushed() => start.ours("; the critic rejects the change that followed"),
        Outcome::Objected if view.lacks_review() => start.ours(", but the critic gave no readable review"),
        Outcome::Objected => start.ours(", but the critic rejects the change"),
        Outcome::Blocked { reason } if view.is_stopped_by_a_person() => {
            start.ours("; ").speech(super::without_advice(reason).0)
        }
        // Its advice is the next step.
        Outcome::Blocked { reason } => {
            start.ours(if view.is_pushed() { "; " } else { ", but " }).reason(super::without_advice(reason).0)
        }
        Outcome::Interrupted { signal } => {
            let at = waiting(view).map(|at| format!(" while {at}")).unwrap_or_default();
            start.ours(format!("; interrupted by {}{at}", signal_name(*signal)))
        }
        // Its advice is the next step.
        Outcome::Parked if view.is_undelivered() => {
            start.ours("; parked: ").reason(super::without_advice(view.stop_reason()).0)
        }
        // The line says already what was waited for.
        Outcome::Parked if !view.delivery.pushes.is_empty() && view.limited().is_none() => start.ours("; parked"),
        Outcome::Parked => start.ours("; parked: ").speech(view.stop_reason()),
        Outcome::Fixed { .. }
        | Outcome::AlreadyGreen
        | Outcome::Proposed { .. }
        | Outcome::Exhausted
        | Outcome::Stalled
        | Outcome::Budget
        | Outcome::NoModel
        | Outcome::Refused { .. }
        | Outcome::Broken { .. }
        | Outcome::Ended { .. } => start.ours("; ").ours(ended(outcome)),
    }
}

/// Why nothing more was tried about what the outside refused.
const fn ended(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Exhausted => "every tier is used up",
        Outcome::Stalled => "no more progress",
        Outcome::Budget => "the budget is used up",
        Outcome::NoModel => "no model could be used",
        Outcome::Fixed { .. }
        | Outcome::AlreadyGreen
        | Outcome::Proposed { .. }
        | Outcome::Blocked { .. }
        | Outcome::Objected
        | Outcome::Refused { .. }
        | Outcome::Broken { .. }
        | Outcome::Interrupted { .. }
        | Outcome::Parked
        | Outcome::Ended { .. } => outcome.as_str(),
    }
}

fn mark_of(outcome: &Outcome) -> Mark {
    if matches!(outcome, Outcome::Parked | Outcome::Proposed { .. }) { Mark::Waiting } else { Mark::Bad }
}

/// The verdict with what still fails and what it cost.
fn unmended(view: &RunView) -> (Mark, Sentence) {
    let (mark, sentence) = super::verdict(view);
    let quiet = match view.outcome() {
        // Nothing was tried, so that figures would only distract.
        Some(Outcome::Refused { .. } | Outcome::Broken { .. } | Outcome::AlreadyGreen) => true,
        Some(Outcome::Parked) | None => false,
        Some(_) => view.run.is_none(),
    };
    let facts: Vec<String> =
        cap(view).into_iter().chain(failing(view)).chain(cost(view).filter(|_| view.calls > 0)).collect();
    if quiet || facts.is_empty() {
        return (mark, sentence);
    }
    // Behind a foreign reason nobody knows whether a full stop stands.
    let end = sentence.0.last().is_some_and(|piece| matches!(piece, super::Piece::Ours(text) if text.ends_with('.')));
    let joint = if end { " " } else { " — " };
    (mark, sentence.ours(format!("{joint}{}", facts.join(", "))))
}

/// The cap that ended the run, where it is one of iterations or time: the sentence before speaks of the budget alone.
fn cap(view: &RunView) -> Option<String> {
    let reason = Some(view.stop_reason()).filter(|_| view.outcome() == Some(&Outcome::Budget))?;
    ["max_iterations", "max_duration"].iter().any(|cap| reason.starts_with(cap)).then(|| reason.to_owned())
}

fn failing(view: &RunView) -> Option<String> {
    let still = view.still_failing().len() + view.newly_failing().len();
    let verb = match (view.failing_after.is_some(), still) {
        (false, _) => "failed at the start",
        (true, 1) => "still fails",
        (true, _) => "still fail",
    };
    (still > 0).then(|| format!("{} {verb}", count(u64_of(still), "test")))
}

/// The change and how far it got, without how the run ended.
fn told(view: &RunView) -> Sentence {
    let parts = outside(view).1.into_iter().chain(commit(view)).chain(cost(view));
    parts.fold(change(view), |sentence, part| sentence.ours(", ").ours(part))
}

/// `2 tests fixed in cart.py (+1 −1)`.
fn change(view: &RunView) -> Sentence {
    let start = Sentence::plain(match (view.failing_before.len(), view.is_mended()) {
        // The tests passed here from the start, so "fixed" would claim what nobody has seen.
        (0, _) if view.red_in_ci_alone() => "A change for what failed in CI".to_owned(),
        (0, true) => "The tests pass again".to_owned(),
        (0, false) => "Found a change with which the tests pass".to_owned(),
        (number, true) => format!("{} fixed", count(u64_of(number), "test")),
        (number, false) => format!("Found a fix for {}", count(u64_of(number), "test")),
    });
    let stat = view.green_stat();
    files(start, &stat)
}

fn files(start: Sentence, stat: &DiffStat) -> Sentence {
    if stat.files.is_empty() {
        return start;
    }
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let added: u64 = stat.files.iter().filter_map(|file| file.added).sum();
    let removed: u64 = stat.files.iter().filter_map(|file| file.removed).sum();
    let where_to = match stat.files.as_slice() {
        several if several.len() > NAMED_FILES => start.ours(format!(" in {}", count(u64_of(several.len()), "file"))),
        few => few.iter().enumerate().fold(start, |sentence, (index, file)| {
            sentence.ours(if index == 0 { " in " } else { " and " }).name(&name(&file.path))
        }),
    };
    where_to.ours(format!(" (+{added} −{removed})"))
}

fn commit(view: &RunView) -> Option<String> {
    view.delivery.pushes.last().map(|push| push.commit.short().to_owned())
}

fn cost(view: &RunView) -> Option<String> {
    // A free model costs nothing, and that is worth saying. A run without a call has no price.
    (view.spent.charge() != Charge::ZERO || view.calls > 0).then(|| brief_cost(view))
}

/// The fate of the fix outside: how sure that makes it, and in words.
fn outside(view: &RunView) -> (Mark, Option<String>) {
    let Some(push) = view.delivery.pushes.last() else { return (Mark::Good, None) };
    // Of the last push alone: earlier ones were refused, or there would be no later one.
    let of = |awaited: Awaited| {
        view.delivery.waits.iter().rev().find(|wait| wait.awaited == awaited && wait.commit == push.commit)
    };
    let answer = |wait: Option<&WaitView>| wait.and_then(|wait| wait.answer);
    let (mark, words) = match (answer(of(Awaited::Merge)), answer(of(Awaited::Ci))) {
        (Some(Answer::Merged), _) => (Mark::Good, "merged"),
        (Some(Answer::Closed), _) => (Mark::Doubtful, "but its pull request was closed"),
        (Some(Answer::ChangesRequested), _) => (Mark::Doubtful, "but a reviewer asks for changes"),
        // A merge is waited for only behind a green CI.
        (Some(Answer::TimedOut | Answer::Stopped), _) => (Mark::Good, "CI green, not merged yet"),
        (Some(Answer::Unreadable), _) => (Mark::Doubtful, "CI green, but whether it is merged could not be read"),
        (Some(Answer::Superseded), _) => (Mark::Doubtful, "but the branch has moved on"),
        (_, Some(Answer::Green)) => (Mark::Good, "CI green"),
        (_, Some(Answer::Closed)) => (Mark::Doubtful, "CI green, but its pull request was closed"),
        (_, Some(Answer::Absent)) => (Mark::Doubtful, "but no check ran"),
        (_, Some(Answer::RequiredMissing)) => (Mark::Doubtful, "but a required check never ran"),
        (_, Some(Answer::Red)) => (Mark::Doubtful, "but CI is red"),
        (_, Some(Answer::NeedsApproval)) => (Mark::Doubtful, "but CI waits for somebody's approval"),
        (_, Some(Answer::Superseded)) => (Mark::Doubtful, "but the branch has moved on"),
        (_, Some(Answer::Cancelled)) => (Mark::Doubtful, "but CI was cancelled"),
        (_, Some(Answer::Skipped)) => (Mark::Doubtful, "but every check was skipped"),
        (_, Some(Answer::TimedOut)) => (Mark::Doubtful, "but CI was not over in time"),
        (_, Some(Answer::Stopped)) => (Mark::Doubtful, "pushed, CI was not waited for to its end"),
        (_, Some(_)) => (Mark::Doubtful, "but CI could not be read"),
        (_, None) => (Mark::Good, "pushed"),
    };
    (mark, Some(words.to_owned()))
}

/// The event that was waited for when the run was ended.
fn waiting(view: &RunView) -> Option<String> {
    let wait = view.delivery.waits.last().filter(|wait| wait.answer.is_none())?;
    Some(format!("waiting for {}", super::awaited(wait.awaited)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures;
    use crate::report::words::next_steps;

    fn said(sentence: &Sentence) -> String {
        crate::report::text::say(sentence)
    }

    /// The first line and the next steps of each run, as a person reads them in a terminal.
    fn table(runs: impl IntoIterator<Item = (String, RunView)>) -> String {
        let row = |(name, view): (String, RunView)| {
            let (mark, sentence) = headline(&view);
            let steps: String = next_steps(&view).iter().map(|step| format!("    → {}\n", said(step))).collect();
            format!("{name}\n    {} {}\n{steps}", mark.sign(), said(&sentence))
        };
        runs.into_iter().map(row).collect()
    }

    #[test]
    fn a4_every_outcome_has_one_first_line_and_the_right_next_step() {
        let endings = fixtures::every_ending();
        for (name, view) in &endings {
            let first = said(&headline(view).1);
            let green = view.passes_with_change();
            assert!(!first.contains('\n'), "{name}: {first}");
            assert!(!green || !first.contains("fail"), "{name}: {first}");
            assert_eq!(next_steps(view).is_empty(), *name == "running", "{name}");
        }
        insta::assert_snapshot!(table(endings.into_iter().map(|(name, view)| (name.to_owned(), view))));
    }

    #[test]
    fn a4_every_way_a_delivery_ends_has_one_first_line_and_the_right_next_step() {
        let deliveries = fixtures::every_delivery();
        for (name, view) in &deliveries {
            let (mark, sentence) = headline(view);
            let first = said(&sentence);
            assert!(first.starts_with("3 tests fixed") && first.contains("03ee08e"), "{name}: {first}");
            let steps: Vec<String> = next_steps(view).iter().map(said).collect();
            assert!(
                !steps.is_empty()
                    && steps.concat().contains("Answer what the model asks for") == name.contains("model asks"),
                "{name}: {steps:?}"
            );
            // A first line with a reservation never stands under the sign of success.
            assert!(!(mark == Mark::Good && first.contains(" but ")), "{name}: {first}");
            assert!(
                !steps.concat().contains("git apply") || name.contains("then"),
                "{name}: the branch holds it: {steps:?}"
            );
            assert!(view.is_mended(), "{name}: counted as the first line says");
            assert_eq!(crate::report::annotations::of_run(view).len(), 1, "{name}: no test is called failing");
        }
        insta::assert_snapshot!(table(deliveries));
    }
}
