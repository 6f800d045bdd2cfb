//! The tests with other values in their calls: a change that makes no difference for them may be right for the tests' own alone.
//!
//! Nobody knows what the product should say to those values. So the tests are made to fail, and what they report of it is compared
//! between the start and the change. Lists and words grow at one end and then at the other: what is right for the first value, or for the
//! last, shows a difference in one of the two. It only ever leaves a remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::court::{Carried, Court, Tried};
use super::rounds::{self, Treatment};
use super::{bodies, outcome, overfit, tally};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::framework::source::{Language, Means, Side};
use crate::policy::guard::Guard;

/// Values that tests report, by the tests' number.
type Told = BTreeMap<usize, Vec<String>>;

/// A line of a report that names a place, a process or a file of ours, which say nothing of a value.
const PLACES: [&str; 4] = ["panicked at", "Traceback", "  at ", "/results-"];

/// Stands before the line of a test that failed, where pytest quotes it.
const FAILED_LINE: &str = "> ";

/// A line of pytest's that tells which call a value came from.
const WHERE: &str = "+  where ";
/// The least length of a quotation, in bytes. A shorter text may stand in any line.
const SHORTEST_QUOTATION: usize = 5;

impl Court<'_> {
    /// Compares what the tests report of other values with and without the change.
    pub(super) async fn other_inputs(&mut self) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        if self.bodies.tests.is_empty() {
            return self.other_words().await;
        }
        let all: Vec<usize> = (0..self.bodies.tests.len()).collect();
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let start: TreeId = self.start.clone();
        let (with, without) = self.said_with_and_without(&all, Side::Behind, &word).await?;
        let mut silent: Vec<usize> = with.keys().copied().filter(|test| with.get(test) == without.get(test)).collect();
        for side in [Side::Before, Side::Both] {
            if !silent.is_empty() {
                let (with, without) = self.said_with_and_without(&silent, side, &word).await?;
                silent.retain(|test| with.contains_key(test) && with.get(test) == without.get(test));
            }
        }
        for test in &silent {
            self.remark(*test, RemarkKind::RightForTheseOnly);
        }
        // An answer that moved with what is passed in, and with the change does not.
        let moved: Vec<usize> = with.keys().copied().filter(|test| !silent.contains(test)).collect();
        let plain = self.said_by(self.tree, &moved, Treatment::Altered, &word).await?;
        let mut rigid: Vec<usize> = moved.into_iter().filter(|test| same(&plain, &with, *test)).collect();
        if rigid.is_empty() {
            return Ok(());
        }
        let before = self.said_by(self.tree, &rigid, Treatment::OtherInputs(Side::Before), &word).await?;
        rigid.retain(|test| same(&plain, &before, *test));
        let plain = self.said_by(&start, &rigid, Treatment::Altered, &word).await?;
        rigid.retain(|test| plain.contains_key(test) && without.contains_key(test) && !same(&plain, &without, *test));
        for test in rigid {
            self.remark(test, RemarkKind::RightForTheseOnly);
        }
        Ok(())
    }

    /// The values that the tests report for other inputs, with the change and without it.
    async fn said_with_and_without(
        &mut self,
        tests: &[usize],
        side: Side,
        word: &str,
    ) -> Result<(Told, Told), TrialError> {
        let start: TreeId = self.start.clone();
        let treatment = Treatment::OtherInputs(side);
        let with = self.said_by(self.tree, tests, treatment, word).await?;
        let told: Vec<usize> = with.keys().copied().collect();
        let without = self.said_by(&start, &told, treatment, word).await?;
        Ok((with, without))
    }

    /// The values that the tests report over a tree when they are treated. Tests that report no value are left out.
    async fn said_by(
        &mut self,
        tree: &TreeId,
        tests: &[usize],
        treatment: Treatment,
        word: &str,
    ) -> Result<Told, TrialError> {
        if tests.is_empty() {
            return Ok(Told::new());
        }
        let treatments: Vec<_> = tests.iter().map(|test| (*test, treatment)).collect();
        match self.carry_out_with(tree, &treatments, Means::Raise, word.to_owned()).await? {
            Carried::Out(tried) => {
                Ok(tests.iter().filter_map(|test| Some((*test, self.said_of(&tried, *test)?))).collect())
            }
            Carried::Nothing | Carried::OutOfTime => Ok(Told::new()),
        }
    }

    /// The same where no test's body is known: words that are passed in and also stand in the expected text are made longer in both places.
    /// A product that passes its input on still passes.
    async fn other_words(&mut self) -> Result<(), TrialError> {
        let texts = bodies::files_of_tests(self.runs.bench, self.start)?;
        let start: TreeId = self.start.clone();
        let mut file = None;
        for side in [Side::Behind, Side::Before] {
            let longer = texts.iter().filter_map(|(path, text)| Some((path.clone(), self.longer_words(text, side)?)));
            let varied: BTreeMap<String, String> = longer.collect();
            file = varied.keys().next().cloned();
            if varied.is_empty() {
                return Ok(());
            }
            let Some(with) = self.runs.whole(self.tree, &varied).await? else { return Ok(()) };
            if with.exit.is_success() || outcome::did_not_run(&with) {
                return Ok(());
            }
            let Some(without) = self.runs.whole(&start, &varied).await? else { return Ok(()) };
            if without.output != with.output {
                return Ok(());
            }
        }
        let (kind, said) = (RemarkKind::RightForTheseOnly, Some(format!("`{}`", self.runs.bench.tests.command)));
        self.remarks.extend(file.map(|file| Remark { kind, file, lines: None, said }));
        Ok(())
    }

    /// A file of tests with longer words. `None` where it has none to vary.
    fn longer_words(&self, text: &str, side: Side) -> Option<String> {
        let told = overfit::told(text);
        let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let in_expected =
            |word: &str| told.quoted.iter().any(|quoted| quoted.split(|c| !part(c)).any(|one| one == word));
        // A word that the product knows may mean something else when it is longer.
        let is_free = |word: &&String| {
            word.bytes().all(|byte| byte.is_ascii_alphabetic())
                && in_expected(word)
                && !self.bodies.means_something(word)
        };
        let mut varied = text.to_owned();
        for word in told.passed.iter().filter(is_free) {
            let longer = match side {
                Side::Behind => format!("{word}q"),
                Side::Before => format!("q{word}"),
                Side::Both => format!("q{word}q"),
            };
            let mut rest = varied.as_str();
            let mut whole = String::with_capacity(varied.len());
            while let Some((before, after)) = rest.split_once(word.as_str()) {
                whole.push_str(before);
                // Whole words alone: the `cart` in `carts` is another one.
                let is_part = whole.ends_with(part) || after.starts_with(part);
                whole.push_str(if is_part { word } else { &longer });
                rest = after;
            }
            whole.push_str(rest);
            varied = whole;
        }
        (varied != text).then_some(varied)
    }

    /// A failing test's words about the value that it got. `None` where it does not fail by the assertion that failed at the start.
    fn said_of(&self, tried: &Tried, test: usize) -> Option<Vec<String>> {
        let located = self.bodies.tests.get(test)?;
        let source = self.bodies.source(located)?;
        let is_treated = tried.treated.iter().any(|(at, _)| *at == test);
        if !is_treated || outcome::did_not_run(&tried.run) {
            return None;
        }
        let failing = tried.run.report.failing().filter(|one| source.is_called(&located.body, &one.name));
        // All rows of a table speak: of one that passed at the start too nothing new can be said.
        let mut messages: Vec<&str> = failing.map(|one| one.message.as_str()).collect();
        messages.sort_unstable();
        let message = *messages.first()?;
        let at_the_start = located.said.as_deref()?;
        // A report of a comparison names what was expected; Go's own words may not.
        let expected = rounds::expected(source, located);
        let compares = |said: &str| expected.iter().any(|value| said.contains(value.trim_matches(['"', '\''])));
        let in_own_words = Language::of(source.path()) == Some(Language::Go) && !message.trim().is_empty();
        let compared = compares(at_the_start) || in_own_words;
        let quoted = quotations(source.text(), located.body.lines);
        let told: Vec<String> = messages.iter().flat_map(|message| values(message, &quoted)).collect();
        let is_error = names_an_error(at_the_start) || names_an_error(message);
        let is_told = compared && !is_error && kind_of(message) == kind_of(at_the_start);
        (is_told && !told.is_empty()).then_some(told)
    }
}

