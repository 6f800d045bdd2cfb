//! `upshift tasks reset`: tasks that are to be done once more.

use std::path::Path;
use std::sync::Arc;

use super::super::environment::{Environment, current_dir};
use super::super::{Failure, plan, print, setup, stop_sources};
use super::{book, load, ready};
use crate::audit::{BacklogLock, Store, Work};
use crate::redact::Redactor;
use crate::tracker::{List, Source};

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
    let known = match (in_file, &mut opened) {
        (Some(known), _) => known,
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
    let chosen = if ids.is_empty() { &known } else { ids };
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

/// The ids that a source which is a file has. `None` for another.
fn in_file(source: &Source, checkout: &Path) -> anyhow::Result<Option<Vec<String>>> {
    let Some(path) = load::file_of(source, checkout) else { return Ok(None) };
    let tasks = match source {
        Source::Prd(_) => load::prd(&path)?.tasks(),
        Source::List(_) | Source::FailingTests | Source::Issues(_) => List::read(&load::text_of(&path)?),
    };
    let tasks = tasks.map_err(|fault| load::wrong(&path, &fault))?;
    Ok(Some(tasks.into_iter().map(|task| task.id).collect()))
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
