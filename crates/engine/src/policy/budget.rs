//! The budget: what is left, what one call may cost at worst, what it is settled at.
//!
//! Owns the arithmetic only. Other modules decide when to reserve, and where the reservation is kept. Invariant: as long as a vendor bills
//! no more than the tokens of a [`Quote`], the settled costs of a run never pass the cap that was quoted against (SPEC "Tests that prove us
//! better", contradiction 10).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::domain::bill::Bill;
use crate::domain::budget::{Budget, Spent};
use crate::domain::catalogue::{ModelInfo, Price};
use crate::domain::chat::Usage;
use crate::domain::units::{Charge, MICROS_PER_USD, MicroUsd};

/// The share of a cap, in percent, at which a person is warned (S0-11).
pub const WARNING_PERCENT: u64 = 80;

/// Prompt tokens that vendors bill beside the request's own text: the tool-use system prompt (Anthropic publishes up
/// to 530 tokens), chat-template markers, begin and end marks. Twice that, in round numbers.
pub const VENDOR_OVERHEAD_TOKENS: u64 = 1_024;

/// The most reply tokens asked for in one call. More is never useful for one turn's edits and would make a reservation so large that small
/// budgets allow no call at all (DESIGN §4).
pub const MAX_REPLY_TOKENS: u64 = 16_384;

/// Replies shorter than this cannot hold a useful edit, so a call that affords less is not made (DESIGN §4).
pub const MIN_REPLY_TOKENS: u64 = 1_024;

const MS_PER_MINUTE: u64 = 60_000;
const MS_PER_TENTH_OF_MINUTE: u64 = MS_PER_MINUTE / 10;

/// One of the three caps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    /// Iterations over all tiers.
    Iterations,
    /// Money.
    Cost,
    /// Active time.
    Duration,
}

impl Dimension {
    /// All three in the order in which they are evaluated (S0-3).
    pub const ALL: [Self; 3] = [Self::Iterations, Self::Cost, Self::Duration];

    /// The word in events: `iterations`, `cost` or `duration`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Iterations => "iterations",
            Self::Cost => "cost",
            Self::Duration => "duration",
        }
    }

    fn used_and_cap(self, budget: &Budget, spent: &Spent) -> (u64, u64) {
        match self {
            Self::Iterations => (u64::from(spent.iterations), u64::from(budget.max_iterations)),
            Self::Cost => (spent.cost.0, budget.max_cost.0),
            Self::Duration => (spent.active_ms, budget.max_active_ms),
        }
    }
}

/// Why no further iteration may begin, in the seeds' words: the first cap that is reached, of iterations, then cost, then duration. A cap
/// counts as reached at equality (S0-3).
#[must_use]
pub fn check(budget: &Budget, spent: &Spent) -> Option<String> {
    reached(budget, spent).map(|dimension| reason(dimension, budget, spent))
}

/// The first cap that is reached, in the order of [`Dimension::ALL`].
#[must_use]
pub fn reached(budget: &Budget, spent: &Spent) -> Option<Dimension> {
    Dimension::ALL.into_iter().find(|dimension| {
        let (used, cap) = dimension.used_and_cap(budget, spent);
        used >= cap
    })
}

