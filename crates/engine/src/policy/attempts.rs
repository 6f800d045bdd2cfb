//! Whether a pull request may have one more run: not for ever, whoever keeps triggering them.
//!
//! Invariant: a history that cannot be read counts as used up. Only a person's explicit wish lets a run pass then, and that run counts too.

use crate::domain::units::MicroUsd;

/// The earlier runs for a pull request, summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct History {
    /// How many there were.
    pub attempts: u32,
    /// Their total cost.
    pub spent: MicroUsd,
}

/// Knowledge of the earlier runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// This.
    Counted(History),
    /// Nothing that may be trusted, and why.
    Unreadable(String),
}

/// The origin of the wish for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// An event.
    Event,
    /// A person who may write here and asked for one more run.
    Person,
}

/// Whether a run may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It may, after these.
    Admitted(History),
    /// It may not: the runs are used up.
    UsedUp {
        /// How many there were.
        attempts: u32,
    },
    /// It may not: nobody knows how many there were.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// Decides whether one more run may begin under a cap.
#[must_use]
pub fn admit(known: Known, max: u32, wish: Wish) -> Admission {
    match (known, wish) {
        (Known::Counted(history), Wish::Event) if history.attempts >= max => {
            Admission::UsedUp { attempts: history.attempts }
        }
        // A person may pass the cap, one run at a time: the run is counted, so the next event finds the cap reached.
        (Known::Counted(history), _) => Admission::Admitted(history),
        (Known::Unreadable(why), Wish::Event) => Admission::Unknown { why },
        // Counted from the cap on, so that the next event is refused again.
        (Known::Unreadable(_), Wish::Person) => Admission::Admitted(History { attempts: max, ..History::default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(attempts: u32) -> Known {
        Known::Counted(History { attempts, spent: MicroUsd(5) })
    }

    #[test]
    fn runs_are_admitted_up_to_the_cap_and_a_person_may_ask_for_more() {
        assert_eq!(admit(counted(2), 3, Wish::Event), Admission::Admitted(History { attempts: 2, spent: MicroUsd(5) }));
        assert_eq!(admit(counted(3), 3, Wish::Event), Admission::UsedUp { attempts: 3 });
        assert_eq!(admit(counted(9), 3, Wish::Event), Admission::UsedUp { attempts: 9 });
        assert!(matches!(admit(counted(9), 3, Wish::Person), Admission::Admitted(History { attempts: 9, .. })));
    }

    #[test]
    fn what_cannot_be_told_counts_as_used_up_and_a_wish_counts_from_there() {
        let unreadable = || Known::Unreadable("gone".to_owned());
        assert_eq!(admit(unreadable(), 3, Wish::Event), Admission::Unknown { why: "gone".to_owned() });
        let Admission::Admitted(history) = admit(unreadable(), 3, Wish::Person) else { panic!("a person asked") };
        assert!(matches!(admit(Known::Counted(history), 3, Wish::Event), Admission::UsedUp { .. }));
    }
}
