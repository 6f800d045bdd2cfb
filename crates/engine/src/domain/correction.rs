//! Corrections of tests: what a model proposes where it says that a test itself is wrong. A person decides.

use serde::{Deserialize, Serialize};

/// A change of files that judge, proposed and not made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The files, from the top of the checkout. Their names are not our text.
    pub files: Vec<String>,
    /// The change, as `git apply` takes it. It is not our text.
    pub patch: String,
    /// Why, in the model's words.
    pub reason: String,
    /// The path of the file that holds the patch, where it could be written.
    pub kept: Option<String>,
}
