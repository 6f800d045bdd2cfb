//! `cargo test`: libtest's text (also quiet, also uncaptured), its JSON, doctests, and what cargo and rustc say when
//! nothing could be run.
//!
//! A log is a row of test binaries. Each prints `running N tests`, results, a `failures:` part with what the failing
//! tests printed, a `failures:` list of their names, and `test result:`. The list is the truth: lines that only look
//! like results, printed by a test, are not in it.

mod diagnostics;
mod json;
pub(crate) mod panics;

use self::diagnostics::Diagnostics;
use self::json::Json;
use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems, sum};
use crate::needle::Needle;
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, RunStatus, TestStatus};

/// The name in reports.
const FRAMEWORK: &str = "cargo-test";

/// How many columns cargo right-aligns its verbs to.
const VERBS: usize = 12;
/// More slow tests than this are not remembered.
const MOST_SLOW: usize = 100;

/// The dots between a test and its result.
static DOTS: Needle = Needle::new(" ... ");

/// Where in a binary's output the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Between binaries: cargo and rustc speak.
    Cargo,
    /// Cargo said that it starts a binary, which has not printed libtest's first line (and never may).
    Starting,
    /// Results come in.
    Results,
    /// The output of tests, one block per test. It is kept when they failed.
    Outputs,
    /// The output of passing tests (`--show-output`).
    Successes,
    /// The names of the failing tests.
    Names,
}

