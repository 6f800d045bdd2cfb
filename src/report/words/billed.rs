//! Which models vendors say they billed, where they are not the ones that were asked.

use super::sentence::Sentence;
use crate::report::view::{BilledView, RunView};

/// A sentence for each pair, at most so many.
#[must_use]
pub fn billed(view: &RunView, most: usize) -> Vec<Sentence> {
    let sentence = |pair: &BilledView| {
        Sentence::default().name(&pair.asked).ours(" was asked, and its vendor says that it billed ").name(&pair.billed)
    };
    view.billed.iter().take(most).map(sentence).collect()
}
