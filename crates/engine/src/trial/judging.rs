//! The judging run: the original tests over the model's change.

use std::collections::BTreeSet;
use std::path::Path;

use super::bench::{Bench, TrialError};
use super::first_look::{self, Look};
use super::fresh::{self, Fresh};
use super::set_aside::Added;
use super::settle;
use crate::domain::foreign::Foreign;
use crate::domain::remark::Remark;
use crate::domain::stop::{StopCause, signal_name};
use crate::domain::test_report::{Problem, RunKind, TestCase, TestReport, TestStatus};
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::policy::candidate::Candidate;
use crate::policy::guard::Guard;
use crate::policy::verdict::{self, Baseline, Judgement};
use crate::test_run::{self, Filed, TestRun};

/// The most characters of a red run that a model is shown.
const FAILURES_CHARS: usize = 4_000;
/// How many places the failures may name.
const MAX_NAMED: usize = 12;

/// A judged run.
#[derive(Debug)]
pub struct Judged {
    /// The run.
    pub run: TestRun,
    /// The judgement.
    pub judgement: Judgement,
    /// The tree it is about.
    pub candidate: Candidate,
    /// Files and regions that were put back before the run, in words for the model and for reviewers.
    pub put_back: Vec<String>,
    /// Places in the change that could deceive a runner, and may be honest: experiments decide, or a reviewer.
    pub remarks: Vec<Remark>,
    /// Files that judge and that code under test had rewritten, put back.
    pub rewritten: Vec<String>,
    /// Files that judge and that changed in the run, also where their text is the same again. `None` where that is not known.
    pub stirred: Option<Vec<String>>,
    /// Tests that the change adds, set aside while it was judged.
    pub added: Added,
}

/// Puts test files, test configuration and test regions back to the start, runs the tests and judges them.
///
/// The tests that failed at the start may go first ([`first_look`]). The whole suite runs before any green. Failures of tests that did not
/// fail at the start are looked at once more before they count.
pub(super) async fn run(bench: &Bench<'_>, tree: TreeId) -> Result<Judged, TrialError> {
    let settled = settle::settle(bench, tree).await?;
    let mut fresh = fresh::freshen(bench, &settled.tree).await?;
    let baseline = measure(bench);
    let (Watched { mut run, stirred }, mut judgement) = match first_look::still_red(bench, &baseline).await? {
        Look::Red(red) => (Watched { run: red.0, stirred: None }, red.1),
        Look::NotTaken => whole_suite(bench, &baseline, &settled.tree, &mut fresh).await?,
        Look::Undecided => {
            // The look has run code of the change: its traces must not meet the suite.
            fresh.add(fresh::freshen(bench, &settled.tree).await?);
            whole_suite(bench, &baseline, &settled.tree, &mut fresh).await?
        }
    };
    // All was in order before the run, so whatever differs now was rewritten by the code under test.
    let watches = bench.guards.has(Guard::Rewriting);
    let forged = if watches { fresh::restore_tests(bench, &settled.tree).await? } else { Vec::new() };
    let forged = (!forged.is_empty())
        .then(|| format!("the code rewrote test files while they ran (put back): {}", forged.join(", ")));
    if let (Verdict::Green, Some(reason)) = (&judgement.verdict, forged.or(fresh.objection).or(settled.objection)) {
        judgement.verdict = Verdict::Tampered { reason };
    }
    leave_out(&mut run.report, &baseline.flaky);
    // Where no test ran at the start, a failing one is no loss.
    let measured = bench.baseline.is_none_or(|start| !(start.failing.is_empty() && start.passing.is_empty()));
    let mut judged = Judged {
        candidate: candidate(settled.tree, &run, ""),
        run,
        judgement,
        put_back: settled.put_back,
        remarks: settled.remarks,
        rewritten: fresh.rewritten,
        stirred,
        added: settled.added,
    };
    judged.candidate.fixed.clone_from(&judged.judgement.fixed);
    judged.candidate.lost = is_unsound(&judged.judgement.verdict) || (judged.judgement.lost && measured);
    judged.candidate.breaks = judged.breaks().map(|breaks| breaks && measured);
    judged.describe(bench.workspace.root());
    Ok(judged)
}

