//! The court's input: the tree, the tests, and their results at the start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::domain::clock::Clock;
use crate::domain::printed_path;
use crate::domain::stop::Stop;
use crate::domain::units::TreeId;
use crate::policy::guard::Guards;
use crate::policy::verdict::Baseline;
use crate::process::ProcessError;
use crate::redact::Redactor;
use crate::test_run::TestCommand;
use crate::workspace::{Workspace, WorkspaceError};

/// Why the court could not work. Nothing is decided then.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The working tree cannot be read, recorded or restored.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The tests could not be started.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// The court's view of a run: it changes nothing of it but files, and leaves those as the judged tree has them.
#[derive(Debug, Clone, Copy)]
pub struct Bench<'a> {
    /// The tree.
    pub workspace: &'a Workspace,
    /// The tests.
    pub tests: &'a TestCommand,
    /// Raised when the run is to end.
    pub stop: &'a Stop,
    /// Time.
    pub clock: &'a dyn Clock,
    /// The guards between a change and a green that it did not earn.
    pub guards: &'a Guards,
    /// Knows the secrets.
    pub redactor: &'a Redactor,
    /// Folders in which Python looks for modules when the tests run, beside the usual ones.
    pub import_roots: &'a BTreeSet<String>,
    /// The tree as a person wrote it. `None` before it was recorded.
    pub start: Option<&'a TreeId>,
    /// The tests' results on that tree.
    pub baseline: Option<&'a Baseline>,
    /// How long the suite took then, in milliseconds.
    pub baseline_ms: u64,
    /// The framework that was recognised then.
    pub framework_seen: Option<&'a str>,
    /// Files of the start that the tests themselves rewrote then.
    pub by_products: &'a BTreeSet<String>,
    /// Every path that models wrote so far.
    pub touched: &'a BTreeSet<String>,
    /// How many of the tests that failed at the start the best tree so far has seen passing.
    pub best_fixed: usize,
}

impl Bench<'_> {
    /// The paths that models wrote.
    pub(super) fn touched_paths(&self) -> Vec<PathBuf> {
        self.touched.iter().map(PathBuf::from).collect()
    }

    /// Whether a test that failed at the start did so in this file.
    pub(super) fn is_named(&self, path: &str) -> bool {
        let Some(baseline) = self.baseline else { return false };
        let names = |printed: &str| printed_path::may_be_same(printed, path);
        // The names of pytest begin with the file: `tests/test_cart.py::test_total`.
        baseline.failed_at.values().any(|(printed, _)| names(printed))
            || baseline.failing.iter().any(|name| name.split("::").next().is_some_and(names))
    }

    /// A path of the checkout as it is seen from the tests' working directory.
    pub(super) fn path_from_tests(&self, path: &str) -> String {
        let below = self.tests.cwd.strip_prefix(self.workspace.root()).unwrap_or(Path::new(""));
        let inside = Path::new(path).strip_prefix(below).ok().and_then(|file| file.to_str());
        inside.map_or_else(|| format!("{}{path}", "../".repeat(below.components().count())), str::to_owned)
    }

    /// The tests with the framework that the start's output gave away, so that single ones can be selected.
    pub(super) fn selectable(&self) -> TestCommand {
        let mut tests = self.tests.clone();
        tests.framework = tests.framework.or_else(|| self.framework_seen.map(str::to_owned));
        tests
    }
}
