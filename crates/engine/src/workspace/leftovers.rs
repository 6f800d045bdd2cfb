//! Files that runs of the tests leave in the tree, ignored ones too: nothing that changed code made may judge that code, or its successor.
//!
//! A recorded state knows no ignored files, and code under test can write the rules by which files are ignored. So all paths are
//! noted by their times before and after the tests run for the first time, with nobody's change in the tree.
//!
//! Invariant: a file that was there before the tests first ran is removed only where every tool makes it anew without harm.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::open_files::OpenFiles;
use super::protected;
use super::rel_path::{RelPath, is_private};
use super::store::Manifest;
use crate::framework::programs::CACHES;
use crate::process::traces::{Origin, Trace, Traces};

/// Endings of compiled code, and of notes of what is built already, which speak of files that may be gone.
const MADE_ANEW: [&str; 3] = [".pyc", ".pyo", ".tsbuildinfo"];

/// The files as they were noted.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    traces: Mutex<Option<Traces>>,
}

impl Leftovers {
    /// Notes what is there: the user's own at first, then also what the tests made.
    pub(super) fn remember(&self, root: &Path) {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        match traces.as_mut() {
            Some(traces) => traces.look_again(),
            None => *traces = Some(Traces::look(root, is_private)),
        }
    }

    /// Removes newer files, but for those of the state and those that somebody writes; `goes` hears of each before. Returns remarks on the
    /// files that stay.
    pub(super) fn remove(
        &self,
        root: &Path,
        state: &Manifest,
        open: &OpenFiles,
        goes: impl Fn(&RelPath),
    ) -> Vec<String> {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(traces) = traces.as_ref() else {
            // A run that was resumed here: what is there now is taken as it is.
            *traces = Some(Traces::look(root, is_private));
            return Vec::new();
        };
        let mut said = Vec::new();
        for trace in traces.since() {
            let is_open = RelPath::from_path(&trace.path).is_ok_and(|path| open.holds(root, &path));
            if is_of(state, &trace) || is_gits_or_ours(&trace.path) || is_open {
                continue;
            }
            let is_cached = is_made_anew(&trace.path) || traces.is_in_cache(&trace.path);
            let is_gone = trace.origin != Origin::First || is_cached;
            if let (true, false, Ok(path)) = (is_gone, is_cached, RelPath::from_path(&trace.path)) {
                goes(&path);
            }
            if is_gone && traces.remove(&trace.path).is_err() {
                said.push(format!("{} was left by an earlier run and cannot be removed", trace.path.display()));
            } else if !is_gone && is_installed(&trace.path) {
                said.push(format!("code under test altered the installed {}", trace.path.display()));
            }
        }
        said
    }
}

/// Whether the recorded state has the file, or files in the folder.
fn is_of(state: &Manifest, trace: &Trace) -> bool {
    // No name that the state could not hold is one of its files.
    let Ok(path) = RelPath::from_path(&trace.path) else { return false };
    if !trace.is_folder {
        return state.contains_key(&path);
    }
    state.keys().any(|file| file.as_path().starts_with(path.as_path()))
}

/// Whether a path is the root's own git directory, which others keep, or upshift's folder beside it.
fn is_gits_or_ours(path: &Path) -> bool {
    path.components().count() == 1 && path.file_name().is_some_and(is_private)
}

fn is_made_anew(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    MADE_ANEW.iter().any(|ending| name.ends_with(ending))
}

/// Whether a file is part of an installed package, not of a cache beside it.
fn is_installed(path: &Path) -> bool {
    let cached =
        path.parent().into_iter().flat_map(Path::iter).any(|folder| CACHES.iter().any(|cache| folder == *cache));
    protected::is_installed(path) && !cached
}
