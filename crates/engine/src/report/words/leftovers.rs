//! Sentences about what a run left that tools run or obey without being asked.

use super::{Sentence, u64_of};
use crate::report::view::RunView;

/// Leftovers and their fate, one sentence each. At most `most`, then how many more.
#[must_use]
pub fn leftovers(view: &RunView, most: usize) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> = view
        .leftovers
        .iter()
        .take(most)
        .map(|left| {
            let (what, fate) = (left.kind.in_words(), left.fate.in_words());
            Sentence::default().name(&left.path).ours(format!(" ({what}) {fate}"))
        })
        .collect();
    let more = u64_of(view.leftovers.len().saturating_sub(most)) + u64::from(view.more_leftovers);
    if more > 0 {
        sentences.push(Sentence::plain(format!("{more} more of the kind: see the audit log")));
    }
    sentences
}
