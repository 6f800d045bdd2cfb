//! Conditions and operands that a change adds, settled one way and the other: a place that may go one way every time, while the other way
//! breaks what the change mends, decides by something that no test looks at. It leaves a remark.
//!
//! A right fix is right without such a place. A change that is right only here, or for the tests' own values, needs one: what it asks (the
//! time, the machine, whether a list rises) is of no importance, so that no list of it is needed.

use std::collections::{BTreeMap, BTreeSet};

use super::super::bench::TrialError;
use super::court::Court;
use super::outcome;
use super::tally::Tally;
use crate::domain::proof::EvidenceKind;
use crate::domain::remark::{Remark, RemarkKind};
use crate::framework::source::{Choice, Edit, Way, apply, choices};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::policy::tamper::remarks::added_lines;
use crate::test_run::TestRun;

/// Places that are tried at most.
const MOST_PLACES: usize = 12;
/// A file above this is data.
const MOST_BYTES: usize = 1 << 18;
/// How much of a place is shown.
const LONGEST: usize = 80;

/// A place of a changed file.
struct At<'c> {
    path: &'c str,
    text: &'c str,
    choice: Choice,
}

impl At<'_> {
    fn overlaps(&self, other: &Self) -> bool {
        let range = |at: &Self| at.choice.ways.first().map_or(0..0, |(edit, _)| edit.range.clone());
        let (own, other) = (range(self), range(other));
        own.start < other.end && other.start < own.end
    }
}

/// What settling a place shows.
enum Settled {
    /// A test needs it, or nothing hangs on it.
    Needed,
    /// It may go this way every time, and the other way breaks what the change mends.
    Needless(Way),
    /// No program is made by it.
    DidNotRun,
    /// No time was left.
    OutOfTime,
}

impl Court<'_> {
    /// Settles the places that the change adds, one after another.
    pub(super) async fn choices(&mut self, green: &TestRun, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::Choices) {
            return Ok(());
        }
        let mut places: Vec<At<'_>> = changes.iter().flat_map(places).collect();
        for _ in 0..MOST_PLACES {
            if places.is_empty() {
                break;
            }
            // Where there are more than can be tried, nobody knows which are.
            let place = places.swap_remove(self.chance.below(places.len()));
            match self.settle(green, &place).await? {
                Settled::OutOfTime => {
                    self.of_choices().out_of_time = true;
                    break;
                }
                Settled::DidNotRun => {}
                Settled::Needed => {
                    self.of_choices().tried += 1;
                    self.of_choices().noticed += 1;
                }
                Settled::Needless(way) => {
                    self.of_choices().tried += 1;
                    self.of_choices()
                        .not_had
                        .push("a place could go one way every time: see what is remarked".to_owned());
                    let said = Some(in_words(&place.choice, way));
                    let (kind, file, lines) =
                        (RemarkKind::UntestedChoice, place.path.to_owned(), Some(place.choice.lines));
                    self.remarks.push(Remark { kind, file, lines, said });
                    // What lies around it or inside it is remarked with it.
                    places.retain(|other| other.path != place.path || !other.overlaps(&place));
                }
            }
        }
        Ok(())
    }

    fn of_choices(&mut self) -> &mut Tally {
        self.tally.entry(EvidenceKind::Choices).or_default()
    }

    async fn settle(&mut self, green: &TestRun, place: &At<'_>) -> Result<Settled, TrialError> {
        let mut kept = None;
        for (edit, way) in &place.choice.ways {
            let Some(run) = self.with_edit(place, edit, true).await? else { return Ok(Settled::OutOfTime) };
            if outcome::did_not_run(&run) {
                return Ok(Settled::DidNotRun);
            }
            match (is_green(&run, green), &kept) {
                (true, None) => kept = Some((edit, *way)),
                // It goes either way: nothing of what the change mends hangs on it.
                (true, Some(_)) => return Ok(Settled::Needed),
                (false, _) => {}
            }
        }
        let Some((edit, way)) = kept else { return Ok(Settled::Needed) };
        let Some(run) = self.with_edit(place, edit, false).await? else { return Ok(Settled::OutOfTime) };
        let all = !outcome::did_not_run(&run) && is_green(&run, green) && run.report.passed == green.report.passed;
        Ok(if all { Settled::Needless(way) } else { Settled::Needed })
    }

    /// The tests that failed at the start, or all, over the change with an edit.
    async fn with_edit(&mut self, place: &At<'_>, edit: &Edit, selected: bool) -> Result<Option<TestRun>, TrialError> {
        let Some(text) = apply(place.text, std::slice::from_ref(edit)) else { return Ok(None) };
        let texts = BTreeMap::from([(place.path.to_owned(), text)]);
        let wanted = self.baseline.failing.join("\n");
        if !selected || self.bodies.tests.is_empty() {
            return self.runs.whole(self.tree, &texts).await;
        }
        let told: Vec<_> = (0..self.bodies.tests.len()).map(|test| (test, None)).collect();
        let told = self.told(&told, "");
        self.runs.run(self.tree, &texts, &wanted, &|run| outcome::tells_of(run, &told)).await
    }
}

/// The places that a change adds to a file of the product.
fn places(change: &Change) -> Vec<At<'_>> {
    let is_read = |text: &&str| !change.may_edit_tests && text.len() <= MOST_BYTES;
    let Some(text) = change.after.as_deref().filter(is_read) else { return Vec::new() };
    let before = change.before.as_deref().map(|before| choices(&change.path, before)).unwrap_or_default();
    let known: BTreeSet<String> = before.into_iter().map(|choice| choice.spelled).collect();
    let added: BTreeSet<u32> = added_lines(change).into_iter().map(|(line, _)| line).collect();
    let found = choices(&change.path, text).into_iter();
    found
        .filter(|choice| added.contains(&choice.lines.0) && !known.contains(&choice.spelled))
        .map(|choice| At { path: &change.path, text, choice })
        .collect()
}

/// Whether nothing fails that did not with the change.
fn is_green(run: &TestRun, green: &TestRun) -> bool {
    let failed = |name: &str| green.report.failing().any(|test| test.name == name);
    (run.exit.is_success() || !green.exit.is_success()) && run.report.failing().all(|test| failed(&test.name))
}

fn in_words(choice: &Choice, way: Way) -> String {
    let short = |text: &str| {
        let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut: String = one_line.chars().take(LONGEST).collect();
        if cut == one_line { cut } else { format!("{cut}…") }
    };
    let spelled = short(&choice.spelled);
    match way {
        Way::Holds => format!("`{spelled}` could always hold"),
        Way::Fails => format!("`{spelled}` could never hold"),
        Way::Left | Way::Right => {
            let kept = choice.ways.iter().find(|(_, one)| *one == way).map(|(edit, _)| short(&edit.text));
            format!("`{spelled}` could be `{}`", kept.unwrap_or_default())
        }
    }
}
