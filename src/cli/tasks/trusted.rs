//! The list of a backlog while a task is under way: the text that is trusted stands in the private folder of the checkout, beside the
//! recorded states, where no code under test writes.

use std::path::{Path, PathBuf};

use super::super::Failure;
use super::super::environment::Environment;
use super::super::setup::trees_folder;
use super::load;
use crate::tracker::Source;
use crate::workspace::LIST;

fn place(checkout: &Path, environment: &Environment) -> PathBuf {
    trees_folder(checkout, environment).join(LIST)
}

/// Trusts the list as it is, before a run begins.
///
/// # Errors
/// When it cannot be read, or the private folder cannot be written.
pub(super) fn trust(source: &Source, checkout: &Path, environment: &Environment) -> anyhow::Result<()> {
    // A list outside of the checkout is out of reach for the tests.
    let Some(path) = load::file_of(source, checkout).filter(|_| load::within(source, checkout).is_some()) else {
        return Ok(());
    };
    let trusted = place(checkout, environment);
    trusted.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    load::replace(&trusted, &load::text_of(&path)?)
}

/// Writes a list while a task may be under way: trusted first, so that no run takes it for the work of code under test.
///
/// # Errors
/// The list is not as it is trusted: code under test may have written it (exit 2). Or it cannot be written.
pub(super) fn write(
    path: &Path,
    (before, text): (&str, &str),
    (checkout, environment): (&Path, &Environment),
) -> anyhow::Result<()> {
    let trusted = place(checkout, environment);
    let is_here = std::fs::canonicalize(checkout).is_ok_and(|top| path.starts_with(top));
    if is_here && trusted.exists() {
        // Somebody read the list, and the tests may have changed it since. Adding to that would make their words trusted.
        if load::text_of(&trusted)? != before {
            return Err(Failure::usage(format!(
                "{} was changed since the current task started, perhaps by its tests\n→ Fix: try again once its tests ran, or after the task",
                path.display()
            )));
        }
        // The trusted copy first: in the other order a run could see the new list as a change of the tests.
        load::replace(&trusted, text)?;
    }
    load::replace(path, text)
}
