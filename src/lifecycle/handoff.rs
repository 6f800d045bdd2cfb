//! Handoff (S1-18): one more session for each text that is wanted about a proven change, with the request and the response.
//!
//! Invariant: it is held behind the verdict, and whatever becomes of it, that stays. Each text has a cap of its own within the run's.

use super::advisors::{block, share, targets_of, time_left};
use super::own_time;
use super::roles::{RolesEnd, lineage_of};
use super::session_spec::Aside;
use super::table::{Table, with_models};
use crate::agent::{self, Material};
use crate::domain::advice::Advice;
use crate::domain::event::Event;
use crate::domain::foreign::{Foreign, Mark};
use crate::domain::ladder::Role;

/// The longest part of the artisan's words that is passed on, in characters.
const SAID_CHARS: usize = 4_000;

/// Asks for the texts, one after the other, unless the run is to end.
pub(super) async fn write(table: &mut Table<'_, '_, '_>, material: &Material, diff: &Foreign, ends: &RolesEnd) {
    let handoffs = &table.context.charter.plan.agent.handoff;
    let said = ends.artisan.as_ref().map(|end| end.report.summary()).unwrap_or_default();
    let said = Foreign::capped(&said, SAID_CHARS);
    let mut blocks: Vec<Advice> = Vec::new();
    for handoff in handoffs {
        let world = &table.context.world;
        if world.stop.raised().is_some() || world.wrap_up.wished().is_some() {
            break;
        }
        let prompt = agent::handoff(material, &handoff.instructions, (&said, diff), &Mark::random());
        let lineage = ends.artisan.as_ref().and_then(lineage_of);
        let aside = Aside {
            agent: format!("handoff/{}", handoff.name),
            max_cost: Some(handoff.max_cost.unwrap_or_else(|| share(table.climb))),
            max_turns: Some(handoff.max_turns),
            seconds: Some(own_time::seconds(handoff.timeout_seconds, time_left(table.context, table.climb))),
        };
        let targets = targets_of(table.tier, Role::Advisor, &handoff.models);
        let end = with_models(table, (Role::Advisor, Some(aside)), prompt, lineage, targets).await;
        blocks.push(block(&handoff.name, &end));
    }
    if !blocks.is_empty() {
        table.recorder.emit(&Event::HandedOff { blocks });
    }
}
