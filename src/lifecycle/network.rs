//! The network that tests have: the tightest that the baseline runs with (DESIGN §5).
//!
//! Invariant: it is opened before any model output alone, only under `network: auto`, and the report says so.

use std::cmp::Ordering;

use super::context::{Context, LifecycleError};
use super::measured::Measuring;
use super::recorder::Recorder;
use super::state::Phase;
use crate::domain::event::Event;
use crate::process::confine::Reach;
use crate::test_run::{self, TestRun};
use crate::trial;

/// Says at the beginning how children are kept, and what the machine could not give.
pub(super) fn tell(context: &Context<'_>, recorder: &mut Recorder<'_>) {
    let children = &context.world.children;
    for gap in &children.gaps {
        recorder.warn(format!("not fully confined: {gap}"));
    }
    for note in &children.notes {
        recorder.warn(note.clone());
    }
}

/// Runs a failing baseline once more with the network, where that may be what it lacks, and keeps it open if it was.
pub(super) async fn open_if_needed(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    measuring: &mut Measuring,
    first: TestRun,
) -> Result<TestRun, LifecycleError> {
    let children = &context.world.children;
    let misses = first.stopped.is_none() && children.open.is_some() && misses_network(&first);
    if measuring.setup.network_opened || !misses {
        return Ok(first);
    }
    let mut open = measuring.setup.clone().opened(children);
    let second = test_run::run(&open.tests, None, &context.world.stop).await?;
    if second.stopped.is_some() {
        // It says nothing about the network, and a run that goes on later must not have it for that.
        return Ok(second);
    }
    if !was_missing(&first, &second) {
        return Ok(first);
    }
    open.network_opened = true;
    measuring.setup = open;
    let had = match children.network {
        Reach::Loopback => "this machine's loopback alone",
        Reach::Nothing | Reach::Port(_) => "no network",
        Reach::All => "the network",
    };
    let message = format!(
        "the tests do not run with {had}, so they have the whole network; `network: off` or `loopback` forbids it, a setup command \
         can fetch what they need"
    );
    recorder.record(context, &[Event::Warning { message }], measuring.saved(&context.charter, Phase::Baseline));
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

fn misses_network(run: &TestRun) -> bool {
    !run.exit.is_success() && test_run::misses_network(&run.output)
}
