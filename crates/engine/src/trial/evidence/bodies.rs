//! The tests that failed at the start, found in their files.

use std::path::Path;

use super::super::bench::{Bench, TrialError};
use crate::domain::printed_path;
use crate::domain::units::TreeId;
use crate::framework::source::{Language, Source, TestBody};
use crate::policy::tamper::Change;
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
    /// The runner's names for it, its rows and its parts.
    pub(super) names: Vec<String>,
    /// The one-based line of its file on which it failed at the start, where that is known.
    pub(super) failed_at: Option<u32>,
    /// The words in which it failed then.
    pub(super) said: Option<String>,
}

/// The result of the search.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    /// The files.
    pub(super) sources: Vec<Source>,
    /// The tests.
    pub(super) tests: Vec<Located>,
    /// The names without a body.
    pub(super) missing: Vec<String>,
    /// The product's text before and after the change, in small letters, as far as the change touches it.
    pub(super) product: String,
}

impl Bodies {
    /// Whether a word stands in the changed files, so that another one in its place would say something else to the product.
    pub(super) fn means_something(&self, word: &str) -> bool {
        self.product.contains(&word.to_ascii_lowercase())
    }

    /// The file of a test.
    pub(super) fn source(&self, test: &Located) -> Option<&Source> {
        self.sources.get(test.source)
    }

    /// The file of a test that the change leaves alone: in a changed one the start's tests stand elsewhere.
    pub(super) fn source_left_alone(&self, test: &Located, changes: &[Change]) -> Option<&Source> {
        self.source(test).filter(|source| changes.iter().all(|change| change.path != source.path()))
    }
}

/// Looks for the tests in the files of a tree. `green` names the tests of a file that could not be loaded at the start.
pub(super) fn find(
    bench: &Bench<'_>,
    tree: &TreeId,
    baseline: &Baseline,
    green: &TestRun,
) -> Result<Bodies, TrialError> {
    let mut bodies = Bodies { sources: read(bench, tree)?, ..Bodies::default() };
    let has_body = |name: &str| {
        let called = |source: &Source| source.tests().iter().any(|body| source.is_called(body, name));
        bodies.sources.iter().any(called)
    };
    // A test that ended in an error is one like any other; what is no test stands for those of a file that could not be loaded.
    let (mut wanted, files): (Vec<String>, Vec<String>) =
        baseline.failing.iter().cloned().partition(|name| !baseline.errored.contains(name) || has_body(name));
    for file in &files {
        let inside = names_in(&bodies.sources, file, green);
        if inside.is_empty() {
            bodies.missing.push(file.clone());
        }
        wanted.extend(inside.into_iter().take(MOST_OF_A_FILE));
    }
    let mut seen = vec![false; wanted.len()];
    for (at, source) in bodies.sources.iter().enumerate() {
        let started = at_the_start(bench, source)?;
        for body in source.tests() {
            let mut names = Vec::new();
            for (name, seen) in wanted.iter().zip(&mut seen).filter(|(name, _)| source.is_called(body, name)) {
                *seen = true;
                names.push(name.clone());
            }
            if !names.is_empty() {
                let failed_at = names.iter().find_map(|name| failed_at(baseline, name, source, body, started.as_ref()));
                let said = names.iter().find_map(|name| baseline.said.get(name)).cloned();
                bodies.tests.push(Located { source: at, body: body.clone(), names, failed_at, said });
            }
        }
    }
    bodies.missing.extend(wanted.into_iter().zip(seen).filter(|(_, seen)| !seen).map(|(name, _)| name));
    Ok(bodies)
}

/// The passing tests of a file that could not be loaded at the start. The file is named by its path, its dotted module, or both.
fn names_in(sources: &[Source], errored: &str, green: &TestRun) -> Vec<String> {
    let named = errored.split_whitespace().next().unwrap_or(errored);
    let is_named = |source: &&Source| {
        let stem = source.path().rsplit_once('.').map_or(source.path(), |(stem, _)| stem);
        let dotted = stem.replace('/', ".");
        printed_path::ends_with(source.path(), named) || dotted == named || dotted.ends_with(&format!(".{named}"))
    };
    let files: Vec<&Source> = sources.iter().filter(is_named).collect();
    let is_inside =
        |name: &&str| files.iter().any(|source| source.tests().iter().any(|body| source.is_called(body, name)));
    green.report.passing_names().filter(is_inside).map(str::to_owned).collect()
}

/// A file as it was at the start, where the change may have moved its tests.
fn at_the_start(bench: &Bench<'_>, source: &Source) -> Result<Option<Source>, TrialError> {
    let moves = Language::of(source.path()).is_some_and(Language::has_inline_tests);
    let Some(start) = bench.start.filter(|_| moves) else { return Ok(None) };
    let text = bench.workspace.text_at(start, source.path())?;
    Ok(text.and_then(|text| Source::read(source.path(), &text)))
}

/// The line of the body on which a test failed at the start.
fn failed_at(
    baseline: &Baseline,
    name: &str,
    source: &Source,
    body: &TestBody,
    started: Option<&Source>,
) -> Option<u32> {
    let (file, line) = baseline.failed_at.get(name)?;
    let before = match started {
        Some(started) => started.tests().iter().find(|before| before.names == body.names)?,
        None => body,
    };
    // Runners print paths from folders of their own, so only the file's name is compared.
    let same = Path::new(file).file_name() == Path::new(source.path()).file_name();
    let inside = same && (before.lines.0..=before.lines.1).contains(line);
    // The change may have moved the test as a whole.
    inside.then(|| line - before.lines.0 + body.lines.0)
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

/// The texts of the changed files that hold no test, in small letters.
pub(super) fn product(changes: &[Change], sources: &[Source]) -> String {
    let holds_tests =
        |change: &&Change| sources.iter().any(|source| source.path() == change.path && source.has_tests());
    let texts = changes.iter().filter(|change| !holds_tests(change)).flat_map(|change| [&change.before, &change.after]);
    texts.flatten().map(|text| text.to_ascii_lowercase()).collect::<Vec<_>>().join("\n")
}

/// The files of tests, as the start has them.
pub(super) fn files_of_tests(bench: &Bench<'_>, start: &TreeId) -> Result<Vec<(String, String)>, TrialError> {
    let judges = |path: &str| {
        let is_test = is_test_path(Path::new(path)) || bench.is_named(path);
        is_test && bench.workspace.protected(Path::new(path)).is_some()
    };
    Ok(bench.workspace.texts_at(start, judges, MOST_FILES, MOST_BYTES)?)
}
