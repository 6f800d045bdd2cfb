//! A job that red CI started, where the tests pass: CI is not called green because upshift looked at something else.

use serde_json::{Value, json};

use super::comment::job;
use super::gate::{HEAD, world};
use crate::world::github::{FakeGitHub, World};
use crate::world::model_server::{ModelServer, Say};
use crate::world::project::Project;

const RUN: u64 = 55;

fn red_ci() -> Value {
    let user = json!({ "login": "ada", "type": "User" });
    let run = json!({
        "id": RUN, "run_attempt": 1, "name": "CI", "event": "pull_request", "conclusion": "failure", "actor": user,
        "triggering_actor": user, "head_sha": HEAD, "head_branch": "topic",
        "head_repository": { "full_name": "acme/shop" }, "head_commit": { "message": "work" },
        "pull_requests": [{ "number": 7 }],
    });
    json!({ "action": "completed", "workflow_run": run, "sender": user })
}

/// The world in which that run's jobs ended like this, in its latest attempt.
fn with_jobs(ends: &[(&str, &str)]) -> World {
    let run = json!({ "id": RUN, "name": "CI", "workflowId": 3, "attempt": 1, "path": ".github/workflows/ci.yml", "event": "pull_request", "sha": HEAD,
        "branch": "topic", "status": "completed", "conclusion": "failure" });
    let jobs = ends.iter().zip(1_u64..).map(
        |((name, end), id)| json!({ "id": id, "run": RUN, "name": name, "status": "completed", "conclusion": end }),
    );
    let mut world = world();
    world.runs = vec![serde_json::from_value(run).expect("a run")];
    world.jobs = jobs.map(|job| serde_json::from_value(job).expect("a job")).collect();
    world
}

/// Runs where the tests pass; no model is to be asked.
fn run_in(world: World) -> (crate::world::program::Said, super::step::Job, World) {
    let github = FakeGitHub::start_in_real_time(world);
    let models = ModelServer::start(|_| Say::text("nobody asks").into());
    let job = job(&github, &models, "workflow_run", &red_ci());
    let project = Project::python();
    project.write(project.source, &project.read(project.source).replace(project.wrong, project.right));
    let said = job.run(&project);
    assert!(models.requests().is_empty(), "{}", said.all());
    (said, job, github.finish())
}

#[test]
fn red_ci_whose_tests_pass_here_is_never_called_green() {
    let (said, job, after) = run_in(with_jobs(&[("test", "success"), ("lint", "failure"), ("types", "timed_out")]));
    assert_eq!(said.code, 1, "{}", said.all());
    assert_eq!(job.outputs()["outcome"], "blocked");
    let [comment] = after.comments.as_slice() else { panic!("{:?}", after.comments) };
    let why = "lint, types failed in the workflow CI, and upshift did not run what failed there";
    for text in [&said.out, &comment.body] {
        assert!(text.contains("The tests pass here, but CI is red") && text.contains(why), "{text}");
        assert!(text.contains("python3 -m unittest -v && COMMAND"), "what to do: {text}");
        assert!(!text.contains("✔") && !text.contains("lready green") && !text.contains("Tier 1: blocked"), "{text}");
    }
}

#[test]
fn what_cannot_be_read_of_red_ci_is_as_red_as_the_event_says() {
    let mut world = with_jobs(&[]);
    world.token.lacks = vec!["actions=read".to_owned()];
    let (said, ..) = run_in(world);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.out.contains("the workflow CI failed, and upshift did not run what failed in it"), "{}", said.out);
}

#[test]
fn red_ci_that_was_run_again_and_is_green_by_now_is_green() {
    let (said, job, _) = run_in(with_jobs(&[("test", "success"), ("lint", "success"), ("docs", "skipped")]));
    assert_eq!((said.code, job.outputs()["outcome"].as_str()), (0, "already_green"), "{}", said.all());
    assert!(said.out.contains("✔ Already green"), "{}", said.out);
}
