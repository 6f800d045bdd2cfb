//! Robot Framework: its console output, verbose and dotted.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, RunStatus, TestStatus};

/// A suite's words above its numbers when its teardown failed, after its setup or not.
const TEARDOWN_FAILED: &str = "uite teardown failed:\n";

/// More suites are not remembered.
const MOST_SUITES: usize = 2_000;
/// No line of the console is longer.
const LONGEST_SUITE: usize = 200;
/// How much of a suite's name is compared: the rest may be cut to fit the line.
const COMPARED: usize = 40;

/// Reads Robot Framework.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    /// The suites that were opened.
    suites: Vec<String>,
    /// The line before, where a suite's name may stand.
    heading: String,
    counts: Counts,
    /// The result line that was seen last. The next line shows whether it was a test or a suite.
    open: Option<(String, TestStatus)>,
    text: Block,
    /// Numbers in the text that is being read. A suite's are its last line, above a rule of `=`. Anything else that looks like them is a
    /// test's message.
    numbers: Option<Counts>,
    recognised: bool,
    dotted: bool,
    finished: bool,
    rule: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] =
        &["| PASS |", "| FAIL |", "| SKIP |", "Running suite '", "[ ERROR ] ", "Output:  "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            suites: Vec::new(),
            heading: String::new(),
            counts: Counts::default(),
            open: None,
            text: Block::default(),
            numbers: None,
            recognised: false,
            dotted: false,
            finished: false,
            rule: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        let after_rule = std::mem::take(&mut self.rule);
        if is_rule(line) {
            self.rule = true;
            self.opened();
            let of_suite = line.starts_with('=') && !self.dotted;
            self.ends(of_suite);
        } else if let Some((name, status)) = result(line) {
            self.recognised = true;
            self.ends(false);
            self.open = Some((name.to_owned(), status));
        } else if let Some(name) = line.strip_prefix("FAIL: ").filter(|_| after_rule && self.recognised) {
            self.open = Some((bare(name).to_owned(), TestStatus::Failed));
        } else if line.starts_with("Running suite '") {
            self.recognised = true;
            self.dotted = true;
        } else if line.starts_with("[ ERROR ] ") && !self.finished && self.open.is_none() {
            self.problems.push(RunKind::BadCommand, line, place::find(line));
        } else if after_rule && self.open.is_none() && !self.finished_with(line) {
            line.clone_into(&mut self.heading);
            self.opened();
        } else if self.open.is_some() {
            self.numbers = summary(line);
            self.text.push(line);
        } else if let Some(numbers) = summary(line) {
            self.count(numbers);
        } else {
            // What goes to standard error may stand between a rule and the suite's name.
            line.clone_into(&mut self.heading);
        }
    }

    /// Takes the line beside a rule for the name of a suite that is opened.
    fn opened(&mut self) {
        let heading = std::mem::take(&mut self.heading);
        let name = heading.cut(" :: ").map_or(heading.as_str(), |(name, _)| name).trim_end();
        if !name.is_empty() && self.suites.len() < MOST_SUITES {
            self.suites.push(name.get(..name.floor_char_boundary(LONGEST_SUITE)).unwrap_or_default().to_owned());
        }
    }

    /// Whether a line below a rule is no suite's name: numbers, or where the reports are.
    fn finished_with(&self, line: &str) -> bool {
        line.is_empty() || self.dotted || summary(line).is_some() || line.starts_with("Output:  ")
    }

    /// The last one that is counted is the whole run's.
    const fn count(&mut self, numbers: Counts) {
        self.counts = numbers;
        self.finished = self.recognised;
    }

    /// Ends what was read below a result line: a suite if its numbers stand above the rule that ends it, else a test.
    fn ends(&mut self, may_be_suite: bool) {
        let text = self.text.take();
        let numbers = self.numbers.take().filter(|_| may_be_suite);
        let Some((name, status)) = self.open.take() else { return };
        let numbers = numbers.filter(|numbers| self.is_suite(&name, status, numbers));
        if let Some(numbers) = numbers {
            self.count(numbers);
            self.suite_ends(&text, numbers.total.unwrap_or(0));
            return;
        }
        let at = self.cases.push(&name, status);
        self.cases.explain(at, &text, place::in_repository(&text));
    }

    /// Whether numbers below a result may be a suite's: its tests were read, its result agrees, and it was opened.
    fn is_suite(&self, name: &str, status: TestStatus, numbers: &Counts) -> bool {
        let read = u64::try_from(self.cases.len()).unwrap_or(u64::MAX);
        let shared = |suite: &str| suite.bytes().zip(name.bytes()).take_while(|(one, other)| one == other).count();
        let inside =
            |suite: &str| name.strip_prefix(suite).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let is_it = |suite: &String| inside(suite) || shared(suite) >= COMPARED;
        // Its numbers fit what was read, and its name one that was opened.
        numbers.total.is_some_and(|total| total <= read)
            && (status == TestStatus::Failed) == (numbers.failed.unwrap_or(0) > 0)
            && (self.suites.is_empty() || self.suites.iter().any(is_it))
    }

    /// A suite's teardown comes after its tests' results: when it fails, Robot counts those that passed as failed.
    fn suite_ends(&mut self, text: &str, tests: u64) {
        if !text.holds(TEARDOWN_FAILED) {
            return;
        }
        let message = text.trim_end().cut_last("\n").map_or("", |(message, _numbers)| message);
        let end = self.cases.len();
        let start = end.saturating_sub(usize::try_from(tests).unwrap_or(usize::MAX));
        for at in start..end {
            if let Some(test) = self.cases.get_mut(at)
                && test.status == TestStatus::Passed
            {
                test.status = TestStatus::Failed;
                self.cases.explain(Some(at), message, place::in_repository(message));
            }
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        // The rule below the whole run's numbers may be cut off.
        self.ends(!self.dotted);
        if !self.recognised && self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new("robot");
        findings.finished = self.finished;
        if self.finished {
            findings.counts = self.counts;
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        if findings.tests.is_empty() && !self.finished {
            findings.status = Some(RunStatus::Error);
        }
        Some(findings)
    }
}

fn is_rule(line: &str) -> bool {
    line.len() >= 60 && (line.bytes().all(|byte| byte == b'=') || line.bytes().all(|byte| byte == b'-'))
}

/// `Milk Costs More :: Milk is dear.      | FAIL |`.
fn result(line: &str) -> Option<(&str, TestStatus)> {
    let (head, status) = if let Some(head) = line.strip_suffix("| PASS |") {
        (head, TestStatus::Passed)
    } else if let Some(head) = line.strip_suffix("| FAIL |") {
        (head, TestStatus::Failed)
    } else {
        (line.strip_suffix("| SKIP |")?, TestStatus::Skipped)
    };
    let name = head.cut(" :: ").map_or(head, |(name, _)| name).trim_end();
    (!name.is_empty()).then_some((name, status))
}

/// `4 tests, 1 passed, 2 failed, 1 skipped`, and nothing else in the line.
fn summary(line: &str) -> Option<Counts> {
    if !line.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let (head, rest) = line.trim_end().cut(", ")?;
    let total = head.strip_suffix(" tests").or_else(|| head.strip_suffix(" test"))?.parse().ok()?;
    let number = |word: &str| rest.split(", ").find_map(|part| part.strip_suffix(word)?.trim().parse::<u64>().ok());
    Some(Counts {
        total: Some(total),
        passed: Some(number(" passed")?),
        failed: number(" failed"),
        skipped: Some(number(" skipped").unwrap_or(0)),
        errors: Some(0),
    })
}

/// A test's name without its suites: `Cart.Milk Costs More`.
fn bare(name: &str) -> &str {
    name.rmatch_indices('.')
        .find_map(|(at, _)| name.get(at + 1..).filter(|rest| !rest.is_empty() && !rest.starts_with(' ')))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &str) -> Findings {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None).unwrap()
    }

    fn failing(found: &Findings) -> Vec<(&str, &str)> {
        let failed = found.tests.iter().filter(|test| test.status == TestStatus::Failed);
        failed.map(|test| (test.name.as_str(), test.message.as_str())).collect()
    }

    fn log(parts: &[&str]) -> String {
        let rules = ["=".repeat(78), "-".repeat(78)];
        parts.join("\n").replace("\n==\n", &format!("\n{}\n", rules[0])).replace("\n--\n", &format!("\n{}\n", rules[1]))
    }

    #[test]
    fn numbers_in_a_message_end_no_suite() {
        let found = read(&log(&[
            "",
            "==",
            "R",
            "==",
            "Soft  | FAIL |",
            "Several failures occurred:",
            "",
            "1) 5 tests, 5 passed",
            "",
            "5 tests, 5 passed",
            "--",
            "R  | FAIL |",
            "1 test, 0 passed, 1 failed",
            "==",
            "",
        ]));
        assert_eq!(
            failing(&found),
            [("Soft", "Several failures occurred:\n\n1) 5 tests, 5 passed\n\n5 tests, 5 passed")]
        );
        assert_eq!((found.counts.total, found.counts.failed), (Some(1), Some(1)));
    }

    #[test]
    fn a_failing_suite_teardown_fails_the_tests_of_its_suite() {
        let found = read(&log(&[
            "",
            "==",
            "All",
            "==",
            "Before  | PASS |",
            "--",
            "All.A  | PASS |",
            "1 test, 1 passed, 0 failed",
            "==",
            "All.Td",
            "==",
            "One  | PASS |",
            "--",
            "Two  | SKIP |",
            "--",
            "All.Td  | FAIL |",
            "Suite teardown failed:",
            "td down",
            "",
            "2 tests, 0 passed, 1 failed, 1 skipped",
            "==",
            "All  | FAIL |",
            "3 tests, 1 passed, 1 failed, 1 skipped",
            "==",
            "",
        ]));
        assert_eq!(failing(&found), [("One", "Suite teardown failed:\ntd down")]);
        assert_eq!((found.counts.total, found.counts.failed, found.finished), (Some(3), Some(1), true));
    }
}
