//! Errors of a configuration: every fault at once, each with a way to mend it.

use std::cell::RefCell;
use std::fmt;

/// The line that closes every list of faults (S0-24).
pub const CLOSING: &str = "Fix the errors above and re-run. No LLM calls were made.";

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The place in the source: a JSON path, a flag or a variable. Empty when it concerns the whole.
    pub path: String,
    /// A description of the fault.
    pub message: String,
    /// How to mend it.
    pub fix: String,
}

/// The faults found so far in one source.
#[derive(Debug, Default)]
pub(super) struct Faults {
    problems: RefCell<Vec<Problem>>,
    /// Where a key that is unknown in one place is known.
    known_paths: Option<fn(&str) -> Vec<String>>,
}

impl Faults {
    /// None yet, in a file whose misplaced keys are told where they belong.
    pub(super) fn knowing(known_paths: fn(&str) -> Vec<String>) -> Self {
        Self { known_paths: Some(known_paths), ..Self::default() }
    }

    /// The paths at which a key is known.
    pub(super) fn known_paths(&self, key: &str) -> Vec<String> {
        self.known_paths.map(|paths| paths(key)).unwrap_or_default()
    }

    /// Notes one.
    pub(super) fn add(&self, path: &str, message: impl Into<String>, fix: impl Into<String>) {
        let problem = Problem { path: path.to_owned(), message: message.into(), fix: fix.into() };
        let mut problems = self.problems.borrow_mut();
        // One value may be read more than once.
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// Whether something was noted at a path already.
    pub(super) fn told_of(&self, path: &str) -> bool {
        self.problems.borrow().iter().any(|problem| problem.path == path)
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    /// Gives them up, in the order found.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }
}

/// The faults of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceErrors {
    /// The heading of the list, e.g. `Tier config invalid: tiers.json`.
    pub heading: String,
    /// The faults, in order. Empty when the heading says it all.
    pub problems: Vec<Problem>,
    /// How to mend what the heading says, when there are no single faults.
    pub fix: Option<String>,
}

impl SourceErrors {
    /// The faults under a heading. `None` when there are none.
    pub(super) fn of(heading: String, faults: Faults) -> Option<Self> {
        let problems = faults.into_problems();
        (!problems.is_empty()).then_some(Self { heading, problems, fix: None })
    }
}

/// Every fault of a configuration. It leads to exit code 2.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigErrors {
    /// By source, in order of precedence. Never empty in an `Err`.
    pub sources: Vec<SourceErrors>,
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for source in &self.sources {
            writeln!(f, "{}", source.heading)?;
            if let Some(fix) = &source.fix {
                writeln!(f, "→ Fix: {fix}")?;
            }
            for (index, problem) in source.problems.iter().enumerate() {
                // S0-24 spells a fault that starts with the offending value without a dash.
                let dash = if problem.path.is_empty() || problem.message.starts_with('\'') { "" } else { "— " };
                let gap = if problem.path.is_empty() { "" } else { " " };
                writeln!(f, "  Error {}: {}{gap}{dash}{}", index + 1, problem.path, problem.message)?;
                writeln!(f, "    → Fix: {}", problem.fix)?;
            }
        }
        f.write_str(CLOSING)
    }
}
