//! The next steps for a person, for each outcome and each way that a delivery ends, in words of ours.

use super::after_push;
use super::commands::{apply, resume, setting};
use super::sentence::{Sentence, capitalised, without_advice};
use super::used_up;
use crate::domain::attempt::TierExit;
use crate::domain::budget::{OF_DAY, OF_PULL_REQUEST};
use crate::domain::outcome::{
    DISCARDED, FAILURES_ALONE, GOES_ON_BY_ITSELF, Outcome, PASSES_BY_NOW, SETUP_FAILED, TIER_CAP, UNREAD,
    WAIT_AND_RUN_AGAIN,
};
use crate::domain::proof::EvidenceStatus;
use crate::domain::shell::quote;
use crate::domain::test_report::RunKind;
use crate::report::view::{Ending, RunView, TierState, TierView};
use crate::report::whereabouts::Whereabouts;

/// The setting that bounds the pushes, as reasons and advice name it.
const MAX_PUSHES: &str = "max-pushes";
/// How many failing tests are named.
const MOST_NAMED: usize = 5;

/// The next steps for a person (S0-32).
#[must_use]
pub fn next_steps(view: &RunView) -> Vec<Sentence> {
    // A cap that other runs use up as well is raised elsewhere than the program's own.
    let is_shared = [OF_DAY, OF_PULL_REQUEST].iter().any(|words| view.stop_reason().contains(words));
    if is_shared && view.command().is_some() && matches!(view.outcome(), Some(Outcome::Budget)) {
        return vec![over_budget(view)];
    }
    if let Some(steps) = super::gateway::next_steps(view) {
        return steps;
    }
    let mut steps = match &view.ending {
        Ending::Running => return Vec::new(),
        Ending::Died => died(view),
        Ending::Finished(finished) => after(view, &finished.outcome),
    };
    // Before all else: without the module every further run ends in the same way.
    if let Some(step) = not_installed(view) {
        steps.insert(0, step);
    }
    steps.extend(used_up::slow_tests(view));
    steps.extend(super::corrections(view).filter_map(|correction| super::take_correction(view, correction)));
    // A branch that holds it needs no patch.
    steps.extend(view.best_patch().filter(|_| !view.is_kept_pushed()).map(|patch| kept(view, patch)));
    steps.extend(view.unjudged_patch().map(|patch| unjudged(view, patch)));
    steps.extend(view.refused_patch().map(|patch| refused_green(view, patch)));
    steps
}

/// The end of the reason where a declared module is missing.
const NOT_INSTALLED: &str = "and is not installed";

/// A module that the tests could not import may be one that was never installed, which no change to the code mends.
fn not_installed(view: &RunView) -> Option<Sentence> {
    let missing = view.baseline.as_ref().is_some_and(|baseline| baseline.kind == RunKind::ImportError);
    // Where the run went well the module was in the repository after all.
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
        "to continue; what was paid for is not paid for again."
    } else {
        "to start again from the tests."
    };
    let mut steps: Vec<Sentence> = view.is_pushed().then(|| after_push::look(view)).into_iter().collect();
    steps.push(resume(view, goes_on));
    // Without a log nobody knows which files to restore.
    let is_logged = view.run.as_ref().is_some_and(|run| run.audit_db.is_some());
    steps.extend((is_measured && is_logged && view.kept_in == Whereabouts::Here).then(|| {
        Sentence::plain("Its edits may be in the files. To restore the files and start over instead: ")
            .code("upshift run --discard")
    }));
    steps
}

