//! Causes that may end a run from outside of it: signals, and the clock of the active time.

use std::sync::Arc;
use std::time::Duration;

use super::environment::Environment;
use super::raising::Sources;
use super::signals;
use crate::domain::clock::{Clock, SystemClock};
use crate::domain::stop::{Stop, StopCause, StopSource, WrapUp};
use crate::domain::waiting::Waiting;
use crate::lifecycle::state::RunState;

/// Listens for the causes. Signals and the clock of the active time raise one flag, signals alone another.
///
/// # Errors
/// When the handlers cannot be installed.
pub(super) fn listen(clock: &Arc<dyn Clock>, state: &RunState, place: Place) -> std::io::Result<StopSources> {
    let (source, stop) = StopSource::new();
    // A push is not broken off when the active time is over, and is by a signal. It listens to this flag.
    let (signal_source, signals) = StopSource::new();
    let source = Arc::new(source);
    let wrap_up = WrapUp::default();
    let sources = Sources {
        sources: vec![Arc::clone(&source), Arc::new(signal_source)],
        // A job that is cancelled has seconds left, not a model's call.
        wrap_up: (place == Place::Local).then(|| wrap_up.clone()),
    };
    signals::listen(&sources)?;
    // A run that goes on has the rest of its time, not all of it again.
    let left = state.plan.budget.max_active_ms.saturating_sub(state.active_ms);
    let waiting = Waiting::default();
    tokio::spawn(end_when_used_up(source, Arc::clone(clock), waiting.clone(), left));
    Ok(StopSources { stop, signals, wrap_up, waiting })
}

/// Where a run takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Where a person may be asked for patience.
    Local,
    /// In a job of CI.
    Job,
}

/// Flags that may end a run, and the count of its waiting.
#[derive(Debug)]
pub(super) struct StopSources {
    /// Signals and the clock of the active time.
    pub(super) stop: Stop,
    /// Signals alone.
    pub(super) signals: Stop,
    /// The wish to end in good order.
    pub(super) wrap_up: WrapUp,
    /// Counts waiting.
    pub(super) waiting: Waiting,
}

/// Raises the flag when this much active time is over. Waiting for the outside does not count.
async fn end_when_used_up(source: Arc<StopSource>, clock: Arc<dyn Clock>, waiting: Waiting, left_ms: u64) {
    /// How often it is looked whether waiting is over.
    const LOOK_MS: u64 = 1_000;
    let began = clock.monotonic_ms();
    loop {
        // The wall clock may jump, and a run must neither end early nor get time as a gift.
        let now = clock.monotonic_ms();
        let active = now.saturating_sub(began).saturating_sub(waiting.total_ms(now));
        // Ending in the middle of a wait would lose what was waited for, though it costs nothing.
        if active >= left_ms && !waiting.is_under_way() {
            return source.raise(StopCause::TimeUp);
        }
        // The sum of waiting grows meanwhile, so it is looked again instead of trusting one long sleep.
        tokio::time::sleep(Duration::from_millis(left_ms.saturating_sub(active).max(LOOK_MS))).await;
    }
}

/// The clock of this process.
#[cfg(debug_assertions)]
pub(super) fn clock(environment: &Environment) -> Arc<dyn Clock> {
    super::test_clock::TestClock::from(environment)
        .map_or_else(|| Arc::new(SystemClock::new()) as _, |test_clock| Arc::new(test_clock) as _)
}

/// The clock of this process.
#[cfg(not(debug_assertions))]
pub(super) fn clock(_environment: &Environment) -> Arc<dyn Clock> {
    Arc::new(SystemClock::new())
}
