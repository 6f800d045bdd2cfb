//! Completed tasks whose change is not in the commit that is checked out, for commands that only look.

use std::path::Path;

use super::super::environment::Environment;
use super::super::setup;
use super::entry::Entry;
use crate::domain::stop::Stop;
use crate::domain::units::CommitSha;
use crate::tracker::TaskStatus;
use crate::workspace::{Presence, Revisions};

/// The commits among these whose change is not in the one that is checked out. None where git cannot be asked: a look shows what the log has.
pub(super) fn gone(commits: &[CommitSha], checkout: &Path, environment: &Environment) -> Vec<CommitSha> {
    if commits.is_empty() {
        return Vec::new();
    }
    let looked = setup::block_on(async {
        let never = Stop::never();
        let revisions = Revisions::open(checkout, environment.raw(), &never).await?;
        let mut gone = Vec::new();
        for commit in commits {
            if revisions.presence(commit).await? == Presence::Gone {
                gone.push(commit.clone());
            }
        }
        Ok(gone)
    });
    looked.unwrap_or_default()
}

/// Shows completed tasks as open whose change is gone, as the next backlog takes them.
pub(super) fn reopen(entries: &mut [Entry], checkout: &Path, environment: &Environment) {
    let is_done = |entry: &&Entry| entry.task.status == TaskStatus::Completed;
    let commits: Vec<CommitSha> = entries.iter().filter(is_done).filter_map(|entry| entry.commit.clone()).collect();
    let gone = gone(&commits, checkout, environment);
    for entry in entries.iter_mut().filter(|entry| entry.task.status == TaskStatus::Completed) {
        if let Some(commit) = entry.commit.as_ref().filter(|commit| gone.contains(commit)) {
            entry.reason = why(commit);
            entry.task.status = TaskStatus::Open;
        }
    }
}

/// Why a task is open again.
pub(super) fn why(commit: &CommitSha) -> String {
    let short = commit.0.get(..7).unwrap_or(&commit.0);
    format!("the change of its commit {short} is not in the commit that is checked out: it is open again")
}
