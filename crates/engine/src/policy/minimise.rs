//! Which hunks of a green change are tried to be left out next (delta debugging, Zeller and Hildebrandt 2002, complements only).
//!
//! Pure: tries are judged elsewhere. Invariant: the kept hunks are a subset of the green ones, never empty, and were seen green themselves.
//! Every search ends.

/// A search under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// Hunks that suffice for green, as far as is known.
    kept: Vec<usize>,
    /// Hunks that stay, whether green needs them or not.
    pinned: Vec<usize>,
    /// Into how many parts the rest is cut.
    parts: usize,
    /// Which part is left out next.
    part: usize,
}

impl Search {
    /// Begins with all of `count` hunks. The `pinned` ones are never left out.
    #[must_use]
    pub fn new(count: usize, pinned: &[usize]) -> Self {
        Self { kept: (0..count).collect(), pinned: pinned.to_vec(), parts: 2, part: 0 }
    }

    /// The hunks to keep in the next try. `None` when nothing more can be left out.
    #[must_use]
    pub fn next(&self) -> Option<Vec<usize>> {
        let loose: Vec<usize> = self.kept.iter().copied().filter(|hunk| !self.pinned.contains(hunk)).collect();
        let parts = self.parts.min(loose.len());
        // One hunk that is left is the change itself: that it is needed was seen when the tests were red without it.
        if self.part >= parts || self.kept.len() < 2 {
            return None;
        }
        let (from, to) = (loose.len() * self.part / parts, loose.len() * (self.part + 1) / parts);
        let left_out = loose.get(from..to)?;
        let rest: Vec<usize> = self.kept.iter().copied().filter(|hunk| !left_out.contains(hunk)).collect();
        // With nothing left there would be no change to judge.
        (!rest.is_empty()).then_some(rest)
    }

    /// Takes in what the tests said about [`Self::next`].
    pub fn observe(&mut self, was_green: Seen) {
        let loose = |kept: &[usize], pinned: &[usize]| kept.iter().filter(|hunk| !pinned.contains(hunk)).count();
        match (was_green, self.next()) {
            (Seen::Green, Some(rest)) => {
                self.kept = rest;
                // The parts keep their size, as one of them is gone.
                self.parts = self.parts.saturating_sub(1).max(2);
                self.part = 0;
            }
            (Seen::Green | Seen::Other, _) => {
                self.part += 1;
                let most = loose(&self.kept, &self.pinned);
                // Finer only when every part was needed. At single hunks it stays, and the search ends.
                if self.part >= self.parts.min(most) && self.parts < most {
                    self.parts = (self.parts * 2).min(most);
                    self.part = 0;
                }
            }
        }
    }

    /// The hunks that are kept.
    #[must_use]
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }
}

/// The tests' result for a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Green.
    Green,
    /// Anything else.
    Other,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Searches to the end. Returns the kept hunks and the number of tries.
    fn search(count: usize, pinned: &[usize], needed: &[usize]) -> (Vec<usize>, usize) {
        let mut search = Search::new(count, pinned);
        let mut tries = 0;
        while let Some(rest) = search.next() {
            tries += 1;
            assert!(tries < 10_000, "ends");
            let green = needed.iter().all(|hunk| rest.contains(hunk));
            search.observe(if green { Seen::Green } else { Seen::Other });
        }
        (search.kept().to_vec(), tries)
    }

    #[test]
    fn one_hunk_is_not_tried_and_one_of_many_is_found_in_few_tries() {
        assert_eq!(search(1, &[], &[0]), (vec![0], 0));
        assert_eq!(search(2, &[], &[1]), (vec![1], 1));
        let (kept, tries) = search(8, &[], &[5]);
        assert_eq!(kept, [5]);
        assert!(tries <= 8, "{tries}");
    }

    proptest! {
        #[test]
        fn exactly_what_is_needed_or_pinned_is_kept(
            count in 1_usize..14,
            needed in prop::collection::btree_set(0_usize..14, 1..5),
            pinned in prop::collection::btree_set(0_usize..14, 0..3),
        ) {
            let needed: Vec<usize> = needed.into_iter().filter(|hunk| *hunk < count).collect();
            let pinned: Vec<usize> = pinned.into_iter().filter(|hunk| *hunk < count).collect();
            let (kept, _) = search(count, &pinned, &needed);
            prop_assert!(!kept.is_empty());
            let mut expected: Vec<usize> = needed.iter().chain(&pinned).copied().collect();
            expected.sort_unstable();
            expected.dedup();
            if !expected.is_empty() {
                prop_assert_eq!(kept, expected);
            }
        }
    }
}
