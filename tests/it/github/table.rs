//! The decision table of `checks::decide`: facts in, state out.

use upshift::domain::units::CommitSha;
use upshift::github::checks::{APPEAR_MS, CiState, ItemKind, Question, SETTLE_MS, decide};
use upshift::github::{CheckRun, CiFacts, CommitStatus, Conclusion, Progress, StatusState, WorkflowRun};

const LATE: u64 = APPEAR_MS;

fn check(id: u64, name: &str, run: u64, conclusion: Option<Conclusion>) -> CheckRun {
    CheckRun {
        id,
        name: name.to_owned(),
        app: "github-actions".to_owned(),
        progress: if conclusion.is_some() { Progress::Completed } else { Progress::Running },
        conclusion,
        details_url: format!("https://github.com/o/r/actions/runs/{run}/job/{id}"),
        started_at: format!("2026-03-01T12:00:{:02}Z", id % 60),
        annotations: 0,
        title: String::new(),
    }
}

fn run(id: u64, workflow: u64, conclusion: Option<Conclusion>) -> WorkflowRun {
    WorkflowRun {
        id,
        workflow_id: workflow,
        name: format!("workflow {workflow}"),
        path: format!(".github/workflows/w{workflow}.yml"),
        event: "pull_request".to_owned(),
        progress: if conclusion.is_some() { Progress::Completed } else { Progress::Running },
        conclusion,
        head_sha: CommitSha("1".repeat(40)),
        run_attempt: 1,
        created_at: format!("2026-03-01T12:00:{:02}Z", id % 60),
        html_url: format!("https://github.com/o/r/actions/runs/{id}"),
    }
}

fn status(context: &str, state: StatusState) -> CommitStatus {
    CommitStatus { context: context.to_owned(), state, description: String::new(), target_url: String::new() }
}

fn ask(since_push_ms: u64) -> Question<'static> {
    Question { own_run: Some(99), own_workflows: &[], required: &[], since_push_ms }
}

fn state(checks: Vec<CheckRun>, statuses: Vec<CommitStatus>, runs: Vec<WorkflowRun>) -> CiState {
    decide(&CiFacts { checks, statuses, runs }, &ask(LATE))
}

fn names(state: &CiState) -> (&'static str, Vec<String>) {
    let of = |items: &[upshift::github::checks::Item]| items.iter().map(|item| item.name.clone()).collect();
    match state {
        CiState::NotYet => ("not yet", Vec::new()),
        CiState::NeverAppeared => ("never", Vec::new()),
        CiState::Green { .. } => ("green", Vec::new()),
        CiState::Red { failing } => ("red", of(failing)),
        CiState::Pending { unfinished, .. } => ("pending", of(unfinished)),
        CiState::ActionRequired { runs, .. } => ("approval", of(runs)),
        CiState::WaitingForEnvironment { runs, .. } => ("environment", of(runs)),
        CiState::AllSkipped { skipped } => ("skipped", of(skipped)),
        CiState::Cancelled { cancelled } => ("cancelled", of(cancelled)),
        CiState::RequiredMissing { names } => ("missing", names.clone()),
    }
}

const OK: Option<Conclusion> = Some(Conclusion::Success);
const BAD: Option<Conclusion> = Some(Conclusion::Failure);

#[test]
fn nothing_is_not_yet_and_later_never() {
    let none = CiFacts::default();
    assert_eq!(decide(&none, &ask(APPEAR_MS - 1)), CiState::NotYet);
    assert_eq!(decide(&none, &ask(APPEAR_MS)), CiState::NeverAppeared);
}

#[test]
fn every_end_of_a_check_has_its_meaning() {
    for (conclusion, expected) in [
        (Conclusion::Success, "green"),
        (Conclusion::Neutral, "skipped"),
        (Conclusion::Skipped, "skipped"),
        (Conclusion::Failure, "red"),
        (Conclusion::TimedOut, "red"),
        (Conclusion::StartupFailure, "red"),
        (Conclusion::Unknown, "red"),
        (Conclusion::Cancelled, "cancelled"),
        (Conclusion::Stale, "cancelled"),
        (Conclusion::ActionRequired, "approval"),
    ] {
        let found = state(vec![check(1, "test", 10, Some(conclusion))], vec![], vec![run(10, 1, Some(conclusion))]);
        assert_eq!(names(&found).0, expected, "{conclusion:?}: {found:?}");
        let alone = state(vec![], vec![], vec![run(10, 1, Some(conclusion))]);
        assert_eq!(names(&alone).0, expected, "a run without jobs, {conclusion:?}: {alone:?}");
    }
}

#[test]
fn every_stage_of_a_check_has_its_meaning() {
    for (progress, expected) in [
        (Progress::Queued, "pending"),
        (Progress::Running, "pending"),
        (Progress::Waiting, "environment"),
        (Progress::ActionRequired, "approval"),
    ] {
        let found = state(vec![CheckRun { progress, ..check(1, "deploy", 10, None) }], vec![], vec![]);
        assert_eq!(names(&found), (expected, vec!["deploy".to_owned()]), "{progress:?}");
    }
}

