//! A job that red CI started, where the tests pass: CI is not called green because upshift looked at something else.

use serde_json::{Value, json};

use super::comment::job;
use super::gate::{HEAD, comment_by, labelled_by, world};
use super::step::replace_line;
use crate::world::github::{FakeGitHub, World};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say};
use crate::world::program::Program;
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
    // As in a job of ours: it is not asked for more than it needs.
    world.token.lacks = vec!["actions=write".to_owned()];
    world.jobs = jobs.map(|job| serde_json::from_value(job).expect("a job")).collect();
    world
}

/// The same where the workflow of the base has the step that failed in `lint`.
fn with_step(step: &str) -> World {
    let mut world = with_jobs(&[("test", "success"), ("lint", "failure")]);
    world.jobs[1].failed_step = Some(format!("Run {step}"));
    let workflow = format!(
        "on: pull_request\njobs:\n  test:\n    steps: [{{ run: make test }}]\n  lint:\n    steps:\n      - run: {step}\n"
    );
    let base = world.branches["main"].clone();
    world.files.insert(format!("{base}:.github/workflows/ci.yml"), workflow.clone());
    world.files.insert("main:.github/workflows/ci.yml".to_owned(), workflow);
    world
}

/// Where the tests pass, and a check that CI makes does not.
fn unclean() -> Project {
    const LINT: &str = "if grep -n 'sum(prices)$' shop/cart.py >/dev/null; then\n  echo 'shop/cart.py:2:12: C999 name the start of the sum'\n  \
                        echo 'Found 1 error.'\n  exit 1\nfi\necho 'All checks passed!'\n";
    let project = Project::python();
    project.write(project.source, &project.read(project.source).replace(project.wrong, project.right));
    project.write("lint.sh", LINT);
    project
}

/// Runs where the tests pass; no model is to be asked.
fn run_in(world: World) -> (crate::world::program::Said, super::step::Job, World) {
    run_by("workflow_run", &red_ci(), world)
}

/// The same by any event.
fn run_by(event: &str, payload: &Value, world: World) -> (crate::world::program::Said, super::step::Job, World) {
    let github = FakeGitHub::start_in_real_time(world);
    let models = ModelServer::start(|_| Say::text("nobody asks").into());
    let job = job(&github, &models, event, payload);
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
        assert!(text.contains("name its command under"), "what to do: {text}");
        assert!(!text.contains("✔") && !text.contains("lready green") && !text.contains("Tier 1: blocked"), "{text}");
    }
}

/// A person asked for a run, and no event tells that CI is red.
#[test]
fn red_ci_is_seen_where_a_person_asked_too() {
    for (event, payload) in [("issue_comment", comment_by("ada")), ("pull_request", labelled_by("ada"))] {
        let (said, job, after) = run_by(event, &payload, with_jobs(&[("test", "success"), ("lint", "failure")]));
        assert_eq!((said.code, job.outputs()["outcome"].as_str()), (1, "blocked"), "{event}: {}", said.all());
        let [comment] = after.comments.as_slice() else { panic!("{:?}", after.comments) };
        assert!(comment.body.contains("lint failed in the workflow CI"), "{event}: {}", comment.body);
        assert!(!comment.body.contains("lready green"), "{event}: {}", comment.body);
        // A newer run of the same workflow is what counts.
        let mut green = with_jobs(&[("test", "success"), ("lint", "failure")]);
        let mut newer = green.runs[0].clone();
        (newer.id, newer.conclusion) = (RUN + 1, Some("success".to_owned()));
        green.runs.push(newer);
        let (said, job, _) = run_by(event, &payload, green);
        assert_eq!((said.code, job.outputs()["outcome"].as_str()), (0, "already_green"), "{event}: {}", said.all());
    }
}

#[test]
fn what_cannot_be_read_of_red_ci_is_as_red_as_the_event_says() {
    let mut world = with_jobs(&[]);
    world.token.lacks.push("actions=read".to_owned());
    let (said, ..) = run_in(world);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.out.contains("the workflow CI failed, and upshift did not run what failed there"), "{}", said.out);
}

#[test]
fn red_ci_that_was_run_again_and_is_green_by_now_is_green() {
    let (said, job, _) = run_in(with_jobs(&[("test", "success"), ("lint", "success"), ("docs", "skipped")]));
    assert_eq!((said.code, job.outputs()["outcome"].as_str()), (0, "already_green"), "{}", said.all());
    assert!(said.out.contains("✔ Already green"), "{}", said.out);
}

