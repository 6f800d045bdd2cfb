//! A merge queue beside upshift: what CI says of the queue's own branches starts nothing, and a run that waits for the merge goes through.

use serde_json::{Value, json};

use super::reentry::{Repository, proposing};

/// The end of CI on the branch on which the queue tries a pull request.
fn tried(repository: &Repository, conclusion: &str) -> Value {
    let mut payload = repository.told(conclusion);
    let run = &mut payload["workflow_run"];
    run["event"] = json!("merge_group");
    run["head_branch"] = json!("gh-readonly-queue/main/pr-7-0123456789abcdef");
    run["head_sha"] = json!("d".repeat(40));
    run["pull_requests"] = json!([]);
    run["actor"] = json!({ "login": "github-merge-queue[bot]", "type": "Bot" });
    // GitHub squashes: the message of the pull request's commits is in it, ours among them.
    run["head_commit"]["message"] = json!("A fix (#7)\n\nUpshift-Run-Id: 0199aaaa-0000-7000-8000-000000000000");
    payload
}

#[test]
fn red_ci_of_a_merge_queues_branch_starts_nothing_and_costs_no_request() {
    let mut repository = Repository::new(&["success"]);
    for conclusion in ["failure", "success"] {
        let payload = tried(&repository, conclusion);
        let ended = repository.job(&payload);
        assert_eq!(ended.gate.code, 0, "no failed step: {}", ended.said());
        assert!(
            ended.run.is_none() && ended.output("reason").contains("a branch of the merge queue"),
            "{}",
            ended.said()
        );
    }
    assert!(repository.models.requests().is_empty() && repository.site.github.seen().is_empty());
    let _world = repository.finish();
}

#[test]
fn a_run_that_waits_for_a_merge_goes_on_behind_the_queue() {
    let (mut repository, _first) = proposing();
    let number = repository.site.github.world().pulls.last().expect("a pull request").number;
    let payload = repository.ci_ends_on(number);
    let green = repository.job(&payload);
    assert_eq!(green.output("outcome"), "parked", "{}", green.said());
    let payload = tried(&repository, "success");
    let of_the_queue = repository.job(&payload);
    assert!(of_the_queue.run.is_none(), "{}", of_the_queue.said());
    let payload = repository.pull_is(number, "merged");
    let last = repository.job_for("pull_request", &payload, &[]);
    assert_eq!(last.output("outcome"), "fixed", "{}", last.said());
    assert!(last.said().contains("merged"), "{}", last.said());
    let _world = repository.finish();
}
