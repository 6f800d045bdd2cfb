//! The context guard: how full a window is before a call, and whether the call still fits (S1-9).
//!
//! Pure. An estimate is the vendor's last count plus the bytes added since, at the bytes per token that the vendor showed. It is never
//! below a token for four bytes.

use crate::domain::catalogue::ModelInfo;
use crate::domain::chat::Usage;
use crate::policy::budget::{MAX_REPLY_TOKENS, MIN_REPLY_TOKENS};

/// Bytes per token that no tokeniser exceeds by much on code and English (S1-9).
const FLOOR_BYTES_PER_TOKEN: u64 = 4;
/// The reserve that is never planned with: a thirty-second of the window within these bounds (the seeds name both, S1-9).
const BUFFER_TOKENS: (u64, u64) = (256, 8_192);
/// The share of a window that a reply is planned with at most (S1-9).
const REPLY_SHARE: u64 = 4;

/// Knowledge of a conversation's size.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ContextGuard {
    last: Option<Measured>,
}

#[derive(Debug, Clone, Copy)]
struct Measured {
    /// Tokens of prompt and reply together, by the vendor's count.
    occupancy: u64,
    /// Bytes of that request and reply.
    bytes: u64,
}

/// Whether a call fits into a target's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It does, with a reply of at most so many tokens.
    Call {
        /// The most tokens of the reply.
        max_output: u64,
    },
    /// Only a last, short reply fits.
    FinalOnly,
    /// Nothing fits.
    Full,
}

/// Whether this is the last call of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// It is: a short reply is enough.
    Yes,
    /// It is not.
    No,
}

impl ContextGuard {
    /// Learns from a reply.
    pub(super) fn note(&mut self, request_bytes: u64, reply_bytes: u64, usage: &Usage) {
        let bytes = request_bytes.saturating_add(reply_bytes);
        // Some servers of local models count nothing, which teaches nothing.
        if usage.occupancy() > 0 {
            self.last = Some(Measured { occupancy: usage.occupancy(), bytes });
        }
    }

    /// The tokens that a request of so many bytes will have.
    pub(super) fn project(&self, request_bytes: u64) -> u64 {
        let floor = request_bytes.div_ceil(FLOOR_BYTES_PER_TOKEN);
        let Some(last) = self.last else { return floor };
        let added = request_bytes.saturating_sub(last.bytes);
        // tokens per byte as measured, but at most one token per byte
        let measured = u128::from(added) * u128::from(last.occupancy.min(last.bytes));
        let measured = measured.div_ceil(u128::from(last.bytes.max(1)));
        let added_tokens = u64::try_from(measured).unwrap_or(u64::MAX).max(added.div_ceil(FLOOR_BYTES_PER_TOKEN));
        last.occupancy.saturating_add(added_tokens).max(floor)
    }
}

/// Decides whether a call fits.
pub(super) fn fit(info: &ModelInfo, projected: u64, last: Last) -> Fit {
    let window = info.context_window;
    let buffer = (window / 32).clamp(BUFFER_TOKENS.0, BUFFER_TOKENS.1);
    let wanted = info.max_output_tokens.min(MAX_REPLY_TOKENS).min(window / REPLY_SHARE).max(1);
    let least = wanted.min(MIN_REPLY_TOKENS);
    let room = window.saturating_sub(buffer).saturating_sub(projected);
    match last {
        _ if room < least => Fit::Full,
        Last::No if room < wanted => Fit::FinalOnly,
        Last::Yes | Last::No => Fit::Call { max_output: wanted.min(room) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(window: u64, output: u64) -> ModelInfo {
        ModelInfo { context_window: window, max_output_tokens: output, ..ModelInfo::unknown() }
    }

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    #[test]
    fn without_a_count_four_bytes_are_a_token() {
        assert_eq!(ContextGuard::default().project(4_001), 1_001);
    }

    #[test]
    fn the_vendors_count_calibrates_the_estimate() {
        let mut context_guard = ContextGuard::default();
        context_guard.note(3_800, 200, &usage(1_900, 100));
        assert_eq!(context_guard.project(4_000), 2_000, "two bytes a token, as counted");
        assert_eq!(context_guard.project(4_100), 2_050);
    }

    #[test]
    fn a_vendor_that_counts_too_little_does_not_pull_the_estimate_below_the_floor() {
        let mut context_guard = ContextGuard::default();
        context_guard.note(40_000, 0, &usage(10, 0));
        assert_eq!(context_guard.project(40_000), 10_000);
    }

    #[test]
    fn a_reply_is_planned_with_a_quarter_of_a_small_window() {
        assert_eq!(fit(&info(8_000, 8_000), 100, Last::No), Fit::Call { max_output: 2_000 });
        assert_eq!(fit(&info(200_000, 64_000), 100, Last::No), Fit::Call { max_output: 16_384 });
    }

    #[test]
    fn a_nearly_full_window_allows_only_the_final_turn_and_a_full_one_nothing() {
        let small = info(8_000, 2_000);
        assert_eq!(fit(&small, 5_744, Last::No), Fit::Call { max_output: 2_000 }, "the last token that fits");
        assert_eq!(fit(&small, 5_745, Last::No), Fit::FinalOnly);
        assert_eq!(fit(&small, 5_745, Last::Yes), Fit::Call { max_output: 1_999 });
        assert_eq!(fit(&small, 7_000, Last::Yes), Fit::Full);
    }
}
