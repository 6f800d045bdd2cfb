//! The copy of a log inside a checkout: put there whole, by rename, and taken in again when it is all there is.
//!
//! Invariant: the folders of a checkout may be a stranger's, so each is opened from the one before and no link is
//! followed. The copy is one plain file (rollback journal, not WAL), readable from a read-only place.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use super::error::{explain, explain_io};
use super::location::Published;
use super::types::Sync;
use super::{AuditError, lock};
use crate::files::{self, Folder, Kind};

/// Pages copied at a time. All of them, for the log is small and a copy in one step is consistent.
const ALL_PAGES: i32 = i32::MAX;

/// Where a database's header has the format versions for writing and for reading (<https://sqlite.org/fileformat2.html>, 1.3).
const FORMAT_VERSIONS: usize = 18;
/// Those of a database with a rollback journal. One with a WAL has 2.
const ROLLBACK_JOURNAL: [u8; 2] = [1, 1];

/// The permissions of the copy, and of the folders that are made for it.
const READABLE: u32 = 0o644;
const OPEN_TO_ALL: u32 = 0o755;

/// Folders that we make, and the default folder when a person made it, are kept out of git.
const OUR_FOLDER: &str = ".upshift";

/// Copies the database, as it stands, to where its owner wants it. Only the last copy need wait for the disk: the live
/// log is what has to be durable.
pub(super) fn publish(db: &mut Connection, live: &Path, place: &Published, sync: Sync) -> Result<(), AuditError> {
    let shown = place.path();
    // Two processes would write the same temporary file.
    let _alone = lock::wait_for(&lock::beside(live, ".copy.lock")).map_err(|error| explain_io(live, &error))?;
    let image = db.serialize(MAIN_DB).map_err(|error| explain(live, &error))?;
    let stamp = put(&image, place, sync).map_err(|error| explain_io(&shown, &error))?;
    std::fs::write(stamp_path(live), stamp).map_err(|error| explain_io(live, &error))
}

/// Copies all pages from one database to another.
pub(super) fn run_backup(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    Backup::new(from, to)?.run_to_completion(ALL_PAGES, Duration::from_millis(5), None)
}

/// Puts a database's image in its place. Returns the stamp by which it is known again.
fn put(image: &[u8], place: &Published, sync: Sync) -> io::Result<String> {
    let (folder, name) = open_folder(place, Missing::Make)?;
    let mut temporary = OsString::from(".");
    temporary.push(&name);
    temporary.push(".tmp");
    // Left by a kill in the middle.
    folder.remove_file(&temporary).ok();
    // New or not at all, so that a link which somebody put there is not written through.
    let mut target = folder.create(&temporary, READABLE)?;
    let written = write_for_readers(image, &mut target)
        .and_then(|()| if sync == Sync::Now { target.sync_data() } else { Ok(()) })
        .and_then(|()| folder.rename(&temporary, &name));
    if let Err(error) = written {
        folder.remove_file(&temporary).ok();
        return Err(error);
    }
    // Of the handle, since by its name somebody else's may be there already.
    Ok(files::stamp(&target.metadata()?))
}

/// Writes an image as that of a database without a WAL: one in WAL mode cannot be read where nothing can be written beside it.
fn write_for_readers(image: &[u8], target: &mut File) -> io::Result<()> {
    let Some((head, (_, rest))) =
        image.split_at_checked(FORMAT_VERSIONS).and_then(|(head, rest)| Some((head, rest.split_first_chunk::<2>()?)))
    else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the log has no header"));
    };
    target.write_all(head)?;
    target.write_all(&ROLLBACK_JOURNAL)?;
    target.write_all(rest)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Fail,
}

