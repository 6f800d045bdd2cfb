//! A change, file by file, as it is compared with the start.

/// A file of a change, as text before and after. `None` where it is not there. Bytes that are no text are shown as well as can be.
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

impl Change {
    pub(super) fn before(&self) -> &str {
        self.before.as_deref().unwrap_or_default()
    }

    pub(super) fn after(&self) -> &str {
        self.after.as_deref().unwrap_or_default()
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}
