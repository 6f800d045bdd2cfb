//! Go: a package is a folder, and its path begins with its module's.

use super::paths::{Resolved, join};
use crate::agent::sources::Sources;
use crate::framework::source::Import;

/// See [`super::resolve`].
pub(super) fn resolve(import: &Import, sources: &mut Sources<'_>) -> Resolved {
    for (folder, text) in sources.manifests("go.mod") {
        let module = text.lines().find_map(|line| line.trim().strip_prefix("module "));
        let inside = module.and_then(|module| import.module.strip_prefix(module.trim().trim_matches('"')));
        // `example.com/cart2` is not below `example.com/cart`.
        let Some(rest) = inside.filter(|rest| rest.is_empty() || rest.starts_with('/')) else { continue };
        let files = package(&join(&folder, rest.trim_start_matches('/')), sources);
        return Resolved { files, names: Vec::new() };
    }
    Resolved::default()
}

/// The sources of the package in a folder, its tests last.
pub(super) fn package(folder: &str, sources: &Sources<'_>) -> Vec<String> {
    let mut files: Vec<String> =
        sources.beside(folder).filter(|path| path.ends_with(".go")).map(str::to_owned).collect();
    files.sort_by_key(|path| path.ends_with("_test.go"));
    files
}
