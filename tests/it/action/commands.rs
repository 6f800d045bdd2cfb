//! Commands in comments: a running job reads them between iterations and while it waits, obeys each once, and answers.

use std::sync::Arc;

use serde_json::{Value, json};

use super::comment::job;
use super::gate::{comment_by, labelled_by, world};
use super::step::Job;
use crate::world::github::{Comment, Effect, FakeGitHub, Fault, World};
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::Said;
use crate::world::project::Project;

/// The events of a job for a pull request after which a run is killed and resumed here.
pub(crate) const KILLS: [&str; 2] = ["attempt_counted:1", "command_answered:1"];

/// A day after the world began: later than any moment of a test.
const LATER_MS: u64 = 86_400_000;

/// A world in which ada may write, max may change settings, and eve may read.
fn people() -> World {
    let mut world = world();
    world.roles.insert("max".to_owned(), "maintain".to_owned());
    world
}

/// Somebody comments while a run is under way.
fn comment(github: &FakeGitHub, author: &str, body: &str) -> u64 {
    let mut world = github.world();
    let id = world.new_id();
    let (author, body) = (author.to_owned(), body.to_owned());
    let at = LATER_MS + id;
    world.comments.push(Comment { id, issue: 7, author, body, created_ms: at, updated_ms: at, ..Comment::default() });
    id
}

struct Ran {
    said: Said,
    world: World,
    models: Vec<String>,
    project: Project,
    job: Job,
}

/// A run whose models never mend anything, while somebody comments in the course of the first iteration.
fn run_while(world: World, more: &[(&str, &str)], during: impl Fn(&FakeGitHub) -> u64 + Send + 'static) -> Ran {
    let github = Arc::new(FakeGitHub::start_in_real_time(world));
    let there = Arc::clone(&github);
    let mut calls = 0;
    let models = ModelServer::start(move |request: &Request| -> Scripted {
        calls += 1;
        if calls == 1 {
            during(&there);
        }
        let (old, new) = (format!("sum(prices) - {calls}"), format!("sum(prices) - {}", calls + 2));
        match request.turn() {
            0 => Say::call("edit_file", json!({ "path": "shop/cart.py", "old_text": old, "new_text": new }))
                .usage(900, 40)
                .into(),
            _ => Say::call("final_report", json!({ "summary": "no", "status": "done" })).usage(900, 40).into(),
        }
    });
    let mut job = job(&github, &models, "pull_request", &labelled_by("ada"))
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x2 > claude-sonnet-4-5 x1");
    for (name, value) in more {
        job = job.with(name, value);
    }
    let project = Project::python();
    let said = job.run(&project);
    let asked = models.requests();
    let asked = asked.iter().map(|request| request.body["model"].as_str().unwrap_or_default().to_owned()).collect();
    models.finish();
    let world = Arc::into_inner(github).expect("nobody else holds it").finish();
    Ran { said, world, models: asked, project, job }
}

fn iterations(ran: &Ran) -> String {
    ran.job.outputs()["iterations"].clone()
}

/// Who reacted how to a comment.
fn reactions(world: &World) -> Vec<&str> {
    world.reactions.iter().map(|reaction| reaction.content.as_str()).collect()
}

fn report(world: &World) -> &str {
    world.comments.iter().find(|one| one.body.starts_with("<!--")).map_or("", |one| one.body.as_str())
}

#[test]
fn stop_ends_the_run_after_the_iteration_under_way() {
    let ran = run_while(people(), &[], |github| comment(github, "ada", "/upshift stop"));
    assert_eq!(ran.said.code, 1, "{}", ran.said.all());
    assert_eq!((iterations(&ran).as_str(), reactions(&ran.world)), ("1", vec!["+1"]), "{}", ran.said.all());
    assert!(ran.said.out.contains("ada stopped the run by a comment"), "{}", ran.said.out);
    assert!(report(&ran.world).contains("`ada`: `/upshift stop` — the run ends"), "{}", report(&ran.world));
    assert!(ran.project.read("shop/cart.py").contains("- 1"), "the start is restored");
}

/// No more runs on this pull request: that holds for the one under way, too.
#[test]
fn the_skip_label_ends_the_run_after_the_iteration_under_way() {
    let ran = run_while(people(), &[], |github| {
        github.world().pulls[0].labels.push("Upshift:Skip".to_owned());
        0
    });
    assert_eq!((ran.said.code, iterations(&ran).as_str()), (1, "1"), "{}", ran.said.all());
    assert_eq!(ran.job.outputs()["outcome"], "blocked", "{}", ran.said.all());
    for text in [ran.said.out.as_str(), report(&ran.world)] {
        assert!(text.contains("Stopped in Tier 1"), "{text}");
        assert!(text.contains("upshift:skip` was put on pull request #7 meanwhile"), "{text}");
        assert!(text.contains("Otherwise take the label off and comment `/upshift retry`"), "the next step: {text}");
    }
    assert!(ran.project.read("shop/cart.py").contains("- 1"), "the start is restored");
}

