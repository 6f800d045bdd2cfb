//! The row of an iteration: what was changed, what failed, what it cost, in words that fit a table.
//!
//! Invariant: every text of a row that came from outside is redacted and capped.

use super::work::Work;
use crate::domain::attempt::{Attempt, AttemptStatus};
use crate::domain::foreign::Foreign;
use crate::domain::ladder::{Mode, Role, Tier};
use crate::domain::outcome::TIER_CAP;
use crate::domain::review::{Issue, Review};
use crate::domain::stop::StopCause;
use crate::domain::verdict::Verdict;
use crate::lifecycle::climb::Climb;
use crate::lifecycle::context::{Context, interrupted};
use crate::lifecycle::recorder::Recorder;
use crate::lifecycle::roles::{self, Cap, Halt};
use crate::policy::escalation::Observation;
use crate::session::SessionEnd;

/// The longest summary of a change in the log (S0-29).
const SUMMARY_CHARS: usize = 200;
/// The longest single error message in the log.
const MESSAGE_CHARS: usize = 600;
/// How much of a longer one is its beginning.
const MESSAGE_HEAD_CHARS: usize = 200;
/// The longest summary or issue of a review in the log.
const REVIEW_CHARS: usize = 1_000;
/// How many issues of a review one row keeps.
const MOST_ISSUES: usize = 50;
/// How many error messages one row keeps.
const MESSAGES: usize = 10;

/// The row of an iteration that ended.
pub(super) fn attempt(
    (context, recorder): (&Context<'_>, &Recorder<'_>),
    climb: &Climb,
    tier: &Tier,
    work: &Work,
    observation: &Observation,
    objections: &[Foreign],
    began: u64,
) -> Attempt {
    let full = tier.mode == Mode::Full;
    let asked = |end: Option<&SessionEnd>, role| {
        // Where nobody was asked, the row tells whom the plan names.
        let planned = tier.targets(role).first().map(ToString::to_string).unwrap_or_default();
        end.map_or(planned, |end| end.target.to_string())
    };
    let billed = |end: &SessionEnd| end.billed_model.clone();
    let (failed_tests, error_messages) = errors(work, objections);
    let charge = recorder.iteration_charge(climb.position.tier_index, climb.iteration());
    let redact = |text: String| context.redact(&text);
    Attempt {
        tier_index: climb.position.tier_index,
        tier_name: tier.name.clone(),
        tier_mode: tier.mode,
        model_artisan: asked(work.ends.artisan.as_ref(), Role::Artisan),
        model_librarian: full.then(|| asked(work.ends.librarian.as_ref(), Role::Librarian)),
        model_critic: full.then(|| asked(work.critic.as_ref(), Role::Critic)),
        billed_artisan: work.ends.artisan.as_ref().and_then(billed),
        billed_librarian: work.ends.librarian.as_ref().filter(|_| full).and_then(billed),
        billed_critic: work.critic.as_ref().filter(|_| full).and_then(billed),
        review: review(work, redact).map(Box::new),
        iteration: climb.iteration(),
        // Redacted before it is cut: half a secret would not be known.
        code_change_summary: redact(summary(work)).chars().take(SUMMARY_CHARS).collect(),
        test_status: status(work, observation),
        failed_tests,
        error_messages: error_messages.into_iter().map(|text| redact(context.beneath(&text))).collect(),
        cost: charge.known,
        unknown_cost: charge.unknown,
        duration_ms: context.world.clock.monotonic_ms().saturating_sub(began),
        timestamp: context.world.clock.timestamp(),
    }
}

/// The critic's words, without secrets and cut.
fn review(work: &Work, redact: impl Fn(String) -> String) -> Option<Review> {
    let review = roles::review_of(&work.critic.as_ref()?.report)?;
    let cut = |text: &str| redact(text.to_owned()).chars().take(REVIEW_CHARS).collect();
    let issues = review.issues.iter().take(MOST_ISSUES).map(|issue| Issue { said: cut(&issue.said), ..issue.clone() });
    Some(Review { summary: cut(&review.summary), issues: issues.collect(), ..review })
}

