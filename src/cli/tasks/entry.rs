//! A task of a backlog and how it stands, as the log has it.

use super::standing::Standing;
use crate::audit::TaskRecord;
use crate::domain::units::{Charge, CommitSha, RunId};
use crate::tracker::Task;

/// A task, and what became of it so far.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) task: Task,
    /// How often it was worked on.
    pub(super) tries: u32,
    /// How often it was not fixed. Limits and signals do not count.
    pub(super) failures: u32,
    /// Whether it comes at present.
    pub(super) standing: Standing,
    /// The last run for it.
    pub(super) run: Option<RunId>,
    /// The commit with its change.
    pub(super) commit: Option<CommitSha>,
    /// The cost of its runs.
    pub(super) cost: Charge,
    /// Why it stands as it does.
    pub(super) reason: String,
    /// Whether more money may have mended it.
    pub(super) wants_money: bool,
}

impl Entry {
    pub(super) fn of(task: Task) -> Self {
        let (cost, reason, standing) = (Charge::default(), String::new(), Standing::Comes);
        Self { task, tries: 0, failures: 0, standing, run: None, commit: None, cost, reason, wants_money: false }
    }

    pub(super) fn from_record(record: TaskRecord) -> Option<Self> {
        let task: Task = serde_json::from_str(&record.body).ok()?;
        let TaskRecord { tries, failures, run_id: run, commit, cost, reason, .. } = record;
        let standing = Standing::of(&record.aside);
        let wants_money = standing == Standing::LeftForMoney;
        Some(Self { task, tries, failures, standing, run, commit, cost, reason, wants_money })
    }

    pub(super) fn record(&self) -> TaskRecord {
        TaskRecord {
            task_id: self.task.id.clone(),
            body: serde_json::to_string(&self.task).unwrap_or_default(),
            status: self.task.status.as_str().to_owned(),
            tries: self.tries,
            failures: self.failures,
            aside: self.standing.as_str().to_owned(),
            run_id: self.run.clone(),
            commit: self.commit.clone(),
            cost: self.cost,
            reason: self.reason.clone(),
        }
    }
}
