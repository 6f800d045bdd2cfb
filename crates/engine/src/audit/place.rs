//! Making the place of a log ready: folders, and the copy in the checkout weighed against the live file.
//!
//! Invariant: neither the live log nor its published copy is ever lost by it. A file that gives way is moved aside.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::error::{explain, explain_io};
use super::location::{Location, Published};
use super::publish::{CopyState, copy_state, fetch, free_name, set_aside};
use super::types::RunStatus;
use super::{AuditError, lock, query};
use crate::files;

/// Whether another process has the log open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    Alone,
    Others,
}

/// Makes the folders, takes in or sets aside what has to be. Returns the lock that shows others that the log is open,
/// and what a person should know.
pub(super) fn prepare(location: &Location) -> Result<(Option<File>, Vec<String>), AuditError> {
    let live = &location.live;
    let failed = |error: std::io::Error| explain_io(live, &error);
    let Some(place) = &location.published else {
        if let Some(folder) = live.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        return Ok((None, Vec::new()));
    };
    if let Some(folder) = live.parent() {
        // Under the user's home or the runner's temporary folder: nobody else's business.
        files::make_private_folder(folder).map_err(failed)?;
    }
    let mut warnings = Vec::new();
    let open =
        || File::options().read(true).append(true).create(true).open(lock::beside(live, ".lock")).map_err(failed);
    let mut presence = open()?;
    // Held alone while the two are weighed, so that no other process writes into a log that is moved away.
    let company = match presence.try_lock() {
        Ok(()) => Company::Alone,
        Err(TryLockError::WouldBlock) => Company::Others,
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    };
    // With others at work the live file is the truth, and is not touched.
    if company == Company::Alone {
        reconcile(live, place, &mut warnings)?;
        // The lock is given up by closing the file: Wine takes the other way for an error.
        presence = open()?;
    }
    presence.lock_shared().map_err(failed)?;
    Ok((Some(presence), warnings))
}

fn reconcile(live: &Path, place: &Published, warnings: &mut Vec<String>) -> Result<(), AuditError> {
    let failed = |error: std::io::Error| explain_io(live, &error);
    let incoming = lock::beside(live, ".incoming");
    let shown = place.path();
    let state = copy_state(live, place);
    // What was killed half-way can only be resumed from here, and tests that still ran then could reach the copy.
    if live.exists() && matches!(state, CopyState::Deleted | CopyState::Other) && holds_unfinished(live) {
        let kept = if state == CopyState::Other { keep_news(live, place, &incoming) } else { None };
        let kept = kept.map(|path| format!("; what stood there is kept at {}", path.display())).unwrap_or_default();
        warnings.push(format!(
            "the audit log {} was changed or deleted after a run was killed; it is restored{kept} (to start a new one, delete {} as well)",
            shown.display(),
            live.display()
        ));
        return Ok(());
    }
    match (live.exists(), state) {
        (false, CopyState::NeverMade | CopyState::Deleted) | (true, CopyState::Ours | CopyState::NeverMade) => {}
        // The live file alone is gone: the stamp beside it still knows the copy.
        (false, CopyState::Ours) => {
            fetch(place, &incoming)?;
            std::fs::rename(&incoming, live).map_err(failed)?;
        }
        (false, CopyState::Other) => {
            fetch(place, &incoming)?;
            // Before it takes its place: after a kill in between, runs that are not ours would count as ours.
            disown(&incoming, live)?;
            std::fs::rename(&incoming, live).map_err(failed)?;
        }
        (true, CopyState::Deleted) => {
            let aside = set_aside(live).map_err(failed)?;
            warnings.push(format!(
                "the audit log {} was deleted; a new one starts, and the old one is kept at {}",
                shown.display(),
                aside.display()
            ));
        }
        (true, CopyState::Other) => match fetch(place, &incoming).and_then(|()| has_news(&incoming, live)) {
            Ok(true) => {
                disown(&incoming, live)?;
                let aside = set_aside(live).map_err(failed)?;
                std::fs::rename(&incoming, live).map_err(failed)?;
                warnings.push(format!(
                    "the audit log {} was put there by someone else; it is continued, and the one before is kept at {}",
                    shown.display(),
                    aside.display()
                ));
            }
            // An older copy, as a backup brings one back: the live log has all of it.
            Ok(false) => drop(std::fs::remove_file(&incoming)),
            Err(error) => {
                drop(std::fs::remove_file(&incoming));
                warnings.push(format!("the published audit log is replaced: {error}"));
            }
        },
    }
    Ok(())
}

/// Keeps a copy that gives way, where it has runs of its own: another home or another machine may have gone on with it. One that cannot be
/// read holds none.
fn keep_news(live: &Path, place: &Published, incoming: &Path) -> Option<PathBuf> {
    let found = fetch(place, incoming).and_then(|()| has_news(incoming, live));
    let kept = found.unwrap_or(false).then(|| {
        let aside = free_name(live);
        std::fs::rename(incoming, &aside).ok().map(|()| aside)
    });
    drop(std::fs::remove_file(incoming));
    kept.flatten()
}

/// Remembers that the runs of a log which somebody else put into the checkout are not ours, before it takes the place of the live one.
fn disown(incoming: &Path, live: &Path) -> Result<(), AuditError> {
    let mut runs = taken_in(live).map_err(|error| explain_io(live, &error))?;
    runs.extend(ids(incoming)?);
    // An id from a stranger may hold a line break. Escaped, each is one line.
    let lines: String = runs.iter().map(|run| format!("{}\n", run.escape_default())).collect();
    std::fs::write(taken_path(live), lines).map_err(|error| explain_io(live, &error))
}

/// The runs of a live log that came with a copy which somebody else put into the checkout.
pub(super) fn taken_in(live: &Path) -> std::io::Result<BTreeSet<String>> {
    match std::fs::read_to_string(taken_path(live)) {
        Ok(lines) => Ok(lines.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

fn taken_path(live: &Path) -> PathBuf {
    lock::beside(live, ".taken")
}

/// Whether a run in the live log has neither ended nor is under way. A log that cannot be read holds none.
fn holds_unfinished(live: &Path) -> bool {
    let Ok(db) = connect(live) else { return false };
    // Nobody else can hold a run here, since we hold the log alone.
    query::list(&db, |_nobody| false).is_ok_and(|runs| runs.iter().any(|run| run.status == RunStatus::Interrupted))
}

/// Whether the incoming database holds runs that the live one does not know.
fn has_news(incoming: &Path, live: &Path) -> Result<bool, AuditError> {
    let known = ids(live)?;
    Ok(ids(incoming)?.iter().any(|run| !known.contains(run)))
}

fn connect(path: &Path) -> Result<Connection, AuditError> {
    let failed = |error: rusqlite::Error| explain(path, &error);
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    super::schema::harden(&db).map_err(failed)?;
    Ok(db)
}

fn ids(path: &Path) -> Result<Vec<String>, AuditError> {
    let failed = |error: rusqlite::Error| explain(path, &error);
    let db = connect(path)?;
    let any: bool = db
        .query_row("SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'run_metadata'", [], |row| row.get(0))
        .map_err(failed)?;
    if any { query::run_ids(&db).map_err(failed) } else { Ok(Vec::new()) }
}

/// Whether the copy in the checkout is there and the one that we put there last.
pub(super) fn is_published(location: &Location) -> bool {
    let Some(place) = &location.published else { return true };
    copy_state(&location.live, place) == CopyState::Ours
}
