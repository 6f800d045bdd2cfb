//! The times in which programs that this process started were at work. A file that changed at another time was changed by somebody else: by
//! a person, or by this process itself.
//!
//! Invariant: no time is left out in which such a program lived.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// How long before a program's beginning it counts already: the times of files are those of the kernel's last tick.
const SLACK: i128 = 12_000_000;

static TIMES: Mutex<Times> = Mutex::new(Times { under_way: Vec::new(), past: Vec::new() });

/// Times in nanoseconds since the epoch, as files' times are.
#[derive(Debug)]
struct Times {
    /// The beginnings of those that are not over.
    under_way: Vec<i128>,
    past: Vec<(i128, i128)>,
}

impl Times {
    fn begin(&mut self, now: i128) {
        self.under_way.push(now);
    }

    fn end(&mut self, began: i128, now: i128) {
        // Two that began in the same nanosecond are alike here: it does not matter which of them goes.
        if let Some(at) = self.under_way.iter().position(|one| *one == began) {
            self.under_way.swap_remove(at);
        }
        // Many short ones in a row are one.
        match self.past.last_mut() {
            Some((from, to)) if *from <= began && began <= *to + SLACK => *to = now.max(*to),
            _ => self.past.push((began, now)),
        }
    }

    fn hold(&self, at: i128) -> bool {
        self.under_way.iter().any(|began| began - SLACK <= at)
            || self.past.iter().any(|(from, to)| from - SLACK <= at && at <= *to)
    }
}

/// A program at work, for as long as it is held.
#[derive(Debug)]
pub(super) struct Busy(i128);

impl Busy {
    pub(super) fn begin() -> Self {
        let now = now();
        times().begin(now);
        Self(now)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        times().end(self.0, now());
    }
}

/// Whether a program of ours may have been at work then.
#[must_use]
pub fn was_at_work(at: i128) -> bool {
    times().hold(at)
}

/// The time, as files have it.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "it is compared with the times of files, which the kernel sets")]
pub fn now() -> i128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(i128::MAX))
}

fn times() -> MutexGuard<'static, Times> {
    TIMES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_held_from_a_programs_beginning_to_its_end_and_no_longer() {
        let mut times = Times { under_way: Vec::new(), past: Vec::new() };
        let second = 1_000_000_000;
        times.begin(10 * second);
        times.begin(11 * second);
        assert!(!times.hold(9 * second) && times.hold(10 * second) && times.hold(99 * second));
        times.end(10 * second, 12 * second);
        assert!(times.hold(99 * second), "the other one is at work");
        times.end(11 * second, 20 * second);
        assert!(times.hold(15 * second) && times.hold(20 * second) && !times.hold(21 * second));
        // Behind it at once: one time. Later: another.
        times.begin(20 * second + SLACK);
        times.end(20 * second + SLACK, 22 * second);
        times.begin(30 * second);
        times.end(30 * second, 31 * second);
        assert_eq!(times.past.len(), 2, "{times:?}");
        assert!(times.hold(22 * second) && !times.hold(25 * second) && times.hold(30 * second));
    }
}
