//! Files that judge, by when they last changed in any way: one that was rewritten and put back while the tests ran holds what it held, and
//! its time of change tells of it all the same, since no program can set that.
//!
//! Invariant: a file accuses only where the tests left it alone at the start, before any model's code ran.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::files;

/// When each of some files changed, in nanoseconds. `None` for one that is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times(HashMap<PathBuf, Option<i64>>);

impl Times {
    /// Looks at files below a folder.
    pub(super) fn look(root: &Path, paths: impl Iterator<Item = PathBuf>) -> Self {
        Self(paths.map(|path| (path.clone(), changed(root, &path))).collect())
    }

    /// The files that changed since.
    fn changed_since<'t>(&'t self, root: &'t Path) -> impl Iterator<Item = &'t PathBuf> {
        let differs = |(path, then): &(&PathBuf, &Option<i64>)| changed(root, path) != **then;
        self.0.iter().filter(differs).map(|(path, _)| path)
    }
}

/// The tests' own effect on files that judge, when nobody's change is there.
#[derive(Debug, Default)]
pub(super) struct Untouched {
    measured: Mutex<Measured>,
}

#[derive(Debug, Default)]
enum Measured {
    /// The tests were not run here yet.
    #[default]
    Not,
    /// They are about to run.
    Before(Times),
    /// They ran, and these files changed meanwhile.
    Stirred(HashSet<PathBuf>),
}

impl Untouched {
    /// Takes the files before the tests first run, and afterwards those that they changed.
    pub(super) fn remember(&self, root: &Path, paths: impl Iterator<Item = PathBuf>) {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        *measured = match &*measured {
            Measured::Before(times) => Measured::Stirred(times.changed_since(root).cloned().collect()),
            Measured::Not | Measured::Stirred(_) => Measured::Before(Times::look(root, paths)),
        };
    }

    /// The files that judge and that the tests changed at the start. `None` before they ran.
    pub(super) fn at_the_start(&self) -> Option<Vec<PathBuf>> {
        match &*self.measured.lock().unwrap_or_else(PoisonError::into_inner) {
            Measured::Stirred(files) => Some(files.iter().cloned().collect()),
            Measured::Not | Measured::Before(_) => None,
        }
    }

    /// Takes them from an earlier process that saw them.
    pub(super) fn recall(&self, stirred: impl Iterator<Item = PathBuf>) {
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = Measured::Stirred(stirred.collect());
    }

    /// The files that changed since they were looked at and that the tests left alone at the start, sorted. `None` where nobody knows what
    /// they did then.
    pub(super) fn stirred(&self, root: &Path, times: &Times) -> Option<Vec<PathBuf>> {
        let measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        let Measured::Stirred(at_start) = &*measured else { return None };
        let mut stirred: Vec<PathBuf> =
            times.changed_since(root).filter(|path| !at_start.contains(*path)).cloned().collect();
        // The map has no order, and the same finding is to read the same.
        stirred.sort();
        Some(stirred)
    }
}

fn changed(root: &Path, path: &Path) -> Option<i64> {
    root.join(path).symlink_metadata().ok().map(|found| files::changed(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> impl Iterator<Item = PathBuf> {
        ["a", "b"].into_iter().map(PathBuf::from)
    }

    #[test]
    fn a_file_that_was_put_back_is_told_unless_the_tests_did_so_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str| std::fs::write(root.join(name), "as ever").unwrap();
        write("a");
        write("b");
        let untouched = Untouched::default();
        assert_eq!(untouched.stirred(root, &Times::look(root, paths())), None);
        untouched.remember(root, paths());
        let before = root.join("b").metadata().unwrap().modified().unwrap();
        write("b");
        untouched.remember(root, paths());
        let times = Times::look(root, paths());
        assert_eq!(untouched.stirred(root, &times), Some(Vec::new()));
        let held = root.join("a").metadata().unwrap().modified().unwrap();
        write("a");
        write("b");
        for (name, time) in [("a", held), ("b", before)] {
            std::fs::File::options().write(true).open(root.join(name)).unwrap().set_modified(time).unwrap();
        }
        assert_eq!(untouched.stirred(root, &times), Some(vec![PathBuf::from("a")]));
    }
}
