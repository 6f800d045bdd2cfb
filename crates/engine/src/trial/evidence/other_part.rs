//! The tests whose assertion reads another part of the answer, or that call a method, by a name that nobody gave: a product of which every
//! part is what is expected, or that has every method, looks at no name. It leaves a remark.

use super::super::bench::TrialError;
use super::bodies::Located;
use super::court::Court;
use super::outcome::Shown;
use super::relations::Treated;
use super::{rounds, tally};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::framework::source::{Known, OtherPart, Source, TestBody};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;

/// The name that is another one.
#[derive(Debug, Clone, Copy)]
enum Which {
    /// Of the first part that an assertion reads.
    First,
    /// Of the last one, where it reads several.
    Last,
    /// Of a method that is called.
    Method(usize),
}

impl Court<'_> {
    /// Tries the tests with other parts of their answers.
    pub(super) async fn other_parts(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        for which in [Which::First, Which::Last, Which::Method(0), Which::Method(1), Which::Method(2)] {
            let parts = self.with_other_part(changes, which);
            let treated: Treated = parts.iter().map(|(test, one)| (*test, vec![one.edit.clone()])).collect();
            let passing = self.that_show(&tree, &treated, (Shown::Passed, &|_, _| true)).await?;
            let treated: Treated = treated.into_iter().filter(|(test, _)| passing.contains(test)).collect();
            let failing = self.that_show(&start, &treated, (Shown::Failed, &|_, _| true)).await?;
            let treated: Treated = treated.into_iter().filter(|(test, _)| failing.contains(test)).collect();
            for test in self.that_show(&tree, &treated, (Shown::Passed, &|_, _| true)).await? {
                let Some((_, part)) = parts.iter().find(|(at, _)| *at == test) else { continue };
                self.remark_of_part(test, &part.name);
            }
        }
        Ok(())
    }

    /// The tests with another name in one place.
    fn with_other_part(&self, changes: &[Change], which: Which) -> Vec<(usize, OtherPart)> {
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let with = |(at, test): (usize, &Located)| {
            let source = self.bodies.source_left_alone(test, changes)?;
            let read = || source.other_parts(&rounds::decisive(source, test), &word);
            let part = match which {
                Which::First => test.failed_at.and_then(|_| read().into_iter().next()),
                Which::Last => test.failed_at.map(|_| read()).filter(|parts| parts.len() > 1)?.pop(),
                Which::Method(number) => self.misnamed(changes, test, source, &word).into_iter().nth(number),
            }?;
            Some((at, part))
        };
        self.bodies.tests.iter().enumerate().filter_map(with).collect()
    }

    /// The methods that a test calls of the product, each by a name that nobody gave it.
    fn misnamed(&self, changes: &[Change], test: &Located, source: &Source, word: &str) -> Vec<OtherPart> {
        let product = || changes.iter().filter(|change| !change.may_edit_tests && !self.is_judge(&change.path));
        let made = self.definitions(changes);
        // A module is named by its file.
        let is_module = |name: &str| product().any(|change| stem(&change.path) == name);
        let is_meant = |name: &str| made.contains_key(name) || is_module(name);
        let spells =
            |text: &str, name: &str| text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name);
        let is_spelled =
            |name: &str| product().filter_map(|change| change.after.as_deref()).any(|text| spells(text, name));
        let failed: Vec<&TestBody> =
            self.bodies.tests.iter().filter(|one| one.source == test.source).map(|one| &one.body).collect();
        source.misnamed(
            &test.body,
            &failed,
            &Known { is_meant: &is_meant, is_spelled: &is_spelled },
            &format!("{word}_"),
        )
    }

    fn remark_of_part(&mut self, test: usize, name: &str) {
        let Some(located) = self.bodies.tests.get(test) else { return };
        let file = self.bodies.source(located).map(|source| source.path().to_owned()).unwrap_or_default();
        let said = format!("the test passes with any other name in the place of `{}`", name.replace('`', "'"));
        let (kind, lines) = (RemarkKind::UntestedChoice, Some(located.body.lines));
        self.remarks.push(Remark { kind, file, lines, said: Some(said) });
    }
}

/// The name of a file without its folder and its end.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}
