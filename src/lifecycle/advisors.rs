//! Advisors (S1-18): sessions before the artisan's, whose words it is given.
//!
//! Invariant: whatever becomes of an advisor, the iteration goes on as it would without it. A failure is a block with its reason. Each has a
//! cap of its own within the run's.

use std::cell::RefCell;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};

use super::climb::Climb;
use super::commands;
use super::context::Context;
use super::own_time;
use super::session_spec::{Aside, caps, spec_of};
use super::table::Table;
use super::tools::{self, Caller, Sources};
use crate::agent::{self, Beside, Material};
use crate::audit::{Cap, Scope};
use crate::config::AdvisorPlan;
use crate::domain::advice::Advice;
use crate::domain::event::Event;
use crate::domain::foreign::{Foreign, Mark};
use crate::domain::ladder::{Role, Tier};
use crate::domain::model_id::ModelId;
use crate::domain::units::MicroUsd;
use crate::policy::budget;
use crate::policy::rotation::Patience;
use crate::session::{self, Book, FinalReport, Lineage, Memory, Ports, Replay, SessionEnd, SessionSpec, Toolbox};

/// The longest word of an advisor that is passed on, in characters.
const ADVICE_CHARS: usize = 2_500;
/// The part of the run's money that one advisor may spend unless something else is said: all together they must leave most of it to the fix.
const DEFAULT_SHARE: u64 = 10;

/// An advisor that is about to speak.
struct Seat<'p> {
    advisor: &'p AdvisorPlan,
    spec: SessionSpec,
    sources: Option<Sources>,
    replay: Replay,
    memory: Memory,
}

/// Asks the advisors that are due, at once where there is money for all, and puts their words into the material. Returns whether any was asked.
pub(super) async fn hear(table: &mut Table<'_, '_, '_>, material: &mut Material, lineage: Option<&Lineage>) -> bool {
    let Table { context, climb, .. } = *table;
    let begins = climb.position.iterations == 0;
    let advisors = context.charter.plan.agent.advisors.iter();
    let due: Vec<&AdvisorPlan> = advisors.filter(|advisor| advisor.each_iteration || begins).collect();
    if due.is_empty() {
        return false;
    }
    let mut seats: Vec<Seat<'_>> =
        due.into_iter().map(|advisor| seat(table, material, advisor, lineage.cloned())).collect();
    let opened = join_all(seats.iter().map(|seat| tools::open(context, Role::Advisor, &seat.spec.targets))).await;
    for (seat, (sources, news)) in seats.iter_mut().zip(opened) {
        seat.sources = sources;
        news.iter().for_each(|event| table.recorder.emit(event));
    }
    // Sessions compare files of tests with the start, from which the tests judge.
    context.world.workspace.judged_from(climb.start());
    let at_once = at_once(table, &seats);
    let ends = {
        let book = RefCell::new(&mut *table.recorder.journal);
        let watched = commands::watch_for_stop(context, climb);
        let talks = seats.iter_mut().map(|seat| talk(context, climb, seat, Book::over(&book)));
        // `buffered` keeps their order, so that the artisan reads the same material however fast each one is.
        let talks = stream::iter(talks).buffered(at_once).collect::<Vec<_>>();
        context.world.wrap_up.set_in_session(true);
        tokio::select! {
            ends = talks => ends,
            never = watched => match never {},
        }
    };
    context.world.wrap_up.set_in_session(false);
    for seat in seats {
        table.sessions.memory.learn(seat.memory);
    }
    let blocks: Vec<Advice> = ends.iter().map(|(name, end)| block(name, end)).collect();
    material.advice = blocks.iter().map(told).collect();
    table.recorder.emit(&Event::Advised { blocks });
    true
}

fn seat<'p>(
    table: &mut Table<'_, '_, '_>,
    material: &Material,
    advisor: &'p AdvisorPlan,
    lineage: Option<Lineage>,
) -> Seat<'p> {
    let Table { context, climb, tier, .. } = *table;
    let targets = targets_of(tier, Role::Advisor, &advisor.models);
    let agent = path(&advisor.name);
    let prompt = agent::advisor(material, &advisor.instructions, &Mark::random());
    // Nobody waits for an advisor: a limit is its failure.
    let mut spec =
        spec_of(context, climb, (Role::Advisor, agent.clone()), prompt, (lineage, targets, Patience::default()));
    spec.limits.max_turns = advisor.max_turns;
    let replay = table.sessions.replay.of_agent(&agent);
    // A copy of the memory each, since they talk at once. All of it is put together behind them.
    Seat { advisor, spec, sources: None, replay, memory: table.sessions.memory.clone() }
}

/// How many are asked at once: all of them where the money left is enough for all their caps, else one. The first to reserve a call could
/// take everything otherwise, and the others would be refused although that call then costs little.
fn at_once(table: &Table<'_, '_, '_>, seats: &[Seat<'_>]) -> usize {
    let Table { context, climb, .. } = *table;
    let store = table.recorder.journal.store();
    let wanted = seats.iter().map(|seat| {
        let (scope, max) =
            (Scope::Agent(context.charter.run_id.clone(), path(&seat.advisor.name)), own_cap(climb, seat.advisor));
        store.left(&[Cap { scope, max }])
    });
    if budget::suffices(store.left(&climb.caps(context)), wanted) { seats.len() } else { 1 }
}