#[test]
fn where_the_token_may_do_so_what_failed_runs_once_more_before_anybody_is_paid() {
    let mut world = with_jobs(&[("test", "success"), ("lint", "failure")]);
    world.token.lacks.clear();
    let (said, job, after) = run_in(world);
    assert_eq!((said.code, job.outputs()["outcome"].as_str()), (0, "parked"), "{}", said.all());
    assert_eq!((after.runs[0].attempt, after.runs[0].status.as_str()), (2, "queued"));
    let [comment] = after.comments.as_slice() else { panic!("{:?}", after.comments) };
    for text in [&said.out, &comment.body] {
        assert!(text.contains("lint failed in the workflow CI, and runs once more"), "{text}");
        assert!(text.contains("or `/upshift retry` starts a run"), "{text}");
    }
    // No event would find this run: nothing is said to wait.
    assert!(!comment.body.contains(" standing="), "{}", comment.body);
}

#[test]
fn where_it_runs_once_more_already_nobody_is_paid_either() {
    let mut world = with_jobs(&[("test", "success"), ("lint", "failure")]);
    world.token.lacks.clear();
    "in_progress".clone_into(&mut world.runs[0].status);
    let (said, job, after) = run_in(world);
    assert_eq!((said.code, job.outputs()["outcome"].as_str()), (0, "parked"), "{}", said.all());
    assert_eq!(after.runs[0].attempt, 1);
}

