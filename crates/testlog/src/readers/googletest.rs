//! GoogleTest: its console output and its JSON report.
//!
//! Output between `[ RUN      ]` and the result belongs to the test. With `--gtest_brief` the same lines stand without the first.

use serde::Deserialize;

use super::cmocka;
use crate::document::{JsonDocument, LeftOut, Part};
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "googletest";
/// More hooks are named without their words.
const MOST_LISTED: u64 = 200;
/// The lists of the JSON report: suites, and tests in each.
const SUITES: &str = "testsuites";
const TESTS: &str = "testsuite";

/// Reads GoogleTest.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    document: JsonDocument,
    /// The tests of a JSON report that has not ended.
    read: Cases,
    report: Option<(Cases, Numbers)>,
    left_out: LeftOut,
    budget: Budget,
    /// The test that began and has not ended. Empty when there is none.
    running: String,
    block: Block,
    /// Behind the last `[==========]`: lists of names.
    ended: bool,
    ran: Option<u64>,
    passed: Option<u64>,
    failed: u64,
    skipped: u64,
    disabled: u64,
    recognised: bool,
    /// Busted writes as GoogleTest does, names tests by file and line, and tells errors apart.
    busted: bool,
    errors: u64,
    /// The output of Busted's hooks between the tests. The list at the end tells whose it is.
    hooks: Block,
    /// How many hooks were listed.
    listed: u64,
    /// Failures between tests. They count only when the framework itself ended.
    set_up: Problems,
    repeating: bool,
    /// cmocka's own part of the log, which has the same marks.
    foreign: bool,
}

/// The JSON report's own numbers.
#[derive(Debug, Deserialize)]
struct Numbers {
    tests: u64,
    failures: u64,
    #[serde(default)]
    errors: u64,
}

#[derive(Debug, Deserialize)]
struct Test {
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    result: String,
    #[serde(default)]
    failures: Vec<Failure>,
}

