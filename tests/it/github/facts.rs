//! One test per fact about GitHub that touches the client and what it makes of checks, named after the fact's number in the
//! project's list of facts that are easy to get wrong; the first line of each says the fact.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use upshift::github::checks::{APPEAR_MS, CiState, Question, decide};
use upshift::github::{
    BranchPlace, CommentSlot, Committed, FileChange, FileContent, GitHub, GithubError, Identity, NewCommit, PullState,
    RepoRole, Signature,
};

use super::{BOT, HEAD, MARKER, client, head, world};
use crate::world::github::{
    Artifact, Check, CiPlan, Commit, Effect, FakeGitHub, Fault, Happening, Job, JobPlan, Later, Pull, Run, Status,
    World,
};

/// What CI says about the head `since_push_ms` after its push.
async fn ci(client: &GitHub, since_push_ms: u64) -> CiState {
    let facts = client.ci_facts(&head()).await.unwrap();
    decide(&facts, &Question { own_run: None, own_workflows: &[], required: &[], since_push_ms })
}

fn plan(name: &str, conclusion: &str, log: &str) -> CiPlan {
    let job =
        JobPlan { name: name.to_owned(), conclusion: conclusion.to_owned(), log: log.to_owned(), ..JobPlan::default() };
    CiPlan { appears_after_ms: Some(5_000), takes_ms: 60_000, jobs: vec![job], ..CiPlan::default() }
}

fn run(id: u64, status: &str, conclusion: Option<&str>) -> Run {
    Run {
        id,
        sha: HEAD.to_owned(),
        workflow_id: 1,
        name: "ci".to_owned(),
        path: ".github/workflows/ci.yml".to_owned(),
        event: "pull_request".to_owned(),
        status: status.to_owned(),
        conclusion: conclusion.map(str::to_owned),
        created_ms: id * 1_000,
        ..Run::default()
    }
}

fn job(id: u64, run: u64, name: &str, conclusion: Option<&str>) -> Job {
    Job {
        id,
        run,
        name: name.to_owned(),
        status: if conclusion.is_some() { "completed" } else { "in_progress" }.to_owned(),
        conclusion: conclusion.map(str::to_owned),
        started_ms: Some(id * 1_000),
        ..Job::default()
    }
}

#[tokio::test]
async fn fact_01_a_push_with_the_jobs_token_starts_nothing_and_that_is_said() {
    let mut world = world();
    world.token.starts_ci = false;
    world.ci = vec![plan("test", "success", "")];
    let github = FakeGitHub::start(world);
    github.world().pushed("fix/thing", HEAD, 0);
    let client = client(&github);
    assert_eq!(ci(&client, 0).await, CiState::NotYet);
    github.clock().advance(APPEAR_MS);
    assert_eq!(ci(&client, APPEAR_MS).await, CiState::NeverAppeared);
    github.finish();
}

#[tokio::test]
async fn fact_02_a_run_that_needs_approval_is_not_waited_for_as_if_it_ran() {
    for held in ["action_required", "waiting"] {
        let held = CiPlan { held: Some(held.to_owned()), ..plan("test", "success", "") };
        let github = FakeGitHub::start(World { ci: vec![held.clone()], ..world() });
        github.world().pushed("fix/thing", HEAD, 0);
        github.clock().advance(10_000);
        let state = ci(&client(&github), 10_000).await;
        let expected = match held.held.as_deref() {
            Some("waiting") => matches!(&state, CiState::WaitingForEnvironment { runs, .. } if runs.len() == 1),
            _ => matches!(&state, CiState::ActionRequired { runs, .. } if runs[0].url.contains("/actions/runs/")),
        };
        assert!(expected, "{held:?}: {state:?}");
        github.finish();
    }
}

