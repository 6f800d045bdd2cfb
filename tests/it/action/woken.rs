//! Runs that wait for people without a job: what wakes them, and what a job that is killed in the middle of that leaves to the next.

use serde_json::{Value, json};

use super::delivery::{FILES, Site, mends};
use super::killed::Effect;
use super::reentry::{Ended, Repository, proposing, proposing_with};
use super::unblocked::{blocked_by, waits};
use crate::world::github::Review;
use crate::world::log::Log;
use crate::world::model_server::{Request, Say, Scripted};
use crate::world::sampled;

/// Ten years: after any push of this test.
pub(super) const LATER_MS: u64 = 10 * 365 * 24 * 3_600_000;

fn number(repository: &Repository) -> u64 {
    repository.site.github.world().pulls.last().expect("a pull request").number
}

/// Mends the bug, then does what a reviewer asks for.
pub(super) fn obeys(request: &Request) -> Scripted {
    if !request.all_text().contains("a reviewer asks for changes") {
        return mends(request);
    }
    assert!(request.all_text().contains("Say what it adds up."), "{}", request.all_text());
    match request.turn() {
        0 => {
            let edit = json!({ "path": "shop/cart.py", "old_text": "def total(", "new_text": "# Adds up prices.\ndef total(" });
            Say::call("edit_file", edit).usage(900, 40).into()
        }
        _ => Say::call("final_report", json!({ "summary": "said", "status": "done" })).usage(900, 40).into(),
    }
}

/// CI of the proposed fix ends, and a reviewer asks for changes: the event of the end of the workflow that tells of it.
fn reviewed(repository: &mut Repository) -> Value {
    let number = number(repository);
    let by_ci = repository.job(&repository.ci_ends_on(number));
    assert_eq!(by_ci.output("outcome"), "parked", "{}", by_ci.said());
    let mut payload = repository.ci_ends_on(number);
    let run = &mut payload["workflow_run"];
    (run["id"], run["name"], run["event"]) = (json!(56), json!("upshift-review"), json!("pull_request_review"));
    let sha = run["head_sha"].as_str().expect("a commit").to_owned();
    let told = json!({ "id": 56, "name": "upshift-review", "workflowId": 9, "attempt": 1, "event": "pull_request_review",
        "path": ".github/workflows/upshift-review.yml", "sha": sha, "branch": run["head_branch"], "status": "completed",
        "conclusion": "success" });
    repository.site.github.world().runs.push(serde_json::from_value(told).expect("a run"));
    let review = Review { id: 5, pull: number, author: "ada".to_owned(), at_ms: LATER_MS, sha, ..Review::default() };
    let words = "Say what it adds up.".to_owned();
    repository.site.github.world().reviews =
        vec![Review { state: "CHANGES_REQUESTED".to_owned(), body: words, ..review }];
    for user in ["actor", "triggering_actor"] {
        payload["workflow_run"][user] = json!({ "login": "ada", "type": "User" });
    }
    payload
}

/// The review is older than the push that heeds it: a test's clock may leap over what lies between.
fn is_heeded(repository: &Repository) {
    repository.site.github.world().reviews[0].at_ms = 0;
}

/// Nobody waits in a job: the review's next iteration is pushed and the run parked, until CI, and then the merge.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_review_that_requests_changes_wakes_the_run_that_waits_for_the_merge() {
    let (mut repository, first) = proposing_with(obeys);
    let payload = reviewed(&mut repository);
    let woken = repository.job(&payload);
    assert_eq!(
        (woken.output("checkout").as_str(), woken.output("outcome").as_str(), woken.output("run-id")),
        ("true", "parked", first.output("run-id")),
        "{}",
        woken.said()
    );
    assert!(!woken.said().contains("waited for 30 minutes"), "it ends with its push: {}", woken.said());
    assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (2, 4), "{}", woken.said());
    is_heeded(&repository);
    let number = number(&repository);
    let by_ci = repository.job(&repository.ci_ends_on(number));
    assert_eq!(
        (by_ci.output("checkout"), by_ci.output("outcome")),
        ("false".into(), "parked".into()),
        "{}",
        by_ci.said()
    );
    let last = repository.job_for("pull_request", &repository.pull_is(number, "merged"), &[]);
    assert_eq!(
        (last.output("outcome"), last.output("run-id")),
        ("fixed".into(), first.output("run-id")),
        "{}",
        last.said()
    );
    let _world = repository.finish();
}