/// The most that all sessions of an advisor may cost in a run.
fn own_cap(climb: &Climb, advisor: &AdvisorPlan) -> MicroUsd {
    advisor.max_cost.unwrap_or_else(|| share(climb))
}

/// The models of an agent: its own, or a role's of the tier.
pub(super) fn targets_of(tier: &Tier, role: Role, own: &[ModelId]) -> Vec<ModelId> {
    let models = if own.is_empty() { tier.targets(role) } else { own };
    // A tier's agents hold sessions of their own kind: they read the whole task, not a part of it.
    models.iter().filter(|target| crate::backend::Backend::of(target).is_none()).cloned().collect()
}

/// The path of an advisor below the iteration.
fn path(name: &str) -> String {
    format!("advisor/{name}")
}

async fn talk<'p>(
    context: &Context<'_>,
    climb: &Climb,
    seat: &mut Seat<'p>,
    journal: Book<'_>,
) -> (&'p str, SessionEnd) {
    let (world, plan) = (&context.world, &context.charter.plan);
    let aside = aside(climb, seat.advisor, time_left(context, climb));
    let caps = caps(context, climb, Some(&aside));
    let (stop, watched) = own_time::of(&world.stop, aside.seconds);
    let caller = || Caller::of((context, climb), journal, caps.clone(), (&seat.spec, &stop));
    let outside = seat.sources.as_mut().and_then(|sources| sources.tools(caller(), &seat.memory, &mut seat.replay));
    let mut ports = Ports {
        providers: world.providers,
        facts: &plan.facts,
        toolbox: Toolbox {
            workspace: world.workspace.clone(),
            run_tests: None,
            run_command: None,
            allow_commands: Vec::new(),
            outside,
        },
        journal,
        caps,
        stop: stop.clone(),
        wrap_up: world.wrap_up.flag(),
        clock: world.clock,
        redactor: &world.redactor,
        replay: std::mem::replace(&mut seat.replay, Replay::none()),
        memory: &mut seat.memory,
    };
    let spec = seat.spec.clone();
    let mut end = tokio::select! {
        end = session::converse(spec, &mut ports) => end,
        never = tools::keep(&mut seat.sources) => match never {},
        never = watched => match never {},
    };
    drop(ports);
    if let Some(sources) = seat.sources.take() {
        sources.close(&mut seat.memory, &mut end).await;
    }
    (&seat.advisor.name, end)
}

fn aside(climb: &Climb, advisor: &AdvisorPlan, left_ms: u64) -> Aside {
    let max_cost = Some(own_cap(climb, advisor));
    let (max_turns, seconds) = (Some(advisor.max_turns), Some(own_time::seconds(advisor.timeout_seconds, left_ms)));
    Aside { agent: path(&advisor.name), max_cost, max_turns, seconds }
}

/// The run's time that is left, in milliseconds.
pub(super) fn time_left(context: &Context<'_>, climb: &Climb) -> u64 {
    climb.allowance.budget.max_active_ms.saturating_sub(context.active_ms())
}

/// The part of the run's money that one agent beside the roles may spend unless something else is said.
pub(super) fn share(climb: &Climb) -> MicroUsd {
    MicroUsd(climb.allowance.budget.max_cost.0 / DEFAULT_SHARE)
}

/// The block that a session comes to.
pub(super) fn block(name: &str, end: &SessionEnd) -> Advice {
    let (given, said) = match &end.report {
        FinalReport::Done { summary }
        | FinalReport::Briefed { summary, .. }
        | FinalReport::Approve { summary, .. }
        | FinalReport::Reject { summary, .. } => (true, summary.clone()),
        FinalReport::Blocked { reason, .. } => (false, format!("it is blocked: {reason}")),
        FinalReport::Routed { .. } => (false, end.report.summary()),
        FinalReport::Synthetic { reason } => (false, reason.to_string()),
    };
    let said = Foreign::capped_between_words(&said, ADVICE_CHARS).as_str().to_owned();
    Advice { name: name.to_owned(), session_id: end.session_id.clone(), given, said }
}

/// The block as the artisan reads it.
fn told(advice: &Advice) -> Beside {
    let failed = if advice.given { "" } else { " (it gave no advice, because of this)" };
    Beside { label: format!("ADVISORY {}{failed}", advice.name), text: Foreign::new(&advice.said) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_is_cut_between_two_words_and_says_once_how_much_is_left_out() {
        let said = Foreign::capped_between_words(&"release notes ".repeat(500), ADVICE_CHARS).as_str().to_owned();
        let (kept, told) = said.split_once("\n[").unwrap_or_default();
        assert!(kept.ends_with(" notes") || kept.ends_with(" release"), "{said}");
        let left_out = 7_000 - kept.chars().count();
        assert_eq!(told, format!("{left_out} characters left out]"));
        let advice = Advice { name: "a".to_owned(), session_id: String::new(), given: true, said: said.clone() };
        assert_eq!(super::told(&advice).text.as_str(), said);
        assert_eq!(
            Foreign::capped_between_words(&"x".repeat(60), 50).as_str(),
            format!("{}\n[10 characters left out]", "x".repeat(50))
        );
        assert_eq!(Foreign::capped_between_words("two words", 9).as_str(), "two words");
    }
}
