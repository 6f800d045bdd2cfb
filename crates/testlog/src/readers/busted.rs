//! Busted (Lua): its plain and UTF terminals. Its TAP is read by [`super::tap`], its GoogleTest look by
//! [`super::googletest`].

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, RunStatus, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "busted";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Open {
    Nothing,
    /// A head was read: the name comes next.
    Head(Option<TestStatus>),
    Test(Option<usize>),
    /// A file that could not be loaded. Its name comes first, or last when Busted knows no place.
    Suite,
}

/// Reads Busted.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    open: Open,
    block: Block,
    counts: Counts,
    finished: bool,
    /// The line before is blank, or the numbers.
    gap: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[" pending : ", " failures / ", " failure / "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            open: Open::Nothing,
            block: Block::default(),
            counts: Counts::default(),
            finished: false,
            gap: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        let gap = std::mem::replace(&mut self.gap, line.is_empty());
        if line.as_bytes().first().is_some_and(u8::is_ascii_digit) && self.numbers(line) {
            return;
        }
        // Reasons stand below the numbers.
        if !self.finished {
            return;
        }
        if let Some(status) = head(line) {
            self.settle();
            self.open = Open::Head(status);
            return;
        }
        // Behind an empty line, as a message may hold such a line too.
        if let Some(message) = placeless(line).filter(|_| gap) {
            self.settle();
            self.block.push(message);
            self.open = Open::Suite;
            return;
        }
        match self.open {
            Open::Head(status) => {
                self.open = match status {
                    // An error outside of tests is named by its suite.
                    Some(TestStatus::Error) if line.starts_with("suite ") => {
                        self.block.push(line);
                        Open::Suite
                    }
                    Some(status) => {
                        let at = self.cases.set(line.trim_end(), status);
                        if status == TestStatus::Skipped { Open::Nothing } else { Open::Test(at) }
                    }
                    None => Open::Nothing,
                };
            }
            Open::Test(_) | Open::Suite => self.block.push(line),
            Open::Nothing => {}
        }
    }

    /// `1 success / 2 failures / 1 error / 1 pending : 0.001467 seconds`.
    fn numbers(&mut self, line: &str) -> bool {
        let Some((parts, _)) = line.cut(" : ").filter(|(_, time)| time.ends_with(" seconds")) else {
            return false;
        };
        let number =
            |word: &str| parts.split(" / ").find(|part| part.contains(word)).and_then(place::leading_number::<u64>);
        let (Some(passed), Some(failed), Some(errors), Some(skipped)) =
            (number(" success"), number(" failure"), number(" error"), number(" pending"))
        else {
            return false;
        };
        self.settle();
        self.finished = true;
        self.counts.add(&Counts {
            total: Some(passed + failed + errors + skipped),
            passed: Some(passed),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: Some(errors),
        });
        true
    }

    fn settle(&mut self) {
        let text = self.block.take();
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Test(at) => self.cases.explain(at, &text, stack::place_of(&text)),
            Open::Suite => {
                self.problems.push(kind_of(&text), &text, stack::place_of(&text));
            }
            Open::Head(_) | Open::Nothing => {}
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if !self.finished {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = true;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        if !findings.problems.is_empty() {
            // The file's tests are not counted.
            findings.counts.total = None;
            if findings.counts.failed == Some(0) && findings.tests.iter().all(|test| test.status != TestStatus::Error) {
                findings.status = Some(RunStatus::Error);
            }
        }
        Some(findings)
    }
}

/// `Error -> spec/cart_spec.lua:1: ')' expected near '('`: an error of no test, for which Busted has no place.
fn placeless(line: &str) -> Option<&str> {
    line.strip_prefix("Error -> ").or_else(|| line.strip_prefix("Error → "))
}

/// The kind of trouble that keeps Busted from running a file.
fn kind_of(text: &str) -> RunKind {
    if text.starts_with("Cannot find file or directory: ") || text.starts_with("No test files found ") {
        RunKind::NoTests
    } else if text.holds(" not found:") {
        RunKind::ImportError
    } else if text.holds("expected near") || text.holds("unexpected symbol") {
        RunKind::CompileError
    } else {
        RunKind::CollectionError
    }
}

/// `Failure -> spec/cart_spec.lua @ 6`: how the test ended that is named on the next line.
fn head(line: &str) -> Option<Option<TestStatus>> {
    let (word, rest) = line.cut(" -> ").or_else(|| line.cut(" → "))?;
    let (_, number) = rest.cut_last(" @ ")?;
    number.trim().parse::<u64>().ok()?;
    match word {
        "Failure" => Some(Some(TestStatus::Failed)),
        "Error" => Some(Some(TestStatus::Error)),
        "Pending" => Some(Some(TestStatus::Skipped)),
        "Success" => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &str) -> Findings {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None).unwrap()
    }

    #[test]
    fn errors_without_a_place_are_trouble_outside_tests() {
        let numbers = "0 successes / 0 failures / 1 error / 0 pending : 0.1 seconds\n\n";
        let broken = read(&format!("*\n{numbers}Error -> a_spec.lua:1: ')' expected near '('\na_spec.lua\n"));
        assert_eq!((broken.problems[0].kind, broken.problems[0].line), (RunKind::CompileError, Some(1)));
        let missing = read(&format!(
            "\n{numbers}Error -> Cannot find file or directory: z_spec.lua\n\n\nError → No test files found matching Lua pattern: _spec\n"
        ));
        assert!(missing.problems.iter().all(|problem| problem.kind == RunKind::NoTests));
        assert_eq!((missing.problems.len(), missing.status), (2, Some(RunStatus::Error)));
    }

    #[test]
    fn a_message_may_speak_of_errors() {
        let numbers = "0 successes / 0 failures / 1 error / 0 pending : 0.1 seconds\n\n";
        let found = read(&format!("-\n{numbers}Error -> a_spec.lua @ 4\na b\na_spec.lua:4: boom\nError -> inner\n"));
        assert!(found.problems.is_empty());
        assert_eq!(found.tests[0].message, "a_spec.lua:4: boom\nError -> inner");
    }
}
