//! A clock that leaps over every pause instead of waiting, for tests that wait for CI; not in release builds.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::environment::Environment;
use crate::domain::clock::{Clock, SystemClock};

/// Switches it on.
const VARIABLE: &str = "UPSHIFT_LEAP";
/// What a pause really takes: time for others on this thread, and for what a test does meanwhile.
const BEAT: Duration = Duration::from_millis(20);

/// The machine's clocks, moved on by every pause.
#[derive(Debug)]
pub(super) struct LeapClock {
    machine: SystemClock,
    leapt_ms: Arc<AtomicU64>,
}

impl LeapClock {
    /// What the environment asks for.
    pub(super) fn from(environment: &Environment) -> Option<Self> {
        environment.get(VARIABLE)?;
        Some(Self { machine: SystemClock::new(), leapt_ms: Arc::default() })
    }
}

impl Clock for LeapClock {
    fn unix_ms(&self) -> i64 {
        self.machine.unix_ms().saturating_add_unsigned(self.leapt_ms.load(Ordering::Relaxed))
    }

    fn monotonic_ms(&self) -> u64 {
        self.machine.monotonic_ms() + self.leapt_ms.load(Ordering::Relaxed)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let leapt = Arc::clone(&self.leapt_ms);
        Box::pin(async move {
            tokio::time::sleep(duration.min(BEAT)).await;
            leapt.fetch_add(u64::try_from(duration.as_millis()).unwrap_or(0), Ordering::Relaxed);
        })
    }
}
