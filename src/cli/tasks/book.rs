//! How each task of a backlog stands, in memory and in the log.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Failure, details};
use super::ending::SIGKILL;
use super::entry::Entry;
use super::of_run::Told;
use super::standing::Standing;
use crate::audit::{AuditError, BacklogRecord, CourseRecord, RunStatus, Store, TaskRecord};
use crate::domain::outcome::Outcome;
use crate::domain::units::{Charge, CommitSha, MicroUsd, RunId};
use crate::policy::course::Course;
use crate::report::view::RunView;
use crate::tracker::{Proof, Task, TaskStatus, next};

/// Whether a run can be gone on with.
pub(super) const fn can_go_on(status: &RunStatus) -> bool {
    match status {
        RunStatus::Running | RunStatus::Interrupted => true,
        RunStatus::Ended(outcome) => match outcome {
            None | Some(Outcome::Parked) => true,
            // A run whose files were put back stands in the log under this signal, and has nothing to go on with.
            Some(Outcome::Interrupted { signal }) => *signal != SIGKILL,
            Some(_ended) => false,
        },
    }
}

/// Whether a run waits for something, a limit above all.
pub(super) fn is_parked(store: &Store, run: Option<&RunId>) -> bool {
    let loaded = run.and_then(|run| store.load_run(run).ok());
    loaded.is_some_and(|loaded| matches!(loaded.status, RunStatus::Ended(Some(Outcome::Parked))))
}

/// The backlog under work.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) backlog: BacklogRecord,
    pub(super) entries: Vec<Entry>,
    /// How far the work is.
    pub(super) course: Course,
    /// The ids of those that are to be worked on now; empty for all.
    wanted: BTreeSet<String>,
    store: Store,
}

impl Book {
    /// Whether the last backlog of a source and a checkout is to be gone on with: it was killed or interrupted, as many tasks were
    /// worked on as might be, a task is under way, or the run of an open one waits for a limit.
    pub(super) fn goes_on(store: &Store, from: &str, folder: &str) -> anyhow::Result<bool> {
        let Some((before, tasks)) = store.last_backlog(Some(from), folder).map_err(|error| failed(&error))? else {
            return Ok(false);
        };
        let is_cut_short =
            // No reason at all is written by a process that was killed.
            before.stop_reason.as_deref().is_none_or(|why| matches!(why, "interrupted" | "max_iterations"));
        let is_under_way = |task: &TaskRecord| {
            task.status == TaskStatus::InProgress.as_str()
                // A run that waits for a limit was paid for in part, which a new backlog would pay again.
                || (task.status == TaskStatus::Open.as_str() && is_parked(store, task.run_id.as_ref()))
        };
        Ok(is_cut_short || tasks.iter().any(is_under_way))
    }

    /// Takes up the last backlog of a source and a checkout as it stands in the log. The source is read once no task is under way.
    pub(super) fn resumed(mut store: Store, wanted: BacklogRecord) -> anyhow::Result<Self> {
        let last = store.last_backlog(Some(&wanted.source), &wanted.folder).map_err(|error| failed(&error))?;
        let (before, tasks) = last.unwrap_or((wanted.clone(), Vec::new()));
        let mut entries: Vec<Entry> = tasks.into_iter().filter_map(Entry::from_record).collect();
        // Who had too little comes once more where there is more now.
        let poor = |entry: &&mut Entry| entry.standing == Standing::LeftForMoney;
        if before.max_cost < wanted.max_cost {
            entries.iter_mut().filter(poor).for_each(|entry| entry.standing = Standing::Comes);
        }
        // A run that was paid for and waits is gone on with, however often its limit was not over.
        let waits = |entry: &&mut Entry| {
            matches!(entry.standing, Standing::LeftOut | Standing::Comes)
                && entry.task.status == TaskStatus::Open
                && is_parked(&store, entry.run.as_ref())
        };
        entries.iter_mut().filter(waits).for_each(|entry| entry.standing = Standing::SecondTurn);
        let BacklogRecord { max_cost, course: begun, .. } = wanted;
        // Killed, it goes on where it was, with the tasks that it was allowed meanwhile. Ended, as many come as the command allows.
        let course = match before.stop_reason {
            None => Course::gone_on(begun.max_iterations, (before.course.iteration, before.course.max_iterations)),
            Some(_) => Course::new(begun.max_iterations),
        };
        let CourseRecord { status, .. } = begun;
        let record = CourseRecord { status, iteration: course.iteration, max_iterations: course.most };
        let backlog = BacklogRecord { max_cost, course: record, stop_reason: None, ..before };
        // Before any task is looked at: a kill from here on finds the course that was decided.
        store.save_course(&backlog).map_err(|error| failed(&error))?;
        for entry in &entries {
            store.save_task(&backlog.backlog_id, &entry.record()).map_err(|error| failed(&error))?;
        }
        Ok(Self { backlog, entries, course, wanted: BTreeSet::new(), store })
    }

