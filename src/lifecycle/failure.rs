//! The failure that a run of a branch is to mend: its names, the key that they come to, and our branch for it.
//!
//! Invariant: two failures that share a key are taken for one, of which nobody pays twice.

use sha2::{Digest as _, Sha256};

use super::climb::Climb;
use super::context::Charter;
use super::message::BRANCH_PREFIX;
use crate::config::Push;
use crate::domain::delivery::Destination;

/// Hexadecimal digits of the failure's name in a branch.
const KEY_DIGITS: usize = 10;

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
    failure.sort();
    let text = format!("{}\n{}", destination.branch, failure.join("\n"));
    let hex: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    hex.chars().take(KEY_DIGITS).collect()
}
