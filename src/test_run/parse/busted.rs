//! Busted (Lua): its plain and UTF terminals. Its TAP is read by [`super::tap`], its GoogleTest look by
//! [`super::googletest`].

use super::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use super::{place, stack};
use crate::domain::test_report::{RunKind, RunStatus, TestStatus};
use crate::domain::verdict::Exit;
use crate::test_run::parse::needle::Seek as _;

const FRAMEWORK: &str = "busted";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Open {
    Nothing,
    /// A head was read: the name comes next.
    Head(Option<TestStatus>),
    Test(Option<usize>),
    /// A file that could not be loaded.
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
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.as_bytes().first().is_some_and(u8::is_ascii_digit) && self.numbers(line) {
            return;
        }
        if !self.finished {
            return;
        }
        if let Some(status) = head(line) {
            self.settle();
            self.open = Open::Head(status);
            return;
        }
        match self.open {
            Open::Head(status) => {
                self.open = match status {
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
                let kind = if text.holds(" not found:") {
                    RunKind::ImportError
                } else if text.holds("expected near") || text.holds("unexpected symbol") {
                    RunKind::CompileError
                } else {
                    RunKind::CollectionError
                };
                self.problems.push(kind, &text, stack::place_of(&text));
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
