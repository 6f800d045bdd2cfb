//! The first look at a change: the tests that failed at the start, run before all others, where the suite is slow and its
//! framework can select tests.
//!
//! Invariant: a first look only ever says red. Green, progress and harm are judged by the whole suite, so a look that shows
//! more than the best tree has is not believed either: the suite runs then.

use std::collections::BTreeSet;

use super::bench::{Bench, TrialError};
use crate::domain::test_report::TestStatus;
use crate::domain::verdict::Verdict;
use crate::policy::verdict::{Baseline, Judgement};
use crate::test_run::{self, TestRun};

/// Below this a runner's start costs about as much as its tests: looking first would not pay.
const SLOW_MS: u64 = 2_000;

/// The result of a first look.
#[derive(Debug)]
pub(super) enum Look {
    /// None was taken.
    NotTaken,
    /// Nothing to be believed: the whole suite decides.
    Undecided,
    /// They are red, and no further than the best tree.
    Red(Box<(TestRun, Judgement)>),
}

/// Runs the formerly failing tests alone, where that pays.
pub(super) async fn still_red(bench: &Bench<'_>, baseline: &Baseline) -> Result<Look, TrialError> {
    if bench.baseline_ms < SLOW_MS {
        return Ok(Look::NotTaken);
    }
    let tests = bench.selectable();
    let wanted = baseline.failing.join("\n");
    if !test_run::can_select(&tests, &wanted) {
        return Ok(Look::NotTaken);
    }
    let run = test_run::run(&tests, Some(&wanted), bench.stop).await?;
    let best = bench.best_fixed;
    Ok(judge(baseline, best, &run).map_or(Look::Undecided, |judgement| Look::Red(Box::new((run, judgement)))))
}

/// Red, if the run shows it. `best` is how many of the failing tests the best tree has seen passing.
fn judge(baseline: &Baseline, best: usize, run: &TestRun) -> Option<Judgement> {
    // Green is for the whole suite to say.
    if run.stopped.is_some() || run.exit.is_success() {
        return None;
    }
    let failing: BTreeSet<&str> = run.report.failing().map(|test| test.name.as_str()).collect();
    let still = baseline.failing.iter().filter(|name| failing.contains(name.as_str())).count();
    let others = baseline.failing.len() - still;
    // More than the best tree has would be progress, which only the whole suite grants.
    if still == 0 || others > best {
        return None;
    }
    let passes = |name: &&String| {
        run.report.tests.iter().any(|test| test.name == **name && test.status == TestStatus::Passed)
            && !failing.contains(name.as_str())
    };
    let reason = format!(
        "{still} of the {} tests that failed at the start still fail (the others were not run again)",
        baseline.failing.len()
    );
    Some(Judgement {
        verdict: Verdict::Red { reason: Some(reason) },
        fixed: baseline.failing.iter().filter(passes).cloned().collect(),
        new_failures: Vec::new(),
        // What the rest of the suite says is not known, so this tree cannot become the best.
        lost: true,
        whole: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_report::{RunKind, RunStatus, TestCase, TestReport};
    use crate::domain::verdict::Exit;

    fn run(code: i32, tests: &[(&str, TestStatus)]) -> TestRun {
        let case = |(name, status): &(&str, TestStatus)| TestCase {
            name: (*name).to_owned(),
            status: *status,
            message: String::new(),
            file: None,
            line: None,
        };
        let report = TestReport {
            status: RunStatus::Failed,
            kind: RunKind::Tests,
            tests: tests.iter().map(case).collect(),
            ..TestReport::unreadable("pytest")
        };
        TestRun {
            exit: Exit::Code { code },
            report,
            filed: crate::test_run::Filed::NotAsked,
            output: String::new(),
            duration_ms: 5,
            stopped: None,
        }
    }

    fn baseline() -> Baseline {
        Baseline { failing: vec!["a".to_owned(), "b".to_owned()], ..Baseline::default() }
    }

    #[test]
    fn a_look_without_progress_is_red_and_can_never_be_the_best_tree() {
        let judged = judge(&baseline(), 1, &run(1, &[("a", TestStatus::Failed), ("b", TestStatus::Passed)])).unwrap();
        assert!(matches!(judged.verdict, Verdict::Red { .. }));
        assert!(judged.lost);
        assert_eq!(judged.fixed.into_iter().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn green_progress_and_what_cannot_be_read_are_left_to_the_whole_suite() {
        let looks = [
            run(0, &[("a", TestStatus::Passed), ("b", TestStatus::Passed)]),
            run(1, &[("a", TestStatus::Failed), ("b", TestStatus::Passed)]),
            run(1, &[]),
            run(1, &[("c", TestStatus::Failed)]),
            run(0, &[("a", TestStatus::Failed), ("b", TestStatus::Failed)]),
        ];
        for look in &looks {
            assert_eq!(judge(&baseline(), 0, look), None);
        }
    }
}
