//! What a fresh agent needs to know of a run at a breakpoint (S4-8): kept in the log when it is reached, and told to the next iteration in
//! a few lines (S4-9).

use serde::Serialize;

use super::climb::Climb;
use super::context::Context;
use super::state::Wait;
use crate::domain::clock::Timestamp;
use crate::domain::delivery::Awaited;
use crate::domain::units::{CommitSha, RunId};

/// How many files and tests are named (S4-9).
const MOST_NAMED: usize = 10;
/// The sentences that end the summary (S4-9).
const GO_ON: &str =
    "Continue from where the previous iteration left off. Do not repeat work that has already been completed.";

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
    recent_commits: Vec<CommitSha>,
    pull_request: Option<u64>,
    files: Vec<String>,
    /// Everything that was changed is in the commit.
    uncommitted_files: Vec<String>,
    breakpoint: Breakpoint,
    /// How often the run has pushed.
    retry_count: u32,
    previous_error: Option<String>,
    #[serde(rename = "continue")]
    go_on: &'static str,
}

#[derive(Debug, Serialize)]
struct Task {
    description: String,
    status: &'static str,
}

#[derive(Debug, Serialize)]
struct Breakpoint {
    #[serde(rename = "type")]
    kind: &'static str,
    awaited: Awaited,
    key: String,
}

impl Snapshot {
    /// The run as it waits.
    pub(super) fn of(context: &Context<'_>, climb: &Climb, wait: &Wait) -> Self {
        let (charter, delivered, last) = (&context.charter, &climb.delivered, climb.rows.attempts.last());
        let awaited = match wait.awaited {
            Awaited::Ci => "CI of the pushed commit",
            Awaited::Merge => "the merge of the pull request",
        };
        Self {
            run_id: charter.run_id.clone(),
            spawn_number: climb.run_iterations,
            agent_id: charter.tier(wait.fix.tier_index).map(|tier| tier.name.clone()).unwrap_or_default(),
            timestamp: context.world.clock.timestamp(),
            task: Task { description: charter.plan.objective.clone(), status: "delivered" },
            completed_work: last.map(|attempt| attempt.code_change_summary.clone()).into_iter().collect(),
            remaining_work: vec![awaited.to_owned()],
            tests_made_to_pass: climb.failing_at_first().iter().take(MOST_NAMED).cloned().collect(),
            branch: delivered.branch.clone(),
            recent_commits: vec![wait.commit.clone()],
            pull_request: delivered.pull_request,
            files: climb.trees.touched.iter().take(MOST_NAMED).cloned().collect(),
            uncommitted_files: Vec::new(),
            breakpoint: Breakpoint { kind: kind(wait.awaited), awaited: wait.awaited, key: wait.key.clone() },
            retry_count: delivered.pushes,
            previous_error: last.and_then(|attempt| attempt.error_messages.first().cloned()),
            go_on: GO_ON,
        }
    }

    /// What the next iteration is told of it. Names of files and of branches are the repository's words.
    pub(super) fn summary(&self) -> String {
        let commits: Vec<&str> = self.recent_commits.iter().map(CommitSha::short).collect();
        let mut lines = vec![format!(
            "Your change is pushed already: commit {} on {}.",
            commits.join(", "),
            self.branch.as_deref().unwrap_or("its branch")
        )];
        if !self.files.is_empty() {
            lines.push(format!("It changed {}.", self.files.join(", ")));
        }
        lines.push(self.go_on.to_owned());
        lines.join("\n")
    }

    /// The form in the log.
    pub(super) fn document(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The seeds' word for what is waited at (S4-3).
const fn kind(awaited: Awaited) -> &'static str {
    match awaited {
        Awaited::Ci => "task_complete",
        Awaited::Merge => "pr_created",
    }
}
