//! The next steps for a person, for each outcome and each way that a delivery ends, in words of ours.

use super::commands::{apply, resume};
use super::sentence::{Sentence, without_advice};
use crate::domain::budget::{OF_DAY, OF_PULL_REQUEST};
use crate::domain::delivery::{Answer, Awaited};
use crate::domain::outcome::{DISCARDED, GOES_ON_BY_ITSELF, Outcome, PASSES_BY_NOW};
use crate::domain::test_report::RunKind;
use crate::report::view::{Ending, RunView, TierState, TierView};
use crate::report::whereabouts::Whereabouts;

/// The next steps for a person (S0-32).
#[must_use]
pub fn next_steps(view: &RunView) -> Vec<Sentence> {
    if let Some(steps) = super::gateway::next_steps(view) {
        return steps;
    }
    let mut steps = match &view.ending {
        Ending::Running => return Vec::new(),
        Ending::Died => died(view),
        Ending::Finished(finished) => after(view, &finished.outcome),
    };
    if let Some(step) = not_installed(view) {
        steps.insert(0, step);
    }
    steps.extend(super::corrections(view).filter_map(|correction| super::take_correction(view, correction)));
    steps.extend(view.best_patch().map(|patch| kept(view, patch)));
    steps.extend(view.unjudged_patch().map(|patch| unjudged(view, patch)));
    steps
}

