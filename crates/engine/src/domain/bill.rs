//! What a vendor tells of a call's bill beside its counts of tokens, and what it leaves open.

use serde::{Deserialize, Serialize};

use super::units::MicroUsd;

/// Service tiers with a higher price than the catalogue's, by their vendors' words.
const DEAR_TIERS: [&str; 5] = ["priority", "fast", "ultrafast", "scale", "performance"];

/// The bill of a call beside its counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bill {
    /// The amount that the vendor says it billed, where it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<MicroUsd>,
    /// The service tier that was served, where that has a higher price than the catalogue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dear_tier: Option<String>,
    /// Whether the counts are those of a part: the vendor had not counted to the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
}

impl Bill {
    /// Whether the counts alone are the bill.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a service tier has a higher price than the catalogue's, by its vendor's word.
#[must_use]
pub fn is_dear_tier(name: &str) -> bool {
    DEAR_TIERS.iter().any(|dear| name.eq_ignore_ascii_case(dear))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_is_dear_by_its_name() {
        assert!(is_dear_tier("Priority") && !is_dear_tier("default") && !is_dear_tier("flex"));
    }

    #[test]
    fn a_plain_bill_is_written_as_nothing() {
        assert_eq!(serde_json::to_string(&Bill::default()).unwrap(), "{}");
        let open = Bill { is_open: true, ..Bill::default() };
        assert_eq!(serde_json::from_str::<Bill>(&serde_json::to_string(&open).unwrap()).unwrap(), open);
    }
}
