//! `upshift tasks reset`: tasks that are to be done once more.

use std::path::Path;
use std::sync::Arc;

use super::super::environment::{Environment, current_dir};
use super::super::{Failure, plan, print, say, setup, stop_sources};
use super::{book, load, ready};
use crate::audit::{BacklogLock, Store, Work};
use crate::redact::Redactor;
use crate::tracker::{List, Source, Task};

/// Opens the named tasks, or all where none is named.
pub(super) fn run(
    source: &Source,
    ids: &[String],
    audit_db: Option<&str>,
    environment: &Environment,
) -> anyhow::Result<u8> {
    let checkout = current_dir()?;
    let from = (load::name_of(source, &checkout), checkout.display().to_string());
    // A list that cannot be read is told of before a log.
    let in_file = in_file(source, &checkout)?;
    // The lock is taken before the list is read for good, so that no process works on it meanwhile.
    let mut opened = open(audit_db, &checkout, environment)?;
    let known = match (&in_file, &mut opened) {
        (Some(tasks), _) => tasks.iter().map(|task| task.id.clone()).collect(),
        (None, Some((store, _held))) => book::known(store, (&from.0, &from.1))?,
        (None, None) => Vec::new(),
    };
    if known.is_empty() && load::file_of(source, &checkout).is_none() {
        return Err(Failure::usage(format!(
            "no backlog of {source} was worked on here\n→ Fix: name its log with --audit-db"
        )));
    }
    if let Some(unknown) = ids.iter().find(|id| !known.contains(id)) {
        return Err(Failure::usage(format!("{} has no task {unknown}\n→ Fix: see `upshift tasks list`", from.0)));
    }
    let mut chosen = if ids.is_empty() { known.clone() } else { ids.to_vec() };
    if let (Source::List(_), Some(tasks)) = (source, &in_file) {
        // A list is a person's own file, comments and all.
        for task in tasks.iter().filter(|task| !task.is_open() && chosen.contains(&task.id)) {
            let status = task.status.as_str();
            say(&format!("⚠ {} stays {status}: the list says so\n→ Fix: take its `status` out of {}", task.id, from.0));
        }
        chosen.retain(|id| tasks.iter().any(|task| task.id == *id && task.is_open()));
    }
    let chosen = &chosen;
    // The file first: a kill in between leaves the log's word, which the file overrules.
    if let (Source::Prd(_), Some(path)) = (source, load::file_of(source, &checkout)) {
        let mut prd = load::prd(&path)?;
        chosen.iter().for_each(|id| prd.mark(id, false));
        load::replace(&path, &prd.write())?;
    }
    // Which tasks of another source are done, left out or under way stands in the log alone.
    if let Some((store, _held)) = &mut opened {
        book::reopen(store, (&from.0, &from.1), chosen)?;
    }
    // The lock is given up before the success is told, so that the next command finds it free.
    drop(opened);
    print(&format!("reset {} of {} tasks\n", chosen.len(), known.len()))
}

/// The tasks of a source that is a file. `None` for another.
fn in_file(source: &Source, checkout: &Path) -> anyhow::Result<Option<Vec<Task>>> {
    let Some(path) = load::file_of(source, checkout) else { return Ok(None) };
    let tasks = match source {
        Source::Prd(_) => load::prd(&path)?.tasks(),
        Source::List(_) | Source::FailingTests | Source::Issues(_) => List::read(&load::text_of(&path)?),
    };
    let tasks = tasks.map_err(|fault| load::wrong(&path, &fault))?;
    Ok(Some(tasks))
}

/// The log, kept for this process alone. `None` where there is none.
///
/// # Errors
/// Another process works on a backlog of it, and would not hear of it (exit 2).
fn open(
    audit_db: Option<&str>,
    checkout: &Path,
    environment: &Environment,
) -> anyhow::Result<Option<(Store, BacklogLock)>> {
    let location = setup::locate(&plan::audit_path(audit_db, environment, checkout), checkout, environment);
    if !location.live.exists() {
        return Ok(None);
    }
    let redactor = Redactor::new(&environment.secrets());
    let mut store = Store::open(&location, Arc::new(redactor)).map_err(|error| setup::audit_failure(&error))?;
    let me = ready::holder(&stop_sources::clock(environment).timestamp(), &checkout.display().to_string(), Work::Reset);
    match store.lock_backlogs(&me).map_err(|error| book::failed(&error))? {
        Some(held) => Ok(Some((store, held))),
        None => Err(ready::in_use(&store)),
    }
}
