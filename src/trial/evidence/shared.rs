//! The changed files loaded by themselves: what their loading changes of all that the code of a process shares (its time zone, its variables,
//! the parts of other modules), and did not change at the start. It leaves a remark.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::bench::TrialError;
use super::court::Court;
use crate::domain::remark::{Remark, RemarkKind};
use crate::policy::tamper::Change;
use crate::test_run::direct::shared::{Loaded, can_load};
use crate::workspace::is_test_path;

/// Files that are loaded at most.
const MOST_FILES: usize = 20;
/// Names that a remark shows at most.
const MOST_NAMES: usize = 4;
/// A program begins so, and does its work when it is loaded.
const PROGRAM: &str = "#!";

impl Court<'_> {
    /// Loads the changed files of the product, with the change and without it. What is remarked is seen twice.
    pub(super) async fn shared(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        let files: Vec<&Change> = changes.iter().filter(|change| self.is_loaded(change)).take(MOST_FILES).collect();
        let named = |files: &[&Change]| -> Vec<String> {
            files.iter().map(|change| self.runs.bench.path_from_tests(&change.path)).collect()
        };
        let (now, before): (Vec<String>, Vec<&Change>) =
            (named(&files), files.iter().copied().filter(|change| change.before.is_some()).collect());
        let before = named(&before);
        if now.is_empty() {
            return Ok(());
        }
        let Some(with) = self.runs.load(self.tree, &now).await? else { return Ok(()) };
        if with.iter().all(|one| one.changes.is_empty()) {
            return Ok(());
        }
        let without = if before.is_empty() { Some(Vec::new()) } else { self.runs.load(self.start, &before).await? };
        // A file that does not load there says nothing of what it changed.
        let Some(without) = without.filter(|without| without.len() == before.len()) else { return Ok(()) };
        let Some(again) = self.runs.load(self.tree, &now).await? else { return Ok(()) };
        let (without, again) = (names_in(&without), names_in(&again));
        for one in with {
            let changed = one
                .changes
                .into_iter()
                .filter(|name| !without.contains(name.as_str()) && again.contains(name.as_str()));
            let changed: Vec<String> = changed.collect();
            let names = outermost(&changed);
            let Some(file) = files.get(one.at).filter(|_| !names.is_empty()) else { continue };
            let (kind, file, said) = (RemarkKind::ChangesForAll, file.path.clone(), Some(in_words(&names)));
            self.remarks.push(Remark { kind, file, lines: None, said });
        }
        Ok(())
    }

    /// Whether a changed file is one of the product that other code loads.
    fn is_loaded(&self, change: &Change) -> bool {
        let is_program = |text: &Option<String>| text.as_ref().is_some_and(|text| text.starts_with(PROGRAM));
        let is_product =
            !change.may_edit_tests && !is_test_path(Path::new(&change.path)) && !self.is_judge(&change.path);
        is_product
            && change.after.is_some()
            && !is_program(if change.before.is_some() { &change.before } else { &change.after })
            && can_load(self.runs.bench.tests, &change.path)
    }
}

/// All that some files changed.
fn names_in(loaded: &[Loaded]) -> BTreeSet<&str> {
    loaded.iter().flat_map(|one| one.changes.iter().map(String::as_str)).collect()
}

/// The names without those of parts of others: a function that is replaced brings parts of its own.
fn outermost(names: &[String]) -> Vec<&str> {
    let is_part = |name: &str| {
        names.iter().any(|other| name.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('.')))
    };
    names.iter().map(String::as_str).filter(|name| !is_part(name)).collect()
}

fn in_words(names: &[&str]) -> String {
    let shown: Vec<String> =
        names.iter().take(MOST_NAMES).map(|name| format!("`{}`", name.replace('`', "'"))).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_part_is_named_without_its_own_parts() {
        let names = ["fs.readFileSync", "fs.readFileSync.name", "fs.readFile", "Date.now"].map(str::to_owned);
        assert_eq!(outermost(&names), ["fs.readFileSync", "fs.readFile", "Date.now"]);
        assert_eq!(in_words(&["a", "b", "c", "d", "e"]), "`a`, `b`, `c`, `d` and 1 more");
    }
}
