//! The highest cost of a run.
//!
//! The cap decides: no call is made that could pass it. The uncapped figure tells how much of a ladder a cap pays for.

use crate::domain::budget::Budget;
use crate::domain::catalogue::{ModelFacts, Price};
use crate::domain::chat::Usage;
use crate::domain::ladder::Tier;
use crate::domain::units::MicroUsd;

use super::plan::AgentPlan;
use crate::backend;
use crate::domain::model_id::ModelId;

/// The most reply tokens of one call (DESIGN §4).
const MAX_REPLY_TOKENS: u64 = 16_384;

/// The least reply for which a call is made (DESIGN §4).
const MIN_REPLY_TOKENS: u64 = 1_024;
/// The first request of a run is reserved with at least so many tokens: one for each byte of the instructions, the tools and a small task, and
/// the vendor's own. Measured: 5,700 for two failing tests.
const LEAST_REQUEST_TOKENS: u64 = 5_000;

/// The most that the smallest call of the tier's artisan may cost, with the cheapest of its targets.
pub(super) fn smallest_call(tier: &Tier, facts: &ModelFacts) -> Option<(MicroUsd, ModelId)> {
    let of_target = |id: &ModelId| {
        // Coding agents are billed for what they do, not for a request of ours.
        let price = facts.of(id).price.filter(|_| id.provider != backend::PROVIDER)?;
        let dearest = Price { input: price.dearest_input(), ..price };
        let usage = Usage { input: LEAST_REQUEST_TOKENS, output: MIN_REPLY_TOKENS, ..Usage::default() };
        Some((dearest.cost(&usage), id.clone()))
    };
    // One target of unknown cost may be asked, whatever the others cost.
    let all: Option<Vec<_>> = tier.artisan.iter().map(of_target).collect();
    all?.into_iter().min_by_key(|(cost, _)| *cost)
}

/// The most a tier would cost if nothing capped it: every iteration, role, turn and attempt with a full window of
/// prompt at its dearest price and a full reply.
pub(super) fn uncapped(tier: &Tier, facts: &ModelFacts, agent: &AgentPlan) -> MicroUsd {
    let calls = u64::from(tier.max_iterations) * u64::from(agent.max_turns) * u64::from(agent.max_attempts);
    let of_role = |&role| {
        let of_target = |id| {
            let info = facts.of(id);
            let reply = info.max_output_tokens.min(MAX_REPLY_TOKENS);
            let prompt = info.context_window.saturating_sub(reply);
            // A model without a price was refused before. Only a fault on the way leaves one here.
            let price = info.price.unwrap_or_default();
            // A prompt that is written into the cache may cost more than a plain one.
            let dearest = Price { input: price.dearest_input(), ..price };
            dearest.cost(&Usage { input: prompt, output: reply, ..Usage::default() })
        };
        tier.targets(role).iter().map(of_target).max().unwrap_or_default()
    };
    let turn: MicroUsd = tier.roles().iter().map(of_role).sum();
    // A ladder of many tiers with dear models can pass what 64 bits hold.
    MicroUsd(turn.0.saturating_mul(calls))
}

/// Whether agents beside the ladder's roles may cost something, or a coding agent is a target, which calls as often as it likes.
pub(super) fn has_others(tiers: &[Tier], facts: &ModelFacts, agent: &AgentPlan) -> bool {
    let costs = |id: &ModelId| facts.of(id).price.is_none_or(|price| price != Price::default());
    let targets = || tiers.iter().flat_map(|tier| tier.roles().iter().flat_map(|role| tier.targets(*role)));
    let advisors = agent.advisors.iter().map(|one| &one.models);
    let sub_agents = agent.sub_agents.iter().map(|one| &one.models);
    let specialists = agent.router.iter().map(|one| &one.models);
    let handoffs = agent.handoff.iter().map(|one| &one.models);
    let mut beside = advisors.chain(sub_agents).chain(specialists).chain(handoffs);
    let costs_beside =
        // An agent without models of its own asks those of its caller.
        beside.any(|models| if models.is_empty() { targets().any(costs) } else { models.iter().any(costs) });
    // The number of a coding agent's calls is its own, whatever the ladder's iterations are.
    costs_beside || targets().any(|id| id.provider == backend::PROVIDER && costs(id))
}

/// The most the run can cost under its caps. Where agents are at work whose calls the ladder's iterations do not count, that is the cap.
pub(super) fn worst_case(tiers: &[Tier], uncapped: &[MicroUsd], budget: &Budget, has_others: bool) -> MicroUsd {
    if has_others {
        return budget.max_cost;
    }
    let of_tier = |(tier, &most): (&Tier, &MicroUsd)| tier.max_cost.map_or(most, |cap| cap.min(most));
    let of_ladder: MicroUsd = tiers.iter().zip(uncapped).map(of_tier).sum();
    of_ladder.min(budget.max_cost)
}
