//! The tasks of a backlog that one job works on.

use super::super::{Failure, say};
use crate::tracker::{Source, Task, TaskStatus};

/// Keeps the named tasks, or all where none is named. A task that is completed already is waited for no longer.
///
/// # Errors
/// A name that the backlog does not have (exit 2). A failing test that passes by now has no task any more: nothing is left to do for it.
pub(super) fn only(tasks: Vec<Task>, named: &[String], source: &Source) -> anyhow::Result<Vec<Task>> {
    let named: Vec<&str> =
        named.iter().flat_map(|ids| ids.lines()).map(str::trim).filter(|id| !id.is_empty()).collect();
    if named.is_empty() {
        return Ok(tasks);
    }
    for unknown in named.iter().filter(|id| !tasks.iter().any(|task| task.id == **id)) {
        let unknown = unknown.escape_debug();
        if *source == Source::FailingTests {
            say(&format!("⚠ no failing test is of {unknown}: nothing is left to do for it"));
            continue;
        }
        return Err(Failure::usage(format!("the backlog has no task {unknown}\n→ Fix: see `upshift tasks list`")));
    }
    let done: Vec<String> =
        tasks.iter().filter(|task| task.status == TaskStatus::Completed).map(|task| task.id.clone()).collect();
    let mut kept: Vec<Task> = tasks.into_iter().filter(|task| named.contains(&task.id.as_str())).collect();
    for task in &mut kept {
        task.depends_on.retain(|id| !done.contains(id));
    }
    Ok(kept)
}
