//! A job whose models are limited: the step is no failure, the comment says until when, and `/upshift retry` starts again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::attempts::keep;
use super::comment::job;
use super::gate::{comment_by, labelled_by, world};
use super::step::replace_line;
use crate::world::github::FakeGitHub;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::project::Project;

#[test]
fn a_limited_job_parks_and_a_retry_starts_where_no_attempt_is_left() {
    let github = FakeGitHub::start_in_real_time(world());
    let limited = Arc::new(AtomicBool::new(true));
    let is_limited = Arc::clone(&limited);
    let mut mends = replace_line("sum(prices) - 1", "sum(prices)");
    let models = ModelServer::start(move |request: &Request| -> Scripted {
        // The first reply arrives, so that the run counts.
        if is_limited.load(Ordering::SeqCst) && request.number == 0 {
            return Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(900, 40).into();
        }
        if is_limited.load(Ordering::SeqCst) {
            return Scripted::status(429, "{}").header("retry-after", "7200");
        }
        mends(request)
    });
    let once =
        |event: &str, payload: &_| job(&github, &models, event, payload).with("UPSHIFT_MAX_ATTEMPTS_PER_PR", "1");
    let first = once("pull_request", &labelled_by("ada"));
    let parked = first.run(&Project::python());
    assert_eq!(parked.code, 0, "parked is no failed step: {}", parked.all());
    assert_eq!(first.outputs()["outcome"], "parked");
    assert!(parked.err.contains("::notice title=upshift::Parked in Tier 1"), "{}", parked.err);
    let comment = |github: &FakeGitHub| github.world().comments[0].body.clone();
    for text in ["limited until ", "/upshift retry"] {
        assert!(
            comment(&github).contains(text) && first.text("summary").contains(text),
            "{text}: {}",
            comment(&github)
        );
    }
    keep(&github, &first, 77);
    let refused = once("pull_request", &labelled_by("ada")).run(&Project::python());
    assert!(refused.err.contains("pull request #7 has had 1 run,"), "{}", refused.all());

    limited.store(false, Ordering::SeqCst);
    let mut payload = comment_by("ada");
    payload["comment"]["body"] = json!("/upshift retry");
    let retried = once("issue_comment", &payload).run(&Project::python());
    assert_eq!(retried.code, 0, "{}", retried.all());
    assert!(retried.out.contains("✔ Fixed by Tier 1"), "{}", retried.all());
    let world = github.world().comments.len();
    assert!(world == 1 && !comment(&github).contains("limited until "), "one comment: {}", comment(&github));
    models.finish();
    github.finish();
}

#[test]
fn a_limited_job_goes_on_where_its_runner_still_is() {
    let github = FakeGitHub::start_in_real_time(world());
    let mut mends = replace_line("sum(prices) - 1", "sum(prices)");
    let models = ModelServer::start(move |request: &Request| -> Scripted {
        let is_limited = request.number == 0;
        if is_limited { Scripted::status(429, "{}").header("retry-after", "7200") } else { mends(request) }
    });
    let job = job(&github, &models, "pull_request", &labelled_by("ada"));
    let project = Project::python();
    let parked = job.run(&project);
    assert_eq!((parked.code, job.outputs()["outcome"].as_str()), (0, "parked"), "{}", parked.all());
    let resumed = job.call(&project, &["resume"]);
    assert_eq!((resumed.code, job.outputs()["outcome"].as_str()), (0, "fixed"), "{}", resumed.all());
    assert_eq!(models.requests().len(), 3, "one refusal, two replies");
    models.finish();
    let world = github.finish();
    let [comment] = world.comments.as_slice() else { panic!("{:?}", world.comments) };
    assert!(comment.body.contains("\nFixed by Tier 1"), "{}", comment.body);
}
