//! Advice: the words of advisors before an artisan works (S1-18).

use serde::{Deserialize, Serialize};

/// One advisor's word, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// The advisor's name.
    pub name: String,
    /// Its session's id.
    pub session_id: String,
    /// Whether it gave a word. Otherwise the text is the reason.
    pub given: bool,
    /// The text, which is not ours.
    pub said: String,
}
