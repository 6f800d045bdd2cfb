//! Tools as models see them: descriptions, calls, results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
