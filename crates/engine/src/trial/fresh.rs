//! A world in which nothing but the baseline ever ran: made before each run that judges.

use std::path::{Path, PathBuf};

use super::bench::{Bench, TrialError};
use crate::domain::units::TreeId;
use crate::policy::guard::Guard;

/// Obstacles to a run that judges.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    /// Files that judge, which were put back.
    pub(super) rewritten: Vec<String>,
    /// The reason why leftovers cannot be removed, if one cannot.
    pub(super) objection: Option<String>,
}

impl Fresh {
    pub(super) fn add(&mut self, more: Self) {
        self.rewritten.extend(more.rewritten);
        self.objection = self.objection.take().or(more.objection);
    }
}

/// Makes the world as if nothing but the baseline had ever run: the next run judges the tree, not what earlier runs left behind.
pub(super) async fn freshen(bench: &Bench<'_>, tree: &TreeId) -> Result<Fresh, TrialError> {
    let mut fresh = Fresh::default();
    if bench.guards.has(Guard::Leftovers) {
        fresh.objection = bench.workspace.remove_leftovers(tree)?.into_iter().next();
        if let Err(error) = bench.tests.confinement.forget() {
            fresh.objection =
                Some(format!("what an earlier run left in the private folder cannot be removed: {error}"));
        }
    }
    fresh.rewritten = restore_tests(bench, tree).await?;
    Ok(fresh)
}

/// Puts back files that judge (tests, their configuration) and differ from the start, and makes all others those of the tree. Returns the
/// files that were put back.
pub(super) async fn restore_tests(bench: &Bench<'_>, tree: &TreeId) -> Result<Vec<String>, TrialError> {
    let Some(start) = bench.start else { return Ok(Vec::new()) };
    let workspace = bench.workspace;
    let list = workspace.mind_list()?;
    if bench.guards.has(Guard::Leftovers) {
        let judges = workspace.put_right(start, tree, bench.by_products).await?;
        return Ok(judges.into_iter().chain(list).collect());
    }
    let changed = workspace.changed_since(start).await?;
    let judges = changed.into_iter().filter(|path| workspace.protected(Path::new(path)).is_some());
    let judges: Vec<String> = judges.filter(|path| !bench.by_products.contains(path)).collect();
    if !judges.is_empty() {
        let paths: Vec<PathBuf> = judges.iter().map(PathBuf::from).collect();
        workspace.restore_paths(start, &paths).await?;
    }
    Ok(judges.into_iter().chain(list).collect())
}
