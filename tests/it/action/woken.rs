//! Runs that wait for people without a job: what wakes them, and what a job that is killed in the middle of that leaves to the next.

use serde_json::{Value, json};

use super::delivery::mends;
use super::killed::Effect;
use super::reentry::{Ended, Repository, proposing, proposing_with};
use super::unblocked::{blocked_by, waits};
use crate::world::github::Review;
use crate::world::log::Log;
use crate::world::model_server::{Request, Say, Scripted};

/// Ten years: after any push of this test.
const LATER_MS: u64 = 10 * 365 * 24 * 3_600_000;

fn number(repository: &Repository) -> u64 {
    repository.site.github.world().pulls.last().expect("a pull request").number
}

/// Mends the bug, then does what a reviewer asks for.
fn obeys(request: &Request) -> Scripted {
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

/// CI of the proposed fix ends, and a reviewer asks for changes: the event of that.
fn reviewed(repository: &mut Repository) -> Value {
    let number = number(repository);
    let by_ci = repository.job(&repository.ci_ends_on(number));
    assert_eq!(by_ci.output("outcome"), "parked", "{}", by_ci.said());
    let mut payload = repository.pull_is(number, "open");
    payload["action"] = json!("submitted");
    payload["review"] = json!({ "id": 5, "state": "changes_requested", "body": "Say what it adds up.",
        "user": { "login": "ada", "type": "User" } });
    let review = Review { id: 5, pull: number, author: "ada".to_owned(), at_ms: LATER_MS, ..Review::default() };
    let branch = repository.site.github.world().pulls.last().expect("a pull request").head_branch.clone();
    let review = Review { sha: repository.site.server.head(&branch), ..review };
    let words = "Say what it adds up.".to_owned();
    repository.site.github.world().reviews =
        vec![Review { state: "CHANGES_REQUESTED".to_owned(), body: words, ..review }];
    payload
}

#[test]
fn a_review_that_requests_changes_wakes_the_run_that_waits_for_the_merge() {
    let (mut repository, first) = proposing_with(obeys);
    let payload = reviewed(&mut repository);
    let woken = repository.job_for("pull_request_review", &payload, &[]);
    assert_eq!(
        (woken.output("checkout").as_str(), woken.output("outcome").as_str(), woken.output("run-id")),
        ("true", "parked", first.output("run-id")),
        "{}",
        woken.said()
    );
    assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (2, 4), "{}", woken.said());
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
fn killed_where_it_is_blocked_or_taken_up_a_run_pushes_pays_and_comments_once() {
    for (at, effect, count) in [
        (0, Effect::ModelAsked, 1),
        (1, Effect::CommentEdited, 1),
        (1, Effect::ModelAsked, 1),
        (1, Effect::ModelAsked, 2),
        (1, Effect::Pushed, 1),
        (2, Effect::CommentEdited, 1),
    ] {
        blocked_and_killed(at, effect, count);
    }
}

#[test]
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
