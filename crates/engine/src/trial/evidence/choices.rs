//! Conditions and operands that a change adds, settled one way and the other: a place that may go one way every time, while the other way
//! breaks what the change mends, decides by something that no test looks at. It leaves a remark.
//!
//! A right fix is right without such a place. A change that is right only here, or for the tests' own values, needs one: what it asks (the
//! time, the machine, whether a list rises) is of no importance, so that no list of it is needed.

use std::collections::{BTreeMap, BTreeSet};

use super::super::bench::TrialError;
use super::court::{Court, before_ms};
use super::moved::{moved, with_new_consequence};
use super::outcome;
use super::tally::Tally;
use crate::domain::line_diff::{Side, changed_lines};
use crate::domain::proof::EvidenceKind;
use crate::domain::remark::{Remark, RemarkKind, TIME_UP, TOO_MANY};
use crate::domain::units::TreeId;
use crate::framework::source::{Choice, Edit, Language, Way, apply, choices, decides_when_built};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::policy::tamper::remarks::added_lines;
use crate::test_run::TestRun;

/// Places that are tried at most.
const MOST_PLACES: usize = 32;
/// A file above this is data.
const MOST_BYTES: usize = 1 << 20;
/// A change has slowed the tests down when they take so many times as long as at the start, and so much more, in milliseconds.
const SLOWER: u64 = 2;
const SLACK_MS: u64 = 2_000;
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
        let is_same = self.path == other.path;
        let (own, other) = (range(self), range(other));
        is_same && own.start < other.end && other.start < own.end
    }
}

