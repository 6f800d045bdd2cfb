//! behave: scenarios, their steps, and the lists of failing scenarios at the end.

use std::collections::{HashMap, VecDeque};

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems, sum};
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, TestStatus};

/// The rule above and below a step's failure in the format `progress3`.
const RULE: &str = "--------------------------------------------------------------------------------";
/// Texts of more scenarios than this are not kept for the lists at the end.
const MOST_SCENARIOS: usize = 2_000;

/// How much of a line may name a scenario.
const LONGEST_NAME: usize = 1024;

/// Reads behave.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    /// The line that names the runner was seen, and nothing of a feature.
    starting: bool,
    counts: Counts,
    /// The scenario that is being printed: its place, `features/cart.feature:7`, or its name where no place is printed.
    scenario: Option<String>,
    troubled: bool,
    text: Block,
    /// The output of failing scenarios, by the same.
    texts: HashMap<String, VecDeque<String>>,
    /// The line before.
    before: String,
    /// How many texts were kept.
    stored: usize,
    budget: Budget,
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
            before: String::new(),
            stored: 0,
            budget: budget.clone(),
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
        } else if let Some(heading) = heading(line) {
            self.scenario_ends();
            self.scenario = heading.map(str::to_owned);
            self.text.push(line);
        } else if line == RULE {
            self.rule();
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
        self.before.clear();
        self.before.push_str(line.get(..line.floor_char_boundary(LONGEST_NAME)).unwrap_or(line));
    }

    /// In the format `progress3`, `  milk  ..F` and what failed of it between two rules.
    fn rule(&mut self) {
        if self.scenario.is_some() {
            self.scenario_ends();
        } else if let Some((name, steps)) = self.before.strip_prefix("  ").and_then(|line| line.cut_last("  "))
            && steps.bytes().all(|step| step.is_ascii_punctuation() || step.is_ascii_uppercase())
        {
            self.scenario = Some(name.to_owned());
            self.troubled = true;
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
        // Without places in the headings the texts are kept by name.
        let text = [at, name].into_iter().find_map(|key| self.texts.get_mut(key)?.pop_front());
        let message = text.unwrap_or_default();
        self.cases.explain(case, &message, Some(found));
    }

    fn scenario_ends(&mut self) {
        let text = self.text.take();
        let troubled = std::mem::take(&mut self.troubled);
        let Some(key) = self.scenario.take() else { return };
        let explains = troubled || text.holds("# None") || text.holds(" ... undefined in ");
        if explains && self.stored < MOST_SCENARIOS && self.budget.take(key.len() + text.len()) {
            self.stored += 1;
            self.texts.entry(key).or_default().push_back(text);
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
        // Such as `1 scenario passed, 2 failed, 1 error, 0 skipped`.
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

/// The heading in a line: `Some(None)` for one that begins a feature. For one that begins a scenario, its place, or its name where no place
/// is printed.
fn heading(line: &str) -> Option<Option<&str>> {
    let text = line.trim_start();
    let is_feature = line.starts_with("Feature: ");
    if !is_feature && !text.starts_with("Scenario") {
        return None;
    }
    let name = text.cut(": ")?.1;
    let key = name.cut_last(" # ").map_or(name, |(_, place)| place);
    Some((!is_feature).then_some(key.trim()))
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
