//! A run that CI's failed step started, and whose job died or could not say that it waits: the next job takes it up from its artifact, and
//! runs no command but what a step of the checkout's own workflows comes to.

use serde_json::{Value, json};

use super::delivery::{FILES, Site, mends};
use super::killed::Effect;
use super::reentry::Repository;
use crate::world::github::{Effect as Fails, Fault, Job};
use crate::world::model_server::Request;

/// The workflow whose step failed.
const CI: &str = "name: CI\non: pull_request\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: |\n          python3 --version\n          python3 -m unittest\n";

/// A repository whose CI failed in a plain step, with the event that says so.
fn adopting(conclusions: &[&str]) -> (Repository, Value) {
    let files = [&FILES[..], &[(".github/workflows/ci.yml", CI)]].concat();
    adopted(Repository::of(Site::of(&files, conclusions), mends))
}

fn adopted(repository: Repository) -> (Repository, Value) {
    let payload = repository.told("failure");
    let start = &repository.site.start;
    let run = json!({ "id": 55, "name": "CI", "workflowId": 3, "attempt": 1, "path": ".github/workflows/ci.yml",
        "event": "pull_request", "sha": start, "branch": "topic", "status": "completed", "conclusion": "failure" });
    let job = json!({ "id": 550, "run": 55, "name": "test", "status": "completed", "conclusion": "failure",
        "failedStep": "Run python3 --version" });
    let mut world = repository.site.github.world();
    world.runs.push(serde_json::from_value(run).expect("a run"));
    world.jobs.push(serde_json::from_value::<Job>(job).expect("a job"));
    drop(world);
    (repository, payload)
}

#[test]
fn a_run_with_a_step_of_ci_beside_the_tests_goes_on_when_its_job_died() {
    let (mut repository, payload) = adopting(&["success"]);
    repository.trap.arm(Effect::ModelAsked, 2);
    let killed = repository.job(&payload);
    assert!(!repository.trap.disarm() && killed.was_killed(), "{}", killed.said());
    let again = repository.again(&killed, ("workflow_run", &payload), &[]);
    assert_eq!(again.output("outcome"), "parked", "{}", again.said());
    assert!(again.said().contains(": its job died."), "nothing waited: {}", again.said());
    let last = repository.job(&repository.ci_ends());
    assert_eq!(last.output("outcome"), "fixed", "{}", last.said());
    assert_eq!(repository.site.server.pushes(), 1, "{}", last.said());
    let _world = repository.finish();
}

#[test]
fn a_run_goes_on_when_its_job_was_cancelled_and_is_run_again() {
    let (mut repository, payload) = adopting(&["success"]);
    repository.trap.arm_with("-INT", Effect::ModelAsked, 2);
    let cancelled = repository.job(&payload);
    assert_eq!(cancelled.output("outcome"), "interrupted", "{}", cancelled.said());
    let again = repository.again(&cancelled, ("workflow_run", &payload), &[]);
    assert!(again.said().contains(": its job was interrupted."), "{}", again.said());
    assert_eq!(again.output("outcome"), "parked", "{}", again.said());
    assert_eq!(repository.site.server.pushes(), 1, "{}", again.said());
    // Its own commit is the head by now. A later attempt of the first job has nothing to do, and says why.
    let third = repository.again(&cancelled, ("workflow_run", &payload), &[]);
    assert!(third.said().contains("upshift itself has pushed"), "{}", third.said());
    let _world = repository.finish();
}

#[test]
fn a_push_that_is_under_way_when_the_job_is_cancelled_is_told() {
    let (mut repository, payload) = adopting(&["success"]);
    repository.trap.arm_with("-INT", Effect::Pushed, 1);
    let cancelled = repository.job(&payload);
    assert_eq!(cancelled.output("outcome"), "interrupted", "{}", cancelled.said());
    assert_eq!(cancelled.output("commit-sha"), repository.site.server.head("topic"), "{}", cancelled.said());
    let _world = repository.finish();
}

