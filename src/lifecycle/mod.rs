//! The lifecycle: carries a run from its first test to its report.
//!
//! Owns the phases of a run and their effects. Invariants: it has no policy of its own (what comes next is decided by
//! `policy::escalation` and `policy::budget`), and every decision is durable before it is acted on, so that a run killed anywhere goes
//! on from its last decision.
//!
//! # Who may change what
//!
//! A phase is a struct that is moved into the function that acts it out, which returns a `Next`: the phase that follows and what happened
//! on the way. [`run`] records both in one transaction before it acts on the phase, so nobody else can forget to.
//!
//! | struct | holds | changed by |
//! |---|---|---|
//! | `Context` (`World`, `Charter`) | services, what the run is asked for | nobody |
//! | `Measuring` | how the tests are run, the tree as it was | `baseline` |
//! | `Measured` | what the baseline settled | nobody; shared behind an `Arc` |
//! | `Climb` | position, trees, rows | `iteration`, through it `decision` |
//! | `Allowance`, `Comments` (in `Climb`) | what may be spent, what people said | `commands` |
//! | `Delivering` (owns its `Climb`) | the leg of the way out, what is outside already | `publish`, `rebase`, `breakpoint` |
//! | `Held` (owns its `Climb`) | what is in the way | `hold` |
//! | `Ending` (owns how far the run came) | how and why it ends | nobody |
//! | `Sessions` | what this process knows of models, never saved | `roles` |
//! | `Recorder` | the open log | everybody who tells something |
//!
//! [`state::RunState`] is their saved form alone: flat, readable by later versions, made at each record (`Stage::saved`) and read
//! when a run is taken up (`Stage::of`).
//!
//! Start reading at [`run`].

mod advisors;
mod allowance;
mod applied;
pub(crate) mod baseline;
pub mod blockers;
mod breakpoint;
mod cache;
mod climb;
mod closed;
mod commands;
pub mod comment;
mod context;
mod corrections;
mod counted;
mod decision;
mod failure;
mod finish;
pub mod gate;
pub mod halting;
mod handoff;
pub mod history;
mod hold;
mod hosts;
mod iteration;
mod judge;
mod kept;
mod leaving;
mod left;
mod left_behind;
mod leftovers;
mod lost;
mod material;
mod meanwhile;
mod measured;
pub mod message;
mod network;
pub mod outside;
mod own_tests;
mod own_time;
pub mod parked;
mod portable;
mod publish;
mod reached;
mod rebase;
mod recorder;
mod red_ci;
pub mod reentry;
mod resume;
mod roles;
mod router;
mod session_spec;
mod snapshot;
mod stage;
mod standalone;
pub mod state;
mod superseded;
mod table;
mod targets;
mod tools;
mod unbounded;
mod yours;

pub use applied::{Accepted, Applied, Claimed, Sum, accepted, apply, claimed, is_mended, sum};
pub use commands::rank_of;
pub use context::{LifecycleError, World};
pub use kept::{KEPT_AT_THE_END, KEPT_PATCH, KEPT_TESTS, kept_under};
pub use left_behind::{SINCE_THE_KILL, discard, had_agent_at_work};
pub use resume::{end_of, load, recall_touched, replay_of, settle_lost};
pub use standalone::{Ends, judge as judge_change};
pub use yours::kept as keep_theirs;

use std::ops::ControlFlow;

use crate::audit::{Journal, Snapshot};
use crate::domain::outcome::Outcome;
use crate::domain::units::TreeId;
use crate::session::Replay;
use climb::Sessions;
use context::Context;
use measured::TestSetup;
use recorder::Recorder;
use stage::{Delivering, Ending, Leg, Next, Stage};
use state::{Phase, RunState};

/// A run that ended.
#[derive(Debug)]
pub struct Finished {
    /// How.
    pub outcome: Outcome,
    /// The first and the last tree of what it did, if it did anything.
    pub change: Option<(TreeId, TreeId)>,
}

/// Carries a run from a saved state to its end: acts out one phase after the other until one ends it. `replay` holds replies that
/// were paid for before.
///
/// # Errors
/// [`LifecycleError`] when the tree, the tests or the log cannot be used. The last recorded state allows a resume.
pub async fn run(
    world: World<'_>,
    journal: &mut Journal,
    state: &RunState,
    replay: Replay,
) -> Result<Finished, LifecycleError> {
    let context = Context::new(world, state);
    let mut recorder = Recorder::new(journal, state);
    if let (Some(_), Some(base)) = (&state.moved_to, &state.base) {
        // Its trees have other names here.
        recorder.portable.look(&context, &base.0).await;
        recorder.record(&context, &[], state.clone());
    }
    // Which files the tests touch by themselves only the baseline has seen.
    if let Some(stirred) = &state.stirred {
        context.world.workspace.recall_stirred(stirred);
    }
    let carried = match Stage::of(&TestSetup::of(&context, state), state)? {
        ControlFlow::Continue(stage) => {
            let sessions = Sessions::new(&context, replay);
            carry(&context, &mut recorder, sessions, (stage, state.stood_still)).await
        }
        // It ended; that is told once more.
        ControlFlow::Break(outcome) => {
            let change = state.start.clone().zip(state.current.as_ref().map(|current| current.tree.clone()));
            return Ok(Finished { outcome, change });
        }
    };
    if carried.is_err() {
        // It may go on one day; until then the user has the tree.
        leftovers::sweep(&context, &mut recorder);
    }
    carried
}

