//! A red `main` of which nothing fails here: CI alone judges, and each failure of it is proposed, counted and paid by itself.

use serde_json::{Value, json};

use super::delivery::{FILES, Site};
use super::reentry::{Ended, Repository};
use crate::world::github::Job;
use crate::world::model_server::{Request, Say, Scripted};

/// What the logs of the jobs say; no runner's print, so that their names tell them apart.
const LOG: &str = "2026-01-01T00:00:00.0000000Z the total of 1.10 and 2.20 is 3.3000000000000003, which this shell cannot take\n\
    2026-01-01T00:00:01.0000000Z ##[error]Process completed with exit code 1.\n";

/// Rounds, and says so.
fn rounds(request: &Request) -> Scripted {
    let edit =
        json!({ "path": "shop/cart.py", "old_text": "return sum(prices)", "new_text": "return round(sum(prices), 2)" });
    match request.turn() {
        0 => Say::call("edit_file", edit).usage(1_000, 50).into(),
        _ => Say::call("final_report", json!({ "summary": "rounds", "status": "done" })).usage(1_000, 20).into(),
    }
}

/// A repository whose tests pass here.
fn green() -> Repository {
    let mut files = FILES;
    files[1].1 = "def total(prices):\n    return sum(prices)\n";
    Repository::of(Site::of(&files, &["success"]), rounds)
}

/// CI of `main` is red in a job that cannot be run here, again: the event of the run's second attempt.
fn red_in(repository: &mut Repository, job: &str, run: u64) -> Value {
    let start = &repository.site.start;
    let user = json!({ "login": "ada", "type": "User" });
    let event = json!({
        "id": run, "run_attempt": 2, "name": "CI", "event": "push", "conclusion": "failure", "actor": user,
        "triggering_actor": user, "head_sha": start, "head_branch": "main",
        "head_repository": { "full_name": "acme/shop" }, "head_commit": { "message": "work" }, "pull_requests": [],
    });
    let known = json!({ "id": run, "name": "CI", "workflowId": 3, "attempt": 2, "path": ".github/workflows/ci.yml",
        "event": "push", "sha": start, "branch": "main", "status": "completed", "conclusion": "failure" });
    let failed =
        json!({ "id": run * 10, "run": run, "name": job, "status": "completed", "conclusion": "failure", "log": LOG });
    let mut world = repository.site.github.world();
    world.runs.push(serde_json::from_value(known).expect("a run"));
    world.jobs.push(serde_json::from_value::<Job>(failed).expect("a job"));
    json!({ "action": "completed", "workflow_run": event, "sender": user,
        "repository": { "default_branch": "main", "full_name": "acme/shop" } })
}

fn job(repository: &mut Repository, job: &str, run: u64) -> Ended {
    let payload = red_in(repository, job, run);
    let more = [("UPSHIFT_PUSH", "pr"), ("UPSHIFT_MAX_ATTEMPTS_PER_PR", "2")];
    repository.job_for("workflow_run", &payload, &more)
}

/// The pull requests that upshift opened, newest last: branch, title, text as it is read.
fn proposed(repository: &Repository) -> Vec<(String, String, String)> {
    let world = repository.site.github.world();
    let ours = world.pulls.iter().filter(|pull| pull.head_branch.starts_with("upshift/fix-"));
    // A name such as `CI: windows` is no trailer of a squashed commit: a sign without width stands in it.
    let read = |body: &str| body.replace('\u{200b}', "");
    ours.map(|pull| (pull.head_branch.clone(), pull.title.clone(), read(&pull.body))).collect()
}

#[test]
fn what_failed_in_ci_alone_is_proposed_once_and_another_failure_apart() {
    let mut repository = green();
    let first = job(&mut repository, "windows", 61);
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    assert!(first.said().contains("Run 1 of at most 2 for this failure"), "{}", first.said());
    let paid = repository.models.requests().len();
    let [(_, title, text)] = proposed(&repository).try_into().expect("one pull request");
    assert!(text.contains("CI: windows\n") && !text.contains("failing tests"), "{text}");
    assert_eq!(title, "fix: make CI pass");

    // The next red CI of the same job.
    let second = job(&mut repository, "windows", 62);
    assert_eq!(second.output("outcome"), "proposed", "{}", second.said());
    assert_eq!(repository.models.requests().len(), paid, "nobody is paid again: {}", second.said());

    let other = job(&mut repository, "macos", 63);
    assert_eq!(other.output("outcome"), "parked", "{}", other.said());
    assert!(other.said().contains("Run 1 of at most 2 for this failure"), "{}", other.said());
    let [(one, ..), (two, _, text)] = proposed(&repository).try_into().expect("two pull requests");
    assert!(one != two && text.contains("CI: macos\n"), "{one} {two} {text}");
    assert_eq!(repository.site.server.pushes(), 2);
    let _world = repository.finish();
}

#[test]
fn what_failed_in_ci_alone_has_so_many_runs_as_any_failure() {
    let mut repository = green();
    for number in 1..=2 {
        let ended = job(&mut repository, "windows", 60 + number);
        assert!(ended.said().contains(&format!("Run {number} of at most 2 for this failure")), "{}", ended.said());
        // Nobody wants it: the pull request is closed.
        let mut world = repository.site.github.world();
        world.pulls.iter_mut().filter(|pull| pull.number != 7).for_each(|pull| "closed".clone_into(&mut pull.state));
    }
    let paid = repository.models.requests().len();
    let refused = job(&mut repository, "windows", 63);
    assert_eq!(refused.output("outcome"), "refused", "{}", refused.said());
    assert!(refused.said().contains("this failure has had 2 runs"), "{}", refused.said());
    assert_eq!(repository.models.requests().len(), paid, "{}", refused.said());
    let _world = repository.finish();
}
