//! The time that a run spends waiting for the outside: it has limits of its own and does not eat the active time (contradiction 11).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts waiting. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Waiting(Arc<Mutex<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    before_ms: u64,
    since_ms: Option<u64>,
}

impl Waiting {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waiting begins at this moment of the monotonic clock.
    pub fn begin(&self, now_ms: u64) {
        // The first beginning counts where two things are waited for at once.
        self.counted().since_ms.get_or_insert(now_ms);
    }

    /// It is over.
    pub fn end(&self, now_ms: u64) {
        let mut counted = self.counted();
        if let Some(since) = counted.since_ms.take() {
            counted.before_ms += now_ms.saturating_sub(since);
        }
    }

    /// All waiting up to a moment, in milliseconds.
    #[must_use]
    pub fn total_ms(&self, now_ms: u64) -> u64 {
        let counted = self.counted();
        counted.before_ms + counted.since_ms.map_or(0, |since| now_ms.saturating_sub(since))
    }

    /// Whether it goes on.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.counted().since_ms.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waiting_counts() {
        let waiting = Waiting::default();
        waiting.begin(10);
        assert_eq!((waiting.total_ms(15), waiting.is_under_way()), (5, true));
        waiting.end(30);
        waiting.end(50);
        waiting.begin(100);
        assert_eq!(waiting.clone().total_ms(101), 21);
    }
}
