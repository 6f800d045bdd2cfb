//! Runs that were parked until a time, taken up again by a job that the clock starts.

use serde_json::json;
use upshift::domain::blocker::Blocker;
use upshift::domain::units::CommitSha;
use upshift::report::markdown::{Held, Parked, Stamp, Standing, marker};

use super::gate::{HEAD, comment_by, world};
use super::step::{Job, replace_line};
use crate::world::github::{Comment, Effect, FakeGitHub, Fault, Pull, Run, World};
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::Said;
use crate::world::project::Project;

const WORKFLOW: &str = ".github/workflows/upshift.yml";
const BOT: &str = "github-actions[bot]";
/// A moment that is over.
fn over() -> u64 {
    now() - 3_600
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs()
}

/// acme/shop where the run for pull request 7, the first attempt of workflow run 55, waits until a time.
fn waiting(until: u64) -> World {
    let mut world = world();
    world.runs = vec![run(55, WORKFLOW)];
    world.comments = vec![comment(7, BOT, until, HEAD)];
    world
}

fn run(id: u64, path: &str) -> Run {
    Run {
        id,
        path: path.to_owned(),
        status: "completed".to_owned(),
        sha: HEAD.to_owned(),
        attempt: 1,
        ..Run::default()
    }
}

fn comment(issue: u64, author: &str, until: u64, commit: &str) -> Comment {
    let stamp = Stamp {
        run: "7f3a9b1c".to_owned(),
        head: "c0ffee".to_owned(),
        attempt: 1,
        artifact: "upshift-audit-55-1-pr7-7f3a9b1c".to_owned(),
        heard: 0,
        parked: Some(Parked { until, commit: CommitSha(commit.to_owned()) }),
        ..Stamp::default()
    };
    let body = format!("{}\n{}\n### ⏸ Parked", marker("upshift/fix"), stamp.line());
    Comment { id: 900 + issue, issue, author: author.to_owned(), body, ..Comment::default() }
}

/// A tick of the clock.
fn tick(github: &FakeGitHub) -> Said {
    let job = wakes(github, "schedule", &json!({ "schedule": "*/30 * * * *" }));
    // A log that outlived its job is another run's.
    let log = job.file("temp/upshift/audit.db");
    std::fs::create_dir_all(log.parent().expect("a folder")).expect("a folder");
    std::fs::write(log, "no log").expect("written");
    job.call(&Project::python(), &["resume"])
}

/// The job that looks for parked runs.
fn wakes(github: &FakeGitHub, event: &str, payload: &serde_json::Value) -> Job {
    Job::new("http://127.0.0.1:1")
        .with("GITHUB_EVENT_NAME", event)
        .with("GITHUB_WORKFLOW_REF", &format!("acme/shop/{WORKFLOW}@refs/heads/main"))
        .with("GITHUB_API_URL", &github.url())
        .with("UPSHIFT_GITHUB_TOKEN", "t-0123456789")
        .event(payload)
}

#[test]
fn a_run_whose_limit_is_over_begins_again_once() {
    let start = waiting(over());
    let comments = start.comments.clone();
    let github = FakeGitHub::start_in_real_time(start);
    let said = tick(&github);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.err.contains("✔ Pull request #7: workflow run 55 was started again."), "{}", said.all());
    assert_eq!(github.world().runs[0].attempt, 2);
    // It is under way, then over without having told anything: neither is a reason to pay again.
    for status in ["in_progress", "completed"] {
        status.clone_into(&mut github.world().runs[0].status);
        let again = tick(&github);
        assert_eq!(again.code, 0, "{}", again.all());
        assert!(again.err.contains("was taken up already"), "{}", again.all());
        assert_eq!(github.world().runs[0].attempt, 2);
    }
    assert_eq!(github.finish().comments, comments, "nothing is written");
}

