use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::domain::ci::{CommentKind, PullRequestRef};
use crate::domain::units::CommitSha;

const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";
const BASE: &str = "89abcdef0123456789abcdef0123456789abcdef";

fn job(event: &str, more: &[(&str, &str)]) -> Environment {
    let mut variables = vec![
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_EVENT_NAME", event),
        ("GITHUB_REPOSITORY", "acme/shop"),
        ("GITHUB_RUN_ID", "77"),
        ("GITHUB_RUN_ATTEMPT", "2"),
        ("GITHUB_ACTOR", "ada"),
        ("GITHUB_TRIGGERING_ACTOR", "bob"),
        ("GITHUB_SHA", BASE),
        ("GITHUB_REF", "refs/heads/main"),
        ("GITHUB_WORKFLOW", "upshift"),
        ("GITHUB_WORKFLOW_REF", "acme/shop/.github/workflows/upshift.yml@refs/heads/main"),
        ("GITHUB_JOB", "fix"),
    ];
    variables.extend_from_slice(more);
    Environment::of(&variables)
}

fn context(event: &str, payload: &Value) -> CiContext {
    parse(&job(event, &[]), payload).unwrap_or_else(|error| panic!("{error}"))
}

fn pull() -> Value {
    json!({
        "number": 7,
        "head": { "sha": HEAD, "ref": "topic/a", "repo": { "full_name": "acme/shop" } },
        "base": { "sha": BASE, "ref": "main", "repo": { "full_name": "acme/shop" } },
        "user": { "login": "ada", "type": "User" },
        "labels": [{ "name": "bug" }, { "name": "upshift:skip" }],
        "draft": true
    })
}

fn upstream() -> Value {
    json!({
        "id": 55, "run_attempt": 3, "name": "ci", "event": "pull_request", "conclusion": "failure",
        "actor": { "login": "eve", "type": "User" },
        "triggering_actor": { "login": "dependabot[bot]", "type": "Bot" },
        "head_sha": HEAD, "head_branch": "topic/a",
        "head_repository": { "full_name": "acme/shop" },
        "head_commit": { "message": "work" },
        "pull_requests": [{ "number": 7 }]
    })
}

#[test]
fn a_laptop_has_no_context() {
    assert_eq!(read(&Environment::of(&[("GITHUB_EVENT_NAME", "push")])).unwrap(), None);
}

#[test]
fn a_pull_request_is_known_by_its_head_and_not_by_the_merge_commit() {
    let payload =
        json!({ "action": "synchronize", "pull_request": pull(), "sender": { "login": "ada", "type": "User" } });
    let context = context("pull_request", &payload);
    assert_eq!(context.head_sha, Some(CommitSha(HEAD.to_owned())), "GITHUB_SHA is the merge commit (GITHUB 9)");
    assert_eq!(context.pull_request_number(), Some(7));
    let PullRequestRef::Known(pull) = &context.pull_request else { panic!("{context:?}") };
    assert_eq!((pull.base_branch.as_str(), pull.base_sha.0.as_str(), pull.draft), ("main", BASE, true));
    assert_eq!(pull.labels, ["bug", "upshift:skip"]);
    assert_eq!(context.action.as_deref(), Some("synchronize"));
    assert_eq!(
        context.actor.as_ref().map(|actor| (actor.login.as_str(), actor.kind)),
        Some(("ada", AccountKind::User))
    );
    assert_eq!(context.triggering_actor.map(|actor| actor.login).as_deref(), Some("bob"));
    assert_eq!((context.run.id, context.run.attempt, context.run.job.as_str()), (77, 2, "fix"));
    assert_eq!(context.run.workflow_path.as_deref(), Some(".github/workflows/upshift.yml"));
}

#[test]
fn a_deleted_fork_has_no_repository() {
    let mut pull = pull();
    pull["head"]["repo"] = Value::Null;
    let context = context("pull_request", &json!({ "pull_request": pull }));
    let PullRequestRef::Known(pull) = context.pull_request else { panic!() };
    assert_eq!(pull.head_repository, None);
}

#[test]
fn a_comment_on_a_pull_request_has_a_number_and_no_head() {
    let comment = json!({ "id": 9, "body": "/upshift fix", "user": { "login": "eve", "type": "User" } });
    let payload =
        json!({ "action": "created", "issue": { "number": 7, "pull_request": { "url": "x" } }, "comment": comment });
    let context = context("issue_comment", &payload);
    assert_eq!(context.pull_request, PullRequestRef::Number(7));
    assert_eq!(context.head_sha, None, "the API has to tell (GITHUB 35)");
    let comment = context.comment.expect("a comment");
    assert_eq!((comment.id, comment.kind, comment.edited), (9, CommentKind::Conversation, false));
    assert_eq!(comment.body, "/upshift fix");
}

#[test]
fn a_comment_on_an_issue_is_about_no_pull_request() {
    let payload = json!({ "issue": { "number": 7 }, "comment": { "id": 9, "body": "" } });
    assert_eq!(context("issue_comment", &payload).pull_request, PullRequestRef::None);
}

#[test]
fn a_review_and_a_review_comment_have_the_pull_request_and_their_text() {
    let review = json!({ "pull_request": pull(), "review": { "id": 3, "body": null } });
    let context_ = context("pull_request_review", &review);
    assert_eq!(
        context_.comment.map(|comment| (comment.kind, comment.body)),
        Some((CommentKind::Review, String::new()))
    );
    let line = json!({ "action": "edited", "pull_request": pull(), "comment": { "id": 4, "body": "no" } });
    let comment = context("pull_request_review_comment", &line).comment.expect("a comment");
    assert_eq!((comment.kind, comment.edited), (CommentKind::Line, true));
}

