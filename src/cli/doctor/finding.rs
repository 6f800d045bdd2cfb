//! A line of the doctor's: what was found out about one thing.

use crate::config::CLOSING;
use crate::report::plain;

/// The most columns of a line: error messages of servers are foreign text.
const MAX_LINE: usize = 600;

/// A finding about one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) about: &'static str,
    pub(super) said: String,
    pub(super) fix: Option<String>,
    /// Whether it was left open, so that it neither speaks for a run nor against one.
    pub(super) is_open: bool,
}

impl Finding {
    pub(super) fn ok(about: &'static str, said: impl Into<String>) -> Self {
        Self { about, said: said.into(), fix: None, is_open: false }
    }

    pub(super) fn problem(about: &'static str, said: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { about, said: said.into(), fix: Some(fix.into()), is_open: false }
    }

    /// Something that could not be looked at here, and is no fault.
    pub(super) fn open(about: &'static str, said: impl Into<String>) -> Self {
        Self { is_open: true, ..Self::ok(about, said) }
    }

    /// A problem whose message says how to mend it, as all of ours do.
    pub(super) fn told(about: &'static str, message: &str) -> Self {
        // What stands below a list of errors has nothing to say on a line of its own.
        let message = message.trim_end().trim_end_matches(CLOSING);
        match message.split_once("→ Fix:") {
            Some((said, fix)) => Self::problem(about, said.trim(), fix.trim()),
            None => Self::problem(about, message.trim(), "see above"),
        }
    }

    /// A line for each of the errors that a message counts, or one for all of it.
    pub(super) fn each_told(about: &'static str, message: &str) -> Vec<Self> {
        const COUNTED: &str = "\n  Error ";
        let mut errors = message.split(COUNTED);
        // The heading only counts the errors, and is left out where they follow.
        let heading = errors.next().unwrap_or_default();
        let findings: Vec<Self> = errors
            // The number of an error says nothing once each has its own line.
            .map(|error| error.split_once(": ").map_or(error, |(_number, error)| error))
            .map(|error| Self::told(about, error))
            .collect();
        if findings.is_empty() { vec![Self::told(about, heading)] } else { findings }
    }

    pub(super) fn render(&self) -> String {
        let line = match &self.fix {
            None if self.is_open => format!("– {}: {}", self.about, self.said),
            None => format!("✔ {}: {}", self.about, self.said),
            Some(fix) => format!("✖ {}: {} → Fix: {fix}", self.about, self.said),
        };
        // A line may hold an answer of a server, so no word in it can be a command of the runner.
        plain::inert(&plain::clip(&plain::line(&line), MAX_LINE))
    }
}
