//! `go test`: text, `-v` and `-json`.
//!
//! Each package prints the results of its tests and one line with its own (`ok`, `FAIL`, `?`). Without `-v` only what
//! failed is named, so only the number of failures is known. With `-v` a result counts when its test was announced
//! (`=== RUN`): what tests print is not.

mod json;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use foldhash::fast::RandomState;

use self::json::Json;
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, RunStatus, TestStatus};
use crate::{infrastructure, place, stack};

const FRAMEWORK: &str = "go-test";
/// How many tests may be running whose output is kept.
const MOST_RUNNING: usize = 256;
/// How many empty blocks are kept to be used again.
const MOST_SPARE: usize = 16;
/// How the result of a test begins.
const RESULT: &str = "--- ";
/// `t.Log` and subtests are indented by four columns.
const LEVEL: usize = 4;

/// The result whose message stands below it.
#[derive(Debug)]
struct Last {
    case: Option<usize>,
    indent: usize,
    /// Nothing of the test itself was printed below it yet.
    bare: bool,
}

/// Reads go test.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent observation")]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    json: Json,
    /// Where the tests of the package that is being read begin in `cases`.
    package_start: usize,
    last: Option<Last>,
    block: Block,
    /// Lines outside of tests since the last package.
    words: Block,
    /// The output of tests that run, with `-v`.
    running: HashMap<String, Block, RandomState>,
    /// Blocks of tests that passed, to be used again.
    spare: Vec<Block>,
    current: Option<String>,
    verbose: bool,
    /// The results of the package that may be fakes: printed lines that look like results.
    doubtful: Vec<usize>,
    /// The race detector spoke since the last result. It names no test, but the next failing one is it.
    race: bool,
    /// A panic is being printed.
    panic: bool,
    timed_out: bool,
    fuzzing: bool,
    packages: u64,
    empty_packages: u64,
    failed_packages: u64,
    /// Packages that failed without a failing test.
    crashed: u64,
    aborted: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "--- FAIL: ",
        "--- PASS: ",
        "--- SKIP: ",
        "=== RUN ",
        "ok  \t",
        "FAIL\t",
        "?   \t",
        "\"Action\":\"",
        "panic: ",
        "fatal error: ",
        "go: cannot find main module",
        "go: go.mod file not found",
        "fuzz: elapsed: ",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            json: Json::default(),
            package_start: 0,
            last: None,
            block: Block::default(),
            words: Block::default(),
            running: HashMap::default(),
            spare: Vec::new(),
            current: None,
            verbose: false,
            doubtful: Vec::new(),
            race: false,
            panic: false,
            timed_out: false,
            fuzzing: false,
            packages: 0,
            empty_packages: 0,
            failed_packages: 0,
            crashed: 0,
            aborted: false,
        }
    }

    /// An event, a test's announcement, or the result of an announced test that passed: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        if self.json.is_seen() && line.starts_with('{') {
            return self.json.line(line, &mut self.cases, &mut self.problems);
        }
        self.verbose
            && ((line.starts_with("=== RUN   ") && self.announcement(line))
                || (line.starts_with("--- PASS: ") && self.result_line(line)))
    }

    /// A test runs, with `-v`.
    pub(super) const fn quotes(&self) -> bool {
        self.verbose && self.current.is_some()
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with('{') && self.json.line(line, &mut self.cases, &mut self.problems) {
            return;
        }
        let known = match line.as_bytes().first() {
            Some(b'-' | b' ') => self.result_line(line),
            Some(b'=') => self.announcement(line),
            Some(b'o' | b'F' | b'?') => self.package_line(line),
            Some(b'p') if line.starts_with("panic: ") && !self.panic => {
                self.begin_panic(line);
                true
            }
            Some(b'f') if line.starts_with("fatal error: ") && !self.panic => {
                self.begin_panic(line);
                true
            }
            Some(b'f') if line.starts_with("fuzz: elapsed: ") => {
                self.fuzzing = true;
                true
            }
            Some(b'g')
                if line.starts_with("go: cannot find main module") || line.starts_with("go: go.mod file not") =>
            {
                self.problems.push(RunKind::BadCommand, line, None);
                true
            }
            _ => false,
        };
        // A result may stand behind text that was printed without an end of its line.
        let known = known || (line.ends_with("s)") && self.glued_result(line));
        if !known {
            self.other(line);
        }
    }

    /// `no line end--- FAIL: TestA (0.00s)`: the test printed something without an end before its result.
    fn glued_result(&mut self, line: &str) -> bool {
        let Some((printed, result)) = line.seek_last(RESULT).and_then(|at| line.split_at_checked(at)) else {
            return false;
        };
        let name = result.cut(": ").and_then(|(_, rest)| rest.cut_word()).map_or("", |(name, _)| name);
        let likely = if self.verbose {
            self.running.contains_key(name)
        } else {
            result.starts_with("--- FAIL: ") && ["Test", "Example", "Fuzz"].iter().any(|start| name.starts_with(start))
        };
        if !likely || printed.trim().is_empty() {
            return false;
        }
        self.other(printed);
        self.result_line(result)
    }

    /// `    --- FAIL: TestTable/negative (0.00s)`.
    fn result_line(&mut self, line: &str) -> bool {
        let text = line.unindented();
        let indent = line.len() - text.len();
        let Some(rest) = text.strip_prefix("--- ") else { return false };
        if !indent.is_multiple_of(LEVEL) {
            return false;
        }
        let (status, rest) = match rest.split_once(':').and_then(|(word, rest)| Some((word, rest.strip_prefix(' ')?))) {
            Some(("FAIL", rest)) => (TestStatus::Failed, rest),
            Some(("PASS", rest)) => (TestStatus::Passed, rest),
            Some(("SKIP", rest)) => (TestStatus::Skipped, rest),
            _ => return false,
        };
        let parts = rest.rsplit_once('(').and_then(|(name, time)| Some((name.strip_suffix(' ')?, time)));
        let Some((name, time)) = parts else { return false };
        if name.contains(' ') || !time.ends_with("s)") {
            return false;
        }
        let announced = self.running.remove(name);
        if self.verbose && announced.is_none() {
            // Printed by a test.
            return false;
        }
        self.settle();
        self.current = None;
        // Fuzzing repeats the name for the input that failed.
        let repeated = indent > 0 && !name.contains('/') && self.cases.find(name).is_some();
        let case = if repeated { self.cases.find(name) } else { self.cases.push(name, status) };
        if let Some(mut output) = announced {
            if status == TestStatus::Failed {
                self.block.push(output.take().trim_end_matches('\n'));
            } else if self.spare.len() < MOST_SPARE {
                output.clear();
                self.spare.push(output);
            }
        }
        // The race detector speaks before the test's result.
        if status == TestStatus::Failed && std::mem::take(&mut self.race) {
            self.block.push(self.words.take().trim_end_matches('\n'));
        }
        self.last = Some(Last { case, indent, bare: true });
        true
    }

    /// `=== RUN   TestNested/outer`.
    fn announcement(&mut self, line: &str) -> bool {
        let Some((verb, name)) = line.strip_prefix("=== ").and_then(|rest| rest.cut_word()) else { return false };
        let name = name.trim();
        match verb {
            "RUN" => {
                self.verbose = true;
                if self.running.len() < MOST_RUNNING || self.running.contains_key(name) {
                    let block = self.spare.pop().unwrap_or_default();
                    self.running.insert(name.to_owned(), block);
                }
            }
            "CONT" | "NAME" => {}
            "PAUSE" => {
                // Until the next announcement no line is known to be of any test.
                self.settle();
                self.current = None;
                return true;
            }
            _ => return false,
        }
        self.settle();
        self.current = Some(name.to_owned());
        true
    }

    /// `ok  \tpkg\t0.1s`, `FAIL\tpkg [build failed]`, `?   \tpkg\t[no test files]`, and the `FAIL` of a test binary.
    fn package_line(&mut self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let (Some(word), Some(package)) = (words.next(), words.next()) else {
            // `FAIL` alone stands below a package's tests and at the very end.
            return line == "FAIL" && (self.last.is_some() || self.packages > 0);
        };
        let told = line.contains('\t') || words.next().is_some();
        let named = package.contains(['/', '.']) || line.contains('\t');
        let said = line.cut("\tcoverage: ").map_or(line, |(head, _)| head);
        if !told || !named || !matches!(word, "ok" | "FAIL" | "?") || said.holds(": ") {
            return false;
        }
        match word {
            "ok" => {
                self.end_package();
                self.empty_packages += u64::from(line.ends_with("[no tests to run]"));
                self.words.clear();
            }
            "?" if line.ends_with("[no test files]") => {
                self.end_package();
                self.empty_packages += 1;
            }
            "FAIL" => self.package_failed(line),
            _ => return false,
        }
        self.packages += 1;
        self.package_start = self.cases.len();
        self.running.clear();
        self.current = None;
        self.verbose = false;
        true
    }

    fn package_failed(&mut self, line: &str) {
        self.failed_packages += 1;
        let died = self.panic;
        self.end_package();
        let failed = self.cases.iter().skip(self.package_start).any(|test| test.status == TestStatus::Failed);
        let words = self.words.take();
        if line.ends_with("[build failed]") || line.ends_with("[setup failed]") {
            let text = format!("{words}{line}");
            self.problems.push(build_kind(&text), &text, place::find(&text));
        } else if !failed {
            self.crashed += 1;
            let text = format!("{words}{line}");
            let kind = if self.timed_out { RunKind::Timeout } else { RunKind::Crash };
            self.problems.push(kind, &text, stack::place_of(&text));
        } else if died {
            self.aborted |= self.timed_out;
        }
    }

    fn begin_panic(&mut self, line: &str) {
        self.panic = true;
        let timed_out = line.starts_with("panic: test timed out after ");
        self.timed_out |= timed_out;
        if timed_out {
            self.settle();
        }
        // Without `-v` the failing test was named just above; with it, it is the one that runs.
        if self.last.is_none()
            && !timed_out
            && let Some(name) = self.current.take()
        {
            let output = self.running.remove(&name);
            let case = self.cases.push(&name, TestStatus::Failed);
            if let Some(mut output) = output {
                self.block.push(output.take().trim_end_matches('\n'));
            }
            self.last = Some(Last { case, indent: 0, bare: false });
        }
        let into = if self.last.is_some() { &mut self.block } else { &mut self.words };
        into.push(line);
    }

    fn other(&mut self, line: &str) {
        if self.panic {
            self.panic_line(line);
            return;
        }
        if let Some(current) = &self.current {
            if let Some(block) = self.running.get_mut(current) {
                block.push(line);
            }
            return;
        }
        self.race |= line == "WARNING: DATA RACE";
        let in_example = self.in_example();
        let Some(last) = &mut self.last else {
            self.words.push(line);
            return;
        };
        let indent = line.len() - line.unindented().len();
        // The output of an example is not indented.
        if indent >= last.indent + LEVEL || line.is_empty() || in_example {
            last.bare = false;
            self.block.push(line);
            return;
        }
        if last.bare
            && last.indent == 0
            && !self.verbose
            && let Some(at) = last.case
        {
            self.doubtful.push(at);
        }
        self.settle();
        self.words.push(line);
    }

    /// An example's expected output is printed without indentation.
    fn in_example(&self) -> bool {
        let test = self.last.as_ref().and_then(|last| last.case).and_then(|at| self.cases.get(at));
        test.is_some_and(|test| test.name.starts_with("Example"))
    }

    fn panic_line(&mut self, line: &str) {
        // `		TestHangs (1s)` below `	running tests:`.
        if self.timed_out
            && let Some(entry) = line.strip_prefix("\t\t")
            && let Some((name, time)) = entry.cut_last(" (")
            && time.ends_with(')')
            && !name.contains(' ')
        {
            self.running.remove(name);
            let case = self.cases.push(name, TestStatus::Failed);
            self.block.push(self.words.take().trim_end());
            self.last = Some(Last { case, indent: 0, bare: false });
        }
        let into = if self.last.is_some() { &mut self.block } else { &mut self.words };
        into.push(line);
    }

    /// Gives the last result its message.
    fn settle(&mut self) {
        let text = self.block.take();
        let Some(last) = self.last.take() else { return };
        if let Some(at) = last.case
            && self.cases.get(at).is_some_and(|test| test.status == TestStatus::Failed)
        {
            self.cases.explain(Some(at), &text, stack::place_of(&text));
        }
    }

    fn end_package(&mut self) {
        self.settle();
        self.panic = false;
        // A test that fails without a word, followed at once by other output, is most often a printed line: a failing
        // test says why. It counts when nothing else explains that the package failed.
        let doubtful = std::mem::take(&mut self.doubtful);
        let failed = self.cases.iter().skip(self.package_start).filter(|test| test.status == TestStatus::Failed);
        if !doubtful.is_empty() && failed.count() > doubtful.len() {
            let mut at = self.package_start;
            self.cases.retain_from(self.package_start, |_| {
                let keep = !doubtful.contains(&at);
                at += 1;
                keep
            });
        }
    }

    pub(super) fn finish(mut self, exit: Option<Exit>) -> Option<Findings> {
        let json = self.json.finish(&mut self.problems);
        let died = self.panic;
        self.end_package();
        let mut words = self.words.take();
        if died && self.packages == 0 {
            // The panic of another program shows no test.
            if !(words.holds("_test.go:") || words.holds("testing.tRunner(") || !self.cases.is_empty()) {
                words.clear();
            }
            self.problems.push(RunKind::Crash, &words, stack::place_of(&words));
        }
        if self.packages == 0 && !json.seen && self.problems.is_empty() && self.cases.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        if json.seen {
            findings.counts = json.counts;
            findings.finished = json.finished;
            self.crashed += json.crashed;
        } else {
            findings.counts = self.counts();
            findings.finished = self.packages > 0 && !died;
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        if findings.has_failures() {
            if self.timed_out {
                findings.kind = Some(RunKind::Timeout);
            }
        } else if self.crashed > 0 && !exit.is_some_and(Exit::is_success) {
            findings.status = Some(RunStatus::Failed);
            findings.kind = Some(if self.timed_out { RunKind::Timeout } else { RunKind::Crash });
        }
        Some(findings)
    }

    fn counts(&self) -> Counts {
        let of = |status| Some(self.cases.count(status));
        // Then results are missing, and a sum would be wrong.
        if self.crashed > 0 || self.aborted || self.fuzzing || self.packages == 0 || !self.problems.is_empty() {
            return Counts::default();
        }
        // Without `-v` only failing tests are named.
        let named = self.cases.iter().any(|test| test.status != TestStatus::Failed);
        if named || self.empty_packages == self.packages {
            let total = u64::try_from(self.cases.len()).ok();
            return Counts {
                total,
                passed: of(TestStatus::Passed),
                failed: of(TestStatus::Failed),
                skipped: of(TestStatus::Skipped),
                errors: None,
            };
        }
        Counts { failed: of(TestStatus::Failed), ..Counts::default() }
    }
}

/// The kind of trouble that kept a package from being tested.
fn build_kind(text: &str) -> RunKind {
    let any = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    // What has a place in the source is the code's.
    if text.lines().filter(|line| !line.contains(".go:")).any(infrastructure::blames_environment) {
        RunKind::Infrastructure
    } else if any(&["cannot find module", "cannot find package", "no required module provides", "is not in std"]) {
        RunKind::ImportError
    } else if any(&["directory not found", "does not contain main module", "no Go files in", "no such file"]) {
        RunKind::BadCommand
    } else {
        RunKind::CompileError
    }
}
