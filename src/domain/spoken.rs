//! What programs speak with models: the four wires of the vendors.

/// What a client speaks with a vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spoken {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// Chat completions.
    Chat,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    Generate,
}