fn reason(dimension: Dimension, budget: &Budget, spent: &Spent) -> String {
    match dimension {
        Dimension::Iterations => format!("max_iterations reached ({})", budget.max_iterations),
        Dimension::Cost => {
            // Two decimals as the seeds write it, but a cap below a cent is not shown as nothing.
            let fine = budget.max_cost.exact() != budget.max_cost.to_cents();
            let charge = spent.charge();
            let spent = if fine { spent.cost.exact() } else { spent.cost.to_cents() };
            let doubt = if charge.unknown == MicroUsd::ZERO { String::new() } else { format!(": {charge}") };
            format!("max_cost_usd exceeded ({spent} / {}{doubt})", budget.max_cost.exact())
        }
        Dimension::Duration => {
            // Rounded half up from milliseconds, as the seeds' `toFixed(1)` does; float formatting rounds half to even.
            let tenths = spent.active_ms.saturating_add(MS_PER_TENTH_OF_MINUTE / 2) / MS_PER_TENTH_OF_MINUTE;
            let cap = minutes(budget.max_active_ms);
            format!("max_duration_minutes exceeded ({}.{} / {cap})", tenths / 10, tenths % 10)
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds above 2^53 are 285,000 years")]
fn minutes(ms: u64) -> f64 {
    ms as f64 / MS_PER_MINUTE as f64
}

/// A cap is nearly used up (S0-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Which cap.
    pub dimension: Dimension,
    /// Percent of it that is used, rounded down. It is 100 for a cap of zero.
    pub percent: u32,
}

/// Remembers which caps were warned about, so that each warning comes once per run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warnings {
    given: BTreeSet<Dimension>,
}

impl Warnings {
    /// The caps that are at or above 80 % now and were not when last asked.
    pub fn observe(&mut self, budget: &Budget, spent: &Spent) -> Vec<Warning> {
        Dimension::ALL
            .into_iter()
            .filter_map(|dimension| {
                let (used, cap) = dimension.used_and_cap(budget, spent);
                let percent = percent_of(used, cap);
                // The order of the two matters: a cap is noted as warned about only once it is near.
                let first = percent >= WARNING_PERCENT && self.given.insert(dimension);
                first.then(|| Warning { dimension, percent: u32::try_from(percent).unwrap_or(u32::MAX) })
            })
            .collect()
    }
}

fn percent_of(used: u64, cap: u64) -> u64 {
    // Multiplied in `u128`: micro-dollars times 100 may pass a `u64`. A cap of zero is used up from the start.
    let percent = (u128::from(used) * 100).checked_div(u128::from(cap)).unwrap_or(100);
    u64::try_from(percent).unwrap_or(u64::MAX)
}

/// The allowance of one call, and its worst cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// The `max_tokens` to send.
    pub max_output_tokens: u64,
    /// The amount to set aside until the call is settled.
    pub reserve: MicroUsd,
}

/// A call that must not be made: even its smallest useful form could pass the cap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unaffordable {
    /// Why, with the amounts.
    pub reason: String,
}

/// Plans one call against what is left: worst case = every request byte a token, plus the vendor's overhead, at the
/// dearest input price, plus the reply's limit at the output price (DESIGN §4 "Budget").
///
/// Every tokeniser in use falls back to single bytes, so a text never has more tokens than bytes.
///
/// # Errors
/// [`Unaffordable`] when fewer than 1,024 reply tokens (or the model's own limit, if smaller) fit into `remaining`, or
/// when the model has no price: an unknown price cannot be held to a cap.
pub fn quote(info: &ModelInfo, request_bytes: u64, remaining: MicroUsd) -> Result<Quote, Unaffordable> {
    let Some(price) = info.price else {
        return Err(Unaffordable {
            reason: "the model has no price, so its calls cannot be kept under a cap".to_owned(),
        });
    };
    quote_of(price, request_bytes, info.max_output_tokens.min(MAX_REPLY_TOKENS), remaining)
}

/// Plans a call of somebody else, who asked for `wanted` reply tokens: as [`quote`], but without a limit of ours to them.
///
/// # Errors
/// As [`quote`].
pub fn quote_of(price: Price, request_bytes: u64, wanted: u64, remaining: MicroUsd) -> Result<Quote, Unaffordable> {
    // A model or caller that never wants so many is not held to the least of an edit.
    let least = wanted.min(MIN_REPLY_TOKENS);
    let prompt_tokens = request_bytes.saturating_add(VENDOR_OVERHEAD_TOKENS);
    let affordable = affordable_output(&price, prompt_tokens, remaining);
    if affordable.is_none_or(|tokens| tokens < least) {
        let worst = worst_case(&price, prompt_tokens, least);
        return Err(Unaffordable {
            reason: format!(
                "the next call may cost up to {}, and {} is left of the cost cap",
                worst.at_most(),
                remaining.at_least()
            ),
        });
    }
    let max_output_tokens = affordable.map_or(least, |tokens| tokens.min(wanted));
    Ok(Quote { max_output_tokens, reserve: worst_case(&price, prompt_tokens, max_output_tokens) })
}

