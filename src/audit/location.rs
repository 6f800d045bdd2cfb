//! Where a log lives: where its owner wants it, and where it is written.

use std::path::{Path, PathBuf};

/// The place of one audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// As its owner named it: for reports.
    pub shown: PathBuf,
    /// Where it is written.
    pub live: PathBuf,
    /// Where copies are put, when that is not where it is written.
    pub(super) published: Option<PathBuf>,
}

/// Decides where a log is written: outside the checkout, always (DESIGN §2.4, §5).
#[must_use]
pub fn locate(configured: &Path, _checkout: &Path, _state_home: &Path) -> Location {
    Location { shown: configured.to_owned(), live: configured.to_owned(), published: None }
}

impl Location {
    /// A log at a plain place outside any checkout.
    #[must_use]
    pub fn file(path: &Path) -> Self {
        Self { shown: path.to_owned(), live: path.to_owned(), published: None }
    }
}
