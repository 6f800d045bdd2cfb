//! The verdict: what a test run proves about a tree, compared with the baseline (DESIGN §4).
//!
//! Green needs proof: every test that failed at the start was *seen passing*, and none that passed is gone,
//! by name wherever the runner names them, else by its counts. An exit code alone proves nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::domain::outcome::{FAILURES_ALONE, UNREAD};
use crate::domain::test_report::{RunKind, RunStatus, TestCase, TestReport, TestStatus};
use crate::domain::verdict::{Exit, Verdict, over_memory};

mod counts;
mod filed;
mod names;
mod parts;

use counts::{more_skipped, names_with, passed_without_failed_parts};
use parts::{parts_of_failing, stands_for_a_file};

pub use filed::{confirm, learn, name_in_file};
use names::{clockless, forms, stable_name, whole_of_part};

/// The shell's exit codes for a command that cannot be executed or is not found (POSIX).
const EXIT_NOT_EXECUTABLE: i32 = 126;
const EXIT_NOT_FOUND: i32 = 127;
/// How many test names a reason spells out.
const NAMES_IN_REASON: usize = 3;

/// The tests' results before any change: the measure for every later run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// F0: tests that failed and must be seen passing.
    pub failing: Vec<String>,
    /// Tests of F0 that could not even run (import, collection, setup). Their names may be files or modules.
    pub errored: Vec<String>,
    /// Tests of F0 that stand nowhere at the start, because a person's change brought them.
    #[serde(default)]
    pub absent: BTreeSet<String>,
    /// Tests that failed once and passed once. Their failures do not count.
    pub flaky: Vec<String>,
    /// Where tests of F0 failed, as printed: the file and the one-based line.
    #[serde(default)]
    pub failed_at: BTreeMap<String, (String, u32)>,
    /// The words in which tests of F0 failed.
    #[serde(default)]
    pub said: BTreeMap<String, String>,
    /// Tests seen passing by name, with how often each name occurred.
    pub passing: BTreeMap<String, u32>,
    /// Tests skipped by name.
    pub skipped: BTreeSet<String>,
    /// The reasons of skipped parts of tests of F0, where a result file gave them.
    #[serde(default)]
    pub skipped_parts: BTreeMap<String, Vec<String>>,
    /// How many passed by the framework's count.
    pub passed: Option<u64>,
    /// How many tests there were by the framework's count.
    pub total: Option<u64>,
    /// Whether the output could not be read at all, or only what failed could be.
    pub unreadable: bool,
    /// Whether a person named the test command (an unreadable one is only then believed).
    pub explicit_command: bool,
    /// The same by the runner's own result file, where it wrote one that bore out what it printed.
    #[serde(default)]
    pub filed: Option<Box<Baseline>>,
}

/// A judged run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Tests of F0 that were seen passing.
    pub fixed: BTreeSet<String>,
    /// Failing tests that did not fail at the baseline.
    pub new_failures: Vec<String>,
    /// Whether a test that passed at the baseline fails or is gone.
    pub lost: bool,
    /// Whether all tests were to run, not only those that failed at the baseline.
    pub whole: bool,
}

/// Judges the baseline run: red (worth paying for), green (nothing to do) or broken (exit 7).
#[must_use]
pub fn judge_baseline(exit: Exit, report: &TestReport, explicit_command: bool) -> Verdict {
    match exit {
        Exit::Memory { .. } | Exit::MemoryTogether { .. } | Exit::MachineMemory => {
            // A test that is known to eat the memory can be mended. Where nothing names one, the machine may be at
            // fault, and no model is paid.
            let cause = || broken(&over_memory(exit).unwrap_or_default());
            return out_of_memory(report).map_or_else(cause, |said| red(&said));
        }
        Exit::Timeout => return timed_out(report).map_or_else(|| broken(NO_END), |said| red(&said)),
        // Nothing tells whether the code or somebody outside sent it, and a model cannot mend the latter.
        Exit::Signal { signal } => return broken(&format!("the test command was killed by signal {signal}")),
        Exit::Code { .. } => {}
    }
    if let Some(verdict) = broken_command(exit, report) {
        return verdict;
    }
    // Before the failures are looked at: tests that lack a service fail by name, too, and no edit brings the service.
    if report.kind == RunKind::Infrastructure {
        return broken(&format!("the infrastructure failed, not the code: {}", first_problem(report)));
    }
    let verdict = judge_readable(exit, report, report.kind == RunKind::Unreadable && explicit_command);
    if matches!(verdict, Verdict::Red { .. }) && !explicit_command && says_what_fails_alone(report) {
        // Before anything is paid: a fix would leave nothing to be read, and could not be believed.
        return broken(FAILURES_ALONE);
    }
    verdict
}

