//! The least share of a budget with which a task can be begun.

use super::matrix::LEAST_SHARE;
use crate::backend::{self, Backend};
use crate::config::Plan;
use crate::domain::model_id::ModelId;
use crate::domain::units::MicroUsd;
use crate::policy::budget::{MAX_REPLY_TOKENS, MIN_REPLY_TOKENS, VENDOR_OVERHEAD_TOKENS, worst_case};

/// The least share that affords a call of any model that may edit: with less no run of a plan pays for anything.
pub(super) fn least(plan: &Plan) -> MicroUsd {
    let artisans = plan.tiers.iter().flat_map(|tier| &tier.artisan);
    artisans.map(|target| of_target(plan, target)).min().unwrap_or(LEAST_SHARE).max(LEAST_SHARE)
}

fn of_target(plan: &Plan, target: &ModelId) -> MicroUsd {
    // An agent asks for as short replies as it likes.
    if Backend::of(target).is_some() {
        return MicroUsd::ZERO;
    }
    let info = plan.facts.of(&backend::answering(target));
    // Without a price no call is kept under a cap, and the run itself says so.
    let Some(price) = info.price else { return MicroUsd::ZERO };
    let reply = info.max_output_tokens.min(MAX_REPLY_TOKENS).min(MIN_REPLY_TOKENS);
    worst_case(&price, VENDOR_OVERHEAD_TOKENS, reply)
}
