//! Checks that are not of Actions: their end wakes a run that waits for them, by events that begin none.

use serde_json::{Value, json};

use super::reentry::Repository;
use crate::world::github::Status;

const CONTEXT: &str = "vendor/preview";

/// The status of the topic's head.
fn status(repository: &Repository, state: &str) {
    let mut world = repository.site.github.world();
    world.statuses.clear();
    world.statuses.push(Status {
        sha: repository.site.server.head("topic"),
        context: CONTEXT.to_owned(),
        state: state.to_owned(),
        ..Status::default()
    });
}

/// The vendor's event about the topic's head.
fn told_by_status(repository: &Repository) -> Value {
    let (head, message) = head(repository);
    json!({ "sha": head, "state": "success", "context": CONTEXT, "commit": { "sha": head, "commit": { "message": message } },
        "branches": [{ "name": "old", "commit": { "sha": "0".repeat(40) } }, { "name": "topic", "commit": { "sha": head } }],
        "sender": { "login": "vendor[bot]", "type": "Bot" },
        "repository": { "default_branch": "main", "full_name": "acme/shop" } })
}

/// The event of all checks of another app.
fn told_by_suite(repository: &Repository) -> Value {
    let (head, message) = head(repository);
    let suite = json!({ "head_sha": head, "head_branch": "topic", "head_commit": { "message": message }, "status": "completed",
        "conclusion": "success", "app": { "slug": "vendor" }, "pull_requests": [] });
    json!({ "action": "completed", "check_suite": suite, "sender": { "login": "vendor[bot]", "type": "Bot" },
        "repository": { "default_branch": "main", "full_name": "acme/shop" } })
}

fn head(repository: &Repository) -> (String, String) {
    let head = repository.site.server.head("topic");
    let message = repository.site.server.git(&["log", "-1", "--format=%B", &head]);
    (head, message)
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_check_that_is_not_of_actions_and_ends_last_ends_the_run() {
    for event in ["status", "check_suite"] {
        let mut repository = Repository::new(&["success"]);
        let first = repository.job(&repository.told("failure"));
        assert_eq!(first.output("outcome"), "parked", "{}", first.said());
        status(&repository, "pending");
        let early = repository.job(&repository.ci_ends());
        assert!(early.run.is_none() && early.gate.code == 0, "{}", early.said());
        assert!(early.output("reason").contains("is still waiting for vendor/preview"), "{}", early.said());
        status(&repository, "success");
        let payload = if event == "status" { told_by_status(&repository) } else { told_by_suite(&repository) };
        let last = repository.job_for(event, &payload, &[]);
        assert_eq!(
            (last.output("checkout"), last.output("outcome"), last.output("run-id")),
            ("false".into(), "fixed".into(), first.output("run-id")),
            "{event}: {}",
            last.said()
        );
        assert_eq!((repository.models.requests().len(), repository.site.server.pushes()), (2, 1), "{event}");
        let _world = repository.finish();
    }
}

#[test]
fn a_check_that_fails_last_is_the_next_iterations_input() {
    let mut repository = Repository::new(&["success"]);
    let first = repository.job(&repository.told("failure"));
    status(&repository, "pending");
    let _early = repository.job(&repository.ci_ends());
    status(&repository, "failure");
    let asked = repository.models.requests().len();
    let payload = told_by_status(&repository);
    let woken = repository.job_for("status", &payload, &[]);
    assert_eq!((woken.output("checkout"), woken.output("run-id")), ("true".into(), first.output("run-id")));
    // A status without a line of its own says nothing: nobody is paid to guess.
    assert!(woken.said().contains("CI is red in vendor/preview, and no log gives a reason"), "{}", woken.said());
    assert_eq!(repository.models.requests().len(), asked, "{}", woken.said());
    let _world = repository.finish();
}

#[test]
fn they_begin_no_run() {
    let mut repository = Repository::new(&["success"]);
    status(&repository, "failure");
    for (event, payload) in [("status", told_by_status(&repository)), ("check_suite", told_by_suite(&repository))] {
        let job = repository.job_for(event, &payload, &[]);
        assert!(job.run.is_none() && job.gate.code == 0, "{}", job.said());
        assert!(
            job.said().contains(&format!("`{event}` starts no run, and none waits for this commit")),
            "{}",
            job.said()
        );
    }
    assert!(repository.models.requests().is_empty());
    let _world = repository.finish();
}
