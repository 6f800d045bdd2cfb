//! The gate from outside: the program in a job of an event, and a GitHub that is asked who may write.

use serde_json::{Value, json};

use super::step::{Job, replace_line};
use crate::world::github::{Commit, FakeGitHub, Pull, World};
use crate::world::model_server::ModelServer;
use crate::world::program::Said;
use crate::world::project::Project;

pub(super) const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";
const BASE: &str = "89abcdef0123456789abcdef0123456789abcdef";

/// acme/shop with pull request 7 by ada, who may write; eve may read.
pub(crate) fn world() -> World {
    let pairs =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let commit = |message: &str| Commit { message: message.to_owned(), ..Commit::default() };
    World {
        repository: "acme/shop".to_owned(),
        branches: pairs(&[("main", BASE), ("topic", HEAD)]),
        commits: [(HEAD.to_owned(), commit("work")), (BASE.to_owned(), commit("start"))].into(),
        roles: pairs(&[("ada", "write"), ("eve", "read")]),
        pulls: vec![Pull {
            number: 7,
            state: "open".to_owned(),
            author: "ada".to_owned(),
            head_branch: "topic".to_owned(),
            head_sha: HEAD.to_owned(),
            base_branch: "main".to_owned(),
            base_sha: BASE.to_owned(),
            ..Pull::default()
        }],
        ..World::default()
    }
}

fn user(login: &str) -> Value {
    json!({ "login": login, "type": if login.ends_with("[bot]") { "Bot" } else { "User" } })
}

pub(crate) fn labelled_by(login: &str) -> Value {
    let side = |branch: &str, sha: &str| json!({ "ref": branch, "sha": sha, "repo": { "full_name": "acme/shop" } });
    let pull = json!({ "number": 7, "head": side("topic", HEAD), "base": side("main", BASE), "labels": [] });
    json!({ "action": "labeled", "pull_request": pull, "sender": user(login) })
}

pub(super) fn comment_by(login: &str) -> Value {
    let comment = json!({ "id": 9, "body": "/upshift fix", "user": user(login) });
    json!({ "action": "created", "issue": { "number": 7, "pull_request": {} }, "comment": comment, "sender": user(login) })
}

/// Runs for an event against a world; the world is checked for what it was asked.
fn run(world: World, event: &str, payload: &Value, token: &str) -> (Said, Job, usize) {
    run_in(&Project::python(), world, event, payload, token)
}

fn run_in(project: &Project, world: World, event: &str, payload: &Value, token: &str) -> (Said, Job, usize) {
    let github = FakeGitHub::start_in_real_time(world);
    let server = ModelServer::start(replace_line("sum(prices) - 1", "sum(prices)"));
    let job = Job::new(&server.url())
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x1")
        .with("UPSHIFT_PUSH", "none")
        .with("UPSHIFT_COMMENT", "off")
        .with("GITHUB_EVENT_NAME", event)
        .with("GITHUB_API_URL", &github.url())
        .with("UPSHIFT_GITHUB_TOKEN", token)
        .event(payload);
    let said = job.run(project);
    let asked = github.seen().len();
    github.finish();
    let calls = server.requests().len();
    assert_eq!(calls > 0, said.code == 0, "a model is asked only where the gate is open: {}", said.all());
    (said, job, asked)
}

#[test]
fn somebody_who_may_write_is_let_in_by_an_event_and_by_a_comment() {
    let (said, job, _) = run(world(), "pull_request", &labelled_by("ada"), "t-0123456789");
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(job.outputs()["pr-number"], "7");
    let (said, _, _) = run(world(), "issue_comment", &comment_by("ada"), "t-0123456789");
    assert_eq!(said.code, 0, "{}", said.all());
}

#[test]
fn each_refusal_says_why_in_the_log_and_the_summary_and_exits_6() {
    let skip = || {
        let mut world = world();
        world.pulls[0].labels = vec!["upshift:skip".to_owned()];
        world
    };
    let moved = || {
        let mut world = world();
        world.branches.insert("topic".to_owned(), BASE.to_owned());
        world.pulls[0].head_sha = BASE.to_owned();
        world
    };
    let fork = || {
        let mut world = world();
        world.pulls[0].head_repository = "mallory/shop".to_owned();
        world
    };
    let table: [(World, &str, Value, &str, &str); 6] = [
        (world(), "issue_comment", comment_by("eve"), "t-0123456789", "eve may not write to acme/shop"),
        (world(), "pull_request", labelled_by("renovate[bot]"), "t-0123456789", "the bot renovate[bot]"),
        (world(), "pull_request", labelled_by("ada"), "", "there is no token"),
        (skip(), "issue_comment", comment_by("ada"), "t-0123456789", "the label `upshift:skip`"),
        (moved(), "pull_request", labelled_by("ada"), "t-0123456789", "moved since this was triggered"),
        (fork(), "issue_comment", comment_by("ada"), "t-0123456789", "the fork mallory/shop"),
    ];
    for (world, event, payload, token, why) in table {
        let (said, job, _) = run(world, event, &payload, token);
        assert_eq!(said.code, 6, "{}", said.all());
        assert!(said.err.contains(why), "{why}: {}", said.all());
        assert!(job.text("summary").contains(why), "{why}: {}", job.text("summary"));
        assert_eq!(job.outputs()["outcome"], "refused");
    }
}