/// The reason given for tests that did not end, where nothing tells which.
const NO_END: &str = "the tests did not end within their time limit (test.timeoutSeconds)";

/// The first line about the test that was under way when the time was up, if that is known.
fn timed_out(report: &TestReport) -> Option<String> {
    under_way(report, RunKind::Timeout, "(test.timeoutSeconds)")
}

/// The same of the test that took the memory.
fn out_of_memory(report: &TestReport) -> Option<String> {
    under_way(report, RunKind::OutOfMemory, "(test.memoryMb)")
}

fn under_way(report: &TestReport, kind: RunKind, setting: &str) -> Option<String> {
    let named = report.failing().map(|test| &test.message).find(|message| message.contains(setting));
    let placed = || report.problems.iter().find(|problem| problem.kind == kind).map(|problem| &problem.message);
    // The kind of the whole run decides: a test may print these words itself.
    let said = named.or_else(placed).filter(|_| report.kind == kind)?;
    said.lines().next().map(str::to_owned)
}

/// Judges a later run against the baseline.
#[must_use]
pub fn judge(baseline: &Baseline, exit: Exit, report: &TestReport) -> Judgement {
    // First, so that all that follows sees such a test as passing, the counts as well.
    let report = &parts::passed_but_for_parts(&baseline.skipped_parts, report);
    let seen = Seen::new(report);
    let fixed: BTreeSet<String> = baseline.failing.iter().filter(|name| seen.passes(baseline, name)).cloned().collect();
    let known: BTreeSet<&str> = baseline.failing.iter().chain(&baseline.flaky).map(String::as_str).collect();
    let new_failures: Vec<String> =
        report.failing().map(|test| test.name.clone()).filter(|name| !known.contains(name.as_str())).collect();
    let verdict = verdict_of(baseline, exit, report, &seen, &fixed);
    // Not the verdict's concern alone: a red tree that lost something is no base for the next tier.
    let lost = !new_failures.is_empty() || seen.gone(baseline).next().is_some();
    Judgement { verdict, fixed, new_failures, lost, whole: true }
}

fn verdict_of(
    baseline: &Baseline,
    exit: Exit,
    report: &TestReport,
    seen: &Seen<'_>,
    fixed: &BTreeSet<String>,
) -> Verdict {
    match exit {
        Exit::Memory { .. } | Exit::MemoryTogether { .. } | Exit::MachineMemory => {
            return red(&out_of_memory(report).or_else(|| over_memory(exit)).unwrap_or_default());
        }
        Exit::Timeout => return red(&timed_out(report).unwrap_or_else(|| NO_END.to_owned())),
        Exit::Signal { signal } => return red(&format!("the tests were killed by signal {signal}")),
        Exit::Code { .. } => {}
    }
    if let Some(verdict) = broken_command(exit, report) {
        return verdict;
    }
    let only_flaky_fail = report.failing().next().is_some()
        // Where all that fail need a service, a reader says so as a problem of its own.
        && report.problems.iter().all(|problem| problem.kind == RunKind::Infrastructure)
        && report.failing().all(|test| baseline.flaky.contains(&test.name));
    let verdict = if only_flaky_fail {
        Verdict::Green
    } else {
        judge_readable(
            exit,
            report,
            // A command that could be read at the start has to be readable now: a change may not silence it into a
            // green.
            report.kind == RunKind::Unreadable && baseline.unreadable && baseline.explicit_command,
        )
    };
    match verdict {
        Verdict::Green => proven_green(baseline, report, seen, fixed),
        other @ (Verdict::Red { .. } | Verdict::Broken { .. } | Verdict::Tampered { .. }) => other,
    }
}

