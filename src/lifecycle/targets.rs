//! Tiers and the accounts behind them: which tiers can be entered, how long is waited, and parking at a rate limit.
//!
//! The consequences of an account's standing are decided by `policy::standing` and `policy::escalation`.

use super::climb::Climb;
use super::context::Context;
use super::stage::{Ending, Next};
use super::state::Phase;
use crate::backend;
use crate::domain::account::{Account, Limited, Unavailability};
use crate::domain::clock::Timestamp;
use crate::domain::event::Event;
use crate::domain::ladder::{Role, Tier};
use crate::domain::model_id::ModelId;
use crate::domain::outcome::Outcome;
use crate::policy::rotation::Patience;
use crate::policy::standing::{Note, Readiness, RoleAccounts};
use crate::session::Memory;

/// The account that a target is asked with. An agent's is that of the model behind it.
pub(super) fn account_of(memory: &Memory, target: &ModelId) -> Account {
    memory.accounts.of(&backend::answering(target))
}

fn of_role(memory: &Memory, tier: &Tier, role: Role) -> RoleAccounts {
    tier.targets(role).iter().map(|target| account_of(memory, target)).collect()
}

fn of_roles(memory: &Memory, tier: &Tier) -> Vec<RoleAccounts> {
    tier.roles().iter().map(|role| of_role(memory, tier, *role)).collect()
}

/// The tiers above the one under way, each with the accounts of its roles.
fn ladder_above(context: &Context<'_>, climb: &Climb, memory: &Memory) -> Vec<Vec<RoleAccounts>> {
    let from = usize::try_from(climb.position.tier_index).unwrap_or(usize::MAX).saturating_add(1);
    context.charter.plan.tiers.iter().skip(from).map(|tier| of_roles(memory, tier)).collect()
}

/// Of each tier above, whether it can be entered.
pub(super) fn above(context: &Context<'_>, climb: &Climb, memory: &Memory) -> Vec<Readiness> {
    let now = context.world.clock.unix_ms();
    ladder_above(context, climb, memory).iter().map(|roles| memory.standing.readiness(roles, now)).collect()
}

/// How long a role's session may wait for limits and outages: within the time that the run has, all sessions together.
pub(super) fn patience(context: &Context<'_>, climb: &Climb, memory: &Memory, tier: &Tier, role: Role) -> Patience {
    let left = climb.allowance.budget.max_active_ms.saturating_sub(context.active_ms());
    let left = left.saturating_sub(memory.waited_ms);
    let now = context.world.clock.unix_ms();
    memory.standing.patience(&of_role(memory, tier, role), &ladder_above(context, climb, memory), left, now)
}

/// Tells of the tiers between two, which were passed over, or of those above the last one that none could be entered of.
pub(super) fn skipped(context: &Context<'_>, memory: &Memory, from: u32, to: Option<u32>) -> Vec<Event> {
    let now = context.world.clock.unix_ms();
    let ladder = u32::try_from(context.charter.plan.tiers.len()).unwrap_or(u32::MAX);
    let mut said: Vec<(String, Vec<u32>)> = Vec::new();
    for index in from.saturating_add(1)..to.unwrap_or(ladder) {
        let roles = context.charter.tier(index).map(|tier| of_roles(memory, tier)).unwrap_or_default();
        let Some((account, note)) = memory.standing.obstacle(&roles, now) else { continue };
        let reason = words(account, note);
        match said.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, tiers)) => tiers.push(index),
            None => said.push((reason, vec![index])),
        }
    }
    said.into_iter().map(|(reason, tiers)| Event::TiersSkipped { tiers, reason }).collect()
}

/// Leaves the runner in the middle of the iteration under way, to go on with it when the limit is over. The part that it paid for so far is
/// recorded and not bought again.
pub(super) fn park(context: &Context<'_>, climb: Climb, memory: &Memory, tier: &Tier, said: Option<String>) -> Next {
    let now = context.world.clock.unix_ms();
    let roles = of_roles(memory, tier);
    let found = memory.standing.obstacle(&roles, now);
    let found = found.filter(|(_, note)| note.why == Unavailability::RateLimited);
    let (limited, reason) = match found {
        Some((account, note)) => (limited(account, note), words(account, note)),
        // It passed in this very moment.
        None => {
            let host = roles.iter().flatten().next().map(|account| account.host().to_owned()).unwrap_or_default();
            let reason = said.unwrap_or_else(|| format!("{host} limits the requests"));
            (Limited { host, until: None }, reason)
        }
    };
    let ending = Ending {
        reached: climb.into(),
        outcome: Outcome::Parked,
        stop_reason: reason,
        limited: Some(limited),
        resume_at: Some(Phase::Iterating),
    };
    Next::ending(ending, Vec::new())
}

fn limited(account: &Account, note: &Note) -> Limited {
    Limited { host: account.host().to_owned(), until: note.until_ms.map(Timestamp::from_unix_ms) }
}

/// Why an account cannot be asked, with its time.
fn words(account: &Account, note: &Note) -> String {
    let sentence = note.why.sentence(account.host(), account.key_variable.as_deref());
    match (note.why, note.until_ms) {
        (Unavailability::RateLimited, Some(until)) => {
            format!("{sentence}; limited until {}", Timestamp::from_unix_ms(until).for_people())
        }
        (Unavailability::RateLimited, None) => format!("{sentence} and does not say until when"),
        (Unavailability::KeyRefused | Unavailability::QuotaUsedUp | Unavailability::Outage, _) => sentence,
    }
}
