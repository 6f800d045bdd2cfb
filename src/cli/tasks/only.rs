//! The tasks of a backlog that one job works on.

use std::collections::BTreeSet;

use super::super::{Failure, say};
use crate::tracker::{Source, Task, TaskStatus};

/// The ids that `--task` names, of which one may hold several, a line each.
pub(super) fn named(task: &[String]) -> BTreeSet<String> {
    let ids = task.iter().flat_map(|ids| ids.lines()).map(str::trim);
    ids.filter(|id| !id.is_empty()).map(str::to_owned).collect()
}

/// Refuses names that a backlog does not have (exit 2). A failing test that passes by now has no task any more: nothing is left to do for
/// it.
pub(super) fn known(tasks: &[Task], named: &BTreeSet<String>, source: &Source) -> anyhow::Result<()> {
    for unknown in named.iter().filter(|id| !tasks.iter().any(|task| task.id == **id)) {
        let unknown = unknown.escape_debug();
        // Other tasks may have mended it meanwhile, which is no mistake in the command.
        if *source == Source::FailingTests {
            say(&format!("⚠ no failing test belongs to {unknown}: nothing is left to do for it"));
            continue;
        }
        return Err(Failure::usage(format!("the backlog has no task {unknown}\n→ Fix: see `upshift tasks list`")));
    }
    Ok(())
}

/// Keeps the named tasks, or all where none is named. A task that is completed already is waited for no longer.
///
/// # Errors
/// As [`known`].
pub(super) fn only(tasks: Vec<Task>, task: &[String], source: &Source) -> anyhow::Result<Vec<Task>> {
    let named = named(task);
    if named.is_empty() {
        return Ok(tasks);
    }
    known(&tasks, &named, source)?;
    let done: Vec<String> =
        tasks.iter().filter(|task| task.status == TaskStatus::Completed).map(|task| task.id.clone()).collect();
    let mut kept: Vec<Task> = tasks.into_iter().filter(|task| named.contains(&task.id)).collect();
    for task in &mut kept {
        // Otherwise a named task would wait for one that is not in the list any more.
        task.depends_on.retain(|id| !done.contains(id));
    }
    Ok(kept)
}
