//! `node --test`: the spec reporter's tree and the dot reporter's list. Its TAP is read by [`super::tap`].
//!
//! The tree names tests by indentation. Reasons of failures stand below the result (node 20) or in the list after the numbers (node 22 and
//! later), where names have no parents. Entries are matched with the tree in order. Suites (`describe`) look like tests with subtests. The
//! number of suites tells how many of the parents are tests.

mod entry;

use std::collections::{HashMap, VecDeque};

use self::entry::{Entry, exactly_timed, parse};
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "node-test";
/// The tree is indented by two columns a level.
const LEVEL: usize = 2;
/// The deepest nesting that is followed.
const DEEPEST: usize = 64;

/// A test or suite with others in it.
#[derive(Debug)]
struct Parent {
    case: usize,
    first_child: usize,
}

/// Where the text that follows goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Into {
    Nothing,
    /// A test of the tree.
    Case(usize),
}

/// Reads node's spec and dot reporters.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    path: Vec<(String, usize)>,
    parents: Vec<Parent>,
    into: Into,
    /// Whether that test is one that did not pass: what stands below the others is not kept.
    explains: bool,
    indent: usize,
    /// Scratch for a test's full name.
    full: String,
    block: Block,
    /// Output at the outermost level since the last result.
    words: Block,
    counts: Counts,
    suites: Option<u64>,
    timed: bool,
    results: u64,
    /// Where the tests of this run begin in `cases`.
    run_start: usize,
    /// In the list of failures after the numbers.
    listing: bool,
    /// In the dot reporter's list.
    dots: bool,
    /// Failing tests of the tree by their last name.
    unlisted: HashMap<String, VecDeque<usize>>,
    /// Whether the list has entries: then it has every failure.
    any_listed: bool,
    /// `test at file:line:column` above an entry of the list.
    listed_at: Option<(String, u32)>,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] =
        &["✔ ", "✖ ", "﹣ ", "▶ ", "⚠ ", "ℹ tests ", "Failed tests:", "Could not find '", "node: bad option"];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            path: Vec::new(),
            parents: Vec::new(),
            into: Into::Nothing,
            explains: false,
            indent: 0,
            full: String::new(),
            block: Block::default(),
            words: Block::default(),
            counts: Counts::default(),
            suites: None,
            timed: false,
            results: 0,
            run_start: 0,
            listing: false,
            dots: false,
            unlisted: HashMap::new(),
            any_listed: false,
            listed_at: None,
        }
    }

    /// A passing test, told by its time, which has a fraction: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        if self.listing || self.results == 0 || self.numbered() {
            return false;
        }
        let text = line.unindented();
        let indent = line.len() - text.len();
        let Some(name) = text.strip_prefix("✔ ").and_then(exactly_timed) else { return false };
        let level = indent / LEVEL;
        if level > self.path.len() {
            return false;
        }
        self.tree_result(&Entry { name, status: TestStatus::Passed, timed: true }, level, indent);
        true
    }

    pub(super) fn line(&mut self, line: &str) {
        let text = line.unindented();
        let indent = line.len() - text.len();
        match text.as_bytes().first() {
            // The marks are all beyond ASCII.
            Some(0xE2 | 0xEF) if self.mark(text, indent) => return,
            // Above each entry of the list: `test at test/cart.test.js:3:1`.
            Some(b't') if self.listing && indent == 0 && text.starts_with("test at ") => {
                self.settle();
                self.listed_at = place::find(text);
                return;
            }
            Some(b'F') if text == "Failed tests:" && indent == 0 && self.results == 0 => {
                self.dots = true;
                self.listing = true;
                return;
            }
            Some(b'C') if indent == 0 && text.starts_with("Could not find '") && text.ends_with('\'') => {
                self.problems.push(RunKind::NoTests, text, None);
                return;
            }
            Some(b'n') if indent == 0 && text.starts_with("node: bad option") => {
                self.problems.push(RunKind::BadCommand, text, None);
                return;
            }
            _ => {}
        }
        if self.into != Into::Nothing && (text.is_empty() || indent >= self.indent + LEVEL) {
            if self.explains {
                self.block.push(line.get(self.indent + LEVEL..).unwrap_or_default());
            }
        } else if !self.listing && !text.is_empty() {
            self.settle();
            self.words.push(line);
        }
    }

    /// A line that begins with one of the reporter's marks.
    fn mark(&mut self, text: &str, indent: usize) -> bool {
        if let Some(rest) = text.strip_prefix("ℹ ") {
            return indent == 0 && self.number(rest);
        }
        if text == "✖ failing tests:" && indent == 0 {
            self.settle();
            self.listing = true;
            self.dots = false;
            return true;
        }
        let level = indent / LEVEL;
        if let Some(rest) = text.strip_prefix("▶ ") {
            if self.numbered() && !self.dots && indent == 0 {
                self.end_run();
            }
            if self.listing || level > self.path.len() || level > DEEPEST {
                return false;
            }
            self.settle();
            let name = entry::group(rest);
            if self.path.get(level).is_some_and(|(open, _)| open == name) {
                // Node 18 ends a parent with the same mark.
                self.close(level, TestStatus::Passed);
            } else {
                self.path.truncate(level);
                self.path.push((name.to_owned(), self.cases.len()));
            }
            return true;
        }
        let (status, rest) = match text.cut_word() {
            Some(("✔", rest)) => (TestStatus::Passed, rest),
            Some(("✖", rest)) => (TestStatus::Failed, rest),
            Some(("﹣" | "⚠", rest)) => (TestStatus::Skipped, rest),
            _ => return false,
        };
        // Entries of the list stand below their place; anything else is the first result of another run.
        if self.numbered() && !self.dots && self.listed_at.is_none() && indent == 0 {
            self.end_run();
        }
        if self.listing {
            return indent == 0 && self.listed(&parse(rest, status));
        }
        if level > self.path.len() {
            return false;
        }
        self.tree_result(&parse(rest, status), level, indent);
        true
    }

    fn tree_result(&mut self, entry: &Entry<'_>, level: usize, indent: usize) {
        self.settle();
        self.results += 1;
        self.timed |= entry.timed;
        self.indent = indent;
        if self.path.get(level).is_some_and(|(open, _)| open == entry.name) {
            self.close(level, entry.status);
            return;
        }
        self.path.truncate(level);
        let mut full = std::mem::take(&mut self.full);
        self.full_name(entry.name, &mut full);
        let at = self.cases.push(&full, entry.status);
        self.full = full;
        if let Some(at) = at {
            self.into = Into::Case(at);
            self.explains = entry.status != TestStatus::Passed;
            if entry.status != TestStatus::Passed {
                self.unlisted.entry(entry.name.to_owned()).or_default().push_back(at);
            }
        }
        // Output before a test that did not fail is not a later one's reason.
        if level == 0 && entry.status != TestStatus::Failed {
            self.words.clear();
        }
    }

    fn full_name(&self, name: &str, full: &mut String) {
        full.clear();
        for (part, _) in &self.path {
            full.push_str(part);
            full.push_str(" > ");
        }
        full.push_str(name);
    }

    /// A parent ends: its children stand above it.
    fn close(&mut self, level: usize, status: TestStatus) {
        self.path.truncate(level + 1);
        let Some((name, first_child)) = self.path.pop() else { return };
        // Node 18's mark does not tell whether the parent failed.
        let failed_child = self.cases.iter().skip(first_child).any(|test| test.status == TestStatus::Failed);
        let status = if status == TestStatus::Passed && failed_child { TestStatus::Failed } else { status };
        let mut full = std::mem::take(&mut self.full);
        self.full_name(&name, &mut full);
        let case = self.cases.push(&full, status);
        self.full = full;
        if let Some(case) = case {
            self.parents.push(Parent { case, first_child });
            self.into = Into::Case(case);
            self.explains = status != TestStatus::Passed;
            if status == TestStatus::Failed {
                self.unlisted.entry(name).or_default().push_back(case);
            }
        }
    }

    /// An entry of the list of failures.
    fn listed(&mut self, entry: &Entry<'_>) -> bool {
        self.settle();
        self.indent = 0;
        self.any_listed = true;
        let known = self.unlisted.get_mut(entry.name).and_then(VecDeque::pop_front);
        let skipped_todo = known.is_none() && entry.status == TestStatus::Skipped && self.results == 0;
        let at = known.or_else(|| {
            let status = if skipped_todo { TestStatus::Skipped } else { entry.status };
            self.cases.push(entry.name, status)
        });
        if let Some(at) = at {
            self.into = Into::Case(at);
            self.explains = true;
        }
        true
    }

    /// Gives the test that was named last its message.
    fn settle(&mut self) {
        let Into::Case(at) = std::mem::replace(&mut self.into, Into::Nothing) else {
            self.block.clear();
            return;
        };
        let text = self.block.take();
        let listed_at = self.listed_at.take();
        let text = text.trim();
        let Some(test) = self.cases.get_mut(at) else { return };
        if test.status == TestStatus::Passed {
            return;
        }
        // Cancelled tests are shown as skipped when a filter would have skipped them; only failures have a message.
        if test.status == TestStatus::Skipped && text.starts_with('\'') {
            test.status = TestStatus::Failed;
        }
        if test.status == TestStatus::Skipped {
            return;
        }
        // The words are known, and the list adds the place.
        if self.listing && !test.message.is_empty() {
            if test.file.is_none() {
                (test.file, test.line) = listed_at.unzip();
            }
            return;
        }
        let mut message = text.to_owned();
        if text == "'test failed'" {
            if place::is_path(&test.name) {
                // The file itself could not be run: once it can, its tests have names of their own.
                test.status = TestStatus::Error;
            }
            // The file's own output says why it could not be run.
            let words = self.words.take();
            message = format!("{}\n{text}", words.trim());
        }
        self.words.clear();
        let found = stack::place_of(&message).or(listed_at);
        self.cases.explain(Some(at), &message, found);
    }

    /// `tests 16`, `suites 3`, `pass 3`, …: the numbers at the end.
    fn number(&mut self, rest: &str) -> bool {
        let Some((word, number)) = rest.cut_word() else { return false };
        let Ok(number) = number.trim().parse::<u64>() else { return false };
        let add = |slot: &mut Option<u64>| *slot = Some(slot.unwrap_or(0) + number);
        match word {
            "tests" => {
                self.settle();
                add(&mut self.counts.total);
            }
            "suites" => add(&mut self.suites),
            "pass" => add(&mut self.counts.passed),
            "fail" | "cancelled" => add(&mut self.counts.failed),
            "skipped" | "todo" => add(&mut self.counts.skipped),
            _ => return false,
        }
        true
    }

    /// Whether the numbers of the run were seen.
    const fn numbered(&self) -> bool {
        self.suites.is_some()
    }

    /// Several runs may stand in one log (workspaces): each has its own suites.
    fn end_run(&mut self) {
        self.settle();
        self.drop_suites();
        self.suites = None;
        self.listing = false;
        self.unlisted.clear();
        self.path.clear();
        self.words.clear();
        self.run_start = self.cases.len();
    }

    /// Failures of the tree that are missing in the list: a test printed a line that looks like one.
    ///
    /// Parents that fail only because of their children are not in the list either.
    fn printed(&mut self) -> Vec<usize> {
        if !std::mem::take(&mut self.any_listed) || self.dots {
            return Vec::new();
        }
        let mut printed: Vec<usize> = std::mem::take(&mut self.unlisted).into_values().flatten().collect();
        printed.retain(|at| {
            let silent = self.cases.get(*at).is_some_and(|test| {
                test.status == TestStatus::Failed && test.message.is_empty() && test.file.is_none()
            });
            silent && !self.parents.iter().any(|parent| parent.case == *at)
        });
        printed
    }

    /// Takes the suites out of the list: they are no tests. A reason for which only suites failed becomes a problem.
    fn drop_suites(&mut self) {
        let printed = self.printed();
        let parents = std::mem::take(&mut self.parents);
        let count = u64::try_from(parents.len()).unwrap_or(u64::MAX);
        let mut ranked: Vec<(i32, usize)> = parents
            .iter()
            .map(|parent| {
                let children = self.cases.iter().take(parent.case).skip(parent.first_child);
                (children.map(|child| evidence(&child.message)).sum(), parent.case)
            })
            .collect();
        // The best evidence for a test comes first; of equals, the later one.
        ranked.sort_by(|a, b| b.cmp(a));
        let tests = match self.suites {
            Some(suites) => usize::try_from(count.saturating_sub(suites)).unwrap_or(usize::MAX),
            None => ranked.iter().take_while(|(evidence, _)| *evidence > 0).count(),
        };
        let mut suites: Vec<usize> = ranked.iter().skip(tests).map(|(_, case)| *case).collect();
        suites.sort_unstable();
        let echoes = self.echoes(&parents);
        let mut at = self.run_start;
        let problems = &mut self.problems;
        self.cases.retain_from(self.run_start, |test| {
            let is_suite = suites.binary_search(&at).is_ok();
            at += 1;
            // A hook of the suite may have failed.
            let of_tests = is_only_children(&test.message) || echoes.contains(&(at - 1));
            if is_suite && test.status == TestStatus::Failed && !of_tests {
                let place = test.file.clone().zip(test.line);
                problems.push(RunKind::Tests, &format!("{}\n{}", test.name, test.message), place);
            }
            !is_suite && !printed.contains(&(at - 1))
        });
    }

    /// The parents that say what a failing test in them says: a test that never ends is told of its suite, too.
    fn echoes(&self, parents: &[Parent]) -> Vec<usize> {
        let is_echo = |parent: &&Parent| {
            let Some(own) = self.cases.get(parent.case) else { return false };
            let mut inner = self.cases.iter().take(parent.case).skip(parent.first_child);
            inner.any(|test| test.status == TestStatus::Failed && test.message == own.message)
        };
        parents.iter().filter(is_echo).map(|parent| parent.case).collect()
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        let numbered = self.counts.total.is_some() && self.counts.passed.is_some();
        let has_dots = self.dots && !self.cases.is_empty();
        let has_tree = self.timed && self.results > 0;
        let recognised = numbered || has_dots || has_tree || !self.problems.is_empty();
        if !recognised {
            return None;
        }
        // Behind the dots parents are listed too.
        if has_dots {
            self.cases.retain_from(0, |test| !is_only_children(&test.message));
        }
        self.drop_suites();
        let mut findings = Findings::new(FRAMEWORK);
        findings.counts = if numbered {
            self.counts
        } else {
            // Behind the dots every failing test is listed.
            let failed = has_dots.then(|| self.cases.count(TestStatus::Failed));
            Counts { failed, ..Counts::default() }
        };
        findings.finished = numbered || has_dots;
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// Whether a parent failed only because of what is in it.
fn is_only_children(message: &str) -> bool {
    let text = message.trim().trim_matches('\'');
    text.is_empty() || text.ends_with("subtest failed") || text.ends_with("subtests failed")
}

/// The evidence of a child's stack trace about its parent: above zero for a test, below for a suite.
fn evidence(message: &str) -> i32 {
    let test = message.holds("TestContext.test (");
    let suite = message.holds("at Suite.") || message.holds("SuiteContext");
    i32::from(test) - i32::from(suite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::STORED_BYTES;

    fn read(log: &str) -> Findings {
        let mut reader = Reader::new(&Budget::new(STORED_BYTES));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None).unwrap()
    }

    fn numbers(tests: u64, suites: u64, fail: u64) -> String {
        format!("ℹ tests {tests}\nℹ suites {suites}\nℹ pass {}\nℹ fail {fail}\nℹ cancelled 0\n", tests - fail)
    }

    #[test]
    fn runs_of_several_workspaces_are_summed_and_each_has_its_own_suites() {
        let one = format!("▶ suite\n  ✔ a (0.5ms)\n✔ suite (1.5ms)\n{}", numbers(1, 1, 0));
        let two = format!(
            "▶ test\n  ✖ b (0.5ms)\n✖ test (1.5ms)\n{}\n✖ failing tests:\n\ntest at x.js:3:1\n✖ b (0.5ms)\n  Error: no\n",
            numbers(2, 0, 2)
        );
        let found = read(&format!("{one}{two}{one}"));
        assert_eq!(found.counts.total, Some(4));
        let names: Vec<&str> = found.tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["suite > a", "test > b", "test", "suite > a"]);
        assert_eq!(found.tests.iter().find(|test| test.name == "test > b").unwrap().message, "Error: no");
    }

    #[test]
    fn todo_and_cancelled_tests_are_told_apart() {
        let found = read("✖ later (0.1ms) # TODO\n  Error: not yet\n\n✖ cut\n  'cancelled'\n\n✔ one (0.1ms)\n");
        let status: Vec<TestStatus> = found.tests.iter().map(|test| test.status).collect();
        assert_eq!(status, [TestStatus::Skipped, TestStatus::Failed, TestStatus::Passed]);
        assert!(!found.finished);
    }
}