/// The most that a call costs which sends and gets so many tokens.
#[must_use]
pub fn worst_case(price: &Price, prompt_tokens: u64, output_tokens: u64) -> MicroUsd {
    let dearest = Price { input: price.dearest_input(), ..*price };
    dearest.cost(&Usage { input: prompt_tokens, output: output_tokens, ..Usage::default() })
}

/// The most reply tokens that fit beside the prompt. `None` when the prompt alone does not fit.
fn affordable_output(price: &Price, prompt_tokens: u64, remaining: MicroUsd) -> Option<u64> {
    // In millionths of a micro-dollar, so that nothing is rounded before the comparison.
    let funds = u128::from(remaining.0) * u128::from(MICROS_PER_USD);
    let prompt = u128::from(prompt_tokens) * u128::from(price.dearest_input());
    let left = funds.checked_sub(prompt)?;
    // Replies that cost nothing are limited by nothing.
    let tokens = left.checked_div(u128::from(price.output)).unwrap_or(u128::MAX);
    Some(u64::try_from(tokens).unwrap_or(u64::MAX))
}

/// Whether a call without a usage figure may still appear on the vendor's bill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    /// The request may have been processed: it must be counted at its worst case.
    Possible,
    /// The request surely was not processed (refused key, refused connection, rate limit).
    Impossible,
}

/// Whether the money left is enough for several caps at the same time, each used to its end.
#[must_use]
pub fn suffices(left: MicroUsd, caps: impl Iterator<Item = MicroUsd>) -> bool {
    caps.fold(MicroUsd::ZERO, |sum, cap| MicroUsd(sum.0.saturating_add(cap.0))) <= left
}

/// What a vendor told of a call's cost.
#[derive(Debug, Clone, Copy)]
pub struct Told<'t> {
    /// The tokens that it counted.
    pub usage: Option<&'t Usage>,
    /// The bill beside them.
    pub bill: &'t Bill,
    /// The price of the model that it says it billed, where that is another than the one that was asked.
    pub served: Option<&'t Price>,
}

/// The settled cost of a call: its usage at its price, or at that of the model that was served in its place, or the amount that the vendor
/// names, whichever is most. Without usage it is the whole reservation if the call may be billed, else nothing (DESIGN §4). A usage without a
/// price counts as unknown, and so does one without a prompt, which no call has. Of an open bill the rest of the reservation is unknown, and
/// of a dearer service tier what it costs at most beyond.
#[must_use]
pub fn settle(info: &ModelInfo, told: Told<'_>, reserved: MicroUsd, billing: Billing) -> Charge {
    let Told { usage, bill, served } = told;
    // No call has an empty prompt, so such a usage says nothing and is treated as if there were none.
    let charge = match (usage.filter(|usage| usage.prompt() > 0), &info.price, billing) {
        (Some(usage), Some(price), _) => {
            let known = served.map_or(MicroUsd::ZERO, |served| served.cost(usage)).max(price.cost(usage));
            let in_tier = bill.dear_tier.as_deref().map(|tier| price.most_in_tier(tier).cost(usage));
            let open = if bill.is_open { reserved } else { MicroUsd::ZERO };
            Charge { known, unknown: open.max(in_tier.unwrap_or_default()).saturating_sub(known) }
        }
        (Some(_), None, _) | (None, _, Billing::Possible) => Charge { unknown: reserved, ..Charge::ZERO },
        (None, _, Billing::Impossible) => Charge::ZERO,
    };
    match bill.amount.filter(|amount| *amount > charge.known) {
        Some(amount) => Charge { known: amount, unknown: charge.total().saturating_sub(amount) },
        None => charge,
    }
}

#[cfg(test)]
mod tests;
