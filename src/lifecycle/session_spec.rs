//! The task and the limits of a session with models of ours.

use std::time::Duration;

use super::climb::Climb;
use super::context::Context;
use crate::agent::Prompt;
use crate::audit::{Cap, Scope};
use crate::config::Plan;
use crate::domain::ladder::{Mode, Role};
use crate::domain::model_id::ModelId;
use crate::domain::units::MicroUsd;
use crate::policy::budget;
use crate::policy::rotation::Patience;
use crate::session::{Destination, Limits, Lineage, SessionSpec};

/// Tokens of a first call that are kept for a role: a large change with its failures, counted as calls are reserved, and a review of it.
const TOKENS_OF_A_CALL: (u64, u64) = (32_000, 4_096);

/// An agent beside the roles, with limits of its own. It may stand in a role.
#[derive(Debug)]
pub(super) struct Aside {
    /// Its path below the iteration: `router/web`.
    pub(super) agent: String,
    /// The most that all its sessions of the run may cost.
    pub(super) max_cost: Option<MicroUsd>,
    /// The most turns.
    pub(super) max_turns: Option<u32>,
    /// The time of one session, in seconds.
    pub(super) seconds: Option<u32>,
}

/// The caps of the tier, and an agent's own.
pub(super) fn caps(context: &Context<'_>, climb: &Climb, aside: Option<&Aside>) -> Vec<Cap> {
    let own = aside.and_then(|aside| {
        let scope = Scope::Agent(context.charter.run_id.clone(), aside.agent.clone());
        aside.max_cost.map(|max| Cap { scope, max })
    });
    own.into_iter().chain(climb.caps(context)).collect()
}

/// A session of a role, which may hand its task over, or of an agent that stands in it.
pub(super) fn spec_with(
    context: &Context<'_>,
    climb: &Climb,
    (role, aside): (Role, Option<&Aside>),
    prompt: Prompt,
    about: (Option<Lineage>, Vec<ModelId>, Patience),
) -> SessionSpec {
    let agent = aside.map(|aside| aside.agent.clone()).unwrap_or_default();
    let mut spec = spec_of(context, climb, (role, agent), prompt, about);
    match aside {
        Some(aside) => spec.limits.max_turns = aside.max_turns.unwrap_or(spec.limits.max_turns),
        None => {
            let specialists = &context.charter.plan.agent.router;
            let of_role = specialists.iter().filter(|specialist| specialist.roles.contains(&role));
            spec.destinations =
                of_role.map(|one| Destination { name: one.name.clone(), when: one.when.clone() }).collect();
        }
    }
    spec
}

/// The money that a role's replies about blocks of data leave for those who come after it in the iteration: a call of each at the dearest
/// of its models.
fn kept_for_others(plan: &Plan, climb: &Climb, role: Role) -> MicroUsd {
    let index = usize::try_from(climb.position.tier_index).unwrap_or(usize::MAX);
    let Some(tier) = plan.tiers.get(index).filter(|_| plan.agent.meta.iter().any(|block| block.role == role)) else {
        return MicroUsd::ZERO;
    };
    let after: &[Role] = match (tier.mode, role) {
        (Mode::Full, Role::Librarian) => &[Role::Artisan, Role::Critic],
        (Mode::Full, Role::Artisan) => &[Role::Critic],
        // A simple tier has an artisan alone, and a critic is the last of a full one.
        (Mode::Full | Mode::Simple, _) => &[],
    };
    let of_target = |target: &ModelId| {
        let price = plan.facts.of(target).price.unwrap_or_default();
        budget::worst_case(&price, TOKENS_OF_A_CALL.0, TOKENS_OF_A_CALL.1)
    };
    after.iter().map(|role| tier.targets(*role).iter().map(of_target).max().unwrap_or_default()).sum()
}

/// A session of a role, or of a named agent.
pub(super) fn spec_of(
    context: &Context<'_>,
    climb: &Climb,
    (role, agent): (Role, String),
    prompt: Prompt,
    (lineage, targets, patience): (Option<Lineage>, Vec<ModelId>, Patience),
) -> SessionSpec {
    let plan = &context.charter.plan;
    SessionSpec {
        role,
        agent,
        tier_index: climb.position.tier_index,
        iteration: climb.iteration(),
        targets,
        system: prompt.system.to_owned(),
        first_message: prompt.first_message,
        mark: prompt.mark,
        lineage,
        limits: Limits {
            max_turns: plan.agent.max_turns,
            max_attempts: plan.agent.max_attempts,
            patience,
            kept_for_others: kept_for_others(plan, climb, role),
            time_left: Some(Duration::from_millis(
                climb.allowance.budget.max_active_ms.saturating_sub(context.active_ms()),
            )),
            tests_take: Duration::from_millis(climb.measured.duration_ms),
            ..Limits::default()
        },
        effort: plan.agent.effort,
        temperature: plan.agent.temperature,
        meta: plan.agent.meta_of(role),
        // What earlier iterations changed and left there is the change that the blocks are about.
        blocks_need_change: role == Role::Artisan && climb.trees.current.tree == *climb.start(),
        destinations: Vec::new(),
    }
}