/// Reads cargo test.
#[derive(Debug)]
pub(super) struct Reader {
    part: Part,
    cases: Cases,
    problems: Problems,
    counts: Counts,
    diagnostics: Diagnostics,
    json: Json,
    /// Whether anything that only cargo or libtest prints was seen.
    recognised: bool,
    /// How many binaries printed their summary, and how many ended without.
    summaries: u64,
    cut_short: u64,
    own_harness_failed: bool,
    /// Where the tests of the binary that is running begin in `cases`.
    binary_start: usize,
    names: Vec<String>,
    /// How many tests the running binary said it runs.
    announced: Option<u64>,
    /// The test whose line is begun and not ended, with captured output between.
    pending: Option<String>,
    block_of: Option<String>,
    block: Block,
    /// Announcements of slow tests, with their names.
    slow: Vec<(String, String)>,
    /// The running binary's output outside of results: its last words if it dies.
    words: Block,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "running ",
        "test result: ",
        "   Compiling ",
        "    Finished ",
        "     Running ",
        "   Doc-tests ",
        "error: ",
        "error[E",
        "{\"reason\":\"",
        "\"type\": \"suite\"",
        "\"type\":\"suite\"",
        "\"type\": \"test\"",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            part: Part::Cargo,
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            counts: Counts::default(),
            diagnostics: Diagnostics::default(),
            json: Json::default(),
            recognised: false,
            summaries: 0,
            cut_short: 0,
            own_harness_failed: false,
            binary_start: 0,
            names: Vec::new(),
            announced: None,
            pending: None,
            block_of: None,
            block: Block::default(),
            slow: Vec::new(),
            words: Block::default(),
        }
    }

    /// A test's result, beyond doubt: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        if self.part != Part::Results || self.diagnostics.is_open() {
            return false;
        }
        let Some(rest) = line.strip_prefix("test ") else { return false };
        let (name, status) = if let Some(name) = rest.strip_suffix(" ... ok") {
            (name, TestStatus::Passed)
        } else if let Some(name) = rest.strip_suffix(" ... FAILED") {
            (name, TestStatus::Failed)
        } else {
            return false;
        };
        // Doctests have dots and spaces in their names, and so have lines that only look like results.
        if memchr::memchr2(b'.', b' ', name.as_bytes()).is_some() {
            return false;
        }
        self.ended(name, status);
        true
    }

    /// In what a failing test printed, or in the middle of one that is not captured.
    pub(super) fn quotes(&self) -> bool {
        match self.part {
            Part::Outputs => self.block_of.is_some(),
            Part::Results => self.pending.is_some(),
            Part::Successes => true,
            Part::Cargo | Part::Starting | Part::Names => false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with('{') && self.json.line(line, &mut self.cases, &mut self.problems) {
            return;
        }
        if self.diagnostics.is_open() && self.diagnostics.wants(line) {
            return;
        }
        if self.part != Part::Outputs && self.part != Part::Successes && self.cargo_line(line) {
            return;
        }
        match self.part {
            Part::Cargo => {}
            Part::Starting => self.words.push(line),
            Part::Results => self.result_line(line),
            Part::Outputs => self.output_line(line),
            Part::Successes => self.success_line(line),
            Part::Names => self.name_line(line),
        }
    }

    /// Lines that cargo itself prints, and the start of a binary.
    fn cargo_line(&mut self, line: &str) -> bool {
        match line.as_bytes().first() {
            Some(b' ') => {
                // Cargo right-aligns its verbs to twelve columns.
                if line.as_bytes().get(VERBS).is_some_and(|&next| next != b' ') {
                    return false;
                }
                let text = line.trim_start();
                let indent = line.len() - text.len();
                let (verb, _) = text.split_once(' ').unwrap_or((text, ""));
                if indent + verb.len() != VERBS {
                    return false;
                }
                match verb {
                    "Running" | "Doc-tests" => {
                        self.binary_ends();
                        self.part = Part::Starting;
                    }
                    "Compiling" | "Finished" | "Checking" => {}
                    _ => return false,
                }
                self.recognised = true;
                true
            }
            Some(b'r') => {
                let Some(rest) = line.strip_prefix("running ") else { return false };
                let announced = place::leading_number::<u64>(rest);
                if !(rest.ends_with(" test") || rest.ends_with(" tests")) || announced.is_none() {
                    return false;
                }
                // The test that runs printed it.
                if self.part == Part::Results && self.pending.is_some() {
                    return false;
                }
                if self.part != Part::Starting {
                    self.binary_ends();
                }
                self.recognised = true;
                self.part = Part::Results;
                self.binary_start = self.cases.len();
                self.announced = announced;
                self.words.clear();
                true
            }
            Some(b'e')
                if line.starts_with("error: test failed, to rerun") || line.starts_with("error: doctest failed") =>
            {
                self.recognised = true;
                let words = self.words.take();
                let running = std::mem::replace(&mut self.part, Part::Cargo);
                if matches!(running, Part::Results | Part::Starting | Part::Names) {
                    self.diagnostics.open_death(line, &words, running == Part::Starting);
                    self.binary_start = self.cases.len();
                    self.pending = None;
                }
                true
            }
            Some(b'e') if line.starts_with("error") && matches!(self.part, Part::Cargo | Part::Starting) => {
                self.diagnostics.open(line)
            }
            _ => false,
        }
    }

    fn result_line(&mut self, line: &str) {
        let of_libtest =
            line.starts_with("test ") || line.ends_with(" --- FAILED") || matches!(line, "failures:" | "successes:");
        if !of_libtest && self.pending.is_none() {
            self.words.push(line);
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            self.summary(rest);
        } else if let Some((name, status)) = plain_result(line) {
            self.ended(name, status);
        } else if let Some((name, rest)) = line.strip_prefix("test ").and_then(|rest| DOTS.split_once(rest)) {
            match result(rest) {
                Some(status) => self.ended(name, status),
                None => self.pending = Some(bare_name(name).to_owned()),
            }
        } else if let Some(name) = slow_test(line) {
            if self.slow.len() < MOST_SLOW {
                self.slow.push((name.to_owned(), line.to_owned()));
            }
        } else if let Some(name) = line.strip_suffix(" --- FAILED") {
            self.ended(name, TestStatus::Failed);
        } else if let Some(status) = self.pending.as_ref().and(result(line)) {
            if let Some(name) = self.pending.take() {
                self.ended(&name, status);
            }
        } else if line == "failures:" {
            self.part = Part::Outputs;
        } else if line == "successes:" {
            self.part = Part::Successes;
        } else {
            self.words.push(line);
        }
    }

    fn ended(&mut self, name: &str, status: TestStatus) {
        self.pending = None;
        let at = self.cases.push(bare_name(name), status);
        if self.words.is_empty() {
            return;
        }
        if status != TestStatus::Failed {
            self.words.clear();
            return;
        }
        let words = self.words.take();
        if words.holds("panicked at") {
            let place = panics::place_of(&words, bare_name(name));
            self.cases.explain(at, &words, place);
        }
    }

    fn output_line(&mut self, line: &str) {
        let title = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" ----"));
        let name =
            title.map(|name| name.strip_suffix(" stdout").or_else(|| name.strip_suffix(" stderr")).unwrap_or(name));
        if let Some(name) = name.filter(|name| !self.names_are_known() || self.is_failing(name)) {
            self.block_ends();
            self.block_of = Some(name.to_owned());
        } else if line == "failures:" {
            self.names.clear();
            self.part = Part::Names;
        } else {
            self.block.push(line);
        }
    }

    fn success_line(&mut self, line: &str) {
        if line == "failures:" {
            self.part = Part::Outputs;
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            self.summary(rest);
        }
    }

    fn name_line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("    ") {
            self.names.push(name.to_owned());
        } else if let Some(rest) = line.strip_prefix("test result: ").filter(|rest| self.is_own_summary(rest)) {
            self.block_ends();
            self.summary(rest);
        } else if !line.is_empty() {
            // Not the list: a test printed the word.
            self.block.push("failures:");
            for name in std::mem::take(&mut self.names) {
                self.block.push(&name);
            }
            self.part = Part::Outputs;
            self.output_line(line);
        }
    }

    /// Whether every test of the running binary has printed its result, and so its name.
    fn names_are_known(&self) -> bool {
        let seen = self.cases.len() - self.binary_start.min(self.cases.len());
        self.announced.is_some_and(|count| u64::try_from(seen).is_ok_and(|seen| seen >= count))
    }

    fn is_failing(&mut self, name: &str) -> bool {
        let at = self.cases.find(bare_name(name)).filter(|at| *at >= self.binary_start);
        at.and_then(|at| self.cases.get(at)).is_some_and(|test| test.status == TestStatus::Failed)
    }

    /// Whether a summary behind a list of names is that of the running binary, not one that a test printed: it counts
    /// as many tests as were announced, or the names are those that failed.
    fn is_own_summary(&mut self, rest: &str) -> bool {
        let numbers = rest.split([';', '.']).filter_map(|part| {
            let (number, word) = part.trim().cut_word()?;
            matches!(word, "passed" | "failed" | "ignored" | "measured").then(|| number.parse::<u64>().ok())?
        });
        let counted = numbers.fold(0_u64, u64::saturating_add);
        if self.announced.is_none_or(|count| count == counted) {
            return true;
        }
        let names = std::mem::take(&mut self.names);
        let own = names.iter().all(|name| self.is_failing(name));
        self.names = names;
        own
    }

    fn block_ends(&mut self) {
        let text = self.block.take();
        let Some(name) = self.block_of.take() else { return };
        let known = self.cases.find(&name).filter(|at| *at >= self.binary_start);
        let at = known.or_else(|| self.cases.push(&name, TestStatus::Failed));
        if let Some(test) = at.and_then(|at| self.cases.get_mut(at)) {
            test.message.clear();
        }
        let place = panics::place_of(&text, &name);
        self.cases.explain(at, &text, place);
    }

    /// `FAILED. 4 passed; 9 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s`.
    fn summary(&mut self, rest: &str) {
        let number = |word: &str| {
            rest.split([';', '.']).find_map(|part| part.trim().strip_suffix(word)?.trim().parse::<u64>().ok())
        };
        let (Some(passed), Some(failed)) = (number("passed"), number("failed")) else { return };
        let skipped = number("ignored").unwrap_or(0);
        let passed = sum(&[passed, number("measured").unwrap_or(0)]);
        self.counts.add(&Counts {
            total: Some(sum(&[passed, failed, skipped])),
            passed: Some(passed),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: None,
        });
        self.recognised = true;
        self.summaries += 1;
        self.settle_names(failed);
        self.part = Part::Cargo;
        self.binary_start = self.cases.len();
        self.words.clear();
        self.pending = None;
    }

    /// Brings the failing tests of this binary into line with its list of names.
    fn settle_names(&mut self, failed: u64) {
        let names = std::mem::take(&mut self.names);
        for name in &names {
            let known = self.cases.find(name).filter(|at| *at >= self.binary_start);
            match known.and_then(|at| self.cases.get_mut(at)) {
                Some(test) => test.status = TestStatus::Failed,
                None => {
                    self.cases.push(name, TestStatus::Failed);
                }
            }
        }
        if !names.is_empty() || failed == 0 {
            self.cases
                .retain_from(self.binary_start, |test| test.status != TestStatus::Failed || names.contains(&test.name));
        }
    }

    /// A binary's output is over. Without a summary it died.
    fn binary_ends(&mut self) {
        match self.part {
            Part::Results | Part::Names | Part::Outputs => {
                self.block_ends();
                self.cut_short += 1;
            }
            Part::Cargo | Part::Starting | Part::Successes => {}
        }
        self.part = Part::Cargo;
        self.binary_start = self.cases.len();
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        for (name, line) in std::mem::take(&mut self.slow) {
            let at = self.cases.find(&name);
            self.cases.explain(at, &line, None);
        }
        let cut = matches!(self.part, Part::Results | Part::Names | Part::Outputs);
        self.binary_ends();
        let deaths = self.diagnostics.finish(&mut self.problems);
        self.cut_short = self.cut_short.max(deaths.crashed);
        self.own_harness_failed |= deaths.own_harness;
        let json = self.json.finish();
        self.recognised |= json.seen || deaths.recognised;
        if !self.recognised {
            return None;
        }
        let mut findings = Findings::new(if json.nextest { "cargo-nextest" } else { FRAMEWORK });
        let complete = self.cut_short == 0 && !self.own_harness_failed && !cut;
        self.counts.add(&json.counts);
        if complete {
            findings.counts = self.counts;
        }
        findings.finished = complete && (self.summaries > 0 || json.finished);
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        if self.own_harness_failed {
            findings.status = Some(RunStatus::Failed);
            findings.kind = Some(RunKind::Tests);
        } else if deaths.crashed > 0 && !findings.has_failures() {
            findings.kind = Some(RunKind::Crash);
        }
        Some(findings)
    }
}

