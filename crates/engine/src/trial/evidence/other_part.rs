//! The tests whose assertion reads another part of the answer, by a name that nobody gave: a product of which every part is what is expected
//! looks at no name. It leaves a remark.

use super::super::bench::TrialError;
use super::court::Court;
use super::outcome::Shown;
use super::relations::Treated;
use super::{rounds, tally};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::framework::source::OtherPart;
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;

impl Court<'_> {
    /// Tries the tests with other parts of their answers.
    pub(super) async fn other_parts(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        let (tree, start): (TreeId, TreeId) = (self.tree.clone(), self.start.clone());
        for last in [false, true] {
            let parts = self.with_other_part(changes, last);
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

    /// The tests whose assertion reads a part: the first one that it names, or the last one where it names several.
    fn with_other_part(&self, changes: &[Change], last: bool) -> Vec<(usize, OtherPart)> {
        let word = tally::word(uuid::Uuid::new_v4().as_u128());
        let with = |(at, test): (usize, &super::bodies::Located)| {
            let source = self.bodies.source_left_alone(test, changes)?;
            test.failed_at?;
            let mut parts = source.other_parts(&rounds::decisive(source, test), &word);
            let part = if last { (parts.len() > 1).then(|| parts.pop())?? } else { parts.into_iter().next()? };
            Some((at, part))
        };
        self.bodies.tests.iter().enumerate().filter_map(with).collect()
    }

    fn remark_of_part(&mut self, test: usize, name: &str) {
        let Some(located) = self.bodies.tests.get(test) else { return };
        let file = self.bodies.source(located).map(|source| source.path().to_owned()).unwrap_or_default();
        let said = format!("the test passes with any other name in the place of `{}`", name.replace('`', "'"));
        let (kind, lines) = (RemarkKind::UntestedChoice, Some(located.body.lines));
        self.remarks.push(Remark { kind, file, lines, said: Some(said) });
    }
}
