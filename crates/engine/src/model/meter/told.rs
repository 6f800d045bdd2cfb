//! The wire that is spoken, and the measure of an answer.

use crate::domain::chat::Usage;
pub use crate::domain::spoken::Spoken;

/// The measure of an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metered {
    /// The vendor's counts, or a bound where the answer was cut before they came. `None` when it told nothing.
    pub usage: Option<Usage>,
    /// The model that the vendor says it billed.
    pub billed_model: Option<String>,
    /// The service tier that the vendor says it served, where that has a higher price than the catalogue's.
    pub dear_tier: Option<String>,
    /// Whether the reply came to its end by the vendor's own word.
    pub complete: bool,
    /// The body of an error answer (its beginning), or the error that the vendor told of inside an answer.
    pub error: Option<Vec<u8>>,
}