fn after(view: &RunView, outcome: &Outcome) -> Vec<Sentence> {
    let one = |sentence: &str| vec![Sentence::plain(sentence)];
    // First what was pushed: it is on a branch that others see, however the run ended.
    if view.is_pushed()
        && let Some(steps) = pushed(view, outcome)
    {
        return steps;
    }
    match outcome {
        Outcome::Fixed { .. } => vec![after_push::review(view)],
        Outcome::Proposed { pull_request } => vec![Sentence::plain(format!(
            "Review #{pull_request} and merge it, or close it: then a later run starts over. Nothing was spent here."
        ))],
        Outcome::AlreadyGreen => vec![
            Sentence::plain(
                "Nothing to do. If you expected red tests, check that this is the command that fails for you: ",
            )
            .code(test_command(view)),
        ],
        Outcome::Exhausted => vec![used_up::exhausted(view)],
        Outcome::Stalled => vec![used_up::stalled(view)],
        Outcome::Blocked { reason } => blocked_end(view, reason),
        Outcome::Objected if view.lacks_review() => {
            one("Review the change yourself, or name another model as critic: this one's review could not be read.")
        }
        Outcome::Objected => one("Read the critic's objections and decide: take the change as it is, or leave it."),
        Outcome::Budget => unreviewed(view).chain([over_budget(view)]).collect(),
        Outcome::NoModel => unreviewed(view).chain(no_model(view)).collect(),
        Outcome::Refused { .. } => vec![refused(view)],
        Outcome::Broken { reason } if reason.starts_with(SETUP_FAILED) => vec![
            Sentence::plain("Run the setup command by hand until it succeeds, or change it with ")
                .ours(setting(view, "setup-command"))
                .ours(". In a run it has no keys, and its home is a private folder."),
        ],
        Outcome::Broken { reason } if reason.ends_with(NOT_INSTALLED) => vec![
            Sentence::plain("Install what the tests need in a step before this one, or name the command that does as ")
                .code("test.setupCommand")
                .ours(" (`setup-command` in the Action). No model was asked."),
        ],
        Outcome::Broken { reason } if reason.ends_with(UNREAD) || reason == FAILURES_ALONE => vec![
            Sentence::plain("If it runs the tests, name it, and its exit code is believed: ")
                .code(format!("{} {}", setting(view, "test-command"), quote(&test_command(view))))
                .ours(", or test.command in the configuration. Output that is read (TAP, JUnit XML) proves more."),
            Sentence::plain("If it is the wrong one, name the one that runs them."),
        ],
        Outcome::Broken { .. } => vec![
            Sentence::plain("Run the command yourself until it runs the tests: ").code(test_command(view)),
            Sentence::plain("If it is the wrong one, set ")
                .ours(setting(view, "test-command"))
                .ours("; what it needs beforehand goes into test.setupCommand."),
        ],
        Outcome::Interrupted { .. } if view.stop_reason() == DISCARDED => {
            one("Nothing: its files were restored, and a later run started over.")
        }
        Outcome::Interrupted { .. } => vec![interrupted(view)],
        Outcome::Parked if view.limited().is_some() => limited(view),
        Outcome::Parked if view.blocked_at().is_some() => blocked(view),
        Outcome::Parked if view.is_undelivered() => undelivered(view),
        Outcome::Parked if goes_on_by_itself(view) => {
            one("Nothing: what is waited for starts the job that continues the run, or ends it.")
        }
        Outcome::Parked => waits(view),
        Outcome::Ended { .. } => Vec::new(),
    }
}

/// The steps left to do about a run that a person has to help.
fn blocked_end(view: &RunView, reason: &str) -> Vec<Sentence> {
    let one = |sentence: &str| vec![Sentence::plain(sentence)];
    if view.is_stopped_by_a_person() {
        return vec![begin_again(reason)];
    }
    if view.stop_reason() == PASSES_BY_NOW {
        return vec![
            Sentence::plain("To have the change judged: ")
                .code("upshift judge")
                .ours(". A new run takes the tests as they are now, and ends immediately if nothing fails."),
        ];
    }
    if view.is_unseen() {
        return vec![unseen(view)];
    }
    if view.red_elsewhere() {
        return vec![
            Sentence::plain("Read the failed jobs, and let upshift run what fails there: name its command under ")
                .code("test.commands")
                .ours(", or let upshift push, so that CI judges the change."),
        ];
    }
    if !view.passes_with_change() {
        return one("Answer what the model asks for, then run upshift again.");
    }
    vec![match without_advice(reason).1 {
        Some(advice) => Sentence::default().advice(&capitalised(advice)).ours("; or apply the change yourself."),
        None => Sentence::plain("Remove what prevented the push, or apply the change yourself."),
    }]
}

