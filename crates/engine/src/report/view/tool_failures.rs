//! External tools that failed, as a report tells of them.

use serde::Serialize;

use crate::domain::tool::ToolFailure;

/// A tool from outside whose failures models were told in the configuration's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolFailureView {
    /// The tool's name.
    pub name: String,
    /// How often it failed.
    pub times: u32,
    /// The tool's own words the last time.
    pub said: String,
    /// The words that the model was told instead.
    pub told: String,
}

/// Counts a failure. Of each tool the last words count.
pub(super) fn count(all: &mut Vec<ToolFailureView>, failure: &ToolFailure) {
    let ToolFailure { name, said, told, .. } = failure.clone();
    match all.iter_mut().find(|known| known.name == name) {
        Some(known) => *known = ToolFailureView { name, times: known.times.saturating_add(1), said, told },
        None => all.push(ToolFailureView { name, times: 1, said, told }),
    }
}
