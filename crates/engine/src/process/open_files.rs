//! Files below a folder that somebody has open for writing: this process for its own output, and on Linux other programs of the user.
//!
//! Invariant: looks once, reads no content, and stops after a bounded number of descriptors.

#[cfg(target_os = "linux")]
use std::ffi::{CStr, OsString};
use std::fs::Metadata;
#[cfg(target_os = "linux")]
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, statat};

use crate::files::{self, Identity};

/// How many files of a tree are looked at for one whose name the system does not tell.
const MOST_FILES: usize = 200_000;
/// How many descriptors of other processes are looked at: a busy desktop has some ten thousand.
#[cfg(target_os = "linux")]
const MOST_DESCRIPTORS: usize = 100_000;

/// A file that is open for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFile {
    /// From the folder.
    pub path: PathBuf,
    /// Which file was there.
    pub identity: Identity,
    /// By whom.
    pub by: By,
}

/// The process that has a file open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// This process or one that it was started by, as its standard output or standard error.
    Us,
    /// Another process of the user.
    Another,
}

/// Looks for them below a folder, which is given by its canonical path.
#[must_use]
pub fn open_for_writing(root: &Path) -> Vec<OpenFile> {
    let mut found: Vec<OpenFile> = files::own_outputs().into_iter().filter_map(|output| ours(root, output)).collect();
    found.extend(others(root));
    found
}

/// Which regular file is at a path, if it is no link.
#[must_use]
pub fn identity_at(path: &Path) -> Option<Identity> {
    path.symlink_metadata().ok().filter(Metadata::is_file).as_ref().and_then(files::identity)
}

fn ours(root: &Path, output: Identity) -> Option<OpenFile> {
    // The link is a hint alone, and what lies there is compared: elsewhere `/proc` is missing, or names a file that was replaced.
    let named = (1..=2).filter_map(|number| std::fs::read_link(format!("/proc/self/fd/{number}")).ok());
    let mut named = named.filter(|path| identity_at(path) == Some(output)).peekable();
    let path = match named.peek() {
        Some(path) => path.strip_prefix(root).ok()?.to_owned(),
        None => search(root, output)?,
    };
    Some(OpenFile { path, identity: output, by: By::Us })
}

/// Finds a file by what it is.
fn search(root: &Path, wanted: Identity) -> Option<PathBuf> {
    let mut folders = vec![PathBuf::new()];
    let mut left = MOST_FILES;
    while let Some(folder) = folders.pop() {
        for entry in root.join(&folder).read_dir().into_iter().flatten().flatten() {
            // Gives up without an answer: a huge tree must not hold up the start for a file that is probably not in it.
            left = left.checked_sub(1)?;
            let Ok(found) = entry.metadata() else { continue };
            let path = folder.join(entry.file_name());
            if found.is_dir() {
                folders.push(path);
            } else if files::identity(&found) == Some(wanted) {
                return Some(path);
            }
        }
    }
    None
}

/// Elsewhere nobody tells.
#[cfg(not(target_os = "linux"))]
fn others(_root: &Path) -> Vec<OpenFile> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn others(root: &Path) -> Vec<OpenFile> {
    let mut found = Vec::new();
    // Nothing is found where `/proc` is not to be read.
    let above = linux::above();
    let mut show = |process: u32, folder: BorrowedFd<'_>, name: &CStr| {
        let is_output = [c"1", c"2"].contains(&name) && above.contains(&process);
        let by = if is_output { By::Us } else { By::Another };
        found.extend(written(root, folder, name).map(|(path, identity)| OpenFile { path, identity, by }));
    };
    linux::each_descriptor(&mut show).unwrap_or_default();
    // Where ours are not the first, they are found as another's.
    found.sort_by_key(|open| open.by != By::Us);
    found
}