/// acme/shop where the run is blocked on pull request 12 and issue 5.
fn blocked(pull: &str, issue: &str) -> World {
    let mut start = waiting(over());
    let on = vec![Blocker::read("pull request 12"), Blocker::read("issue 5")];
    let stamp = Stamp {
        parked: None,
        standing: Standing::Blocked,
        held: Some(Held { commit: CommitSha(HEAD.to_owned()), on }),
        ..Stamp::read(&start.comments[0].body).expect("a stamp")
    };
    start.comments[0].body = format!("{}\n{}\n### ⏸ Parked", marker("upshift/fix"), stamp.line());
    start.issues.insert(5, issue.to_owned());
    start.pulls.push(Pull { number: 12, state: pull.to_owned(), author: "ada".to_owned(), ..start.pulls[0].clone() });
    start
}

#[test]
fn a_blocked_run_begins_again_once_what_is_in_its_way_is_gone() {
    let start = blocked("merged", "open");
    let github = FakeGitHub::start_in_real_time(start);
    let early = tick(&github);
    assert_eq!(early.code, 0, "{}", early.all());
    assert!(early.err.contains("what it is blocked on is still in the way"), "{}", early.all());
    assert_eq!(github.world().runs[0].attempt, 1);
    github.world().issues.insert(5, "closed".to_owned());
    let said = tick(&github);
    assert!(said.err.contains("✔ Pull request #7: workflow run 55 was started again."), "{}", said.all());
    assert_eq!(github.world().runs[0].attempt, 2);
    github.finish();
}

/// The end of what is in the way wakes it, not only the clock; the end of something else finds it waiting.
#[test]
fn the_end_of_a_pull_request_or_an_issue_has_the_blocked_run_looked_at() {
    let repository = json!({ "default_branch": "main" });
    let sender = json!({ "login": "ada", "type": "User" });
    let side = |branch: &str| json!({ "ref": branch, "sha": HEAD, "repo": { "full_name": "acme/shop" } });
    let pull = json!({ "number": 12, "head": side("other"), "base": side("main"), "labels": [] });
    let of_pull = json!({ "action": "closed", "pull_request": pull, "sender": sender, "repository": repository });
    let of_issue = json!({ "action": "closed", "issue": { "number": 5 }, "sender": sender, "repository": repository });
    for (event, payload, before) in
        [("pull_request", &of_pull, ("open", "closed")), ("issues", &of_issue, ("merged", "open"))]
    {
        let github = FakeGitHub::start_in_real_time(blocked(before.0, before.1));
        let early = wakes(&github, event, payload).call(&Project::python(), &["resume"]);
        assert!(early.err.contains("what it is blocked on is still in the way"), "{event}: {}", early.all());
        github.world().issues.insert(5, "closed".to_owned());
        "merged".clone_into(&mut github.world().pulls[1].state);
        let said = wakes(&github, event, payload).call(&Project::python(), &["resume"]);
        assert_eq!(said.code, 0, "{event}: {}", said.all());
        assert!(said.err.contains("✔ Pull request #7: workflow run 55 was started again."), "{event}: {}", said.all());
        assert_eq!(github.world().runs[0].attempt, 2, "{event}");
        github.finish();
    }
}

/// Limited for two hours from its second request on, as the vendor's page says it.
fn limited(request: &Request) -> Scripted {
    match request.number {
        0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(900, 40).into(),
        _ => crate::targets::limited("7200"),
    }
}

