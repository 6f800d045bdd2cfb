//! The wires between programs and models: the four of the vendors.

/// The wire that a client uses with a vendor.
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
