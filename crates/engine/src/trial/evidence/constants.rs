//! Values of the product's that a failing test's own assertion reads, and that the change sets: what is expected moves with the change.
//! Where the test fails as soon as such a value is a third one, the two agree at this value alone. So does a list that the test goes
//! through, and from which the change takes what failed. Each leaves a remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::bodies::Located;
use super::choices::is_green;
use super::court::Court;
use super::rounds;
use crate::framework::source::{Edit, Setting, Source, apply, settings, shortened};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::test_run::TestRun;

/// Constants, and lists, that are tried at most.
const MOST: usize = 3;

impl Court<'_> {
    /// Tries the constants that the change sets and a test reads.
    pub(super) async fn constants(&mut self, green: &TestRun, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        let is_of_product = |change: &&Change| !change.may_edit_tests && !self.is_judge(&change.path);
        let product: Vec<&Change> = changes.iter().filter(is_of_product).collect();
        let mut read: Vec<(&Change, Setting, usize)> = Vec::new();
        for change in &product {
            let set = settings(&change.path, before(change), after(change)).into_iter();
            read.extend(set.filter_map(|one| self.reader_of(&one.name).map(|test| (*change, one, test))));
        }
        for (change, setting, test) in read.into_iter().take(MOST) {
            let reads =
                format!("its assertion reads `{}`, which the change sets to `{}`", setting.name, setting.spelled);
            let Some(third) = setting.third else {
                self.remark_of_values(test, format!("{reads}: what is expected moves with the change"));
                continue;
            };
            let Some(run) = self.of_failed(&with(change, &third)).await? else { return Ok(()) };
            // A value that stands for nothing else has the test fail by its own assertion.
            if !is_green(&run, green) && self.is_failing(&run, test) {
                self.remark_of_values(
                    test,
                    format!("{reads}: it fails with `{}`", spelled_with(after(change), &third)),
                );
            }
        }
        self.lists(green, &product).await
    }

    /// Puts back the lists from which the change takes values, and which a test goes through.
    async fn lists(&mut self, green: &TestRun, product: &[&Change]) -> Result<(), TrialError> {
        let mut read = Vec::new();
        for change in product {
            let all = shortened(&change.path, before(change), after(change)).into_iter();
            read.extend(all.filter_map(|one| self.goes_through(&one.name).map(|test| (*change, one, test))));
        }
        for (change, list, test) in read.into_iter().take(MOST) {
            let Some(run) = self.of_failed(&with(change, &list.whole)).await? else { return Ok(()) };
            if !is_green(&run, green) && self.is_failing(&run, test) {
                let gone = list.gone.join("`, `");
                let said =
                    format!("it goes through `{}`, from which the change takes `{gone}`: it fails with it", list.name);
                self.remark_of_values(test, said);
            }
        }
        Ok(())
    }

    /// Whether a run has a test fail.
    fn is_failing(&self, run: &TestRun, test: usize) -> bool {
        let located = self.bodies.tests.get(test);
        let fails = |(source, located): (&Source, &Located)| {
            run.report.failing().any(|one| source.is_called(&located.body, &one.name))
        };
        located.and_then(|located| Some((self.bodies.source(located)?, located))).is_some_and(fails)
    }

    /// The first test whose assertion failed at the start, expects no literal, and holds a name.
    fn reader_of(&self, name: &str) -> Option<usize> {
        let reads = |(at, test): (usize, &Located)| {
            let source = self.bodies.source(test)?;
            let line = lines_of(source, (test.failed_at?, test.failed_at?));
            let reads = rounds::decisive(source, test).is_empty() && holds(&line, name);
            reads.then_some(at)
        };
        self.bodies.tests.iter().enumerate().find_map(reads)
    }

    /// The first failing test that takes each value of a list.
    fn goes_through(&self, name: &str) -> Option<usize> {
        let goes = |(at, test): (usize, &Located)| {
            let body = lines_of(self.bodies.source(test)?, test.body.lines);
            body.lines().any(|line| is_loop(line) && holds(line, name)).then_some(at)
        };
        self.bodies.tests.iter().enumerate().find_map(goes)
    }
}

/// Whether a line goes through a list.
fn is_loop(line: &str) -> bool {
    let words = || line.split(|c: char| !c.is_alphanumeric());
    ["for", "forEach", "each", "map", "every", "range", "iter"].iter().any(|word| words().any(|one| one == *word))
}

/// Whether a text holds a name as a word of its own.
fn holds(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

fn lines_of(source: &Source, (first, last): (u32, u32)) -> String {
    let (first, last) = (usize::try_from(first).unwrap_or(1), usize::try_from(last).unwrap_or(1));
    let lines = source.text().lines().skip(first.saturating_sub(1)).take((last + 1).saturating_sub(first));
    lines.collect::<Vec<_>>().join("\n")
}

fn before(change: &Change) -> &str {
    change.before.as_deref().unwrap_or_default()
}

fn after(change: &Change) -> &str {
    change.after.as_deref().unwrap_or_default()
}

fn with(change: &Change, edit: &Edit) -> BTreeMap<String, String> {
    apply(after(change), std::slice::from_ref(edit)).map(|text| (change.path.clone(), text)).into_iter().collect()
}

/// The word in which an edit ends.
fn spelled_with(text: &str, edit: &Edit) -> String {
    let before = text.get(..edit.range.start).unwrap_or_default();
    let from = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    format!("{}{}", before.get(from..).unwrap_or_default(), edit.text)
}