/// A workflow of the older shape, whose own job the review starts: it goes on, and waits in the job, since nothing would be believed of it.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_job_that_a_review_starts_goes_on_too() {
    let (mut repository, first) = proposing_with(obeys);
    let _by_workflow = reviewed(&mut repository);
    let mut payload = repository.pull_is(number(&repository), "open");
    payload["action"] = json!("submitted");
    payload["review"] = json!({ "id": 5, "state": "changes_requested", "body": "Say what it adds up.",
        "user": { "login": "ada", "type": "User" } });
    let woken = repository.job_for("pull_request_review", &payload, &[]);
    assert_eq!(
        (woken.output("checkout"), woken.output("run-id")),
        ("true".into(), first.output("run-id")),
        "{}",
        woken.said()
    );
    assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (2, 4), "{}", woken.said());
    assert!(woken.said().contains("waited for 30 minutes"), "{}", woken.said());
    let _world = repository.finish();
}

/// A recorded model stands in the ladder behind the one that mends.
#[test]
fn a_job_without_a_checkout_wants_no_recording_of_the_ladder() {
    const LADDER: [(&str, &str); 1] = [("UPSHIFT_TIERS", "claude-haiku-4-5 x3 > cassette/tests/recorded.json x1")];
    let recorded = json!({ "cassette": 1, "calls": [] }).to_string();
    let files = [&FILES[..], &[("tests/recorded.json", recorded.as_str())]].concat();
    let mut repository = Repository::of(Site::of(&files, &["success"]), mends);
    let payload = repository.told("failure");
    let first = repository.job_for("workflow_run", &payload, &LADDER);
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    let payload = repository.ci_ends();
    let last = repository.job_for("workflow_run", &payload, &LADDER);
    assert_eq!(
        (last.output("checkout").as_str(), last.output("outcome").as_str()),
        ("false", "fixed"),
        "{}",
        last.said()
    );
    let _world = repository.finish();
}

/// A job that may be killed, and the one after it.
fn job(repository: &mut Repository, event: &str, payload: &Value, kill: Option<(Effect, usize)>) -> Ended {
    let Some((effect, count)) = kill else { return repository.job_for(event, payload, &[]) };
    repository.trap.arm(effect, count);
    let ended = repository.job_for(event, payload, &[]);
    assert!(!repository.trap.disarm() && ended.was_killed(), "{effect:?}: {}", ended.said());
    repository.again(&ended, (event, payload), &[])
}