/// `test a::b ... ok`: nearly every line of a log. Names with dots (doctests) and other results are read with more care.
fn plain_result(line: &str) -> Option<(&str, TestStatus)> {
    let (head, word) = line.rsplit_once(' ')?;
    let status = match word {
        "ok" => TestStatus::Passed,
        "FAILED" => TestStatus::Failed,
        "ignored" => TestStatus::Skipped,
        _ => return None,
    };
    let name = head.strip_prefix("test ")?.strip_suffix(" ...")?;
    memchr::memchr(b'.', name.as_bytes()).is_none().then_some((name, status))
}

/// `test x has been running for over 60 seconds`.
fn slow_test(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("test ")?.cut(" has been running for over ")?;
    rest.ends_with(" seconds").then_some(name)
}

/// A test's name without what libtest puts behind it.
fn bare_name(name: &str) -> &str {
    let name = name.trim_end();
    if memchr::memchr(b' ', name.as_bytes()).is_none() {
        return name;
    }
    [" - should panic", " - compile fail", " - compile"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

fn result(text: &str) -> Option<TestStatus> {
    // `--report-time` puts ` <0.001s>` behind the result.
    let word = text.cut(" <").map_or(text, |(word, _)| word);
    match word {
        "ok" => Some(TestStatus::Passed),
        "FAILED" | "FAILED (time limit exceeded)" => Some(TestStatus::Failed),
        "ignored" => Some(TestStatus::Skipped),
        _ if word.starts_with("ignored, ") => Some(TestStatus::Skipped),
        _ if word.starts_with("bench: ") => Some(TestStatus::Passed),
        _ => None,
    }
}
