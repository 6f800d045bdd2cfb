//! Files that child processes leave in a folder: the paths that came or changed since it was looked at.
//!
//! Unlike a recorded state this knows no ignore rules, which code under test could write to hide behind, and holds no contents: a
//! file's time of change, which no child can set, says enough.
//!
//! Invariant: no link is followed, and nothing outside the folder is looked at or removed.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::fs::{FileType, Metadata};
use std::hash::BuildHasher as _;
use std::io;
use std::path::{Path, PathBuf};

use crate::files;

/// A folder as it was looked at.
#[derive(Debug)]
pub struct Traces {
    root: PathBuf,
    /// Folders of these names are not looked into.
    closed: fn(&OsStr) -> bool,
    /// By the hash of the path: a tree of many packages has a hundred thousand of them.
    seen: HashMap<u64, Mark>,
    hashes: RandomState,
    /// Folders that said at the first look that all in them can be made anew.
    caches: Vec<PathBuf>,
}

/// The file by which a folder says that all in it can be made anew: cargo's, pytest's, many others' (<https://bford.info/cachedir/>).
const CACHE_MARK: &str = "CACHEDIR.TAG";

/// The remembered state of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    /// When it changed, in nanoseconds. `None` for a folder, which changes with what is in it.
    changed: Option<i64>,
    origin: Origin,
}

/// When a path came into being.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was there at the first look.
    First,
    /// It was there at a later look.
    Later,
    /// It came since the last look.
    Since,
}

/// A path that came or changed since the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// From the root.
    pub path: PathBuf,
    /// When it came into being.
    pub origin: Origin,
    /// Whether it is a folder.
    pub is_folder: bool,
}

impl Traces {
    /// Looks at a folder. Folders below that are `closed` by their names are seen, not looked into.
    #[must_use]
    pub fn look(root: &Path, closed: fn(&OsStr) -> bool) -> Self {
        let (seen, hashes) = (HashMap::new(), RandomState::new());
        let mut traces = Self { root: root.to_owned(), closed, seen, hashes, caches: Vec::new() };
        let marks = traces.note(Origin::First);
        traces.caches = marks;
        traces
    }

    /// Looks again: what is there now is known from now on.
    pub fn look_again(&mut self) {
        let _marks = self.note(Origin::Later);
    }

    /// Whether a path lies in a folder that said at the first look that all in it can be made anew.
    #[must_use]
    pub fn is_in_cache(&self, path: &Path) -> bool {
        self.caches.iter().any(|cache| path != cache && path.starts_with(cache))
    }

    /// Notes everything. Returns the folders that call themselves caches.
    fn note(&mut self, origin: Origin) -> Vec<PathBuf> {
        let mut caches = Vec::new();
        let mut now = HashMap::with_capacity(self.seen.len());
        walk(&self.root, self.closed, &mut |path, found| {
            let hash = self.hashes.hash_one(path);
            // A changed path keeps its origin: it is not new because somebody wrote to it.
            let origin = self.seen.get(&hash).map_or(origin, |mark| mark.origin);
            now.insert(hash, Mark { changed: changed(found), origin });
            // A root that calls itself one is a checkout all the same.
            let folder = path.parent().filter(|folder| found.is_file() && *folder != Path::new(""));
            caches.extend(folder.filter(|_| path.ends_with(CACHE_MARK)).map(Path::to_owned));
        });
        self.seen = now;
        caches
    }

    /// The paths that came or changed since the last look, folders before what is in them.
    #[must_use]
    pub fn since(&self) -> Vec<Trace> {
        let mut traces = Vec::new();
        walk(&self.root, self.closed, &mut |path, found| {
            let known = self.seen.get(&self.hashes.hash_one(path)).copied();
            let is_folder = found.is_dir();
            let same = known.is_some_and(|mark| mark.changed == changed(found));
            if !same {
                let origin = known.map_or(Origin::Since, |mark| mark.origin);
                traces.push(Trace { path: path.to_owned(), origin, is_folder });
            }
        });
        traces
    }

    /// Removes a path and all below it. A path with nothing there is no error.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        remove_whole(&self.root.join(path))
    }
}

/// Removes a path and all below it, also where code under test took away our rights. A path with nothing there is no error.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_whole(path: &Path) -> io::Result<()> {
    match remove(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            // Not beforehand: it would change the rights of folders that can be removed as they are.
            open_up(path);
            remove(path)
        }
        done => done,
    }
}

