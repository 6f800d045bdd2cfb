//! The catalogue of models: prices, windows, limits. The arithmetic of a call's cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::chat::Usage;
use super::model_id::ModelId;
use super::units::{MICROS_PER_USD, MicroUsd};

/// The window assumed for a model that nobody knows (S0-13). It comes with a warning.
pub const UNKNOWN_CONTEXT_WINDOW: u64 = 8_000;

/// The most that a tier of these names costs of the standard one's price, as numerator and denominator: GPT-4o mini 5/3, GPT-5.5 5/2 at
/// openai.com/api-priority-processing (since July 2026 /api-fast-mode), Anthropic's fast mode twice for every model that has it
/// (platform.claude.com, "Fast mode"; read 2026-11-27).
const FAST: (&[&str], (u64, u64)) = (&["priority", "fast"], (5, 2));
/// The same for every other one: the highest multiple that any of the vendors has published (OpenAI's `ultrafast`, and Anthropic's fast mode
/// of models that have it no more).
const DEAREST: (u64, u64) = (6, 1);

/// Prices in micro-dollars per million tokens (equally: dollars per million tokens, in millionths).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Uncached prompt tokens.
    pub input: u64,
    /// Reply tokens, reasoning included.
    pub output: u64,
    /// Prompt tokens read from the vendor's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the vendor's cache.
    pub cache_write: u64,
}

impl Price {
    /// The cost of one call: summed over the kinds of tokens, rounded up once to a micro-dollar (S1-16).
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> MicroUsd {
        let per_million = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        // In wide numbers, since tokens times price may pass 64 bits.
        let total: u128 = per_million.iter().map(|&(tokens, price)| u128::from(tokens) * u128::from(price)).sum();
        // Upwards and once, at the end: rounded one by one the kinds would add up to more.
        MicroUsd(u64::try_from(total.div_ceil(u128::from(MICROS_PER_USD))).unwrap_or(u64::MAX))
    }

    /// The most that a service tier of that name costs.
    #[must_use]
    pub fn most_in_tier(self, name: &str) -> Self {
        let (names, factor) = FAST;
        let (times, over) = if names.iter().any(|fast| name.eq_ignore_ascii_case(fast)) { factor } else { DEAREST };
        // Rounded up: a bound must not lie below what it bounds.
        let raised = |part: u64| part.saturating_mul(times).div_ceil(over);
        Self {
            input: raised(self.input),
            output: raised(self.output),
            cache_read: raised(self.cache_read),
            cache_write: raised(self.cache_write),
        }
    }

    /// The dearer of two prices, kind by kind.
    #[must_use]
    pub fn max_of(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }

    /// The dearest price a prompt token can have: uncached, read from or written to a cache.
    #[must_use]
    pub fn dearest_input(&self) -> u64 {
        self.input.max(self.cache_read).max(self.cache_write)
    }
}

/// Everything known about one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Tokens that prompt and reply may take together.
    pub context_window: u64,
    /// Tokens that a reply may take at most.
    pub max_output_tokens: u64,
    /// The price. `None` when nobody said.
    pub price: Option<Price>,
    /// Whether the vendor's tool calling works. Without it the text protocol is used.
    pub tools: bool,
    /// Where these numbers come from: a vendor page and date, `configuration`, or `unknown model`.
    pub source: String,
}

/// How the source of facts begins that configuration gave or changed.
const CONFIGURATION: &str = "configuration";

impl ModelInfo {
    /// Whether configuration says something of the model.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        // By its beginning, as the source that was overridden stands behind it.
        self.source.starts_with(CONFIGURATION)
    }

    /// The source of these facts once configuration was laid over them.
    #[must_use]
    pub fn configured_source(&self) -> String {
        if self.source == Self::unknown().source {
            CONFIGURATION.to_owned()
        } else {
            format!("{CONFIGURATION} over {}", self.source)
        }
    }

    /// The stand-in for a model that is in no catalogue: small window, no price.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            context_window: UNKNOWN_CONTEXT_WINDOW,
            max_output_tokens: UNKNOWN_CONTEXT_WINDOW / 4,
            price: None,
            tools: true,
            source: "unknown model".to_owned(),
        }
    }
}

/// The effective facts for each target of a plan, by [`ModelId`]. Overrides are applied already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts(pub BTreeMap<ModelId, ModelInfo>);

impl ModelFacts {
    /// The facts of a target. An unlisted one is unknown.
    #[must_use]
    pub fn of(&self, id: &ModelId) -> ModelInfo {
        self.0.get(id).cloned().unwrap_or_else(ModelInfo::unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiers_price_is_known_as_a_bound() {
        let price = Price { input: 3, output: 15, cache_read: 1, cache_write: 4 };
        let fast = Price { input: 8, output: 38, cache_read: 3, cache_write: 10 };
        assert_eq!((price.most_in_tier("priority"), price.most_in_tier("Fast")), (fast, fast));
        let ultra = Price { input: 18, output: 90, cache_read: 6, cache_write: 24 };
        assert_eq!(price.most_in_tier("ultrafast"), ultra);
    }

    #[test]
    fn a_call_is_rounded_up_once_over_all_kinds_of_tokens() {
        let price = Price { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 };
        let usage = Usage { input: 1, output: 0, cache_read: 1, cache_write: 0, reasoning: 0 };
        assert_eq!(price.cost(&usage), MicroUsd(2), "1.0 + 0.1 micro-dollars, rounded up once");
        assert_eq!(price.dearest_input(), 1_250_000);
        assert_eq!(Price::default().cost(&usage), MicroUsd::ZERO);
    }
}
