//! A clock that leaps over every pause instead of waiting, and may begin on another day, for tests. Not in release builds.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::environment::Environment;
use crate::domain::clock::{Clock, SystemClock, days_until};

/// The variable that switches it on. A day as its value (`2026-11-30`) is the day on which it begins.
const VARIABLE: &str = "UPSHIFT_TEST_CLOCK";
/// The real length of a pause: time for others on this thread, and for the work of a test meanwhile.
const BEAT: Duration = Duration::from_millis(20);

/// A day.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The machine's clocks, moved on by every pause.
#[derive(Debug)]
pub(super) struct TestClock {
    machine: SystemClock,
    /// From the machine's day to the one it begins on.
    moved_ms: i64,
    leapt_ms: Arc<AtomicU64>,
}

impl TestClock {
    /// The clock that the environment asks for. `None` where it asks for none.
    pub(super) fn from(environment: &Environment) -> Option<Self> {
        let day = environment.get(VARIABLE)?;
        let machine = SystemClock::new();
        // Any other word, such as `1`, only switches the leaping on.
        let moved_ms = days_until(day, machine.unix_ms()).unwrap_or(0) * DAY_MS;
        Some(Self { machine, moved_ms, leapt_ms: Arc::default() })
    }
}

impl Clock for TestClock {
    fn unix_ms(&self) -> i64 {
        (self.machine.unix_ms() + self.moved_ms).saturating_add_unsigned(self.leapt_ms.load(Ordering::Relaxed))
    }

    fn monotonic_ms(&self) -> u64 {
        self.machine.monotonic_ms() + self.leapt_ms.load(Ordering::Relaxed)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let leapt = Arc::clone(&self.leapt_ms);
        Box::pin(async move {
            // A real pause, however short, lets the process that a test waits for go on.
            tokio::time::sleep(duration.min(BEAT)).await;
            // Behind the pause: the time must not have passed before somebody waited for it.
            leapt.fetch_add(u64::try_from(duration.as_millis()).unwrap_or(0), Ordering::Relaxed);
        })
    }
}
