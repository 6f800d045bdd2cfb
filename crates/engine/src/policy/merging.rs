//! Merging the changes of many jobs: what becomes of one by its trial on top of the others, and which of them makes the sum fail.

/// How the trial of a change on top of what is merged ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialEnd {
    /// Its tests failed, pass with it, and nothing is lost.
    Proven,
    /// Its tests pass without it.
    NothingFails,
    /// It does not fit over what is merged.
    Conflict,
    /// Its tests fail with it, or others do, or they cannot be run.
    Lost,
    /// It is not what a run may change, or nothing that this machine knows proves it.
    Unfit,
    /// A signal.
    Stopped,
}

/// The end of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is committed.
    Merged,
    /// Another change mended the same.
    Duplicate,
    /// It is tried once more when all others had their turn.
    ComesAgain,
    /// Its task is to be worked on once more, on what is merged.
    Requeued,
    /// It is never merged.
    Refused,
    /// The merge ends here; the same command continues it.
    Stops,
}

/// The fate of a change by the end of its trial.
#[must_use]
pub const fn fate(end: TrialEnd, had_second_turn: bool) -> Fate {
    match end {
        TrialEnd::Proven => Fate::Merged,
        TrialEnd::NothingFails => Fate::Duplicate,
        // Others may bring what it lacks.
        TrialEnd::Conflict | TrialEnd::Lost if !had_second_turn => Fate::ComesAgain,
        TrialEnd::Conflict | TrialEnd::Lost => Fate::Requeued,
        TrialEnd::Unfit => Fate::Refused,
        TrialEnd::Stopped => Fate::Stops,
    }
}

/// The search for the first of some changes, put on top of each other, with which the sum fails. All of them together fail, none does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bisection {
    /// So many changes are known not to fail.
    good: usize,
    /// So many are known to.
    bad: usize,
}

impl Bisection {
    /// Begins with so many changes; `None` where there are none.
    #[must_use]
    pub const fn of(changes: usize) -> Option<Self> {
        if changes == 0 { None } else { Some(Self { good: 0, bad: changes }) }
    }

    /// How many of the changes are to be looked at next; `None` once the guilty one is known.
    #[must_use]
    pub const fn next(self) -> Option<usize> {
        if self.bad - self.good <= 1 { None } else { Some(self.good + (self.bad - self.good) / 2) }
    }

    /// Learns whether the first so many fail.
    #[must_use]
    pub const fn learn(self, changes: usize, fails: bool) -> Self {
        if fails { Self { bad: changes, ..self } } else { Self { good: changes, ..self } }
    }

    /// The place of the guilty change, from 0.
    #[must_use]
    pub const fn guilty(self) -> usize {
        self.bad - 1
    }
}

/// The order in which changes are merged: as they come, but each behind those that it depends on, of which the others are told by their
/// tasks' ids. A circle of dependencies is left as it comes.
#[must_use]
pub fn in_order(tasks: &[(Option<&str>, &[String])]) -> Vec<usize> {
    let mut waiting: Vec<usize> = (0..tasks.len()).collect();
    let mut order = Vec::with_capacity(tasks.len());
    while !waiting.is_empty() {
        let is_waiting = |id: &String| waiting.iter().any(|at| tasks.get(*at).is_some_and(|(own, _)| *own == Some(id)));
        let is_free = |at: &usize| tasks.get(*at).is_some_and(|(_, on)| !on.iter().any(is_waiting));
        let next = waiting.iter().position(is_free).unwrap_or_default();
        order.push(waiting.remove(next));
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_change_that_does_not_fit_comes_once_more_and_then_its_task_does() {
        for end in [TrialEnd::Conflict, TrialEnd::Lost] {
            assert_eq!((fate(end, false), fate(end, true)), (Fate::ComesAgain, Fate::Requeued));
        }
        for (end, becomes) in [
            (TrialEnd::Proven, Fate::Merged),
            (TrialEnd::NothingFails, Fate::Duplicate),
            (TrialEnd::Unfit, Fate::Refused),
            (TrialEnd::Stopped, Fate::Stops),
        ] {
            assert_eq!((fate(end, false), fate(end, true)), (becomes, becomes));
        }
    }

    proptest! {
        #[test]
        fn the_guilty_change_is_found_in_as_many_looks_as_it_has_bits((changes, guilty) in (1_usize..300).prop_flat_map(|all| (Just(all), 0..all))) {
            let mut search = Bisection::of(changes).unwrap();
            let mut looks = 0;
            while let Some(first) = search.next() {
                prop_assert!(0 < first && first < changes);
                search = search.learn(first, first > guilty);
                looks += 1;
            }
            prop_assert_eq!(search.guilty(), guilty);
            prop_assert!(1_usize << looks < 2 * changes);
        }
    }

    #[test]
    fn a_change_is_merged_behind_those_that_it_depends_on() {
        let on = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<String>>();
        let (last, none, circle) = (on(&["c", "gone"]), on(&[]), on(&["x"]));
        let order = in_order(&[(Some("t"), &last), (None, &none), (Some("c"), &none), (Some("d"), &none)]);
        assert_eq!(order, [1, 2, 0, 3]);
        assert_eq!(in_order(&[(Some("x"), &circle), (Some("y"), &none)]), [1, 0]);
    }
}
