//! Advice in words: what advisors said before the last change.

use super::sentence::Sentence;
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
