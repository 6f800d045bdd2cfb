//! The runner that a line calls, as far as it can be told to report.

use crate::framework::calls;
use crate::framework::facts::Framework;

/// A configuration file that is larger is not looked at, and its runner is told nothing.
pub(super) const LARGEST_CONFIGURATION: u64 = 1024 * 1024;

/// Whether a text has the runner report in a way of its own.
pub(super) fn reports_itself(framework: &Framework, text: &str) -> bool {
    framework.own_ways.iter().any(|way| match way.strip_suffix(' ') {
        Some(option) => has_option(text, option),
        None => text.contains(way),
    })
}

/// Whether a text holds an option as a whole word: `--co` stands in neither `--cov` nor `--color`.
fn has_option(text: &str, option: &str) -> bool {
    let goes_on = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    text.match_indices(option).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let behind = text.get(at + option.len()..).unwrap_or_default();
        !before.is_some_and(goes_on) && !behind.starts_with(goes_on) && !behind.starts_with("=false")
    })
}

/// The framework that a line calls in such a way that it can be told.
pub(super) fn called(line: &str) -> Option<&'static Framework> {
    let (framework, is_last) = calls::called(line)?;
    // What is put behind the command must reach the runner.
    let is_behind = framework.results.as_ref().is_some_and(|results| results.told.options_behind().is_some());
    // A variable reaches a runner at any place of the line.
    (is_last || !is_behind).then_some(framework)
}