    /// Begins a backlog. `source_knows` says that the source itself tells which tasks are done. Otherwise tasks that an earlier backlog
    /// completed stay completed where they are the same.
    pub(super) fn begun(
        mut store: Store,
        backlog: BacklogRecord,
        tasks: Vec<Task>,
        source_knows: bool,
    ) -> anyhow::Result<Self> {
        let course = Course::new(backlog.course.max_iterations);
        let last = store.last_backlog(Some(&backlog.source), &backlog.folder).map_err(|error| failed(&error))?;
        let past: Vec<Entry> = last.into_iter().flat_map(|(_, tasks)| tasks).filter_map(Entry::from_record).collect();
        let entry = |task: Task| {
            // A `prd.json` that says open means open: somebody opened it once more.
            match completed_before(&past, &task).filter(|_| !source_knows) {
                // Its cost was that backlog's, which had a cap of its own.
                Some(done) => Entry { cost: Charge::default(), ..done.clone() },
                None => Entry::of(task),
            }
        };
        let entries: Vec<Entry> = tasks.into_iter().map(entry).collect();
        let records: Vec<TaskRecord> = entries.iter().map(Entry::record).collect();
        // The tasks are written with the backlog at once. A kill in between would leave one without tasks.
        store.begin_backlog(&backlog, &records).map_err(|error| failed(&error))?;
        Ok(Self { backlog, entries, course, wanted: BTreeSet::new(), store })
    }

    /// Takes in what the source says now. A task that is under way stays as it is until its run has ended, and one that waits for a
    /// person waits until its source says something else of it.
    fn take_in(&mut self, tasks: Vec<Task>, source_knows: bool) {
        let there: BTreeSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        // Only an open task is cancelled. One under way or done has a run that a person paid for.
        let is_gone = |entry: &Entry| !there.contains(entry.task.id.as_str());
        for entry in self.entries.iter_mut().filter(|entry| entry.task.status == TaskStatus::Open && is_gone(entry)) {
            entry.task.status = TaskStatus::Cancelled;
            "the source no longer has it".clone_into(&mut entry.reason);
        }
        let places: BTreeMap<String, usize> =
            self.entries.iter().enumerate().map(|(at, entry)| (entry.task.id.clone(), at)).collect();
        for task in tasks {
            match places.get(&task.id).and_then(|at| self.entries.get_mut(*at)) {
                Some(entry) if entry.task.status == TaskStatus::InProgress => {}
                Some(entry) if entry.task.proof == task.proof => {
                    let stays = match entry.task.status {
                        TaskStatus::Completed => !source_knows && task.is_open(),
                        // A person has to do something first, and their doing shows in the source.
                        TaskStatus::Blocked => task.is_open(),
                        // One that comes back into its source is open once more.
                        TaskStatus::Open | TaskStatus::InProgress | TaskStatus::Cancelled => false,
                    };
                    let status = if stays { entry.task.status } else { task.status };
                    entry.task = Task { status, ..task };
                }
                // It has another proof, and was paid for all the same.
                Some(entry) => *entry = Entry { cost: entry.cost, ..Entry::of(task) },
                None => self.entries.push(Entry::of(task)),
            }
        }
    }

    /// Has these alone worked on, where any is named.
    pub(super) fn want(&mut self, ids: BTreeSet<String>) {
        self.wanted = ids;
    }

    fn wants(&self, entry: &Entry) -> bool {
        self.wanted.is_empty() || self.wanted.contains(&entry.task.id)
    }

