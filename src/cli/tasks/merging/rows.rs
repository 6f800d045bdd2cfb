//! The nouns of a merge: the wish, the logs, the changes that wait, and how each stands.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::audit::Segment;
use crate::domain::units::{Charge, CommitSha, RunId};
use crate::lifecycle::Claimed;
use crate::tracker::{Source, Task};

/// The logs to merge, and where to.
#[derive(Debug)]
pub(in crate::cli::tasks) struct Wish<'w> {
    /// The logs.
    pub(in crate::cli::tasks) logs: &'w [PathBuf],
    /// The source of the tasks.
    pub(in crate::cli::tasks) source: Option<&'w Source>,
    /// Its tasks.
    pub(in crate::cli::tasks) tasks: &'w [Task],
    /// The log that they are joined into.
    pub(in crate::cli::tasks) into: &'w str,
}

/// The runs that the logs held.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Logs {
    /// Every run that is in the joined log now, in the order of the logs.
    #[serde(skip)]
    pub(super) segments: Vec<Segment>,
    /// Runs that two logs tell otherwise: neither counts.
    #[serde(skip)]
    pub(super) parted: Vec<RunId>,
    /// Runs and logs that were not taken: the log, the run if it is known, and why.
    pub(super) refused: Vec<(String, Option<RunId>, String)>,
    /// How many logs there were.
    pub(super) count: usize,
}

/// A change that waits for its turn.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Where it is told of in the report.
    pub(super) row: usize,
    /// The run that made it.
    pub(super) run: RunId,
    /// The task that the run says it is for.
    pub(super) task: Option<String>,
    /// The change that its log claims. `None` where it says that nothing failed.
    pub(super) claimed: Option<Claimed>,
    /// Whether it was tried before.
    pub(super) had_second_turn: bool,
}

/// A merged change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Done {
    /// Where it is told of.
    pub(super) row: usize,
    /// The task.
    pub(super) task: Task,
    /// Its commit.
    pub(super) commit: CommitSha,
}

/// How a run of a log stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    /// Its turn has not come.
    Waiting,
    /// It is on the branch.
    Merged,
    /// The tests that it mends pass without it.
    Duplicate,
    /// Its task is to be worked on once more.
    Requeued,
    /// It is never merged.
    Refused,
    /// There is nothing to merge.
    NotMended,
}

impl Standing {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Merged => "merged",
            Self::Duplicate => "duplicate",
            Self::Requeued => "requeued",
            Self::Refused => "refused",
            Self::NotMended => "not_mended",
        }
    }

    pub(super) const fn mark(self) -> &'static str {
        match self {
            Self::Waiting => "·",
            Self::Merged => "✔",
            Self::Duplicate => "=",
            Self::Requeued => "↻",
            Self::Refused => "!",
            Self::NotMended => "✖",
        }
    }
}

/// How all that was merged stands together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SumStanding {
    #[default]
    /// Nobody looked: there is one change at most, or it was stopped.
    NotLooked,
    /// Nothing fails that did not before.
    Green,
    /// A change was taken back, and now nothing does.
    Mended,
    /// Something does.
    Fails(String),
}

/// A run of a log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) run: RunId,
    pub(super) task: Option<String>,
    pub(super) standing: Standing,
    pub(super) reason: String,
    pub(super) commit: Option<CommitSha>,
    pub(super) cost: Charge,
    pub(super) pull_request: Option<String>,
}

impl Row {
    pub(super) fn new(run: RunId, task: Option<String>, standing: Standing, reason: String) -> Self {
        Self { run, task, standing, reason, commit: None, cost: Charge::default(), pull_request: None }
    }

    /// Its name for people.
    pub(super) fn name(&self) -> &str {
        self.task.as_deref().unwrap_or_else(|| self.run.short())
    }
}