#[derive(Debug, Deserialize)]
struct Failure {
    failure: String,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "[==========]",
        "[ RUN      ]",
        "[  FAILED  ]",
        "[  PASSED  ]",
        "Google Test ",
        "gtest_main.cc",
        "\"testsuites\": [",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            document: JsonDocument::new(&[SUITES, TESTS]),
            read: Cases::new(budget),
            report: None,
            left_out: LeftOut::default(),
            budget: budget.clone(),
            running: String::new(),
            block: Block::default(),
            ended: false,
            ran: None,
            passed: None,
            failed: 0,
            skipped: 0,
            disabled: 0,
            recognised: false,
            busted: false,
            errors: 0,
            hooks: Block::default(),
            listed: 0,
            set_up: Problems::new(budget),
            repeating: false,
            foreign: false,
        }
    }

    /// A passing test, told by its frame: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        if self.document.is_open() || self.foreign {
            return false;
        }
        if let Some(name) = line.strip_prefix("[       OK ] ") {
            self.result(name, TestStatus::Passed);
        } else if let Some(name) = line.strip_prefix("[ RUN      ] ") {
            self.runs(name);
        } else {
            return false;
        }
        true
    }

    pub(super) fn line(&mut self, line: &str) {
        if (line.starts_with('{') || self.document.is_open()) && self.json(line) {
            return;
        }
        if let Some((mark, rest)) = line.strip_prefix('[').and_then(|rest| rest.cut("] "))
            && self.marked(mark.trim(), rest)
        {
            return;
        }
        if line.starts_with("Running main() from ") || line.starts_with("Note: Google Test ") {
            self.recognised |= line.holds("gtest") || line.holds("Google");
            return;
        }
        if line.starts_with("Repeating all tests (iteration ") {
            self.repeating = true;
            self.ended = false;
            return;
        }
        if let Some(rest) = line.trim_start().strip_prefix("YOU HAVE ")
            && rest.holds(" DISABLED TEST")
        {
            self.disabled += place::leading_number::<u64>(rest).unwrap_or(0);
            return;
        }
        if !self.ended {
            self.block.push(line);
        }
    }

    /// A line with one of the marks in brackets.
    fn marked(&mut self, mark: &str, rest: &str) -> bool {
        if mark == "==========" || !self.recognised {
            self.foreign = cmocka::is_own(mark, rest) || self.foreign && mark != "==========";
        }
        if self.foreign {
            return true;
        }
        match mark {
            "==========" => {
                self.recognised = true;
                // GoogleTest itself says how many tests it runs.
                self.busted |= rest.starts_with("Running tests from scanned files");
                if rest.holds(" ran.") {
                    self.ended = true;
                    self.ran = Some(self.ran.unwrap_or(0) + place::leading_number::<u64>(rest).unwrap_or(0));
                } else {
                    self.ended = false;
                }
                self.between();
            }
            "----------" => self.between(),
            "RUN" => self.runs(rest),
            "OK" => self.result(rest, TestStatus::Passed),
            // Behind the end they begin lists.
            "FAILED" | "SKIPPED" | "ERROR" if self.ended => {
                if let Some(number) = listed(rest) {
                    match mark {
                        "FAILED" => self.failed += number,
                        "SKIPPED" => self.skipped += number,
                        _ => self.errors += number,
                    }
                } else if self.busted && mark == "ERROR" {
                    self.hook(rest);
                }
            }
            "ERROR" if self.busted => self.result(rest, TestStatus::Error),
            "FAILED" => self.result(rest, TestStatus::Failed),
            "SKIPPED" => self.result(rest, TestStatus::Skipped),
            "PASSED" if self.ended => {
                self.passed = Some(self.passed.unwrap_or(0) + place::leading_number::<u64>(rest).unwrap_or(0));
            }
            "DISABLED" => {}
            _ => return false,
        }
        true
    }

    fn runs(&mut self, name: &str) {
        self.between();
        self.recognised = true;
        name.trim_end().clone_into(&mut self.running);
    }

    /// Drops the output since the last test, which belongs to none. Exceptions are the output of Busted's hooks, and a failure of code that
    /// sets tests up or cleans up behind them.
    fn between(&mut self) {
        self.block.end_line();
        let text = self.block.take();
        if self.busted {
            text.lines().for_each(|line| self.hooks.push(line));
        } else if self.recognised && self.running.is_empty() && text.holds(": Failure\n") {
            self.set_up.push(RunKind::CollectionError, &text, stack::place_of(&text));
        }
    }

    /// `cart_spec.lua @ 7: cart before_each` in the list of errors: a test that was named above, or a hook.
    fn hook(&mut self, rest: &str) {
        let Some((at, name)) = rest.cut(": ") else { return };
        let name = name.trim_end();
        // The list repeats tests, and names hooks for the first time.
        if self.cases.find(name).is_some() {
            return;
        }
        let case = self.cases.push(name, TestStatus::Error);
        self.listed += 1;
        let Some((file, line)) = at.cut_last(" @ ").filter(|_| case.is_some() && self.listed <= MOST_LISTED) else {
            return;
        };
        let text = self.hooks.text();
        let message = said_at(&text, file, line);
        self.cases.explain(case, &message, line.parse().ok().map(|line| (file.to_owned(), line)));
    }

    /// `Typed/1.IsSmall, where TypeParam = int (0 ms)`.
    fn result(&mut self, rest: &str, status: TestStatus) {
        // Such as `Sums/Add.Works/0, where GetParam() = 3 (0 ms)`.
        let name = rest.cut_last(" (").filter(|(_, time)| time.ends_with(" ms)")).map_or(rest, |(name, _)| name);
        let name = name.cut(", where ").map_or(name, |(name, _)| name).trim_end();
        if name.contains(' ') && !self.busted {
            // `1 test, listed below:` before the end was printed by a test.
            return;
        }
        if !self.running.is_empty() && self.running != name {
            // A test printed a line that looks like a result.
            self.block.push(rest);
            return;
        }
        self.running.clear();
        self.recognised = true;
        let text = if status == TestStatus::Passed { String::new() } else { self.block.text() };
        self.block.clear();
        // Busted puts the place before the name: `spec/cart_spec.lua @ 6: cart adds`.
        let name = if self.busted { name.cut(": ").map_or(name, |(_, name)| name) } else { name };
        let at = self.cases.push(name, status);
        if matches!(status, TestStatus::Failed | TestStatus::Error) {
            self.cases.explain(at, &text, stack::place_of(&text));
        }
    }

    /// Takes a line of a JSON report.
    fn json(&mut self, line: &str) -> bool {
        let (read, report, budget) = (&mut self.read, &mut self.report, &self.budget);
        let left_out = &mut self.left_out;
        let mut is_report = false;
        let taken = self.document.line(line, &mut |part| match part {
            Part::Begin => {
                if !read.is_empty() {
                    *read = Cases::new(budget);
                }
            }
            Part::LeftOut(_) => left_out.announce(),
            Part::Element(TESTS, text, _) => {
                let before = read.len();
                if let Ok(test) = serde_json::from_str(text) {
                    reported(&test, read);
                }
                left_out.element(read, before);
            }
            Part::Element(..) => {}
            Part::Whole(text) => {
                if text.holds("\"testsuites\"")
                    && let Ok(numbers) = serde_json::from_str(text)
                {
                    *report = Some((std::mem::replace(read, Cases::new(budget)), numbers));
                    is_report = true;
                }
            }
        });
        if is_report {
            left_out.report(&self.document);
        }
        taken
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        if let Some((cases, numbers)) = self.report {
            self.left_out.tell(&mut self.problems);
            let problems = self.problems.into_list();
            return Some(Findings { problems, ..from_report(cases, &numbers) });
        }
        if !self.recognised {
            return Findings::broken_off(FRAMEWORK, self.read);
        }
        let mut findings = Findings::new(if self.busted { "busted" } else { FRAMEWORK });
        findings.finished = self.ran.is_some() && self.running.is_empty() && self.ended;
        if !self.running.is_empty() {
            let text = format!("{} did not end\n{}", self.running, self.block.take());
            self.problems.push(RunKind::Crash, &text, stack::place_of(&text));
        }
        // With repetitions the same tests are counted again.
        if findings.finished
            && !self.repeating
            && let Some(ran) = self.ran
        {
            // `--gtest_brief` lists nothing at the end.
            let failed = self.failed.max(self.cases.count(TestStatus::Failed));
            let skipped = match self.passed {
                // Its errors need not be of tests.
                _ if self.busted => self.skipped,
                Some(passed) => ran.saturating_sub(passed + failed + self.errors) + self.disabled,
                None => self.skipped + self.disabled,
            };
            findings.counts = Counts {
                total: Some(ran + self.disabled),
                passed: self.passed.or_else(|| Some(ran.saturating_sub(failed + self.skipped))),
                failed: Some(failed),
                skipped: Some(skipped),
                errors: Some(self.errors),
            };
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        if self.ended {
            findings.problems.extend(self.set_up.into_list());
        }
        Some(findings)
    }
}

