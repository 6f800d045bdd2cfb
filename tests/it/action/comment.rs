//! The comment on the pull request: one, kept up to date beside the run, never in its way.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::gate::{HEAD, comment_by, labelled_by, world};
use super::step::{Job, replace_line};
use crate::world::github::{Comment, Effect, FakeGitHub, Fault, World};
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{KEY, Said};
use crate::world::project::Project;

const BOT: &str = "github-actions[bot]";
const MARKER: &str = "<!-- upshift:report key=upshift/ -->";

/// A job for an event of the pull request, against a GitHub.
pub(crate) fn job(github: &FakeGitHub, models: &ModelServer, event: &str, payload: &Value) -> Job {
    Job::new(&models.url())
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x1")
        .with("UPSHIFT_PUSH", "none")
        .with("GITHUB_EVENT_NAME", event)
        .with("GITHUB_WORKFLOW", "upshift")
        .with("GITHUB_API_URL", &github.url())
        .with("UPSHIFT_GITHUB_TOKEN", "t-0123456789")
        .event(payload)
}

fn mends() -> ModelServer {
    ModelServer::start(replace_line("sum(prices) - 1", "sum(prices)"))
}

/// Runs in a world where the model mends, does not, or does what the script says.
fn run_with(world: World, models: ModelServer, more: &[(&str, &str)]) -> (Said, World) {
    let github = FakeGitHub::start_in_real_time(world);
    let mut job = job(&github, &models, "pull_request", &labelled_by("ada"));
    for (name, value) in more {
        job = job.with(name, value);
    }
    let said = job.run(&Project::python());
    models.finish();
    (said, github.finish())
}

fn upstream() -> Value {
    let repository = json!({ "full_name": "acme/shop" });
    let user = json!({ "login": "ada", "type": "User" });
    let run = json!({ "id": 5, "run_attempt": 1, "name": "CI", "event": "pull_request", "conclusion": "failure", "actor": user,
        "triggering_actor": user, "head_sha": HEAD, "head_branch": "topic", "head_repository": repository, "pull_requests": [] });
    json!({ "action": "completed", "workflow_run": run, "sender": user })
}

#[test]
fn every_event_of_a_pull_request_keeps_the_same_comment() {
    let github = FakeGitHub::start_in_real_time(world());
    for (event, payload) in
        [("pull_request", labelled_by("ada")), ("issue_comment", comment_by("ada")), ("workflow_run", upstream())]
    {
        let (models, project) = (mends(), Project::python());
        let job = job(&github, &models, event, &payload).with("GITHUB_RUN_ID", "91");
        let job = job.with("UPSHIFT_MAX_ATTEMPTS_PER_PR", "9");
        let said = job.run(&project);
        assert_eq!(said.code, 0, "{event}: {}", said.all());
        let comments = github.world().comments.clone();
        let [comment] = comments.as_slice() else { panic!("{event}: {comments:?}") };
        assert_eq!((comment.author.as_str(), comment.issue), (BOT, 7), "{event}");
        assert!(comment.body.starts_with(MARKER), "{event}: {}", comment.body);
        assert!(comment.body.contains("\nFixed by Tier 1"), "{event}: {}", comment.body);
        assert!(comment.body.contains("/acme/shop/actions/runs/91)"), "{event}: {}", comment.body);
        let outputs = job.outputs();
        assert!(comment.body.contains(&outputs["run-id"]), "{event}: this run's report");
        let verified = job.call(&project, &["report", "--verify", "--audit-db", &outputs["audit-db"]]);
        let head = verified.out.split("head ").nth(1).expect("a head").trim().to_owned();
        assert!(comment.body.contains(&format!("hash chain: `{head}`")), "{head}: {}", comment.body);
        super::attempts::keep(&github, &job, 91);
        models.finish();
    }
    github.finish();
}

#[test]
fn it_says_what_the_run_is_at_while_it_is_under_way() {
    let github = Arc::new(FakeGitHub::start_in_real_time(world()));
    let seen = Arc::new(Mutex::new(String::new()));
    let (there, told) = (Arc::clone(&github), Arc::clone(&seen));
    let mut mend = replace_line("sum(prices) - 1", "sum(prices)");
    let models = ModelServer::start(move |request: &Request| {
        *told.lock().expect("a lock") = until(&there, |world| world.comments.first().map(|one| one.body.clone()));
        mend(request)
    });
    let said = job(&github, &models, "pull_request", &labelled_by("ada")).run(&Project::python());
    assert_eq!(said.code, 0, "{}", said.all());
    let body = seen.lock().expect("a lock").clone();
    assert!(body.contains("### ▶ Working: ") && body.contains("$0.00 of $2.00"), "{body}");
    models.finish();
    alone(github).finish();
}

/// What stands in the world once it does.
fn until<T>(github: &FakeGitHub, look: impl Fn(&World) -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = look(&github.world()) {
            return found;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "it never came to be");
        std::thread::yield_now();
    }
}

