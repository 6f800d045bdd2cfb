//! Walks over the checkout by its ignore rules.
//!
//! Invariant: the rules are those inside the tree and in its `.git/info/exclude`. The user's and the machine's own do not count, so that
//! the same tree is seen the same everywhere. No link is followed.

use std::collections::BTreeSet;
use std::fs::FileType;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::rel_path::is_private;

/// A walk over all that the ignore rules leave over.
pub(super) fn walker(from: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(from);
    builder
        .hidden(false)
        .ignore(false)
        .git_ignore(true)
        .git_exclude(true)
        .git_global(false)
        // A tree without git has ignore rules as well, and is to be seen the same.
        .require_git(false)
        .parents(false)
        .follow_links(false);
    builder
}

/// The files and links below a folder, by their paths from the root, sorted. At most `most`.
///
/// Nothing that is ignored, but if the folder itself is: who asks for `node_modules/x` wants to see it.
pub(super) fn files_below(root: &Path, base: &Path, most: usize) -> Vec<(PathBuf, FileType)> {
    let whole = root.join(base);
    let pruned = whole.clone();
    // From the root, so that the rules above the folder count too.
    let from_root = collect(root, most, move |path| path.starts_with(&pruned) || pruned.starts_with(path));
    if !from_root.is_empty() || base.as_os_str().is_empty() {
        return from_root;
    }
    let below = collect(&whole, most, |_| true);
    below.into_iter().map(|(path, form)| (base.join(path), form)).collect()
}

/// Whether an ignore rule of the tree names a file that is there.
pub(super) fn is_ignored(root: &Path, file: &Path) -> bool {
    let whole = root.join(file);
    collect(root, 1, move |path| whole.starts_with(path)).iter().all(|(found, _)| found != file)
}

fn collect(
    from: &Path,
    most: usize,
    wanted: impl Fn(&Path) -> bool + Send + Sync + 'static,
) -> Vec<(PathBuf, FileType)> {
    let entries = walker(from)
        .filter_entry(move |entry| entry.depth() == 0 || !is_private(entry.file_name()) && wanted(entry.path()))
        .build();
    let mut files: Vec<(PathBuf, FileType)> = entries
        .flatten()
        .filter_map(|entry| {
            let form = entry.file_type().filter(|form| !form.is_dir())?;
            Some((entry.path().strip_prefix(from).ok()?.to_owned(), form))
        })
        .take(most)
        .collect();
    files.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    files
}

/// The folders below the root that are repositories of their own.
pub(super) fn find_nested(root: &Path) -> BTreeSet<PathBuf> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let top = root.to_owned();
    let walker = walker(root)
        .filter_entry(move |entry| {
            let is_nested = entry.depth() > 0
                && entry.file_type().is_some_and(|form| form.is_dir())
                && std::fs::symlink_metadata(entry.path().join(".git")).is_ok();
            if let (true, Ok(path)) = (is_nested, entry.path().strip_prefix(&top)) {
                drop(sender.send(path.to_owned()));
            }
            !is_nested && !is_private(entry.file_name())
        })
        .build();
    walker.for_each(drop);
    receiver.try_iter().collect()
}