#[test]
fn what_failed_in_ci_and_runs_here_is_mended_beside_the_tests() {
    let github = FakeGitHub::start_in_real_time(with_step("sh lint.sh"));
    let models = ModelServer::start(replace_line("sum(prices)", "sum(prices, 0)"));
    let (court, sits) = Program::WITH_COURT;
    let job = job(&github, &models, "workflow_run", &red_ci()).with(court, sits);
    let project = unclean();
    let said = job.run(&project);
    assert_eq!((said.code, job.outputs()["outcome"].as_str()), (0, "fixed"), "{}", said.all());
    assert!(project.read("shop/cart.py").contains("sum(prices, 0)"), "{}", said.all());
    let told = models.requests()[0].all_text();
    assert!(told.contains("C999 name the start of the sum") && told.contains("sh lint.sh"), "{told}");
    // No push was needed to know: the fault was put back, and the check found it again.
    let court = Log::open(&job.file("temp/upshift/audit.db"))
        .value("SELECT body FROM events WHERE kind = 'evidence_gathered' ORDER BY seq DESC LIMIT 1");
    let court: Value = serde_json::from_str(&court).expect("JSON");
    assert!(court.to_string().contains(r#""evidence":"planted""#), "{court}");
    let why = "the tests pass here, but lint failed in the workflow CI; run beside them from now on: `(bash -ec 'sh lint.sh')`";
    assert!(said.all().contains(why), "{}", said.all());
    models.finish();
    github.finish();
}

#[test]
fn the_sixth_job_that_failed_is_run_here_too_and_those_that_are_not_are_counted() {
    let mut world = with_step("sh lint.sh");
    let lint = world.jobs.pop().expect("a job");
    for number in 0..7 {
        let mut job = lint.clone();
        (job.id, job.name, job.failed_step) = (100 + number, format!("leg {number}"), None);
        world.jobs.push(job);
    }
    world.jobs.push(lint);
    let github = FakeGitHub::start_in_real_time(world);
    let models = ModelServer::start(replace_line("sum(prices)", "sum(prices, 0)"));
    let job = job(&github, &models, "workflow_run", &red_ci());
    let said = job.run(&unclean());
    let why = "leg 0, leg 1, leg 2, leg 3, leg 4 and 3 more failed in the workflow CI; run beside them from now on: \
               `(bash -ec 'sh lint.sh')`";
    assert!(said.all().contains(why), "{}", said.all());
    assert!(said.all().contains("; 2 more are not run here"), "{}", said.all());
    assert!(models.requests()[0].all_text().contains("C999 name the start of the sum"), "{}", said.all());
    // Nothing was pushed, so that nobody knows of those.
    let [comment] = &github.finish().comments[..] else { panic!("one comment: {}", said.all()) };
    for text in [&said.out, &comment.body] {
        let seen = text.replace(['\n', '`'], " ").replace("  ", " ");
        let unseen = "upshift did not run what is red in CI: leg 0, leg 1, leg 2 and 4 more";
        assert!(seen.contains(unseen) && !seen.contains("✔ 1 test fixed"), "{text}");
    }
    models.finish();
}

/// The commonest red pull request: its tests fail, and so does something else.
#[test]
fn what_is_red_beside_tests_that_fail_here_is_named_with_the_fix() {
    let mut world = with_step("sh lint.sh");
    world.jobs[0].conclusion = Some("failure".to_owned());
    world.jobs[0].failed_step = Some("Run make test".to_owned());
    let github = FakeGitHub::start_in_real_time(world);
    let project = Project::python();
    let models = ModelServer::start(replace_line(project.wrong, project.right));
    let job = job(&github, &models, "workflow_run", &red_ci());
    let said = job.run(&project);
    assert_eq!((said.code, job.outputs()["outcome"].as_str()), (0, "fixed"), "{}", said.all());
    let first = said.out.lines().find(|line| line.contains("1 test fixed")).expect("a first line");
    assert!(
        first.starts_with('⚠') && first.contains("upshift did not run what is red in CI: ") && first.contains("lint"),
        "{first}"
    );
    models.finish();
    github.finish();
}

#[test]
fn the_check_that_judges_is_not_the_models_to_change() {
    let github = FakeGitHub::start_in_real_time(with_step("sh lint.sh"));
    let models = ModelServer::start(|request: &Request| match request.turn() {
        0 => {
            let edit = json!({ "path": "lint.sh", "old_text": "exit 1", "new_text": "exit 0" });
            Say::call("edit_file", edit).usage(900, 40).into()
        }
        _ => Say::call("final_report", json!({ "summary": "quiet", "status": "done" })).usage(900, 40).into(),
    });
    let job = job(&github, &models, "workflow_run", &red_ci());
    let project = unclean();
    let said = job.run(&project);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(project.read("lint.sh").contains("exit 1"), "{}", said.all());
    let answered = models.requests().last().expect("two turns").all_text();
    assert!(answered.contains("lint.sh") && answered.contains("protected"), "{answered}");
    github.finish();
}

#[test]
fn a_check_that_passes_or_does_not_work_here_is_told_with_what_was_seen() {
    for (step, seen) in [
        ("sh -n lint.sh", "what failed there passes here: `(bash -ec 'sh -n lint.sh')`"),
        (
            "python3 -c \"import urllib.request; urllib.request.urlopen('https://lint.invalid/rules')\"",
            "does not work here: it needs the network, a service or something of the machine",
        ),
        ("no-such-linter .", "the check lint (`(bash -ec 'no-such-linter .')`) does not work here: "),
    ] {
        let github = FakeGitHub::start_in_real_time(with_step(step));
        let models = ModelServer::start(|_| Say::text("nobody asks").into());
        let job = job(&github, &models, "workflow_run", &red_ci());
        let said = job.run(&unclean());
        assert_eq!((said.code, job.outputs()["outcome"].as_str()), (1, "blocked"), "{step}: {}", said.all());
        assert!(
            said.out.contains("The tests pass here, but CI is red") && said.out.contains(seen),
            "{step}: {}",
            said.out
        );
        assert!(models.requests().is_empty(), "{step}");
        github.finish();
    }
}

/// The step that failed is the very command of the tests: one run of that says all.
#[test]
fn a_step_that_is_the_test_command_is_not_run_beside_itself() {
    let project = unclean();
    let said = {
        let github = FakeGitHub::start_in_real_time(with_step(project.test_command));
        let models = ModelServer::start(|_| Say::text("nobody asks").into());
        let job = job(&github, &models, "workflow_run", &red_ci());
        let said = job.run(&project);
        assert_eq!((said.code, job.outputs()["outcome"].as_str()), (1, "blocked"), "{}", said.all());
        assert!(models.requests().is_empty(), "{}", said.all());
        github.finish();
        said
    };
    assert!(!said.all().contains("run beside them from now on"), "{}", said.all());
    let why = format!("what failed there passes here: `(bash -ec '{}')`", project.test_command);
    assert!(said.out.contains(&why) && !said.out.contains("is not run here"), "{}", said.all());
}
