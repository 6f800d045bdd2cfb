//! Tests that a change may add to files that judge it: written, kept and published, but never part of what judges.

use std::collections::BTreeMap;
use std::path::Path;

use super::autorun::leads_out;
use super::rel_path::RelPath;
use super::store::Entry;
use super::{ToolError, Workspace, WorkspaceError, diff, secret};
use crate::domain::units::TreeId;
use crate::files::Kind;
use crate::framework::source::adds_tests_only;
use crate::policy::guard::Guard;

/// The model's options about a test file instead of changing it.
const INSTEAD: &str = "You may add tests to a file of tests, or a new file of them, if nothing else in it changes; they judge nothing. \
     If a test itself is wrong, end with `final_report`, status `blocked`, `blocked_on` `[{\"kind\": \"test\"}]` (in text: BLOCKED ON TEST): a person is shown this change then";

impl Workspace {
    /// Tells from which state the tests judge. A file of tests is compared with it before it is written.
    pub fn judged_from(&self, start: &TreeId) {
        // The start of a run never changes.
        self.start.get_or_init(|| {
            // What cannot be read stays with the tests.
            self.protection.spare(self.product_files(start).unwrap_or_default());
            start.clone()
        });
    }

    /// Whether a file of tests with these contents adds tests to what it held before, and changes nothing else.
    #[must_use]
    pub fn adds_tests(&self, path: &str, before: Option<&str>, after: &str) -> bool {
        self.protection.takes_new_tests(Path::new(path)) && adds_tests_only(path, before, after)
    }

    /// The recorded name of a file that holds tests and nothing that steers them.
    #[must_use]
    pub fn of_tests(&self, path: &str) -> Option<String> {
        let path = self.recorded(path)?;
        self.protection.takes_new_tests(Path::new(&path)).then_some(path)
    }

    /// The change that makes these texts of the start's files, as `git apply` takes it.
    ///
    /// # Errors
    /// When the start is not recorded.
    pub fn correction(&self, start: &TreeId, texts: &BTreeMap<String, String>) -> Result<String, WorkspaceError> {
        let store = self.states.store();
        let from = store.load(start)?;
        let mut patch = String::new();
        for (path, text) in texts {
            let Ok(path) = RelPath::from_path(Path::new(path)) else { continue };
            let Some(entry) = from.get(&path) else { continue };
            patch.push_str(&diff::of_text(&path, &store.content(&entry.content)?, text.as_bytes()));
        }
        Ok(patch)
    }

    /// Why a file that a program left at a path may not stay, as if a tool had been asked to write it. `None` if it may.
    ///
    /// # Errors
    /// When the start cannot be read.
    pub fn objection_to(&self, path: &str) -> Result<Option<String>, WorkspaceError> {
        let named = RelPath::from_path(Path::new(path));
        let path = named.map_err(|error| WorkspaceError::Path { reason: error.to_string() })?;
        if self.protection.has(Guard::SecretFiles) && secret::looks_secret(path.as_path()) {
            return Ok(Some(format!("`{path}` may hold credentials; no model changes it")));
        }
        let found = self.root.stat(&path)?;
        if found.as_ref().is_some_and(|found| found.kind == Kind::Link) && leads_out(self.root.path(), path.as_path()) {
            return Ok(Some(format!("`{path}` is a link out of the tree")));
        }
        let there = found.is_some();
        let text = if there { self.text_of(&path.to_string()).ok() } else { None };
        match (there, &text) {
            // What is no text adds no test.
            (true, None) => Ok(self.protection.reason(path.as_path())),
            _ => self
                .objection(&path, text.as_deref())
                .map_err(|error| WorkspaceError::File { reason: format!("{error:?}") }),
        }
    }

    /// Why a file may not be written or deleted (`after` is `None`). `None` if it may.
    pub(super) fn objection(&self, path: &RelPath, after: Option<&str>) -> Result<Option<String>, ToolError> {
        let Some(reason) = self.protection.reason(path.as_path()) else { return Ok(None) };
        let Some(start) = self.start.get().filter(|_| self.protection.takes_new_tests(path.as_path())) else {
            return Ok(Some(reason));
        };
        let name = path.to_string();
        let before = self.text_at(start, &name).map_err(|error| ToolError::Fatal(error.to_string()))?;
        let sound = match after {
            Some(after) => self.adds_tests(&name, before.as_deref(), after),
            // What the model added it may take away again.
            None => before.is_none(),
        };
        Ok((!sound).then(|| format!("{reason}. {INSTEAD}")))
    }

    /// Why a file of a change may not be published. `None` if it may.
    pub(super) fn unpublishable(
        &self,
        path: &RelPath,
        before: Option<&Entry>,
        after: Option<&Entry>,
    ) -> Result<Option<String>, WorkspaceError> {
        let Some(reason) = self.protection.reason(path.as_path()) else { return Ok(None) };
        let store = self.states.store();
        let text = |entry: &Entry| -> Result<Option<String>, WorkspaceError> {
            Ok(String::from_utf8(store.content(&entry.content)?).ok())
        };
        let Some(after) = after.map(text).transpose()?.flatten() else { return Ok(Some(reason)) };
        let sound = match before {
            None => self.adds_tests(&path.to_string(), None, &after),
            Some(entry) => text(entry)?.is_some_and(|before| self.adds_tests(&path.to_string(), Some(&before), &after)),
        };
        Ok((!sound).then_some(reason))
    }
}
