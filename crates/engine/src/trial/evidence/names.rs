//! A test under another name: the product must not know what it is called.

use super::super::bench::TrialError;
use super::court::{Carried, Court};
use super::outcome::{self, Shown};
use super::rounds::{self, Treatment};
use crate::domain::remark::RemarkKind;
use crate::domain::test_report::TestCase;
use crate::framework::source::Means;
use crate::test_run::TestRun;

impl Court<'_> {
    /// Whether, over the start's product, a test fails in the same words under both names, and over the changed one it passes under its own.
    pub(super) async fn names_do_not_matter(&mut self, test: usize) -> Result<bool, TrialError> {
        let (own, other) = ([(test, None)], [(test, Treatment::Renamed)]);
        let selection = rounds::selection(self.bodies, &own, "");
        let told = self.told(&own, "");
        let tells = |run: &TestRun| outcome::tells_of(run, &told);
        // The file is written anew without a change, so that the name is all in which the two runs differ.
        let untouched = self.untouched(test);
        let Some(twin) = self.runs.telling(self.tree, &untouched, &selection, &tells).await? else { return Ok(false) };
        let Some(plain) = self.runs.telling(self.start, &untouched, &selection, &tells).await? else {
            return Ok(false);
        };
        let Carried::Out(renamed) = self.carry_out(self.start, &other, Means::Raise).await? else { return Ok(false) };
        let Some(located) = self.bodies.tests.get(test) else { return Ok(false) };
        let Some(source) = self.bodies.source(located) else { return Ok(false) };
        let passes = outcome::of(&twin, source, located) == Shown::Passed;
        let as_at_the_start =
            |one: &TestCase| located.said.as_ref().is_some_and(|said| said.trim() == one.message.trim());
        let mut failing = twin.report.failing().filter(|one| source.is_called(&located.body, &one.name));
        if failing.any(as_at_the_start) {
            // The same text, written anew: something looks at when that was. A test that needs another one before it fails in other words.
            self.remark(test, RemarkKind::RightHereOnly);
        }
        let words = |run: &TestRun, word: &str| -> Vec<String> {
            let added = source.name_with("", word);
            run.report.failing().map(|test| unindented(&test.message.replace(&added, "").replace(word, ""))).collect()
        };
        let (before, after) = (words(&plain, &renamed.word), words(&renamed.run, &renamed.word));
        Ok(passes
            && !outcome::did_not_run(&renamed.run)
            && before == after
            && before.iter().any(|words| !words.is_empty()))
    }
}

/// A message without the spaces before its lines: a mark below a quoted line moves with the length of a name in that.
fn unindented(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}
