//! A merge's outcome in the log of the source that its tasks come from, where the source itself does not tell which of them are done.

use super::super::super::setup::Setup;
use super::super::book::Book;
use super::super::load;
use super::rows::{Row, Standing, Wish};
use super::told::Report;
use crate::audit::{BacklogRecord, CourseRecord};
use crate::domain::units::{MicroUsd, RunId};
use crate::policy::backlog::StopReason;
use crate::policy::course::Status;
use crate::tracker::TaskStatus;

/// Marks the tasks whose changes are on the branch as completed, as a backlog does that works them off in order.
///
/// # Errors
/// When the log cannot be written.
pub(super) fn note(report: &Report, wish: &Wish<'_>, setup: &Setup<'_>, max_cost: MicroUsd) -> anyhow::Result<()> {
    let Some(source) = wish.source.filter(|source| !source.says_what_is_done()) else { return Ok(()) };
    let done: Vec<&Row> = report.rows.iter().filter(|row| is_done(row, wish)).collect();
    if done.is_empty() {
        return Ok(());
    }
    let (name, folder) = (load::name_of(source, setup.checkout), setup.checkout.display().to_string());
    let store = setup.open_backlogs(wish.into)?;
    let course = CourseRecord { status: Status::Idle.as_str().to_owned(), iteration: 0, max_iterations: 0 };
    let (backlog_id, started_at) = (RunId::random().0, setup.clock().timestamp());
    let goes_on = Book::goes_on(&store, &name, &folder)?;
    let backlog = BacklogRecord { backlog_id, source: name, folder, started_at, stop_reason: None, max_cost, course };
    let mut book =
        if goes_on { Book::resumed(store, backlog)? } else { Book::begun(store, backlog, wish.tasks.to_vec(), false)? };
    for row in done {
        let same = |id: &String| book.entries.iter().position(|entry| entry.task.id == *id);
        let Some(at) = row.task.as_ref().and_then(same) else { continue };
        // The run of a task that is under way is paid for, and goes on with its backlog.
        if book.entries.get(at).is_none_or(|entry| entry.task.status == TaskStatus::InProgress) {
            continue;
        }
        book.change(at, |entry| {
            entry.task.status = TaskStatus::Completed;
            entry.tries = entry.tries.max(1);
            (entry.run, entry.commit, entry.cost) = (Some(row.run.clone()), row.commit.clone(), row.cost);
            entry.reason.clear();
        })?;
    }
    let reason = match (goes_on, book.is_done()) {
        // It was cut short before, and still is.
        (true, false) => StopReason::Interrupted,
        (_, true) => StopReason::Completed,
        (false, false) => StopReason::NoTasks,
    };
    let id = book.backlog.backlog_id.clone();
    let ended = book.store().end_backlog(&id, reason.as_str(), &setup.clock().timestamp());
    ended.map_err(|error| super::super::book::failed(&error))
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
