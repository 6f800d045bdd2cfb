//! Which tests are treated how in which run. Pure.
//!
//! All tests together take five runs. In two of them a random half fails before its body and the other half, under other names, must pass.
//! In two others one half fails after its body while the other expects another value. In the last all expect the values that they had at
//! the start, where its report names them. The choice of halves and the order of runs are random, so that code under test cannot tell an
//! experiment from an honest run.

use super::bodies::{Bodies, Located};
use crate::framework::source::{Edit, Expectation, Means, Place, Poison, Side, Source};

/// A way to treat a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// It is made to fail.
    Poisoned(Place),
    /// It expects a value far from the right one.
    Altered,
    /// It expects the value that it had at the start.
    AsItWas,
    /// It is called otherwise.
    Renamed,
    /// It calls the product with other values, and fails.
    OtherInputs(Side),
}

/// One run: what is done to which tests, by their number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Round {
    /// The treatments.
    pub(super) treatments: Vec<(usize, Treatment)>,
}

/// Random bits, used up from the lowest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance(pub(super) u128);

impl Chance {
    /// A number below this one, which is not zero.
    pub(super) fn below(&mut self, most: usize) -> usize {
        // Sixteen coins are far more than there ever are places.
        let bits = (0..16).fold(0, |bits, _| bits << 1 | usize::from(self.coin()));
        bits.checked_rem(most).unwrap_or_default()
    }

    /// A fair coin.
    pub(super) fn coin(&mut self) -> bool {
        let side = self.0 & 1 == 1;
        // Rotated, not shifted, so that the bits never run out.
        self.0 = self.0.rotate_right(1);
        side
    }
}

/// The rounds for so many tests.
pub(super) fn rounds(tests: usize, chance: &mut Chance) -> Vec<Round> {
    let mut half: Vec<bool> = (0..tests).map(|_| chance.coin()).collect();
    // With two tests or more neither half is empty.
    if tests > 1
        && half.iter().all(|side| Some(side) == half.first())
        && let Some(side) = half.first_mut()
    {
        *side = !*side;
    }
    let round = |swapped: bool, one: Treatment, other: Treatment| Round {
        treatments: half.iter().map(|side| if *side == swapped { other } else { one }).enumerate().collect(),
    };
    let mut first = [
        round(false, Treatment::Poisoned(Place::First), Treatment::Renamed),
        round(true, Treatment::Poisoned(Place::First), Treatment::Renamed),
    ];
    let mut last = [
        round(false, Treatment::Poisoned(Place::Last), Treatment::Altered),
        round(true, Treatment::Poisoned(Place::Last), Treatment::Altered),
    ];
    let as_it_was = Round { treatments: (0..tests).map(|test| (test, Treatment::AsItWas)).collect() };
    if chance.coin() {
        first.reverse();
    }
    if chance.coin() {
        last.reverse();
    }
    let mut all = Vec::new();
    if chance.coin() {
        all.extend(last);
        all.extend(first);
    } else {
        all.extend(first);
        all.extend(last);
    }
    all.insert(if chance.coin() { 0 } else { all.len() }, as_it_was);
    all
}

/// The edits that treat a test. `None` where that cannot be done to it.
pub(super) fn edits(
    bodies: &Bodies,
    source: &Source,
    test: &Located,
    treatment: Treatment,
    means: Means,
    word: &str,
) -> Option<Vec<Edit>> {
    match treatment {
        Treatment::OtherInputs(side) => {
            let is_free = |word: &str| !bodies.means_something(word);
            source.with_other_inputs(&test.body, &decisive(source, test), side, word, &is_free)
        }
        Treatment::Poisoned(place) => source.poisoned(&test.body, &Poison { place, means, word: word.to_owned() }),
        Treatment::Renamed if source.spells_its_name(&test.body) => None,
        Treatment::Renamed => Some(vec![source.renamed(&test.body, word)]),
        Treatment::AsItWas => {
            let said = test.said.as_deref()?;
            // A poll calls an assertion until it holds: what was so at the start may be so on the way.
            let is_asked_once = |one: &&Expectation| !source.is_asked_by_another(&test.body, one);
            let once = decisive(source, test);
            let edits: Vec<Edit> =
                once.iter().filter(is_asked_once).filter_map(|one| source.as_it_was(one, said)).collect();
            (edits.len() == 1 && test.failed_at.is_some()).then_some(edits)
        }
        Treatment::Altered => {
            let expectations = decisive(source, test);
            let edits: Option<Vec<Vec<Edit>>> = expectations.iter().map(|one| source.altered(one, word)).collect();
            let edits = edits.map(|edits| edits.concat()).filter(|edits| !edits.is_empty());
            let at = test.failed_at;
            edits
                .or_else(|| source.joined(&test.body, at?, word))
                // An assertion of a truth expects no value.
                .or_else(|| source.opposed(&test.body, at?))
        }
    }
}

