//! Numbers that a change adds, each with the next one in its place: where no test notices, nothing says that it is the right one. A remark.

use std::collections::{BTreeMap, BTreeSet};

use super::super::bench::TrialError;
use super::choices::is_green;
use super::court::Court;
use super::outcome;
use crate::domain::line_diff::{Side, changed_lines};
use crate::domain::remark::{Remark, RemarkKind};
use crate::framework::source::{Number, apply, numbers};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::policy::tamper::build::is_build_file;
use crate::test_run::TestRun;

/// Numbers that are tried at most.
const MOST_NUMBERS: usize = 6;
/// A file with more is data.
const MOST_OF_A_FILE: usize = 60;

/// Numbers with which programs count, and begin.
const FIRST: [&str; 2] = ["0", "1"];

/// A number of a changed file.
struct At<'c> {
    path: &'c str,
    text: &'c str,
    number: Number,
}

impl Court<'_> {
    /// Tries the numbers that the change adds, one after another.
    pub(super) async fn numbers(&mut self, green: &TestRun, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::Choices) {
            return Ok(());
        }
        let is_of_product = |change: &&Change| !change.may_edit_tests && !self.is_judge(&change.path);
        let product = changes.iter().filter(is_of_product).filter(|change| !is_build_file(&change.path));
        let mut places: Vec<At<'_>> = product.flat_map(places_of).collect();
        places.retain(|at| !self.is_remarked(at.path, at.number.line));
        let mut free = Vec::new();
        for _ in 0..MOST_NUMBERS {
            if places.is_empty() {
                break;
            }
            let place = places.swap_remove(self.chance.below(places.len()));
            // First the tests that failed at the start alone, which notice most numbers.
            let Some(run) = self.of_failed(&with_next(&place)).await? else { return Ok(()) };
            if !outcome::did_not_run(&run) && is_green(&run, green) {
                free.push(place);
            }
        }
        for place in free {
            if self.is_remarked(place.path, place.number.line) {
                continue;
            }
            // Tests that passed at the start may look at it.
            let Some(run) = self.runs.whole(self.tree, &with_next(&place)).await? else { return Ok(()) };
            if !outcome::did_not_run(&run) && is_green(&run, green) && run.report.passed == green.report.passed {
                let said = format!("no test tells `{}` from `{}`", place.number.spelled, place.number.next.text);
                let (kind, file) = (RemarkKind::UntestedChoice, place.path.to_owned());
                let lines = Some((place.number.line, place.number.line));
                self.remarks.push(Remark { kind, file, lines, said: Some(said) });
            }
        }
        Ok(())
    }

    /// Whether tests stand in a file.
    pub(super) fn is_judge(&self, path: &str) -> bool {
        self.bodies.sources.iter().any(|source| source.path() == path && source.has_tests())
    }

    /// Whether a reviewer is sent to a line already.
    fn is_remarked(&self, path: &str, line: u32) -> bool {
        let is_there = |remark: &Remark| remark.lines.is_some_and(|(first, last)| (first..=last).contains(&line));
        self.remarks.iter().any(|remark| remark.file == path && is_there(remark))
    }
}

/// The numbers that a change adds to a file.
fn places_of(change: &Change) -> Vec<At<'_>> {
    let (before, after) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default());
    let added = changed_lines(before, after).into_iter().filter(|line| line.side == Side::New);
    let added: BTreeSet<u32> = added.map(|line| line.number).collect();
    let had: BTreeMap<String, usize> = often(&numbers(&change.path, before));
    let found = numbers(&change.path, after);
    let has = often(&found);
    // One that stands there as often as before was moved.
    let is_new = |number: &Number| {
        !FIRST.contains(&number.spelled.as_str())
            && added.contains(&number.line)
            && has.get(&number.spelled) > had.get(&number.spelled)
    };
    let new: Vec<Number> = found.into_iter().filter(is_new).collect();
    if new.len() > MOST_OF_A_FILE {
        return Vec::new();
    }
    new.into_iter().map(|number| At { path: &change.path, text: after, number }).collect()
}

/// How often each number is written.
fn often(numbers: &[Number]) -> BTreeMap<String, usize> {
    let mut often = BTreeMap::new();
    for number in numbers {
        *often.entry(number.spelled.clone()).or_insert(0) += 1;
    }
    often
}

/// The file with the next number in the place of one.
fn with_next(place: &At<'_>) -> BTreeMap<String, String> {
    let text = apply(place.text, std::slice::from_ref(&place.number.next));
    text.map(|text| (place.path.to_owned(), text)).into_iter().collect()
}
