//! What a look at the outside came to.

use crate::domain::delivery::Answer;
use crate::domain::foreign::Foreign;

/// What one look at the outside came to.
pub(in crate::lifecycle) enum Seen {
    /// Nothing yet.
    Moving,
    /// All that showed is good, and soon nothing more can appear.
    Settling,
    /// Nothing yet, and another process is to go on; with what keeps the answer from being read, where something does.
    Later(Option<String>),
    /// An answer, with more about it.
    Answer(Answer, String),
    /// An answer that asks for more work.
    Work(Answer, Work),
}

/// What the next iteration is given.
pub(in crate::lifecycle) struct Work {
    /// In a few words, for the log.
    pub(in crate::lifecycle) detail: String,
    /// What is shown to the artisan.
    pub(in crate::lifecycle) failures: Foreign,
    /// The names of what fails.
    pub(in crate::lifecycle) failing: Vec<String>,
    /// The places that are named.
    pub(in crate::lifecycle) named: Vec<(String, Option<u32>)>,
    /// The error, to be compared with the next one.
    pub(in crate::lifecycle) signature: String,
}
