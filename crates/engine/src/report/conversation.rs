//! A kept conversation, as a report reads it out of the log.
//!
//! The shape is written by `session::conversation`. A log of an older version may leave out every field that has a default here.

use serde::Deserialize;

use super::plain;
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
    /// The session by a coding agent's own account. `None` where a model of ours held it.
    #[serde(default)]
    pub(super) own_account: Option<OwnAccount>,
    /// The entries, oldest first.
    pub(super) entries: Vec<Entry>,
}

/// What a coding agent tells of its session. The bill is by the vendor's counts alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OwnAccount {
    /// The session's id at the agent.
    pub(super) session: String,
    /// Prompt tokens by its count.
    pub(super) prompt_tokens: u64,
    /// Reply tokens by its count.
    pub(super) reply_tokens: u64,
    /// How many of its turns ended.
    pub(super) turns: u32,
    /// Whether the last one did well.
    pub(super) ended_well: bool,
}

impl OwnAccount {
    /// A sentence about it.
    pub(super) fn sentence(&self) -> String {
        let Self { session, prompt_tokens, reply_tokens, turns, ended_well } = self;
        let session =
            if session.is_empty() { "it".to_owned() } else { format!("its session {}", plain::line(session)) };
        let ended = match (turns, ended_well) {
            // An agent that was killed or crashed never told of a turn, so `ended_well` says nothing.
            (0, _) => "reported no end",
            (_, true) => "ended well",
            (_, false) => "ended with a failure",
        };
        format!(
            "By the agent's own account {session} {ended} and used {prompt_tokens} prompt and {reply_tokens} reply tokens; \
             the bill is by the vendor's counts"
        )
    }
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