/// The result of settling a place.
enum Settled {
    /// A test needs it.
    Needed,
    /// Nothing hangs on it alone.
    EitherWay,
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
        let mut places: Vec<At<'_>> = Vec::new();
        for change in changes.iter().filter(|change| !change.may_edit_tests && change.after.is_some()) {
            let added = added_lines(change);
            if let Some(line) = decides_when_built(&change.path, change.before.is_none(), &added) {
                let why = "it is decided when the program is built: only one side of it was tested";
                self.left_out(&change.path, Some(line), why);
            }
            match places_of(change, &added) {
                Some(more) => places.extend(more),
                None => self.left_out(
                    &change.path,
                    None,
                    "it is not understood, or too large: no condition in it was tried",
                ),
            }
        }
        self.unread(green, changes).await?;
        // A loop whose condition is settled may have no end.
        self.runs.hurry(true);
        let settled = self.settle_each(green, places).await;
        self.runs.hurry(false);
        settled
    }

    /// The program's own places first: those that texts hold, and calls, may not take their turns.
    async fn settle_each(&mut self, green: &TestRun, places: Vec<At<'_>>) -> Result<(), TrialError> {
        let (asked, places): (Vec<_>, Vec<_>) = places.into_iter().partition(|at| at.choice.is_answered());
        let (within, places) = places.into_iter().partition(|at| at.choice.is_within_text);
        self.settle_all(green, places).await?;
        self.settle_quietly(green, within).await?;
        self.settle_quietly(green, asked).await
    }

    /// Settles calls by fixed answers, and conditions within texts. Where there are too many of them, or half of the time is over, the rest
    /// go untold: most calls are what they seem.
    async fn settle_quietly(&mut self, green: &TestRun, mut places: Vec<At<'_>>) -> Result<(), TrialError> {
        for _ in 0..MOST_PLACES {
            if places.is_empty() || self.runs.is_half_spent() {
                break;
            }
            let place = places.swap_remove(self.chance.below(places.len()));
            match self.settle(green, &place).await? {
                Settled::OutOfTime => return Ok(()),
                Settled::DidNotRun | Settled::EitherWay => {}
                Settled::Needed => {
                    self.of_choices().tried += 1;
                    self.of_choices().noticed += 1;
                }
                Settled::Needless(way) => {
                    self.untested(&place, in_words(&place.choice, &way));
                    places.retain(|other| !other.overlaps(&place));
                }
            }
        }
        Ok(())
    }

    async fn settle_all(&mut self, green: &TestRun, mut places: Vec<At<'_>>) -> Result<(), TrialError> {
        let mut indifferent = Vec::new();
        for _ in 0..MOST_PLACES {
            if places.is_empty() {
                break;
            }
            // Where there are more than can be tried, nobody knows which are.
            let place = places.swap_remove(self.chance.below(places.len()));
            match self.settle(green, &place).await? {
                Settled::OutOfTime => {
                    self.of_choices().out_of_time = true;
                    self.untried(green, &place, places.len() + indifferent.len());
                    return Ok(());
                }
                Settled::DidNotRun => {}
                Settled::Needed => {
                    self.of_choices().tried += 1;
                    self.of_choices().noticed += 1;
                }
                Settled::EitherWay => indifferent.push(place),
                Settled::Needless(way) => {
                    self.untested(&place, in_words(&place.choice, &way));
                    // What lies around it or inside it is remarked with it.
                    places.retain(|other| !other.overlaps(&place));
                }
            }
        }
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        places.iter().for_each(|place| *left.entry(place.path).or_default() += 1);
        for (path, count) in left {
            let were = if count == 1 { "was" } else { "were" };
            self.left_out(path, None, &format!("{count} of its places {were} {TOO_MANY}"));
        }
        self.together(green, indifferent).await
    }

    /// Settles the places that go either way alone all at once: some of them may stand in for others.
    async fn together(&mut self, green: &TestRun, places: Vec<At<'_>>) -> Result<(), TrialError> {
        let count = u32::try_from(places.len()).unwrap_or(u32::MAX);
        if count == 0 {
            return Ok(());
        }
        self.of_choices().tried += count;
        let mut apart: Vec<&At<'_>> = Vec::new();
        for place in &places {
            if !apart.iter().any(|other| other.overlaps(place)) {
                apart.push(place);
            }
        }
        // All ways of many places would take for ever: a random half and its counterpart stand for them.
        let coins: Vec<bool> = apart.iter().map(|_| self.chance.coin()).collect();
        // With two of them every way of both is tried.
        let mixed = |at: usize| if apart.len() == 2 { at == 0 } else { coins.get(at).copied().unwrap_or_default() };
        let ways: [&dyn Fn(usize) -> bool; 4] = [&|_| true, &|_| false, &mixed, &|at| !mixed(at)];
        // A place that is alone was tried both ways already.
        for holds in ways.into_iter().filter(|_| apart.len() > 1) {
            let edits: Vec<(&At<'_>, &Edit)> = (apart.iter().enumerate())
                .filter_map(|(at, place)| {
                    let mut ways = place.choice.ways.iter();
                    let way = if holds(at) { ways.next() } else { ways.next_back() };
                    way.map(|(edit, _)| (*place, edit))
                })
                .collect();
            let Some(run) = self.with_edits(&edits, true).await? else {
                self.of_choices().out_of_time = true;
                if let Some(place) = apart.first() {
                    self.untried(green, place, apart.len() - 1);
                }
                return Ok(());
            };
            if !outcome::did_not_run(&run) && !is_green(&run, green) {
                let all: BTreeSet<String> =
                    apart.iter().map(|place| format!("`{}`", short(&place.choice.spelled))).collect();
                let all: Vec<String> = all.into_iter().collect();
                let which = if all.len() == 1 { "the places of " } else { "" };
                if let Some(place) = apart.first() {
                    self.untested(place, format!("{which}{} stand in for each other", all.join(", ")));
                }
                return Ok(());
            }
        }
        self.of_choices().noticed += count;
        Ok(())
    }

    /// Places for which no time was left: nobody knows what hangs on them. A change that has the tests take long takes that time, too.
    fn untried(&mut self, green: &TestRun, place: &At<'_>, others: usize) {
        let before = before_ms(self.runs.bench, self.baseline, green);
        let slower =
            before.filter(|before| green.duration_ms > before * SLOWER + SLACK_MS).map_or_else(String::new, |before| {
                format!(": the tests take {} s, {} s before", green.duration_ms / 1_000, before / 1_000)
            });
        let (more, was) = if others > 0 { (format!(" and {others} more"), "were") } else { (String::new(), "was") };
        let why = format!("{TIME_UP} before `{}`{more} {was} tried{slower}", short(&place.choice.spelled));
        self.left_out(place.path, Some(place.choice.lines.0), &why);
    }

    fn untested(&mut self, place: &At<'_>, said: String) {
        self.of_choices().tried += 1;
        self.of_choices().not_had.push("a condition is not needed by any test: see the remarks".to_owned());
        let (kind, file, lines) = (RemarkKind::UntestedChoice, place.path.to_owned(), Some(place.choice.lines));
        // A reviewer looks at a line once, whatever of it no test needs.
        let mut there =
            self.remarks.iter_mut().filter(|one| one.kind == kind && one.file == file && one.lines == lines);
        if let Some(told) = there.find_map(|one| one.said.as_mut()) {
            *told = format!("{told}; {said}");
            return;
        }
        self.remarks.push(Remark { kind, file, lines, said: Some(said) });
    }

    fn left_out(&mut self, path: &str, line: Option<u32>, why: &str) {
        self.of_choices().not_had.push(format!("{path}: {why}"));
        let (kind, file, said) = (RemarkKind::UntestedChoice, path.to_owned(), Some(why.to_owned()));
        self.remarks.push(Remark { kind, file, lines: line.map(|line| (line, line)), said });
    }

    fn of_choices(&mut self) -> &mut Tally {
        self.tally.entry(EvidenceKind::Choices).or_default()
    }

    async fn settle(&mut self, green: &TestRun, place: &At<'_>) -> Result<Settled, TrialError> {
        let mut kept = None;
        for (edit, way) in &place.choice.ways {
            let Some(run) = self.with_edit(place, edit, true).await? else { return Ok(Settled::OutOfTime) };
            if outcome::did_not_run(&run) {
                // Another answer may make a program.
                if matches!(way, Way::Answered(_)) {
                    continue;
                }
                return Ok(Settled::DidNotRun);
            }
            match (is_green(&run, green), &kept) {
                (true, None) => {
                    kept = Some((edit, way.clone()));
                    if matches!(way, Way::Answered(_)) {
                        break;
                    }
                }
                // A product that the tests do not tell from either factor has one that is a condition.
                (true, Some(_)) if place.choice.either_tells => {}
                (true, Some(_)) => return Ok(Settled::EitherWay),
                (false, _) => {}
            }
        }
        let Some((edit, way)) = kept else {
            // The text may be none any more for whoever reads it.
            return Ok(if place.choice.is_within_text { Settled::DidNotRun } else { Settled::Needed });
        };
        // So far only the tests that failed at the start were asked.
        let Some(run) = self.with_edit(place, edit, false).await? else { return Ok(Settled::OutOfTime) };
        // A run that is green with fewer tests may have lost them by the edit.
        let all = !outcome::did_not_run(&run) && is_green(&run, green) && run.report.passed == green.report.passed;
        Ok(if all { Settled::Needless(way) } else { Settled::Needed })
    }

    async fn with_edit(&mut self, place: &At<'_>, edit: &Edit, selected: bool) -> Result<Option<TestRun>, TrialError> {
        self.with_edits(&[(place, edit)], selected).await
    }

    /// The tests that failed at the start, or all, over the change with edits.
    async fn with_edits(&mut self, edits: &[(&At<'_>, &Edit)], selected: bool) -> Result<Option<TestRun>, TrialError> {
        let mut texts = BTreeMap::new();
        for (place, _) in edits {
            let own = edits.iter().filter(|(other, _)| other.path == place.path).map(|(_, edit)| (*edit).clone());
            let Some(text) = apply(place.text, &own.collect::<Vec<Edit>>()) else { return Ok(None) };
            texts.insert(place.path.to_owned(), text);
        }
        if selected { self.of_failed(&texts).await } else { self.runs.whole(self.tree, &texts).await }
    }

    /// The tests that failed at the start over the change with other texts. All tests where those cannot be run alone.
    pub(super) async fn of_failed(&mut self, texts: &BTreeMap<String, String>) -> Result<Option<TestRun>, TrialError> {
        self.of_failed_on(self.tree, texts).await
    }

    /// The same on another tree.
    pub(super) async fn of_failed_on(
        &mut self,
        base: &TreeId,
        texts: &BTreeMap<String, String>,
    ) -> Result<Option<TestRun>, TrialError> {
        if self.bodies.tests.is_empty() {
            return self.runs.whole(base, texts).await;
        }
        let wanted = self.baseline.failing.join("\n");
        let told: Vec<_> = (0..self.bodies.tests.len()).map(|test| (test, None)).collect();
        let told = self.told(&told, "");
        self.runs.run(base, texts, &wanted, &|run| outcome::tells_of(run, &told)).await
    }
}

/// The places that a change adds to a file. `None` where the file is not understood, or too large, and may hold some.
fn places_of<'c>(change: &'c Change, added: &[(u32, String)]) -> Option<Vec<At<'c>>> {
    let text = change.after.as_deref().unwrap_or_default();
    if text.len() > MOST_BYTES {
        // A large file of no known language is data, and holds no condition.
        return Language::of(&change.path).is_none().then(Vec::new);
    }
    if is_recoded(&change.path, added) {
        return None;
    }
    let found = choices(&change.path, text)?;
    let before = change.before.as_deref().and_then(|before| choices(&change.path, before)).unwrap_or_default();
    let old = change.before.as_deref().unwrap_or_default();
    let moved = moved(&change.path, (old, &before), (text, &found));
    // A line that stands elsewhere as well may be a copy: what was moved is told by where it is gone.
    let new_lines = changed_lines(old, text).into_iter().filter(|line| line.side == Side::New);
    let added: BTreeSet<u32> = new_lines.map(|line| line.number).collect();
    // What was done before, and may fail now, no test needed before either.
    let was: BTreeSet<&str> = old.lines().map(str::trim).collect();
    let is_old_trial = |choice: &Choice| {
        let [first, last] = [choice.lines.0, choice.lines.1].map(|line| usize::try_from(line).unwrap_or(usize::MAX));
        let mut tried = text.lines().take(last).skip(first).map(str::trim).filter(|line| !line.is_empty()).peekable();
        let is_trial = choice.ways.iter().any(|(_, way)| *way == Way::NotTried);
        is_trial && tried.peek().is_some() && tried.all(|line| was.contains(line) || line.starts_with('}'))
    };
    let is_new = |(at, choice): (usize, &Choice)| {
        added.contains(&choice.lines.0) && !moved.contains(&at) && !is_old_trial(choice)
    };
    let new: Vec<bool> = found.iter().enumerate().map(is_new).collect();
    let reused = with_new_consequence(&change.path, text, &found, &added);
    let each = found.into_iter().zip(new).enumerate().filter_map(|(at, (mut choice, is_new))| {
        if !is_new {
            // A fix in a branch is needed where the branch is entered. Whether the branch is the right one is no question of the fix.
            choice.ways.retain(|(_, way)| *way == Way::Fails);
        }
        (is_new || reused.contains(&at) && !choice.ways.is_empty()).then_some(choice)
    });
    Some(each.map(|choice| At { path: &change.path, text, choice }).collect())
}

