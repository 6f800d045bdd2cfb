//! The failure that a run of a branch is to mend: its names, the key that they come to, and our branch for it.
//!
//! Invariant: two failures that share a key are taken for one, of which nobody pays twice.

use sha2::{Digest as _, Sha256};

use super::climb::Climb;
use super::context::Charter;
use crate::config::Push;
use crate::domain::delivery::{BRANCH_PREFIX, Destination};
use crate::domain::test_report::{Problem, TestReport};
use crate::policy::entropy;
use crate::policy::verdict::Baseline;

/// Hexadecimal digits of the failure's name in a branch.
const KEY_DIGITS: usize = 10;
/// How many problems of a broken build name it.
const MOST_PROBLEMS: usize = 20;

/// Names what fails: the tests, or where none is named, as of a broken build, what the build says, without what differs between two
/// sightings of it.
pub(super) fn names(baseline: &Baseline, report: &TestReport) -> Vec<String> {
    if !baseline.failing.is_empty() {
        return baseline.failing.clone();
    }
    let named = |problem: &Problem| {
        let said = problem.message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let file = problem.file.as_deref().unwrap_or_default();
        entropy::normalise(if said.contains(file) { said.to_owned() } else { format!("{file}: {said}") }.as_str())
    };
    let mut names: Vec<String> = Vec::new();
    for name in report.problems.iter().map(named) {
        if !names.contains(&name) && names.len() < MOST_PROBLEMS {
            names.push(name);
        }
    }
    names
}

/// Names the failure that a run of a branch is to mend, where it proposes its fix.
pub(super) fn key_of(charter: &Charter, failure: &[String]) -> Option<String> {
    let destination = charter.destination.as_ref().filter(|_| charter.plan.github.push == Push::Pr)?;
    Some(key(failure, destination))
}

/// The branch of our own for the failure of a run.
pub(super) fn branch(climb: &Climb, destination: &Destination) -> String {
    branch_for(&climb.measured.failure, destination)
}

/// The branch of our own for a failure. Further ones for the same begin so, too.
pub(super) fn branch_for(failure: &[String], destination: &Destination) -> String {
    format!("{BRANCH_PREFIX}{}", key(failure, destination))
}

/// Names a failure: the same names failing on the same branch.
fn key(failure: &[String], destination: &Destination) -> String {
    let mut failure = failure.to_vec();
    // Runners that work in parallel name the same failures in another order each time.
    failure.sort();
    let text = format!("{}\n{}", destination.branch, failure.join("\n"));
    let hex = hex::encode(Sha256::digest(text.as_bytes()));
    hex.chars().take(KEY_DIGITS).collect()
}
