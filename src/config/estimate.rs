//! The highest cost of a run.
//!
//! The cap decides: no call is made that could pass it. The uncapped figure tells how much of a ladder a cap pays for.

use crate::domain::budget::Budget;
use crate::domain::catalogue::{ModelFacts, Price};
use crate::domain::chat::Usage;
use crate::domain::ladder::Tier;
use crate::domain::units::MicroUsd;

use super::plan::AgentPlan;

/// The most reply tokens of one call (DESIGN §4).
const MAX_REPLY_TOKENS: u64 = 16_384;

/// The most a tier would cost if nothing capped it: every iteration, role, turn and attempt with a full window of
/// prompt at its dearest price and a full reply.
pub(super) fn uncapped(tier: &Tier, facts: &ModelFacts, agent: &AgentPlan) -> MicroUsd {
    let calls = u64::from(tier.max_iterations) * u64::from(agent.max_turns) * u64::from(agent.max_attempts);
    let of_role = |&role| {
        let of_target = |id| {
            let info = facts.of(id);
            let reply = info.max_output_tokens.min(MAX_REPLY_TOKENS);
            let prompt = info.context_window.saturating_sub(reply);
            let price = info.price.unwrap_or_default();
            let dearest = Price { input: price.dearest_input(), ..price };
            dearest.cost(&Usage { input: prompt, output: reply, ..Usage::default() })
        };
        tier.targets(role).iter().map(of_target).max().unwrap_or_default()
    };
    let turn: MicroUsd = tier.roles().iter().map(of_role).sum();
    MicroUsd(turn.0.saturating_mul(calls))
}

/// The most the run can cost under its caps.
pub(super) fn worst_case(tiers: &[Tier], uncapped: &[MicroUsd], budget: &Budget) -> MicroUsd {
    let of_tier = |(tier, &most): (&Tier, &MicroUsd)| tier.max_cost.map_or(most, |cap| cap.min(most));
    let of_ladder: MicroUsd = tiers.iter().zip(uncapped).map(of_tier).sum();
    of_ladder.min(budget.max_cost)
}
