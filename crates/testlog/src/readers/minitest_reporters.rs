//! The gem minitest-reporters: its default, spec and progress-bar reporters. Minitest's own output is [`super::minitest`]'s.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings};
use crate::needle::Seek as _;
use crate::report::TestStatus;
use crate::{place, stack};

const FRAMEWORK: &str = "minitest";
/// The words before a result of the spec and progress-bar reporters, or behind it.
const WORDS: [(&str, TestStatus); 4] = [
    ("PASS", TestStatus::Passed),
    ("FAIL", TestStatus::Failed),
    ("ERROR", TestStatus::Error),
    ("SKIP", TestStatus::Skipped),
];

/// Reads minitest-reporters.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    /// The class that the spec reporter names above its tests.
    class: String,
    /// A section of the default reporter: its tests' status.
    section: Option<TestStatus>,
    open: Option<usize>,
    place: Option<(String, u32)>,
    block: Block,
    counts: Option<Counts>,
    begun: bool,
    /// The line before was empty.
    gap: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &["with run options ", " failures, ", "Finished tests in "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            class: String::new(),
            section: None,
            open: None,
            place: None,
            block: Block::default(),
            counts: None,
            begun: false,
            gap: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with("Started with run options ") || line.starts_with("# Running tests with run options ") {
            self.settle();
            self.begun = true;
            return;
        }
        if !self.begun {
            return;
        }
        let gap = std::mem::replace(&mut self.gap, line.is_empty());
        if let Some(counts) = numbers(line) {
            self.settle();
            self.section = None;
            self.begun = false;
            self.counts.get_or_insert_default().add(&counts);
        } else if let Some((name, status)) = bracketed(line).or_else(|| self.result(line)) {
            self.settle();
            self.open = self.cases.push(&name, status);
        } else if let Some(status) = section(line) {
            self.settle();
            self.section = Some(status);
        } else if let Some(status) = self.section {
            self.in_section(line, status);
        } else if gap && is_class(line) {
            self.settle();
            self.class.clear();
            self.class.push_str(line);
        } else if self.open.is_some() {
            self.block.push(line);
        }
    }

    /// `  test_eq        FAIL (0.00s)` below its class, ` FAIL CartTest#test_eq (0.00s)`.
    fn result(&self, line: &str) -> Option<(String, TestStatus)> {
        if !line.starts_with(' ') || !line.ends_with("s)") {
            return None;
        }
        let (text, _) = line.trim_start().cut_last(" (")?;
        let status_of = |word: &str| WORDS.iter().find(|(known, _)| *known == word).map(|(_, status)| *status);
        let (first, rest) = text.cut_word()?;
        if let Some(status) = status_of(first).filter(|_| rest.holds("#")) {
            return Some((rest.to_owned(), status));
        }
        let (name, last) = text.rsplit_once(' ')?;
        let status = status_of(last).filter(|_| !self.class.is_empty())?;
        Some((format!("{}#{}", self.class, name.trim_end()), status))
    }

    /// `CartTest#test_eq [test/cart_test.rb:6]`, and its words up to an empty line.
    fn in_section(&mut self, line: &str, status: TestStatus) {
        if line.is_empty() {
            self.settle();
            self.section = None;
        } else if self.open.is_some() {
            self.block.push(line);
        } else {
            let (name, at) = line.cut_last(" [").unwrap_or((line, ""));
            self.open = self.cases.push(name.trim_end_matches(':'), status);
            self.place = at.trim_end_matches(':').strip_suffix(']').and_then(place::find);
        }
    }

    fn settle(&mut self) {
        let text = self.block.take();
        let found = self.place.take();
        let Some(at) = self.open.take() else { return };
        if self.cases.get(at).is_some_and(|test| matches!(test.status, TestStatus::Failed | TestStatus::Error)) {
            self.cases.explain(Some(at), text.trim(), found.or_else(|| stack::place_of(&text)));
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        if self.counts.is_none() && self.cases.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.finished = self.counts.is_some() && !self.begun;
        findings.counts = self.counts.unwrap_or_default();
        findings.tests = self.cases.into_list();
        Some(findings)
    }
}

/// ` FAIL["test_eq", "CartTest", 0.01]` of the progress bar, whose line has no end.
fn bracketed(line: &str) -> Option<(String, TestStatus)> {
    let (head, rest) = line.cut("[\"")?;
    let (_, status) = WORDS.iter().find(|(word, _)| head.ends_with(word))?;
    let (test, rest) = rest.cut("\", ")?;
    let (class, _) = rest.cut(", ")?;
    Some((format!("{}#{test}", class.trim_matches('"')), *status))
}

/// A section of the default reporter.
fn section(line: &str) -> Option<TestStatus> {
    match line {
        "Failure:" => Some(TestStatus::Failed),
        "Error:" => Some(TestStatus::Error),
        "Skipped:" => Some(TestStatus::Skipped),
        _ => None,
    }
}

/// `CartTest`, `Shop::CartTest`, `cart with milk`: a line of its own at the outermost column.
fn is_class(line: &str) -> bool {
    line.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && !line.ends_with([':', '.', ')'])
}

/// `4 tests, 2 assertions, 1 failures, 1 errors, 1 skips`.
fn numbers(line: &str) -> Option<Counts> {
    let mut parts = line.split(", ");
    let mut number = |word: &str| parts.next()?.strip_suffix(word)?.trim_end().parse::<u64>().ok();
    let total = number("tests")?;
    number("assertions")?;
    let (failed, errors, skipped) = (number("failures")?, number("errors")?, number("skips")?);
    Some(Counts {
        total: Some(total),
        passed: Some(total.saturating_sub(failed.saturating_add(errors).saturating_add(skipped))),
        failed: Some(failed),
        skipped: Some(skipped),
        errors: Some(errors),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str) -> Findings {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None).unwrap()
    }

    #[test]
    fn the_progress_bar_names_what_does_not_pass() {
        let found = of(
            "Started with run options --seed 1\n\n FAIL CartTest#test_eq (0.00s)\n        Expected: 3\n          Actual: 4\n        \
            test/cart_test.rb:6:in `test_eq'\n\n  4/4: [=====] 100% Time: 00:00:00\n\nFinished in 0.00s\n4 tests, 2 assertions, 1 \
            failures, 0 errors, 0 skips\n",
        );
        assert_eq!(found.tests.len(), 1);
        let test = &found.tests[0];
        assert_eq!(
            (test.name.as_str(), test.file.as_deref(), test.line),
            ("CartTest#test_eq", Some("test/cart_test.rb"), Some(6))
        );
        assert!(test.message.starts_with("Expected: 3"));
        assert!(found.finished);
    }

    #[test]
    fn the_older_progress_bar_puts_names_into_brackets() {
        let found = of(
            "Started with run options --seed 1\n\nProgress: |====== FAIL[\"test_ok\", \"CartTest\", 0.01]\n \
            test_ok#CartTest (0.01s)\n        Expected: 3\n          Actual: 2\n        g.rb:5:in `test_ok'\n\n====|\n\n2 tests, 2 assertions, \
            1 failures, 0 errors, 0 skips\n",
        );
        let test = &found.tests[0];
        assert_eq!((test.name.as_str(), test.file.as_deref(), test.line), ("CartTest#test_ok", Some("g.rb"), Some(5)));
    }

    #[test]
    fn a_run_that_left_early_is_unfinished() {
        let found = of("Started with run options --seed 1\n\nCartTest\n  test_ok        PASS (0.00s)\n");
        assert!(!found.finished);
        assert_eq!(found.tests[0].name, "CartTest#test_ok");
    }
}