#[test]
fn a_limited_run_says_until_when_it_waits_and_a_later_attempt_of_its_job_mends_it() {
    let mut start = world();
    start.runs = vec![run(55, WORKFLOW)];
    let github = FakeGitHub::start_in_real_time(start);
    let attempt = |models: &ModelServer, number: &str| {
        let job = super::comment::job(&github, models, "issue_comment", &comment_by("ada"))
            .with("GITHUB_RUN_ID", "55")
            .with("GITHUB_RUN_ATTEMPT", number)
            .with("GITHUB_ACTOR", "ada")
            .with("GITHUB_TRIGGERING_ACTOR", if number == "1" { "ada" } else { BOT });
        job.run(&Project::python())
    };
    let models = ModelServer::start(limited);
    let parked = attempt(&models, "1");
    models.finish();
    assert_eq!(parked.code, 0, "a step that parks does not fail: {}", parked.all());
    let body = github.world().comments[0].body.clone();
    let stamp = Stamp::read(&body).expect("the hidden line");
    let waits = stamp.parked.clone().expect("it waits");
    assert_eq!((waits.commit.0.as_str(), stamp.attempt), (HEAD, 1), "{body}");
    assert!((now() + 7_000..now() + 7_300).contains(&waits.until), "{body}");
    assert!(body.contains("limited until ") && body.contains("/upshift retry"), "{body}");
    assert!(tick(&github).err.contains("Nothing to do"), "not yet");

    let over = body.replace(&format!("until={}", waits.until), &format!("until={}", over()));
    github.world().comments[0].body = over;
    let said = tick(&github);
    assert!(said.err.contains("workflow run 55 was started again"), "{}", said.all());
    let models = ModelServer::start(replace_line("sum(prices) - 1", "sum(prices)"));
    let mended = attempt(&models, "2");
    models.finish();
    assert_eq!(mended.code, 0, "{}", mended.all());
    assert!(mended.err.contains("Run 2 of at most 3 for pull request #7"), "{}", mended.all());
    let world = github.finish();
    let body = &world.comments[0].body;
    assert!(body.contains("\nFixed by Tier 1"), "{body}");
    assert_eq!(Stamp::read(body).and_then(|stamp| stamp.parked), None, "it waits no more");
}

#[test]
fn what_waits_still_and_what_nobody_waits_for_costs_one_look() {
    for world in [waiting(now() + 3_600), world()] {
        let github = FakeGitHub::start_in_real_time(world);
        let said = tick(&github);
        assert_eq!(said.code, 0, "{}", said.all());
        assert!(said.err.contains("Nothing to do"), "{}", said.all());
        assert_eq!(github.seen().len(), 2, "who we are, and the comments");
        github.finish();
    }
}

#[test]
fn nothing_begins_again_where_things_are_not_as_they_were_parked_or_not_ours() {
    type Change = fn(&mut World);
    let closed: Change = |world| "closed".clone_into(&mut world.pulls[0].state);
    let fork: Change = |world| "mallory/shop".clone_into(&mut world.pulls[0].head_repository);
    let moved: Change = |world| "f".repeat(40).clone_into(&mut world.pulls[0].head_sha);
    let skipped: Change = |world| world.pulls[0].labels.push("upshift:skip".to_owned());
    let gone: Change = |world| world.runs.clear();
    // Text under our name that somebody had another workflow post, to have the deployment run again.
    let forged: Change = |world| world.runs = vec![run(55, ".github/workflows/deploy.yml")];
    for (change, why) in [
        (closed, "is no longer open"),
        (fork, "comes from another repository"),
        (moved, "the head of the pull request moved"),
        (skipped, "the label that keeps upshift away"),
        (gone, "its workflow run is gone"),
        (forged, "a run of another workflow"),
    ] {
        let mut world = waiting(over());
        change(&mut world);
        let github = FakeGitHub::start_in_real_time(world);
        let said = tick(&github);
        assert_eq!(said.code, 0, "{why}: {}", said.all());
        assert!(said.err.contains(why), "{why}: {}", said.all());
        let world = github.finish();
        assert!(world.runs.iter().all(|run| run.attempt == 1), "{why}");
    }
    // A stranger's comment that looks like ours.
    let mut world = waiting(over());
    world.comments = vec![comment(7, "eve", over(), HEAD)];
    let github = FakeGitHub::start_in_real_time(world);
    assert!(tick(&github).err.contains("Nothing to do"));
    github.finish();
}

#[test]
fn a_token_that_may_not_run_it_again_says_which_permission_is_missing() {
    let mut world = waiting(over());
    let refused = Effect::status(403, "Resource not accessible by integration", &[]);
    world.faults = vec![Fault::once("POST", "/rerun", refused)];
    let github = FakeGitHub::start_in_real_time(world);
    let said = tick(&github);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.err.contains("could not be run again") && said.err.contains("actions: write"), "{}", said.all());
    github.finish();
}
