//! Parts of a change that are a person's to decide, by the structure of its files (DESIGN §5, promise 1).
//!
//! Files that are tests by their name never reach this place: they are refused at write and put back for judging. Files that stay writable
//! because fixes need them are compared with the start here: [`region`] finds the tests inside source files, [`build`] the parts of
//! manifests that decide what is run, `shadow` new files that would be run in a tool's place. [`remarks`] names places that a reviewer may
//! want to look at, and refuses nothing.
//!
//! Invariant: pure over the texts before and after. Text that stood there at the start is a person's and never held against a model.

pub mod build;
mod change;
pub mod region;
pub mod remarks;
mod shadow;
pub mod suppressions;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::guard::{Guard, Guards};
use crate::framework::source::Source;

pub use change::Change;

/// A module whose file another one declares otherwise than at the start.
fn redeclared_module(changes: &[Change]) -> Option<String> {
    let gone: Vec<&str> =
        // A module may go together with its file. One whose file stays would hide the tests in it.
        changes.iter().filter(|change| change.after.is_none()).map(|change| change.path.as_str()).collect();
    let is_source = |change: &&Change| change.path.ends_with(".rs") && change.after.is_some() && !change.may_edit_tests;
    changes.iter().filter(is_source).find_map(|change| {
        let name = region::redeclared(change.before(), change.after(), &gone)?;
        Some(format!(
            "the change declares the module `{name}` in {} differently, so its tests may not be compiled",
            change.path
        ))
    })
}

/// A test that was there and is now marked as one that fails, so that it passes by the same name. A new one may be what it likes.
fn wanted_failure(change: &Change) -> Option<String> {
    let read = |text: &Option<String>| Source::read(&change.path, text.as_deref()?);
    let (before, after) = (read(&change.before)?, read(&change.after)?);
    // Only tests that are marked now and were not before: marks of the start are a person's.
    let marked = |test: &&_| after.expects_failure(test);
    let test = after.tests().iter().filter(marked).find(|test| {
        let was = before.tests().iter().find(|old| old.names == test.names);
        was.is_some_and(|old| !before.expects_failure(old))
    })?;
    let name = test.names.last().map_or("", String::as_str);
    Some(format!("the change marks the test `{name}` in {} as expected to fail", change.path))
}

/// Why a change cannot be judged green. `None` when nothing objects.
///
/// `import_roots` are folders in which Python looks for modules when the tests run, beside the usual ones.
#[must_use]
pub fn inspect(changes: &[Change], guards: &Guards, import_roots: &BTreeSet<String>) -> Option<String> {
    // Other files' tests are put back anyway, so that a mark in them has no effect.
    let marked = || changes.iter().filter(|change| change.may_edit_tests).find_map(wanted_failure);
    let shadows =
        |change: &Change| shadow::stands_for_module(change, import_roots).or_else(|| shadow::stands_for(change));
    let redeclared = guards.has(Guard::TestRegions).then(|| redeclared_module(changes)).flatten();
    redeclared
        .or_else(|| guards.has(Guard::Shadowing).then(|| changes.iter().find_map(shadows)).flatten())
        .or_else(|| guards.has(Guard::Baseline).then(marked).flatten())
}
