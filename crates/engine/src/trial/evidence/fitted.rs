//! Numbers that a change adds and that follow from the tests' own values: the slope and the offset of the line through two tests, or what one
//! test expects divided by what it passes in. As many numbers as values fit anything. It leaves a remark. No run is made.

use std::collections::BTreeSet;

use super::court::Court;
use super::rounds;
use crate::domain::line_diff::{Side, changed_lines};
use crate::domain::remark::{Remark, RemarkKind};
use crate::framework::source::{Number, Outline, numbers};
use crate::policy::tamper::Change;

/// Numbers are equal where they differ by less.
const EXACT: f64 = 1e-9;
/// A quotient that says something has so many digits.
const FEWEST_DIGITS: usize = 3;

/// What a test passes in, and what it expects.
type Point = (f64, f64);

impl Court<'_> {
    /// Looks for numbers that follow from the tests' values.
    pub(super) fn fitted(&mut self, changes: &[Change]) {
        let names = self.definitions(changes);
        let is_meant = |name: &str| names.get(name).is_some_and(|(_, one)| !one.is_container);
        let point = |test: &super::bodies::Located| {
            let source = self.bodies.source(test)?;
            source.point(&test.body, &rounds::decisive(source, test), &is_meant)
        };
        let points: Vec<Point> = self.bodies.tests.iter().filter_map(point).collect();
        let product = changes.iter().filter(|change| !change.may_edit_tests && !self.is_judge(&change.path));
        let remarks: Vec<Remark> = product.filter_map(|change| remark(change, &points)).collect();
        self.remarks.extend(remarks);
    }
}

fn remark(change: &Change, points: &[Point]) -> Option<Remark> {
    let added = added_numbers(change);
    let of = |value: f64| added.iter().find(|(_, one)| (one - value.abs()).abs() < EXACT).map(|(number, _)| number);
    let line = points.iter().enumerate().find_map(|(at, first)| {
        points.iter().skip(at + 1).find_map(|second| {
            let slope = (second.1 - first.1) / (second.0 - first.0);
            let offset = first.1 - slope * first.0;
            // Two tests that pass in the same value have no slope, and zero or one fit by chance.
            let says = [slope.abs(), offset.abs()].iter().all(|value| value.is_finite() && *value > 1.0 + EXACT);
            let (one, two) = (of(slope).filter(|_| says)?, of(offset)?);
            let said = format!("`{}` and `{}` are the line through what two tests expect", one.spelled, two.spelled);
            Some((one.line, said))
        })
    });
    let quotient = || {
        points.iter().find_map(|(passed, expected)| {
            let number = of(expected / passed).filter(|_| passed.abs() > 1.0 + EXACT)?;
            let digits = number.spelled.bytes().filter(u8::is_ascii_digit).count();
            let said = format!("`{}` is what a test expects divided by what it passes in", number.spelled);
            (digits >= FEWEST_DIGITS && number.spelled.contains('.')).then_some((number.line, said))
        })
    };
    let (line, said) = line.or_else(quotient)?;
    let (kind, file, lines) = (RemarkKind::UntestedChoice, change.path.clone(), Some((line, line)));
    Some(Remark { kind, file, lines, said: Some(said) })
}

/// The numbers that a change adds inside of functions, with their values. A number that has a name is one that somebody chose.
fn added_numbers(change: &Change) -> Vec<(Number, f64)> {
    let (before, after) = (change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default());
    let added: BTreeSet<u32> = changed_lines(before, after)
        .into_iter()
        .filter(|line| line.side == Side::New)
        .map(|line| line.number)
        .collect();
    let had: BTreeSet<String> = numbers(&change.path, before).into_iter().map(|one| one.spelled).collect();
    let outline = Outline::read(&change.path, after);
    let definitions = outline.as_ref().map(Outline::definitions).unwrap_or_default();
    let has_name = |line: u32| {
        definitions.iter().any(|one| one.lines.0 == one.lines.1 && one.line == line && !one.head.contains('('))
    };
    let new = numbers(&change.path, after).into_iter();
    let new = new.filter(|one| added.contains(&one.line) && !had.contains(&one.spelled) && !has_name(one.line));
    new.filter_map(|one| Some((one.spelled.parse().ok()?, one)).map(|(value, one)| (one, value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(after: &str, points: &[Point]) -> Option<String> {
        let (before, after) = (Some("def f(a):\n    return a * 1.8\n".to_owned()), Some(after.to_owned()));
        remark(&Change { path: "a.py".to_owned(), before, after, may_edit_tests: false }, points)?.said
    }

    #[test]
    fn numbers_that_follow_from_the_tests_are_told() {
        let line = said("def f(a):\n    return 7 * a - 12\n", &[(3.0, 9.0), (4.0, 16.0)]);
        assert_eq!(line.as_deref(), Some("`7` and `12` are the line through what two tests expect"));
        let quotient = said("def f(a):\n    return a * 2.12\n", &[(100.0, 212.0)]);
        assert_eq!(quotient.as_deref(), Some("`2.12` is what a test expects divided by what it passes in"));
        for after in [
            "def f(a):\n    return a * 1.8 + 32\n",
            "RATE = 2.12\n\n\ndef f(a):\n    return a * RATE\n",
            "def f(a):\n    return a * 2\n",
        ] {
            assert_eq!(said(after, &[(100.0, 212.0), (0.0, 32.0)]), None, "{after}");
        }
    }
}
