//! Tools as models see them: descriptions, calls, results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ladder::Role;

/// A tool's name, purpose and parameters (JSON Schema of an object).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name a model calls it by. It is contract (DESIGN §2.3).
    pub name: String,
    /// The tool's purpose, in a sentence or two.
    pub description: String,
    /// JSON Schema of the arguments: an object.
    pub parameters: Value,
}

/// Where a tool comes from. The list is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSource {
    /// The program's own.
    BuiltIn,
    /// A server that speaks the Model Context Protocol.
    Mcp,
    /// A request to a web service.
    Rest,
    /// A session of another model.
    Agent,
}

impl ToolSource {
    /// Every source but our own.
    pub const OUTSIDE: [Self; 3] = [Self::Mcp, Self::Rest, Self::Agent];

    /// The source of a tool by its name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self::OUTSIDE.into_iter().find(|source| name.starts_with(source.prefix())).unwrap_or(Self::BuiltIn)
    }

    /// The beginning of its tools' names.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::BuiltIn => "",
            Self::Mcp => "mcp__",
            Self::Rest => "rest__",
            Self::Agent => "agent__",
        }
    }
}

/// A tool failed, and its model was told words of the configuration in the place of what the tool said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFailure {
    /// The role that called it.
    pub role: Role,
    /// The session that called it.
    pub session_id: String,
    /// The tool's name.
    pub name: String,
    /// The tool's own words, which are not ours.
    pub said: String,
    /// The words that the model was told.
    pub told: String,
}

/// A model's wish to have a tool run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The vendor's id of this call. Every result names it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments. A JSON string value holds the raw text when it was no JSON object.
    pub arguments: Value,
}

/// The result of a tool call, as told to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call this answers.
    pub call_id: String,
    /// The tool's name (Gemini wants it beside the id).
    pub name: String,
    /// The text that the model reads.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
}
