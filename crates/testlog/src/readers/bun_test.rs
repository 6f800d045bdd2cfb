//! `bun test`: the reason stands above the result, a time-out below it.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, RunStatus, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "bun-test";

/// Reads bun's test runner.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    recognised: bool,
    last: Option<usize>,
    block: Block,
    /// Inside of `# Unhandled error between tests`.
    unhandled: bool,
    counts: Counts,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &["bun test v", "(pass) ", "(fail) ", " files. [", " file. ["];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            recognised: false,
            last: None,
            block: Block::default(),
            unhandled: false,
            counts: Counts::default(),
            finished: false,
        }
    }

    /// A passing test, told by its frame: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        let is_mine = line.starts_with("(pass) ") && line.ends_with("ms]");
        if is_mine && let Some((status, name)) = result(line) {
            self.result(status, name);
        }
        is_mine
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with("bun test v") {
            self.recognised = true;
            self.block.clear();
            return;
        }
        if let Some((status, name)) = result(line) {
            self.result(status, name);
            return;
        }
        // Such as `  ^ this test timed out after 100ms`.
        if let Some(text) = line.strip_prefix("  ^ ")
            && self.last.is_some()
        {
            self.cases.explain(self.last, text, None);
            return;
        }
        if line.starts_with("# Unhandled error between tests") {
            self.settle_unhandled();
            self.unhandled = true;
            return;
        }
        if line.starts_with(' ') && self.number(line) {
            return;
        }
        if line.starts_with("Ran ") && line.holds(" across ") {
            self.settle_unhandled();
            self.finished = self.recognised || !self.cases.is_empty();
            return;
        }
        if line.starts_with("The following filters did not match any test files:") || line == "No tests found!" {
            self.problems.push(RunKind::NoTests, line, None);
            return;
        }
        // `cart.test.js:` begins a file.
        if line.strip_suffix(':').is_some_and(|file| !file.contains(' ') && place::is_path(file)) {
            self.settle_unhandled();
            self.block.clear();
            return;
        }
        self.block.push(line);
    }

    fn result(&mut self, status: TestStatus, name: &str) {
        self.settle_unhandled();
        self.last = self.cases.push(name, status).filter(|_| status == TestStatus::Failed);
        let text = if self.last.is_some() { self.block.text() } else { String::new() };
        self.block.clear();
        if self.last.is_some() {
            self.cases.explain(self.last, text.trim_end(), stack::place_of(&text));
        }
    }

    /// ` 1 pass`, ` 3 fail`.
    fn number(&mut self, line: &str) -> bool {
        let Some((number, what)) = line.trim_ascii().cut_word() else { return false };
        let Ok(number) = number.parse::<u64>() else { return false };
        let of = |passed, failed, skipped, errors| Counts { total: None, passed, failed, skipped, errors };
        let number = Some(number);
        let counts = match what {
            "pass" => of(number, None, None, None),
            "fail" => of(None, number, None, None),
            "skip" | "todo" => of(None, None, number, None),
            "error" | "errors" => of(None, None, None, number),
            // Numbers of assertions stand among those of tests.
            _ => return what.starts_with("expect() call"),
        };
        self.settle_unhandled();
        self.counts.add(&counts);
        true
    }

    fn settle_unhandled(&mut self) {
        if !std::mem::take(&mut self.unhandled) {
            return;
        }
        let text = self.block.take();
        // The error stands between rules.
        let text = text.trim_matches(['-', '\n', ' ']);
        let kind = if text.holds("Cannot find module") || text.holds("Cannot find package") {
            RunKind::ImportError
        } else if text.holds("SyntaxError") || text.holds("error: Unexpected") || text.holds("error: Expected") {
            RunKind::CompileError
        } else {
            RunKind::CollectionError
        };
        self.problems.push(kind, text, stack::place_of(text));
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle_unhandled();
        if !self.recognised && !self.finished {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.finished = self.finished;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        if !findings.problems.is_empty() && !findings.has_failures() {
            // Bun counts a file that cannot be loaded as a failing test without a name.
            findings.status = Some(RunStatus::Error);
        } else if self.finished {
            let zero = Some(0);
            findings.counts = self.counts;
            // Numbers that are zero may be left out.
            findings.counts.add(&Counts { total: None, passed: zero, failed: zero, skipped: zero, errors: zero });
            let counts = findings.counts;
            findings.counts.total =
                [counts.passed, counts.failed, counts.skipped].into_iter().flatten().reduce(|a, b| a + b);
        }
        Some(findings)
    }
}

/// `(fail) cart > hangs [100.12ms]`, on terminals `✗ cart > hangs [100.12ms]`.
fn result(line: &str) -> Option<(TestStatus, &str)> {
    let (mark, rest) = line.cut_word()?;
    let status = match mark {
        "(pass)" | "✓" => TestStatus::Passed,
        "(fail)" | "✗" => TestStatus::Failed,
        "(skip)" | "(todo)" | "»" | "✎" => TestStatus::Skipped,
        _ => return None,
    };
    let rest = rest.trim_end();
    let name = rest
        .cut_last(" [")
        .filter(|(_, time)| time.ends_with("ms]") || time.ends_with("s]"))
        .map_or(rest, |(name, _)| name);
    Some((status, name))
}