/// Whether a change has Python read its file in another encoding, in which comments may hold code.
fn is_recoded(path: &str, added: &[(u32, String)]) -> bool {
    let head =
        added.iter().filter(|(line, _)| path.ends_with(".py") && *line <= 2).map(|(_, text)| text.to_lowercase());
    head.filter(|text| text.trim_start().starts_with('#'))
        .any(|text| (text.contains("coding:") || text.contains("coding=")) && !text.contains("utf-8"))
}

/// Whether nothing fails that did not with the change.
pub(super) fn is_green(run: &TestRun, green: &TestRun) -> bool {
    let failed = |name: &str| green.report.failing().any(|test| test.name == name);
    // The green run itself may end badly, for the sake of tests that are set aside.
    (run.exit.is_success() || !green.exit.is_success()) && run.report.failing().all(|test| failed(&test.name))
}

/// A place in one line, as far as it is shown.
fn short(text: &str) -> String {
    // Blanks within a line stay, since they may stand in a text that is compared.
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let one_line = lines.join(" ");
    // Its quotes are those of the remark.
    let one_line = one_line.replace('`', "'");
    let cut: String = one_line.chars().take(LONGEST).collect();
    if cut == one_line { cut } else { format!("{cut}…") }
}

/// A condition without the brackets around the whole of it, which some languages ask for.
fn bare(text: &str) -> &str {
    let Some(inside) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return text };
    let mut depth = 0_i32;
    let closes_early = inside.chars().any(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0
    });
    if closes_early { text } else { inside }
}

