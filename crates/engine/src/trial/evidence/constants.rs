//! A number of the product's that a failing test's own assertion reads, and that the change sets: what is expected moves with the change.
//! Where the test fails as soon as that number is the next one, the two agree at this value alone. It leaves a remark.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::choices::is_green;
use super::court::Court;
use super::rounds;
use crate::domain::line_diff::{Side, changed_lines};
use crate::framework::source::{Number, Outline, apply, numbers};
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::test_run::TestRun;

/// Constants that are tried at most.
const MOST_CONSTANTS: usize = 3;

/// A constant of a file of the product, with its new number.
struct Constant<'c> {
    change: &'c Change,
    name: String,
    number: Number,
}

impl Court<'_> {
    /// Tries the constants that the change sets and a test reads.
    pub(super) async fn constants(&mut self, green: &TestRun, changes: &[Change]) -> Result<(), TrialError> {
        if !self.runs.bench.guards.has(Guard::AlteredExpectation) {
            return Ok(());
        }
        let product = changes.iter().filter(|change| !change.may_edit_tests && !self.is_judge(&change.path));
        let set: Vec<Constant<'_>> = product.flat_map(set_by).collect();
        let read = set.iter().filter_map(|one| Some((one, self.reader_of(&one.name)?)));
        let read: Vec<(&Constant<'_>, usize)> = read.take(MOST_CONSTANTS).collect();
        for (constant, test) in read {
            let text = constant.change.after.as_deref().unwrap_or_default();
            let next = &constant.number.next;
            let Some(text) = apply(text, std::slice::from_ref(next)) else { continue };
            let texts = BTreeMap::from([(constant.change.path.clone(), text)]);
            let Some(run) = self.of_failed(&texts).await? else { return Ok(()) };
            // What stands for nothing else has the test fail by its own assertion.
            let fails = |run: &TestRun| {
                let located = self.bodies.tests.get(test)?;
                let source = self.bodies.source(located)?;
                Some(run.report.failing().any(|one| source.is_called(&located.body, &one.name)))
            };
            if !is_green(&run, green) && fails(&run) == Some(true) {
                let said = format!(
                    "its assertion reads `{}`, which the change sets to {}: it fails with {}",
                    constant.name, constant.number.spelled, next.text
                );
                self.remark_of_values(test, said);
            }
        }
        Ok(())
    }

    /// The first test whose assertion failed at the start, expects no literal, and holds a name.
    fn reader_of(&self, name: &str) -> Option<usize> {
        let reads = |(at, test): (usize, &super::bodies::Located)| {
            let source = self.bodies.source(test)?;
            let line = usize::try_from(test.failed_at?).ok()?.checked_sub(1)?;
            let mut words = source.text().lines().nth(line)?.split(|c: char| !c.is_alphanumeric() && c != '_');
            (rounds::decisive(source, test).is_empty() && words.any(|word| word == name)).then_some(at)
        };
        self.bodies.tests.iter().enumerate().find_map(reads)
    }
}

/// The constants of one line and one number that both sides of a change define, and that it sets anew.
fn set_by(change: &Change) -> Vec<Constant<'_>> {
    let (Some(before), Some(after)) = (change.before.as_deref(), change.after.as_deref()) else { return Vec::new() };
    let (Some(old), Some(new)) = (Outline::read(&change.path, before), Outline::read(&change.path, after)) else {
        return Vec::new();
    };
    let changed: Vec<u32> = changed_lines(before, after)
        .into_iter()
        .filter(|line| line.side == Side::New)
        .map(|line| line.number)
        .collect();
    let all = numbers(&change.path, after);
    let constant = |one: &crate::framework::source::Definition| {
        let is_constant = one.lines.0 == one.lines.1 && !one.is_container && one.within.is_none();
        let is_set = changed.contains(&one.line) && one.head.contains('=') && !one.head.contains('(');
        let is_old = old.definitions().iter().any(|was| was.name == one.name && was.lines.0 == was.lines.1);
        let mut own = all.iter().filter(|number| number.line == one.line);
        // Of two numbers on a line nobody knows which one the test reads.
        let (Some(number), None) = (own.next(), own.next()) else { return None };
        (is_constant && is_set && is_old).then(|| Constant { change, name: one.name.clone(), number: number.clone() })
    };
    new.definitions().iter().filter_map(constant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_that_is_set_anew_is_found() {
        let names = |path: &str, before: &str, after: &str| {
            let change = Change {
                path: path.to_owned(),
                before: Some(before.to_owned()),
                after: Some(after.to_owned()),
                may_edit_tests: false,
            };
            set_by(&change).into_iter().map(|one| format!("{} {}", one.name, one.number.spelled)).collect::<Vec<_>>()
        };
        assert_eq!(
            names("a.py", "RATE = 19\n\n\ndef f():\n    return 1\n", "RATE = 0\n\n\ndef f():\n    return 2\n"),
            ["RATE 0"]
        );
        assert_eq!(names("a.js", "export const RATE = 19;\n", "export const RATE = 0.5;\n"), ["RATE 0.5"]);
        assert_eq!(names("a.py", "RATE = 19\n", "RATE = 19\nOTHER = 3\n"), Vec::<String>::new());
    }
}