/// Whether nothing can be built on a tree with this verdict.
fn is_unsound(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Tampered { .. } | Verdict::Broken { .. })
}

impl Judged {
    /// Whether tests that passed at the start were seen failing or gone. `None` where not all of them had their turn.
    fn breaks(&self) -> Option<bool> {
        let had_their_turn = self.judgement.whole && self.run.stopped.is_none() && self.candidate.ran;
        if self.judgement.new_failures.is_empty() { had_their_turn.then_some(self.judgement.lost) } else { Some(true) }
    }

    /// Refuses a green in which something could deceive a runner, where no experiment has shown that nothing does.
    pub fn refuse_remarked(&mut self, root: &Path) {
        let green = self.judgement.verdict == Verdict::Green;
        if let Some(remark) = self.remarks.iter().find(|remark| green && remark.kind.is_about_the_runner()) {
            let reason =
                remark.said.clone().unwrap_or_else(|| format!("{}, in {}", remark.kind.sentence(), remark.file));
            self.refuse(Verdict::Tampered { reason }, root);
        }
    }

    /// Ends a judgement that a signal cut short while its proof was gathered: what was not tried could have refused it.
    pub fn cut_short(&mut self, signal: i32, root: &Path) {
        self.run.stopped = Some(StopCause::Signal(signal));
        let reason = format!("the tests pass, but {} came before it was proven", signal_name(signal));
        self.refuse(Verdict::Red { reason: Some(reason) }, root);
    }

    /// Says of tests that we ended before their time that it was us, not the code.
    pub fn cut_off(&mut self, root: &Path) {
        let Some(cause) = self.run.stopped.filter(|_| self.judgement.verdict != Verdict::Green) else { return };
        let reason = match cause {
            StopCause::Signal(signal) => format!("{} came while they ran", signal_name(signal)),
            StopCause::Asked => "somebody stopped the run while they ran".to_owned(),
            StopCause::TimeUp => "the run's time was up while they ran".to_owned(),
            StopCause::OwnTime(seconds) => format!("their {seconds} s were over"),
        };
        // A compiler that was killed would be told as the code's fault otherwise.
        self.run.report.kind = RunKind::Tests;
        self.refuse(Verdict::Red { reason: Some(reason) }, root);
    }

    /// Refuses a green.
    pub(super) fn refuse(&mut self, verdict: Verdict, root: &Path) {
        self.candidate.lost |= is_unsound(&verdict);
        self.judgement.verdict = verdict;
        self.describe(root);
    }

    /// Writes down what a model is told of the run.
    fn describe(&mut self, root: &Path) {
        let described = with_reason(&self.judgement.verdict, describe(&self.run, root));
        let described = self.put_back.iter().rev().fold(described, |text, note| format!("{note}\n{text}"));
        self.candidate.failures = Foreign::new(&described);
    }
}

/// A run of the tests, and the files that judge and changed meanwhile.
#[derive(Debug)]
pub(super) struct Watched {
    /// The run.
    pub(super) run: TestRun,
    /// The files. `None` where nobody knows which of them the tests change by themselves.
    pub(super) stirred: Option<Vec<String>>,
}

/// Runs the whole suite on the tree as it is.
pub(super) async fn watched(bench: &Bench<'_>) -> Result<Watched, TrialError> {
    let start = bench.start.filter(|_| bench.guards.has(Guard::Untouched));
    let times = start.map(|start| bench.workspace.times_of_judges(start)).transpose()?;
    let run = test_run::run(bench.tests, None, bench.stop).await?;
    let stirred = times.and_then(|times| bench.workspace.stirred_since(&times));
    Ok(Watched { run, stirred })
}

