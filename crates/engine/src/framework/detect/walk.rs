//! A bounded look below a folder: a few levels, a few thousand entries, nothing hidden and nothing that was fetched or built.

use super::folder::Folder;

/// How many levels below the starting folder are looked at.
const DEPTH: usize = 3;
/// More folders than this are not opened.
const MOST_FOLDERS: usize = 400;
/// Folders whose contents are fetched, built or none of the project's own tests.
const PASSED_OVER: [&str; 12] = [
    "node_modules",
    "vendor",
    "target",
    "dist",
    "build",
    "docs",
    "bin",
    "obj",
    "venv",
    "third_party",
    "fixtures",
    "testdata",
];

/// Whether a folder is looked into.
pub(super) fn is_of_interest(name: &str) -> bool {
    !name.starts_with('.') && !PASSED_OVER.contains(&name)
}

/// The files below `folder`, `folder` itself aside, whose names and contents pass: their paths from it, nearest first.
pub(super) fn files_below(folder: &Folder, wanted: impl Fn(&Folder, &str) -> bool, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut opened = 0;
    let mut level: Vec<(String, Folder)> = open_below("", folder, &mut opened);
    // Level by level: the nearest file tells most of how the project is tested.
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for (path, inner) in &level {
            for name in inner.files.iter().filter(|name| wanted(inner, name)) {
                if found.len() >= most {
                    return found;
                }
                found.push(format!("{path}{name}"));
            }
            next.extend(open_below(path, inner, &mut opened));
        }
        level = next;
    }
    found
}

/// The first of [`files_below`].
pub(super) fn file_below(folder: &Folder, wanted: impl Fn(&Folder, &str) -> bool) -> Option<String> {
    files_below(folder, wanted, 1).pop()
}

/// The first such file in the folder itself, or else below it.
pub(super) fn file_in_or_below(folder: &Folder, wanted: impl Fn(&Folder, &str) -> bool) -> Option<String> {
    let own = folder.files.iter().find(|name| wanted(folder, name)).cloned();
    own.or_else(|| file_below(folder, wanted))
}

fn open_below(path: &str, folder: &Folder, opened: &mut usize) -> Vec<(String, Folder)> {
    let names = folder.folders.iter().filter(|name| is_of_interest(name));
    // Counted over all levels, so that a repository of any shape costs no more.
    let room = MOST_FOLDERS.saturating_sub(*opened);
    let found: Vec<(String, Folder)> =
        names.take(room).filter_map(|name| Some((format!("{path}{name}/"), folder.sub(name)?))).collect();
    *opened += found.len();
    found
}
