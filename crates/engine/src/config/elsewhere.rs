//! The parts of its plan that a run takes along to another machine, and which of them count as they are said there. Decided here and
//! nowhere else.
//!
//! Invariant: whatever could be handed a key, lets code out, or judges, is today's: addresses, prices, confinement, variables, commands.
//! A log comes from an artifact, which somebody else may have written.

use serde_json::{Map, Value, json};

use super::plan::{GithubPlan, Plan};
use crate::domain::budget::Budget;
use crate::domain::ladder::Tier;
use crate::domain::model_id::ModelId;

/// The most iterations that a tier of a configuration may have (S0-22). Comments may have allowed more.
const MAX_ITERATIONS: u32 = 100;

/// How far a saved plan is known to be ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// A comment of ours names the log that holds it.
    Ours,
    /// Somebody has named the log.
    Named,
}

/// The plan of a run that goes on elsewhere. `today` was resolved there, with the saved ladder ([`ladder_text`]).
#[must_use]
pub fn elsewhere(saved: Plan, today: Plan, trust: Trust) -> Plan {
    // What is not bound by name is today's.
    let Plan {
        tiers: saved_tiers,
        tier_config_path,
        built_in_ladder: _,
        budget,
        shared_caps: _,
        on_entropy,
        entropy_threshold,
        objective,
        working_directory,
        test: _,
        // Commands, tools and servers of a foreign log would be run here.
        agent: _,
        agents: _,
        safety: _,
        // Destination and rights are checked apart. These two only say how far the run was to go.
        github: GithubPlan { push, wait_for, .. },
        audit: _,
        record: _,
        format,
        facts: _,
        endpoints: _,
        values: _,
        warnings: _,
        refusals: _,
        worst_case: _,
        uncapped: _,
    } = saved;
    let budget = match trust {
        // A budget that a comment may have raised is kept, since our own comment vouches for its log.
        Trust::Ours => budget,
        Trust::Named => smaller(&budget, &today.budget),
    };
    let mut tiers = today.tiers;
    // The ladder's text clamps the count, and a comment may have allowed more.
    for (tier, saved) in tiers.iter_mut().zip(&saved_tiers) {
        tier.max_iterations = saved.max_iterations;
    }
    Plan {
        tiers,
        tier_config_path,
        budget,
        on_entropy,
        entropy_threshold,
        objective,
        working_directory,
        format,
        github: GithubPlan { push, wait_for, ..today.github },
        ..today
    }
}

fn smaller(one: &Budget, other: &Budget) -> Budget {
    Budget {
        max_cost: one.max_cost.min(other.max_cost),
        max_iterations: one.max_iterations.min(other.max_iterations),
        max_active_ms: one.max_active_ms.min(other.max_active_ms),
    }
}

/// A ladder as the text of a tiers file, so that its models are looked up anew: who they are is taken along, not how they are reached.
#[must_use]
pub fn ladder_text(tiers: &[Tier]) -> String {
    json!({ "tiers": tiers.iter().map(section).collect::<Vec<Value>>() }).to_string()
}

fn section(tier: &Tier) -> Value {
    let names = |models: &[ModelId]| json!(models.iter().map(ToString::to_string).collect::<Vec<_>>());
    let mut models = Map::from_iter([("artisan".to_owned(), names(&tier.artisan))]);
    for (role, targets) in [("librarian", &tier.librarian), ("critic", &tier.critic)] {
        // A role without models of its own takes the artisan's, as it did when the ladder was written.
        if *targets != tier.artisan {
            models.insert(role.to_owned(), names(targets));
        }
    }
    let mut section = Map::from_iter([
        ("name".to_owned(), json!(tier.name)),
        ("mode".to_owned(), json!(tier.mode.as_str())),
        ("maxIterations".to_owned(), json!(tier.max_iterations.clamp(1, MAX_ITERATIONS))),
        ("models".to_owned(), Value::Object(models)),
    ]);
    if let Some(cap) = tier.max_cost {
        section.insert("maxCostUsd".to_owned(), json!(cap.as_usd()));
    }
    Value::Object(section)
}

#[cfg(test)]
mod tests;