/// Opens the folder that the copy lies in, and says the copy's name.
fn open_folder(place: &Published, missing: Missing) -> io::Result<(Folder, OsString)> {
    let mut folder = Folder::open(&place.root.canonicalize()?)?;
    let mut names: Vec<&OsStr> = place.relative.iter().collect();
    let name = names.pop().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    let mut ignored = false;
    for part in names {
        let mut made = false;
        if missing == Missing::Make {
            match folder.make_folder(part, OPEN_TO_ALL) {
                Ok(()) => made = true,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        folder = folder.folder(part)?;
        // Once at the outermost folder of ours. All below it is ignored with it.
        if missing == Missing::Make && !ignored && (made || part == OUR_FOLDER) {
            ignore(&folder)?;
            ignored = true;
        }
    }
    Ok((folder, name))
}

/// Gives a folder an ignore file of its own, unless it has one.
fn ignore(folder: &Folder) -> io::Result<()> {
    match folder.create(OsStr::new(".gitignore"), READABLE) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// The state of the published copy since we put it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyState {
    /// It is as we left it.
    Ours,
    /// There never was one, as far as we know, and there is none.
    NeverMade,
    /// It is gone: its owner deleted it.
    Deleted,
    /// There is one that we did not put there.
    Other,
}

/// Looks at the published copy.
pub(super) fn copy_state(live: &Path, place: &Published) -> CopyState {
    let stamped = std::fs::read_to_string(stamp_path(live)).ok();
    let there = open_copy(place).and_then(|file| file.metadata()).map(|found| files::stamp(&found)).ok();
    match (stamped, there) {
        (None, None) => CopyState::NeverMade,
        (Some(_), None) => CopyState::Deleted,
        (Some(ours), Some(found)) if ours == found => CopyState::Ours,
        (_, Some(_)) => CopyState::Other,
    }
}

fn open_copy(place: &Published) -> io::Result<File> {
    let (folder, name) = open_folder(place, Missing::Fail)?;
    let (file, found) = folder.read(&name)?;
    if found.kind == Kind::File { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

fn stamp_path(live: &Path) -> PathBuf {
    lock::beside(live, ".published")
}

/// Copies the published file to a private place, its WAL folded in, and checks that it is whole.
pub(super) fn fetch(place: &Published, to: &Path) -> Result<(), AuditError> {
    let shown = place.path();
    let io_failed = |error: io::Error| explain_io(&shown, &error);
    let sql_failed = |error: rusqlite::Error| explain(&shown, &error);
    // One that an earlier try left would be folded into the wrong database.
    let wal = lock::beside(to, "-wal");
    drop(std::fs::remove_file(&wal));
    io::copy(&mut open_copy(place).map_err(io_failed)?, &mut File::create(to).map_err(io_failed)?)
        .map_err(io_failed)?;
    let (folder, mut name) = open_folder(place, Missing::Fail).map_err(io_failed)?;
    name.push("-wal");
    if folder.look(&name).is_ok_and(|found| found.is_some()) {
        let beside = Published { root: place.root.clone(), relative: place.relative.with_file_name(&name) };
        io::copy(&mut open_copy(&beside).map_err(io_failed)?, &mut File::create(&wal).map_err(io_failed)?)
            .map_err(io_failed)?;
    }
    let db = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(sql_failed)?;
    // Before anything is asked of it, as it may be a stranger's.
    super::schema::harden(&db).map_err(sql_failed)?;
    super::schema::check_owner(&db, &shown)?;
    let check: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(sql_failed)?;
    if check != "ok" {
        return Err(AuditError::Damaged { path: shown, why: check });
    }
    db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).map_err(sql_failed)?;
    db.close().map_err(|(_, error)| sql_failed(error))
}

/// A name beside the live log that no other one has.
pub(super) fn free_name(live: &Path) -> PathBuf {
    let mut number = 1_u32;
    loop {
        let aside = live.with_file_name(format!("audit-{number}.db"));
        if !aside.exists() {
            break aside;
        }
        number += 1;
    }
}

/// Moves a live log with all that belongs to it out of the way. Returns where it is now.
pub(super) fn set_aside(live: &Path) -> io::Result<PathBuf> {
    let aside = free_name(live);
    // Before the database itself: a WAL that stays behind would be replayed into the next one of that name.
    for suffix in ["-wal", "-shm", ".spool.jsonl"] {
        match std::fs::rename(lock::beside(live, suffix), lock::beside(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::rename(live, &aside)?;
    drop(std::fs::remove_file(stamp_path(live)));
    Ok(aside)
}
