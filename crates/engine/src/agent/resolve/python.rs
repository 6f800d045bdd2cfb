//! Python: `a.b` is `a/b.py` or `a/b/__init__.py` below one of the folders that are on its path.

use super::paths::{Resolved, folder_of, join};
use crate::agent::sources::Sources;
use crate::domain::printed_path;
use crate::framework::source::Import;

/// Folders that packages are kept in, beside the root and those above the importing file.
const ROOTS: [&str; 3] = ["", "src", "lib"];

/// See [`super::resolve`].
pub(super) fn resolve(from: &str, import: &Import, sources: &Sources<'_>) -> Resolved {
    let dots = import.module.chars().take_while(|&c| c == '.').count();
    let path = import.module.trim_start_matches('.').replace('.', "/");
    let mut files = Vec::new();
    if dots > 0 {
        // One dot is the folder of the file itself.
        if let Some(base) = above(folder_of(from), dots - 1) {
            find(&join(base, &path), import, sources, &mut files);
        }
    } else if !path.is_empty() {
        for base in ROOTS.into_iter().chain(folders_above(from)) {
            find(&join(base, &path), import, sources, &mut files);
        }
        if files.is_empty() {
            anywhere(&path, sources, &mut files);
        }
    }
    Resolved { files, names: import.names.clone() }
}

/// A module, its package, and the modules in it that are imported by name.
fn find(path: &str, import: &Import, sources: &Sources<'_>, files: &mut Vec<String>) {
    let inside = import.names.iter().map(|name| format!("{}.py", join(path, name)));
    let candidates = [format!("{path}.py"), join(path, "__init__.py")].into_iter().chain(inside);
    for candidate in candidates {
        if sources.has(&candidate) && !files.contains(&candidate) {
            files.push(candidate);
        }
    }
}

/// The module below a folder that nobody named, the nearest to the root.
fn anywhere(path: &str, sources: &Sources<'_>, files: &mut Vec<String>) {
    let file = format!("{path}.py");
    let name = file.rsplit('/').next().unwrap_or(&file);
    let found = sources.named(name).iter().filter(|known| printed_path::ends_with(known, &file));
    files.extend(found.min_by_key(|known| known.matches('/').count()).map(|&known| known.to_owned()));
}

fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder_of(path)), |folder| (!folder.is_empty()).then(|| folder_of(folder)))
}

/// The folder so many levels above. `None` above the root.
fn above(folder: &str, levels: usize) -> Option<&str> {
    (0..levels).try_fold(folder, |folder, _| (!folder.is_empty()).then(|| folder_of(folder)))
}