    /// The tasks that are to be worked on now, whatever became of them.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| self.wants(entry))
    }

    /// The same, each with what the log knows of its run.
    pub(super) fn told(&self) -> Vec<Told<'_>> {
        self.shown().map(|entry| Told::of(&self.store, entry)).collect()
    }

    /// How many of them are not cancelled.
    pub(super) fn total(&self) -> usize {
        self.shown().filter(|entry| entry.task.status != TaskStatus::Cancelled).count()
    }

    /// Says of tasks that are not begun for what they wait.
    pub(super) fn explain_waits(&mut self) -> anyhow::Result<()> {
        let completed = self.completed();
        let done = |id: &String| completed.contains(id.as_str());
        let mut waits = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            // A task that was tried has a better reason already.
            if entry.task.status == TaskStatus::Open && entry.reason.is_empty() && self.wants(entry) {
                let open: Vec<&str> = entry.task.depends_on.iter().filter(|id| !done(id)).map(String::as_str).collect();
                waits.extend((!open.is_empty()).then(|| (at, format!("it waits for {}", open.join(", ")))));
            }
        }
        waits.into_iter().try_for_each(|(at, why)| self.change(at, |entry| entry.reason = why))
    }

    fn completed(&self) -> BTreeSet<&str> {
        let done = self.entries.iter().filter(|entry| entry.task.status == TaskStatus::Completed);
        done.map(|entry| entry.task.id.as_str()).collect()
    }

    /// The tasks that would come, and that nothing proves, by their places.
    pub(super) fn unprovable(&self) -> Vec<usize> {
        let completed = self.completed();
        let is = |entry: &Entry| {
            entry.task.proof == Proof::Nothing
                && entry.task.status == TaskStatus::Open
                && !entry.standing.is_aside()
                && self.wants(entry)
                // One that waits for others is not blocked yet: its source may name a test until its turn.
                && entry.task.depends_on.iter().all(|id| completed.contains(id.as_str()))
        };
        self.entries.iter().enumerate().filter(|(_, entry)| is(entry)).map(|(at, _)| at).collect()
    }

    /// The next task, by its place.
    pub(super) fn next(&self) -> Option<usize> {
        let tasks: Vec<Task> = self.entries.iter().map(|entry| entry.task.clone()).collect();
        let aside: BTreeSet<String> = self.aside().map(|entry| entry.task.id.clone()).collect();
        // Tasks that stand aside are left in: others may depend on them.
        let chosen = next(&tasks, &aside)?;
        tasks.iter().position(|task| task.id == chosen.id)
    }

    /// The tasks that do not come at present.
    fn aside(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.standing.is_aside() || !self.wants(entry))
    }

    /// Lets deferred tasks come once more. Returns whether there were any.
    pub(super) fn second_turn(&mut self) -> anyhow::Result<bool> {
        let is_deferred = |entry: &Entry| entry.standing == Standing::Deferred && self.wants(entry);
        let deferred: Vec<usize> =
            (0..self.entries.len()).filter(|at| self.entries.get(*at).is_some_and(is_deferred)).collect();
        for at in &deferred {
            self.change(*at, |entry| entry.standing = Standing::SecondTurn)?;
        }
        Ok(!deferred.is_empty())
    }

    /// Takes in a source that was read once more. Returns whether it has changed.
    pub(super) fn refresh(&mut self, tasks: Vec<Task>, source_knows: bool) -> anyhow::Result<bool> {
        let before: Vec<Task> = self.entries.iter().map(|entry| entry.task.clone()).collect();
        self.take_in(tasks, source_knows);
        // A task that was added has nothing before it, so it counts as changed.
        let differ = |at: &usize| self.entries.get(*at).map(|entry| &entry.task) != before.get(*at);
        let changed: Vec<usize> = (0..self.entries.len()).filter(differ).collect();
        for at in &changed {
            // Nothing is changed by this, it is only recorded.
            self.change(*at, |_entry| {})?;
        }
        Ok(!changed.is_empty())
    }

    /// Records how far the work is.
    pub(super) fn save_course(&mut self) -> anyhow::Result<()> {
        let Course { status, iteration, most: max_iterations } = self.course;
        self.backlog.course = CourseRecord { status: status.as_str().to_owned(), iteration, max_iterations };
        self.store.save_course(&self.backlog).map_err(|error| failed(&error))
    }

    /// Lets all tasks together cost so much more. Those that were left for want of money come once more.
    pub(super) fn raise_cap(&mut self, more: MicroUsd) -> anyhow::Result<()> {
        self.backlog.max_cost.0 = self.backlog.max_cost.0.saturating_add(more.0);
        // The cap is on disk before a task comes that needs it.
        self.save_course()?;
        let is_poor = |at: &usize| self.entries.get(*at).is_some_and(|one| one.standing == Standing::LeftForMoney);
        let poor: Vec<usize> = (0..self.entries.len()).filter(is_poor).collect();
        poor.into_iter().try_for_each(|at| self.change(at, |entry| entry.standing = Standing::Comes))
    }

    /// Whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.shown().all(|entry| matches!(entry.task.status, TaskStatus::Completed | TaskStatus::Cancelled))
    }

    /// The most that runs which are yet to be begun may cost together. An unknown part of a cost counts as spent, and so does the money
    /// that a run that can be gone on with may still spend.
    pub(super) fn left(&self) -> anyhow::Result<MicroUsd> {
        let mut taken: MicroUsd = self.entries.iter().map(|entry| entry.cost.total()).sum();
        // A task that is done or blocked has no run to go on with, so nothing is promised to it.
        for entry in self.entries.iter().filter(|entry| entry.task.is_open()) {
            taken += self.promised(entry)?;
        }
        Ok(self.backlog.max_cost.saturating_sub(taken))
    }

    /// Whether a run that can be gone on with still fits below the cap, which may have been lowered since.
    pub(super) fn fits(&self, entry: &Entry) -> anyhow::Result<bool> {
        let spent: MicroUsd = self.entries.iter().map(|entry| entry.cost.total()).sum();
        // Its share was promised already, so it is only held against the whole cap and not against a new share.
        Ok(spent + self.promised(entry)? <= self.backlog.max_cost)
    }

    /// The most that the run of a task that can be gone on with may cost beyond the cost that was counted.
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

    /// The share with which a task that comes once more could pay for no call at all. `None` where a call was paid, or none was refused.
    pub(super) fn refused_share(&self, entry: &Entry) -> anyhow::Result<Option<MicroUsd>> {
        let is_refused = entry.standing == Standing::SecondTurn && entry.wants_money;
        let Some(run) = entry.run.as_ref().filter(|_| is_refused && entry.cost.total() == MicroUsd::ZERO) else {
            return Ok(None);
        };
        let loaded = self.store.load_run(run).map_err(|error| failed(&error))?;
        let view = RunView::from_events(&loaded.events, details::liveness(&loaded.status));
        Ok(view.run.as_ref().map(|run| run.budget.max_cost))
    }

    /// A task as its runs know it.
    pub(super) fn key(&self, entry: &Entry) -> String {
        format!("{}/{}", self.backlog.backlog_id, entry.task.id)
    }

    /// How many tasks may still come.
    pub(super) fn to_come(&self) -> usize {
        self.shown().filter(|entry| entry.task.is_open() && !entry.standing.is_aside()).count()
    }

    /// Changes a task and records it.
    pub(super) fn change(&mut self, at: usize, change: impl FnOnce(&mut Entry)) -> anyhow::Result<()> {
        let Some(entry) = self.entries.get_mut(at) else { return Ok(()) };
        change(entry);
        let record = entry.record();
        self.store.save_task(&self.backlog.backlog_id, &record).map_err(|error| failed(&error))
    }

    /// Changes tasks in the same way, in the log all at once.
    pub(super) fn change_all(&mut self, places: &[usize], change: impl Fn(&mut Entry)) -> anyhow::Result<()> {
        let mut records = Vec::new();
        for at in places {
            let Some(entry) = self.entries.get_mut(*at) else { continue };
            change(entry);
            records.push(entry.record());
        }
        // One transaction: thousands of single writes would each wait for the disk.
        self.store.save_tasks(&self.backlog.backlog_id, &records).map_err(|error| failed(&error))
    }

    /// The log.
    pub(super) fn store(&mut self) -> &mut Store {
        &mut self.store
    }
}

