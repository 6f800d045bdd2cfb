//! The gate from outside: the program in a job of an event, and a GitHub that is asked who may write.

use serde_json::{Value, json};

use super::step::{Job, replace_line};
use crate::world::github::{Commit, FakeGitHub, Pull, World};
use crate::world::model_server::ModelServer;
use crate::world::program::{Program, Said};
use crate::world::project::Project;

pub(super) const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";
pub(super) const BASE: &str = "89abcdef0123456789abcdef0123456789abcdef";

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
    let more = [("UPSHIFT_GITHUB_TOKEN", token)];
    let (said, job, seen) = run_with_in(project, world, event, payload, &more);
    (said, job, seen.len())
}

/// The same with more variables, and what was asked.
pub(super) fn run_with(world: World, event: &str, payload: &Value, more: &[(&str, &str)]) -> (Said, Job, Vec<String>) {
    run_with_in(&Project::python(), world, event, payload, more)
}

pub(super) fn run_with_in(
    project: &Project,
    world: World,
    event: &str,
    payload: &Value,
    more: &[(&str, &str)],
) -> (Said, Job, Vec<String>) {
    let github = FakeGitHub::start_in_real_time(world);
    let server = ModelServer::start(replace_line("sum(prices) - 1", "sum(prices)"));
    let job = Job::new(&server.url())
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x1")
        .with("UPSHIFT_PUSH", "none")
        .with("UPSHIFT_COMMENT", "off")
        .with("GITHUB_EVENT_NAME", event)
        .with("GITHUB_API_URL", &github.url())
        .with("UPSHIFT_GITHUB_TOKEN", "t-0123456789")
        .event(payload);
    let job = more.iter().fold(job, |job, (name, value)| job.with(name, value));
    let said = job.run(project);
    let seen = github.seen().into_iter().map(|seen| seen.path).collect();
    github.finish();
    let calls = server.requests().len();
    let refused = job.outputs()["outcome"] == "refused";
    assert_eq!(calls > 0, !refused, "a model is asked only where the gate is open: {}", said.all());
    (said, job, seen)
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
fn each_refusal_says_why_in_the_log_and_the_summary_and_only_harmful_ones_fail_the_step() {
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
    let closed = || {
        let mut world = world();
        world.pulls[0].state = "closed".to_owned();
        world
    };
    let own = || {
        let mut world = world();
        let message = "Fix the total\n\nUpshift-Run-Id: 1f".to_owned();
        world.commits.insert(HEAD.to_owned(), Commit { message, ..Commit::default() });
        world
    };
    let mut synchronized = labelled_by("ada");
    synchronized["action"] = json!("synchronize");
    let (pull, comment, token) = ("pull_request", "issue_comment", "t-0123456789");
    let table: [(World, &str, Value, &str, &str, i32); 8] = [
        (world(), comment, comment_by("eve"), token, "eve may not write to acme/shop", 6),
        (world(), pull, labelled_by("ada"), "", "there is no token", 6),
        (fork(), comment, comment_by("ada"), token, "the fork mallory/shop", 6),
        (world(), pull, labelled_by("renovate[bot]"), token, "the bot renovate[bot]", 0),
        (skip(), comment, comment_by("ada"), token, "the label `upshift:skip`", 0),
        (moved(), pull, labelled_by("ada"), token, "moved since this was triggered", 0),
        (closed(), comment, comment_by("ada"), token, "is no longer open", 0),
        (own(), pull, synchronized, token, "the commit is upshift's own", 0),
    ];
    for (world, event, payload, token, why, code) in table {
        let (said, job, _) = run(world, event, &payload, token);
        assert_eq!(said.code, code, "{why}: {}", said.all());
        let kind =
            if code == 0 { "::notice title=upshift::✖ Refused: " } else { "::error title=upshift::✖ Refused: " };
        assert!(said.err.contains(kind) && said.err.contains(why), "{why}: {}", said.all());
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
    let said = job.program().run(empty.path(), &["gate", "--format", "json"]);
    assert_eq!(std::fs::read_dir(empty.path()).expect("a folder").count(), 0, "it leaves nothing");
    let outputs = job.outputs();
    let answer: Option<Value> = said.out.lines().any(|line| line == "{").then(|| {
        let json = said.out.split_inclusive('\n').skip_while(|line| *line != "{\n");
        serde_json::from_str(&json.take_while(|line| !line.starts_with("::")).collect::<String>()).expect("JSON")
    });
    let answer = answer.unwrap_or_else(|| panic!("{}", said.all()));
    assert_eq!(answer["go"].to_string(), outputs["go"], "{answer}");
    assert_eq!(answer["head_sha"].as_str().unwrap_or_default(), outputs["head-sha"], "{answer}");
    assert_eq!(answer["reason"].is_string(), outputs["go"] == "false", "{answer}");
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
fn a_harmless_refusal_fails_the_step_where_fail_on_names_refusals() {
    let table = [("refused", 6), ("exhausted,refused", 6), ("exhausted", 0), ("", 0)];
    for (fail_on, code) in table {
        let more = [("UPSHIFT_FAIL_ON", fail_on)];
        let said = run_with(world(), "pull_request", &labelled_by("renovate[bot]"), &more).0;
        assert_eq!(said.code, code, "{fail_on}: {}", said.all());
    }
}

#[test]
fn the_gate_asks_few_questions() {
    let (_, _, asked) = run(world(), "pull_request", &labelled_by("ada"), "t-0123456789");
    assert!(
        asked <= 8,
        "for the person, the pull request, its head; who we are, our comment, its log; red CI; one look for commands: {asked}"
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

/// What the gate says to an event, in a folder without a checkout and in a job without a key.
fn asked(world: World, event: &str, payload: &Value, more: &[(&str, &str)]) -> (Said, Job) {
    let github = FakeGitHub::start_in_real_time(world);
    let job = Job::new("http://127.0.0.1:9")
        .with("GITHUB_EVENT_NAME", event)
        .with("GITHUB_API_URL", &github.url())
        .with("UPSHIFT_GITHUB_TOKEN", "t-0123456789")
        .with("ANTHROPIC_API_KEY", "")
        .event(payload);
    let job = more.iter().fold(job, |job, (name, value)| job.with(name, value));
    let empty = tempfile::tempdir().expect("a folder");
    let said = job.program().run(empty.path(), &["gate"]);
    assert_eq!(std::fs::read_dir(empty.path()).expect("a folder").count(), 0, "it leaves nothing");
    github.finish();
    (said, job)
}

#[test]
fn the_gate_opens_before_checkout_without_a_key_and_names_the_commit_to_check_out() {
    for (event, payload) in [("pull_request", labelled_by("ada")), ("issue_comment", comment_by("ada"))] {
        let (said, job) = asked(world(), event, &payload, &[]);
        assert_eq!(said.code, 0, "{}", said.all());
        let outputs = job.outputs();
        let [go, head, reason] = ["go", "head-sha", "reason"].map(|name| outputs[name].as_str());
        assert_eq!((go, head, reason), ("true", HEAD, ""), "{event}");
    }
    let (_, job) = asked(world(), "push", &json!({ "ref": "refs/heads/main", "after": BASE }), &[("GITHUB_SHA", BASE)]);
    assert_eq!((job.outputs()["go"].as_str(), job.outputs()["head-sha"].as_str()), ("true", BASE));
}

#[test]
fn the_gate_stays_closed_with_the_reason_and_fails_the_step_for_harmful_events_alone() {
    let mut fork = world();
    fork.pulls[0].head_repository = "mallory/shop".to_owned();
    let mut skipped = world();
    skipped.pulls[0].labels = vec!["upshift:skip".to_owned()];
    let mut stops = comment_by("ada");
    stops["comment"]["body"] = json!("/upshift stop");
    let table = [
        (fork, comment_by("ada"), "the fork mallory/shop", 6),
        (world(), comment_by("eve"), "eve may not write", 6),
        (skipped, comment_by("ada"), "the label `upshift:skip`", 0),
        (world(), stops, "the comment is not a command that starts a run", 0),
    ];
    for (world, payload, why, code) in table {
        let (said, job) = asked(world, "issue_comment", &payload, &[]);
        let outputs = job.outputs();
        assert_eq!((said.code, outputs["go"].as_str(), outputs["head-sha"].as_str()), (code, "false", ""), "{why}");
        assert!(outputs["reason"].contains(why), "{why}: {}", said.all());
    }
}

#[test]
fn outside_of_a_job_there_is_no_event_to_ask_about() {
    let said = Program::with_anthropic("http://127.0.0.1:9").run(Project::python().path(), &["gate"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("this is not a job") && said.err.contains("→ Fix: "), "{}", said.all());
}
