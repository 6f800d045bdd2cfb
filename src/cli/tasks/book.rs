//! How each task of a backlog stands, in memory and in the log.

use std::collections::BTreeSet;

use super::super::{Failure, details};
use crate::audit::{AuditError, BacklogRecord, RunStatus, Store, TaskRecord};
use crate::domain::outcome::Outcome;
use crate::domain::units::{Charge, CommitSha, MicroUsd, RunId};
use crate::report::view::RunView;
use crate::tracker::{Task, TaskStatus, next};

/// A task, and what became of it so far.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) task: Task,
    /// How often it was tried.
    pub(super) tries: u32,
    /// The last run for it.
    pub(super) run: Option<RunId>,
    /// The commit with its change.
    pub(super) commit: Option<CommitSha>,
    /// What its runs cost.
    pub(super) cost: Charge,
    /// Why it stands as it does.
    pub(super) reason: String,
    /// Whether it was deferred once.
    pub(super) had_second_turn: bool,
    /// Whether more money may have mended it.
    pub(super) wants_money: bool,
}

impl Entry {
    pub(super) fn of(task: Task) -> Self {
        let (cost, reason) = (Charge::default(), String::new());
        Self { task, tries: 0, run: None, commit: None, cost, reason, had_second_turn: false, wants_money: false }
    }

    fn from_record(record: TaskRecord) -> Option<Self> {
        let task: Task = serde_json::from_str(&record.body).ok()?;
        let TaskRecord { tries, run_id: run, commit, cost, reason, .. } = record;
        Some(Self { task, tries, run, commit, cost, reason, had_second_turn: false, wants_money: false })
    }

    fn record(&self) -> TaskRecord {
        TaskRecord {
            task_id: self.task.id.clone(),
            body: serde_json::to_string(&self.task).unwrap_or_default(),
            status: self.task.status.as_str().to_owned(),
            tries: self.tries,
            run_id: self.run.clone(),
            commit: self.commit.clone(),
            cost: self.cost,
            reason: self.reason.clone(),
        }
    }
}

/// Whether a run can be gone on with.
pub(super) const fn can_go_on(status: &RunStatus) -> bool {
    match status {
        RunStatus::Running | RunStatus::Interrupted => true,
        RunStatus::Ended(outcome) => {
            matches!(outcome, None | Some(Outcome::Parked | Outcome::Interrupted { .. }))
        }
    }
}

/// The backlog under work.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) backlog: BacklogRecord,
    pub(super) entries: Vec<Entry>,
    /// Tasks that do not come at present: left out, or deferred.
    pub(super) aside: BTreeSet<String>,
    pub(super) deferred: BTreeSet<String>,
    store: Store,
}

impl Book {
    /// Whether the last backlog of a source and a checkout is to be gone on with: it was killed or interrupted, or a task is under way.
    pub(super) fn goes_on(store: &Store, from: &str, folder: &str) -> anyhow::Result<bool> {
        let Some((before, tasks)) = store.last_backlog(from, folder).map_err(|error| failed(&error))? else {
            return Ok(false);
        };
        let is_cut_short = before.stop_reason.as_deref().is_none_or(|why| why == "interrupted");
        Ok(is_cut_short || tasks.iter().any(|task| task.status == TaskStatus::InProgress.as_str()))
    }

    /// Begins a backlog, or takes up the one that was cut short. `source_knows` says that the source itself tells what is done; else
    /// what an earlier backlog completed stays completed where the task is the same.
    pub(super) fn open(
        mut store: Store,
        backlog: BacklogRecord,
        tasks: Vec<Task>,
        source_knows: bool,
    ) -> anyhow::Result<(Self, bool)> {
        let goes_on = Self::goes_on(&store, &backlog.source, &backlog.folder)?;
        let last = store.last_backlog(&backlog.source, &backlog.folder).map_err(|error| failed(&error))?;
        let past: Vec<Entry> =
            last.iter().flat_map(|(_, tasks)| tasks.clone()).filter_map(Entry::from_record).collect();
        let (aside, deferred) = (BTreeSet::new(), BTreeSet::new());
        if let (true, Some((before, _))) = (goes_on, last) {
            let backlog = BacklogRecord { max_cost: backlog.max_cost, ..before };
            let mut book = Self { backlog, entries: past, aside, deferred, store };
            book.take_in(tasks, source_knows);
            for entry in &book.entries {
                book.store.save_task(&book.backlog.backlog_id, &entry.record()).map_err(|error| failed(&error))?;
            }
            return Ok((book, true));
        }
        let entry = |task: Task| {
            let same = past.iter().find(|entry| entry.task.id == task.id && entry.task.proof == task.proof);
            match same.filter(|entry| !source_knows && entry.task.status == TaskStatus::Completed && task.is_open()) {
                Some(done) => done.clone(),
                None => Entry::of(task),
            }
        };
        let entries: Vec<Entry> = tasks.into_iter().map(entry).collect();
        let records: Vec<TaskRecord> = entries.iter().map(Entry::record).collect();
        store.begin_backlog(&backlog, &records).map_err(|error| failed(&error))?;
        Ok((Self { backlog, entries, aside, deferred, store }, false))
    }