/// The ids of the tasks of the last backlog of a source and a checkout.
pub(super) fn known(store: &Store, (from, folder): (&str, &str)) -> anyhow::Result<Vec<String>> {
    let last = store.last_backlog(Some(from), folder).map_err(|error| failed(&error))?;
    Ok(last.into_iter().flat_map(|(_, tasks)| tasks).map(|task| task.task_id).collect())
}

/// The tasks that the last backlog of a source and a checkout completed, by their places, each with the commit of its change.
pub(super) fn done_before(
    store: &Store,
    (from, folder): (&str, &str),
    tasks: &[Task],
) -> anyhow::Result<Vec<(usize, Option<CommitSha>)>> {
    let last = store.last_backlog(Some(from), folder).map_err(|error| failed(&error))?;
    let past: Vec<Entry> = last.into_iter().flat_map(|(_, tasks)| tasks).filter_map(Entry::from_record).collect();
    let done = |(at, task): (usize, &Task)| completed_before(&past, task).map(|entry| (at, entry.commit.clone()));
    Ok(tasks.iter().enumerate().filter_map(done).collect())
}

/// The entry of a task that is open in its source and was completed before. The same id with another proof is another task, which the
/// earlier fix says nothing of.
fn completed_before<'p>(past: &'p [Entry], task: &Task) -> Option<&'p Entry> {
    let is_same = |entry: &&Entry| entry.task.id == task.id && entry.task.proof == task.proof;
    past.iter().find(is_same).filter(|entry| entry.task.status == TaskStatus::Completed && task.is_open())
}

