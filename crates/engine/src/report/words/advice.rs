//! Advice in words: what advisors said before the last change, and whose words were used again.

use super::sentence::Sentence;
use crate::domain::kept_report::ReusedReport;
use crate::domain::ladder::Role;
use crate::report::view::RunView;

/// A sentence for each advisor that was asked.
#[must_use]
pub fn advice(view: &RunView) -> Vec<Sentence> {
    let one = |advice: &crate::domain::advice::Advice| {
        let gave = if advice.given { ": " } else { " gave none: " };
        Sentence::plain("Advisor ").name(&advice.name).ours(gave).speech(&advice.said)
    };
    view.advice.iter().map(one).collect()
}

/// A sentence for each text about the proven change.
#[must_use]
pub fn handoff(view: &RunView) -> Vec<Sentence> {
    let one = |text: &crate::domain::advice::Advice| {
        let gave = if text.given { ": " } else { " was not written: " };
        Sentence::plain("Text ").name(&text.name).ours(gave).speech(&text.said)
    };
    view.handoff.iter().map(one).collect()
}

/// A sentence for each report that was used again.
#[must_use]
pub fn reused(view: &RunView) -> Vec<String> {
    view.reused.iter().map(reused_report).collect()
}

/// The sentence for one.
#[must_use]
pub fn reused_report(reused: &ReusedReport) -> String {
    let what = match reused.role {
        Role::Librarian => "the librarian's brief",
        Role::Critic => "the critic's review",
        Role::Artisan => "the artisan's report",
        Role::Advisor => "the advisor's word",
    };
    let from = reused.from.as_ref().map(|run| format!(" of run {}", run.short())).unwrap_or_default();
    format!("used again: {what}{from}, for the same material and the same tree ($0.00)")
}
