//! Objections to a green, told while a model can still do something about them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::bench::TrialError;
use crate::domain::units::TreeId;
use crate::policy::guard::{Guard, Guards};
use crate::policy::tamper::{self, Change, region};
use crate::workspace::Workspace;

/// The rules' input without a run. It owns everything, for a tool outlives no borrow.
#[derive(Debug, Clone)]
pub struct Foresight {
    /// The files.
    pub workspace: Arc<Workspace>,
    /// The state that judges.
    pub start: TreeId,
    /// Which guards stand.
    pub guards: Guards,
    /// Folders from which the tests import the product.
    pub import_roots: BTreeSet<String>,
    /// Files that the tests themselves write.
    pub by_products: BTreeSet<String>,
}

impl Foresight {
    /// Why the files as they are now would not count although the tests pass. `None` where the rules see nothing.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub async fn objection(&self) -> Result<Option<String>, TrialError> {
        let changed = self.workspace.changed_since(&self.start).await?;
        let changed: BTreeSet<String> = changed.into_iter().filter(|path| !self.by_products.contains(path)).collect();
        let tree = self.workspace.glance(&self.start, &changed).await?;
        // Files to which tests are only added are set aside before a run that judges, so nothing in them is to be objected to.
        let judged = |change: &Change| {
            let after = change.after.as_deref().unwrap_or_default();
            change.may_edit_tests || !self.workspace.adds_tests(&change.path, change.before.as_deref(), after)
        };
        let changes: Vec<Change> =
            self.workspace.changes(&self.start, &tree).await?.into_iter().filter(judged).collect();
        Ok(tamper::inspect(&changes, &self.guards, &self.import_roots)
            .or_else(|| self.changed_regions(&changes))
            .or_else(|| self.changed_rules(&changes)))
    }

    /// The change's parts that alter how the tests are run. The start's parts judge.
    fn changed_rules(&self, changes: &[Change]) -> Option<String> {
        if !self.guards.has(Guard::Manifests) {
            return None;
        }
        changes.iter().find_map(tamper::build::judged_as_it_was)
    }

    /// Tests inside source files that were changed: the start's judge.
    fn changed_regions(&self, changes: &[Change]) -> Option<String> {
        if !self.guards.has(Guard::TestRegions) {
            return None;
        }
        changes.iter().filter(|change| !change.may_edit_tests).find_map(|change| {
            let (before, after) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref()?);
            let region::Restored::Changed { text, regions } =
                region::restore(&change.path, before, after, region::Examples::Document)
            else {
                return None;
            };
            let adds = crate::framework::source::adds_tests_only(&change.path, Some(&text), after);
            (!adds).then(|| format!("tests inside {} are judged as they were: {}", change.path, regions.join(", ")))
        })
    }
}
