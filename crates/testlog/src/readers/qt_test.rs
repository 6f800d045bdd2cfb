//! Qt Test's plain text: a line for each test function or data row, and words about a failure below it, up to its place.
//!
//! Qt counts `initTestCase()` and `cleanupTestCase()` as tests.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems, sum};
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, TestStatus};

const FRAMEWORK: &str = "qt-test";
const STARS: &str = "********* ";

/// A line's verdict on a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Result(TestStatus),
    /// The last words of a program that aborts. A failure follows as a rule.
    Fatal,
    /// A warning, a number, or an expected failure, behind which a result follows.
    Other,
}

/// Reads Qt Test.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    /// Where the tests of this class begin.
    first: usize,
    /// The class that is tested. Empty when there is none.
    class: String,
    /// `-silent` names the class in another way, and says nothing behind the numbers.
    silent: bool,
    open: Option<usize>,
    block: Block,
    /// The numbers of this class, which hold when its end follows.
    pending: Option<Counts>,
    counts: Counts,
    started: u64,
    ended: u64,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] =
        &["********* Start testing of ", "FAIL!  : ", "XPASS  : ", " blacklisted, "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            first: 0,
            class: String::new(),
            silent: false,
            open: None,
            block: Block::default(),
            pending: None,
            counts: Counts::default(),
            started: 0,
            ended: 0,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if let Some((word, name, message)) = self.result(line) {
            self.settle();
            self.tested(word, name, message);
        } else if let Some(rest) = line.strip_prefix(STARS) {
            self.frame(rest);
        } else if let Some(counts) = totals(line).filter(|_| !self.class.is_empty()) {
            self.settle();
            self.pending = Some(counts);
            if self.silent {
                self.class_ends();
            }
        } else if let Some(class) = line.strip_prefix("Testing ")
            && self.class.is_empty()
        {
            self.class_starts(class, true);
        } else if line.starts_with("Unknown test function: '") {
            self.problems.push(RunKind::NoTests, line, None);
        } else if self.open.is_some() {
            self.block.push(line);
            if let Some(place) = line.strip_prefix("   Loc: [") {
                self.place(place);
            }
        }
    }

    /// `Start testing of Money *********`.
    fn frame(&mut self, rest: &str) {
        let Some(words) = rest.strip_suffix(" *********") else { return };
        if let Some(class) = words.strip_prefix("Start testing of ") {
            self.class_starts(class, false);
        } else if words.strip_prefix("Finished testing of ").is_some_and(|class| class == self.class) {
            self.settle();
            self.class_ends();
        }
    }

    fn class_starts(&mut self, class: &str, silent: bool) {
        if silent && (class.is_empty() || class.contains(' ')) {
            return;
        }
        self.settle();
        class.clone_into(&mut self.class);
        self.silent = silent;
        self.first = self.cases.len();
        self.pending = None;
        // `Testing x` alone may be anybody's; a silent class is known by its numbers.
        self.started += u64::from(!silent);
    }

    fn class_ends(&mut self) {
        if let Some(counts) = self.pending.take() {
            self.started += u64::from(self.silent);
            self.ended += 1;
            self.counts.add(&counts);
        }
        self.class.clear();
    }

    /// `FAIL!  : Money::eq(row) Compared values are not the same`: only of the class that is tested.
    fn result<'a>(&self, line: &'a str) -> Option<(Word, &'a str, &'a str)> {
        let (word, rest) = line.split_at_checked(7)?;
        let rest = rest.strip_prefix(": ")?;
        let word = word_of(word.trim_end())?;
        let function = rest.strip_prefix(self.class.as_str())?.strip_prefix("::")?;
        if self.class.is_empty() {
            return None;
        }
        let end = rest.len() - function.len() + end_of_name(function, word == Word::Result(TestStatus::Passed))?;
        let (name, message) = rest.split_at_checked(end)?;
        Some((word, name, message.trim_start()))
    }

    fn tested(&mut self, word: Word, name: &str, message: &str) {
        let status = match word {
            Word::Result(status) => status,
            Word::Fatal => TestStatus::Failed,
            Word::Other => return,
        };
        // A test may fail twice, and one that called a fatal function does.
        let last = self.cases.len().checked_sub(1).filter(|last| *last >= self.first);
        let same = last.filter(|last| self.cases.get(*last).is_some_and(|test| test.name == name));
        let at = match same {
            Some(_) => self.cases.set_worst(name, status),
            None => self.cases.push(name, status),
        };
        if status == TestStatus::Failed {
            self.open = at;
            self.block.push(message);
        }
    }

    /// `t.cpp(6)]`: the last line of a failure.
    fn place(&mut self, rest: &str) {
        let place = rest.cut_last("(").and_then(|(file, line)| Some((file, place::leading_number::<u32>(line)?)));
        // Where the place is unknown, Qt writes the line 0.
        let place = place.filter(|(_, line)| *line > 0).map(|(file, line)| (file.to_owned(), line));
        let text = self.block.take();
        self.cases.explain(self.open.take(), &text, place);
    }

    fn settle(&mut self) {
        let text = self.block.take();
        self.cases.explain(self.open.take(), &text, None);
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if self.started == 0 {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = self.counts;
        findings.finished = self.started == self.ended;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

fn word_of(word: &str) -> Option<Word> {
    Some(match word {
        "PASS" => Word::Result(TestStatus::Passed),
        "FAIL!" | "XPASS" => Word::Result(TestStatus::Failed),
        // Whatever becomes of a test that is on the black list, it does not count.
        "SKIP" | "BPASS" | "BFAIL" | "BXPASS" | "BSKIP" => Word::Result(TestStatus::Skipped),
        "QFATAL" => Word::Fatal,
        "XFAIL" | "BXFAIL" | "QWARN" | "QDEBUG" | "QINFO" | "QSYSTEM" | "QCRIT" | "QCRITICAL" | "RESULT" => Word::Other,
        _ => return None,
    })
}

/// Where `data(two (2))` ends in what stands behind the class: parentheses of rows are even as a rule.
fn end_of_name(text: &str, whole: bool) -> Option<usize> {
    let start = text.find('(')?;
    if whole {
        return text.trim_end().ends_with(')').then(|| text.trim_end().len());
    }
    let mut depth = 0_u32;
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    // Uneven ones in the name of a row: the first that closes has to do.
    text.find(')').map(|at| at + 1)
}

/// `Totals: 3 passed, 1 failed, 1 skipped, 0 blacklisted, 2ms`.
fn totals(line: &str) -> Option<Counts> {
    let mut numbers = [None; 4];
    for part in line.strip_prefix("Totals: ")?.split(", ") {
        let Some((number, word)) = part.cut_word() else { continue };
        let at = ["passed", "failed", "skipped", "blacklisted"].iter().position(|one| *one == word)?;
        *numbers.get_mut(at)? = number.parse::<u64>().ok();
    }
    let [Some(passed), Some(failed), Some(skipped), blacklisted] = numbers else { return None };
    let skipped = sum(&[skipped, blacklisted.unwrap_or(0)]);
    Some(Counts {
        total: Some(sum(&[passed, failed, skipped])),
        passed: Some(passed),
        failed: Some(failed),
        skipped: Some(skipped),
        errors: Some(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str) -> Option<Findings> {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None)
    }

    fn seen(found: &Findings) -> Vec<(&str, TestStatus, &str, Option<u32>)> {
        found.tests.iter().map(|test| (test.name.as_str(), test.status, test.message.as_str(), test.line)).collect()
    }

    const START: &str = "********* Start testing of Money *********\n";

    #[test]
    fn an_expected_failure_is_no_result_and_an_unexpected_pass_is() {
        let found = of(&format!(
            "{START}XFAIL  : Money::xf() later\n   Loc: [t.cpp(8)]\nPASS   : Money::xf()\nXPASS  : Money::xp() 'a' returned TRUE unexpectedly.\n   \
             Loc: [t.cpp(9)]\nBFAIL  : Money::old() no\nTotals: 1 passed, 1 failed, 0 skipped, 1 blacklisted, 1ms\n\
             ********* Finished testing of Money *********\n"
        ))
        .unwrap();
        let text = "'a' returned TRUE unexpectedly.\n   Loc: [t.cpp(9)]";
        let expected = [
            ("Money::xf()", TestStatus::Passed, "", None),
            ("Money::xp()", TestStatus::Failed, text, Some(9)),
            ("Money::old()", TestStatus::Skipped, "", None),
        ];
        assert_eq!(seen(&found), expected);
        assert_eq!((found.counts.total, found.counts.skipped, found.finished), (Some(3), Some(1), true));
    }

    #[test]
    fn a_row_may_have_parentheses_and_a_test_may_fail_twice() {
        let log = format!(
            "{START}FAIL!  : Money::data(two (2)) no (at all)\n   Loc: [t.cpp(3)]\nprinted\nFAIL!  : Money::data(two (2)) again\n"
        );
        let found = of(&log).unwrap();
        let text = "no (at all)\n   Loc: [t.cpp(3)]\nagain";
        assert_eq!(seen(&found), [("Money::data(two (2))", TestStatus::Failed, text, Some(3))]);
        assert!(!found.finished);
    }

    #[test]
    fn what_a_test_prints_of_another_class_is_no_result() {
        let log = format!(
            "{START}FAIL!  : Other::x() no\nTotals: 9 passed, 9 failed, 0 skipped, 0 blacklisted, 1ms\nPASS   : Money::a()\n\
             Totals: 1 passed, 0 failed, 0 skipped, 0 blacklisted, 1ms\n********* Finished testing of Money *********\n"
        );
        let found = of(&log).unwrap();
        assert_eq!((found.tests.len(), found.counts.failed, found.finished), (1, Some(0), true));
        assert!(of("PASS   : Money::a()\nTotals: 1 passed, 0 failed, 0 skipped, 0 blacklisted, 1ms\n").is_none());
    }

    #[test]
    fn a_silent_run_is_known_by_its_numbers() {
        let log = "Testing Money\nFAIL!  : Money::a() no\n   Loc: [t.cpp(3)]\nTotals: 1 passed, 1 failed, 0 skipped, 0 blacklisted, 1ms\n";
        let found = of(log).unwrap();
        assert_eq!((found.tests.len(), found.counts.total, found.finished), (1, Some(2), true));
    }

    #[test]
    fn a_program_that_aborts_is_unfinished() {
        let found =
            of(&format!("{START}PASS   : Money::a()\nQFATAL : Money::b() ASSERT: \"x\" in file t.cpp, line 4\n"));
        let found = found.unwrap();
        assert_eq!(found.tests.last().unwrap().message, "ASSERT: \"x\" in file t.cpp, line 4");
        assert!(!found.finished);
    }
}