/// Exit code and report must agree. `believe_unreadable` lets exit 0 stand alone.
fn judge_readable(exit: Exit, report: &TestReport, believe_unreadable: bool) -> Verdict {
    let failing = report.failing().next().is_some() || report.failed.unwrap_or(0) > 0 || report.errors.unwrap_or(0) > 0;
    let broken_code = matches!(
        report.kind,
        RunKind::CompileError
            | RunKind::CollectionError
            | RunKind::ImportError
            | RunKind::Crash
            | RunKind::Timeout
            | RunKind::OutOfMemory
    );
    let ran =
        report.passed_of_total().unwrap_or(0) > 0 || report.tests.iter().any(|test| test.status == TestStatus::Passed);
    match (exit.is_success(), report.kind) {
        // Silence is told apart from words that nobody can read: the former points at the command, the latter at the
        // reader.
        (false, RunKind::Unreadable) if report.problems.is_empty() => {
            broken(&format!("the command failed ({exit}) without any output"))
        }
        (true, RunKind::Unreadable) if believe_unreadable => Verdict::Green,
        (false, RunKind::Unreadable) if believe_unreadable => Verdict::Red { reason: Some(format!("{exit}")) },
        (true, RunKind::Unreadable) => broken(&format!("the command exited with 0, but {UNREAD}")),
        (false, RunKind::Unreadable) => broken(&format!("the command failed ({exit}), but {UNREAD}")),
        // The failures outweigh the exit code: a script that goes on after its tests ends with 0.
        (true, _) if failing || broken_code => red("the command exited with 0 although tests failed"),
        // A filter that matches nothing passes with many runners.
        (true, _) if !ran => broken("the command exited with 0, but no test ran"),
        (true, _) if report.status == RunStatus::Passed => Verdict::Green,
        (true, _) => broken("the command exited with 0, but its output does not say that the tests passed"),
        (false, _) if failing || broken_code => Verdict::Red { reason: None },
        (false, _) if !ran => broken(&format!("no test ran ({exit}): {}", first_problem(report))),
        // Something else than a test failed (a threshold of coverage, a step behind the tests), so no test can show a
        // fix.
        (false, _) => broken(&format!("every test passed, yet the command failed ({exit})")),
    }
}

fn broken_command(exit: Exit, report: &TestReport) -> Option<Verdict> {
    if let Exit::Code { code: EXIT_NOT_EXECUTABLE | EXIT_NOT_FOUND } = exit {
        let code = exit;
        return Some(broken(&format!("the command cannot be executed ({code}): {}", first_problem(report))));
    }
    matches!(report.kind, RunKind::MissingTool | RunKind::BadCommand)
        .then(|| broken(&format!("the command does not work: {}", first_problem(report))))
}

/// The last hurdle: all that failed was seen passing, and nothing that passed is gone or newly skipped.
fn proven_green(baseline: &Baseline, report: &TestReport, seen: &Seen<'_>, fixed: &BTreeSet<String>) -> Verdict {
    if report.kind == RunKind::Unreadable {
        // Reached only by a command that a person named and that was unreadable from the start: there is nothing to
        // compare.
        return Verdict::Green;
    }
    // Before the tests that are gone: a skipped one is told as such.
    let skipped: Vec<&str> = seen
        .skipped
        .iter()
        .copied()
        .filter(|name| !baseline.skipped.contains(*name) && (baseline.was_passing(name) || baseline.fails(name)))
        .collect();
    if !skipped.is_empty() {
        return tampered(&format!("newly skipped: {}", some_names(&skipped)));
    }
    let gone: Vec<&str> = seen.gone(baseline).collect();
    if !gone.is_empty() {
        return tampered(&format!("no longer run although they passed before: {}", some_names(&gone)));
    }
    // The names may all be there while tests without a name are fewer.
    if let (Some(before), Some(now)) = (baseline.total, report.total)
        && now < before
    {
        return tampered(&format!("{now} tests were run, {before} before the change"));
    }
    let unproven: Vec<&str> =
        baseline.failing.iter().filter(|name| !fixed.contains(*name)).map(String::as_str).collect();
    if unproven.is_empty() {
        return Verdict::Green;
    }
    let failed = baseline.failing.len() + baseline.flaky.len();
    let skipped = match more_skipped((baseline.total, baseline.passed, failed), report) {
        0 => String::new(),
        more => format!("; by the counts, {more} more skipped than at the start"),
    };
    red(&format!("not seen passing: {}{skipped}", some_names(&unproven)))
}