/// The fake, once nobody else holds it.
fn alone(github: Arc<FakeGitHub>) -> FakeGitHub {
    Arc::into_inner(github).expect("nobody else holds it")
}

/// What a run of yesterday left on the forge.
fn yesterday() -> World {
    let github = FakeGitHub::start_in_real_time(world());
    let models = mends();
    let job = job(&github, &models, "pull_request", &labelled_by("ada"));
    assert_eq!(job.run(&Project::python()).code, 0);
    super::attempts::keep(&github, &job, 77);
    models.finish();
    github.finish()
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_modes_say_when_a_comment_is_made_and_one_that_is_there_is_kept_true() {
    let fails = || ModelServer::start(replace_line("sum(prices) - 1", "sum(prices) - 2"));
    let older = || {
        let (mut world, yesterday) = (world(), yesterday());
        let body = yesterday.comments[0].body.replace("###", "### of yesterday:");
        world.comments = vec![Comment { body, ..yesterday.comments[0].clone() }];
        world.artifacts = yesterday.artifacts;
        world
    };
    let older = &older;
    for (mode, fixed, failed) in [("always", 1, 1), ("on-change", 1, 0), ("on-failure", 0, 1), ("off", 0, 0)] {
        let mode = [("UPSHIFT_COMMENT", mode)];
        let (said, after) = run_with(world(), mends(), &[("UPSHIFT_PUSH", "none"), mode[0]]);
        assert_eq!((said.code, after.comments.len()), (0, fixed), "{mode:?}: {}", said.all());
        let (said, after) = run_with(world(), fails(), &mode);
        assert_eq!((said.code, after.comments.len()), (1, failed), "{mode:?}: {}", said.all());
        let (_, after) = run_with(older(), mends(), &mode);
        let [comment] = after.comments.as_slice() else { panic!("{mode:?}: {:?}", after.comments) };
        assert_eq!(comment.body.contains("of yesterday"), mode[0].1 == "off", "{mode:?}: {}", comment.body);
    }
}

#[test]
fn somebody_elses_comment_is_left_and_ours_is_found_behind_many_pages() {
    let mut world = world();
    let comment = |id: u64, author: &str, body: &str| Comment {
        id,
        issue: 7,
        author: author.to_owned(),
        body: body.to_owned(),
        ..Comment::default()
    };
    let forged = format!("{MARKER}\nforged");
    world.comments = (1..=150).map(|id| comment(id, "eve", if id == 1 { &forged } else { "chat" })).collect();
    let yesterday = yesterday();
    world.comments.push(comment(151, BOT, &yesterday.comments[0].body.replace("Fixed", "")));
    world.artifacts = yesterday.artifacts;
    world.comments.extend((152..=260).map(|id| comment(id, "eve", "chat")));
    let (said, after) = run_with(world, mends(), &[]);
    assert_eq!((said.code, after.comments.len()), (0, 260), "{}", said.all());
    assert_eq!(after.comments[0].body, forged);
    assert!(after.comments[150].body.contains("Fixed by Tier 1"), "{}", after.comments[150].body);
}

#[test]
fn one_that_was_deleted_meanwhile_is_made_again() {
    let github = Arc::new(FakeGitHub::start_in_real_time(world()));
    let there = Arc::clone(&github);
    let mut mend = replace_line("sum(prices) - 1", "sum(prices)");
    let models = ModelServer::start(move |request: &Request| {
        if request.turn() == 0 {
            until(&there, |world| (!world.comments.is_empty()).then_some(()));
            there.world().comments.clear();
        }
        mend(request)
    });
    let said = job(&github, &models, "pull_request", &labelled_by("ada")).run(&Project::python());
    assert_eq!(said.code, 0, "{}", said.all());
    models.finish();
    let world = alone(github).finish();
    assert_eq!(world.comments.len(), 1);
    assert!(world.comments[0].body.contains("Fixed by Tier 1"));
}

#[test]
fn killed_after_it_was_made_also_when_its_answer_was_lost_a_resume_makes_no_second_one() {
    for lost in [false, true] {
        let mut world = world();
        if lost {
            world.faults = vec![Fault::once("POST", "/issues/7/comments", Effect::LoseAnswer)];
        }
        let github = Arc::new(FakeGitHub::start_in_real_time(world));
        let there = Arc::clone(&github);
        let mut mend = replace_line("sum(prices) - 1", "sum(prices)");
        let models = ModelServer::start(move |request: &Request| {
            until(&there, |world| (!world.comments.is_empty()).then_some(()));
            mend(request)
        });
        let project = Project::python();
        let job =
            job(&github, &models, "pull_request", &labelled_by("ada")).with("UPSHIFT_CRASH_AFTER", "call_settled:1");
        let killed = job.run(&project);
        assert_eq!(killed.code, -9, "{}", killed.all());
        let made = github.world().comments[0].id;
        let resumed = job.with("UPSHIFT_CRASH_AFTER", "").call(&project, &["resume"]);
        assert_eq!(resumed.code, 0, "{}", resumed.all());
        models.finish();
        let world = alone(github).finish();
        let [comment] = world.comments.as_slice() else { panic!("{lost}: {:?}", world.comments) };
        assert!(comment.id == made && comment.body.contains("Fixed by Tier 1"), "{lost}: {}", comment.body);
    }
}

#[test]
fn what_keeps_it_from_being_written_is_a_warning_with_its_fix() {
    let mut world = world();
    world.token.lacks = vec!["pull_requests=write".to_owned()];
    let (said, after) = run_with(world, mends(), &[]);
    assert_eq!((said.code, after.comments.len()), (0, 0), "{}", said.all());
    assert!(
        said.out.contains("comment is not up to date") && said.out.contains("pull-requests: write"),
        "{}",
        said.all()
    );
}

#[test]
fn without_a_pull_request_none_is_made_and_that_is_said_once() {
    let github = FakeGitHub::start_in_real_time(world());
    let models = mends();
    let job = job(&github, &models, "push", &json!({ "after": HEAD, "ref": "refs/heads/main" }));
    let said = job.with("GITHUB_REF", "refs/heads/main").run(&Project::python());
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(said.err.matches("There is no pull request to comment on").count(), 1, "{}", said.all());
    models.finish();
    assert!(github.finish().comments.is_empty());
}

/// The forge hangs at every comment: neither the run's iterations nor its end wait for it.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_forge_that_hangs_delays_neither_the_run_nor_the_end_after_a_signal() {
    let mut world = world();
    // The first look is the gate's, which has nothing to do before it knows.
    world.faults = vec![Fault { skip: 1, ..Fault::once("GET", "/issues/7/comments", Effect::Hang).times(1_000) }];
    let github = FakeGitHub::start_in_real_time(world);
    let (seen, pid) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None::<u32>)));
    let (told, program) = (Arc::clone(&seen), Arc::clone(&pid));
    let models = ModelServer::start(move |request: &Request| -> Scripted {
        if request.turn() == 2 {
            let pid = program.lock().expect("a lock").expect("it runs");
            *told.lock().expect("a lock") = Some(Instant::now());
            let killed = std::process::Command::new("kill").args(["-INT", &pid.to_string()]).status();
            assert!(killed.expect("kill").success());
        }
        Say::call("read_file", json!({ "path": "shop/cart.py", "start_line": request.turn() + 1 }))
            .usage(900, 40)
            .into()
    });
    let project = Project::python();
    let job = job(&github, &models, "pull_request", &labelled_by("ada"));
    let mut held = pid.lock().expect("a lock");
    let child = job.start(&project);
    *held = Some(child.id());
    drop(held);
    let said = Said::from(child.wait_with_output().expect("ended"));
    let after = seen.lock().expect("a lock").expect("a signal").elapsed();
    assert_eq!(said.code, 130, "{}", said.all());
    assert!(after < Duration::from_secs(7), "{after:?}: {}", said.all());
    assert!(said.out.contains("comment is not up to date: the Git host did not answer in time"), "{}", said.all());
    assert!(github.seen().iter().any(|seen| seen.path.contains("/issues/7/comments")), "it was tried");
    github.world().faults.clear();
    github.finish();
}

