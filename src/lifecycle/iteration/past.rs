//! The memory of an iteration: a few lines for those that follow it in the same tier.
//!
//! Invariant: every text that came from outside is redacted and capped.

use super::row;
use super::work::Work;
use crate::agent::PastIteration;
use crate::domain::attempt::Attempt;
use crate::domain::foreign::Foreign;
use crate::domain::verdict::Verdict;
use crate::lifecycle::context::Context;
use crate::lifecycle::roles::Halt;

/// How many failing tests are named.
const NAMES: usize = 8;
/// The most characters of one test's name.
const NAME_CHARS: usize = 100;
/// The most characters of what the judge or a reviewer said.
const SAID_CHARS: usize = 300;

/// The kept part of an iteration. `None` for one that was cut short, since a resumed run does it anew.
pub(super) fn iteration(
    context: &Context<'_>,
    work: &Work,
    attempt: &Attempt,
    objections: &[Foreign],
) -> Option<PastIteration> {
    let cut_short = work.judged.as_ref().is_some_and(|judged| judged.run.stopped.is_some());
    if cut_short || matches!(work.halt, Some(Halt::Stopped(_))) {
        return None;
    }
    let said = |text: &str, most: usize| {
        let redacted = context.world.redactor.redact(text);
        let line = redacted.split_whitespace().collect::<Vec<_>>().join(" ");
        Foreign::new(&shortened(&line, most))
    };
    let verdict = work.judged.as_ref().map(|judged| &judged.judgement.verdict);
    Some(PastIteration {
        iteration: attempt.iteration,
        summary: Foreign::new(&attempt.code_change_summary),
        judged: said(&verdict.map(|verdict| judged(verdict, attempt)).unwrap_or_default(), SAID_CHARS),
        failing: attempt.failed_tests.iter().take(NAMES).map(|name| said(name, NAME_CHARS)).collect(),
        more_failing: attempt.failed_tests.len().saturating_sub(NAMES),
        refused: said(&refused(work, attempt, objections), SAID_CHARS),
    })
}

/// The verdict in words, and how many tests fail.
fn judged(verdict: &Verdict, attempt: &Attempt) -> String {
    let word = verdict.as_str();
    let failing = match attempt.failed_tests.len() {
        0 => String::new(),
        1 => "; 1 test fails".to_owned(),
        many => format!("; {many} tests fail"),
    };
    match verdict {
        Verdict::Red { reason: Some(reason) } => format!("{word}: {reason}{failing}"),
        Verdict::Red { reason: None } => format!("{word}{failing}"),
        Verdict::Broken { reason } => format!("{word}: {reason}"),
        // Why stands beside it.
        Verdict::Green | Verdict::Tampered { .. } => word.to_owned(),
    }
}

/// Why nothing came of it: the judge's refusal, the reviewer's, or what ended the session, where the summary does not say so.
fn refused(work: &Work, attempt: &Attempt, objections: &[Foreign]) -> String {
    let tampered = match work.judged.as_ref().map(|judged| &judged.judgement.verdict) {
        Some(Verdict::Tampered { reason }) => Some(format!("{reason}; the change was taken back")),
        Some(Verdict::Green | Verdict::Red { .. } | Verdict::Broken { .. }) | None => None,
    };
    let reviewer = objections.iter().map(|objection| format!("the reviewer objects: {}", objection.as_str()));
    let ended = row::halt_words(work.halt.as_ref()).filter(|words| !attempt.code_change_summary.contains(words));
    let ended = ended.map(|words| format!("the session ended early: {words}"));
    tampered.into_iter().chain(reviewer).chain(ended).collect::<Vec<_>>().join("; ")
}

/// At most so many characters, with a sign where there were more.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}
