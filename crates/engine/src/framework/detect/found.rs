//! Detected test commands: the command, its framework, and the sign that gave it away.

/// A detected test command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The command.
    pub command: String,
    /// The framework's name.
    pub framework: String,
    /// The sign that gave it away.
    pub why: String,
}

/// An answer.
pub(super) fn found(command: &str, framework: &str, why: String) -> Option<Detected> {
    Some(Detected { command: command.to_owned(), framework: framework.to_owned(), why })
}