/// Runs `upshift gate` in a job without a key, in an empty folder.
fn ask_gate(world: World, event: &str, payload: &Value, token: &str) -> (Said, Job) {
    let github = FakeGitHub::start_in_real_time(world);
    let job = Job::new("http://127.0.0.1:1")
        .with("ANTHROPIC_API_KEY", "")
        .with("GITHUB_EVENT_NAME", event)
        .with("GITHUB_API_URL", &github.url())
        .with("GITHUB_SHA", BASE)
        .with("UPSHIFT_GITHUB_TOKEN", token)
        .event(payload);
    let empty = tempfile::tempdir().expect("a folder");
    let said = job.program().run(empty.path(), &["gate"]);
    assert_eq!(std::fs::read_dir(empty.path()).expect("a folder").count(), 0, "it leaves nothing");
    github.finish();
    (said, job)
}

#[test]
fn before_the_checkout_the_gate_says_go_and_which_commit_without_a_key() {
    for (event, payload) in [("pull_request", labelled_by("ada")), ("issue_comment", comment_by("ada"))] {
        let (said, job) = ask_gate(world(), event, &payload, "t-0123456789");
        assert_eq!(said.code, 0, "{}", said.all());
        let outputs = job.outputs();
        assert_eq!((outputs["go"].as_str(), outputs["head-sha"].as_str()), ("true", HEAD), "{outputs:?}");
        assert_eq!(outputs["reason"], "");
    }
    let (said, job) = ask_gate(world(), "workflow_dispatch", &json!({}), "");
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!((job.outputs()["go"].as_str(), job.outputs()["head-sha"].as_str()), ("true", BASE));
}

#[test]
fn where_the_gate_is_closed_it_says_so_and_why_and_names_no_commit() {
    let mut fork = world();
    fork.pulls[0].head_repository = "mallory/shop".to_owned();
    let table = [
        (world(), "issue_comment", comment_by("eve"), "t-0123456789", "eve may not write to acme/shop"),
        (fork, "issue_comment", comment_by("ada"), "t-0123456789", "the fork mallory/shop"),
        (world(), "pull_request", labelled_by("ada"), "", "there is no token"),
        (world(), "pull_request_target", labelled_by("ada"), "t-0123456789", "`pull_request_target` runs with"),
    ];
    for (world, event, payload, token, why) in table {
        let (said, job) = ask_gate(world, event, &payload, token);
        let outputs = job.outputs();
        assert_eq!((outputs["go"].as_str(), outputs["head-sha"].as_str()), ("false", ""), "{}", said.all());
        assert!(outputs["reason"].contains(why), "{why}: {outputs:?}");
        assert!(said.err.contains(why) && job.text("summary").contains(why), "{}", said.all());
    }
}

#[test]
fn a_head_that_moved_between_the_gate_and_the_run_is_refused() {
    let github = FakeGitHub::start_in_real_time(world());
    let job = Job::new("http://127.0.0.1:1")
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x1")
        .with("GITHUB_EVENT_NAME", "issue_comment")
        .with("GITHUB_API_URL", &github.url())
        .with("UPSHIFT_GITHUB_TOKEN", "t-0123456789")
        .with("UPSHIFT_HEAD_SHA", BASE)
        .event(&comment_by("ada"));
    let said = job.run(&Project::python());
    github.finish();
    assert!(said.err.contains("moved since this was triggered"), "{}", said.all());
    assert_eq!(job.outputs()["outcome"], "refused");
}

#[test]
fn the_gate_asks_few_questions() {
    let (_, _, asked) = run(world(), "pull_request", &labelled_by("ada"), "t-0123456789");
    assert!(
        asked <= 7,
        "for the person, the pull request, its head; who we are, our comment, its log; one look for commands: {asked}"
    );
}

#[test]
fn a_pull_requests_checkout_configures_nothing() {
    let project = Project::python();
    project.write(".github/upshift.yml", "providers: { anthropic: { baseUrl: \"http://127.0.0.1:1/hostile\" } }\n");
    let (said, _, _) = run_in(&project, world(), "pull_request", &labelled_by("ada"), "t-0123456789");
    assert_eq!(said.code, 0, "the hostile base URL is not used: {}", said.all());
    assert!(said.err.contains(".github/upshift.yml was not read"), "{}", said.all());
}
