//! What a vendor tells of a call's bill beside its counts of tokens, and what it leaves open.

use serde::{Deserialize, Serialize};

use super::catalogue::Price;
use super::units::MicroUsd;

/// Service tiers with a higher price than the catalogue's, by their vendors' words.
const DEAR_TIERS: [&str; 5] = ["priority", "fast", "ultrafast", "scale", "performance"];
/// The most that a tier of these names costs of the standard one's price, as numerator and denominator: GPT-4o mini 5/3, GPT-5.5 5/2 at
/// openai.com/api-priority-processing (since July 2026 /api-fast-mode), Anthropic's fast mode twice for every model that has it
/// (platform.claude.com, "Fast mode"; read 2026-11-27).
const FAST: (&[&str], (u64, u64)) = (&["priority", "fast"], (5, 2));
/// The same for every other one: the highest multiple that any of the vendors has published (OpenAI's `ultrafast`, and Anthropic's fast mode
/// of models that have it no more).
const DEAREST: (u64, u64) = (6, 1);

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

/// The most that a tier of that name costs.
#[must_use]
pub fn most_in_tier(price: Price, name: &str) -> Price {
    let (names, factor) = FAST;
    let (times, over) = if names.iter().any(|fast| name.eq_ignore_ascii_case(fast)) { factor } else { DEAREST };
    // Rounded up: a bound must not lie below what it bounds.
    let raised = |part: u64| part.saturating_mul(times).div_ceil(over);
    Price {
        input: raised(price.input),
        output: raised(price.output),
        cache_read: raised(price.cache_read),
        cache_write: raised(price.cache_write),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiers_price_is_known_as_a_bound() {
        let price = Price { input: 3, output: 15, cache_read: 1, cache_write: 4 };
        let fast = Price { input: 8, output: 38, cache_read: 3, cache_write: 10 };
        assert_eq!((most_in_tier(price, "priority"), most_in_tier(price, "Fast")), (fast, fast));
        let ultra = Price { input: 18, output: 90, cache_read: 6, cache_write: 24 };
        assert_eq!(most_in_tier(price, "ultrafast"), ultra);
        assert!(is_dear_tier("Priority") && !is_dear_tier("default") && !is_dear_tier("flex"));
    }

    #[test]
    fn a_plain_bill_is_written_as_nothing() {
        assert_eq!(serde_json::to_string(&Bill::default()).unwrap(), "{}");
        let open = Bill { is_open: true, ..Bill::default() };
        assert_eq!(serde_json::from_str::<Bill>(&serde_json::to_string(&open).unwrap()).unwrap(), open);
    }
}