/// The beginnings of a test's lines, each up to its first literal: a report that quotes the test quotes what was passed in, and says
/// nothing of the answer by that.
fn quotations(text: &str, (first, last): (u32, u32)) -> Vec<&str> {
    let to_index = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let lines = text.lines().skip(to_index(first.saturating_sub(1))).take(to_index(last - first + 1));
    let begins = lines.filter_map(|line| line.trim().split(|c: char| c.is_ascii_digit() || "\"'`".contains(c)).next());
    begins.filter(|begin| begin.len() >= SHORTEST_QUOTATION).collect()
}

/// Whether a test reports the same twice.
fn same(one: &Told, other: &Told, test: usize) -> bool {
    one.get(&test).is_some_and(|said| other.get(&test) == Some(said))
}

/// Whether a report is of another exception than an assertion's: it says nothing of a value.
pub(super) fn names_an_error(message: &str) -> bool {
    let mut words = message.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_error = |word: &str| word.ends_with("Error") || word.ends_with("Exception");
    words.any(|word| is_error(word) && !word.starts_with("Assertion"))
}

/// The words of a report without its values: how it failed.
fn kind_of(message: &str) -> String {
    // pytest quotes the test first, up to the line that failed.
    let failed = message.lines().find_map(|line| line.strip_prefix(FAILED_LINE));
    let first = failed.or_else(|| lines(message).next()).unwrap_or_default();
    let mut quote = None;
    let mut kept = String::new();
    for c in first.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c.is_alphabetic() => kept.push(c),
            None => {}
        }
    }
    kept
}

