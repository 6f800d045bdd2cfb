//! Private folders that killed runs left in the temporary folder, removed by a later run.
//!
//! Each holds a file that its run keeps locked as long as it lives: one that can be locked belongs to nobody any more.
//!
//! Invariant: nothing is removed that another user owns, that has no such file, or that was made just now. No link is followed.

use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, OFlags};

/// How the folders' names begin.
pub(super) const PREFIX: &str = "upshift-";
/// The file that a living run keeps locked.
const ALIVE: &str = "alive";
/// Between the making of the file and its lock lies no more than a moment.
const SETTLED: Duration = Duration::from_secs(60);
/// So many are removed at the end of one run: it must not be held up by what others left.
const MOST: usize = 4;

/// Says that a folder's run lives, until what is returned is dropped.
pub(super) fn mark(folder: &Path) -> io::Result<File> {
    let file = File::create_new(folder.join(ALIVE))?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Removes what dead runs left beside a folder.
pub(super) fn sweep(own: &Path) {
    // The time of our own file, set by the same file system as those it is compared with.
    let (Some(parent), Some(now)) = (own.parent(), made(&own.join(ALIVE))) else { return };
    let entries = parent.read_dir().into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
    let left = named.map(|entry| entry.path()).filter(|path| path != own && is_dead(path, now));
    for folder in left.take(MOST) {
        // What cannot be removed is left for the next run.
        std::fs::remove_dir_all(folder).unwrap_or_default();
    }
}

/// When a file was made.
fn made(file: &Path) -> Option<SystemTime> {
    file.symlink_metadata().ok()?.modified().ok()
}

fn is_dead(folder: &Path, now: SystemTime) -> bool {
    let own = |found: &std::fs::Metadata| found.uid() == rustix::process::geteuid().as_raw();
    if !folder.symlink_metadata().is_ok_and(|found| found.is_dir() && own(&found)) {
        return false;
    }
    // Anybody may make such a folder, with a link or a pipe in it whose opening would wait.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let Ok(file) = File::options().read(true).custom_flags(flags).open(folder.join(ALIVE)) else { return false };
    let Ok(found) = file.metadata() else { return false };
    let settled = found.modified().ok().and_then(|made| now.duration_since(made).ok()).is_some_and(|age| age > SETTLED);
    // The lock is tried last, so that none is taken of a folder that stays anyway.
    found.is_file()
        && own(&found)
        && settled
        && rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder as a run leaves it, made two minutes ago.
    fn left(parent: &Path, name: &str) -> (std::path::PathBuf, File) {
        let folder = parent.join(name);
        std::fs::create_dir_all(folder.join("home/.cache")).unwrap();
        let alive = mark(&folder).unwrap();
        alive.set_modified(made(&folder.join(ALIVE)).unwrap() - Duration::from_secs(120)).unwrap();
        (folder, alive)
    }

    #[test]
    fn only_what_dead_runs_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let own = parent.path().join("upshift-own");
        std::fs::create_dir(&own).unwrap();
        let _own = mark(&own).unwrap();
        let (dead, lock) = left(parent.path(), "upshift-dead");
        drop(lock);
        let (living, _lock) = left(parent.path(), "upshift-living");
        let (stranger, lock) = left(parent.path(), "other-dead");
        drop(lock);
        let young = parent.path().join("upshift-young");
        std::fs::create_dir(&young).unwrap();
        drop(mark(&young).unwrap());
        let unmarked = parent.path().join("upshift-unmarked");
        std::fs::create_dir(&unmarked).unwrap();
        let (elsewhere, lock) = left(parent.path(), "elsewhere");
        drop(lock);
        symlink(&elsewhere, parent.path().join("upshift-link")).unwrap();
        sweep(&own);
        assert!(!dead.exists());
        for kept in [&own, &living, &stranger, &young, &unmarked, &elsewhere.join("home/.cache")] {
            assert!(kept.exists(), "{}", kept.display());
        }
    }
}