/// The step left to do where a name was asked for that no test has: those that fail are told, as they are to be named.
fn unseen(view: &RunView) -> Sentence {
    // The failing tests that were not asked for, too: one of them may have been meant.
    let failing = view.baseline.iter().flat_map(|baseline| baseline.others.iter().chain(&baseline.failing));
    let mut failing = failing.take(MOST_NAMED).peekable();
    let only = setting(view, "only-tests");
    if failing.peek().is_none() {
        return Sentence::plain("No test fails. Leave out ")
            .code(only)
            .ours(", or name a test as its runner prints it.");
    }
    let start = Sentence::plain("Name tests with ").code(only).ours(" as their runner prints them. Failing: ");
    let named = failing
        .enumerate()
        .fold(start, |sentence, (at, name)| sentence.ours(if at == 0 { "" } else { ", " }).code(name.clone()));
    named.ours(".")
}

/// The step left to do about a green change that no critic came to.
fn unreviewed(view: &RunView) -> impl Iterator<Item = Sentence> {
    let review = "Review the change: the tests pass with it, and nobody has reviewed it.";
    view.passes_with_change().then(|| Sentence::plain(review)).into_iter()
}

/// The way on for a run that a person ended: it does not go on, another may begin.
fn begin_again(reason: &str) -> Sentence {
    if let Some(advice) = without_advice(reason).1 {
        return Sentence::plain("Nothing, if that was intended. Otherwise ").advice(advice).ours(".");
    }
    Sentence::plain("Nothing, if that was intended. For a new run, comment ").code("/upshift retry").ours(".")
}

/// The steps left to do about a run that ended otherwise than fixed while a branch holds a change of its. `None` where the outcome says more.
fn pushed(view: &RunView, outcome: &Outcome) -> Option<Vec<Sentence>> {
    let first = after_push::look(view);
    let on = match outcome {
        Outcome::Exhausted => vec![Sentence::plain("Fix the rest yourself, or add a stronger tier.")],
        Outcome::Stalled => vec![Sentence::plain("Fix the rest yourself: the same error kept coming back.")],
        Outcome::Objected => {
            vec![Sentence::plain("Read the critic's objections to the change that followed: that one was not pushed.")]
        }
        Outcome::Budget => vec![over_budget(view)],
        Outcome::NoModel => no_model(view),
        Outcome::Blocked { reason } if view.is_stopped_by_a_person() => vec![begin_again(reason)],
        Outcome::Blocked { reason } => vec![pushed_and_blocked(view, reason)],
        Outcome::Interrupted { .. } if view.stop_reason() == DISCARDED => return None,
        // It was at work again after the push, rather than waiting.
        Outcome::Interrupted { .. } if view.delivery.went_on => vec![interrupted(view)],
        Outcome::Interrupted { .. } => (view.kept_in == Whereabouts::Here)
            .then(|| resume(view, "on the same machine to keep waiting."))
            .into_iter()
            .collect(),
        Outcome::Parked if view.limited().is_some() => limited(view),
        Outcome::Parked if view.is_undelivered() => undelivered(view),
        Outcome::Fixed { .. }
        | Outcome::AlreadyGreen
        | Outcome::Proposed { .. }
        | Outcome::Refused { .. }
        | Outcome::Broken { .. }
        | Outcome::Parked
        | Outcome::Ended { .. } => return None,
    };
    Some(std::iter::once(first).chain(on).collect())
}

/// The step left to do by a person beside the look at what was pushed.
fn pushed_and_blocked(view: &RunView, reason: &str) -> Sentence {
    let last = view.position.and_then(|position| view.tier(position.tier_index)).and_then(|tier| tier.exit);
    if let Some(advice) = without_advice(reason).1 {
        return Sentence::default().advice(&capitalised(advice)).ours(".");
    }
    if view.delivery.went_on && last == Some(TierExit::Blocked) {
        return Sentence::plain("Answer what the model asks for, then run upshift again.");
    }
    if !after_push::is_refused(view) {
        return Sentence::plain("Do the rest yourself: the change need not be made again.");
    }
    if reason.contains(MAX_PUSHES) {
        return Sentence::plain(format!("Fix the rest yourself, or allow more pushes with {MAX_PUSHES}."));
    }
    Sentence::plain("Fix the rest yourself.")
}