/// The expectations of the assertion that failed at the start. All of the test where it is not known which one did.
pub(super) fn decisive(source: &Source, test: &Located) -> Vec<Expectation> {
    let all = source.expectations(&test.body);
    let at = |line: u32| -> Vec<Expectation> {
        all.iter().filter(|one| (one.lines.0..=one.lines.1).contains(&line)).cloned().collect()
    };
    test.failed_at.map(at).unwrap_or(all)
}

/// The literals that the assertion which failed at the start expects, as written. All of the test's where it is not known which one did.
pub(super) fn expected<'s>(source: &'s Source, test: &Located) -> Vec<&'s str> {
    decisive(source, test).iter().flat_map(|one| source.written(one)).collect()
}

/// Whether a silent [`Treatment::Altered`] accuses: only of the assertion that failed at the start.
pub(super) fn accuses(source: &Source, test: &Located) -> bool {
    let by_value = |line| source.joined(&test.body, line, "").is_some();
    let by_truth = |line| source.opposed(&test.body, line).is_some();
    test.failed_at.is_some_and(|line| !decisive(source, test).is_empty() || by_value(line) || by_truth(line))
}

/// Every name under which the tests are selected.
pub(super) fn selection(bodies: &Bodies, tests: &[(usize, Option<Treatment>)], word: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    for (test, treatment) in tests.iter().filter_map(|(at, treatment)| Some((bodies.tests.get(*at)?, treatment))) {
        let Some(source) = bodies.source(test) else { continue };
        for name in &test.names {
            let name = match treatment {
                Some(Treatment::Renamed) => source.renamed_name(&test.body, name, word).unwrap_or_else(|| name.clone()),
                Some(Treatment::Poisoned(_) | Treatment::Altered | Treatment::AsItWas | Treatment::OtherInputs(_))
                | None => name.clone(),
            };
            names.push(source.without_row(&name).to_owned());
        }
    }
    names.sort();
    names.dedup();
    names.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_is_treated_in_every_way_once() {
        for seed in 0..64 {
            for count in 1..5 {
                let rounds = rounds(count, &mut Chance(seed * 0x9E37_79B9_7F4A_7C15));
                assert_eq!(rounds.len(), 5);
                for test in 0..count {
                    let of: Vec<Treatment> = rounds
                        .iter()
                        .flat_map(|round| &round.treatments)
                        .filter(|(at, _)| *at == test)
                        .map(|(_, one)| *one)
                        .collect();
                    for wanted in [
                        Treatment::Poisoned(Place::First),
                        Treatment::Poisoned(Place::Last),
                        Treatment::Altered,
                        Treatment::AsItWas,
                        Treatment::Renamed,
                    ] {
                        assert_eq!(of.iter().filter(|one| **one == wanted).count(), 1, "{seed} {count} {test} {of:?}");
                    }
                }
                let mixed = |round: &Round| {
                    round.treatments.iter().any(|(_, one)| Some(one) != round.treatments.first().map(|(_, one)| one))
                };
                let is_mixed = rounds.iter().filter(|round| mixed(round)).count();
                assert_eq!(is_mixed, if count > 1 { 4 } else { 0 }, "a half must not be empty");
            }
        }
    }
}