/// A run that is blocked in its first job, goes on in its second, and is told by the third: killed in one of them after an effect.
fn blocked_and_killed(at: usize, effect: Effect, count: usize) {
    let mut repository = blocked_by(Repository::with_models(&["success"], waits));
    let mut payload = repository.told("failure");
    let (mut said, mut runs, mut last) = (format!("{effect:?} {count} in job {at}: "), Vec::new(), None);
    for number in 0..3 {
        if number == at {
            repository.trap.arm(effect, count);
        }
        let mut ended = repository.job_for("workflow_run", &payload, &[]);
        assert!(number != at || (!repository.trap.disarm() && ended.was_killed()), "{said}{}", ended.said());
        said += &ended.said();
        if ended.was_killed() {
            ended = repository.again(&ended, ("workflow_run", &payload), &[]);
            said += &ended.said();
        }
        runs.push(ended.output("run-id"));
        last = Some(ended);
        if number == 0 {
            repository.site.github.world().pulls[1].state = "merged".to_owned();
            payload = repository.told("failure");
        } else {
            payload = repository.ci_ends();
        }
    }
    let last = last.expect("a job");
    assert_eq!(last.output("outcome"), "fixed", "{said}");
    runs.retain(|run| !run.is_empty());
    assert!(runs.iter().all(|run| run == &runs[0]), "one run: {runs:?} {said}");
    let mid_air = usize::from(effect == Effect::ModelAsked);
    assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (1, 3 + mid_air), "{said}");
    assert!(repository.comment().contains("Fixed by Tier 1"), "{said}");
    let log = Log::open(std::path::Path::new(&last.output("audit-db")));
    assert_eq!(log.number("SELECT COUNT(*) FROM run_metadata"), 1, "{said}");
    let lost = log.number("SELECT COUNT(*) FROM model_calls WHERE status = 'lost'");
    assert_eq!(usize::try_from(lost).expect("a count"), mid_air, "what was lost is counted, once: {said}");
    let _world = repository.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn killed_where_it_is_blocked_or_taken_up_a_run_pushes_pays_and_comments_once() {
    for (at, effect, count) in sampled([
        (0, Effect::ModelAsked, 1),
        (1, Effect::CommentEdited, 1),
        (1, Effect::ModelAsked, 1),
        (1, Effect::ModelAsked, 2),
        (1, Effect::Pushed, 1),
        (2, Effect::CommentEdited, 1),
    ]) {
        blocked_and_killed(at, effect, count);
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn killed_where_a_review_has_it_taken_up_a_run_pushes_pays_and_comments_once() {
    for (effect, count) in
        sampled([(Effect::CommentEdited, 1), (Effect::ModelAsked, 1), (Effect::ModelAsked, 2), (Effect::Pushed, 1)])
    {
        let (mut repository, first) = proposing_with(obeys);
        let payload = reviewed(&mut repository);
        let number = number(&repository);
        repository.trap.arm(effect, count);
        let killed = repository.job(&payload);
        assert!(!repository.trap.disarm() && killed.was_killed(), "{effect:?} {count}: {}", killed.said());
        let again = repository.again(&killed, ("workflow_run", &payload), &[]);
        is_heeded(&repository);
        // Behind its push the head has moved: then the end of CI goes on, not the review.
        let by_ci = repository.job(&repository.ci_ends_on(number));
        let last = repository.job_for("pull_request", &repository.pull_is(number, "merged"), &[]);
        let said = [&killed, &again, &by_ci, &last].map(Ended::said).concat();
        let said = format!("{effect:?} {count}: {said}");
        assert_eq!(
            (last.output("outcome"), last.output("run-id")),
            ("fixed".to_owned(), first.output("run-id")),
            "{said}"
        );
        let mid_air = usize::from(effect == Effect::ModelAsked);
        assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (2, 4 + mid_air), "{said}");
        let comments = repository.site.github.world().comments.clone();
        assert_eq!(comments.iter().filter(|comment| comment.issue == number).count(), 1, "{said}");
        let _world = repository.finish();
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn killed_where_it_is_taken_up_a_run_that_waits_for_a_merge_pushes_pays_and_comments_once() {
    for (at_ci, at_end) in [(Some((Effect::CommentEdited, 1)), None), (None, Some((Effect::CommentEdited, 1)))] {
        let (mut repository, first) = proposing();
        let number = number(&repository);
        let payload = repository.ci_ends_on(number);
        let by_ci = job(&mut repository, "workflow_run", &payload, at_ci);
        let payload = repository.pull_is(number, "merged");
        let last = job(&mut repository, "pull_request", &payload, at_end);
        let said = format!("{at_ci:?} {at_end:?}: {}{}", by_ci.said(), last.said());
        assert_eq!(
            (last.output("outcome"), last.output("run-id")),
            ("fixed".to_owned(), first.output("run-id")),
            "{said}"
        );
        assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (1, 2), "{said}");
        let comments = repository.site.github.world().comments.clone();
        assert_eq!(comments.iter().filter(|comment| comment.issue == number).count(), 1, "{said}");
        let _world = repository.finish();
    }
}

/// The first job of a run, too, and one that a person asked for: what was paid in it is not paid again.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_job_that_died_in_the_middle_of_its_run_goes_on_with_it_when_it_is_run_again() {
    let comment = json!({ "id": 9, "body": "/upshift fix", "user": { "login": "ada", "type": "User" } });
    let comment = json!({ "action": "created", "issue": { "number": 7, "pull_request": {} }, "comment": comment,
        "sender": { "login": "ada", "type": "User" }, "repository": { "default_branch": "main" } });
    for event in ["workflow_run", "issue_comment"] {
        let mut repository = Repository::new(&["success"]);
        let payload = if event == "issue_comment" { comment.clone() } else { repository.told("failure") };
        let again = job(&mut repository, event, &payload, Some((Effect::ModelAsked, 2)));
        assert_eq!(again.output("outcome"), "parked", "{event}: {}", again.said());
        assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (1, 3), "{}", again.said());
        let log = Log::open(std::path::Path::new(&again.output("audit-db")));
        assert_eq!(log.number("SELECT COUNT(*) FROM run_metadata"), 1, "{event}: {}", again.said());
        assert_eq!(log.number("SELECT COUNT(*) FROM model_calls WHERE status = 'lost'"), 1, "{event}");
        let _world = repository.finish();
    }
}
