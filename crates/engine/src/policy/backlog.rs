//! Working off a backlog: what becomes of a task by the end of its run, and what it may cost (S3-2, S3-6).

use crate::domain::units::MicroUsd;

/// The way to treat a task whose run did not mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorStrategy {
    /// It is tried again up to a limit, and left out afterwards.
    Retry,
    /// It is left out.
    Skip,
    /// Nothing further is done.
    Abort,
}

/// How the run for a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Mended, and proven.
    Mended,
    /// The tests or commands that should prove the fix pass already.
    NothingFails,
    /// Not mended.
    NotMended,
    /// Its share was used up.
    ShareUsed,
    /// A person is needed, by the model's word.
    Blocked,
    /// It waits for something: a limit of an account above all.
    Waits,
    /// It was ended by a signal.
    Interrupted,
    /// It could not begin or go on: configuration, command, log. No other task could either.
    Unusable,
}

/// The next state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is done.
    Completed,
    /// It is tried again at once.
    Again,
    /// It comes once more when all others had their turn.
    Deferred,
    /// It is left out for the rest of this batch.
    LeftOut,
    /// A person has to say something.
    Blocked,
    /// It stays open, and the work ends.
    Ends(StopReason),
}

/// Why the work on a backlog ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Every task is completed, or nobody wants it.
    Completed,
    /// So many tasks were worked on as were allowed.
    MaxIterations,
    /// A signal.
    Interrupted,
    /// A task could not be worked on, and the strategy or the error says that none could.
    Error,
    /// None that is left is ready.
    NoTasks,
}

impl StopReason {
    /// The seed's word (S3-2).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::MaxIterations => "max_iterations",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
            Self::NoTasks => "no_tasks",
        }
    }
}

/// The next state of a task whose run ended. `retries` counts the retries that it had, `had_second_turn` says whether it was deferred
/// before. `proves_itself` says whether the task asks for no more than to pass already: a failing test that another fix mended, and no
/// command that says nothing of the change.
#[must_use]
pub const fn fate(
    end: RunEnd,
    strategy: ErrorStrategy,
    (retries, most): (u32, u32),
    had_second_turn: bool,
    proves_itself: bool,
) -> Fate {
    match (end, strategy) {
        (RunEnd::Mended, _) => Fate::Completed,
        (RunEnd::NothingFails, _) if proves_itself => Fate::Completed,
        // A command that passes already says nothing of the change that was asked for. A person has to look.
        (RunEnd::NothingFails | RunEnd::Blocked, _) => Fate::Blocked,
        // A limit says nothing of the task: it is not left out for it (B17).
        (RunEnd::ShareUsed | RunEnd::Waits, _) if !had_second_turn => Fate::Deferred,
        (RunEnd::ShareUsed | RunEnd::Waits, _) => Fate::LeftOut,
        (RunEnd::NotMended, ErrorStrategy::Retry) if retries < most => Fate::Again,
        (RunEnd::NotMended, ErrorStrategy::Retry | ErrorStrategy::Skip) => Fate::LeftOut,
        // The strategy is not asked about an unusable one: every further task would fail alike, and be left out
        // unseen.
        (RunEnd::NotMended, ErrorStrategy::Abort) | (RunEnd::Unusable, _) => Fate::Ends(StopReason::Error),
        (RunEnd::Interrupted, _) => Fate::Ends(StopReason::Interrupted),
    }
}

/// The budget of the next task: an equal part of the rest for each open task. A task's unspent part goes to the others.
#[must_use]
pub fn share(left: MicroUsd, open: usize) -> MicroUsd {
    // Rounded down, so that the shares never add up to more than is left.
    let open = u64::try_from(open).unwrap_or(u64::MAX).max(1);
    MicroUsd(left.0 / open)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn limits_defer_a_task_once_and_never_count_as_failures() {
        for strategy in [ErrorStrategy::Retry, ErrorStrategy::Skip, ErrorStrategy::Abort] {
            for end in [RunEnd::ShareUsed, RunEnd::Waits] {
                assert_eq!(fate(end, strategy, (0, 3), false, true), Fate::Deferred);
                assert_eq!(fate(end, strategy, (0, 3), true, true), Fate::LeftOut);
            }
            assert_eq!(fate(RunEnd::Interrupted, strategy, (0, 3), false, true), Fate::Ends(StopReason::Interrupted));
            assert_eq!(fate(RunEnd::Unusable, strategy, (0, 3), false, true), Fate::Ends(StopReason::Error));
        }
    }

    #[test]
    fn what_is_not_mended_is_tried_left_out_or_ends_the_work() {
        let of = |strategy, retries| fate(RunEnd::NotMended, strategy, (retries, 2), false, true);
        assert_eq!(
            [of(ErrorStrategy::Retry, 0), of(ErrorStrategy::Retry, 1), of(ErrorStrategy::Retry, 2)],
            [Fate::Again, Fate::Again, Fate::LeftOut]
        );
        assert_eq!(
            [of(ErrorStrategy::Skip, 0), of(ErrorStrategy::Abort, 0)],
            [Fate::LeftOut, Fate::Ends(StopReason::Error)]
        );
    }

    #[test]
    fn a_command_that_passes_already_proves_no_change() {
        let of = |proves_itself| fate(RunEnd::NothingFails, ErrorStrategy::Skip, (0, 0), false, proves_itself);
        assert_eq!([of(true), of(false)], [Fate::Completed, Fate::Blocked]);
    }

    proptest! {
        #[test]
        fn shares_never_come_to_more_than_the_whole(cap in 0_u64..10_000_000, used in prop::collection::vec(0_u64..100, 0..20)) {
            let mut left = cap;
            let mut spent = 0;
            for (at, percent) in used.iter().enumerate() {
                let share = share(MicroUsd(left), used.len() - at).0;
                prop_assert!(share <= left);
                let cost = share * percent / 100;
                left -= cost;
                spent += cost;
            }
            prop_assert!(spent <= cap);
        }
    }
}
