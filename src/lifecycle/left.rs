//! Targets that were left at a limit, so that they are asked first again when it may be over, and not before (S3-9 to S3-11).
//!
//! Pure: times and iterations are handed in.

use std::collections::BTreeMap;

/// The targets that were left.
#[derive(Debug, Default)]
pub(super) struct LeftAtLimit(BTreeMap<String, Leave>);

/// How a target was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leave {
    /// The iteration of the run.
    pub(super) iteration: u32,
    /// The target that was asked in its place. Empty for nobody.
    pub(super) instead: String,
    /// When the limit is over, by the vendor's own words, in milliseconds since the Unix epoch.
    pub(super) until_ms: Option<i64>,
}

/// How a target stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Left {
    /// It was not left.
    Never,
    /// It was, and may be asked again.
    Before {
        /// The target that was asked in its place.
        instead: String,
    },
    /// It was, in this iteration, or its limit is not over.
    Still(Option<i64>),
}

impl LeftAtLimit {
    /// How a target stands.
    pub(super) fn of(&self, target: &str, iteration: u32, now_ms: i64) -> Left {
        let Some(leave) = self.0.get(target) else { return Left::Never };
        // Where the vendor does not say how long, the limit is taken to last for the iteration.
        if leave.iteration == iteration || leave.until_ms.is_some_and(|until| until > now_ms) {
            return Left::Still(leave.until_ms);
        }
        Left::Before { instead: leave.instead.clone() }
    }

    /// Notes that a target was left.
    pub(super) fn leave(&mut self, target: String, leave: Leave) {
        self.0.insert(target, leave);
    }

    /// Notes that a target answered.
    pub(super) fn answered(&mut self, target: &str) {
        self.0.remove(target);
    }

    /// When the first of them can be asked again, where a vendor said so.
    pub(super) fn soonest(&self) -> Option<i64> {
        self.0.values().filter_map(|leave| leave.until_ms).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(until_ms: Option<i64>) -> LeftAtLimit {
        let mut left = LeftAtLimit::default();
        left.leave("a".to_owned(), Leave { iteration: 2, instead: "b".to_owned(), until_ms });
        left
    }

    #[test]
    fn a_target_is_not_asked_twice_in_an_iteration_and_first_again_in_the_next() {
        let before = Left::Before { instead: "b".to_owned() };
        assert_eq!(left(None).of("a", 2, 0), Left::Still(None));
        assert_eq!(left(None).of("a", 3, 0), before);
        assert_eq!(left(Some(50)).of("a", 3, 49), Left::Still(Some(50)));
        assert_eq!(left(Some(50)).of("a", 3, 50), before);
        assert_eq!(left(None).of("b", 3, 0), Left::Never);
    }

    #[test]
    fn one_that_answered_is_as_any_other() {
        let mut known = left(Some(50));
        assert_eq!(known.soonest(), Some(50));
        known.answered("a");
        assert_eq!((known.of("a", 3, 0), known.soonest()), (Left::Never, None));
    }
}
