//! A kept conversation, as a report reads it out of the log.
//!
//! The shape is written by `session::conversation`. A log of an older version may leave out every field that has a default here.

use serde::Deserialize;

use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::tool::{ToolCall, ToolResult};

/// A session's conversation with its models.
#[derive(Debug, Deserialize)]
pub(super) struct Kept {
    /// The role that spoke with us.
    pub(super) role: Role,
    /// The instructions.
    #[serde(default)]
    pub(super) system: String,
    /// The way the session ended, in a word.
    #[serde(default)]
    pub(super) result: String,
    /// The entries, oldest first.
    pub(super) entries: Vec<Entry>,
}

/// One entry of a conversation.
#[derive(Debug, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub(super) enum Entry {
    /// Words of ours.
    Ours {
        /// The text.
        text: String,
    },
    /// A model's reply.
    Theirs {
        /// The model.
        target: ModelId,
        /// The text.
        text: String,
        /// The tools it called.
        calls: Vec<ToolCall>,
    },
    /// Answers to the calls of the reply before.
    Results {
        /// One result a call.
        results: Vec<ToolResult>,
        /// Words of ours beside them.
        #[serde(default)]
        note: String,
    },
}

impl Kept {
    /// Reads a snapshot's body.
    ///
    /// # Errors
    /// When it is not a conversation.
    pub(super) fn read(body: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(body)
    }
}
