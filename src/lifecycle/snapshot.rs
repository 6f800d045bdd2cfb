//! The facts that a fresh agent needs to know of a run at a breakpoint (S4-8): kept in the log when it is reached, and told to the next
//! iteration in a few lines (S4-9).

use serde::Serialize;

use super::climb::Climb;
use super::context::Context;
use super::state::{Hold, Wait};
use crate::domain::blocker::{self, Blocker};
use crate::domain::clock::Timestamp;
use crate::domain::delivery::Awaited;
use crate::domain::units::{CommitSha, RunId};

/// How many files and tests are named (S4-9).
const MOST_NAMED: usize = 10;
/// How many commits are named (S4-9).
const MOST_COMMITS: usize = 5;
/// The sentences that end the summary (S4-9).
const GO_ON: &str =
    "Continue from where the previous iteration left off. Do not repeat work that has already been completed.";

/// Where a run stands when it waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stand<'s> {
    tier_index: u32,
    awaited: Awaited,
    key: &'s str,
    hold: Option<&'s Hold>,
}

impl<'s> Stand<'s> {
    /// Behind a fix.
    pub(super) fn waiting(wait: &'s Wait) -> Self {
        Self { tier_index: wait.fix.tier_index, awaited: wait.awaited, key: &wait.key, hold: None }
    }

    /// Before one: something is in the way.
    pub(super) fn blocked(climb: &Climb, hold: &'s Hold) -> Self {
        let tier_index = climb.position.tier_index;
        Self { tier_index, awaited: Awaited::Blockers, key: &hold.key, hold: Some(hold) }
    }
}

/// A run at a breakpoint.
#[derive(Debug, Serialize)]
pub(super) struct Snapshot {
    run_id: RunId,
    /// The agents that were spawned so far: one for each iteration.
    spawn_number: u32,
    /// The tier that did the work.
    agent_id: String,
    timestamp: Timestamp,
    task: Task,
    completed_work: Vec<String>,
    remaining_work: Vec<String>,
    tests_made_to_pass: Vec<String>,
    branch: Option<String>,
    /// The commits that the run pushed, the newest first.
    recent_commits: Vec<CommitSha>,
    pull_request: Option<u64>,
    files: Vec<String>,
    /// Behind a fix everything that was changed is in a commit.
    uncommitted_files: Vec<String>,
    completed_dependencies: Vec<Blocker>,
    pending_dependencies: Vec<Blocker>,
    /// The requests to the outside.
    pending_requests: Vec<&'static str>,
    /// The deliveries to the outside: the commits, as [`Self::recent_commits`].
    recent_deliveries: Vec<CommitSha>,
    breakpoint: Breakpoint,
    /// How often the run has pushed again, since the outside had refused what it pushed before. Errors and waits are not counted.
    retry_count: u32,
    previous_error: Option<String>,
    #[serde(rename = "continue")]
    go_on: &'static str,
}

#[derive(Debug, Serialize)]
struct Task {
    id: RunId,
    description: String,
    status: &'static str,
}

#[derive(Debug, Serialize)]
struct Breakpoint {
    #[serde(rename = "type")]
    kind: &'static str,
    awaited: Awaited,
    key: String,
    reason: Option<String>,
    blocked_on: Vec<Blocker>,
}

impl Snapshot {
    /// The run as it waits.
    pub(super) fn of(context: &Context<'_>, climb: &Climb, stand: &Stand<'_>) -> Self {
        let (charter, delivered, last) = (&context.charter, &climb.delivered, climb.rows.all().next_back());
        let commits: Vec<CommitSha> = delivered.commits.iter().rev().take(MOST_COMMITS).cloned().collect();
        let files: Vec<String> = climb.trees.touched.iter().take(MOST_NAMED).cloned().collect();
        let tests: Vec<String> = climb.failing_at_first().iter().take(MOST_NAMED).cloned().collect();
        let is_blocked = stand.hold.is_some();
        let on = stand.hold.map(|hold| hold.on.clone()).unwrap_or_default();
        Self {
            run_id: charter.run_id.clone(),
            spawn_number: climb.run_iterations,
            agent_id: charter.tier(stand.tier_index).map(|tier| tier.name.clone()).unwrap_or_default(),
            timestamp: context.world.clock.timestamp(),
            task: Task {
                id: charter.run_id.clone(),
                description: charter.plan.objective.clone(),
                status: if is_blocked { "blocked" } else { "delivered" },
            },
            completed_work: last.map(|attempt| attempt.code_change_summary.clone()).into_iter().collect(),
            // Before a fix the tests still fail. Behind one only the outside's word is missing.
            remaining_work: if is_blocked { tests.clone() } else { vec![request(stand.awaited).to_owned()] },
            tests_made_to_pass: if is_blocked { Vec::new() } else { tests },
            branch: delivered.branch.clone(),
            recent_commits: commits.clone(),
            pull_request: delivered.pull_request,
            uncommitted_files: if is_blocked { files.clone() } else { Vec::new() },
            files,
            completed_dependencies: climb.settled.clone(),
            pending_dependencies: on.clone(),
            pending_requests: vec![request(stand.awaited)],
            recent_deliveries: commits,
            breakpoint: Breakpoint {
                kind: kind(stand.awaited),
                awaited: stand.awaited,
                key: stand.key.to_owned(),
                reason: stand.hold.map(|hold| context.redact(&hold.reason)),
                blocked_on: on,
            },
            retry_count: delivered.pushes.saturating_sub(1),
            previous_error: last.and_then(|attempt| attempt.error_messages.first().cloned()),
            go_on: GO_ON,
        }
    }

    /// The summary for the next iteration. Names of files and of branches are the repository's words.
    pub(super) fn summary(&self) -> String {
        let commits: Vec<&str> = self.recent_commits.iter().map(CommitSha::short).collect();
        let mut lines = Vec::new();
        if !commits.is_empty() {
            let which = if commits.len() == 1 { "commit" } else { "commits" };
            let branch = self.branch.as_deref().unwrap_or("its branch");
            lines.push(format!("Your change is pushed already: {which} {} on {branch}.", commits.join(", ")));
        }
        if let Some(reason) = &self.breakpoint.reason {
            let on = blocker::list(&self.breakpoint.blocked_on);
            lines.push(format!("The work was blocked: {reason}. That is out of the way now: {on}."));
        }
        if !self.files.is_empty() {
            let subject = if self.breakpoint.reason.is_some() { "So far you changed" } else { "It changed" };
            lines.push(format!("{subject} {}.", self.files.join(", ")));
        }
        lines.push(self.go_on.to_owned());
        lines.join("\n")
    }

    /// The form in the log.
    pub(super) fn document(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The request to the outside.
const fn request(awaited: Awaited) -> &'static str {
    match awaited {
        Awaited::Ci => "CI of the pushed commit",
        Awaited::Merge => "the merge of the pull request",
        Awaited::Blockers => "that what is in the way goes away",
    }
}

/// The seeds' word for what is waited at (S4-3).
const fn kind(awaited: Awaited) -> &'static str {
    match awaited {
        Awaited::Ci => "task_complete",
        Awaited::Merge => "pr_created",
        Awaited::Blockers => "blocked",
    }
}
