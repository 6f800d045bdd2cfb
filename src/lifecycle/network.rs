//! The network that tests have: the tightest that the baseline runs with (DESIGN §5).
//!
//! Invariant: it is opened before any model output alone, only under `network: auto`, and the report says so.

use std::cmp::Ordering;

use super::engine::{Engine, LifecycleError};
use crate::domain::event::Event;
use crate::process::confine::Reach;
use crate::test_run::{self, TestRun};
use crate::trial;

/// Says at the beginning how children are kept, and what the machine could not give.
pub(super) fn tell(engine: &mut Engine<'_>) {
    let children = &engine.world.children;
    let mut messages: Vec<String> = children.gaps.iter().map(|gap| format!("not fully confined: {gap}")).collect();
    messages.extend(children.notes.iter().cloned());
    let events: Vec<Event> = messages.into_iter().map(|message| Event::Warning { message }).collect();
    if !events.is_empty() {
        engine.record(&events);
    }
}

/// Gives the tests the network again in a run that had opened it before it was interrupted.
pub(super) fn reopen(engine: &mut Engine<'_>) {
    if engine.state.network_opened {
        open(engine);
    }
}

/// Runs a failing baseline once more with the network, where that may be what it lacks, and keeps it open if it was.
pub(super) async fn open_if_needed(engine: &mut Engine<'_>, first: TestRun) -> Result<TestRun, LifecycleError> {
    let misses = first.stopped.is_none() && engine.world.children.open.is_some() && misses_network(&first);
    if engine.state.network_opened || !misses {
        return Ok(first);
    }
    let closed = engine.world.tests.clone();
    open(engine);
    let second = test_run::run(&engine.world.tests, None, &engine.world.stop).await?;
    if second.stopped.is_none() && !was_missing(&first, &second) {
        engine.world.tests = closed;
        return Ok(first);
    }
    engine.state.network_opened = true;
    let had = match engine.world.children.network {
        Reach::Loopback => "this machine's loopback alone",
        Reach::Nothing => "no network",
        Reach::All => "the network",
    };
    let message = format!(
        "the tests do not run with {had}, so they have the whole network; `network: off` or `loopback` forbids it, a setup command \
         can fetch what they need"
    );
    engine.record(&[Event::Warning { message }]);
    Ok(second)
}

/// Whether the second run shows that the first lacked the network: more passes, or as much fails for another reason.
fn was_missing(first: &TestRun, second: &TestRun) -> bool {
    match trial::passed(&second.report).cmp(&trial::passed(&first.report)) {
        Ordering::Greater => true,
        Ordering::Equal => !misses_network(second),
        Ordering::Less => false,
    }
}

fn open(engine: &mut Engine<'_>) {
    if let Some(open) = engine.world.children.open.clone() {
        engine.world.tests.confinement = open.confinement;
        engine.world.tests.env = open.env;
    }
}

fn misses_network(run: &TestRun) -> bool {
    !run.exit.is_success() && test_run::misses_network(&run.output)
}
