//! The clock seam: wall time for timestamps, monotonic time for budgets.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// An instant in UTC, as text with milliseconds: `2026-02-17T14:23:01.456Z` (S2-2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub String);

impl Timestamp {
    /// Formats milliseconds since the Unix epoch; times outside the calendar's range become the epoch.
    #[must_use]
    pub fn from_unix_ms(ms: i64) -> Self {
        let at = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        Self(format!("{at:.3}"))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where time comes from. A trait so that tests can move it.
pub trait Clock: Debug + Send + Sync {
    /// Milliseconds since the Unix epoch, from the wall clock; may jump.
    fn unix_ms(&self) -> i64;

    /// Milliseconds since an arbitrary origin; never goes back. Budgets count with this one.
    fn monotonic_ms(&self) -> u64;

    /// Waits on the machine's timer; a clock that tests move moves on by itself instead.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(duration))
    }

    /// The wall clock as a [`Timestamp`].
    fn timestamp(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.unix_ms())
    }
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// Starts the monotonic clock at zero.
    #[must_use]
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads the wall clock")]
    fn unix_ms(&self) -> i64 {
        jiff::Timestamp::now().as_millisecond()
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_carry_milliseconds_and_utc() {
        assert_eq!(Timestamp::from_unix_ms(1_771_338_181_456).0, "2026-02-17T14:23:01.456Z");
        assert_eq!(Timestamp::from_unix_ms(0).0, "1970-01-01T00:00:00.000Z");
    }
}
