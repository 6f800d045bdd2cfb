//! The tests of a change that people made, over the product as it was before: what they say there is what the change has to change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::belongings;
use super::bench::{Bench, TrialError};
use crate::domain::units::TreeId;
use crate::framework::source::{Language, Source};
use crate::policy::tamper::Change;
use crate::policy::tamper::region::{self, Restored};
use crate::workspace::is_test_path;

/// The base's product with the head's tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverBase {
    /// The tree.
    pub tree: TreeId,
    /// Files of the change that are neither product nor tests and decide how tests are run: the head's judge both.
    pub deciding: Vec<String>,
    /// Code that is called like a test, holds none, and lies in no folder of tests: it may be the product's.
    pub doubtful: BTreeSet<String>,
    /// Files that are new with the change and may hold tests of their own: over the base they stand nowhere.
    pub new_sources: Vec<String>,
    /// Source files whose tests could not be told from the product, with the reason: the base's stay.
    pub untold: Vec<String>,
}

/// Puts the head's tests on the base: files that are tests, test data or test configuration, and test regions inside source files. Those
/// that are `of_product` stay the base's, whatever they are called.
///
/// # Errors
/// When a state is not recorded or cannot be written.
pub async fn over_base(
    bench: &Bench<'_>,
    base: &TreeId,
    head: &TreeId,
    of_product: &BTreeSet<String>,
) -> Result<OverBase, TrialError> {
    let workspace = bench.workspace;
    let (mut whole, mut texts) = (BTreeSet::new(), BTreeMap::new());
    let (mut deciding, mut untold, mut new_sources) = (Vec::new(), Vec::new(), Vec::new());
    let mut doubtful = BTreeSet::new();
    for change in workspace.changes(base, head).await? {
        let path = change.path.as_str();
        if of_product.contains(path) {
            continue;
        }
        if is_test_path(Path::new(path)) || is_of_tests(bench, head, path)? {
            // Taken as a test for now: only where nothing fails so is it tried as a part of the product.
            doubtful.extend(may_be_product(&change).then(|| path.to_owned()));
            whole.insert(path.to_owned());
        } else if workspace.protected(Path::new(path)).is_some() || is_manifest(path) {
            whole.insert(path.to_owned());
            deciding.push(path.to_owned());
        } else if let (Some(before), Some(after)) = (&change.before, &change.after) {
            match with_tests_of(bench, head, &change, before, after)? {
                Restored::Same => {}
                Restored::Changed { text, .. } => drop(texts.insert(path.to_owned(), text)),
                Restored::Lost { region } => untold.push(format!("{path}: {region}")),
            }
        } else if change.after.is_some() && Language::of(path).is_some_and(Language::has_inline_tests) {
            new_sources.push(path.to_owned());
        }
    }
    let tree = workspace.with_files_of(base, head, &whole, &texts)?;
    Ok(OverBase { tree, deciding, doubtful, new_sources, untold })
}

/// The other way round: the head's product with the base's tests, their data and their configuration, without what is new of these. Code
/// that is only called like a test stays the head's. `None` where the change touches none of them.
///
/// # Errors
/// As [`over_base`].
pub async fn over_head(bench: &Bench<'_>, base: &TreeId, head: &TreeId) -> Result<Option<TreeId>, TrialError> {
    let workspace = bench.workspace;
    let (mut whole, mut texts) = (BTreeSet::new(), BTreeMap::new());
    for change in workspace.changes(base, head).await? {
        let path = change.path.as_str();
        let judges = is_test_path(Path::new(path)) || workspace.protected(Path::new(path)).is_some();
        // Product and tests share a manifest, and the product may need what it adds.
        if !is_manifest(path) && !may_be_product(&change) && (judges || is_of_tests(bench, head, path)?) {
            whole.insert(path.to_owned());
        } else if let (Some(before), Some(after)) = (&change.before, &change.after)
            && let Restored::Changed { text, .. } = with_tests_of(bench, base, &change, after, before)?
        {
            texts.insert(path.to_owned(), text);
        }
    }
    if whole.is_empty() && texts.is_empty() {
        return Ok(None);
    }
    Ok(Some(workspace.with_files_of(head, base, &whole, &texts)?))
}

/// Whether code that is called like a test may be the product's: it holds no test, and no folder around it is one of tests.
fn may_be_product(change: &Change) -> bool {
    const FOLDERS: [&str; 9] =
        ["test", "tests", "testing", "__tests__", "__mocks__", "spec", "specs", "testdata", "fixtures"];
    let (Some(text), true) = (&change.after, Language::of(&change.path).is_some()) else { return false };
    let folders = change.path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let is_among_tests = folders.split('/').any(|one| FOLDERS.contains(&one.to_lowercase().as_str()));
    let name = change.path.rsplit('/').next().unwrap_or_default();
    let holds_none = Source::read(&change.path, text)
        .is_some_and(|source| source.tests().iter().all(|test| !source.is_collected(test)));
    !is_among_tests && name != "conftest.py" && holds_none
}

/// A file of the head that only tests need.
fn is_of_tests(bench: &Bench<'_>, head: &TreeId, path: &str) -> Result<bool, TrialError> {
    Ok(bench.workspace.text_at(head, path)?.is_some() && belongings::is_of_tests(bench, head, path)?)
}

/// The base's text with the head's test regions.
fn with_tests_of(
    bench: &Bench<'_>,
    head: &TreeId,
    change: &Change,
    base: &str,
    tests: &str,
) -> Result<Restored, TrialError> {
    if region::is_document(&change.path) {
        return Ok(Restored::Same);
    }
    // Seen from the head, the base is the change whose tests are put back.
    let back = Change { before: Some(tests.to_owned()), after: Some(base.to_owned()), ..change.clone() };
    let examples = belongings::examples_in(bench, head, &back)?;
    Ok(region::restore(&change.path, tests, base, examples))
}

/// Manifests of packages: the tests of the head may need what they add, and product and tests share them.
fn is_manifest(path: &str) -> bool {
    const MANIFESTS: [&str; 16] = [
        "Cargo.toml",
        "Cargo.lock",
        "package.json",
        "package-lock.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "pyproject.toml",
        "setup.cfg",
        "requirements.txt",
        "uv.lock",
        "poetry.lock",
        "go.mod",
        "go.sum",
        "composer.json",
        "Gemfile",
        "pom.xml",
    ];
    path.rsplit('/').next().is_some_and(|name| MANIFESTS.contains(&name))
}
