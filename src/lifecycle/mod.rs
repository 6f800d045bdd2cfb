//! The lifecycle: carries a run from its first test to its report.
//!
//! Owns the phases of a run ([`state::Phase`]) and their effects. Invariant: it has no policy of its own (what comes
//! next is decided by `policy::escalation` and `policy::budget`), and every decision is durable before it is acted on,
//! so that a run killed anywhere goes on from its last decision.
//!
//! Start reading at [`run`].

mod baseline;
mod breakpoint;
mod commands;
pub mod comment;
mod corrections;
mod decision;
mod engine;
mod finish;
pub mod gate;
pub mod history;
mod iteration;
mod judge;
mod kept;
mod leaving;
mod left_behind;
mod leftovers;
mod listening;
mod material;
pub mod message;
mod network;
pub mod outside;
pub mod parked;
mod publish;
mod reached;
mod resume;
mod roles;
mod standalone;
pub mod state;
mod targets;

pub use engine::{Engine, LifecycleError, World};
pub use kept::{KEPT_AT_THE_END, KEPT_PATCH, KEPT_TESTS, kept_under};
pub use left_behind::discard;
pub use resume::{end_of, load, recall_touched, replay_of, settle_lost};
pub use standalone::{Ends, judge as judge_change};

use crate::domain::outcome::Outcome;
use state::Phase;

/// Carries a run to its end: acts out one phase after the other until one ends it.
///
/// # Errors
/// [`LifecycleError`] when the tree, the tests or the log cannot be used; the state allows a resume.
pub async fn run(engine: &mut Engine<'_>) -> Result<Outcome, LifecycleError> {
    network::reopen(engine);
    let carried = carry(engine).await;
    if carried.is_err() {
        // It may go on one day; until then the user has the tree.
        leftovers::sweep(engine);
    }
    carried
}

/// The part of the run that is under way, for the names of its raw streams.
fn place(state: &state::RunState) -> String {
    match state.phase {
        Phase::Baseline => "baseline".to_owned(),
        Phase::Ready | Phase::Iterating => stream_place(state.position.tier_index, state.iteration()),
        Phase::Publishing { .. } | Phase::Proposing { .. } | Phase::Waiting { .. } => "delivery".to_owned(),
        Phase::Ending { .. } | Phase::Ended { .. } => "ending".to_owned(),
    }
}

/// What the names of an iteration's raw streams hold.
#[must_use]
pub fn stream_place(tier_index: u32, iteration: u32) -> String {
    format!("tier{}-iteration{iteration}", tier_index.saturating_add(1))
}

async fn carry(engine: &mut Engine<'_>) -> Result<Outcome, LifecycleError> {
    if !matches!(engine.state.phase, Phase::Baseline | Phase::Ended { .. }) {
        leftovers::note(engine);
        if let Some(start) = engine.state.start.clone() {
            left_behind::note(engine, &start);
        }
    }
    loop {
        if let Some(streams) = &engine.world.tests.streams {
            streams.enter(&place(&engine.state));
        }
        match engine.state.phase.clone() {
            Phase::Baseline => baseline::run(engine).await?,
            Phase::Ready => iteration::begin(engine).await?,
            Phase::Iterating => iteration::run(engine).await?,
            Phase::Publishing { fix } => {
                // Between a push and the end may lie an hour of waiting.
                leftovers::sweep(engine);
                publish::run(engine, fix).await?;
            }
            Phase::Proposing { fix } => publish::propose(engine, fix).await?,
            Phase::Waiting { wait } => breakpoint::run(engine, wait).await?,
            Phase::Ending { outcome, stop_reason } => finish::run(engine, outcome, stop_reason).await?,
            Phase::Ended { outcome } => return Ok(outcome),
        }
    }
}