#[test]
fn a_workflow_run_has_an_upstream_actor_and_head() {
    let context_ = context("workflow_run", &json!({ "workflow_run": upstream() }));
    let run = context_.upstream.as_ref().expect("upstream");
    assert_eq!((run.id, run.attempt, run.conclusion.as_deref()), (55, 3, Some("failure")));
    assert_eq!(run.triggering_actor.as_ref().map(|actor| actor.kind), Some(AccountKind::Bot));
    assert_eq!(context_.pull_request, PullRequestRef::Number(7));
    assert_eq!(context_.head_sha, Some(CommitSha(HEAD.to_owned())), "not the default branch's GITHUB_SHA");
    assert_eq!(context_.head_message.as_deref(), Some("work"));
}

#[test]
fn a_workflow_run_without_pull_requests_is_looked_up_by_its_head() {
    let mut run = upstream();
    run["pull_requests"] = json!([]);
    assert_eq!(context("workflow_run", &json!({ "workflow_run": run })).pull_request, PullRequestRef::Head);
    run["event"] = json!("push");
    assert_eq!(context("workflow_run", &json!({ "workflow_run": run })).pull_request, PullRequestRef::None);
}

#[test]
fn a_push_is_about_what_it_pushed_and_a_clock_about_nobody() {
    let push = json!({ "after": HEAD, "head_commit": { "message": "fix\n\nUpshift-Run: x" } });
    let context_ = context("push", &push);
    assert_eq!((context_.head_sha, context_.head_branch.as_deref()), (Some(CommitSha(HEAD.to_owned())), Some("main")));
    assert_eq!(context_.head_message.as_deref(), Some("fix\n\nUpshift-Run: x"));
    let clock = context("schedule", &json!({ "schedule": "0 0 * * *", "sender": { "login": "ada" } }));
    assert_eq!((clock.actor, clock.head_sha), (None, Some(CommitSha(BASE.to_owned()))));
}

#[test]
fn every_forge_is_told_by_what_its_runner_sets() {
    let forge = |more: &[(&str, &str)]| parse(&job("push", more), &Value::Null).unwrap().forge;
    assert_eq!(forge(&[]), Forge::Github);
    assert_eq!(forge(&[("GITHUB_SERVER_URL", "https://git.acme.test")]), Forge::GithubServer);
    assert_eq!(forge(&[("GITHUB_SERVER_URL", "https://acme.ghe.com")]), Forge::Github);
    let gitea = ("GITHUB_API_URL", "https://code.acme.test/api/v1");
    assert_eq!(forge(&[gitea]), Forge::Gitea);
    assert_eq!(forge(&[gitea, ("FORGEJO_ACTIONS", "true")]), Forge::Forgejo);
}

#[test]
fn what_does_not_fit_is_an_error_that_says_where() {
    let told = |event: &str, payload: &Value| parse(&job(event, &[]), payload).unwrap_err().to_string();
    assert!(told("pull_request", &json!({})).contains("`pull_request`"));
    let with = |path: &[&str], value: Value| {
        let mut pull = pull();
        let last = path.iter().fold(&mut pull, |at, key| &mut at[*key]);
        *last = value;
        json!({ "pull_request": pull })
    };
    for (path, value) in [
        (&["head", "sha"][..], json!("--upload-pack=touch x")),
        (&["head", "ref"], json!("a..b")),
        (&["head", "ref"], json!("-force")),
        (&["head", "repo", "full_name"], json!("../../etc")),
        (&["number"], json!(-1)),
        (&["base", "ref"], json!({ "a": [1] })),
    ] {
        let said = told("pull_request", &with(path, value));
        assert!(said.contains(&format!("`pull_request.{}`", path.join("."))), "{said}");
        assert!(said.contains("→ Fix:"), "{said}");
    }
    let bad = parse(&job("push", &[("GITHUB_API_URL", "file:///etc")]), &Value::Null).unwrap_err().to_string();
    assert!(bad.starts_with("GITHUB_API_URL is not an http(s) address"), "{bad}");
}

#[test]
fn a_payload_that_is_too_large_or_no_json_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("event.json");
    let file = File::create(&path).unwrap();
    file.set_len(MAX_PAYLOAD_BYTES + 1).unwrap();
    let name = path.to_str().unwrap();
    assert!(load(name).unwrap_err().to_string().contains("more than 26214400 bytes"));
    std::fs::write(&path, "[".repeat(100_000)).unwrap();
    assert!(load(name).unwrap_err().to_string().contains("cannot be used"), "deep nesting does not overflow the stack");
    assert!(load("/nowhere/event.json").unwrap_err().to_string().contains("/nowhere/event.json"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "(\\PC{0,12}|[0-9a-f]{40}|a/b)".prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "pull_request",
        "head",
        "base",
        "sha",
        "ref",
        "repo",
        "full_name",
        "number",
        "labels",
        "name",
        "workflow_run",
        "id",
        "head_sha",
        "comment",
        "issue",
        "body",
        "user",
        "login",
        "sender",
        "review",
        "pull_requests",
        "event",
    ]);
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(keys.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|map| Value::from(map.into_iter().collect::<serde_json::Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn no_payload_makes_it_panic_and_no_branch_is_an_option(event in "(pull_request|workflow_run|issue_comment|push|pull_request_review)", payload in any_json()) {
        if let Ok(context) = parse(&job(&event, &[]), &payload) {
            prop_assert!(!context.head_branch.is_some_and(|branch| branch.starts_with('-') || branch.contains("..")));
        }
    }
}
