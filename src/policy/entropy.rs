//! The entropy detector: the same error again and again means that a tier has stalled (S0-4, S0-5, S0-10).
//!
//! Counts consecutive sightings of one normalised signature (contradiction 6: at least `threshold` in a row). What a
//! stall leads to is not decided here (contradiction 7).

use serde::{Deserialize, Serialize};

/// Consecutive sightings at which a tier counts as stalled (S0-1).
pub const DEFAULT_THRESHOLD: u32 = 3;

/// The same error `threshold` times or more in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entropy {
    /// The normalised signature.
    pub signature: String,
    /// How often in a row it was seen.
    pub count: u32,
    /// The threshold that it reached.
    pub threshold: u32,
}

/// The counter; one per tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntropyState {
    threshold: u32,
    signature: Option<String>,
    count: u32,
}

impl EntropyState {
    /// A counter that fires at `threshold` sightings in a row; 0 is taken as 1.
    #[must_use]
    pub fn new(threshold: u32) -> Self {
        Self { threshold: threshold.max(1), signature: None, count: 0 }
    }

    /// Counts one error; fires when it was seen `threshold` times in a row, and again on every later repeat.
    pub fn observe(&mut self, error: &str) -> Option<Entropy> {
        let signature = normalise(error);
        if self.signature.as_deref() == Some(signature.as_str()) {
            self.count = self.count.saturating_add(1);
        } else {
            self.count = 1;
            self.signature = Some(signature.clone());
        }
        let fired = Entropy { signature, count: self.count, threshold: self.threshold };
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

/// Takes out of an error what differs between two sightings of the same one, in this order (S0-5, first variant):
/// `:1:2` → `:X:X`, digits → `N`, white space → one space, trim, lower case.
#[must_use]
pub fn normalise(error: &str) -> String {
    let positions = replace_positions(error);
    let numbers = replace_digit_runs(&positions);
    let spaced = collapse_space(&numbers);
    spaced.trim_matches(is_space).to_lowercase()
}

/// `/:\d+:\d+/g` → `:X:X`.
fn replace_positions(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(':') {
        out.push_str(before);
        if let Some(tail) = after_digits(after).and_then(|tail| tail.strip_prefix(':')).and_then(after_digits) {
            out.push_str(":X:X");
            rest = tail;
        } else {
            out.push(':');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// What follows at least one ASCII digit; `None` when there is none.
fn after_digits(text: &str) -> Option<&str> {
    let tail = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (tail.len() < text.len()).then_some(tail)
}

fn replace_digit_runs(text: &str) -> String {
    replace_runs(text, |c| c.is_ascii_digit(), 'N')
}

fn collapse_space(text: &str) -> String {
    replace_runs(text, is_space, ' ')
}

fn replace_runs(text: &str, in_run: fn(char) -> bool, with: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        let now = in_run(c);
        if !now {
            out.push(c);
        } else if !inside {
            out.push(with);
        }
        inside = now;
    }
    out
}

/// The white space of ECMAScript's `\s`, in which the contract was written: Unicode's, without U+0085, with U+FEFF.
fn is_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn normalisation_follows_the_contract_step_by_step() {
        for (raw, signature) in [
            ("src/a.ts:12:5 - error", "src/a.ts:x:x - error"),
            ("at foo (a.js:1:2:3)", "at foo (a.js:x:x:n)"),
            ("Expected 12, received NaN", "expected n, received nan"),
            ("10:20:30 took 5ms", "n:x:x took nms"),
            ("a:12 b::3:4 c:", "a:n b::x:x c:"),
            ("  tabs\t\tand\r\nlines \u{a0} ", "tabs and lines"),
            ("٣ stays, 3 goes", "٣ stays, n goes"),
            ("", ""),
        ] {
            assert_eq!(normalise(raw), signature, "{raw:?}");
        }
    }

    #[test]
    fn only_the_same_error_in_a_row_fires_and_it_fires_again_on_every_repeat() {
        let mut state = EntropyState::default();
        assert_eq!(state.observe("boom at 1:2"), None);
        assert_eq!(state.observe("boom at 3:4"), None);
        let fired = state.observe("boom at 9:9").expect("third in a row");
        assert_eq!(fired, Entropy { signature: "boom at n:n".into(), count: 3, threshold: 3 });
        assert_eq!(state.observe("boom at 0:0").map(|entropy| entropy.count), Some(4));
        assert_eq!(state.observe("another"), None);
        assert_eq!(state.observe("boom at 1:2"), None, "an interrupted row starts again at 1");
        assert_eq!(state.observe("boom at 1:2"), None);
        state.reset();
        assert_eq!(state.observe("boom at 1:2"), None, "progress forgets the row");
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
        fn normalisation_equals_the_five_regexes(raw in r"[a-zA-Z0-9: \t\n\x{a0}é٣İ:]{0,40}") {
            let step = |pattern: &str, text: &str, with: &str| {
                regex::Regex::new(pattern).unwrap().replace_all(text, with).into_owned()
            };
            let text = step(r":[0-9]+:[0-9]+", &raw, ":X:X");
            let text = step(r"[0-9]+", &text, "N");
            let text = step(r"\s+", &text, " ");
            prop_assert_eq!(normalise(&raw), text.trim().to_lowercase());
        }

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
