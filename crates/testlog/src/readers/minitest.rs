//! Minitest: its default and verbose reporters, and Rails', which reports each failure where it happens.
//!
//! An entry is a heading (`  1) Failure:`, for Rails `Failure:`), the test's name with its place, and the message.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "minitest";

/// Reads minitest.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    running: bool,
    /// A heading was read: the name comes next.
    heading: Option<TestStatus>,
    open: Option<usize>,
    place: Option<(String, u32)>,
    block: Block,
    counts: Counts,
    finished: bool,
    /// Ruby could not load a file: its words.
    loading: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "# Running:",
        "Run options: ",
        " runs, ",
        ") Failure:",
        ") Error:",
        "(LoadError)",
        "(SyntaxError)",
        "(NameError)",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            running: false,
            heading: None,
            open: None,
            place: None,
            block: Block::default(),
            counts: Counts::default(),
            finished: false,
            loading: false,
        }
    }

    /// A passing test, told by its time: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        let is_mine = self.running && line.ends_with(" s = .");
        if is_mine {
            self.line(line);
        }
        is_mine
    }

    pub(super) fn line(&mut self, line: &str) {
        if line == "# Running:" {
            self.settle();
            self.running = true;
            return;
        }
        if !self.running {
            self.ruby_line(line);
            return;
        }
        if let Some(status) = self.heading.take() {
            self.name_line(line, status);
            return;
        }
        if let Some(status) = heading(line) {
            self.settle();
            self.heading = Some(status);
            return;
        }
        if line.as_bytes().first().is_some_and(u8::is_ascii_digit) && self.numbers(line) {
            return;
        }
        if self.open.is_some() {
            // Rails says how to run it again.
            if line.starts_with("rails test ") || line.starts_with("bin/rails test ") {
                self.settle();
            } else {
                self.block.push(line);
            }
        } else {
            self.verbose_line(line);
        }
    }

    /// Before tests run: what ruby says when it cannot load a test file.
    fn ruby_line(&mut self, line: &str) {
        let error = ["(LoadError)", "(SyntaxError)", "(NameError)"].iter().any(|class| line.ends_with(class));
        if error && !self.loading {
            self.loading = true;
            self.block.push(line);
        } else if self.loading {
            if line.starts_with("\tfrom ") || line.starts_with(' ') || line.is_empty() {
                self.block.push(line);
            } else {
                self.settle_loading();
            }
        }
    }

    fn settle_loading(&mut self) {
        if !std::mem::take(&mut self.loading) {
            return;
        }
        let text = self.block.take();
        // Any program in Ruby dies with such words.
        if !(text.holds("_test.rb:") || text.holds("/test/") || text.holds("test/test_")) {
            return;
        }
        let kind = if text.holds("(SyntaxError)") {
            RunKind::CompileError
        } else if text.holds("(LoadError)") {
            RunKind::ImportError
        } else {
            RunKind::CollectionError
        };
        self.problems.push(kind, &text, stack::place_of(&text));
    }

    /// `CartTest#test_two_milks [test/cart_test.rb:14]:`.
    fn name_line(&mut self, line: &str, status: TestStatus) {
        let Some(text) = line.trim_end().strip_suffix(':') else { return };
        let (name, found) = match text.strip_suffix(']').and_then(|text| text.cut_last(" [")) {
            Some((name, inside)) if place::find(inside).is_some() => (name, place::find(inside)),
            _ => (text, None),
        };
        self.open = if status == TestStatus::Skipped {
            self.cases.set(name, status);
            None
        } else {
            let at = self.cases.set_worst(name, status);
            // A test that failed and could not be cleaned up after has two entries.
            if let Some(test) = at.and_then(|at| self.cases.get_mut(at))
                && test.status != TestStatus::Failed
            {
                test.status = status;
            }
            at
        };
        self.place = found;
    }

    /// `CartTest#test_total = 0.00 s = .`.
    fn verbose_line(&mut self, line: &str) {
        let Some((head, mark)) = line.cut_last(" s = ") else { return };
        let Some((name, _)) = head.cut_last(" = ") else { return };
        let status = match mark.trim_end() {
            "." => TestStatus::Passed,
            "F" => TestStatus::Failed,
            "E" => TestStatus::Error,
            "S" => TestStatus::Skipped,
            _ => return,
        };
        // Such as `CartTest#test_adds = 0.01 s = .`.
        if name.contains('#') {
            self.cases.push(name, status);
        }
    }

    fn settle(&mut self) {
        if self.loading {
            self.settle_loading();
            return;
        }
        let text = self.block.take();
        if let Some(at) = self.open.take() {
            let found = self.place.take().or_else(|| stack::place_of(&text));
            self.cases.explain(Some(at), &text, found);
        }
    }

    /// `10 runs, 8 assertions, 5 failures, 1 errors, 1 skips`.
    fn numbers(&mut self, line: &str) -> bool {
        if !line.holds(" assertions, ") {
            return false;
        }
        let number = |word: &str| {
            line.split(", ").find_map(|part| part.trim_end().strip_suffix(word)?.trim_end().parse::<u64>().ok())
        };
        // Minitest 4 calls them tests.
        let total = number("runs").or_else(|| number("tests"));
        let (Some(total), Some(failed), Some(errors), Some(skipped)) =
            (total, number("failures"), number("errors"), number("skips"))
        else {
            return false;
        };
        self.settle();
        self.finished = true;
        self.running = false;
        self.counts.add(&Counts {
            total: Some(total),
            passed: Some(total.saturating_sub(failed + errors + skipped)),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: Some(errors),
        });
        true
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if !self.finished && !self.running && self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        // Several runs may stand in one log.
        findings.finished = self.finished && !self.running;
        findings.counts = self.counts;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// `  1) Failure:` and Rails' `Failure:`.
fn heading(line: &str) -> Option<TestStatus> {
    let text = match line.strip_prefix(' ') {
        Some(rest) => {
            let (number, word) = rest.trim_start().cut(") ")?;
            number.parse::<u64>().ok()?;
            word
        }
        None => line,
    };
    match text {
        "Failure:" => Some(TestStatus::Failed),
        "Error:" => Some(TestStatus::Error),
        "Skipped:" => Some(TestStatus::Skipped),
        _ => None,
    }
}
