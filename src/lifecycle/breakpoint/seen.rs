//! The result of a look at the outside.

use crate::domain::delivery::Answer;
use crate::domain::foreign::Foreign;

/// The result of one look at the outside.
pub(in crate::lifecycle) enum Seen {
    /// Nothing yet. Holds what is open, in words, as far as that is known.
    Moving(String),
    /// Nothing yet: what failed runs once more. Holds the message about it.
    RunsAgain(String),
    /// All that showed is good, or nothing has shown, and soon nothing more can appear.
    Settling,
    /// Nothing yet, and another process is to go on. Holds the reason why the answer cannot be read, where there is one.
    Later(Option<String>),
    /// An answer, with more about it.
    Answer(Answer, String),
    /// An answer that asks for more work.
    Work(Answer, Work),
}

/// The input of the next iteration.
pub(in crate::lifecycle) struct Work {
    /// In a few words, for the log.
    pub(in crate::lifecycle) detail: String,
    /// The failures as they are shown to the artisan.
    pub(in crate::lifecycle) failures: Foreign,
    /// The names of what fails.
    pub(in crate::lifecycle) failing: Vec<String>,
    /// The places that are named.
    pub(in crate::lifecycle) named: Vec<(String, Option<u32>)>,
    /// The error, to be compared with the next one.
    pub(in crate::lifecycle) signature: String,
    /// Whether there is a word about why it fails, and not a name alone.
    pub(in crate::lifecycle) is_told: bool,
}
