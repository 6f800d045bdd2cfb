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
    /// Formats milliseconds since the Unix epoch. Times outside the calendar's range become the epoch.
    #[must_use]
    pub fn from_unix_ms(ms: i64) -> Self {
        let at = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        // Always three digits, so that timestamps sort as texts.
        Self(format!("{at:.3}"))
    }

    /// Seconds since the Unix epoch. `None` for a text that is no instant.
    #[must_use]
    pub fn unix_seconds(&self) -> Option<u64> {
        Some(self.unix_ms()? / 1_000)
    }

    /// Milliseconds since the Unix epoch. `None` for a text that is no instant, and for one before it.
    #[must_use]
    pub fn unix_ms(&self) -> Option<u64> {
        let at: jiff::Timestamp = self.0.parse().ok()?;
        u64::try_from(at.as_millisecond()).ok()
    }
}

impl Timestamp {
    /// The instant as people write it: `2026-02-17 14:23:01 UTC`.
    #[must_use]
    pub fn for_people(&self) -> String {
        // Nobody reads the milliseconds.
        let seconds = self.0.split_once('.').map_or(self.0.as_str(), |(seconds, _)| seconds);
        format!("{} UTC", seconds.trim_end_matches('Z').replacen('T', " ", 1))
    }
}

/// How many whole days are left until a day (`2026-11-30`, UTC), by milliseconds since the Unix epoch. Negative after it. `None` for a text
/// that is no day.
#[must_use]
pub fn days_until(day: &str, now_ms: i64) -> Option<i64> {
    let day: jiff::civil::Date = day.parse().ok()?;
    let today = jiff::Timestamp::from_millisecond(now_ms).ok()?.to_zoned(jiff::tz::TimeZone::UTC).date();
    Some(i64::from(today.until(day).ok()?.get_days()))
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where time comes from. A trait so that tests can move it.
pub trait Clock: Debug + Send + Sync {
    /// Milliseconds since the Unix epoch, from the wall clock. They may jump.
    fn unix_ms(&self) -> i64;

    /// Milliseconds since an arbitrary origin, which never go back. Budgets count with this one.
    fn monotonic_ms(&self) -> u64;

    /// Waits on the machine's timer. A clock that tests move moves on by itself instead.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(duration))
    }

    /// The wall clock as a [`Timestamp`].
    fn timestamp(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.unix_ms())
    }
}

/// The wall clock as it was read once, carried on by the monotonic one: setting the machine's clock meanwhile changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steady {
    unix_ms: i64,
    monotonic_ms: u64,
}

impl Steady {
    /// Reads both clocks.
    #[must_use]
    pub fn read(clock: &dyn Clock) -> Self {
        Self { unix_ms: clock.unix_ms(), monotonic_ms: clock.monotonic_ms() }
    }

    /// Milliseconds since it was read.
    #[must_use]
    pub fn elapsed_ms(&self, clock: &dyn Clock) -> u64 {
        clock.monotonic_ms().saturating_sub(self.monotonic_ms)
    }

    /// The day (UTC) it is now: `2026-02-17`.
    #[must_use]
    pub fn day(&self, clock: &dyn Clock) -> String {
        const DATE_CHARS: usize = "2026-02-17".len();
        // From the monotonic clock: one that is set back must not begin the day's budget anew.
        let passed = i64::try_from(self.elapsed_ms(clock)).unwrap_or(i64::MAX);
        Timestamp::from_unix_ms(self.unix_ms.saturating_add(passed)).0.chars().take(DATE_CHARS).collect()
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
        // A clock of the system that never goes back, whatever becomes of the wall's.
        u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Jumping(std::sync::Mutex<(i64, u64)>);

    impl Clock for Jumping {
        fn unix_ms(&self) -> i64 {
            self.0.lock().unwrap().0
        }

        fn monotonic_ms(&self) -> u64 {
            self.0.lock().unwrap().1
        }
    }

    #[test]
    fn a_clock_that_is_set_changes_no_day_and_time_that_passes_does() {
        const HOUR: u64 = 3_600_000;
        let clock = Jumping(std::sync::Mutex::new((1_771_372_800_000 - 60_000, 5)));
        let steady = Steady::read(&clock);
        assert_eq!(steady.day(&clock), "2026-02-17");
        for set in [0, i64::MAX, 1_900_000_000_000] {
            clock.0.lock().unwrap().0 = set;
            assert_eq!(steady.day(&clock), "2026-02-17", "set to {set}");
        }
        clock.0.lock().unwrap().1 += HOUR;
        assert_eq!((steady.day(&clock).as_str(), steady.elapsed_ms(&clock)), ("2026-02-18", HOUR));
    }

    #[test]
    fn timestamps_carry_milliseconds_and_utc() {
        assert_eq!(Timestamp::from_unix_ms(1_771_338_181_456).0, "2026-02-17T14:23:01.456Z");
        assert_eq!(Timestamp::from_unix_ms(0).0, "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_unix_ms(1_771_338_181_456).for_people(), "2026-02-17 14:23:01 UTC");
    }
}