/// The way to all descriptors of the user's other processes. From folder to folder, since each path from the root through `/proc` is
/// looked up anew by the kernel, and a machine has some thousand descriptors.
#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CStr;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

    use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, RawDir, openat, statat};
    use rustix::io;

    use super::MOST_DESCRIPTORS;

    /// For so many bytes of a folder's names at once.
    const ROOM: usize = 4_096;

    /// How many processes are looked at for those that this one was started by.
    const MOST_ABOVE: usize = 64;

    /// The processes that this one was started by, the nearest first.
    pub(super) fn above() -> Vec<u32> {
        let parent = |process: &u32| {
            let told = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            // Behind the program's name, which may hold anything, and a letter.
            let parent: u32 = told.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            (parent != 0).then_some(parent)
        };
        std::iter::successors(Some(std::process::id()), parent).skip(1).take(MOST_ABOVE).collect()
    }

    /// Shows the process, the folder and the name of each.
    pub(super) fn each_descriptor(show: &mut dyn FnMut(u32, BorrowedFd<'_>, &CStr)) -> io::Result<()> {
        let (us, user) = (std::process::id(), rustix::process::geteuid().as_raw());
        let processes = folder(CWD, c"/proc")?;
        let mut left = MOST_DESCRIPTORS;
        // One for all: a machine has some hundred processes, and most hold nothing.
        let mut room = [MaybeUninit::uninit(); ROOM];
        for process in Dir::read_from(&processes)?.flatten() {
            let id = process.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok());
            let Some(id) = id.filter(|id| *id != us) else { continue };
            if !statat(&processes, process.file_name(), AtFlags::empty()).is_ok_and(|found| found.st_uid == user) {
                continue;
            }
            // Gone meanwhile, or not for us to read.
            let Ok(descriptors) =
                folder(processes.as_fd(), process.file_name()).and_then(|of| folder(of.as_fd(), c"fd"))
            else {
                continue;
            };
            let mut entries = RawDir::new(&descriptors, &mut room);
            while let Some(Ok(descriptor)) = entries.next() {
                // `.` and `..` come with the raw listing.
                if descriptor.file_name().to_bytes().starts_with(b".") {
                    continue;
                }
                let Some(fewer) = left.checked_sub(1) else { return Ok(()) };
                left = fewer;
                show(id, descriptors.as_fd(), descriptor.file_name());
            }
        }
        Ok(())
    }

    fn folder(within: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
        openat(within, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    }
}

/// The file below the root that a descriptor leads to, and which it is, if it can be written by it.
#[cfg(target_os = "linux")]
fn written(root: &Path, folder: BorrowedFd<'_>, name: &CStr) -> Option<(PathBuf, Identity)> {
    use std::os::unix::ffi::OsStringExt as _;
    /// The bit of a descriptor's link that says that it was opened for writing.
    const WRITABLE: u32 = 0o200;
    let target = rustix::fs::readlinkat(folder, name, Vec::new()).ok()?.into_bytes();
    let target = PathBuf::from(OsString::from_vec(target));
    // By the name first, which costs no further call: of some thousand descriptors hardly one is below the root.
    let path = target.strip_prefix(root).ok()?.to_owned();
    // The link's own mode says how the file was opened, and the file's mode only who may open it.
    let link = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let open = statat(folder, name, AtFlags::empty()).ok()?;
    // The name may be of another file by now, or of another view of the file system.
    let identity = identity_at(&target).filter(|found| (found.device, found.inode) == (open.st_dev, open.st_ino))?;
    (link.st_mode & WRITABLE != 0).then_some((path, identity))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_file_is_found_by_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        File::create(folder.path().join("a/other.log")).unwrap();
        let log = File::create(folder.path().join("a/b/run.log")).unwrap();
        let identity = files::identity(&log.metadata().unwrap()).unwrap();
        assert_eq!(search(folder.path(), identity), Some(PathBuf::from("a/b/run.log")));
        std::fs::remove_file(folder.path().join("a/b/run.log")).unwrap();
        assert_eq!(search(folder.path(), identity), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_processes_above_are_those_that_this_one_was_started_by() {
        let above = linux::above();
        assert_eq!(above.first(), Some(&std::os::unix::process::parent_id()));
        assert!(!above.contains(&std::process::id()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_what_can_be_written_and_is_still_there_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("run.log");
        let log = File::create(&path).unwrap();
        let written = |root: &Path, file: &File| {
            use std::os::fd::AsRawFd as _;
            let link = std::ffi::CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
            super::written(root, rustix::fs::CWD, &link)
        };
        let found = written(&root, &log).unwrap();
        assert_eq!(found, (PathBuf::from("run.log"), identity_at(&path).unwrap()));
        assert_eq!(written(&root, &File::open(&path).unwrap()), None, "it is only read");
        assert_eq!(written(&root.join("below"), &log), None, "it lies elsewhere");
        std::fs::rename(&path, root.join("old.log")).unwrap();
        File::create(&path).unwrap();
        let renamed = written(&root, &log).unwrap();
        assert_eq!(renamed.0, Path::new("old.log"), "by the name that it has now");
        std::fs::remove_file(root.join("old.log")).unwrap();
        assert_eq!(written(&root, &log), None, "it has no name any more");
    }
}
