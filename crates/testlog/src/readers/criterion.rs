//! Criterion for C and C++: words about a failure stand before the line that names the test, and results of tests at work side
//! by side may come between.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings};
use crate::needle::Seek as _;
use crate::place;
use crate::report::TestStatus;

const FRAMEWORK: &str = "criterion";

/// Reads Criterion.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    block: Block,
    place: Option<(String, u32)>,
    /// The message of `assert()` before its signal. Empty when there was none.
    aborted: String,
    counts: Counts,
    /// Something was seen that only Criterion writes.
    recognised: bool,
    /// Tests were at work since the last numbers.
    at_work: bool,
    ended: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &["[----] ", "[====] ", "[FAIL] "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            block: Block::default(),
            place: None,
            aborted: String::new(),
            counts: Counts::default(),
            recognised: false,
            at_work: false,
            ended: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        let Some((mark, rest)) = mark(line) else {
            // C's `assert` prints this without a mark, before the signal is reported.
            if line.holds(": Assertion `") {
                line.clone_into(&mut self.aborted);
            }
            return;
        };
        match mark {
            "----" => self.words(rest),
            "====" => self.frame(rest),
            "RUN" => self.at_work = true,
            "PASS" => self.result(rest, TestStatus::Passed),
            "FAIL" => self.result(rest, TestStatus::Failed),
            "SKIP" => self.result(rest, TestStatus::Skipped),
            _ => {}
        }
    }

    /// `crit.c:5: Assertion Failed`, and below it the indented words.
    fn words(&mut self, rest: &str) {
        if rest.starts_with("Criterion v") {
            self.recognised = true;
            self.at_work = true;
            self.block.clear();
            self.place = None;
            return;
        }
        if !rest.starts_with(' ') && (rest.holds(": Assertion Failed") || rest.holds(": Unexpected signal caught ")) {
            self.recognised = true;
            self.at_work = true;
            self.place = self.place.take().or_else(|| place::find(rest));
            if rest.holds(": Unexpected signal caught ") && !self.aborted.is_empty() {
                let words = std::mem::take(&mut self.aborted);
                self.block.push(&words);
            }
        }
        self.block.push(rest.strip_prefix("  ").unwrap_or(rest).trim_end());
        let name = rest.strip_prefix("Warning! The test `").and_then(|rest| rest.cut("` crashed during its setup"));
        if let Some((name, _)) = name {
            // It has no result of its own.
            let at = self.cases.push(name, TestStatus::Failed);
            self.explain(at);
        }
    }

    /// `Running 4 tests from cart:` and `Synthesis: Tested: 5 | Passing: 1 | Failing: 4 | Crashing: 1 `.
    fn frame(&mut self, rest: &str) {
        if rest.starts_with("Running ") && rest.trim_end().ends_with(':') {
            self.recognised = true;
            self.at_work = true;
        } else if let Some(counts) = rest.strip_prefix("Synthesis: ").and_then(numbers) {
            self.recognised = true;
            self.ended = true;
            self.at_work = false;
            self.counts.add(&counts);
            self.block.clear();
            self.place = None;
        }
    }

    /// `cart::sells: (0.00s)`, `till::crashes: CRASH!`, `cart::skipped: no till`.
    fn result(&mut self, rest: &str, status: TestStatus) {
        let Some((name, words)) = rest.cut(": ").filter(|(name, _)| name.holds("::") && !name.contains(' ')) else {
            return;
        };
        self.at_work = true;
        let at = self.cases.push(name, status);
        if status != TestStatus::Failed {
            return;
        }
        let words = words.trim_end();
        // A time says nothing, other words tell how the test died.
        if !(words.starts_with('(') && words.ends_with("s)")) {
            self.block.push(words);
        }
        self.explain(at);
    }

    /// Gives a test that failed what was said since the last one.
    fn explain(&mut self, at: Option<usize>) {
        let text = self.block.take();
        self.cases.explain(at, &text, self.place.take());
    }

    pub(super) fn finish(self, _exit: Option<Exit>) -> Option<Findings> {
        if !self.recognised {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.finished = self.ended && !self.at_work;
        findings.counts = self.counts;
        findings.tests = self.cases.into_list();
        Some(findings)
    }
}

/// `[RUN ] cart::adds`: the mark, and what stands behind it.
fn mark(line: &str) -> Option<(&str, &str)> {
    let (mark, rest) = line.strip_prefix('[')?.split_at_checked(4)?;
    Some((mark.trim(), rest.strip_prefix("] ")?))
}

/// The counts in a line of numbers. Tests that crashed are among those that failed. Tests that were skipped are not among those that were
/// tested.
fn numbers(text: &str) -> Option<Counts> {
    let of = |word: &str| {
        let part = text.split(" | ").find_map(|part| part.strip_prefix(word))?;
        part.trim().parse::<u64>().ok()
    };
    let (total, passed, failed) = (of("Tested: ")?, of("Passing: ")?, of("Failing: ")?);
    Some(Counts { total: Some(total), passed: Some(passed), failed: Some(failed), skipped: None, errors: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str) -> Option<Findings> {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None)
    }

    const END: &str = "[====] Synthesis: Tested: 2 | Passing: 1 | Failing: 1 | Crashing: 0 \n";

    #[test]
    fn words_belong_to_the_next_failure_and_a_pass_between_changes_nothing() {
        let log = format!(
            "[----] t.c:3: Assertion Failed\n[----]   \n[----]   milk is dear\n[----]   \n[PASS] money::ok: (0.00s)\n[FAIL] money::eq: (0.00s)\n{END}"
        );
        let found = of(&log).unwrap();
        let eq = found.tests.last().unwrap();
        assert_eq!((eq.name.as_str(), eq.line), ("money::eq", Some(3)));
        assert_eq!(eq.message, "t.c:3: Assertion Failed\n\nmilk is dear");
        assert_eq!((found.counts.total, found.counts.failed, found.finished), (Some(2), Some(1), true));
        assert_eq!(of(&log.repeat(2)).unwrap().counts.total, Some(4));
    }

    #[test]
    fn a_set_up_that_fails_and_an_assertion_of_the_language_are_explained() {
        let found = of(
            "[----] t.c:3: Assertion Failed\n[----]   \n[----]   no\n[----]   \n[----] Warning! The test `till::setup` crashed during its \
                        setup or teardown.\nx: t.c:8: f: Assertion `0' failed.\n[----] t.c:8: Unexpected signal caught below this line!\n\
                        [FAIL] cart::asserts: CRASH!\n",
        );
        let found = found.unwrap();
        let seen: Vec<_> = found.tests.iter().map(|test| (test.name.as_str(), test.line)).collect();
        assert_eq!(seen, [("till::setup", Some(3)), ("cart::asserts", Some(8))]);
        assert!(
            found.tests.last().unwrap().message.starts_with("x: t.c:8: f: Assertion `0' failed.\nt.c:8: Unexpected")
        );
    }

    #[test]
    fn a_runner_that_died_is_unfinished() {
        let died = "[----] Criterion v2.4.1\n[====] Running 2 tests from cart:\n[RUN ] cart::adds\n[PASS] cart::adds: (0.00s)\n";
        assert!(!of(died).unwrap().finished);
        assert!(!of(&format!("{END}{died}")).unwrap().finished);
    }

    #[test]
    fn other_peoples_marks_are_not_criterions() {
        assert!(of("[FAIL] lint::style: no\n[----] 3 files\n[====] done\n").is_none());
    }
}