#[test]
fn what_a_model_says_pings_nobody_forges_nothing_and_keeps_no_secret() {
    let reason = format!("@acme/team see <!-- upshift:report key=x --> ```\n### Fixed {KEY} [x](https://evil.example)");
    let models = ModelServer::start(move |_request: &Request| -> Scripted {
        let report = json!({ "summary": "no", "status": "blocked", "reason": reason });
        Say::call("final_report", report).usage(900, 40).into()
    });
    let (said, after) = run_with(world(), models, &[]);
    assert_eq!(said.code, 1, "{}", said.all());
    let body = &after.comments[0].body;
    assert!(body.contains("@acme/team"), "it is quoted: {body}");
    assert!(!body.contains(KEY) && body.matches("<!-- upshift:report").count() == 1, "{body}");
    let outside = outside_of_code(body);
    assert!(!outside.contains("@acme") && !outside.contains("evil.example"), "only in code: {outside}");
}

/// What a reader of Markdown takes for words, links and HTML.
fn outside_of_code(markdown: &str) -> String {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
    let (mut words, mut in_code) = (String::new(), false);
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        in_code |= matches!(event, Event::Start(Tag::CodeBlock(_)));
        in_code &= !matches!(event, Event::End(TagEnd::CodeBlock));
        if let Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) = &event
            && !in_code
        {
            words.push_str(text);
        }
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = &event {
            words.push_str(dest_url);
        }
    }
    words
}