/// Opens tasks of the last backlog of a source and a checkout once more.
pub(super) fn reopen(store: &mut Store, (from, folder): (&str, &str), ids: &[String]) -> anyhow::Result<()> {
    let Some((backlog, tasks)) = store.last_backlog(Some(from), folder).map_err(|error| failed(&error))? else {
        return Ok(());
    };
    for mut entry in tasks.into_iter().filter_map(Entry::from_record).filter(|entry| ids.contains(&entry.task.id)) {
        entry.task.status = TaskStatus::Open;
        // The commit stays in the branch. It only is no longer the one of this task.
        (entry.commit, entry.failures, entry.standing) = (None, 0, Standing::Comes);
        store.save_task(&backlog.backlog_id, &entry.record()).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// The log of a backlog cannot be used: what was not recorded is not done.
pub(super) fn failed(error: &AuditError) -> anyhow::Error {
    Failure::usage(format!("the backlog cannot be recorded: {}", error.of_backlog()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::audit::Store;
    use crate::domain::clock::Timestamp;
    use crate::redact::Redactor;

    fn task(proof: &str) -> Task {
        Task {
            id: "one".to_owned(),
            title: "One".to_owned(),
            description: String::new(),
            status: TaskStatus::Open,
            priority: 2,
            depends_on: Vec::new(),
            proof: Proof::Command(proof.to_owned()),
        }
    }

    fn book() -> Book {
        let store = Store::in_memory(Arc::new(Redactor::default())).unwrap();
        let backlog = BacklogRecord {
            backlog_id: "b".to_owned(),
            source: "tasks.yml".to_owned(),
            folder: "/x".to_owned(),
            started_at: Timestamp("2026-01-01T00:00:00.000Z".to_owned()),
            stop_reason: None,
            max_cost: MicroUsd(1_000),
            course: CourseRecord { status: "running".to_owned(), iteration: 1, max_iterations: 0 },
        };
        Book::begun(store, backlog, vec![task("make a")], false).unwrap()
    }

    #[test]
    fn a_raised_cap_brings_back_who_had_too_little_and_is_recorded() {
        let mut book = book();
        book.change(0, |entry| entry.standing = Standing::LeftForMoney).unwrap();
        assert_eq!(book.next(), None);
        book.raise_cap(MicroUsd(500)).unwrap();
        assert_eq!((book.next(), book.left().unwrap()), (Some(0), MicroUsd(1_500)));
        let (backlog, tasks) = book.store().last_backlog(Some("tasks.yml"), "/x").unwrap().unwrap();
        assert_eq!((backlog.max_cost, tasks[0].aside.as_str()), (MicroUsd(1_500), ""));
    }

    #[test]
    fn a_task_that_gets_another_proof_begins_anew_and_was_paid_for_all_the_same() {
        let mut book = book();
        let cost = Charge { known: MicroUsd(700), unknown: MicroUsd(50) };
        book.change(0, |entry| {
            entry.cost = cost;
            entry.failures = 3;
            entry.standing = Standing::LeftOut;
        })
        .unwrap();
        assert!(book.refresh(vec![task("make b")], false).unwrap());
        let entry = &book.entries[0];
        assert_eq!((entry.cost, entry.failures, entry.standing), (cost, 0, Standing::Comes));
        assert_eq!(book.left().unwrap(), MicroUsd(250));
    }
}