#[test]
fn a7_stop_lets_the_model_at_work_report_and_what_it_did_is_judged() {
    let github = Arc::new(FakeGitHub::start_in_real_time(people()));
    let there = Arc::clone(&github);
    let mut calls = 0;
    let looks =
        |github: &FakeGitHub| github.seen().iter().filter(|seen| seen.path.contains("/collaborators/ada")).count();
    let mut before = 0;
    let models = ModelServer::start(move |request: &Request| -> Scripted {
        calls += 1;
        match calls {
            1 => {
                comment(&there, "ada", "/upshift stop");
                before = looks(&there);
                // The pause moves the clock on, so that it is time to look for comments.
                Scripted::status(429, "{}").header("retry-after", "20")
            }
            2 => {
                let began = std::time::Instant::now();
                while looks(&there) == before && began.elapsed().as_secs() < 60 {
                    std::thread::yield_now();
                }
                let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
                Say::call("edit_file", edit).usage(900, 40).into()
            }
            // It is asked for its report once the answer about who commented is there, in the next turn or the one after.
            3..20 if !request.body.to_string().contains("This is your last turn") => {
                Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(900, 40).into()
            }
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(900, 40).into(),
        }
    });
    let job = job(&github, &models, "pull_request", &labelled_by("ada")).with("UPSHIFT_TIERS", "claude-haiku-4-5 x2");
    let project = Project::python();
    let said = job.run(&project);
    let last = models.requests().last().expect("a request").body.to_string();
    assert!(last.contains("This is your last turn"), "{last}");
    models.finish();
    assert_eq!(said.code, 0, "what it did is green, and stays: {}", said.all());
    assert!(project.read("shop/cart.py").contains("return sum(prices)\n"));
    drop(Arc::into_inner(github).expect("nobody else holds it").finish());
}

#[test]
fn escalate_goes_on_with_the_next_tier() {
    let ran = run_while(people(), &[], |github| comment(github, "ada", "/upshift escalate"));
    assert_eq!(iterations(&ran), "2", "one in each tier: {}", ran.said.all());
    assert!(
        ran.models[0].contains("haiku") && ran.models.last().expect("a call").contains("sonnet"),
        "{:?}",
        ran.models
    );
    assert_eq!(reactions(&ran.world), ["+1"]);
}

#[test]
fn add_allows_more_iterations() {
    let ran = run_while(people(), &[("UPSHIFT_TIERS", "claude-haiku-4-5 x2")], |github| {
        comment(github, "ada", "/upshift add 1")
    });
    assert_eq!((iterations(&ran).as_str(), reactions(&ran.world)), ("3", vec!["+1"]), "{}", ran.said.all());
    assert!(report(&ran.world).contains("| 3 of 3 |"), "{}", report(&ran.world));
}

#[test]
fn the_budget_is_raised_by_who_may_change_settings_alone() {
    for (who, reaction, cap) in [("max", "+1", "$3.00"), ("ada", "-1", "$2.00")] {
        let ran = run_while(people(), &[], move |github| comment(github, who, "/upshift budget +1"));
        assert_eq!(reactions(&ran.world), [reaction], "{who}: {}", ran.said.all());
        assert!(report(&ran.world).contains(&format!(" of {cap}, ")), "{who}: {}", report(&ran.world));
    }
}

#[test]
fn strangers_bots_and_what_is_no_command_change_nothing() {
    let ran = run_while(people(), &[], |github| {
        comment(github, "eve", "/upshift stop");
        comment(github, "dependabot[bot]", "/upshift stop");
        comment(github, "ada", "please\n/upshift stop");
        comment(github, "ada", "> /upshift stop");
        comment(github, "ada", "/upshift stop --now");
        comment(github, "ada", "/upshift retry");
        let edited = comment(github, "ada", "/upshift stop");
        github.world().comments.iter_mut().filter(|one| one.id == edited).for_each(|one| one.updated_ms += 60_000);
        edited
    });
    assert_eq!(iterations(&ran), "3", "{}", ran.said.all());
    assert_eq!(reactions(&ran.world), ["confused", "eyes", "confused"], "{}", ran.said.all());
    let report = report(&ran.world);
    assert!(
        report.contains("not a command that upshift knows") && report.contains("edited comments are ignored"),
        "{report}"
    );
    assert!(!report.contains("`eve`") && !report.contains("dependabot"), "{report}");
}

#[test]
fn a_command_is_obeyed_once_also_over_a_kill_and_a_resume() {
    KILLS.iter().for_each(|crash| killed_and_resumed(crash));
}