fn status(work: &Work, observation: &Observation) -> AttemptStatus {
    let is_cut_short = work.judged.as_ref().is_some_and(|judged| judged.run.stopped.is_some());
    match (observation, work.judged.as_ref().map(|judged| &judged.judgement.verdict)) {
        (Observation::Green, _) => AttemptStatus::Passed,
        _ if is_cut_short => AttemptStatus::Error,
        (Observation::Interrupted { .. }, _) | (_, None | Some(Verdict::Broken { .. })) => AttemptStatus::Error,
        (_, Some(Verdict::Green | Verdict::Red { .. } | Verdict::Tampered { .. })) => AttemptStatus::Failed,
    }
}

/// The change in words: the model's own summary, else what was touched.
fn summary(work: &Work) -> String {
    let said = work.ends.artisan.as_ref().map(|end| end.report.summary()).unwrap_or_default();
    let files: Vec<&str> = work.diff.stat.files.iter().map(|file| file.path.as_str()).collect();
    let text = match (work.changed, said.trim().is_empty()) {
        (true, false) => said,
        (true, true) => format!("changed {}", files.join(", ")),
        (false, _) => format!("no change. {said}"),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Failing tests, and what went wrong in order of weight.
fn errors(work: &Work, objections: &[Foreign]) -> (Vec<String>, Vec<String>) {
    let mut messages: Vec<String> = Vec::new();
    let mut failing = Vec::new();
    // What a run says that we ended before its time is our own doing.
    if let Some(judged) = work.judged.as_ref().filter(|judged| judged.run.stopped.is_none()) {
        let report = &judged.run.report;
        failing.clone_from(&judged.candidate.failing);
        let reason =
            judged.judgement.verdict.reason().map(|reason| format!("{}: {reason}", judged.judgement.verdict.as_str()));
        messages.extend(reason);
        messages.extend(report.problems.iter().map(|problem| problem.message.trim().to_owned()));
        messages.extend(report.failing().map(|test| format!("{}: {}", test.name, test.message.trim())));
    }
    let halt = halt_words(work.halt.as_ref());
    // A review that was not made for the same reason is not told beside it.
    let is_halt = |objection: &&Foreign| halt.as_ref().is_some_and(|halt| objection.as_str().ends_with(halt.as_str()));
    let objections = objections.iter().filter(|objection| !is_halt(objection));
    messages.extend(objections.map(|objection| format!("reviewer: {}", objection.as_str())));
    messages.extend(halt);
    if messages.is_empty() && !work.changed {
        messages.push("the artisan changed nothing".to_owned());
    }
    (failing, messages.into_iter().take(MESSAGES).map(|text| shorten(&text)).collect())
}

/// A long message's beginning, which names the test, and its end, where most runners say what was expected.
fn shorten(message: &str) -> String {
    let length = message.chars().count();
    if length <= MESSAGE_CHARS {
        return message.to_owned();
    }
    let head: String = message.chars().take(MESSAGE_HEAD_CHARS).collect();
    let tail: String = message.chars().skip(length - (MESSAGE_CHARS - MESSAGE_HEAD_CHARS)).collect();
    format!("{head} […] {tail}")
}

/// Why a tier ended, for whoever names the kind of end already ("no model could be used", "a person is needed").
pub(super) fn tier_reason(halt: Option<&Halt>) -> Option<String> {
    match halt {
        Some(Halt::Blocked { reason, .. }) => Some(reason.clone()),
        Some(Halt::NoModel { last, .. }) => Some(last.clone()),
        other => halt_words(other),
    }
}

/// Why an iteration ended before its time.
pub(super) fn halt_words(halt: Option<&Halt>) -> Option<String> {
    halt.map(|halt| match halt {
        Halt::Blocked { reason, .. } => format!("blocked: {reason}"),
        Halt::NoModel { last, .. } => format!("no model could be used: {last}"),
        Halt::Budget(Cap::Run, detail) => format!("the budget does not allow another call: {detail}"),
        Halt::Budget(Cap::Tier, detail) => format!("{TIER_CAP}: {detail}"),
        Halt::Stopped(StopCause::Signal(signal)) => interrupted(*signal).1,
        Halt::Stopped(StopCause::Asked) => "somebody stopped the run by a comment".to_owned(),
        Halt::Stopped(StopCause::TimeUp) => "the active time is up".to_owned(),
        Halt::Stopped(StopCause::OwnTime(seconds)) => format!("a session's {seconds} s are over"),
        Halt::Unusable(message) => message.clone(),
    })
}