impl Baseline {
    /// Whether the runner said nothing of any test, not even how many there are.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.passing.is_empty() && self.failing.is_empty() && self.passed.is_none() && self.total.is_none()
    }

    /// Takes the measure from the baseline's report. The `flaky` tests are set aside.
    #[must_use]
    pub fn from_report(report: &TestReport, flaky: Vec<String>, explicit_command: bool) -> Self {
        let mut passing = BTreeMap::new();
        for name in report.passing_names().filter(|name| !stands_for_a_file(name)) {
            *passing.entry(stable_name(name)).or_insert(0) += 1;
        }
        // A flaky failure is no work: a change could not be seen to mend it.
        let failing: Vec<_> = report.failing().filter(|test| !flaky.contains(&test.name)).collect();
        let errored = failing.iter().filter(|test| test.status == TestStatus::Error);
        Self {
            failing: unique(failing.iter().map(|test| test.name.clone())),
            errored: unique(errored.map(|test| test.name.clone())),
            absent: BTreeSet::new(),
            failed_at: failing.iter().filter_map(|test| place_of(test)).collect(),
            said: failing.iter().take(MOST_SAID).map(|test| words_of(test)).collect(),
            passing,
            skipped: names_with(report, TestStatus::Skipped).map(str::to_owned).collect(),
            skipped_parts: parts_of_failing(report),
            passed: passed_without_failed_parts(report),
            total: report.total,
            unreadable: report.kind == RunKind::Unreadable || says_what_fails_alone(report),
            flaky,
            explicit_command,
            filed: None,
        }
    }

    /// The same measure over files that others changed meanwhile: what passes there must pass, too.
    #[must_use]
    pub fn and_now(mut self, now: &Self) -> Self {
        // Tests of F0 stay out: files of others that mend one do not make it a test that must not be lost.
        for (name, &times) in now.passing.iter().filter(|(name, _)| !self.failing.contains(name)) {
            let known = self.passing.entry(name.clone()).or_insert(0);
            *known = (*known).max(times);
        }
        // What had been set aside and passes now is no longer excused.
        self.flaky.retain(|name| !now.passing.contains_key(&stable_name(name)));
        self.passed = self.passed.max(now.passed);
        self.total = self.total.max(now.total);
        self
    }

    fn was_passing(&self, name: &str) -> bool {
        self.passing.contains_key(&stable_name(name))
    }

    fn fails(&self, name: &str) -> bool {
        self.failing.iter().any(|failing| failing == name)
    }
}

/// Whether a report in nobody's format names failures and nothing else (`FAIL: total is 3`): without a failure there is nothing to be read.
fn says_what_fails_alone(report: &TestReport) -> bool {
    let counts = report.passed.or(report.total).is_some();
    report.framework == "generic" && !counts && report.passing_names().next().is_none()
}

/// Of how many tests the words are kept, and how much of each.
const MOST_SAID: usize = 200;
const SAID_CHARS: usize = 2_000;

fn words_of(test: &TestCase) -> (String, String) {
    (test.name.clone(), test.message.chars().take(SAID_CHARS).collect())
}

fn place_of(test: &TestCase) -> Option<(String, (String, u32))> {
    Some((test.name.clone(), (test.file.clone()?, test.line?)))
}

/// The results of a run, prepared for comparison.
struct Seen<'a> {
    report: &'a TestReport,
    passing: BTreeMap<String, u32>,
    failing: BTreeSet<&'a str>,
    skipped: BTreeSet<&'a str>,
    /// Whether every passing test is named, so that a missing name means a missing test.
    named: bool,
    /// Whether the run got as far as running tests to its end.
    complete: bool,
}

impl<'a> Seen<'a> {
    fn new(report: &'a TestReport) -> Self {
        let mut passing = BTreeMap::new();
        for name in report.passing_names() {
            *passing.entry(stable_name(name)).or_insert(0) += 1;
        }
        let listed = passing.values().copied().map(u64::from).sum::<u64>();
        Self {
            report,
            // A runner that prints fewer names than it counts leaves passing tests out, so a name that is missing
            // proves nothing.
            named: listed > 0 && report.passed.is_none_or(|passed| passed <= listed),
            passing,
            failing: report.failing().map(|test| test.name.as_str()).collect(),
            skipped: names_with(report, TestStatus::Skipped).collect(),
            complete: matches!(report.kind, RunKind::Tests),
        }
    }

    /// Whether a test of F0 was seen passing.
    fn passes(&self, baseline: &Baseline, name: &str) -> bool {
        // A name may both pass and fail in one run (parameters, two packages): a failure counts.
        if self.failing.contains(name) {
            return false;
        }
        if self.passing.contains_key(&stable_name(name)) {
            return true;
        }
        // A test passes only with all of its parts, and runners do not name the parts that pass.
        if whole_of_part(name).is_some_and(|whole| self.passing.contains_key(whole) && !self.failing.contains(whole)) {
            return true;
        }
        // A suite beside the tests names what fails in it, and passes under its own name alone where its runner names nothing.
        let is_new = |whole: &str| !baseline.was_passing(whole) && !baseline.fails(whole);
        if name.split_once(": ").is_some_and(|(whole, _)| self.passing.contains_key(whole) && is_new(whole)) {
            return true;
        }
        if clockless(name).is_some_and(|form| self.passes_by_form(baseline, &form)) {
            return true;
        }
        let counts_prove = self.complete && self.more_pass_than(baseline);
        if baseline.errored.iter().any(|errored| errored == name) {
            // A file or module that could not be loaded has no name of its own once its tests run.
            return self.passing.keys().any(|passing| passing.starts_with(name)) || counts_prove;
        }
        // Where every passing test is named, this one would be among them. Counts may speak only where names cannot.
        !self.named && counts_prove
    }

