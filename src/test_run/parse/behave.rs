//! behave: scenarios, their steps, and the lists of failing scenarios at the end.

use std::collections::HashMap;

use super::findings::{Block, Budget, Cases, Counts, Findings, Problems, sum};
use super::place;
use crate::domain::test_report::{RunKind, TestStatus};
use crate::domain::verdict::Exit;
use crate::test_run::parse::needle::Seek as _;

/// Texts of more scenarios than this are not kept for the lists at the end.
const MOST_SCENARIOS: usize = 2_000;

/// Reads behave.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    /// The line that names the runner was seen, and nothing of a feature.
    starting: bool,
    counts: Counts,
    /// The scenario that is being printed: its name and its place, `features/cart.feature:7`.
    scenario: Option<(String, String)>,
    troubled: bool,
    text: Block,
    /// What failing scenarios printed, by place.
    texts: HashMap<String, String>,
    listing: Option<TestStatus>,
    recognised: bool,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "USING RUNNER: behave",
        "Failing scenarios:",
        "Errored scenarios:",
        "Feature: ",
        "  Scenario",
        " scenarios passed",
        " scenario passed",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            starting: false,
            counts: Counts::default(),
            scenario: None,
            troubled: false,
            text: Block::default(),
            texts: HashMap::new(),
            listing: None,
            recognised: false,
            finished: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        let starting = std::mem::replace(&mut self.starting, line.starts_with("USING RUNNER: behave"));
        if starting && line.starts_with("ConfigError: ") {
            self.problems.push(RunKind::BadCommand, line, None);
        } else if line == "Failing scenarios:" {
            self.list(TestStatus::Failed);
        } else if line == "Errored scenarios:" {
            self.list(TestStatus::Error);
        } else if let Some(status) = self.listing.filter(|_| line.starts_with("  ")) {
            self.listed(line.trim_start(), status);
        } else if line.holds(" passed, ") && self.summary(line) {
            self.scenario_ends();
        } else if let Some((head, place)) = line.cut(" # ")
            && (head.trim_start().starts_with("Scenario") || head.starts_with("Feature: "))
        {
            self.scenario_ends();
            let name = head.cut(": ").map_or(head, |(_, name)| name).trim_end();
            self.scenario = (!head.starts_with("Feature: ")).then(|| (name.to_owned(), place.trim().to_owned()));
            self.text.push(line);
        } else if self.scenario.is_some() {
            let text = line.trim_start();
            self.troubled |= text.starts_with("ASSERT FAILED")
                || text.starts_with("Traceback")
                || text.starts_with("Assertion Failed");
            if line.starts_with("You can implement step definitions") {
                self.scenario_ends();
            } else {
                self.text.push(line);
            }
        } else if !line.is_empty() {
            self.listing = None;
        }
    }

    fn list(&mut self, status: TestStatus) {
        self.scenario_ends();
        self.recognised = true;
        self.listing = Some(status);
    }

    /// `features/cart.feature:7  milk`.
    fn listed(&mut self, text: &str, status: TestStatus) {
        let Some((at, name)) = text.cut("  ") else { return };
        let Some(found) = place::find(at) else { return };
        let case = self.cases.push(name, status);
        let message = self.texts.remove(at).unwrap_or_default();
        self.cases.explain(case, &message, Some(found));
    }

    fn scenario_ends(&mut self) {
        let text = self.text.take();
        let troubled = std::mem::take(&mut self.troubled);
        let Some((_, at)) = self.scenario.take() else { return };
        if (troubled || text.holds("# None")) && self.texts.len() < MOST_SCENARIOS {
            self.texts.insert(at, text);
        }
    }

    /// `2 scenarios passed, 1 failed, 2 error, 0 skipped`.
    fn summary(&mut self, line: &str) -> bool {
        let Some((_, rest)) = line.cut(" scenario") else {
            return line.holds(" feature") || line.holds(" step");
        };
        let Some(passed) = place::leading_number::<u64>(line) else { return false };
        if !(rest.starts_with("s passed") || rest.starts_with(" passed")) {
            return false;
        }
        let number = |word: &str| rest.split(", ").find_map(|part| part.strip_suffix(word)?.trim().parse::<u64>().ok());
        let failed = number("failed").unwrap_or(0);
        let errors = number("error").or(number("errors")).unwrap_or(0);
        let skipped = number("skipped").unwrap_or(0);
        self.counts.add(&Counts {
            total: Some(sum(&[passed, failed, errors, skipped])),
            passed: Some(passed),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: Some(errors),
        });
        self.recognised = true;
        self.finished = true;
        true
    }

    pub(super) fn finish(self, _exit: Option<Exit>) -> Option<Findings> {
        if !self.recognised && self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new("behave");
        findings.counts = self.counts;
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_configuration_is_a_bad_command() {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        reader.line("USING RUNNER: behave.runner:Runner");
        reader.line("ConfigError: No steps directory in '/home/ci/project/nope.feature'");
        let found = reader.finish(None).unwrap();
        assert_eq!(found.problems[0].kind, RunKind::BadCommand);
        assert!(!found.has_tests());
    }
}