/// The steps left to do about a run whose wait nobody goes on with by itself.
fn waits(view: &RunView) -> Vec<Sentence> {
    let mut steps = vec![after_push::wait(view)];
    steps.extend(after_push::advised(view));
    let setting = if after_push::waits_for_merge(view) { "merge-timeout-minutes" } else { "ci-timeout-minutes" };
    steps.push(match view.kept_in {
        Whereabouts::Here => {
            resume(view, &format!("on the same machine to keep waiting, or allow more time with {setting}."))
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
    // What is told below says the same and more.
    let advice = without_advice(view.stop_reason()).1.filter(|advice| *advice != WAIT_AND_RUN_AGAIN);
    let mut steps: Vec<Sentence> = advice.map(|advice| Sentence::plain("Fix: ").advice(advice)).into_iter().collect();
    let is_down = |tier: &TierView| matches!(tier.state, TierState::Outage | TierState::RateLimited);
    if view.tiers.iter().any(is_down) {
        steps.push(Sentence::plain(
            "Run again once its host answers, or name a model of another provider as a second target or as a next tier.",
        ));
    }
    // Recorded replies have neither a key nor an endpoint.
    if view.tiers.iter().flat_map(|tier| &tier.tier.artisan).all(|target| target.provider == "cassette") {
        return steps;
    }
    let ask = Sentence::plain("To check key, model and endpoint of every vendor, at no cost: ");
    steps.push(ask.code("upshift doctor --online"));
    steps
}

/// The step left to do about a cap, by the one that was hit.
fn over_budget(view: &RunView) -> Sentence {
    let reason = view.stop_reason();
    let rest = " or put a cheaper tier first, then run upshift again.";
    let (iterations, time) =
        (", or let a stronger tier start earlier, then run upshift again.", ", then run upshift again.");
    // These caps stand in the configuration alone, without a flag of their own.
    if reason.contains(OF_PULL_REQUEST) {
        return Sentence::plain("Raise ").code("global.maxCostUsdPerPr").ours(rest);
    }
    if reason.contains(OF_DAY) {
        return Sentence::plain("Wait until tomorrow (UTC), raise ").code("global.maxCostUsdPerDay").ours(rest);
    }
    if reason.starts_with(TIER_CAP) {
        let last = view.position.and_then(|position| view.tier(position.tier_index));
        let of = |sentence: Sentence| match last {
            Some(last) => sentence.ours(" of ").code(&last.tier.name),
            None => sentence,
        };
        return of(Sentence::plain("Raise ").code("tiers[].maxCostUsd")).ours(time);
    }
    // By the words in which `policy::budget::check` tells of a cap.
    let (flag, rest) = match reason {
        reason if reason.starts_with("max_iterations") => ("max-iterations", iterations),
        reason if reason.starts_with("max_duration_minutes") => ("max-duration-minutes", time),
        _ => ("max-cost-usd", rest),
    };
    Sentence::plain("Raise ").code(setting(view, flag)).ours(rest)
}

/// The steps left to do about the blockers of a run that waits.
fn blocked(view: &RunView) -> Vec<Sentence> {
    let out_of_the_way = "Remove what it waits for: then a fresh session continues from there.";
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
        return Sentence::plain("No model was asked. Fix the failure, or start the workflow by hand for one more run.");
    }
    Sentence::plain("Nothing was run and nothing was spent. See what the gate requires: ").code("upshift check")
}

/// The steps that a person may take about a rate limit.
fn limited(view: &RunView) -> Vec<Sentence> {
    let when = view.limited().and_then(|limited| limited.until.as_ref());
    let when = when.map_or_else(|| "later".to_owned(), |until| format!("after {}", until.for_people()));
    let here = || resume(view, &format!("{when}, on the same machine: what is finished is not paid for again."));
    let mut steps: Vec<Sentence> = (view.kept_in == Whereabouts::Here).then(here).into_iter().collect();
    steps.extend([
        Sentence::plain("On a pull request, comment ").code("/upshift retry").ours(format!(" {when}.")),
        Sentence::plain("To avoid the wait, name a model of another provider as a second target or as a next tier."),
    ]);
    steps
}

/// The way out for a fix that an outage of the Git host kept in.
fn undelivered(view: &RunView) -> Vec<Sentence> {
    if view.kept_in == Whereabouts::Here {
        return vec![resume(view, "once the Git host answers: it brings the fix out, and asks no model for it.")];
    }
    vec![
        Sentence::plain(
            "Run this job again once the Git host answers: for a pull request it brings the fix out, and asks no model for it.",
        ),
        Sentence::plain("Without one a job begins anew: fetch the log instead, and run ")
            .code("upshift resume --audit-db")
            .ours(" with it in a clone."),
    ]
}

/// The way on from an interruption. The iteration that was cut short has its number, and its change is not in the files.
fn interrupted(view: &RunView) -> Sentence {
    // A run that is blocked has no iteration to go on with.
    let Some(position) = view.position.filter(|_| view.blocked_at().is_none()) else {
        let what =
            if view.baseline.is_some() { "to continue with the models" } else { "to start again from the tests" };
        return resume(view, &format!("{what}; what is finished is not paid for again."));
    };
    let (tier, next) = (position.tier_index + 1, position.iteration + 1);
    resume(view, &format!("to start iteration {next} of Tier {tier}; what is finished is not paid for again."))
}

/// How the change is taken that nobody has judged.
fn unjudged(view: &RunView, patch: &str) -> Sentence {
    let which = "The change that the model had made was not judged and is not in the files. It was kept";
    match apply(view, patch) {
        Some(command) => Sentence::plain(format!("{which}: ")).code(command),
        None => Sentence::plain(format!("{which} on the runner, and in the log (upshift show --last-patch).")),
    }
}

/// How the change is looked at and taken whose green was refused, and what would have believed it.
fn refused_green(view: &RunView, patch: &str) -> Sentence {
    let kept = "The change whose green was refused was kept, for a person to judge";
    // The last patch that the log knows is another, where one was kept beside this.
    let is_the_last = view.best_patch().or(view.unjudged_patch()).is_none();
    let step = match apply(view, patch).filter(|_| is_the_last || !view.patch_in_log) {
        Some(command) => Sentence::plain(format!("{kept}: ")).code(command),
        None => Sentence::plain(format!("{kept} in the log: ")).code("upshift show --patch"),
    };
    if view.proof.iter().any(|one| one.status == EvidenceStatus::Failed) {
        return step.ours(" (").code(r#"safety.proof: "off""#).ours(" believes a green without experiments)");
    }
    step
}

/// How the patch is taken that was kept.
fn kept(view: &RunView, patch: &str) -> Sentence {
    let which = match (view.is_pushed(), view.kept().is_some_and(|kept| kept.green)) {
        (true, true) => "The change since the run started, including what was not pushed, was kept".to_owned(),
        (true, false) => "A later attempt that is not green was kept, with what was pushed before it".to_owned(),
        (false, _) if view.passes_with_change() => "The change was kept".to_owned(),
        (false, _) => best_attempt(view),
    };
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
    let Some(kept) = view.kept().filter(|_| before > 0) else { return "An attempt was kept".to_owned() };
    let others = match kept.breaks {
        Some(true) => ", and breaks what passed before",
        Some(false) => "",
        None => "; the other tests were not all run with it",
    };
    match kept.fixed.len() {
        0 => format!("An attempt was kept that fixes none of the tests{others}"),
        fixed if others.is_empty() => format!("The best attempt, which fixes {fixed} of {before}, was kept"),
        fixed => format!("An attempt was kept that fixes {fixed} of {before}{others}"),
    }
}

fn test_command(view: &RunView) -> String {
    view.run.as_ref().map(|run| run.test_command.clone()).unwrap_or_default()
}
