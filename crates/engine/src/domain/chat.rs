//! A conversation with a model in vendor-neutral words.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bill::Bill;
use super::model_id::ModelId;
use super::tool::{ToolCall, ToolResult, ToolSpec};

/// One entry of a conversation, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Text from us.
    User {
        /// The text.
        text: String,
    },
    /// A model's reply.
    Assistant {
        /// The visible text. It may be empty.
        text: String,
        /// The tools it called, in order.
        tool_calls: Vec<ToolCall>,
        /// Vendor blocks that must be sent back unchanged (thinking with signatures), and only to the same provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Opaque>,
    },
    /// The answers to every tool call of the reply before, in the same order.
    Tools {
        /// One result per call.
        results: Vec<ToolResult>,
        /// Text from us that goes with them (feedback), if any.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
}

/// Vendor-specific reply content, kept to be replayed to the provider that made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The provider whose wire format this is.
    pub provider: String,
    /// The content as it came.
    pub content: Value,
}

/// How hard a reasoning model should think, where the vendor has such a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Little.
    Low,
    /// The middle.
    Medium,
    /// Much.
    High,
}

/// One request for one reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// The model to ask.
    pub target: ModelId,
    /// The instructions: stable over a session, so that vendors can cache them.
    pub system: String,
    /// The tools on offer: the same in every turn of a session. Vendors bind caches and signatures of thinking to them, so also the
    /// last turn, which may only report, has all of them and forces none.
    pub tools: Vec<ToolSpec>,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The most tokens the reply may have.
    pub max_output_tokens: u64,
    /// The tokens that prompt and reply may take together: the window that the conversation is kept within. A server that loads models
    /// itself is told it.
    #[serde(default)]
    pub context_window: u64,
    /// Reasoning effort, where set.
    pub effort: Option<Effort>,
    /// Sampling temperature, where set.
    pub temperature: Option<f64>,
}

/// The most tokens of a kind that one call is believed to have used.
const MOST_TOKENS: u64 = 1_000_000_000;

/// Tokens of one call. The kinds do not overlap, but for `reasoning`, which is part of `output`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens billed at the full price.
    pub input: u64,
    /// Reply tokens, reasoning included.
    pub output: u64,
    /// Prompt tokens read from a cache.
    pub cache_read: u64,
    /// Prompt tokens written to a cache.
    pub cache_write: u64,
    /// The part of `output` that was reasoning, for information.
    pub reasoning: u64,
}

impl Usage {
    /// The same without numbers that no call has: a server may count anything, and the sums of a log must stay numbers.
    #[must_use]
    pub fn sane(self) -> Self {
        let sane = |tokens: u64| tokens.min(MOST_TOKENS);
        Self {
            input: sane(self.input),
            output: sane(self.output),
            cache_read: sane(self.cache_read),
            cache_write: sane(self.cache_write),
            reasoning: sane(self.reasoning),
        }
    }

    /// Adds what another call used.
    pub fn add(&mut self, other: &Self) {
        // Saturating, since a server may count anything, and a sum that wraps would be cheap.
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }

    /// Tokens of the prompt, however they were billed.
    #[must_use]
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// How much of the window the conversation now takes: prompt and reply together (contradiction 14).
    #[must_use]
    pub fn occupancy(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model was done speaking.
    EndTurn,
    /// It wants tools run.
    ToolUse,
    /// `max_output_tokens` cut it.
    Length,
    /// The vendor's filter cut or withheld it.
    ContentFilter,
    /// The model or vendor refused.
    Refusal,
    /// Anything else.
    Other,
}

/// One complete reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The visible text. It may be empty.
    pub text: String,
    /// The tools called, in order. Broken arguments are kept as [`ToolCall::arguments`] says.
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended.
    pub stop: StopReason,
    /// The usage of the call. `None` when the vendor did not say.
    pub usage: Option<Usage>,
    /// Vendor blocks to be sent back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
    /// The model that the vendor says answered, and bills. `None` when it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billed_model: Option<String>,
    /// The bill beside the counts.
    #[serde(default, skip_serializing_if = "Bill::is_plain")]
    pub bill: Bill,
}
