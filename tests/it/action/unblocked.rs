//! A run that is blocked waits without a job, and the next event of its pull request goes on with it once it may; what cannot go on is
//! not said to wait.

use serde_json::json;

use super::delivery::mends;
use super::reentry::Repository;
use crate::world::github::Pull;
use crate::world::model_server::{Request, Say, Scripted};

/// Blocked on another pull request, until it is said to be gone.
pub(super) fn waits(request: &Request) -> Scripted {
    if request.all_text().contains("That is out of the way now: pull request #12.") {
        return mends(request);
    }
    let on = json!([{ "kind": "pull_request", "ref": "https://github.com/acme/shop/pull/12" }]);
    let report = json!({ "summary": "read", "status": "blocked", "reason": "it brings the rates", "blocked_on": on });
    Say::call("final_report", report).usage(900, 40).into()
}

/// The same repository with the pull request that is in the way.
pub(super) fn blocked_by(repository: Repository) -> Repository {
    let start = repository.site.github.world().pulls[0].clone();
    repository.site.github.world().pulls.push(Pull { number: 12, head_branch: "other".to_owned(), ..start });
    repository
}

#[test]
fn a_blocked_run_goes_on_with_its_log_at_the_event_behind_the_end_of_what_was_in_its_way() {
    let mut repository = blocked_by(Repository::with_models(&["success"], waits));
    let first = repository.job(&repository.told("failure"));
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    let comment = repository.comment();
    assert!(comment.contains(" standing=blocked held=") && comment.contains(" on=p12 "), "{comment}");
    assert!(comment.contains("pull request #12 to be merged"), "{comment}");

    let before = repository.site.github.seen().len();
    let early = repository.job(&repository.told("failure"));
    assert!(early.output("reason").contains("is still waiting for pull request #12 to be merged"), "{}", early.said());
    let asked = repository.site.github.seen().len() - before;
    assert!(asked <= 15, "a wake-up that finds nothing new costs {asked} requests");
    assert_eq!(repository.models.requests().len(), 1, "and nothing else");

    repository.site.github.world().pulls[1].state = "merged".to_owned();
    let second = repository.job(&repository.told("failure"));
    assert_eq!(second.output("outcome"), "parked", "{}", second.said());
    assert_eq!(
        (second.output("run-id"), repository.site.server.pushes()),
        (first.output("run-id"), 1),
        "{}",
        second.said()
    );
    let last = repository.job(&repository.ci_ends());
    assert_eq!(last.output("outcome"), "fixed", "{}", last.said());
    let comment = repository.comment();
    assert!(comment.contains("blocked on") && comment.contains("out of the way in"), "{comment}");
    assert_eq!(repository.models.requests().len(), 3);
    let _world = repository.finish();
}

#[test]
fn a_claimed_run_that_cannot_go_on_says_why_and_waits_no_longer() {
    let mut repository = Repository::new(&["failure"]);
    let first = repository.job(&repository.told("failure"));
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    let payload = repository.ci_ends();
    let last =
        repository.job_for("workflow_run", &payload, &[("UPSHIFT_TEST_COMMAND", "python3 -m unittest discover")]);
    assert!(last.said().contains("no command is taken from a log"), "{}", last.said());
    let comment = repository.comment();
    assert!(comment.contains("> **The wait is over.** The run cannot continue: `"), "{comment}");
    assert!(!comment.contains("standing=") && !comment.contains("claimed="), "{comment}");
    assert!(comment.contains("1 test fixed in"), "the report stays: {comment}");
    let _world = repository.finish();
}
