//! Facts about a task's run that its entry does not hold: the places to look at in its change, and the limit that it waits for.

use serde_json::{Value, json};

use super::super::details;
use super::entry::Entry;
use crate::audit::Store;
use crate::domain::account::Limited;
use crate::domain::outcome::Outcome;
use crate::report::view::RunView;
use crate::report::words::count;
use crate::report::{json as documents, text};
use crate::tracker::TaskStatus;

/// A task with what the log knows of its last run.
#[derive(Debug)]
pub(super) struct Told<'e> {
    pub(super) entry: &'e Entry,
    view: Option<RunView>,
}

impl<'e> Told<'e> {
    /// A task alone.
    pub(super) const fn plain(entry: &'e Entry) -> Self {
        Self { entry, view: None }
    }

    /// A task with its run, where that has something to tell beside the entry.
    pub(super) fn of(store: &Store, entry: &'e Entry) -> Self {
        let is_told = match entry.task.status {
            // Only a committed change can be looked at.
            TaskStatus::Completed => entry.commit.is_some(),
            TaskStatus::Open => true,
            TaskStatus::InProgress | TaskStatus::Blocked | TaskStatus::Cancelled => false,
        };
        let loaded = entry.run.as_ref().filter(|_| is_told).and_then(|run| store.load_run(run).ok());
        Self { entry, view: loaded.as_ref().map(details::view_of) }
    }

    /// The places in the committed change that a reviewer should look at, below their number.
    pub(super) fn places(&self) -> Vec<String> {
        let done = self.view.as_ref().filter(|_| self.entry.task.status == TaskStatus::Completed);
        done.map(text::places).unwrap_or_default()
    }

    /// The run that waits for something outside, where it is such a task's.
    fn parked(&self) -> Option<&RunView> {
        let is_open = self.entry.task.status == TaskStatus::Open;
        self.view.as_ref().filter(|view| is_open && matches!(view.outcome(), Some(Outcome::Parked)))
    }

    /// The same for programs, by the names that a run's report has.
    pub(super) fn document(&self) -> Value {
        let mut task = of_task(self.entry);
        let (Some(told), Some(view)) = (task.as_object_mut(), &self.view) else { return task };
        if self.entry.task.status == TaskStatus::Completed {
            told.insert("remarks".to_owned(), json!(documents::remarks(view)));
        }
        if let Some(limited) = self.parked().and_then(RunView::limited) {
            told.insert("limited".to_owned(), json!(limited));
        }
        task
    }
}

/// A task for programs.
pub(super) fn of_task(entry: &Entry) -> Value {
    json!({
        "id": entry.task.id,
        "title": entry.task.title,
        "status": entry.task.status.as_str(),
        "priority": entry.task.priority,
        "dependsOn": entry.task.depends_on,
        "proof": entry.task.proof,
        "tries": entry.tries,
        "runId": entry.run.as_ref().map(|run| &run.0),
        "commit": entry.commit.as_ref().map(|commit| &commit.0),
        "costMicroUsd": entry.cost.known.0,
        "unknownCostMicroUsd": entry.cost.unknown.0,
        "reason": entry.reason,
    })
}

/// For what the tasks wait whose runs are parked, and when they can go on. `None` where none waits.
pub(super) fn waits(tasks: &[Told<'_>]) -> Option<String> {
    let parked: Vec<&RunView> = tasks.iter().filter_map(Told::parked).collect();
    if parked.is_empty() {
        return None;
    }
    let limits: Vec<&Limited> = parked.iter().filter_map(|view| view.limited()).collect();
    let some = count(u64::try_from(parked.len()).unwrap_or(u64::MAX), "task");
    let (verb, them) = if parked.len() == 1 { ("waits", "it") } else { ("wait", "them") };
    let mut hosts: Vec<&str> = limits.iter().map(|limited| limited.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    if hosts.is_empty() {
        return Some(format!("{some} {verb}; the same command continues {them}"));
    }
    // The first of them can go on then. The others say themselves when.
    let until = limits.iter().filter_map(|limited| limited.until.as_ref()).min_by(|one, other| one.0.cmp(&other.0));
    let when = match until {
        Some(until) => format!("until {}; the same command continues {them} then", until.for_people()),
        None => format!("and nobody said until when; the same command continues {them} later"),
    };
    Some(format!("{some} {verb} for the rate limit of {} {when}", hosts.join(" and ")))
}