#[test]
fn every_word_of_a_status_has_its_meaning() {
    for (word, expected) in [
        (StatusState::Success, "green"),
        (StatusState::Warning, "green"),
        (StatusState::Pending, "pending"),
        (StatusState::Failure, "red"),
        (StatusState::Error, "red"),
    ] {
        assert_eq!(names(&state(vec![], vec![status("ci/external", word)], vec![])).0, expected, "{word:?}");
    }
}

#[test]
fn red_waits_for_what_still_runs_and_says_what_failed_already() {
    let found = state(vec![check(1, "test", 10, BAD), check(2, "lint", 10, None)], vec![], vec![run(10, 1, None)]);
    let CiState::Pending { unfinished, failing } = &found else { panic!("{found:?}") };
    assert_eq!((unfinished.len(), failing.len()), (1, 1));
    assert!(is_moving(&found));
}

#[test]
fn green_jobs_of_a_run_that_is_not_over_are_not_green_yet() {
    let found = state(vec![check(1, "build", 10, OK)], vec![], vec![run(10, 1, None)]);
    assert_eq!(names(&found), ("pending", vec!["workflow 1".to_owned()]), "a job that needs another has not begun");
}

#[test]
fn an_early_green_is_not_believed() {
    let facts = CiFacts { checks: vec![check(1, "fast", 10, OK)], runs: vec![run(10, 1, OK)], ..CiFacts::default() };
    assert!(is_moving(&decide(&facts, &ask(SETTLE_MS - 1))));
    assert_eq!(decide(&facts, &ask(SETTLE_MS)), CiState::Green { passed: 1 });
}

#[test]
fn a_green_counts_what_passed_and_a_commit_on_which_nothing_ran_is_not_green() {
    const SKIPPED: Option<Conclusion> = Some(Conclusion::Skipped);
    let of = |checks: Vec<CheckRun>| CiFacts { checks, runs: vec![run(10, 1, OK)], ..CiFacts::default() };
    let mixed = of(vec![check(1, "test", 10, OK), check(2, "deploy", 10, SKIPPED)]);
    assert_eq!(decide(&mixed, &ask(LATE)), CiState::Green { passed: 1 });
    let none = of(vec![check(1, "test", 10, SKIPPED), check(2, "lint", 10, Some(Conclusion::Neutral))]);
    assert!(is_moving(&decide(&none, &ask(SETTLE_MS))), "more may appear");
    assert_eq!(names(&decide(&none, &ask(APPEAR_MS))), ("skipped", vec!["lint".to_owned(), "test".to_owned()]));
}

#[test]
fn a_failing_job_is_told_with_its_run_and_its_log() {
    let found = state(vec![check(5, "test", 10, BAD)], vec![], vec![run(10, 1, BAD)]);
    let CiState::Red { failing } = found else { panic!("{found:?}") };
    assert_eq!(failing.len(), 1, "the job, and not its run once more");
    assert_eq!(failing[0].kind, ItemKind::Job { run: 10, job: 5, check_run: 5 });
}

#[test]
fn a_job_that_may_fail_does_not_make_red_unless_it_is_required() {
    let facts = CiFacts {
        checks: vec![check(1, "test", 10, OK), check(2, "nightly", 10, BAD)],
        runs: vec![run(10, 1, OK)],
        ..CiFacts::default()
    };
    assert_eq!(names(&decide(&facts, &ask(LATE))).0, "green", "continue-on-error: the run ended well");
    let required = ["nightly".to_owned()];
    assert_eq!(names(&decide(&facts, &Question { required: &required, ..ask(LATE) })).0, "red");
}

#[test]
fn a_required_check_that_never_shows_is_named_once_it_is_late() {
    let facts = CiFacts { checks: vec![check(1, "test", 10, OK)], runs: vec![run(10, 1, OK)], ..CiFacts::default() };
    let required = ["test".to_owned(), "e2e".to_owned(), "ci/external".to_owned()];
    let ask = |since_push_ms| Question { required: &required, ..ask(since_push_ms) };
    assert!(is_moving(&decide(&facts, &ask(SETTLE_MS))));
    assert_eq!(names(&decide(&facts, &ask(LATE))), ("missing", vec!["e2e".to_owned(), "ci/external".to_owned()]));
}

#[test]
fn one_approval_beside_a_failure_is_still_an_approval_and_keeps_the_failure() {
    let held = CheckRun { progress: Progress::ActionRequired, ..check(2, "deploy", 11, None) };
    let found = state(vec![check(1, "test", 10, BAD), held], vec![], vec![run(10, 1, BAD)]);
    let CiState::ActionRequired { runs, failing } = &found else { panic!("{found:?}") };
    assert_eq!((runs.len(), failing.len()), (1, 1));
    assert!(!is_moving(&found));
}

#[test]
fn our_own_run_alone_is_nothing() {
    let facts =
        CiFacts { checks: vec![check(1, "upshift", 99, None)], runs: vec![run(99, 9, None)], ..CiFacts::default() };
    assert_eq!(decide(&facts, &ask(LATE)), CiState::NeverAppeared);
}

/// Whether asking again later can bring another answer without anybody doing anything.
fn is_moving(state: &CiState) -> bool {
    matches!(state, CiState::NotYet | CiState::Pending { .. })
}
