//! Reports that are kept to be used again (S1-20): a librarian's brief, a critic's review.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ladder::Role;
use super::model_id::ModelId;
use super::units::RunId;

/// The most reports that are carried from the log of an earlier job: each stands in the log of every job after it.
pub const MOST_CARRIED: usize = 64;

/// A report, and the question that it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptReport {
    /// Names the question: a hash of the material, the tree, the models, the prompt and what is asked for beside the report.
    pub key: String,
    /// The role that gave it.
    pub role: Role,
    /// The session in which it was given.
    pub session_id: String,
    /// The run in which it was given, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<RunId>,
    /// The target that gave it.
    pub target: ModelId,
    /// The report.
    pub words: KeptWords,
    /// The valid blocks of data beside it, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: BTreeMap<String, Value>,
}

/// The text of a kept report, which is not ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptWords {
    /// A brief.
    Brief {
        /// The brief.
        summary: String,
        /// The files that matter, most relevant first.
        files: Vec<String>,
    },
    /// A review that approves.
    Approve {
        /// Why.
        summary: String,
        /// Suggestions.
        issues: Vec<String>,
    },
    /// A review that rejects.
    Reject {
        /// Why.
        summary: String,
        /// The faults.
        issues: Vec<String>,
    },
}

/// A report that was used again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusedReport {
    /// Names the question.
    pub key: String,
    /// The role that was not asked.
    pub role: Role,
    /// The session in which it was given.
    pub session_id: String,
    /// The run in which it was given, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<RunId>,
}
