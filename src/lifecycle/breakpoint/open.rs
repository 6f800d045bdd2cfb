//! The words for checks that have not ended: those that the branch requires are named, with how long nothing came of them and what to do.

use crate::github::CiFacts;
use crate::github::checks::{self, Item, Question};
use crate::report::words::count;

/// How many checks are named.
const MOST_NAMED: usize = 3;
/// Milliseconds in a minute.
const MINUTE_MS: u64 = 60_000;
/// The advice on a required check that never showed.
const NEVER_SHOWED: &str = "→ Fix: let its workflow run for this change (a `paths` filter leaves it pending for ever), give `push-token` a token \
                            whose pushes start workflows, or take its name out of the required checks of the branch if nothing reports it any more";
/// The advice on a required check that has begun and does not end.
const NEVER_ENDS: &str = "→ Fix: see on its page why it does not end (a service that is down, a runner that is not there), then run it again";

/// The required checks of which nothing has shown, in a sentence. Empty where all have.
pub(super) fn unseen(facts: &CiFacts, question: &Question<'_>) -> String {
    let missing = checks::missing_required(facts, question);
    if missing.is_empty() {
        return String::new();
    }
    format!("{} has not reported for {}", required(&missing), minutes(question))
}

/// The checks that are open, in a sentence with advice where one of them is required.
pub(super) fn told(unfinished: &[Item], facts: &CiFacts, question: &Question<'_>) -> String {
    let names = unfinished.iter().map(|item| item.name.clone());
    let (needed, others): (Vec<String>, Vec<String>) = names.partition(|name| question.required.contains(name));
    let (mut parts, mut advice) = (Vec::new(), "");
    if !others.is_empty() {
        parts.push(format!("{} has not ended", named(&others)));
    }
    if !needed.is_empty() {
        parts.push(format!("{} has not reported a result for {}", required(&needed), minutes(question)));
        advice = NEVER_ENDS;
    }
    let unseen = unseen(facts, question);
    if !unseen.is_empty() {
        parts.push(unseen);
        advice = NEVER_SHOWED;
    }
    format!("{} {advice}", parts.join("; ")).trim_end().to_owned()
}

/// The end of a wait in which all that showed is good, but a required check never did.
pub(super) fn missing(facts: &CiFacts, question: &Question<'_>) -> String {
    format!("{} {NEVER_SHOWED}", unseen(facts, question))
}

fn minutes(question: &Question<'_>) -> String {
    count(question.since_push_ms / MINUTE_MS, "minute")
}

fn required(names: &[String]) -> String {
    format!("required check {}", named(names))
}

fn named(names: &[String]) -> String {
    // A pull request may name its jobs as it likes, also so that they read like our advice.
    let plain = |name: &String| format!("`{}`", name.replace(['→', '`'], " "));
    let shown: Vec<String> = names.iter().take(MOST_NAMED).map(plain).collect();
    let more = names.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
