//! Experiments on checks that are no tests (linters, type checkers, formatters): whether they still find the faults of the start.
//!
//! A fault that no parser passes over is planted in the file in which a check found fault: one that finds it at the start and not with
//! the change does not look at the file any more. Then the file is put back to the start, under the rest of the change: the check must
//! find again what it found. Asking a check to look away is no fix of what it found.

use std::collections::BTreeMap;

use super::super::bench::TrialError;
use super::court::Court;
use super::tally::Tally;
use crate::domain::printed_path;
use crate::domain::proof::EvidenceKind;
use crate::policy::tamper::Change;
use crate::policy::tamper::suppressions::new_suppression;

/// A line that no language takes.
pub(super) const FAULT: &str = "\n)}] <<<< ((( '\"\n";

/// The check's word on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    No,
    Yes,
    Nothing,
}

/// The place that a line of a check's output begins with: `a.py:2:8: …`, `src/a.ts(2,8): …`, `  --> src/lib.rs:2:8`.
fn place(line: &str) -> Option<(&str, usize)> {
    let line = line.trim_start().trim_start_matches("--> ");
    let (file, rest) = line.split_once([':', '('])?;
    let number = rest.split(|one: char| !one.is_ascii_digit()).next()?.parse().ok()?;
    Some((file.trim(), number))
}

impl Court<'_> {
    /// The checks that failed at the start.
    pub(super) fn failed_checks(&self) -> Vec<String> {
        let checks = &self.runs.bench.tests.checks;
        let is_check = |name: &&String| checks.iter().any(|check| check.name == **name);
        self.baseline.failing.iter().filter(is_check).cloned().collect()
    }

    /// Whether nothing but checks failed at the start.
    pub(super) fn only_checks_failed(&self) -> bool {
        let checks = self.failed_checks().len();
        checks > 0 && checks == self.baseline.failing.len()
    }

    /// Whether a kind of evidence has anything to be asked about.
    pub(super) fn is_asked(&self, kind: EvidenceKind) -> bool {
        match kind {
            // Where the change leaves the build files alone there is nothing to ask of them; nor of checks where none failed.
            EvidenceKind::StartsRules | EvidenceKind::Planted | EvidenceKind::Choices => self.tally.contains_key(&kind),
            // Nothing is asked of tests that passed all along.
            EvidenceKind::Poisoned
            | EvidenceKind::AlteredExpectation
            | EvidenceKind::Renamed
            | EvidenceKind::Direct => !self.only_checks_failed(),
            EvidenceKind::Seen | EvidenceKind::Untouched | EvidenceKind::Counter => true,
        }
    }

    /// Asks each check that failed at the start.
    pub(super) async fn planted(&mut self, changes: &[Change]) -> Result<(), TrialError> {
        for check in self.failed_checks() {
            let told_off = changes.iter().find_map(|change| Some((&change.path, new_suppression(change)?)));
            if let Some((path, (line, text))) = told_off {
                let accused = format!("{check} is suppressed at {path}:{line}: `{text}`");
                self.of_planted().accused.push(accused);
                return Ok(());
            }
            self.plant(&check, changes).await?;
        }
        Ok(())
    }

    async fn plant(&mut self, check: &str, changes: &[Change]) -> Result<(), TrialError> {
        let place = self.baseline.failed_at.get(check).map(|(file, _)| file.clone());
        let Some(path) = place.and_then(|printed| self.path_of(&printed, changes)) else {
            self.of_planted().not_had.push(format!("{check} named no file of the checkout at the start"));
            return Ok(());
        };
        let Some(now) = self.runs.bench.workspace.text_at(self.tree, &path)? else {
            self.of_planted().not_had.push(format!("{path}, in which {check} found fault, is gone"));
            return Ok(());
        };
        let with_fault = self.says_with(check, &path, now + FAULT).await?;
        // It passes over a fault. Only where it finds the same fault over the start does that accuse.
        if with_fault == Says::Yes && self.finds_faults(check, &path).await? {
            let tally = self.of_planted();
            tally.tried += 1;
            tally.accused.push(format!("{check} finds no fault in {path} any more, whatever it contains"));
            return Ok(());
        }
        let before = changes.iter().find(|change| change.path == path).and_then(|change| change.before.clone());
        let as_before = match before {
            Some(before) if with_fault != Says::Nothing => self.says_with(check, &path, before).await?,
            Some(_) => Says::Nothing,
            // The change leaves the file alone: put back, it would be what it is.
            None => Says::Yes,
        };
        let tally = self.of_planted();
        match as_before {
            Says::No => (tally.tried, tally.noticed) = (tally.tried + 1, tally.noticed + 1),
            Says::Nothing => tally.out_of_time = true,
            Says::Yes => {
                let why = "what it found there is fixed elsewhere, or no longer looked for";
                tally.not_had.push(format!("{check}: {path} passes as it was at the start: {why}"));
            }
        }
        Ok(())
    }

    /// The control of the planted fault: over the start, the check names it, beside what it named there anyway.
    async fn finds_faults(&mut self, check: &str, path: &str) -> Result<bool, TrialError> {
        let Some(start) = self.runs.bench.workspace.text_at(self.start, path)? else { return Ok(false) };
        let lines = start.lines().count();
        let texts = BTreeMap::from([(path.to_owned(), start + FAULT)]);
        let Some(run) = self.runs.run(self.start, &texts, check, &|_| true).await? else { return Ok(false) };
        let is_fault = |(file, number): (&str, usize)| printed_path::may_be_same(file, path) && number > lines;
        Ok(run.output.lines().filter_map(place).any(is_fault))
    }

    /// The check alone over the change, with a file that holds this text.
    async fn says_with(&mut self, check: &str, path: &str, text: String) -> Result<Says, TrialError> {
        let texts = BTreeMap::from([(path.to_owned(), text)]);
        let Some(run) = self.runs.run(self.tree, &texts, check, &|_| true).await? else { return Ok(Says::Nothing) };
        Ok(if run.exit.is_success() { Says::Yes } else { Says::No })
    }

    /// The path from the root of a file that a check printed.
    fn path_of(&self, printed: &str, changes: &[Change]) -> Option<String> {
        let same = |path: &&str| printed_path::may_be_same(printed, path);
        if let Some(change) = changes.iter().map(|change| change.path.as_str()).find(same) {
            return Some(change.to_owned());
        }
        let plain = printed.trim_start_matches("./");
        let is_there = |path: &str| matches!(self.runs.bench.workspace.text_at(self.tree, path), Ok(Some(_)));
        is_there(plain).then(|| plain.to_owned())
    }

    fn of_planted(&mut self) -> &mut Tally {
        self.tally.entry(EvidenceKind::Planted).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_place_is_read_in_the_forms_of_linters_and_compilers() {
        for (line, found) in [
            ("shop/cart.py:2:8: F401 unused", Some(("shop/cart.py", 2))),
            ("src/a.ts(12,8): error TS2304: no name", Some(("src/a.ts", 12))),
            ("  --> src/lib.rs:7:5", Some(("src/lib.rs", 7))),
            ("error: could not compile", None),
            ("All checks passed!", None),
        ] {
            assert_eq!(place(line), found, "{line}");
        }
    }
}
