//! Remarks: places in a change that a reviewer should look at. A remark refuses nothing.

use serde::{Deserialize, Serialize};

/// One place in a change that a reviewer should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// The reason to look.
    pub kind: RemarkKind,
    /// The file, from the top of the checkout; not our text.
    pub file: String,
    /// The first and the last line in the changed file, from 1; `None` for a file as a whole.
    pub lines: Option<(u32, u32)>,
}

/// The reason to look at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemarkKind {
    /// The tests pass without this part of the change.
    NotNeeded,
}

impl RemarkKind {
    /// The word in events and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotNeeded => "not_needed",
        }
    }

    /// The reason in a sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NotNeeded => "the tests pass without this part of the change",
        }
    }
}
