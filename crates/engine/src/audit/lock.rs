//! OS locks: they end with the process that holds them, however it ends, and mean nothing on another machine.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::units::RunId;
use crate::files;

/// A reader that looks whether a run lives holds its lock for a moment: so often is taking it tried again.
const TRIES: u32 = 20;

/// The pause between two such tries.
const PAUSE: Duration = Duration::from_millis(2);

/// A lock file that is held. It is removed when given up.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    /// Holds the lock by being open.
    file: File,
}

impl Held {
    /// Writes into the lock file who holds it.
    pub(super) fn say(&self, text: &[u8]) -> io::Result<()> {
        self.file.set_len(0)?;
        (&self.file).write_all(text)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Removed while it is still locked, so that nobody else's file is taken away.
        drop(std::fs::remove_file(&self.path));
    }
}

/// The lock file of a run beside its database.
pub(super) fn of_run(db: &Path, run: &RunId) -> PathBuf {
    beside(db, &format!(".run-{run}.lock"))
}

/// A file beside the database, named after it.
pub(super) fn beside(db: &Path, suffix: &str) -> PathBuf {
    let mut name = db.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    db.with_file_name(name)
}

/// Takes the lock alone. `None` while another process holds it.
pub(super) fn take(path: &Path) -> io::Result<Option<Held>> {
    for _ in 0..TRIES {
        let file = open(path)?;
        match file.try_lock() {
            // Locked, and still the file at that path: another one would lock nobody out.
            Ok(()) if files::is_at(&file, path) => return Ok(Some(Held { path: path.to_owned(), file })),
            // Its last holder removed the file in between.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(None)
}

/// Whether a process holds the lock.
pub(super) fn is_held(path: &Path) -> bool {
    // Never made by a look: its being there is what says that somebody may hold it.
    let Ok(file) = File::open(path) else { return false };
    // Shared, so that two that look do not take each other for the holder.
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Opens a file and waits until it is ours alone and still the one at that path.
pub(super) fn wait_for(path: &Path) -> io::Result<File> {
    loop {
        let file = open(path)?;
        file.lock()?;
        if files::is_at(&file, path) {
            return Ok(file);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    // To append never empties: another one may have written its name into it.
    OpenOptions::new().read(true).append(true).create(true).open(path)
}
