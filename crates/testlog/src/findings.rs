//! The findings of one framework's reader in a log, and the bounded stores it collects into.
//!
//! Invariant: all stores of one log draw on one [`Budget`], so a log of any size is read in bounded memory. Anything that does not fit is
//! counted and not kept.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::RandomState;

use crate::report::{Problem, RunKind, RunStatus, TestCase, TestStatus};

/// The most bytes that are kept of one log: 64 MB is the promise for any log, and documents need their share.
pub(super) const STORED_BYTES: usize = 24 * 1024 * 1024;
/// One part in so many is left by passing tests to failing ones, wherever in the log these stand.
const LEFT_TO_FAILURES: usize = 3;
/// The most of one message's beginning that is kept.
const MESSAGE_HEAD: usize = 8 * 1024;
/// The most of one message's end that is kept: most frameworks print the reason last.
const MESSAGE_TAIL: usize = 8 * 1024;
/// The longest name that is kept. Parametrised tests put whole values into names.
const LONGEST_NAME: usize = 4 * 1024;
/// The cost of a stored test or problem beside its text.
const ENTRY_COST: usize = 160;
/// The most problems that are kept of one framework: one compile error shows its cause, a thousand hide it.
const MOST_PROBLEMS: usize = 200;

/// The memory that may still be used for one log, shared by all readers.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    left: Arc<AtomicUsize>,
    /// The part that only failures may take.
    reserved: usize,
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(bytes)), reserved: bytes / LEFT_TO_FAILURES }
    }

    /// Takes `bytes` for a test of this status, or says that they are not there.
    #[must_use]
    fn take_for(&self, status: TestStatus, bytes: usize) -> bool {
        let fails = matches!(status, TestStatus::Failed | TestStatus::Error);
        // Failures are what a log is read for, and may use the last third.
        (fails || self.left.load(Ordering::Relaxed) >= self.reserved) && self.take(bytes)
    }

    /// Takes `bytes` from the budget, or says that they are not there.
    #[must_use]
    pub(super) fn take(&self, bytes: usize) -> bool {
        // One log is read by one thread at a time: the two steps need no lock between them.
        let left = self.left.load(Ordering::Relaxed).checked_sub(bytes);
        if let Some(left) = left {
            self.left.store(left, Ordering::Relaxed);
        }
        left.is_some()
    }
}

/// Numbers as the framework prints them. `None` where it prints none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) total: Option<u64>,
    pub(super) passed: Option<u64>,
    pub(super) failed: Option<u64>,
    pub(super) skipped: Option<u64>,
    pub(super) errors: Option<u64>,
}

impl Counts {
    /// The counts of a single test.
    pub(super) fn of_one(status: TestStatus) -> Self {
        let is = |wanted| Some(u64::from(status == wanted));
        Self {
            total: Some(1),
            passed: is(TestStatus::Passed),
            failed: is(TestStatus::Failed),
            skipped: is(TestStatus::Skipped),
            errors: is(TestStatus::Error),
        }
    }

    /// Adds another part's numbers. A number that neither part gives stays unknown.
    pub(super) fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        *self = Self {
            total: sum(self.total, other.total),
            passed: sum(self.passed, other.passed),
            failed: sum(self.failed, other.failed),
            skipped: sum(self.skipped, other.skipped),
            errors: sum(self.errors, other.errors),
        };
    }
}

/// Adds numbers from a log, which may be anything.
pub(super) fn sum(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |sum, number| sum.saturating_add(*number))
}

/// The findings of one framework's reader in a log.
#[derive(Debug, Clone)]
pub(super) struct Findings {
    /// The framework's name in reports.
    pub(super) framework: &'static str,
    /// The framework's own numbers.
    pub(super) counts: Counts,
    /// Every test it names, in the order printed.
    pub(super) tests: Vec<TestCase>,
    /// Trouble outside tests.
    pub(super) problems: Vec<Problem>,
    /// The reasons of skipped parts, by test.
    pub(super) skipped_parts: BTreeMap<String, Vec<String>>,
    /// Whether the framework's own end was seen (its summary): without it, it died or the log is cut.
    pub(super) finished: bool,
    /// Set when the framework's own rules say how the run ended, over what the numbers say.
    pub(super) status: Option<RunStatus>,
    /// Set when the framework's own rules say what sort of run it was.
    pub(super) kind: Option<RunKind>,
}

impl Findings {
    /// Findings with nothing in them yet.
    pub(super) fn new(framework: &'static str) -> Self {
        Self {
            framework,
            counts: Counts::default(),
            tests: Vec::new(),
            problems: Vec::new(),
            skipped_parts: BTreeMap::new(),
            finished: false,
            status: None,
            kind: None,
        }
    }