/// Looks at everything below a folder. Folders that cannot be opened are opened up first, since code under test may have closed them.
fn walk(root: &Path, closed: fn(&OsStr) -> bool, look: &mut dyn FnMut(&Path, &Metadata)) {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let whole = root.join(&folder);
        let entries = whole.read_dir().or_else(|_| {
            make_ours(&whole);
            whole.read_dir()
        });
        for entry in entries.into_iter().flatten().flatten() {
            // Of a link itself, never of the place that it leads to.
            let Ok(found) = entry.metadata() else { continue };
            let path = folder.join(entry.file_name());
            look(&path, &found);
            if found.is_dir() && !closed(&entry.file_name()) {
                folders.push(path);
            }
        }
    }
}

fn changed(found: &Metadata) -> Option<i64> {
    (!found.is_dir()).then(|| files::changed(found))
}

fn remove(path: &Path) -> io::Result<()> {
    // A link is removed as such, and nothing behind it.
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Gives us back the rights over a folder, those below it and the one that it lies in.
pub fn open_up(path: &Path) {
    // An entry can be removed only from a folder that may be written.
    if let Some(parent) = path.parent() {
        make_ours(parent);
    }
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        make_ours(&folder);
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().as_ref().is_ok_and(FileType::is_dir));
        folders.extend(below.map(|entry| entry.path()));
    }
}

fn make_ours(folder: &Path) {
    let Ok(found) = folder.symlink_metadata() else { return };
    if found.is_dir() {
        // What is not ours stays closed, and is told of by who wanted to remove it.
        files::make_ours(folder, &found).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn found(traces: &Traces) -> Vec<(String, Origin)> {
        let mut found: Vec<_> =
            traces.since().into_iter().map(|trace| (trace.path.display().to_string(), trace.origin)).collect();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found
    }

    #[test]
    fn what_came_and_what_changed_is_told_with_its_origin() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["first", "kept", ".git/config"] {
            write(folder.path(), name, "1");
        }
        let mut traces = Traces::look(folder.path(), |name| name == ".git");
        write(folder.path(), "later", "1");
        traces.look_again();
        assert_eq!(found(&traces), []);
        // A file that is written anew has another time of change, whatever its own times say.
        for name in ["first", "later", "new/deep", ".git/hook"] {
            let path = folder.path().join(name);
            let times = path.metadata().and_then(|found| found.modified());
            write(folder.path(), name, "2");
            if let Ok(time) = times {
                std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
            }
        }
        let expected =
            [("first", Origin::First), ("later", Origin::Later), ("new", Origin::Since), ("new/deep", Origin::Since)];
        assert_eq!(found(&traces), expected.map(|(path, origin)| (path.to_owned(), origin)));
    }

    #[test]
    fn a_folder_that_became_a_link_is_told_and_removed_without_what_it_leads_to() {
        let outside = tempfile::tempdir().unwrap();
        write(outside.path(), "precious", "1");
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a/file", "1");
        let traces = Traces::look(folder.path(), |_| false);
        std::fs::remove_dir_all(folder.path().join("a")).unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("a")).unwrap();
        assert_eq!(found(&traces), [("a".to_owned(), Origin::First)]);
        traces.remove(Path::new("a")).unwrap();
        assert!(outside.path().join("precious").exists());
        assert_eq!(found(&traces), []);
        traces.remove(Path::new("a")).unwrap();
    }

    #[test]
    fn a_folder_is_a_cache_by_what_it_said_at_first() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
        write(folder.path(), "CACHEDIR.TAG", "");
        let mut traces = Traces::look(folder.path(), |_| false);
        write(folder.path(), "data/CACHEDIR.TAG", "a run planted it");
        traces.look_again();
        let is_cache = |path: &str| traces.is_in_cache(Path::new(path));
        assert!(is_cache("target/debug/cart") && !is_cache("target") && !is_cache("data/orders.db"));
    }

    #[test]
    fn a_closed_folder_is_opened_up() {
        let folder = tempfile::tempdir().unwrap();
        let traces = Traces::look(folder.path(), |_| false);
        write(folder.path(), "a/b/file", "1");
        for name in ["a/b", "a"] {
            std::fs::set_permissions(folder.path().join(name), Permissions::from_mode(0o000)).unwrap();
        }
        assert_eq!(found(&traces).len(), 3);
        std::fs::set_permissions(folder.path().join("a/b"), Permissions::from_mode(0o000)).unwrap();
        traces.remove(Path::new("a")).unwrap();
        assert_eq!(found(&traces), []);
    }
}