    /// Takes in what the source says now. A task that is under way stays as it is until its run has ended.
    fn take_in(&mut self, tasks: Vec<Task>, source_knows: bool) {
        let is_gone = |entry: &Entry| !tasks.iter().any(|task| task.id == entry.task.id);
        for entry in self.entries.iter_mut().filter(|entry| entry.task.status == TaskStatus::Open && is_gone(entry)) {
            entry.task.status = TaskStatus::Cancelled;
            "the source has it no more".clone_into(&mut entry.reason);
        }
        for task in tasks {
            match self.entries.iter_mut().find(|entry| entry.task.id == task.id) {
                Some(entry) if entry.task.status == TaskStatus::InProgress => {}
                Some(entry) if entry.task.proof == task.proof => {
                    let stays = !source_knows && task.is_open() && entry.task.status == TaskStatus::Completed;
                    let status = if stays { TaskStatus::Completed } else { task.status };
                    entry.task = Task { status, ..task };
                }
                Some(entry) => *entry = Entry::of(task),
                None => self.entries.push(Entry::of(task)),
            }
        }
    }

    /// The next task, by its place.
    pub(super) fn next(&self) -> Option<usize> {
        let tasks: Vec<Task> = self.entries.iter().map(|entry| entry.task.clone()).collect();
        let chosen = next(&tasks, &self.aside)?;
        tasks.iter().position(|task| task.id == chosen.id)
    }

    /// Lets deferred tasks come once more; whether there were any.
    pub(super) fn second_turn(&mut self) -> bool {
        let deferred = std::mem::take(&mut self.deferred);
        for entry in self.entries.iter_mut().filter(|entry| deferred.contains(&entry.task.id)) {
            entry.had_second_turn = true;
        }
        self.aside.retain(|id| !deferred.contains(id));
        !deferred.is_empty()
    }

    /// Whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.entries.iter().all(|entry| matches!(entry.task.status, TaskStatus::Completed | TaskStatus::Cancelled))
    }

    /// What runs that are yet to be begun may cost together. What is not known of a cost counts as spent, and so does what a run that
    /// can be gone on with may still spend.
    pub(super) fn left(&self) -> anyhow::Result<MicroUsd> {
        let mut taken: MicroUsd = self.entries.iter().map(|entry| entry.cost.total()).sum();
        for entry in self.entries.iter().filter(|entry| entry.task.is_open()) {
            taken += self.promised(entry)?;
        }
        Ok(self.backlog.max_cost.saturating_sub(taken))
    }

    /// Whether a run that can be gone on with still fits below the cap, which may have been lowered since.
    pub(super) fn fits(&self, entry: &Entry) -> anyhow::Result<bool> {
        let spent: MicroUsd = self.entries.iter().map(|entry| entry.cost.total()).sum();
        Ok(spent + self.promised(entry)? <= self.backlog.max_cost)
    }

    /// What the run of a task that can be gone on with may cost beyond what was counted.
    fn promised(&self, entry: &Entry) -> anyhow::Result<MicroUsd> {
        let key = self.key(entry);
        let Some(run) = self.store.run_of_task(&key).map_err(|error| failed(&error))? else {
            return Ok(MicroUsd::ZERO);
        };
        let loaded = self.store.load_run(&run).map_err(|error| failed(&error))?;
        if !can_go_on(&loaded.status) {
            return Ok(MicroUsd::ZERO);
        }
        let view = RunView::from_events(&loaded.events, details::liveness(&loaded.status));
        let cap = view.run.as_ref().map_or(MicroUsd::ZERO, |run| run.budget.max_cost);
        let all = self.store.cost_of_task(&key).map_err(|error| failed(&error))?.total();
        // What its task's runs cost since it was counted last is no longer a promise, nor is it counted.
        Ok(cap.saturating_sub(view.spent.charge().total()) + all.saturating_sub(entry.cost.total()))
    }

    /// A task as its runs know it.
    pub(super) fn key(&self, entry: &Entry) -> String {
        format!("{}/{}", self.backlog.backlog_id, entry.task.id)
    }

    /// How many tasks may still come.
    pub(super) fn to_come(&self) -> usize {
        self.entries.iter().filter(|entry| entry.task.is_open() && !self.aside.contains(&entry.task.id)).count()
    }

    /// Changes a task and records it.
    pub(super) fn change(&mut self, at: usize, change: impl FnOnce(&mut Entry)) -> anyhow::Result<()> {
        let Some(entry) = self.entries.get_mut(at) else { return Ok(()) };
        change(entry);
        let record = entry.record();
        self.store.save_task(&self.backlog.backlog_id, &record).map_err(|error| failed(&error))
    }

    /// The log.
    pub(super) fn store(&mut self) -> &mut Store {
        &mut self.store
    }
}

/// Opens tasks of the last backlog of a source and a checkout once more.
pub(super) fn reopen(store: &mut Store, (from, folder): (&str, &str), ids: &[String]) -> anyhow::Result<()> {
    let Some((backlog, tasks)) = store.last_backlog(from, folder).map_err(|error| failed(&error))? else {
        return Ok(());
    };
    for mut entry in tasks.into_iter().filter_map(Entry::from_record).filter(|entry| ids.contains(&entry.task.id)) {
        entry.task.status = TaskStatus::Open;
        entry.commit = None;
        store.save_task(&backlog.backlog_id, &entry.record()).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// The log of a backlog cannot be used: what was not recorded is not done.
pub(super) fn failed(error: &AuditError) -> anyhow::Error {
    Failure::usage(format!("the backlog cannot be recorded: {error}"))
}