fn capitalised(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A module that the tests could not import may be one that was never installed, which no change to the code mends.
fn not_installed(view: &RunView) -> Option<Sentence> {
    let missing = view.baseline.as_ref().is_some_and(|baseline| baseline.kind == RunKind::ImportError);
    let given_up = matches!(view.outcome(), Some(Outcome::Exhausted | Outcome::Stalled | Outcome::Budget));
    (missing && given_up && !view.passes_with_change()).then(|| {
        Sentence::plain(
            "A module could not be imported at the start. If it has to be installed first, name the command as ",
        )
        .code("test.setupCommand")
        .ours(" (`setup-command` in the Action): no model can install it.")
    })
}

/// The steps left to do about a run whose process is gone.
fn died(view: &RunView) -> Vec<Sentence> {
    let is_measured = view.baseline.is_some();
    let goes_on = if is_measured {
        "to go on; what was paid for is not paid for again."
    } else {
        "to begin with the tests again."
    };
    let mut steps = vec![resume(view, goes_on)];
    let is_logged = view.run.as_ref().is_some_and(|run| run.audit_db.is_some());
    steps.extend((is_measured && is_logged && view.kept_in == Whereabouts::Here).then(|| {
        Sentence::plain("Its edits may stand in the files. Not to go on, but to put them back and begin anew: ")
            .code("upshift run --discard")
    }));
    steps
}

fn after(view: &RunView, outcome: &Outcome) -> Vec<Sentence> {
    let one = |sentence: &str| vec![Sentence::plain(sentence)];
    match outcome {
        Outcome::Fixed { .. } => vec![review(view)],
        Outcome::Proposed { pull_request } => vec![Sentence::plain(format!(
            "Review #{pull_request} and merge it, or close it: then a later run begins anew. Nothing was spent here."
        ))],
        Outcome::AlreadyGreen => vec![
            Sentence::plain(
                "Nothing to do. If you expected red tests, check that this is the command that fails for you: ",
            )
            .code(test_command(view)),
        ],
        Outcome::Exhausted | Outcome::Stalled | Outcome::Budget | Outcome::NoModel if view.passes_with_change() => {
            vec![look_at_checks(view, "the tests pass here, and upshift could not mend what the checks say")]
        }
        Outcome::Exhausted => one("Read the most recent errors, then add a stronger tier, raise a tier's \
                                   maxIterations, or name the goal with --objective."),
        Outcome::Stalled => one("Read the error that keeps coming back: if the code is not its cause (environment, \
                                 the test itself), no model will fix it. Else add a stronger tier."),
        Outcome::Blocked { .. } if view.stop_reason() == PASSES_BY_NOW => {
            one("Begin a new run: it looks at the tests as they are now, and ends at once where nothing fails.")
        }
        Outcome::Blocked { .. } if view.passes_with_change() && is_refused_outside(view) => vec![
            refused_outside(view),
            Sentence::plain("Mend the rest yourself, or allow more pushes with max-pushes."),
        ],
        Outcome::Blocked { .. } if view.red_elsewhere() => vec![
            Sentence::plain("Read the failed jobs, and let upshift run what fails there: name its command under ")
                .code("test.commands")
                .ours(", or let upshift push, so that CI judges the change."),
        ],
        Outcome::Blocked { reason } if view.passes_with_change() => vec![match without_advice(reason).1 {
            Some(advice) => Sentence::default().speech(&capitalised(advice)).ours("; or put the change in yourself."),
            None => Sentence::plain("Mend what kept the fix from going out, or put the change in yourself."),
        }],
        Outcome::Blocked { .. } => one("Settle what the model asks for, then run upshift again."),
        Outcome::Objected => one("Read the critic's objections and decide: take the change as it is, or leave it."),
        Outcome::Budget => vec![over_budget(view)],
        Outcome::NoModel => no_model(view),
        Outcome::Refused { .. } => vec![refused(view)],
        Outcome::Broken { .. } => vec![
            Sentence::plain("Run the command yourself until it runs the tests: ").code(test_command(view)),
            Sentence::plain(
                "If it is the wrong one, set --test-command; what it needs beforehand goes into test.setupCommand.",
            ),
        ],
        Outcome::Interrupted { .. } if view.stop_reason() == DISCARDED => {
            one("Nothing: its files were put back, and a later run began anew.")
        }
        Outcome::Interrupted { .. } if !view.delivery.pushes.is_empty() && view.passes_with_change() => {
            let mut steps = vec![look(view, "the fix is on its branch, and only the waiting was ended")];
            steps.extend(
                (view.kept_in == Whereabouts::Here).then(|| resume(view, "on the same machine to go on waiting.")),
            );
            steps
        }
        Outcome::Interrupted { .. } => vec![interrupted(view)],
        Outcome::Parked if view.limited().is_some() => limited(view),
        Outcome::Parked if view.blocked_at().is_some() => blocked(view),
        Outcome::Parked if goes_on_by_itself(view) => {
            one("Nothing: what is waited for starts the job that goes on with the run, or ends it.")
        }
        Outcome::Parked => waits(view),
        Outcome::Ended { .. } => Vec::new(),
    }
}

/// The steps left to do about a run whose wait nobody goes on with by itself.
fn waits(view: &RunView) -> Vec<Sentence> {
    let mut steps = vec![look(view, "the tests pass here, and those may be over by now")];
    let setting = if waits_for_merge(view) { "merge-timeout-minutes" } else { "ci-timeout-minutes" };
    steps.push(match view.kept_in {
        Whereabouts::Here => {
            resume(view, &format!("on the same machine to go on waiting, or allow more time with {setting}."))
        }
        Whereabouts::Artifact(_) | Whereabouts::Runner => {
            Sentence::plain("If it takes longer than this as a rule, allow more time with ").code(setting).ours(".")
        }
    });
    steps
}

/// Whether the run waits without a job: what it waits for starts another, and the log lies where that one finds it.
fn goes_on_by_itself(view: &RunView) -> bool {
    view.stop_reason().ends_with(GOES_ON_BY_ITSELF) && matches!(view.kept_in, Whereabouts::Artifact(_))
}

/// The steps left to do where no model answered: the reason's own advice first.
fn no_model(view: &RunView) -> Vec<Sentence> {
    let advice = without_advice(view.stop_reason()).1;
    let mut steps: Vec<Sentence> = advice.map(|advice| Sentence::plain("Fix: ").speech(advice)).into_iter().collect();
    let is_down = |tier: &TierView| matches!(tier.state, TierState::Outage | TierState::RateLimited);
    if view.tiers.iter().any(is_down) {
        steps.push(Sentence::plain(
            "Run again once its host answers, or name a model of another provider as a second target or as a next tier.",
        ));
    }
    let ask = Sentence::plain("Have every vendor asked for key, model and endpoint, which costs nothing: ");
    steps.push(ask.code("upshift doctor --online"));
    steps
}

/// The step left to do about a cap, by the one that was hit.
fn over_budget(view: &RunView) -> Sentence {
    let reason = view.stop_reason();
    let rest = " or put a cheaper tier first, then run upshift again.";
    let (iterations, time) =
        (", or let a stronger tier begin earlier, then run upshift again.", ", then run upshift again.");
    if reason.contains(OF_PULL_REQUEST) {
        return Sentence::plain("Raise ").code("global.maxCostUsdPerPr").ours(rest);
    }
    if reason.contains(OF_DAY) {
        return Sentence::plain("Wait until tomorrow (UTC), raise ").code("global.maxCostUsdPerDay").ours(rest);
    }
    let (flag, rest) = match reason {
        reason if reason.starts_with("max_iterations") => ("--max-iterations", iterations),
        reason if reason.starts_with("max_duration_minutes") => ("--max-duration-minutes", time),
        _ => ("--max-cost-usd", rest),
    };
    Sentence::plain("Raise ").code(flag).ours(rest)
}

/// The steps left to do about the blockers of a run that waits.
fn blocked(view: &RunView) -> Vec<Sentence> {
    let out_of_the_way =
        "Get what is waited for out of the way: then a fresh session goes on with what was done so far.";
    let mut steps = vec![Sentence::plain(out_of_the_way)];
    steps.push(match view.kept_in {
        Whereabouts::Here => resume(view, "to look again."),
        Whereabouts::Artifact(_) => Sentence::plain(
            "The next failure of CI at this commit looks again; so does, every half hour, the workflow of ",
        )
        .code("upshift init --schedule")
        .ours("."),
        Whereabouts::Runner => Sentence::plain("Then comment ").code("/upshift retry").ours("."),
    });
    steps
}

fn refused(view: &RunView) -> Sentence {
    if view.baseline.is_some() {
        return Sentence::plain(
            "No model was asked. Mend the failure, or start the workflow by hand for one more run.",
        );
    }
    Sentence::plain("Nothing was run and nothing was spent. See what the gate requires: ").code("upshift check")
}

/// The step left to do about a fix. It depends on where the fix is and what was said of it there.
fn review(view: &RunView) -> Sentence {
    const VOUCHED: &str = "that the tests pass is all that upshift vouches for.";
    if let Some(jobs) = super::delivery::jobs(view.unseen_jobs()) {
        return Sentence::plain("Have CI run on the change before you merge it: nothing here ran ")
            .speech(&jobs)
            .ours(".");
    }
    let Some(push) = view.delivery.pushes.last() else {
        return Sentence::plain(format!("Review the change before you commit it: {VOUCHED}"));
    };
    let answer = |awaited: Awaited| {
        let wait = view.delivery.waits.iter().rev().find(|one| one.awaited == awaited && one.commit == push.commit);
        wait.and_then(|wait| wait.answer)
    };
    let sha = push.commit.short();
    if let Some(Answer::Unreadable | Answer::Stopped) = answer(Awaited::Merge) {
        return Sentence::plain(
            "Review the pull request and merge it: CI is green, and nobody here has seen it merged.",
        );
    }
    match answer(Awaited::Merge).filter(|answer| *answer != Answer::TimedOut).or_else(|| answer(Awaited::Ci)) {
        Some(Answer::Merged) => Sentence::plain("Nothing to do: it is merged."),
        Some(Answer::Red) => {
            Sentence::plain(format!("Read the failed checks of {sha}: what failed here passes, and they say no."))
        }
        Some(Answer::NeedsApproval) => Sentence::plain(format!(
            "Let the checks of {sha} run (\"Approve workflows to run\" on the pull request), then merge if they are green."
        )),
        Some(Answer::Superseded) => Sentence::plain(format!(
            "Somebody pushed after {sha}: look whether the fix is in there still, then review what the branch has now."
        )),
        Some(Answer::TimedOut | Answer::Unreadable | Answer::Stopped) => {
            look_at_checks(view, "nobody here has seen how they ended")
        }
        Some(Answer::Closed) => {
            Sentence::plain("Nothing, if that was meant; the change stays on ").name(&push.branch).ours(".")
        }
        Some(Answer::ChangesRequested) => Sentence::plain(
            "Read the review: upshift has no more iterations for it. Change the fix yourself, or comment ",
        )
        .code("/upshift retry")
        .ours("."),
        Some(Answer::Absent) => Sentence::plain(format!(
            "Have CI run on {sha} before you merge it: no check has. Close and reopen the pull request, or set "
        ))
        .code("push-token")
        .ours(", since pushes with the job's own token start no workflow."),
        Some(Answer::RequiredMissing) => Sentence::plain(format!(
            "Find out why a check that the branch requires never ran for {sha}: without it nothing can be merged."
        )),
        Some(Answer::Green | Answer::Resolved) | None => {
            Sentence::plain(format!("Review the change before you merge it: {VOUCHED}"))
        }
    }
}

/// Whether CI or a reviewer said no to what was pushed last.
fn is_refused_outside(view: &RunView) -> bool {
    let last = view.delivery.waits.last().and_then(|wait| wait.answer);
    matches!(last, Some(Answer::Red | Answer::ChangesRequested))
}

/// The step left to do about a no to what was pushed last.
fn refused_outside(view: &RunView) -> Sentence {
    match view.delivery.waits.last().and_then(|wait| wait.answer) {
        Some(Answer::ChangesRequested) => {
            Sentence::plain("Read the review: the tests pass here, and a reviewer wants something else.")
        }
        Some(_) | None => look_at_checks(view, "the tests pass here, and CI still says no"),
    }
}

fn waits_for_merge(view: &RunView) -> bool {
    view.delivery.waits.last().is_some_and(|wait| wait.awaited == Awaited::Merge)
}

/// The step left to do about an event that nobody here waits for any longer: a merge where it was that, else checks.
fn look(view: &RunView, why: &str) -> Sentence {
    if waits_for_merge(view) {
        return Sentence::plain("Review the pull request and merge it: CI is green, and only the merge is missing.");
    }
    look_at_checks(view, why)
}

fn look_at_checks(view: &RunView, why: &str) -> Sentence {
    let commit = view.delivery.pushes.last().map_or("the pushed commit", |push| push.commit.short());
    Sentence::plain(format!("Look at the checks of {commit}: {why}."))
}

/// The steps that a person may take about a rate limit.
fn limited(view: &RunView) -> Vec<Sentence> {
    let when = view.limited().and_then(|limited| limited.until.as_ref());
    let when = when.map_or_else(|| "later".to_owned(), |until| format!("after {}", until.for_people()));
    let here = || resume(view, &format!("{when}, on the same machine: what is finished is not paid for again."));
    let mut steps: Vec<Sentence> = (view.kept_in == Whereabouts::Here).then(here).into_iter().collect();
    steps.extend([
        Sentence::plain("On a pull request, comment ").code("/upshift retry").ours(format!(" {when}.")),
        Sentence::plain("Not to wait: name a model of another provider as a second target or as a next tier."),
    ]);
    steps
}

/// The way on from an interruption. The iteration that was cut short counts, and its change is not in the files.
fn interrupted(view: &RunView) -> Sentence {
    let Some(position) = view.position.filter(|_| view.blocked_at().is_none()) else {
        let what = if view.baseline.is_some() { "to go on with the models" } else { "to begin with the tests again" };
        return resume(view, &format!("{what}; what is finished is not paid for again."));
    };
    let tier = position.tier_index.saturating_add(1);
    let most = view.tier(position.tier_index).map_or(0, |tier| tier.tier.max_iterations);
    if position.iteration < most {
        let next = position.iteration + 1;
        return resume(
            view,
            &format!("to begin iteration {next} of Tier {tier}; what is finished is not paid for again."),
        );
    }
    if view.tier(tier).is_some() {
        return resume(view, &format!("to begin Tier {}; what is finished is not paid for again.", tier + 1));
    }
    Sentence::plain("Run upshift again: the iteration that was cut short was the last one of the ladder.")
}

/// How the change is taken that nobody has judged.
fn unjudged(view: &RunView, patch: &str) -> Sentence {
    let which = "The change that the model had made was not judged and is not in the files. It was kept";
    match apply(view, patch) {
        Some(command) => Sentence::plain(format!("{which}: ")).code(command),
        None => Sentence::plain(format!("{which} on the runner, and in the log (upshift show --last-patch).")),
    }
}

/// How the patch is taken that was kept.
fn kept(view: &RunView, patch: &str) -> Sentence {
    let which = if view.passes_with_change() { "The change was kept".to_owned() } else { best_attempt(view) };
    match apply(view, patch) {
        Some(command) => Sentence::plain(format!("{which}: ")).code(command),
        None => Sentence::plain(format!(
            "{which} on the runner; a job that uploads upshift's folder as an artifact keeps it longer."
        )),
    }
}

/// The best attempt, with what it is worth.
fn best_attempt(view: &RunView) -> String {
    let before = view.failing_before.len();
    let judged = view.tiers.iter().flat_map(|tier| &tier.attempts).filter(|row| !row.failed_tests.is_empty());
    let fixed =
        judged.map(|row| view.failing_before.iter().filter(|test| !row.failed_tests.contains(test)).count()).max();
    match fixed {
        Some(fixed @ 1..) => format!("The best attempt, which fixes {fixed} of {before}, was kept"),
        Some(0) => "An attempt was kept that fixes none of the tests".to_owned(),
        None => "An attempt was kept".to_owned(),
    }
}

fn test_command(view: &RunView) -> String {
    view.run.as_ref().map(|run| run.test_command.clone()).unwrap_or_default()
}
