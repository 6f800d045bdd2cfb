//! A merge's outcome in the log, for `tasks status` and for the next backlog of the source that its tasks come from.

use super::super::super::setup::Setup;
use super::super::book::{Book, failed, is_parked};
use super::super::entry::Entry;
use super::super::load;
use super::rows::{Row, Standing, Wish};
use super::told::Report;
use crate::audit::{BacklogRecord, CourseRecord, Store};
use crate::domain::units::{Charge, MicroUsd, RunId};
use crate::policy::backlog::StopReason;
use crate::policy::course::Status;
use crate::tracker::{Source, Task, TaskStatus};

/// Marks the tasks whose changes are on the branch as completed, as a backlog does that works them off in order, and notes of the others
/// what became of them.
///
/// # Errors
/// When the log cannot be written.
pub(in crate::cli::tasks) fn note(
    report: &Report,
    wish: &Wish<'_>,
    setup: &Setup<'_>,
    max_cost: MicroUsd,
) -> anyhow::Result<()> {
    let Some(source) = wish.source else { return Ok(()) };
    if report.rows.is_empty() && report.not_worked_on().is_empty() {
        return Ok(());
    }
    let (name, folder) = (load::name_of(source, setup.checkout), setup.checkout.display().to_string());
    let store = setup.open_backlogs(wish.into)?;
    let course = CourseRecord { status: Status::Idle.as_str().to_owned(), iteration: 0, max_iterations: 0 };
    let (backlog_id, started_at) = (RunId::random().0, setup.clock().timestamp());
    let goes_on = Book::goes_on(&store, &name, &folder)?;
    let backlog = BacklogRecord { backlog_id, source: name, folder, started_at, stop_reason: None, max_cost, course };
    let mut book = if goes_on {
        Book::resumed(store, backlog)?
    } else {
        let tasks = with_done_before(wish, &store, &backlog)?;
        Book::begun(store, backlog, tasks, source.says_what_is_done())?
    };
    for (at, task) in book.entries.iter().map(|entry| entry.task.id.clone()).enumerate().collect::<Vec<_>>() {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.task.as_deref() == Some(&task)).collect();
        note_task(&mut book, at, (&rows, report.why_not_worked_on(&task)), (wish, goes_on))?;
    }
    let reason = match (goes_on, book.is_done()) {
        // It was cut short before, and still is.
        (true, false) => StopReason::Interrupted,
        (_, true) => StopReason::Completed,
        (false, false) => StopReason::NoTasks,
    };
    let id = book.backlog.backlog_id.clone();
    let ended = book.store().end_backlog(&id, reason.as_str(), &setup.clock().timestamp());
    ended.map_err(|error| failed(&error))
}

/// The tasks, and beside them those that an earlier backlog completed: a merge of some tasks alone forgets no other.
fn with_done_before(wish: &Wish<'_>, store: &Store, backlog: &BacklogRecord) -> anyhow::Result<Vec<Task>> {
    let mut tasks = wish.tasks.to_vec();
    // A test that passes is no task any more.
    if matches!(wish.source, Some(Source::FailingTests)) {
        return Ok(tasks);
    }
    let last = store.last_backlog(Some(&backlog.source), &backlog.folder).map_err(|error| failed(&error))?;
    let done = last.into_iter().flat_map(|(_, tasks)| tasks).filter_map(Entry::from_record);
    let done = done.map(|entry| entry.task).filter(|task| task.status == TaskStatus::Completed);
    for task in done {
        // As its source has it, so that the earlier fix is known again.
        let task = Task { status: TaskStatus::Open, ..task };
        match tasks.iter_mut().find(|one| one.id == task.id) {
            Some(same) if same.proof == task.proof && same.status == TaskStatus::Completed => same.status = task.status,
            Some(_) => {}
            None => tasks.push(task),
        }
    }
    Ok(tasks)
}

/// Notes what became of a task, by the runs for it and by the reason why it was not worked on.
fn note_task(
    book: &mut Book,
    at: usize,
    (rows, why): (&[&Row], Option<&str>),
    (wish, goes_on): (&Wish<'_>, bool),
) -> anyhow::Result<()> {
    // The run of a task that is under way is paid for, and goes on with its backlog.
    if book.entries.get(at).is_none_or(|entry| entry.task.status == TaskStatus::InProgress) {
        return Ok(());
    }
    let cost = Charge {
        known: rows.iter().map(|row| row.cost.known).sum(),
        unknown: rows.iter().map(|row| row.cost.unknown).sum(),
    };
    let tries = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    // A change that is on the branch says more than one that was not needed beside it.
    let merged = rows.iter().find(|row| row.standing == Standing::Merged);
    if let Some(row) = merged.or_else(|| rows.iter().find(|row| is_done(row, wish))) {
        return book.change(at, |entry| {
            entry.task.status = TaskStatus::Completed;
            entry.tries = entry.tries.max(tries);
            (entry.run, entry.commit, entry.cost) = (Some(row.run.clone()), row.commit.clone(), cost);
            entry.reason.clear();
        });
    }
    let is_open = book.entries.get(at).is_some_and(|entry| entry.task.is_open());
    // A backlog that goes on knows more of its own tasks than a merge beside it.
    if goes_on || !is_open {
        return Ok(());
    }
    match (rows.last(), why) {
        (Some(row), _) => {
            // One that waits would be taken for a run of this checkout, and gone on with here.
            let run = Some(row.run.clone()).filter(|run| !is_parked(book.store(), Some(run)));
            book.change(at, |entry| {
                entry.tries = tries;
                (entry.run, entry.cost) = (run, cost);
                entry.reason = format!("{}: {}", row.standing.as_str().replace('_', " "), row.reason);
            })
        }
        (None, Some(why)) => book.change(at, |entry| why.clone_into(&mut entry.reason)),
        (None, None) => Ok(()),
    }
}

/// Whether a task needs no further work: its change is on the branch, or its tests pass without any. A command that succeeds already says
/// nothing of a change.
fn is_done(row: &Row, wish: &Wish<'_>) -> bool {
    match row.standing {
        Standing::Merged => true,
        Standing::Duplicate => {
            let task = wish.tasks.iter().find(|task| Some(&task.id) == row.task.as_ref());
            task.is_some_and(|task| task.proof.command().is_none())
        }
        Standing::Waiting | Standing::Requeued | Standing::Refused | Standing::NotMended => false,
    }
}