/// Runs the whole suite, once more when only tests fail that did not fail at the start.
async fn whole_suite(
    bench: &Bench<'_>,
    baseline: &Baseline,
    tree: &TreeId,
    fresh: &mut Fresh,
) -> Result<(Watched, Judgement), TrialError> {
    let first = watched(bench).await?;
    let judgement = judged(baseline, &first.run);
    if only_new_failures(&judgement, &baseline.failing, &first.run) {
        fresh.add(fresh::freshen(bench, tree).await?);
        let again = watched(bench).await?;
        // A second run that is cut short acquits nobody.
        if again.run.stopped.is_none() {
            let judgement = judged(baseline, &again.run);
            return Ok((again, judgement));
        }
    }
    Ok((first, judgement))
}

/// Why a green has no second witness.
const NO_ROOM: &str = "the disk of the temporary folder (TMPDIR) is full: the runner could not write its result file";

/// By what was printed, and by the runner's result file where the start had one.
fn judged(baseline: &Baseline, run: &TestRun) -> Judgement {
    let mut judgement = verdict::judge(baseline, run.exit, &run.report);
    if judgement.verdict == Verdict::Green && run.filed == Filed::NoRoom {
        // No fault of the code's: the second witness could not write.
        judgement.verdict = Verdict::Broken { reason: NO_ROOM.to_owned() };
        return judgement;
    }
    verdict::confirm(judgement, baseline, run.exit, run.filed.report())
}

/// By the start's measure.
pub(super) fn judged_by(bench: &Bench<'_>, run: &TestRun) -> Judgement {
    judged(&measure(bench), run)
}

/// A red verdict without a failing test says what was wrong instead: the first error of the compiler, say.
#[must_use]
pub fn explained(verdict: &Verdict, report: &TestReport) -> Verdict {
    let unexplained = *verdict == Verdict::Red { reason: None } && report.failing().next().is_none();
    let problem = report.problems.first().filter(|_| unexplained);
    problem.and_then(headline).map_or_else(|| verdict.clone(), |line| Verdict::Red { reason: Some(line) })
}

/// The line of a problem that says most. Of output that nobody understood that is its last one, whatever stood before.
fn headline(problem: &Problem) -> Option<String> {
    let mut lines = problem.message.lines().map(str::trim).filter(|line| !line.is_empty());
    if problem.kind == RunKind::Unreadable {
        return lines.next_back().map(|line| format!("the run ended without a result; its last line: {line}"));
    }
    lines.next().map(str::to_owned)
}

/// The start's measure. It holds nothing to compare with when that guard is off.
fn measure(bench: &Bench<'_>) -> Baseline {
    let baseline = bench.baseline.cloned().unwrap_or_default();
    if bench.guards.has(Guard::Baseline) {
        return baseline;
    }
    Baseline { unreadable: baseline.unreadable, explicit_command: baseline.explicit_command, ..Baseline::default() }
}

/// All of F0 passes and only other tests fail: flaky, perhaps.
fn only_new_failures(judgement: &Judgement, failing: &[String], run: &TestRun) -> bool {
    let red = matches!(judgement.verdict, Verdict::Red { .. });
    red && run.stopped.is_none() && judgement.fixed.len() == failing.len() && !judgement.new_failures.is_empty()
}

/// The failures of a run as a model is shown them.
#[must_use]
pub fn describe(run: &TestRun, root: &Path) -> String {
    test_run::describe(run, root, FAILURES_CHARS)
}

fn with_reason(verdict: &Verdict, described: String) -> String {
    match verdict {
        Verdict::Tampered { reason } => format!("REFUSED, the judging tests were tampered with: {reason}\n{described}"),
        Verdict::Broken { reason } => format!("The tests could not be judged: {reason}\n{described}"),
        Verdict::Red { reason: Some(reason) } => format!("{reason}\n{described}"),
        Verdict::Red { reason: None } | Verdict::Green => described,
    }
}

