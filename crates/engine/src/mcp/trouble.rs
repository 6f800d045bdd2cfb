//! Why a request brings no result, and how much of foreign words is told.

use std::time::Duration;

/// Why a request brought no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The server is gone.
    #[error("the server is gone: {0}")]
    Lost(String),
    /// The time was up.
    #[error("no answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The server said no.
    #[error("the server refused: {0}")]
    Refused(String),
}

/// The beginning of a text.
pub(super) fn clip(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