#[tokio::test]
async fn fact_03_runs_appear_some_seconds_after_the_push() {
    let github = FakeGitHub::start(World { ci: vec![plan("test", "success", "")], ..world() });
    github.world().pushed("fix/thing", HEAD, 0);
    let client = client(&github);
    assert_eq!(ci(&client, 0).await, CiState::NotYet);
    github.clock().advance(5_000);
    assert!(matches!(ci(&client, 5_000).await, CiState::Pending { .. }));
    github.clock().advance(60_000);
    assert_eq!(ci(&client, 65_000).await, CiState::Green { passed: 1 });
    github.finish();
}

#[tokio::test]
async fn fact_06_an_apps_token_dies_after_exactly_one_hour() {
    let github = FakeGitHub::start(world());
    github.world().token.revoked_at_ms = Some(3_600_000);
    let client = client(&github);
    github.clock().advance(3_599_999);
    client.pull(7).await.unwrap();
    github.clock().advance(1);
    let error = client.pull(7).await.unwrap_err();
    assert!(error.is_token_refused() && error.to_string().contains("an App's token lives one hour"), "{error}");
    github.finish();
}

#[tokio::test]
async fn fact_08_an_artifact_tells_whether_its_run_was_of_a_fork() {
    let artifact = |id, fork| Artifact { id, name: "upshift-audit".to_owned(), run: id, fork, ..Artifact::default() };
    let github = FakeGitHub::start(World { artifacts: vec![artifact(1, false), artifact(2, true)], ..world() });
    let found = client(&github).artifacts_named("upshift-audit").await.unwrap();
    let own = |artifact: &upshift::github::Artifact| {
        artifact.workflow_run.as_ref().is_some_and(|run| run.repository_id == run.head_repository_id)
    };
    assert_eq!(found.iter().map(|artifact| (artifact.id, own(artifact))).collect::<Vec<_>>(), [(2, false), (1, true)]);
    github.finish();
}

#[tokio::test]
async fn fact_09_the_head_of_a_pull_request_is_its_branch_and_not_the_merge_commit() {
    let github = FakeGitHub::start(world());
    let pull = client(&github).pull(7).await.unwrap();
    assert_eq!(pull.head.sha, head());
    github.finish();
}

#[tokio::test]
async fn fact_10_the_head_of_a_fork_names_its_repository() {
    let github = FakeGitHub::start(world());
    let client = client(&github);
    let ends = |pull: upshift::github::Pull| {
        (pull.head.repository.map(|it| it.owner), pull.base.repository.map(|it| it.owner))
    };
    assert_eq!(ends(client.pull(7).await.unwrap()), (Some("octo".to_owned()), Some("octo".to_owned())));
    github.world().pulls[0].head_repository = "mallory/demo".to_owned();
    assert_eq!(ends(client.pull(7).await.unwrap()).0.as_deref(), Some("mallory"));
    github.finish();
}

/// `a/audit.db` holding 40 times `upshift `, deflated, and `note.txt`.
const ZIP: &str = include_str!("../../../crates/engine/src/github/zip.base64");

