//! When the comment is made and when it is edited (pure).
//!
//! Invariant: between two tries to write lies at least [`INTERVAL_MS`], however much happens.

use crate::config::Comment;
use crate::domain::outcome::{EXIT_PARKED, EXIT_SUCCESS};
use crate::report::view::{Ending, RunView};

/// The least time between two edits: a reader looks again now and then, and GitHub allows 80 writes a minute to everybody
/// together (GITHUB.md 25).
const INTERVAL_MS: u64 = 20_000;
/// How often the interval is doubled after failures.
const MAX_DOUBLINGS: u32 = 4;

/// When the next write is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Now.
    Now,
    /// After this time.
    In(u64),
    /// When something has happened.
    Never,
}

/// The record of tries so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pace {
    tried_ms: Option<u64>,
    failures: u32,
    given_up: bool,
}

impl Pace {
    /// When the next write is due, where there is `news` or not.
    pub(super) fn due(&self, news: News, now_ms: u64) -> Due {
        if news == News::None || self.given_up {
            return Due::Never;
        }
        let Some(tried) = self.tried_ms else { return Due::Now };
        let interval = INTERVAL_MS << self.failures.min(MAX_DOUBLINGS);
        match interval.saturating_sub(now_ms.saturating_sub(tried)) {
            0 => Due::Now,
            left => Due::In(left),
        }
    }

    /// A write is about to be tried.
    pub(super) fn tries(&mut self, now_ms: u64) {
        self.tried_ms = Some(now_ms);
    }

    /// It worked.
    pub(super) fn worked(&mut self) {
        self.failures = 0;
    }

    /// The write failed. A write that will not work the next time either is not tried again.
    pub(super) fn failed(&mut self, failure: Failure) {
        self.failures = self.failures.saturating_add(1);
        self.given_up |= failure == Failure::ForGood;
    }

    /// Whether nothing is tried any more.
    pub(super) fn has_given_up(&self) -> bool {
        self.given_up
    }
}

/// Whether something happened that the comment does not tell yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing.
    #[default]
    None,
    /// Something.
    Some,
}

/// The prospect of the next try after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// It may work.
    ForNow,
    /// It will not.
    ForGood,
}

/// The fate of the comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Making {
    /// It is made if there is none.
    Made,
    /// One that is there is kept true, none is made.
    KeptTrue,
    /// It is not touched.
    Left,
}

/// The meaning of `github.comment` for a run that stands like this. A comment that is there already is kept true in every mode but `off`,
/// because an earlier run's words would contradict this one.
pub(super) fn making(wish: Comment, view: &RunView) -> Making {
    let exit = view.outcome().map(crate::domain::outcome::Outcome::exit_code);
    let fixed = matches!(exit, Some(EXIT_SUCCESS | EXIT_PARKED)) && !view.diff_stat().files.is_empty();
    let failed =
        matches!(view.ending, Ending::Died) || exit.is_some_and(|code| code != EXIT_SUCCESS && code != EXIT_PARKED);
    let made = match wish {
        Comment::Off => return Making::Left,
        Comment::Always => true,
        Comment::OnChange => fixed || !view.delivery.pushes.is_empty(),
        Comment::OnFailure => failed,
    };
    if made { Making::Made } else { Making::KeptTrue }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_write_is_due_at_once_and_the_next_twenty_seconds_later() {
        let mut pace = Pace::default();
        assert_eq!(pace.due(News::None, 5), Due::Never);
        assert_eq!(pace.due(News::Some, 5), Due::Now);
        pace.tries(5);
        pace.worked();
        assert_eq!(pace.due(News::Some, 5), Due::In(20_000));
        assert_eq!(pace.due(News::Some, 19_005), Due::In(1_000));
        assert_eq!(pace.due(News::Some, 20_005), Due::Now);
        assert_eq!(pace.due(News::None, 90_000), Due::Never);
    }

    #[test]
    fn failures_slow_it_down_and_some_end_it() {
        let mut pace = Pace::default();
        pace.tries(0);
        pace.failed(Failure::ForNow);
        assert_eq!(pace.due(News::Some, 0), Due::In(40_000));
        for _ in 0..40 {
            pace.failed(Failure::ForNow);
        }
        assert_eq!(pace.due(News::Some, 0), Due::In(320_000));
        pace.worked();
        assert_eq!(pace.due(News::Some, 0), Due::In(20_000));
        pace.failed(Failure::ForGood);
        assert_eq!((pace.due(News::Some, 900_000), pace.has_given_up()), (Due::Never, true));
    }

    proptest::proptest! {
        #[test]
        fn no_two_tries_are_closer_than_the_interval(steps in proptest::collection::vec((0_u64..30_000, 0_u8..3), 1..60)) {
            let (mut pace, mut now, mut tries) = (Pace::default(), 0, Vec::new());
            for (passed, fate) in steps {
                now += passed;
                if pace.due(News::Some, now) == Due::Now {
                    pace.tries(now);
                    tries.push(now);
                    if fate == 0 { pace.failed(Failure::ForNow) } else { pace.worked() }
                }
            }
            for pair in tries.windows(2) {
                proptest::prop_assert!(pair[1] - pair[0] >= INTERVAL_MS);
            }
        }
    }
}
