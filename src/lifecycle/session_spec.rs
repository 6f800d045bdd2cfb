//! The task and the limits of a session with models of ours.

use super::climb::Climb;
use super::context::Context;
use crate::agent::Prompt;
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::policy::rotation::Patience;
use crate::session::{Limits, Lineage, SessionSpec};

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
            ..Limits::default()
        },
        effort: plan.agent.effort,
        temperature: plan.agent.temperature,
        meta: plan.agent.meta_of(role),
    }
}
