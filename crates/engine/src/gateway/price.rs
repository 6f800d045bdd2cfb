//! Prices beside the catalogue's: a cache that lasts an hour, prompts beyond the size up to which a price holds.
//!
//! Pure. Invariant: a call is reserved at no less than what it can be settled at.

use crate::domain::catalogue::{ModelInfo, Price};

/// Anthropic's price for writing to its cache of an hour, as a multiple of plain input (platform.claude.com, "Prompt caching").
const HOUR_CACHE: u64 = 2;
/// The vendors' factor for a prompt beyond the size at which the catalogue ends a model's window: twice for the prompt, and half as much
/// again for the reply (Anthropic, OpenAI and Gemini alike, read 2026-11-21).
const LONG_INPUT: u64 = 2;
/// Numerator and denominator of the same for the reply.
const LONG_OUTPUT: (u64, u64) = (3, 2);

/// Properties of a request that make it dearer than the catalogue's price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Surcharge {
    /// Whether it writes to a cache that lasts an hour.
    pub(super) hour: bool,
}

impl Surcharge {
    pub(super) const fn of_cache(hour: bool) -> Self {
        Self { hour }
    }
}

/// The price of a call of so many prompt tokens (those that it may have, or those that it had).
pub(super) fn of(info: &ModelInfo, surcharge: Surcharge, prompt_tokens: u64) -> Option<Price> {
    let mut price = info.price?;
    if surcharge.hour {
        // Never below the catalogue's own price.
        price.cache_write = price.cache_write.max(price.input.saturating_mul(HOUR_CACHE));
    }
    // A price of the user's own holds whatever the size: its window may not even be known.
    if prompt_tokens > info.context_window && !info.is_configured() {
        price.input = price.input.saturating_mul(LONG_INPUT);
        price.cache_read = price.cache_read.saturating_mul(LONG_INPUT);
        price.cache_write = price.cache_write.saturating_mul(LONG_INPUT);
        price.output = price.output.saturating_mul(LONG_OUTPUT.0).div_ceil(LONG_OUTPUT.1);
    }
    Some(price)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn info(window: u64, source: &str) -> ModelInfo {
        let price = Price { input: 3, output: 15, cache_read: 1, cache_write: 4 };
        ModelInfo { context_window: window, price: Some(price), source: source.to_owned(), ..ModelInfo::unknown() }
    }

    #[test]
    fn an_hours_cache_and_a_long_prompt_cost_more() {
        let known = info(200_000, "a vendor's page");
        assert_eq!(of(&known, Surcharge::default(), 200_000), known.price);
        assert_eq!(of(&known, Surcharge::of_cache(true), 1).unwrap().cache_write, 6);
        let long = Price { input: 6, output: 23, cache_read: 2, cache_write: 8 };
        assert_eq!(of(&known, Surcharge::default(), 200_001), Some(long));
        assert_eq!(of(&ModelInfo { price: None, ..known }, Surcharge::default(), 1), None);
    }

    #[test]
    fn a_price_of_the_users_own_holds_for_every_size() {
        let own = info(8_000, "configuration");
        assert_eq!(of(&own, Surcharge::default(), 1_000_000), own.price);
    }

    proptest! {
        #[test]
        fn a_call_is_reserved_at_no_less_than_it_is_settled_at(had in 0_u64..500_000, more in 0_u64..500_000, hour: bool) {
            let (known, surcharge) = (info(200_000, "a vendor's page"), Surcharge::of_cache(hour));
            let (reserved, settled) = (of(&known, surcharge, had + more).unwrap(), of(&known, surcharge, had).unwrap());
            prop_assert!(reserved.input >= settled.input && reserved.output >= settled.output);
            prop_assert!(reserved.cache_read >= settled.cache_read && reserved.cache_write >= settled.cache_write);
        }
    }
}