    /// The findings of a JSON report that has no end: tests, and no numbers to hold them against. `None` without tests, since any document
    /// may lack its end.
    pub(super) fn broken_off(framework: &'static str, cases: Cases) -> Option<Self> {
        let count = cases.len();
        let message = format!(
            "the JSON report of {framework} breaks off after {count} tests, before its end: the log was cut, or the \
             runner died while it wrote"
        );
        let problem = Problem { kind: RunKind::Unreadable, message, file: None, line: None };
        (count > 0).then(|| Self { tests: cases.into_list(), problems: vec![problem], ..Self::new(framework) })
    }

    /// Whether a test failed or could not run, by name or by number.
    pub(super) fn has_failures(&self) -> bool {
        self.counts.failed.unwrap_or(0) > 0
            || self.counts.errors.unwrap_or(0) > 0
            || self.tests.iter().any(|test| matches!(test.status, TestStatus::Failed | TestStatus::Error))
    }

    /// Whether it says anything about tests at all, so that it counts as a framework of this log.
    pub(super) fn has_tests(&self) -> bool {
        self.finished || !self.tests.is_empty() || self.counts != Counts::default()
    }
}

/// The tests of one framework, found again by name.
#[derive(Debug)]
pub(super) struct Cases {
    list: Vec<TestCase>,
    /// From the hash of a name to the last test of that name. A clash is told by comparing the name. Its seed is random: nobody can prepare
    /// names that clash.
    index: HashMap<u64, usize, RandomState>,
    /// How many tests are in the index: many logs are read without a question for a name.
    indexed: usize,
    hasher: RandomState,
    budget: Budget,
}

impl Cases {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            list: Vec::new(),
            index: HashMap::default(),
            indexed: 0,
            hasher: RandomState::default(),
            budget: budget.clone(),
        }
    }

    /// Adds a test even if one of that name is known (the same name in two crates or projects).
    ///
    /// Returns its place, or `None` when the budget is used up.
    pub(super) fn push(&mut self, name: &str, status: TestStatus) -> Option<usize> {
        let name = name.get(..name.floor_char_boundary(LONGEST_NAME)).unwrap_or(name);
        if !self.budget.take_for(status, name.len() + ENTRY_COST) {
            return None;
        }
        let at = self.list.len();
        self.list.push(TestCase { name: name.to_owned(), status, message: String::new(), file: None, line: None });
        Some(at)
    }

    /// The place of the last test of that name.
    pub(super) fn find(&mut self, name: &str) -> Option<usize> {
        // Indexed only when somebody asks, as many readers only add.
        for (at, test) in self.list.iter().enumerate().skip(self.indexed) {
            self.index.insert(self.hasher.hash_one(&test.name), at);
        }
        self.indexed = self.list.len();
        let at = *self.index.get(&self.hasher.hash_one(name))?;
        // Two names may have one hash.
        self.list.get(at).filter(|test| test.name == name).map(|_| at)
    }

    /// Sets the status of the test of that name, adding the test when it is new. The last status wins.
    pub(super) fn set(&mut self, name: &str, status: TestStatus) -> Option<usize> {
        match self.find(name) {
            Some(at) => {
                if let Some(test) = self.list.get_mut(at) {
                    test.status = status;
                }
                Some(at)
            }
            None => self.push(name, status),
        }
    }

    /// Like [`Self::set`], but a test that failed stays failed.
    pub(super) fn set_worst(&mut self, name: &str, status: TestStatus) -> Option<usize> {
        match self.find(name) {
            Some(at) => {
                if let Some(test) = self.list.get_mut(at)
                    && !matches!(test.status, TestStatus::Failed | TestStatus::Error)
                {
                    test.status = status;
                }
                Some(at)
            }
            None => self.push(name, status),
        }
    }

    /// Adds text to a test's message. A second text is put below the first.
    pub(super) fn explain(&mut self, at: Option<usize>, message: &str, place: Option<(String, u32)>) {
        let Some(test) = at.and_then(|at| self.list.get_mut(at)) else { return };
        let message = message.trim_matches('\n').trim_end();
        if !message.is_empty()
            // A test that is explained again and again must not use up the memory of all.
            && test.message.len() + message.len() <= 2 * (MESSAGE_HEAD + MESSAGE_TAIL)
            && self.budget.take(message.len())
        {
            if !test.message.is_empty() {
                test.message.push('\n');
            }
            test.message.push_str(message);
        }
        if test.file.is_none()
            && let Some((file, line)) = place
        {
            test.file = Some(file);
            test.line = Some(line);
        }
    }

    /// One test by its place.
    pub(super) fn get(&self, at: usize) -> Option<&TestCase> {
        self.list.get(at)
    }

    /// One test by its place, to be changed.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut TestCase> {
        self.list.get_mut(at)
    }

    /// Drops the tests from a place on that `keep` refuses. An older test of a dropped name is not found by it any more.
    pub(super) fn retain_from(&mut self, start: usize, mut keep: impl FnMut(&TestCase) -> bool) {
        let tail = self.list.split_off(start.min(self.list.len()));
        let before = tail.len();
        let (kept, dropped): (Vec<TestCase>, Vec<TestCase>) = tail.into_iter().partition(|test| keep(test));
        let moved = kept.len() != before;
        self.list.extend(kept);
        if moved {
            // Only the tail moved: logs of many runs call this often.
            for test in &dropped {
                self.index.remove(&self.hasher.hash_one(&test.name));
            }
            self.indexed = self.indexed.min(start);
        }
    }

    /// Adds the tests of another store of the same budget.
    pub(super) fn absorb(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// How many tests there are with this status.
    pub(super) fn count(&self, status: TestStatus) -> u64 {
        self.list.iter().filter(|test| test.status == status).count().try_into().unwrap_or(u64::MAX)
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &TestCase> {
        self.list.iter()
    }

    /// The tests, in the order they were first named.
    pub(super) fn into_list(self) -> Vec<TestCase> {
        self.list
    }
}

/// The problems of one framework.
#[derive(Debug)]
pub(super) struct Problems {
    list: Vec<Problem>,
    budget: Budget,
}

impl Problems {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { list: Vec::new(), budget: budget.clone() }
    }

    /// Adds a problem, unless the same message is there already or there are too many.
    pub(super) fn push(&mut self, kind: RunKind, message: &str, place: Option<(String, u32)>) {
        let message = message.trim_matches('\n').trim_end();
        if message.is_empty()
            || self.list.len() >= MOST_PROBLEMS
            // One error is often printed more than once.
            || self.list.iter().any(|problem| problem.message == message)
            || !self.budget.take(message.len() + ENTRY_COST)
        {
            return;
        }
        let (file, line) = place.unzip();
        self.list.push(Problem { kind, message: message.to_owned(), file, line });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter()
    }

    pub(super) fn into_list(self) -> Vec<Problem> {
        self.list
    }
}

