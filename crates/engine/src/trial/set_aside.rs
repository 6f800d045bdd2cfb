//! Tests that a change adds, set aside while the rest is judged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::bench::{Bench, TrialError};
use crate::domain::units::TreeId;
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::workspace::is_test_path;

/// The files in which a change only adds tests.
#[derive(Debug, Clone, Default)]
pub struct Added {
    /// The state in which they hold them.
    pub(super) tree: Option<TreeId>,
    /// The files.
    pub(super) files: BTreeSet<String>,
}

impl Added {
    /// The added tests in files of tests alone: the rest of a source file may have changed since.
    #[must_use]
    pub fn in_files_of_tests(self) -> Self {
        let files = self.files.into_iter().filter(|file| is_test_path(Path::new(file))).collect();
        Self { files, ..self }
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(PathBuf::from).collect()
    }
}

/// Takes the added tests out of the tree. Returns them, and the tree without them.
pub(super) async fn set_aside(
    bench: &Bench<'_>,
    start: &TreeId,
    tree: TreeId,
    changes: &[Change],
) -> Result<(Added, TreeId), TrialError> {
    let mut added = Added { tree: Some(tree.clone()), files: BTreeSet::new() };
    // Without that guard the change's own tests may judge.
    if !bench.guards.has(Guard::TestPaths) {
        return Ok((added, tree));
    }
    for change in changes.iter().filter(|change| !change.may_edit_tests) {
        let Some(after) = &change.after else { continue };
        if bench.workspace.adds_tests(&change.path, change.before.as_deref(), after) {
            added.files.insert(change.path.clone());
        }
    }
    if added.files.is_empty() {
        return Ok((added, tree));
    }
    bench.workspace.restore_paths(start, &added.paths()).await?;
    let tree = bench.workspace.snapshot_paths(&tree, bench.touched).await?;
    Ok((added, tree))
}