fn values(message: &str, quoted: &[&str]) -> Vec<String> {
    let is_answer = |line: &&str| !line.contains(WHERE) && !quoted.iter().any(|begin| line.contains(begin));
    lines(message).filter(is_answer).map(str::to_owned).collect()
}

pub(super) fn lines(message: &str) -> impl Iterator<Item = &str> {
    let says = |line: &&str| !line.trim().is_empty() && !PLACES.iter().any(|place| line.contains(place));
    message.lines().filter(says)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_test_fails_is_told_from_what_it_got() {
        assert_eq!(kind_of("AssertionError: 5 != 6"), kind_of("AssertionError: 12 != 600"));
        assert_ne!(kind_of("AssertionError: 5 != 6"), kind_of("ValueError: invalid literal for int(): '5'"));
        assert_eq!(
            kind_of("\nAssertionError: 'Hello Ada' != 'Hello, Ada'\n- x"),
            kind_of("AssertionError: 'Hello Adaq' != 'qxyz'")
        );
        assert!(names_an_error("AttributeError: 'NoneType' object") && !names_an_error("AssertionError: 5 != 6"));
        assert_eq!(kind_of("got 5"), kind_of("got 8"));
        assert_ne!(values("got 5", &[]), values("got 8", &[]));
        let panics =
            "thread 'adds' (77) panicked at tests/a.rs:5:5:\nassertion `left == right` failed\n  left: 5\n right: 6";
        assert_eq!(values(panics, &[]), values(&panics.replace("77", "78"), &[]));
    }

    #[test]
    fn a_quotation_of_the_test_says_nothing_of_the_answer() {
        let test = "class A:\n    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n        f(1)\n";
        let quoted = quotations(test, (2, 4));
        assert_eq!(quoted, ["def test_total(self):", "self.assertEqual(total(["]);
        let said = |list: &str| {
            format!("    self.assertEqual(total([{list}]), 9)\n +  where 6 = total([{list}])\nAssertionError: 6 != 9")
        };
        assert_eq!(values(&said("1, 2"), &quoted), values(&said("1, 2, 2"), &quoted));
        assert_eq!(values(&said("1, 2"), &quoted), ["AssertionError: 6 != 9"]);
    }
}
