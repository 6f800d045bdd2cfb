//! Files below a folder that somebody has open for writing: this process for its own output, and on Linux other programs of the user.
//!
//! Invariant: looks once, reads no content, and stops after a bounded number of descriptors.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

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

/// Who has a file open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// This process, as its standard output or standard error.
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
    let mut left = MOST_DESCRIPTORS;
    let mut found = Vec::new();
    for process in processes_of_ours() {
        // Gone meanwhile, or not for us to read.
        for entry in process.join("fd").read_dir().into_iter().flatten().flatten() {
            let Some(fewer) = left.checked_sub(1) else { return found };
            left = fewer;
            found.extend(written(root, &entry.path()));
        }
    }
    found
}

/// The folders of the user's other processes.
#[cfg(target_os = "linux")]
fn processes_of_ours() -> impl Iterator<Item = PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let (us, user) = (std::process::id(), rustix::process::geteuid().as_raw());
    let is_other = move |path: &PathBuf| {
        let id = path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        id.is_some_and(|id| id != us) && path.metadata().is_ok_and(|found| found.uid() == user)
    };
    Path::new("/proc").read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_other)
}

/// The file below the folder that a descriptor leads to, if it can be written by it.
#[cfg(target_os = "linux")]
fn written(root: &Path, descriptor: &Path) -> Option<OpenFile> {
    use std::os::unix::fs::MetadataExt as _;
    /// The bit of a descriptor's link that says that it was opened for writing.
    const WRITABLE: u32 = 0o200;
    let target = std::fs::read_link(descriptor).ok()?;
    let path = target.strip_prefix(root).ok()?.to_owned();
    let open = descriptor.metadata().ok().filter(Metadata::is_file)?;
    let is_writable = descriptor.symlink_metadata().is_ok_and(|link| link.mode() & WRITABLE != 0);
    // The name may be of another file by now, or of another view of the file system.
    let identity = files::identity(&open).filter(|open| identity_at(&target) == Some(*open))?;
    is_writable.then_some(OpenFile { path, identity, by: By::Another })
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
    fn only_what_can_be_written_and_is_still_there_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let path = root.join("run.log");
        let log = File::create(&path).unwrap();
        let link = |file: &File| {
            use std::os::fd::AsRawFd as _;
            PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
        };
        let found = written(&root, &link(&log)).unwrap();
        assert_eq!((found.path, found.by), (PathBuf::from("run.log"), By::Another));
        assert_eq!(Some(found.identity), identity_at(&path));
        assert_eq!(written(&root, &link(&File::open(&path).unwrap())), None, "it is only read");
        assert_eq!(written(&root.join("below"), &link(&log)), None, "it lies elsewhere");
        std::fs::rename(&path, root.join("old.log")).unwrap();
        File::create(&path).unwrap();
        let renamed = written(&root, &link(&log)).unwrap();
        assert_eq!(renamed.path, Path::new("old.log"), "by the name that it has now");
        std::fs::remove_file(root.join("old.log")).unwrap();
        assert_eq!(written(&root, &link(&log)), None, "it has no name any more");
    }
}
