//! The wire that is spoken, and the measure of an answer.

use crate::domain::bill::Bill;
use crate::domain::chat::Usage;
pub use crate::domain::spoken::Spoken;

/// The measure of an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metered {
    /// The vendor's counts, as far as they came. `None` when it told nothing.
    pub usage: Option<Usage>,
    /// The bill beside the counts. It is open where the answer was cut before the vendor had counted to the end.
    pub bill: Bill,
    /// The model that the vendor says it billed.
    pub billed_model: Option<String>,
    /// Whether the reply came to its end by the vendor's own word.
    pub complete: bool,
    /// The body of an error answer (its beginning), or the error that the vendor told of inside an answer.
    pub error: Option<Vec<u8>>,
}