    /// By the framework's counts: all of the baseline's passing tests and something more passed, none is missing.
    fn more_pass_than(&self, baseline: &Baseline) -> bool {
        let Some(passed) = self.report.passed_of_total() else { return false };
        // A flaky failure is none of F0 that fails still, so it is taken off the count.
        let flaky = self.failing.iter().filter(|name| baseline.flaky.iter().any(|flaky| flaky == *name)).count();
        let failed = self.report.failed.unwrap_or(0) + self.report.errors.unwrap_or(0);
        let failed = failed.saturating_sub(u64::try_from(flaky).unwrap_or(u64::MAX));
        let whole = |total: u64| self.report.total.is_none_or(|now| now >= total);
        let missing = u64::try_from(baseline.failing.len()).unwrap_or(u64::MAX).saturating_sub(failed);
        // Parts that failed are named beside their tests: no more tests can be missing than did not pass.
        let not_passed = baseline.total.map_or(u64::MAX, |total| total.saturating_sub(baseline.passed.unwrap_or(0)));
        let missing = missing.min(not_passed);
        // A file that could not be loaded is one failure for any number of tests, so one more that passes is all that
        // can be asked.
        let needed = if baseline.errored.is_empty() { missing } else { missing.min(1) };
        passed >= baseline.passed.unwrap_or(0) + needed && baseline.total.is_none_or(whole)
    }

    /// Tests that pass under names that were not there before and hold a time, by the form of their names: how many of each.
    fn renamed_by_the_clock(&self, baseline: &Baseline) -> BTreeMap<String, usize> {
        forms(self.passing.keys().filter(|name| !baseline.passing.contains_key(*name)))
    }

    /// Whether all tests of a form that failed, or are gone under their old names, pass under new ones, and none fails.
    fn passes_by_form(&self, baseline: &Baseline, form: &str) -> bool {
        let is_of_form = |name: &str| clockless(name).as_deref() == Some(form);
        let failed = baseline.failing.iter().filter(|name| is_of_form(name)).count();
        let gone = baseline.passing.keys().filter(|name| !self.passing.contains_key(*name) && is_of_form(name)).count();
        let passing = self.renamed_by_the_clock(baseline).get(form).copied().unwrap_or(0);
        !self.failing.iter().any(|name| is_of_form(name)) && passing >= failed + gone
    }

    /// Tests that passed at the baseline and are neither passing, failing nor skipped now.
    fn gone<'b>(&'b self, baseline: &'b Baseline) -> impl Iterator<Item = &'b str> {
        let judged = self.named && self.complete;
        let mut renamed = if judged { self.renamed_by_the_clock(baseline) } else { BTreeMap::new() };
        baseline.passing.iter().filter_map(move |(name, &times)| {
            let elsewhere = self.failing.iter().chain(&self.skipped).any(|other| stable_name(other) == *name);
            let now = self.passing.get(name).copied().unwrap_or(0);
            // A run that broke off, or that does not name all, loses names without a test being gone.
            let is_gone = judged && now < times && !elsewhere;
            let mut is_renamed = || {
                let left = clockless(name).and_then(|form| renamed.get_mut(&form)).filter(|left| **left > 0);
                left.map(|left| *left -= 1).is_some()
            };
            (is_gone && !is_renamed()).then_some(name.as_str())
        })
    }
}

fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

fn first_problem(report: &TestReport) -> String {
    let text = report.problems.first().map(|problem| problem.message.as_str());
    let line = text.and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
    line.unwrap_or("the output names no reason").trim().to_owned()
}

fn some_names(names: &[&str]) -> String {
    let shown = names.iter().take(NAMES_IN_REASON).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_IN_REASON) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn broken(reason: &str) -> Verdict {
    Verdict::Broken { reason: reason.to_owned() }
}

fn red(reason: &str) -> Verdict {
    Verdict::Red { reason: Some(reason.to_owned()) }
}

fn tampered(reason: &str) -> Verdict {
    Verdict::Tampered { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;