fn in_words(choice: &Choice, way: &Way) -> String {
    let spelled = short(bare(&choice.spelled));
    match way {
        Way::Holds => format!("`{spelled}` could always hold"),
        Way::Stops => format!("no test enters `{spelled}`"),
        Way::Fails => format!("`{spelled}` could never hold"),
        Way::Unused => format!("no test uses a row of `{spelled}`"),
        Way::LeftOut => format!("no test needs `{spelled}`"),
        Way::Nothing => format!("`{spelled}` could be 0: no test sees another value of it"),
        Way::Answered(answer) => format!("`{spelled}` could be `{answer}`: no test sees another value of it"),
        Way::NotTried => format!("no test needs `{spelled}`: what handles its failure could always run"),
        Way::Row(_, row) => format!("each row of `{spelled}` could answer as `{}` does", short(row)),
        Way::Left | Way::Right => {
            let kept = choice.ways.iter().find(|(_, one)| one == way).map(|(edit, _)| short(&edit.text));
            let kept = kept.unwrap_or_default();
            // The edit has brackets of its own.
            format!("`{spelled}` could be `{}`", bare(&kept))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_around_a_whole_condition_are_not_shown() {
        assert_eq!(bare("(!a.has(b))"), "!a.has(b)");
        assert_eq!(bare("(a) || (b)"), "(a) || (b)");
        assert_eq!(bare("f(a)"), "f(a)");
    }

    #[test]
    fn a_handler_around_what_was_done_before_is_no_trial_of_the_changes() {
        let before = "def f(a):\n    log()\n    return put(a)\n";
        let trials = |body: &str| {
            let after = format!("def f(a):\n    try:\n{body}    except OSError:\n        return 0\n");
            let (before, after) = (Some(before.to_owned()), Some(after));
            let change = Change { path: "a.py".to_owned(), before, after, may_edit_tests: false };
            let all: Vec<u32> =
                change.after.iter().flat_map(|text| (1..).zip(text.lines())).map(|(at, _)| at).collect();
            let added: Vec<(u32, String)> = all.into_iter().map(|line| (line, String::new())).collect();
            let is_trial = |at: &At<'_>| at.choice.ways.iter().any(|(_, way)| *way == Way::NotTried);
            places_of(&change, &added).expect("understood").iter().filter(|at| is_trial(at)).count()
        };
        assert_eq!(trials("        log()\n        return put(a)\n"), 0);
        // One line of before does not hide a probe behind it.
        assert_eq!(trials("        log()\n        probe()\n        return put(a)\n"), 1);
    }
}
