//! `meson test`: one line a test, the output of what failed between rules, and numbers at the end.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings};
use crate::report::TestStatus;
use crate::stack;

const FRAMEWORK: &str = "meson-test";

/// Reads meson test.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    open: Option<usize>,
    /// Between the rules around a test's output.
    inside: bool,
    block: Block,
    /// The list of failures is a repetition.
    summary: bool,
    counts: Counts,
    numbers: u32,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "Expected Fail: ",
        "Unexpected Pass: ",
        "/meson-logs/",
        " FAIL  ",
        " OK  ",
        " SKIP  ",
        " TIMEOUT  ",
        " ERROR  ",
        "Summary of Failures:",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            open: None,
            inside: false,
            block: Block::default(),
            summary: false,
            counts: Counts::default(),
            numbers: 0,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with('―') {
            // One rule stands above the output and one below it.
            self.inside = self.open.is_some() && !self.inside;
            return;
        }
        if self.inside {
            self.block.push(line);
            return;
        }
        if line.starts_with("Summary of Failures:") {
            self.settle();
            self.summary = true;
            return;
        }
        if line.as_bytes().first().is_some_and(u8::is_ascii_uppercase) {
            self.number(line);
            return;
        }
        // The summary shows the lines of failing tests again.
        if let Some((name, status, detail)) = result_line(line)
            && !self.summary
        {
            self.settle();
            let at = self.cases.set(name, status);
            if status == TestStatus::Failed {
                self.block.push(detail);
                self.open = at;
            }
        }
    }

    /// `Expected Fail:      1`.
    fn number(&mut self, line: &str) -> bool {
        let Some((word, number)) = line.split_once(':') else { return false };
        let Ok(number) = number.trim().parse::<u64>() else { return false };
        let of = |passed, failed, skipped| Counts { total: Some(number), passed, failed, skipped, errors: None };
        let counts = match word {
            "Ok" | "Expected Fail" => of(Some(number), None, None),
            "Fail" | "Unexpected Pass" | "Timeout" | "Error" => of(None, Some(number), None),
            "Skipped" => of(None, None, Some(number)),
            _ => return false,
        };
        self.settle();
        self.numbers += 1;
        self.counts.add(&counts);
        true
    }

    fn settle(&mut self) {
        let text = self.block.take();
        self.inside = false;
        if let Some(at) = self.open.take() {
            self.cases.explain(Some(at), &text, stack::place_of(&text));
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        // The numbers are printed together, a single one is somebody else's.
        if self.numbers < 2 || self.counts.passed.is_none() || self.counts.failed.is_none() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.counts.add(&Counts { skipped: Some(0), ..Counts::default() });
        findings.finished = true;
        findings.tests = self.cases.into_list();
        Some(findings)
    }
}

/// `1/6 sums     FAIL            0.02s   exit status 1`.
fn result_line(line: &str) -> Option<(&str, TestStatus, &str)> {
    let line = line.trim_start();
    if !line.as_bytes().first()?.is_ascii_digit() {
        return None;
    }
    let (count, rest) = line.split_once(' ')?;
    let (number, total) = count.split_once('/')?;
    number.parse::<u64>().ok()?;
    total.parse::<u64>().ok()?;
    const WORDS: [(&str, TestStatus); 7] = [
        (" OK ", TestStatus::Passed),
        (" EXPECTEDFAIL ", TestStatus::Passed),
        (" SKIP ", TestStatus::Skipped),
        (" FAIL ", TestStatus::Failed),
        (" TIMEOUT ", TestStatus::Failed),
        (" ERROR ", TestStatus::Failed),
        (" UNEXPECTEDPASS ", TestStatus::Failed),
    ];
    WORDS.iter().find_map(|(word, status)| {
        // A name may hold such a word.
        let at = rest.rfind(word)?;
        let (name, detail) = rest.split_at_checked(at)?;
        Some((name.trim(), *status, detail.trim()))
    })
}
