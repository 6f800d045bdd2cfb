//! How each task of a backlog stands, in memory and in the log.

use std::collections::BTreeSet;

use super::super::Failure;
use crate::audit::{AuditError, BacklogRecord, Store, TaskRecord};
use crate::domain::units::{Charge, CommitSha, MicroUsd, RunId};
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
    /// Begins a backlog, or takes up the one that was killed or interrupted; what an earlier one completed stays completed where
    /// the task is the same.
    pub(super) fn open(mut store: Store, backlog: BacklogRecord, tasks: Vec<Task>) -> anyhow::Result<(Self, bool)> {
        let last = store.last_backlog(&backlog.source, &backlog.folder).map_err(|error| failed(&error))?;
        let past: Vec<Entry> =
            last.iter().flat_map(|(_, tasks)| tasks.clone()).filter_map(Entry::from_record).collect();
        let goes_on = last
            .as_ref()
            .is_some_and(|(before, _)| before.stop_reason.as_deref().is_none_or(|why| why == "interrupted"));
        let (aside, deferred) = (BTreeSet::new(), BTreeSet::new());
        if let (true, Some((before, _))) = (goes_on, last) {
            let backlog = BacklogRecord { max_cost: backlog.max_cost, ..before };
            let mut book = Self { backlog, entries: past, aside, deferred, store };
            book.take_in(tasks);
            return Ok((book, true));
        }
        let entry = |task: Task| {
            let same = past.iter().find(|entry| entry.task.id == task.id && entry.task.proof == task.proof);
            match same.filter(|entry| entry.task.status == TaskStatus::Completed && task.is_open()) {
                Some(done) => done.clone(),
                None => Entry::of(task),
            }
        };
        let entries: Vec<Entry> = tasks.into_iter().map(entry).collect();
        let records: Vec<TaskRecord> = entries.iter().map(Entry::record).collect();
        store.begin_backlog(&backlog, &records).map_err(|error| failed(&error))?;
        Ok((Self { backlog, entries, aside, deferred, store }, false))
    }

    /// Takes in what the source says now: new tasks, and those that were closed there meanwhile.
    fn take_in(&mut self, tasks: Vec<Task>) {
        for task in tasks {
            match self.entries.iter_mut().find(|entry| entry.task.id == task.id) {
                Some(entry) if !task.is_open() => entry.task.status = task.status,
                Some(_) => {}
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

    /// What all tasks together may still cost; what is not known of a cost counts as spent.
    pub(super) fn left(&self) -> MicroUsd {
        let spent: MicroUsd = self.entries.iter().map(|entry| entry.cost.known + entry.cost.unknown).sum();
        self.backlog.max_cost.saturating_sub(spent)
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