#[tokio::test]
async fn fact_24_of_several_artifacts_the_newest_that_is_left_is_read() {
    let artifact = |id: u64, expired| Artifact {
        id,
        name: "upshift-audit".to_owned(),
        run: id,
        expired,
        created_ms: id * 1_000,
        zip: ZIP.trim().to_owned(),
        ..Artifact::default()
    };
    let all = vec![artifact(1, false), artifact(3, true), artifact(2, false)];
    let github = FakeGitHub::start(World { artifacts: all, ..world() });
    let client = client(&github);
    let found = client.artifacts_named("upshift-audit").await.unwrap();
    assert_eq!(found.iter().map(|artifact| artifact.id).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(client.artifact_file(2, ".db", 10_000).await.unwrap().unwrap(), b"upshift ".repeat(40));
    assert_eq!(client.artifact_file(3, ".db", 10_000).await.unwrap(), None, "expired");
    let error = client.artifact_file(2, ".db", 100).await.unwrap_err();
    assert!(matches!(error, GithubError::TooLarge { .. }), "{error}");
    github.finish();
}

#[tokio::test]
async fn fact_25_retry_after_wins_over_the_reset_and_both_over_a_minute() {
    let github = FakeGitHub::start(world());
    let client = client(&github);
    // The world began at 1772366400, and the reset is ten minutes later.
    let reset = ("x-ratelimit-reset", "1772367000");
    let spent = ("x-ratelimit-remaining", "0");
    for (code, headers, wait) in [
        (403, vec![("retry-after", "5"), spent, reset], 5_000),
        (403, vec![spent, reset], 596_000),
        (429, vec![], 60_000),
    ] {
        let before = github.clock().slept().len();
        github.world().faults.push(Fault::once("GET", "/pulls/7", Effect::status(code, "slow down", &headers)));
        client.pull(7).await.unwrap();
        assert_eq!(github.clock().slept()[before..], [wait], "{code} {headers:?}");
    }
    github.finish();
}

#[tokio::test]
async fn fact_26_an_unchanged_answer_costs_nothing_even_when_it_has_several_pages() {
    let github = FakeGitHub::start(world());
    let checks = (1..=250).map(|id| Check {
        id,
        sha: HEAD.to_owned(),
        name: format!("check {id}"),
        app: "external".to_owned(),
        status: "completed".to_owned(),
        conclusion: Some("success".to_owned()),
        ..Check::default()
    });
    github.world().checks = checks.collect();
    let client = client(&github);
    let first = client.check_runs(&head()).await.unwrap();
    assert_eq!((first.len(), github.counted()), (250, 3));
    assert_eq!(client.check_runs(&head()).await.unwrap(), first);
    assert_eq!(github.counted(), 3, "three pages, none changed");
    github.world().checks[120].conclusion = Some("failure".to_owned());
    let changed = client.check_runs(&head()).await.unwrap();
    assert_eq!(github.counted(), 4, "one page changed");
    assert_ne!(changed, first);
    github.finish();
}

#[tokio::test]
async fn fact_27_a_comment_holds_65536_characters_and_not_one_more() {
    let github = FakeGitHub::start(world());
    let identity = Identity::Login(BOT.to_owned());
    let slot = CommentSlot { number: 7, marker: MARKER, identity: &identity };
    let text = |chars: usize| MARKER.to_owned() + &"€".repeat(chars - MARKER.len());
    let client = client(&github);
    assert!(matches!(
        client.upsert_comment(slot, &text(65_537), None).await,
        Err(GithubError::TooLong { chars: 65_537, .. })
    ));
    client.upsert_comment(slot, &text(65_536), None).await.unwrap();
    assert_eq!(github.finish().comments[0].body.chars().count(), 65_536);
}

#[tokio::test]
async fn fact_28_check_runs_and_commit_statuses_both_count() {
    let mut world = world();
    world.runs.push(run(10, "completed", Some("success")));
    world.jobs.push(job(11, 10, "test", Some("success")));
    let status = |state: &str| Status {
        sha: HEAD.to_owned(),
        context: "test".to_owned(),
        state: state.to_owned(),
        ..Status::default()
    };
    world.statuses.push(status("pending"));
    let github = FakeGitHub::start(world);
    let client = client(&github);
    assert!(matches!(ci(&client, APPEAR_MS).await, CiState::Pending { unfinished, .. } if unfinished.len() == 1));
    github.world().statuses[0] = status("failure");
    assert!(matches!(ci(&client, APPEAR_MS).await, CiState::Red { failing } if failing[0].name == "test"));
    github.world().statuses[0] = status("success");
    assert_eq!(ci(&client, APPEAR_MS).await, CiState::Green { passed: 2 });
    github.finish();
}

#[tokio::test]
async fn fact_29_a_skipped_job_is_no_failure_and_a_filtered_workflow_leaves_its_check_missing() {
    let mut world = world();
    world.runs.push(run(10, "completed", Some("success")));
    world.jobs.push(job(11, 10, "test", Some("skipped")));
    world.required_checks = vec!["docs".to_owned()];
    world.rules.push(serde_json::json!({
        "type": "required_status_checks", "ruleset_id": 1,
        "parameters": { "required_status_checks": [{ "context": "test" }], "strict_required_status_checks_policy": false }
    }));
    let github = FakeGitHub::start(world);
    let client = client(&github);
    let state = ci(&client, APPEAR_MS).await;
    assert!(matches!(&state, CiState::AllSkipped { skipped } if skipped.len() == 1), "{state:?}");
    let required = client.required_checks("main").await.unwrap();
    assert_eq!(required, ["docs", "test"], "from branch protection and from a ruleset");
    let facts = client.ci_facts(&head()).await.unwrap();
    let question = Question { own_run: None, own_workflows: &[], required: &required, since_push_ms: APPEAR_MS };
    assert_eq!(decide(&facts, &question), CiState::RequiredMissing { names: vec!["docs".to_owned()] });
    github.finish();
}

#[tokio::test]
async fn fact_30_our_own_run_is_known_by_its_id_and_other_runs_of_the_tool_by_their_file() {
    let mut world = world();
    world.runs.push(run(10, "in_progress", None));
    world.jobs.push(job(11, 10, "test", None));
    world.runs.push(Run {
        path: ".github/workflows/upshift.yml@main".to_owned(),
        workflow_id: 2,
        ..run(20, "in_progress", None)
    });
    world.jobs.push(job(21, 20, "test", None));
    let github = FakeGitHub::start(world);
    let facts = client(&github).ci_facts(&head()).await.unwrap();
    let own = [".github/workflows/upshift.yml".to_owned()];
    let waiting_for = |own_run, own_workflows| {
        let question = Question { own_run, own_workflows, required: &[], since_push_ms: APPEAR_MS };
        let state = decide(&facts, &question);
        if let CiState::Pending { unfinished, .. } = &state {
            return unfinished.len();
        }
        assert_eq!(state, CiState::NeverAppeared);
        0
    };
    assert_eq!(waiting_for(None, &[]), 2, "the name `test` tells nothing");
    assert_eq!(waiting_for(Some(10), &[]), 1);
    assert_eq!(waiting_for(Some(10), &own), 0);
    github.finish();
}

#[tokio::test]
async fn fact_31_every_status_and_conclusion_is_read() {
    let github = FakeGitHub::start(world());
    let client = client(&github);
    for (status, conclusion, expected) in [
        ("requested", None, "Pending"),
        ("queued", None, "Pending"),
        ("pending", None, "Pending"),
        ("waiting", None, "WaitingForEnvironment"),
        ("in_progress", None, "Pending"),
        ("completed", Some("success"), "Green"),
        ("completed", Some("action_required"), "ActionRequired"),
        ("completed", Some("stale"), "Cancelled"),
        ("completed", Some("startup_failure"), "Red"),
        ("completed", Some("cancelled"), "Cancelled"),
        ("completed", Some("timed_out"), "Red"),
        ("completed", Some("a word of next year"), "Red"),
    ] {
        github.world().runs = vec![run(10, status, conclusion)];
        let state = format!("{:?}", ci(&client, APPEAR_MS).await);
        assert!(state.starts_with(expected), "{status} {conclusion:?}: {state}");
    }
    github.finish();
}

#[tokio::test]
async fn fact_32_of_several_runs_of_one_workflow_the_newest_counts() {
    let mut world = world();
    world.runs = vec![run(10, "completed", Some("failure")), run(20, "completed", Some("success"))];
    world.jobs = vec![job(11, 10, "test", Some("failure")), job(21, 20, "test", Some("success"))];
    let external = |id: u64, conclusion: &str| Check {
        id,
        sha: HEAD.to_owned(),
        name: "coverage".to_owned(),
        app: "external".to_owned(),
        status: "completed".to_owned(),
        conclusion: Some(conclusion.to_owned()),
        started_ms: Some(id * 1_000),
        ..Check::default()
    };
    world.checks = vec![external(2, "success"), external(1, "failure")];
    let github = FakeGitHub::start(world);
    assert_eq!(ci(&client(&github), APPEAR_MS).await, CiState::Green { passed: 2 });
    github.finish();
}

#[tokio::test]
async fn fact_34_a_run_that_a_newer_push_cancelled_is_told_as_cancelled_and_not_red() {
    let mut world = world();
    world.runs.push(run(10, "completed", Some("cancelled")));
    world.jobs.push(job(11, 10, "test", Some("cancelled")));
    let github = FakeGitHub::start(world);
    let state = ci(&client(&github), APPEAR_MS).await;
    assert!(matches!(&state, CiState::Cancelled { cancelled } if cancelled.len() == 1), "{state:?}");
    github.finish();
}

#[tokio::test]
async fn fact_35_what_a_payload_leaves_out_is_read_from_the_api() {
    let mut world = world();
    world.roles = [("alice", "write"), ("tim", "triage"), ("mia", "maintain"), ("bob", "read")]
        .into_iter()
        .map(|(login, role)| (login.to_owned(), role.to_owned()))
        .collect();
    world.pulls[0].labels = vec!["upshift:skip".to_owned()];
    let github = FakeGitHub::start(world);
    let client = client(&github);
    let pull = client.pull(7).await.unwrap();
    assert_eq!((pull.head.sha, pull.base.branch.as_str(), pull.state), (head(), "main", PullState::Open));
    assert_eq!(pull.labels, ["upshift:skip"]);
    let owned = client.open_pulls_of("octo", "fix/thing").await.unwrap();
    assert_eq!(owned.len(), 1);
    for (login, role) in [
        ("alice", RepoRole::Write),
        ("mia", RepoRole::Maintain),
        ("tim", RepoRole::Triage),
        ("bob", RepoRole::Read),
        ("mallory", RepoRole::None),
    ] {
        assert_eq!(client.role_of(login).await.unwrap(), role, "{login}: an association is no permission");
    }
    github.finish();
}

#[tokio::test]
async fn the_log_of_a_failed_job_comes_without_our_token_and_without_times() {
    let github =
        FakeGitHub::start(World { ci: vec![plan("test", "failure", "error: left != right\nFAILED")], ..world() });
    github.world().pushed("fix/thing", HEAD, 0);
    github.clock().advance(70_000);
    let client = client(&github);
    let CiState::Red { failing } = ci(&client, 70_000).await else { panic!("not red") };
    let upshift::github::checks::ItemKind::Job { run, job, .. } = failing[0].kind else { panic!("{failing:?}") };
    assert_eq!(client.jobs(run).await.unwrap()[0].id, job);
    let log = client.job_log(job, 1_000).await.unwrap().unwrap();
    assert_eq!(log.text(), "error: left != right\nFAILED\n");
    let cut = client.job_log(job, 40).await.unwrap().unwrap();
    assert!(cut.left_out > 0 && cut.text().ends_with("FAILED\n"));
    assert_eq!(client.job_log(1, 1_000).await.unwrap(), None);
    github.finish();
}

#[tokio::test]
async fn a_file_is_read_at_the_base_commit_and_a_missing_one_is_none() {
    let github = FakeGitHub::start(world());
    let text = "tiers: claude-haiku-4-5 x5\n".repeat(10);
    let base = "2".repeat(40);
    github.world().files.insert(format!("{base}:.github/upshift.yml"), text.clone());
    let client = client(&github);
    assert_eq!(client.file(".github/upshift.yml", &base).await.unwrap(), Some(text.into_bytes()));
    assert_eq!(client.file(".github/upshift.yml", HEAD).await.unwrap(), None);
    github.finish();
}

/// A world where the head and the base have a common history.
fn with_history() -> World {
    let mut world = world();
    let base = "2".repeat(40);
    let ours = "Fix\n\nBecause.\n\nUpshift-Run: 1234\nUpshift-Tier: haiku";
    world.commits.insert(base.clone(), Commit { message: "Start".to_owned(), author: None, parents: vec![] });
    let author = Some("alice".to_owned());
    world.commits.insert(HEAD.to_owned(), Commit { message: ours.to_owned(), author, parents: vec![base] });
    world
}

#[tokio::test]
async fn a_pull_requests_commits_come_with_message_and_author() {
    let github = FakeGitHub::start(with_history());
    let client = client(&github);
    let commits = client.pull_commits(7).await.unwrap();
    assert!(commits[0].message.ends_with("Upshift-Run: 1234\nUpshift-Tier: haiku"), "{commits:?}");
    assert_eq!(commits[0].author.as_ref().map(|author| author.login.as_str()), Some("alice"));
    assert_eq!(client.commit("main").await.unwrap().message, "Start");
    github.finish();
}

fn fix_commit(place: BranchPlace, branch: &str) -> NewCommit {
    let plain = FileChange { path: "src/lib.rs".to_owned(), content: FileContent::Plain(b"fixed".to_vec()) };
    let gone = FileChange { path: "old.rs".to_owned(), content: FileContent::Deleted };
    let files = vec![plain, gone];
    let (parent, signature) = (head(), Signature::Optional);
    NewCommit { branch: branch.to_owned(), place, parent, message: "Fix".to_owned(), files, signature }
}

#[tokio::test]
async fn a_commit_through_the_api_moves_the_branch_once_even_when_the_answer_is_lost() {
    for (place, branch, method) in
        [(BranchPlace::Existing, "fix/thing", "PATCH"), (BranchPlace::New, "upshift/fix", "POST")]
    {
        let github = FakeGitHub::start(with_history());
        github.world().faults.push(Fault::once(method, "/git/refs", Effect::LoseAnswer));
        let client = client(&github);
        let Committed::Done(sha) = client.commit_files(&fix_commit(place, branch)).await.unwrap() else {
            panic!("moved")
        };
        assert_eq!(client.head_of(branch).await.unwrap(), Some(sha));
        assert_eq!(github.finish().pushes.len(), 1, "{branch}");
    }
}

#[tokio::test]
async fn a_branch_that_moved_meanwhile_is_not_overwritten() {
    let github = FakeGitHub::start(with_history());
    let theirs = "4".repeat(40);
    let moves = Happening::BranchMoves { branch: "fix/thing".to_owned(), sha: theirs.clone() };
    github.world().later.push(Later { at_ms: 500, what: moves });
    let outcome = client(&github).commit_files(&fix_commit(BranchPlace::Existing, "fix/thing")).await.unwrap();
    assert_eq!(outcome, Committed::HeadMoved);
    assert_eq!(github.finish().branches["fix/thing"], theirs);
}

#[tokio::test]
async fn merged_and_closed_pull_requests_are_told_apart() {
    let mut world = world();
    world.pulls.push(Pull { number: 8, state: "closed".to_owned(), ..world.pulls[0].clone() });
    let merged = Happening::PullIs { number: 7, state: "merged".to_owned() };
    world.later.push(Later { at_ms: 1_000, what: merged });
    let github = FakeGitHub::start(world);
    let client = client(&github);
    assert_eq!(client.pull(7).await.unwrap().state, PullState::Open);
    github.clock().advance(1_000);
    let pull = client.pull(7).await.unwrap();
    assert_eq!(pull.state, PullState::Merged);
    assert_eq!(client.pull(8).await.unwrap().state, PullState::Closed);
    github.finish();
}

#[test]
fn the_archive_that_the_tests_share_is_a_zip() {
    assert!(STANDARD.decode(ZIP.trim()).unwrap().starts_with(b"PK"));
}