/// A tree with the results of its run. Nothing of F0 is counted as fixed yet.
#[must_use]
pub fn candidate(tree: TreeId, run: &TestRun, failures: &str) -> Candidate {
    Candidate {
        tree,
        fixed: BTreeSet::new(),
        lost: false,
        breaks: None,
        ran: run.report.kind == RunKind::Tests,
        green: false,
        failing: run.report.failing().map(|test| test.name.clone()).collect(),
        failures: Foreign::new(failures),
        named: named_places(&run.report),
    }
}

fn named_places(report: &TestReport) -> Vec<(String, Option<u32>)> {
    let problems = report.problems.iter().filter_map(|problem| Some((problem.file.clone()?, problem.line)));
    let tests = report.failing().filter_map(|test| Some((test.file.clone()?, test.line)));
    let mut places: Vec<(String, Option<u32>)> = Vec::new();
    for place in problems.chain(tests) {
        if !places.contains(&place) && places.len() < MAX_NAMED {
            places.push(place);
        }
    }
    places
}

/// Takes failing tests out of a report that no change answers for: they are neither shown nor counted.
pub fn leave_out(report: &mut TestReport, aside: &[String]) {
    let is_aside =
        |test: &TestCase| matches!(test.status, TestStatus::Failed | TestStatus::Error) && aside.contains(&test.name);
    let gone = u64::try_from(report.tests.iter().filter(|test| is_aside(test)).count()).unwrap_or(u64::MAX);
    if gone == 0 {
        return;
    }
    report.tests.retain(|test| !is_aside(test));
    // Before the failures are fewer: what is set aside did not pass for that.
    report.passed = report.passed.or_else(|| report.passed_of_total());
    // Runners count failures and errors apart: what the one count does not hold is taken from the other.
    let from_failed = gone.min(report.failed.unwrap_or(0));
    report.failed = report.failed.map(|failed| failed - from_failed);
    report.errors = report.errors.map(|errors| errors.saturating_sub(gone - from_failed));
    if report.kind == RunKind::Infrastructure {
        report.kind = RunKind::Tests;
        report.problems.retain(|problem| problem.kind != RunKind::Infrastructure);
    }
}

/// Tests that passed: by the framework's counts, else by name.
#[must_use]
pub fn passed(report: &TestReport) -> u64 {
    let named = report.tests.iter().filter(|test| test.status == TestStatus::Passed).count();
    report.passed_of_total().unwrap_or_else(|| u64::try_from(named).unwrap_or(u64::MAX))
}

/// Tests that failed: by name or by the framework's counts, whichever are more.
#[must_use]
pub fn failed(report: &TestReport) -> u64 {
    let named = u64::try_from(report.failing().count()).unwrap_or(u64::MAX);
    let counted = report.failed.unwrap_or(0) + report.errors.unwrap_or(0);
    named.max(counted)
}

/// The failures' names and messages, to be compared with the iteration before.
#[must_use]
pub fn signature(report: &TestReport, verdict: &Verdict) -> String {
    let mut parts: Vec<String> = report.failing().map(|test| format!("{} {}", test.name, test.message)).collect();
    // Runners that work in parallel report the same failures in another order each time.
    parts.sort();
    parts.extend(report.problems.iter().map(|problem| problem.message.clone()));
    if parts.is_empty() || report.kind != RunKind::Tests {
        parts.extend(verdict.reason().map(str::to_owned));
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Verdict, explained};

    #[test]
    fn a_passing_test_is_never_the_reason() {
        let exit = Some(testlog::Exit::Code { code: 101 });
        let said = |log: &str| {
            let report = testlog::read(log.as_bytes(), exit).expect("read");
            let Verdict::Red { reason } = explained(&Verdict::Red { reason: None }, &report) else {
                return String::new();
            };
            reason.unwrap_or_default()
        };
        let cut = "running 3 tests\ntest a::first ... ok\ntest a::second ... ok\n";
        assert_eq!(said(cut), "the run ended without a result; its last line: test a::second ... ok");
        let why = "error[E0425]: cannot find value `x` in this scope\n --> src/lib.rs:1:1\n";
        assert_eq!(said(why), "error[E0425]: cannot find value `x` in this scope");
    }
}
