//! The tests that failed at the start, found in their files.

use std::path::Path;

use super::super::bench::{Bench, TrialError};
use crate::domain::units::TreeId;
use crate::framework::source::{Language, Source, TestBody};
use crate::policy::verdict::Baseline;
use crate::test_run::TestRun;
use crate::workspace::is_test_path;

/// Files that are parsed at most.
const MOST_FILES: usize = 2_000;
/// A file above this is data.
const MOST_BYTES: usize = 1 << 20;
/// How many tests stand for a file that could not be loaded at the start.
const MOST_OF_A_FILE: usize = 8;

/// A test that failed at the start, with its body.
#[derive(Debug, Clone)]
pub(super) struct Located {
    /// Which of the sources it stands in.
    pub(super) source: usize,
    /// The body.
    pub(super) body: TestBody,
    /// What the runner calls it, and its rows and parts.
    pub(super) names: Vec<String>,
    /// The one-based line of its file on which it failed at the start, where that is known.
    pub(super) failed_at: Option<u32>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    /// The files.
    pub(super) sources: Vec<Source>,
    /// The tests.
    pub(super) tests: Vec<Located>,
    /// The names without a body.
    pub(super) missing: Vec<String>,
}

impl Bodies {
    /// The file of a test.
    pub(super) fn source(&self, test: &Located) -> Option<&Source> {
        self.sources.get(test.source)
    }
}

/// Looks for the tests in the files of a tree; `green` tells what the tests of a file are called that could not be loaded at the start.
pub(super) fn find(
    bench: &Bench<'_>,
    tree: &TreeId,
    baseline: &Baseline,
    green: &TestRun,
) -> Result<Bodies, TrialError> {
    let mut wanted: Vec<String> =
        baseline.failing.iter().filter(|name| !baseline.errored.contains(name)).cloned().collect();
    let mut missing = Vec::new();
    for file in &baseline.errored {
        let inside: Vec<String> =
            green.report.passing_names().filter(|name| name.starts_with(file.as_str())).map(str::to_owned).collect();
        if inside.is_empty() {
            missing.push(file.clone());
        }
        wanted.extend(inside.into_iter().take(MOST_OF_A_FILE));
    }
    let mut bodies = Bodies { sources: read(bench, tree)?, tests: Vec::new(), missing };
    let mut seen = vec![false; wanted.len()];
    for (at, source) in bodies.sources.iter().enumerate() {
        let before = before(bench, source)?;
        for body in source.tests() {
            let mut names = Vec::new();
            for (name, seen) in wanted.iter().zip(&mut seen).filter(|(name, _)| source.is_called(body, name)) {
                *seen = true;
                names.push(name.clone());
            }
            if !names.is_empty() {
                let failed_at =
                    names.iter().find_map(|name| failed_at(baseline, name, before.as_ref().unwrap_or(source), body));
                bodies.tests.push(Located { source: at, body: body.clone(), names, failed_at });
            }
        }
    }
    bodies.missing.extend(wanted.into_iter().zip(seen).filter(|(_, seen)| !seen).map(|(name, _)| name));
    Ok(bodies)
}

/// The start's version of a file of the product that holds tests: what a change adds above them moves their lines.
fn before(bench: &Bench<'_>, source: &Source) -> Result<Option<Source>, TrialError> {
    let has_inline_tests = Language::of(source.path()).is_some_and(Language::has_inline_tests);
    let Some(start) = bench.start.filter(|_| has_inline_tests) else { return Ok(None) };
    let text = bench.workspace.text_at(start, source.path())?;
    Ok(text.and_then(|text| Source::read(source.path(), &text)))
}

/// The line of the body on which a test failed at the start.
fn failed_at(baseline: &Baseline, name: &str, before: &Source, body: &TestBody) -> Option<u32> {
    let (file, line) = baseline.failed_at.get(name)?;
    let same = Path::new(file).file_name() == Path::new(before.path()).file_name();
    let (from, to) = before.tests().iter().find(|one| one.names == body.names)?.lines;
    let inside = (same && (from..=to).contains(line)).then(|| line - from)?;
    Some(body.lines.0 + inside)
}

/// The files of a tree that may hold tests, parsed.
fn read(bench: &Bench<'_>, tree: &TreeId) -> Result<Vec<Source>, TrialError> {
    let may_hold = |path: &str| match Language::of(path) {
        None => false,
        // Tests stand inside of any file.
        Some(language) => language.has_inline_tests() || is_test_path(Path::new(path)) || bench.is_named(path),
    };
    let texts = bench.workspace.texts_at(tree, may_hold, MOST_FILES, MOST_BYTES)?;
    let sources = texts.iter().filter_map(|(path, text)| Source::read(path, text));
    Ok(sources.filter(|source| !source.tests().is_empty()).collect())
}