/// `6 tests, listed below:`.
fn listed(rest: &str) -> Option<u64> {
    (rest.ends_with("listed below:")).then(|| place::leading_number(rest)).flatten()
}

/// The output of Busted's hooks at a place: from the line that names it to the next that names one of the file.
fn said_at(text: &str, file: &str, line: &str) -> String {
    let (place, of_file) = (format!("{file}:{line}: "), format!("{file}:"));
    let mut lines = text.lines().skip_while(|said| !said.starts_with(&place));
    let first = lines.next().into_iter();
    first.chain(lines.take_while(|said| !said.starts_with(&of_file))).collect::<Vec<_>>().join("\n")
}

/// A test of a JSON report.
fn reported(test: &Test, cases: &mut Cases) {
    let status = if !test.failures.is_empty() {
        TestStatus::Failed
    } else if test.status == "NOTRUN" || test.result == "SKIPPED" {
        TestStatus::Skipped
    } else {
        TestStatus::Passed
    };
    let at = cases.push(&test.name, status);
    for failure in &test.failures {
        cases.explain(at, &failure.failure, stack::place_of(&failure.failure));
    }
}

fn from_report(cases: Cases, numbers: &Numbers) -> Findings {
    let skipped = cases.count(TestStatus::Skipped);
    let mut findings = Findings::new(FRAMEWORK);
    findings.counts = Counts {
        total: Some(numbers.tests),
        passed: Some(numbers.tests.saturating_sub(numbers.failures + numbers.errors + skipped)),
        failed: Some(numbers.failures),
        skipped: Some(skipped),
        errors: Some(numbers.errors),
    };
    findings.finished = true;
    findings.tests = cases.into_list();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_busted_are_named_by_the_list_at_the_end() {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        let log = "[==========] Running tests from scanned files.\n[ RUN      ] a.lua @ 2: ok\n\
                   [       OK ] a.lua @ 2: ok (0.06 ms)\na.lua:7: be\nmore\na.lua:8: db down\n[----------] 1 test from a.lua\n\
                   [==========] 1 test from 1 test file ran. (3 ms total)\n[  PASSED  ] 1 test.\n\
                   [  ERROR   ] 2 errors, listed below:\n[  ERROR   ] a.lua @ 7: before_each\n[  ERROR   ] a.lua @ 8: setup\n";
        log.lines().for_each(|line| reader.line(line));
        let found = reader.finish(None).unwrap();
        let seen: Vec<_> =
            found.tests.iter().map(|test| (test.name.as_str(), test.message.as_str(), test.line)).collect();
        let expected =
            [("ok", "", None), ("before_each", "a.lua:7: be\nmore", Some(7)), ("setup", "a.lua:8: db down", Some(8))];
        assert_eq!(seen, expected);
        assert_eq!((found.counts.errors, found.counts.skipped), (Some(2), Some(0)));
    }
}
