//! Listed rules against a green that was not earned (DESIGN §5, promise 1).
//!
//! Files that are tests by their name never reach this place: they are refused at write and put back for judging. What stays
//! writable because fixes need it is compared with the start here: [`region`] finds the tests inside source files, `manifest` and
//! `build_file` the parts of manifests that decide what is run, `shadow` new files that would be run in a tool's place, and
//! `code` what code under test could do to the runner from inside its process.
//!
//! Invariant: pure over the texts before and after; what stood there at the start is a person's and never held against a model.
//! The rules are listed in `.github/VERDICT.md`, with what no rule can see.

mod build_file;
mod code;
mod manifest;
pub mod region;
mod shadow;
mod squeeze;
#[cfg(test)]
mod tests;
mod toml;
mod words;

use std::collections::BTreeSet;

use super::guard::{Guard, Guards};
use crate::domain::remark::{Remark, RemarkKind};

/// A file of a change, as text before and after; `None` where it is not there. Bytes that are no text are shown as well as can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its path from the root.
    pub path: String,
    /// The text at the start.
    pub before: Option<String>,
    /// The text now.
    pub after: Option<String>,
    /// Whether the task allows edits of tests in this file.
    pub may_edit_tests: bool,
}

/// What objects to a file's change, and why.
type Rule = fn(&Change) -> Option<String>;

impl Change {
    fn before(&self) -> &str {
        self.before.as_deref().unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.after.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// A module whose file another one declares otherwise than at the start.
fn redeclared_module(changes: &[Change]) -> Option<String> {
    let gone: Vec<&str> =
        changes.iter().filter(|change| change.after.is_none()).map(|change| change.path.as_str()).collect();
    let is_source = |change: &&Change| change.path.ends_with(".rs") && change.after.is_some() && !change.may_edit_tests;
    changes.iter().filter(is_source).find_map(|change| {
        let name = region::redeclared(change.before(), change.after(), &gone)?;
        Some(format!(
            "the change declares the module `{name}` in {} in another way than the start, so that its tests may not be compiled",
            change.path
        ))
    })
}

/// Why a change cannot be judged green; `None` when no rule objects.
///
/// `import_roots` are folders in which Python looks for modules when the tests run, beside the usual ones. A file whose tests may be edited is free of the rules about tests, not of those about the runner.
#[must_use]
pub fn inspect(changes: &[Change], guards: &Guards, import_roots: &BTreeSet<String>) -> Option<String> {
    let rules: [(Guard, Rule); 3] = [
        (Guard::Baseline, code::wanted_failure),
        (Guard::Shadowing, shadow::stands_for),
        (Guard::Manifests, manifest::compare),
    ];
    if guards.has(Guard::TestRegions)
        && let Some(reason) = redeclared_module(changes)
    {
        return Some(reason);
    }
    if guards.has(Guard::Shadowing)
        && let Some(reason) = changes.iter().find_map(|change| shadow::stands_for_module(change, import_roots))
    {
        return Some(reason);
    }
    for (guard, rule) in rules.into_iter().filter(|(guard, _)| guards.has(*guard)) {
        let about_tests = guard == Guard::Manifests;
        let about_edited_tests = guard == Guard::Baseline;
        let applies = |change: &&Change| if change.may_edit_tests { !about_tests } else { !about_edited_tests };
        if let Some(reason) = changes.iter().filter(applies).find_map(rule) {
            return Some(reason);
        }
    }
    None
}

/// What code under test could do to its runner, by what its source says: honest programs do it too, so that it is for experiments, or for
/// a reviewer, to decide. A file whose tests may be edited is free of what test files do.
#[must_use]
pub fn remarkable(changes: &[Change], guards: &Guards) -> Vec<Remark> {
    let rules: [(Guard, RemarkKind, Rule); 4] = [
        (Guard::ForcedEnd, RemarkKind::EndsProcess, code::forced_end),
        (Guard::PrintedResults, RemarkKind::PrintsResults, code::printed_results),
        (Guard::Hooks, RemarkKind::HooksIntoRunner, code::hooks),
        (Guard::UnderTest, RemarkKind::AsksWhoTests, code::under_test),
    ];
    let mut remarks = Vec::new();
    for (guard, kind, rule) in rules.into_iter().filter(|(guard, ..)| guards.has(*guard)) {
        let about_tests = matches!(guard, Guard::Hooks | Guard::UnderTest);
        for change in changes.iter().filter(|change| !(change.may_edit_tests && about_tests)) {
            let remark = |said| Remark { kind, file: change.path.clone(), lines: None, said: Some(said) };
            remarks.extend(rule(change).map(remark));
        }
    }
    remarks
}