/// The same repository, whose Git host is down once a model has been asked so often: for so many requests.
fn down_behind_the_model(
    conclusions: &[&str],
    asked: usize,
    (path, times): (&'static str, u64),
) -> (Repository, Value) {
    let files = [&FILES[..], &[(".github/workflows/ci.yml", CI)]].concat();
    let site = Site::of(&files, conclusions);
    let fail = site.github.faults();
    let mut calls = 0;
    let script = move |request: &Request| {
        calls += 1;
        if calls == asked {
            fail(Fault::once("GET", path, Fails::status(503, "Service Unavailable", &[])).times(times));
        }
        mends(request)
    };
    adopted(Repository::of(site, script))
}

#[test]
fn an_outage_in_front_of_the_push_is_waited_out() {
    let (mut repository, payload) = down_behind_the_model(&["success"], 1, ("/pulls/7", 9));
    let waited = repository.job(&payload);
    assert_eq!(waited.output("outcome"), "parked", "{}", waited.said());
    assert!(
        waited.said().contains("the fix is not out yet, which is tried again for 10m 0s: "),
        "it says why nothing moves: {}",
        waited.said()
    );
    assert_eq!(repository.site.server.pushes(), 1, "{}", waited.said());
    let _world = repository.finish();
}

#[test]
fn an_outage_that_lasts_parks_the_run_with_its_fix_and_the_job_run_again_pushes_it() {
    let (mut repository, payload) = down_behind_the_model(&["success"], 1, ("/pulls/7", 100_000));
    let parked = repository.job(&payload);
    assert_eq!(parked.output("outcome"), "parked", "{}", parked.said());
    assert_eq!(repository.site.server.pushes(), 0, "{}", parked.said());
    for words in [
        "parked: the fix is not out yet: `whether the pull request is open",
        "Run this job again once the Git host answers",
    ] {
        assert!(repository.comment().contains(words), "{words}: {}", repository.comment());
    }
    let asked = repository.models.requests().len();
    repository.site.github.world().faults.clear();
    let again = repository.again(&parked, ("workflow_run", &payload), &[]);
    assert!(again.said().contains(": its fix was not out yet."), "{}", again.said());
    assert_eq!(again.output("outcome"), "parked", "CI is waited for: {}", again.said());
    assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (1, asked), "{}", again.said());
    let _world = repository.finish();
}

/// The second fix of a run lies at the run's own commit: whoever hears of CI there goes on with it, or the job run again.
#[test]
fn an_outage_in_front_of_a_second_push_keeps_nothing_in_for_ever() {
    let (mut repository, payload) = down_behind_the_model(&["failure", "success"], 3, ("/pulls/7", 100_000));
    let first = repository.job(&payload);
    assert_eq!((first.output("outcome").as_str(), repository.site.server.pushes()), ("parked", 1), "{}", first.said());
    let woken = repository.ci_ends();
    let second = repository.job(&woken);
    assert!(second.said().contains("parked: the fix is not out yet: "), "{}", second.said());
    let asked = repository.models.requests().len();
    repository.site.github.world().faults.clear();
    let again = repository.again(&second, ("workflow_run", &woken), &[]);
    assert!(again.said().contains(": its fix was not out yet."), "{}", again.said());
    assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (2, asked), "{}", again.said());
    let _world = repository.finish();
}

#[test]
fn such_a_run_goes_on_when_its_last_word_did_not_reach_the_comment() {
    let (mut repository, payload) = adopting(&["success"]);
    repository.trap.arm(Effect::Pushed, 1);
    let killed = repository.job(&payload);
    assert!(!repository.trap.disarm() && killed.was_killed(), "{}", killed.said());
    let last = repository.job(&repository.ci_ends());
    assert_eq!(last.output("outcome"), "fixed", "{}", last.said());
    let _world = repository.finish();
}

#[test]
fn a_command_that_no_step_comes_to_is_not_run() {
    let (mut repository, payload) = adopting(&["success"]);
    repository.trap.arm(Effect::ModelAsked, 2);
    let killed = repository.job(&payload);
    assert!(!repository.trap.disarm() && killed.was_killed(), "{}", killed.said());
    // As if the log said so: the checkout's workflow has another step by now.
    let other = CI.replace("python3 --version", "python3 --help");
    repository.overlay = vec![(".github/workflows/ci.yml".to_owned(), other)];
    let again = repository.again(&killed, ("workflow_run", &payload), &[]);
    let why = "and no step of this checkout's workflows runs that";
    assert!(again.run.as_ref().is_some_and(|run| run.code == 6) && again.said().contains(why), "{}", again.said());
    let _world = repository.finish();
}
