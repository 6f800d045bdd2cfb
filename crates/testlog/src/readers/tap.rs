//! TAP 12, 13 and 14 of any tool (Bats, Perl, node's, vitest's, AVA's, mocha's, Deno's and Busted's reporters), Bats'
//! pretty output, and prove, the harness that sums TAP up.
//!
//! A log is a row of result lines. The explanation of a result (a YAML block, comments, mocha's indented text) stands below it. The
//! writer's dialect decides the framework's name and which nested results are tests of their own.
//!
//! Invariant: inside a YAML block no line is a result.

mod dialect;
mod ending;
mod pretty;
mod prove;
mod result;

use self::dialect::{Clues, Dialect};
use self::ending::JOIN;
use self::pretty::Pretty;
use self::prove::Prove;
use self::result::TapResult;
use crate::findings::{Block, Budget, Cases, Counts, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

/// Node's word on a test whose promise never settled.
const CANCELLED: &str = "'cancelledByParent'";
/// TAP indents a subtest by four columns.
const LEVEL: usize = 4;
/// The deepest nesting that is followed.
const DEEPEST: usize = 64;

/// Reads TAP.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    clues: Clues,
    prove: Prove,
    pretty: Pretty,
    /// The names of the subtests that are open, by level.
    path: Vec<String>,
    /// Scratch for a test's full name.
    full: String,
    /// The result whose explanation is being read: its place among the cases and its indentation.
    last: Option<Last>,
    block: Block,
    /// The indentation of the YAML block that is open.
    yaml: Option<usize>,
    /// Comments and other output since the last result at the top level.
    words: Block,
    /// The messages of failing subtests, until their parent is known.
    inner: Block,
    planned: Option<u64>,
    version: bool,
    results: u64,
    /// Vitest's files, whose results follow in braces.
    opened: u64,
    /// Results at the outermost level.
    top: Counts,
    trailer: Counts,
    suites: Option<u64>,
    bailed_out: bool,
}