/// A message that is being collected: its head and its tail are kept.
#[derive(Debug, Default)]
pub(super) struct Block {
    head: String,
    tail: String,
    /// A line that is not ended yet.
    part: String,
    left_out: usize,
}

impl Block {
    /// Adds a line.
    pub(super) fn push(&mut self, line: &str) {
        let line = line.get(..line.floor_char_boundary(MESSAGE_HEAD)).unwrap_or(line);
        // Once the tail has begun nothing goes to the head, or lines would change places.
        if self.tail.is_empty() && self.head.len() + line.len() < MESSAGE_HEAD {
            self.head.push_str(line);
            self.head.push('\n');
            return;
        }
        self.tail.push_str(line);
        self.tail.push('\n');
        // Cut at double the size, so that a byte is not moved with each line.
        if self.tail.len() > 2 * MESSAGE_TAIL {
            let cut = self.tail.floor_char_boundary(self.tail.len() - MESSAGE_TAIL);
            // To the next line, so that none begins in its middle.
            let cut = self.tail.get(cut..).and_then(|rest| rest.find('\n')).map_or(cut, |end| cut + end + 1);
            self.left_out += cut;
            self.tail.drain(..cut);
        }
    }

    /// Adds text that may hold parts of lines.
    pub(super) fn add(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                let mut part = std::mem::take(&mut self.part);
                self.push(&part);
                part.clear();
                self.part = part;
            }
            let room = MESSAGE_HEAD.saturating_sub(self.part.len());
            self.part.push_str(line.get(..line.floor_char_boundary(room)).unwrap_or(line));
        }
    }

    /// Ends a line that [`Self::add`] left open.
    pub(super) fn end_line(&mut self) {
        if !self.part.is_empty() {
            let part = std::mem::take(&mut self.part);
            self.push(&part);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.head.clear();
        self.tail.clear();
        self.part.clear();
        self.left_out = 0;
    }

    /// The text so far.
    pub(super) fn text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        if self.left_out == 0 {
            return format!("{}{}", self.head, self.tail);
        }
        format!("{}[… {} bytes left out …]\n{}", self.head, self.left_out, self.tail)
    }

    /// The text so far, and an empty block again.
    pub(super) fn take(&mut self) -> String {
        let text = self.text();
        self.clear();
        text
    }
}
