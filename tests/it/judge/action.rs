//! `mode: judge` in a job: events, forks, summary, outputs, comment.

use serde_json::{Value, json};

use super::{COMMAND, Repository};
use crate::action::gate::world;
use crate::action::step::Job;
use crate::world::github::FakeGitHub;
use crate::world::program::Said;

/// The event of a pull request whose head lies in a repository.
fn pull_request(repository: &Repository, head: &str) -> Value {
    let sha = |revision: &str| repository.git(&["rev-parse", revision]).trim().to_owned();
    let side = |branch: &str, sha: &str, of: &str| json!({ "ref": branch, "sha": sha, "repo": { "full_name": of } });
    let pull = json!({
        "number": 7, "head": side("topic", &sha("topic"), head), "base": side("main", &sha("main"), "acme/shop"), "labels": [],
    });
    json!({ "action": "opened", "pull_request": pull, "sender": { "login": "eve", "type": "User" } })
}

fn judge(event: &str, head: &str, more: &[(&str, &str)]) -> (Said, Job) {
    let repository = Repository::python();
    repository.mend();
    repository.commit("mend");
    let mut job = Job::new("http://127.0.0.1:9").with("GITHUB_EVENT_NAME", event).with("GITHUB_WORKFLOW", "judge");
    job = job.with("UPSHIFT_TEST_COMMAND", COMMAND).event(&pull_request(&repository, head));
    for (name, value) in more {
        job = job.with(name, value);
    }
    let said = job.in_folder(repository.path(), &["judge"]);
    (said, job)
}

#[test]
fn the_pull_request_of_a_fork_is_judged_without_a_token() {
    let (said, job) = judge("pull_request", "eve/shop", &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(job.outputs()["standing"], "proven");
    let summary = job.text("summary");
    assert!(summary.starts_with("### ✔ Proven: the tests fail without the change"), "{summary}");
    assert!(said.out.starts_with("::stop-commands::"), "what tests print is no command: {}", said.out);
}

#[test]
fn a_fork_is_not_judged_where_the_job_has_secrets() {
    let (said, job) = judge("pull_request_target", "eve/shop", &[]);
    assert_eq!(said.code, 6, "{}", said.all());
    assert!(said.err.contains("Refused") && !job.outputs().contains_key("standing"), "{}", said.all());
}

#[test]
fn the_pull_request_of_a_branch_gets_one_comment() {
    let github = FakeGitHub::start_in_real_time(world());
    let more = [("GITHUB_API_URL", github.url()), ("UPSHIFT_GITHUB_TOKEN", "t-0123456789".to_owned())];
    let more: Vec<(&str, &str)> = more.iter().map(|(name, value)| (*name, value.as_str())).collect();
    for _ in 0..2 {
        let (said, _) = judge("pull_request", "acme/shop", &more);
        assert_eq!(said.code, 0, "{}", said.all());
    }
    let comments = github.finish().comments;
    assert_eq!(comments.len(), 1, "{comments:?}");
    let (marker, page) = comments[0].body.split_once('\n').expect("lines");
    assert!(marker.starts_with("<!-- upshift:report key=") && marker.contains("/judge"), "{marker}");
    assert!(page.starts_with("### ✔ Proven"), "{page}");
}
