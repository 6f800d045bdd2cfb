//! The entropy detector: the same error again and again means that a tier has stalled (S0-4, S0-10).
//!
//! Counts consecutive sightings of one normalised signature (contradiction 6: at least `threshold` in a row). The consequence of a stall is
//! decided elsewhere (contradiction 7). S0-5 would take every number for the same one, and so `2 != 10` after `4 != 10` for a stall. Here
//! only the parts that differ between two runs of the same code are taken out.

mod normalise;

use serde::{Deserialize, Serialize};

pub use normalise::normalise;

/// Consecutive sightings at which a tier counts as stalled (S0-1).
pub const DEFAULT_THRESHOLD: u32 = 3;

/// The same error `threshold` times or more in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entropy {
    /// The normalised signature.
    pub signature: String,
    /// The last sighting as it was told.
    pub said: String,
    /// How often in a row it was seen.
    pub count: u32,
    /// The threshold that it reached.
    pub threshold: u32,
}

/// The counter of one tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntropyState {
    threshold: u32,
    signature: Option<String>,
    count: u32,
}

impl EntropyState {
    /// A counter that fires at `threshold` sightings in a row. A threshold of 0 is taken as 1.
    #[must_use]
    pub fn new(threshold: u32) -> Self {
        Self { threshold: threshold.max(1), signature: None, count: 0 }
    }

    /// Counts one error. Fires when the error was seen `threshold` times in a row, and again on every later repeat.
    pub fn observe(&mut self, error: &str) -> Option<Entropy> {
        let signature = normalise(error);
        if self.signature.as_deref() == Some(signature.as_str()) {
            self.count = self.count.saturating_add(1);
        } else {
            self.count = 1;
            self.signature = Some(signature.clone());
        }
        let fired = Entropy { signature, said: error.to_owned(), count: self.count, threshold: self.threshold };
        (self.count >= self.threshold).then_some(fired)
    }

    /// Forgets everything: there was genuine progress (S0-10).
    pub fn reset(&mut self) {
        self.signature = None;
        self.count = 0;
    }
}

impl Default for EntropyState {
    fn default() -> Self {
        Self::new(DEFAULT_THRESHOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_same_error_in_a_row_fires_and_it_fires_again_on_every_repeat() {
        let mut state = EntropyState::default();
        assert_eq!(state.observe("boom at a.py:1"), None);
        assert_eq!(state.observe("boom at a.py:3"), None);
        let fired = state.observe("boom at a.py:99").expect("third in a row");
        let said = "boom at a.py:99".into();
        assert_eq!(fired, Entropy { signature: "boom at a.py:LINE".into(), said, count: 3, threshold: 3 });
        assert_eq!(state.observe("boom at a.py:0").map(|entropy| entropy.count), Some(4));
        assert_eq!(state.observe("another"), None);
        assert_eq!(state.observe("boom at a.py:1"), None, "an interrupted row starts again at 1");
        assert_eq!(state.observe("boom at a.py:1"), None);
        state.reset();
        assert_eq!(state.observe("boom at a.py:1"), None, "progress forgets the row");
    }

    #[test]
    fn a_saved_counter_goes_on_where_it_stopped() {
        let mut state = EntropyState::default();
        state.observe("x");
        state.observe("x");
        let mut restored: EntropyState = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        assert!(restored.observe("x").is_some());
    }

    proptest! {
        #[test]
        fn it_fires_exactly_when_the_row_is_long_enough(errors in prop::collection::vec(0u8..3, 0..40), threshold in 1u32..5) {
            let names = ["alpha", "beta", "gamma"];
            let mut state = EntropyState::new(threshold);
            for (index, &error) in errors.iter().enumerate() {
                let row = errors[..=index].iter().rev().take_while(|&&other| other == error).count();
                let fired = state.observe(names[usize::from(error)]);
                prop_assert_eq!(fired.map(|entropy| entropy.count as usize), (row >= threshold as usize).then_some(row));
            }
        }
    }
}