/// Prepares a checkout that a run came into, as the one that it began in was prepared: what the setup command makes is in no recorded tree.
/// The run's end where that fails: nothing would be judged fairly there, and nobody is paid for it.
async fn prepare_elsewhere(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    stage: Stage,
) -> Result<Stage, LifecycleError> {
    let Some(why) = baseline::set_up(context).await? else { return Ok(stage) };
    if context.world.stop.raised().is_some() {
        // Cut short, not failed: the stage itself says how that ends.
        return Ok(stage);
    }
    let climb = match stage {
        Stage::Ready(climb) | Stage::Iterating(climb) => *climb,
        Stage::Delivering(delivering) => delivering.climb,
        other @ (Stage::Measuring(_) | Stage::Held(_) | Stage::Ending(_)) => return Ok(other),
    };
    let Next { stage, events, .. } = Next::end(climb, Outcome::Broken { reason: why.clone() }, why, Vec::new());
    recorder.record(context, &events, stage.saved(&context.charter));
    Ok(stage)
}

/// The part of the run that is under way, for the names of its raw streams.
fn place(stage: &Stage) -> String {
    match stage {
        Stage::Measuring(_) => "baseline".to_owned(),
        Stage::Ready(climb) | Stage::Iterating(climb) => stream_place(climb.position.tier_index, climb.iteration()),
        Stage::Delivering(_) => "delivery".to_owned(),
        Stage::Held(_) => "blocked".to_owned(),
        Stage::Ending(_) => "ending".to_owned(),
    }
}

/// The part of the names of an iteration's raw streams that tells the tier and the iteration.
#[must_use]
pub fn stream_place(tier_index: u32, iteration: u32) -> String {
    format!("tier{}-iteration{iteration}", tier_index.saturating_add(1))
}

async fn carry(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    mut sessions: Sessions,
    (mut stage, stood_still): (Stage, bool),
) -> Result<Finished, LifecycleError> {
    if !matches!(stage, Stage::Measuring(_)) {
        leftovers::note(context, recorder);
        // A run that ended left the files in order, so that what differs is somebody else's. After a kill both may be mixed.
        if stood_still {
            stage = meanwhile::take_in(context, recorder, stage).await?;
        } else {
            stage = left_behind::part(context, recorder, stage).await?;
        }
        if let Some(start) = stage.start().cloned() {
            left_behind::note(context, recorder, &start);
        }
    }
    // A process that only hears what the outside says has no files to prepare.
    let mut is_unprepared = context.charter.moved_to.is_some() && context.world.only_hears.is_none();
    loop {
        if is_unprepared && stage.works_with_files() {
            is_unprepared = false;
            stage = prepare_elsewhere(context, recorder, stage).await?;
        }
        if let Some(streams) = &context.world.tests.streams {
            streams.enter(&place(&stage));
        }
        let next = match stage {
            Stage::Measuring(measuring) => baseline::run(context, recorder, *measuring).await?,
            Stage::Ready(climb) => iteration::begin(context, recorder, &sessions.memory, *climb).await,
            Stage::Iterating(climb) => iteration::run(context, recorder, &mut sessions, *climb).await?,
            Stage::Delivering(delivering) => deliver(context, recorder, &sessions, *delivering).await?,
            Stage::Held(held) => hold::run(context, recorder, &sessions.memory, held.climb, held.hold).await,
            Stage::Ending(ending) => return end(context, recorder, *ending).await,
        };
        let Next { stage: follows, events, breakpoint } = next;
        // Before the next phase is acted out: a process that is killed from here on goes on with it, and pays for nothing twice.
        recorder.record(context, &events, follows.saved(&context.charter));
        if let Some((key, body)) = breakpoint {
            recorder.keep(&Snapshot { kind: "breakpoint", session_id: &key, body: &body });
        }
        stage = follows;
    }
}

async fn deliver(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    sessions: &Sessions,
    Delivering { climb, leg }: Delivering,
) -> Result<Next, LifecycleError> {
    Ok(match leg {
        Leg::Publish(fix) => {
            // Between a push and the end may lie an hour of waiting.
            leftovers::sweep(context, recorder);
            publish::run(context, climb, fix).await
        }
        Leg::Rebase(fix) => rebase::run(context, recorder, climb, fix).await?,
        Leg::Propose(fix) => publish::propose(context, recorder, climb, fix).await,
        Leg::Wait(wait) => breakpoint::run(context, recorder, &sessions.memory, climb, wait).await,
    })
}

async fn end(context: &Context<'_>, recorder: &mut Recorder<'_>, ending: Ending) -> Result<Finished, LifecycleError> {
    let event = finish::run(context, recorder, &ending).await?;
    let outcome = ending.outcome.clone();
    recorder.record(context, &[event], ending.saved(&context.charter, Phase::Ended { outcome: outcome.clone() }));
    // Only once the end is durable: whoever takes up a killed run has to know them.
    leftovers::forget(context);
    context.world.workspace.forget_writes();
    Ok(Finished { outcome, change: ending.change() })
}
