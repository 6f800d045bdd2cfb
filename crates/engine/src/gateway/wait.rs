//! The pauses of a limited vendor.
//!
//! Pure.

/// The pause before a limited vendor is asked again, in milliseconds: 5, 15 and 45 seconds, or what it asks for itself (S3-7). `None` where
/// it is not asked again.
#[must_use]
pub fn wait_before_next(tries: u32, retry_after_ms: Option<u64>) -> Option<u64> {
    /// How often it is asked again.
    const MOST_TRIES: u32 = 3;
    /// The longest pause: clients give a call up after some minutes.
    const LONGEST_MS: u64 = 120_000;
    if tries >= MOST_TRIES {
        return None;
    }
    let wait = retry_after_ms.filter(|wait| *wait > 0).unwrap_or(5_000 * 3_u64.pow(tries));
    (wait <= LONGEST_MS).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::wait_before_next as wait;

    #[test]
    fn a_limit_is_waited_for_three_times_and_as_long_as_it_asks() {
        assert_eq!([0, 1, 2, 3].map(|tries| wait(tries, None)), [Some(5_000), Some(15_000), Some(45_000), None]);
        assert_eq!((wait(0, Some(2_000)), wait(2, Some(2_000))), (Some(2_000), Some(2_000)));
        assert_eq!((wait(0, Some(0)), wait(0, Some(3_600_000))), (Some(5_000), None));
    }
}