/// The result that was read last.
#[derive(Debug)]
struct Last {
    case: Option<usize>,
    indent: usize,
    status: TestStatus,
    /// Whether subtests stood before it.
    parent: bool,
    /// The full name of a nested result while nothing tells yet whether such results are tests of their own.
    undecided: Option<String>,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "TAP version ",
        "1..",
        "ok 1",
        "not ok ",
        "Bail out!",
        "Error: Test file \"",
        "# Failed test",
        "Failed test ",
        " tests, ",
        "Cannot detect source of ",
        "Test Summary Report",
        "Files=",
        ".t .. ",
        " .. ok",
        " ✓ ",
        " ✗ ",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            clues: Clues::default(),
            prove: Prove::new(budget),
            pretty: Pretty::new(budget),
            path: Vec::new(),
            full: String::new(),
            last: None,
            block: Block::default(),
            yaml: None,
            words: Block::default(),
            inner: Block::default(),
            planned: None,
            version: false,
            results: 0,
            opened: 0,
            top: Counts::default(),
            trailer: Counts::default(),
            suites: None,
            bailed_out: false,
        }
    }

    /// A passing test, told by its number: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        let begun = self.results > 0 && self.yaml.is_none() && !self.pretty.is_open() && !self.prove.is_summing_up();
        if !begun || !line.starts_with("ok ") {
            return false;
        }
        let Some(found) = result::parse(line).filter(|found| found.dash && found.number.is_some()) else {
            return false;
        };
        self.result(&found, 0);
        true
    }

    pub(super) fn line(&mut self, line: &str) {
        let text = line.unindented();
        let indent = line.len() - text.len();
        if let Some(open) = self.yaml {
            self.yaml_line(line, text, indent, open);
            return;
        }
        if self.pretty.is_open() && self.pretty.line(line) {
            return;
        }
        // With `prove -v` the harness's word on a file stands below its results.
        if indent == 0 && self.last.is_some() && prove::ends_file(line) {
            self.settle();
        }
        if indent == 0 && self.prove.line(line) {
            return;
        }
        match text.as_bytes().first() {
            Some(b'o' | b'n') => {
                if let Some(found) = result::parse(text) {
                    self.result(&found, indent);
                    return;
                }
            }
            Some(b'#') => {
                self.comment(text, indent);
                return;
            }
            Some(b'-') if text == "---" && self.last.is_some() => {
                self.yaml = Some(indent);
                return;
            }
            Some(b'1') => {
                if let Some(count) = result::plan(text) {
                    if indent == 0 {
                        self.planned = Some(self.planned.unwrap_or(0).saturating_add(count));
                    }
                    return;
                }
            }
            Some(b'T') if indent == 0 && text.starts_with("TAP version ") => {
                self.version = true;
                self.clues.version(text);
                return;
            }
            Some(b'B') if indent == 0 && text.starts_with("Bail out!") => {
                self.bailed_out = true;
                self.problems.push(RunKind::Crash, text, stack::place_of(text));
                return;
            }
            Some(b'}') if text == "}" => {
                // The subtest began with a brace.
                self.path.truncate(indent / LEVEL);
                self.settle();
                return;
            }
            Some(b'E') if indent == 0 && text.starts_with("Error: Test file \"") => {
                self.clues.bats = true;
                self.problems.push(RunKind::BadCommand, text, None);
                return;
            }
            _ => {}
        }
        if indent > 0 && self.prove.summary_detail(line) {
            return;
        }
        if self.results == 0 && self.pretty.line(line) {
            return;
        }
        self.other(line, indent);
    }

    fn yaml_line(&mut self, line: &str, text: &str, indent: usize, open: usize) {
        if indent == open && text == "..." {
            self.yaml = None;
            if let Some(last) = &self.last
                && last.parent
                && self.clues.suite
                && self.clues.is_nested()
            {
                self.drop_suite();
            }
            return;
        }
        self.clues.yaml(text);
        // Node is known by the block below a result, so that of the first one decides about the result above it.
        if self.clues.is_nested()
            && let Some(last) = &mut self.last
            && let Some(name) = last.undecided.take()
        {
            last.case = self.cases.push(&name, last.status);
        }
        self.block.push(line.get(open.min(indent)..).unwrap_or(line));
    }

    /// A suite of node fails only because of what is in it: its children are the tests.
    fn drop_suite(&mut self) {
        let text = self.block.take();
        let Some(last) = self.last.take() else { return };
        // Else a hook of the suite failed.
        let of_tests = text.holds("'subtestsFailed'") || text.holds(CANCELLED) && self.has_cancelled(last.case);
        if last.status == TestStatus::Failed && !of_tests {
            self.problems.push(RunKind::Tests, &text, stack::place_of(&text));
        }
        if let Some(at) = last.case {
            self.cases.retain_from(at, |_| false);
        }
    }

    /// Whether a test of that suite was cancelled: node says then of the suite that it was, too.
    fn has_cancelled(&self, suite: Option<usize>) -> bool {
        let Some(suite) = suite.and_then(|at| self.cases.get(at)) else { return false };
        let in_it = |name: &str| name.strip_prefix(&suite.name).is_some_and(|rest| rest.starts_with(JOIN));
        self.cases.iter().any(|test| in_it(&test.name) && test.message.holds(CANCELLED))
    }

    fn comment(&mut self, text: &str, indent: usize) {
        let comment = text.trim_start_matches('#');
        let comment = comment.strip_prefix(' ').unwrap_or(comment);
        if let Some(name) = comment.strip_prefix("Subtest: ") {
            self.settle();
            self.clues.subtest = true;
            self.enter(indent / LEVEL, name);
            return;
        }
        if indent == 0 {
            if comment.ends_with(|last: char| last.is_ascii_digit() || last == ' ')
                && let Some((word, number)) = comment.cut_word()
                && let Ok(number) = number.trim().parse::<u64>()
                && self.trailer(word, number)
            {
                return;
            }
            if let Some(rest) = comment.strip_prefix("bats warning: ") {
                self.clues.bats = true;
                // Such as `Executed 1 instead of expected 2 tests`.
                if rest.starts_with("Executed ") {
                    self.planned = Some(u64::MAX);
                }
            }
        }
        // Nothing that passed is explained.
        let passed = self.last.as_ref().is_some_and(|last| last.status == TestStatus::Passed);
        self.clues.comment(comment, !passed);
        if self.clues.is_perl() {
            self.prove.diagnostic(comment, indent, &mut self.problems);
        }
        match &self.last {
            _ if passed => {}
            Some(_) => self.block.push(comment),
            None => self.words.push(comment),
        }
    }

    /// `# tests 16`, `# pass 3`: what reporters written for node end with.
    fn trailer(&mut self, word: &str, number: u64) -> bool {
        let add = |slot: &mut Option<u64>| *slot = Some(slot.unwrap_or(0) + number);
        match word {
            "tests" => {
                self.settle();
                self.clues.saw_trailer();
                self.trailer.total = Some(number);
            }
            "pass" => self.trailer.passed = Some(number),
            "fail" | "cancelled" => add(&mut self.trailer.failed),
            "skip" | "skipped" | "todo" => add(&mut self.trailer.skipped),
            "suites" => self.suites = Some(number),
            _ => return false,
        }
        true
    }

    fn other(&mut self, line: &str, indent: usize) {
        if self.results == 0 && !self.version && self.planned.is_none() {
            self.prove.output(line);
            return;
        }
        match &self.last {
            // mocha writes the message below the result, indented by two.
            Some(last) if indent > last.indent && !self.clues.dash => {
                self.block.push(line.get(last.indent + 2..).unwrap_or(line));
            }
            Some(_) if line.trim().is_empty() => self.block.push(""),
            _ => {
                self.clues.output(line);
                self.words.push(line);
                self.prove.output(line);
            }
        }
    }

    fn enter(&mut self, level: usize, name: &str) {
        self.path.truncate(level.min(DEEPEST));
        if level <= DEEPEST {
            self.path.resize(level, String::new());
            self.path.push(name.to_owned());
        }
    }

    fn result(&mut self, found: &TapResult<'_>, indent: usize) {
        let level = indent / LEVEL;
        self.settle();
        self.results += 1;
        self.clues.result(found);
        let parent = self.clues.deepest_since(level);
        // Bats, which writes no dash, may put the time behind the name.
        let name = if found.dash { found.name } else { dialect::without_timing(found.name) };
        if found.opens {
            self.opened += u64::from(level == 0);
            self.enter(level, name);
            return;
        }
        if level == 0 {
            let one = Some(1);
            self.top.add(&match found.status {
                TestStatus::Passed => Counts { passed: one, ..Counts::default() },
                TestStatus::Skipped => Counts { skipped: one, ..Counts::default() },
                TestStatus::Failed | TestStatus::Error => Counts { failed: one, ..Counts::default() },
            });
        }
        if found.status == TestStatus::Skipped && found.is_failing_todo && level == 0 {
            self.prove.todo();
        }
        self.path.truncate(level);
        let mut full = std::mem::take(&mut self.full);
        full.clear();
        for part in &self.path {
            full.push_str(part);
            full.push_str(" > ");
        }
        full.push_str(if name.is_empty() { "(unnamed test)" } else { name });
        let counts = level == 0 || self.clues.is_nested();
        let (case, undecided) = match (self.prove.is_harness(), counts) {
            // For the harness a file is the test.
            (true, _) => (None, None),
            (false, true) => (self.cases.push(&full, found.status), None),
            (false, false) => (None, Some(full.clone())),
        };
        self.full = full;
        self.last = Some(Last { case, indent, status: found.status, parent, undecided });
    }

    /// Gives the last result its explanation.
    fn settle(&mut self) {
        let Some(last) = self.last.take() else { return };
        let mut text = self.block.take();
        if last.case.is_none() {
            if last.status == TestStatus::Failed && last.indent > 0 {
                // It explains the result around it.
                self.inner.push(text.trim_end());
            } else if last.status == TestStatus::Failed {
                self.prove.output(text.trim_end());
            }
            return;
        }
        if last.status == TestStatus::Passed {
            // Output before a test that passed is nobody's reason.
            if last.indent == 0 {
                self.words.clear();
                self.inner.clear();
            }
            return;
        }
        let bare = self.clues.dialect() == Dialect::Node && text.holds("error: 'test failed'");
        if last.indent == 0 {
            let words = self.words.take();
            let inner = self.inner.take();
            if bare {
                if let Some(test) = last.case.and_then(|at| self.cases.get_mut(at))
                    && place::is_path(&test.name)
                {
                    // The file itself could not be run: once it can, its tests have names of their own.
                    test.status = TestStatus::Error;
                }
                // The file's own output says why it could not be run.
                text = format!("{}\n{text}", words.replace("\\#", "#").trim_end());
            }
            if !inner.trim().is_empty() {
                text = format!("{}\n{}", text.trim_end(), inner.trim_end());
            }
        }
        if last.status == TestStatus::Failed {
            let found = stack::place_in_words(&text).or_else(|| stack::place_of(&text));
            self.cases.explain(last.case, &text, found);
        }
    }
}
