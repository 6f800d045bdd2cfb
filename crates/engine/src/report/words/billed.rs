//! Which models vendors say they billed, where they are not the ones that were asked, and the side calls of agents.

use super::sentence::Sentence;
use crate::report::view::{BilledView, RunView, SideView};

/// A sentence for each pair, at most so many.
#[must_use]
pub fn billed(view: &RunView, most: usize) -> Vec<Sentence> {
    let sentence = |pair: &BilledView| {
        Sentence::default().name(&pair.asked).ours(" was asked, and its vendor says that it billed ").name(&pair.billed)
    };
    view.billed.iter().take(most).map(sentence).collect()
}

/// A sentence about agents' side calls. `None` where there was none.
#[must_use]
pub fn side_calls(view: &RunView) -> Option<Sentence> {
    let SideView { calls, cost } = view.side;
    let were = if calls == 1 { "was a side call" } else { "were side calls" };
    let all = super::count(view.calls.into(), "model call");
    (calls > 0).then(|| Sentence::plain(format!("{calls} of {all} {were} of an agent (titles, summaries): {cost}")))
}
