//! The handover: the compressed failure history that the next tier is given (S0-25 to S0-28, S2-8, contradictions 2 and 3).
//!
//! Owns the text's exact bytes and its cap. Invariant: never more than 4,000 characters (Unicode scalar values).

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::domain::attempt::{Attempt, TierResult};
use crate::domain::units::{Charge, MicroUsd};

/// The most characters of a handover (S0-25).
pub const MAX_CHARS: usize = 4_000;

/// Ends a handover of which even the last tier's block had to be cut (S0-25).
pub const TRUNCATION_MARKER: &str = "\n[prior tier history truncated for context efficiency]";

/// Messages shown per iteration (S0-26).
const ERRORS_PER_ITERATION: usize = 2;
/// Distinct messages shown per tier (S0-26).
const PATTERNS_PER_TIER: usize = 5;

/// The next tier's knowledge of the tiers before it. Everything is empty before the first tier (S0-27).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// The text. Empty when there is no prior tier.
    pub summary: String,
    /// Oldest tiers that the cap left out of [`Self::summary`].
    pub dropped_tiers: u32,
}

/// Compresses the results of all prior tiers, oldest first.
#[must_use]
pub fn build(prior: &[TierResult]) -> Handover {
    if prior.is_empty() {
        return Handover::default();
    }
    let total_iterations = prior.iter().fold(0_u32, |sum, tier| sum.saturating_add(tier.iterations));
    let total_cost: Charge = prior.iter().map(|tier| tier.cost).sum();
    let blocks: Vec<String> = prior.iter().enumerate().map(|(index, tier)| block(index + 1, tier)).collect();
    let footer = format!(
        "\n[total accumulated across {} tier(s): {total_iterations} iterations, {}]",
        prior.len(),
        four_decimals(total_cost.known)
    );
    let (summary, dropped_tiers) = fit(&blocks, &footer);
    Handover { summary, dropped_tiers }
}

/// Drops the oldest blocks until the rest and the footer fit. Cuts the last block when even that is too long.
fn fit(blocks: &[String], footer: &str) -> (String, u32) {
    for first in 0..blocks.len() {
        let text = blocks.get(first..).unwrap_or_default().join("\n") + footer;
        if text.chars().count() <= MAX_CHARS {
            return (text, u32::try_from(first).unwrap_or(u32::MAX));
        }
    }
    let room = MAX_CHARS.saturating_sub(TRUNCATION_MARKER.chars().count());
    let cut: String = blocks.last().map(|block| block.chars().take(room).collect()).unwrap_or_default();
    (cut + TRUNCATION_MARKER, u32::try_from(blocks.len().saturating_sub(1)).unwrap_or(u32::MAX))
}

fn block(number: usize, tier: &TierResult) -> String {
    let plural = if tier.iterations == 1 { "" } else { "s" };
    let header = format!("=== TIER {number} FAILURES: {} ({} iteration{plural}) ===", tier.tier_name, tier.iterations);
    let mut lines = vec![header, String::new()];
    lines.extend(tier.attempts.iter().map(iteration_line));
    lines.push(String::new());
    let patterns: Vec<&str> = unique(&tier.attempts).take(PATTERNS_PER_TIER).collect();
    lines.push(format!("Unique error patterns: {}", or(&patterns.join(" | "), "none")));
    lines.join("\n")
}

fn iteration_line(attempt: &Attempt) -> String {
    let errors: Vec<&str> = attempt.error_messages.iter().take(ERRORS_PER_ITERATION).map(String::as_str).collect();
    format!(
        "Iteration {}: {}. Tests: {}",
        attempt.iteration,
        or(&attempt.code_change_summary, "code modified"),
        or(&errors.join("; "), "no error captured")
    )
}

fn or<'a>(text: &'a str, fallback: &'a str) -> &'a str {
    if text.is_empty() { fallback } else { text }
}

fn unique<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> impl Iterator<Item = &'a str> {
    let mut seen = HashSet::new();
    attempts
        .into_iter()
        .flat_map(|attempt| &attempt.error_messages)
        .map(String::as_str)
        .filter(move |message| seen.insert(*message))
}

/// Always four decimals here, also for nothing, unlike the report's money (S0-26).
fn four_decimals(amount: MicroUsd) -> String {
    if amount == MicroUsd::ZERO { "$0.0000".to_owned() } else { amount.to_string() }
}

#[cfg(test)]
mod tests;