fn killed_and_resumed(crash: &str) {
    let github = Arc::new(FakeGitHub::start_in_real_time(people()));
    let there = Arc::clone(&github);
    let mut calls = 0;
    let models = ModelServer::start(move |request: &Request| -> Scripted {
        calls += 1;
        if calls == 1 {
            comment(&there, "ada", "/upshift add 1");
        }
        let (old, new) = (format!("sum(prices) - {calls}"), format!("sum(prices) - {}", calls + 2));
        match request.turn() {
            0 => Say::call("edit_file", json!({ "path": "shop/cart.py", "old_text": old, "new_text": new }))
                .usage(900, 40)
                .into(),
            _ => Say::call("final_report", json!({ "summary": "no", "status": "done" })).usage(900, 40).into(),
        }
    });
    let job = job(&github, &models, "pull_request", &labelled_by("ada"))
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x2")
        .with("UPSHIFT_CRASH_AFTER", crash);
    let project = Project::python();
    let killed = job.run(&project);
    assert_eq!(killed.code, -9, "{}", killed.all());
    let job = job.with("UPSHIFT_CRASH_AFTER", "");
    let resumed = job.call(&project, &["resume"]);
    assert_eq!(resumed.code, 1, "{}", resumed.all());
    assert_eq!(job.outputs()["iterations"], "3", "one more than two: {}", resumed.all());
    models.finish();
    let world = Arc::into_inner(github).expect("nobody else holds it").finish();
    assert!(report(&world).contains("| 3 of 3 |"), "{}", report(&world));
}

#[test]
fn a_forge_that_hangs_costs_a_look_two_seconds_and_no_more() {
    let mut world = people();
    world.faults = vec![Fault::once("GET", "since=", Effect::Hang).times(1_000)];
    let since = std::time::Instant::now();
    let github = FakeGitHub::start_in_real_time(world);
    let models = ModelServer::start(super::step::replace_line("sum(prices) - 1", "sum(prices)"));
    let said = job(&github, &models, "pull_request", &labelled_by("ada")).run(&Project::python());
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(since.elapsed() < std::time::Duration::from_secs(20), "{:?}", since.elapsed());
    assert!(said.out.contains("commands in comments could not be read"), "{}", said.all());
    models.finish();
    github.world().faults.clear();
    github.finish();
}

/// A job that a comment triggered.
fn triggered(body: &str, world: World) -> (Said, World, usize) {
    let github = FakeGitHub::start_in_real_time(world);
    let models = ModelServer::start(super::step::replace_line("sum(prices) - 1", "sum(prices)"));
    let mut payload: Value = comment_by("ada");
    payload["comment"]["body"] = json!(body);
    let job = job(&github, &models, "issue_comment", &payload)
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x1 > claude-sonnet-4-5 x1");
    let said = job.run(&Project::python());
    let calls = models.requests().len();
    models.finish();
    (said, github.finish(), calls)
}

#[test]
fn a_job_that_a_comment_started_does_what_the_comment_says() {
    for (body, reaction, calls) in [
        ("/upshift", "eyes", 2),
        ("/upshift fix", "eyes", 2),
        ("/upshift retry", "eyes", 2),
        ("/upshift escalate", "eyes", 2),
        ("/upshift stop", "confused", 0),
        ("/upshift add 3", "confused", 0),
        ("/upshift nonsense", "confused", 0),
    ] {
        let (said, world, asked) = triggered(body, people());
        assert_eq!((said.code, asked), (0, calls), "{body}: {}", said.all());
        assert_eq!(reactions(&world), [reaction], "{body}: {}", said.all());
        assert_eq!(world.comments.len(), usize::from(calls > 0), "{body}");
        if body.ends_with("escalate") {
            assert!(said.out.contains("Tier 2"), "{}", said.all());
        }
    }
}

/// While a run is under way, each command also starts a job, which waits behind it.
#[test]
fn a_comment_that_the_run_before_answered_starts_nothing() {
    let github = FakeGitHub::start_in_real_time(people());
    let models = ModelServer::start(super::step::replace_line("sum(prices) - 1", "sum(prices)"));
    let mut payload = comment_by("ada");
    payload["comment"]["body"] = json!("/upshift escalate");
    let first = job(&github, &models, "issue_comment", &payload);
    assert_eq!(first.run(&Project::python()).code, 0);
    super::attempts::keep(&github, &first, 77);
    let calls = models.requests().len();
    let again = job(&github, &models, "issue_comment", &payload).run(&Project::python());
    assert_eq!((again.code, models.requests().len()), (0, calls), "{}", again.all());
    assert!(again.err.contains("an earlier run has answered"), "{}", again.all());
    models.finish();
    github.finish();
}
