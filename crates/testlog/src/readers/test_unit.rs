//! test-unit (Ruby): an entry stands between two lines of `=` and begins with what happened and the test's name.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings};
use crate::needle::Seek as _;
use crate::report::TestStatus;
use crate::stack;

const FRAMEWORK: &str = "test-unit";

/// Reads test-unit.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    started: bool,
    /// Behind a line of `=`.
    bar: bool,
    open: Option<usize>,
    inside: bool,
    block: Block,
    class: String,
    counts: Counts,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &["Loaded suite ", " notifications"];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            started: false,
            bar: false,
            open: None,
            inside: false,
            block: Block::default(),
            class: String::new(),
            counts: Counts::default(),
            finished: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with("Loaded suite ") {
            self.started = true;
            return;
        }
        if line.starts_with("=======") && line.bytes().all(|byte| byte == b'=') {
            self.settle();
            self.bar = !self.inside;
            self.inside = false;
            return;
        }
        if std::mem::take(&mut self.bar) && self.heading(line) {
            self.inside = true;
            return;
        }
        if self.inside {
            self.block.push(line);
            return;
        }
        if line.ends_with(" notifications") && self.numbers(line) {
            return;
        }
        self.verbose_line(line);
    }

    /// `Failure: test_total(CartTU)`, `Error: test_error(CartTU): Cart::Refused: cannot add 0 of air`.
    fn heading(&mut self, line: &str) -> bool {
        let Some((word, rest)) = line.cut(": ") else { return false };
        let status = match word {
            "Failure" => TestStatus::Failed,
            "Error" => TestStatus::Error,
            "Pending" | "Omission" | "Notification" => TestStatus::Skipped,
            _ => return false,
        };
        let (name, message) = match rest.cut("): ") {
            Some((name, message)) => (format!("{name})"), message),
            None => (rest.trim_end().trim_end_matches(':').to_owned(), ""),
        };
        // `Omission: why [name(Class)]`.
        let name = match name.strip_suffix(']').and_then(|text| text.cut_last(" [")) {
            Some((_, name)) if status == TestStatus::Skipped => name.to_owned(),
            _ => name,
        };
        if word == "Notification" {
            return true;
        }
        self.open = self.cases.push(&name, status).filter(|_| status != TestStatus::Skipped);
        if !message.is_empty() {
            self.block.push(message);
        }
        true
    }

    /// `  test_data[one]:\t.: (0.000153)` below `CartTU: `.
    fn verbose_line(&mut self, line: &str) {
        if let Some(class) = line.strip_suffix(": ") {
            class.trim().clone_into(&mut self.class);
        } else if line.starts_with(' ')
            && let Some((name, result)) = line.cut(":\t")
            && result.trim_start_matches('\t').starts_with(".:")
        {
            // The names of other tests stand in their entries.
            self.cases.push(&format!("{}({})", name.trim(), self.class), TestStatus::Passed);
        }
    }

    fn settle(&mut self) {
        let text = self.block.take();
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), &text, first_frame(&text));
        }
    }

    /// `8 tests, 5 assertions, 3 failures, 1 errors, 1 pendings, 1 omissions, 0 notifications`.
    fn numbers(&mut self, line: &str) -> bool {
        let number =
            |word: &str| line.split(", ").find_map(|part| part.strip_suffix(word)?.trim_end().parse::<u64>().ok());
        let (Some(total), Some(failed), Some(errors)) = (number("tests"), number("failures"), number("errors")) else {
            return false;
        };
        let skipped = number("pendings").unwrap_or(0) + number("omissions").unwrap_or(0);
        self.finished = true;
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
        if !self.finished && !self.started {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.finished = self.finished;
        findings.counts = self.counts;
        findings.tests = self.cases.into_list();
        Some(findings)
    }
}

/// The frame in the test: the last before the code that is shown.
fn first_frame(text: &str) -> Option<(String, u32)> {
    let frames = text.lines().take_while(|line| !line.starts_with("  =>"));
    frames.filter(|line| line.holds(":in ")).find_map(stack::place_of).or_else(|| stack::place_of(text))
}
