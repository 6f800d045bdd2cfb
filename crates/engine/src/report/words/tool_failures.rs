//! External tools whose failures were told in the configuration's words, in words.

use super::sentence::Sentence;
use crate::report::view::{RunView, ToolFailureView};

/// A sentence for each tool.
#[must_use]
pub fn tool_failures(view: &RunView) -> Vec<Sentence> {
    let one = |failure: &ToolFailureView| {
        let times = if failure.times == 1 { " failed".to_owned() } else { format!(" failed {} times", failure.times) };
        let said = Sentence::plain("").code(&failure.name).ours(format!("{times}: ")).speech(&failure.said);
        said.ours(" (the model was told instead: ").speech(&failure.told).ours(")")
    };
    view.tool_failures.iter().map(one).collect()
}
