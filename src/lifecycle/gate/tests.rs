use super::*;
use crate::domain::ci::{Forge, JobRun, PullRequest, UpstreamRun};
use crate::domain::units::CommitSha;

pub(super) fn repo(full: &str) -> RepoName {
    RepoName::parse(full).unwrap()
}

pub(super) fn sha() -> CommitSha {
    CommitSha("0123456789abcdef0123456789abcdef01234567".to_owned())
}

/// A job of acme/shop for some event and nothing else known.
pub(super) fn job(event: EventKind) -> CiContext {
    CiContext {
        forge: Forge::Github,
        event,
        action: None,
        repository: repo("acme/shop"),
        default_branch: Some("main".to_owned()),
        actor: None,
        triggering_actor: None,
        upstream: None,
        pull_request: PullRequestRef::None,
        head_sha: Some(sha()),
        head_branch: Some("main".to_owned()),
        head_message: None,
        comment: None,
        run: JobRun { id: 77, attempt: 1, workflow: "upshift".to_owned(), workflow_path: None, job: "fix".to_owned() },
        server_url: "https://github.com".to_owned(),
        api_url: "https://api.github.com".to_owned(),
    }
}

pub(super) fn pull_request(event: EventKind, head: Option<&str>) -> CiContext {
    let pull = PullRequest {
        number: 7,
        head_sha: sha(),
        head_branch: "topic".to_owned(),
        head_repository: head.map(repo),
        base_sha: sha(),
        base_branch: "main".to_owned(),
        author: None,
        labels: Vec::new(),
        draft: false,
    };
    CiContext { pull_request: PullRequestRef::Known(Box::new(pull)), ..job(event) }
}

pub(super) fn after(head: Option<&str>) -> CiContext {
    let upstream = UpstreamRun {
        id: 55,
        attempt: 1,
        name: "ci".to_owned(),
        event: "pull_request".to_owned(),
        conclusion: Some("failure".to_owned()),
        actor: None,
        triggering_actor: None,
        head_sha: sha(),
        head_branch: Some("topic".to_owned()),
        head_repository: head.map(repo),
    };
    CiContext { upstream: Some(upstream), pull_request: PullRequestRef::Head, ..job(EventKind::WorkflowRun) }
}

#[test]
fn forks_and_pull_request_target_are_refused() {
    assert_eq!(refusal(None), None);
    assert_eq!(refusal(Some(&job(EventKind::Push))), None);
    assert_eq!(refusal(Some(&pull_request(EventKind::PullRequest, Some("Acme/Shop")))), None);
    let fork = refusal(Some(&pull_request(EventKind::PullRequest, Some("mallory/shop"))));
    assert!(fork.is_some_and(|why| why.contains("mallory/shop")));
    assert!(refusal(Some(&pull_request(EventKind::PullRequestTarget, Some("acme/shop")))).is_some());
    assert!(refusal(Some(&pull_request(EventKind::PullRequest, None))).is_some(), "what is gone is not trusted");
}

#[test]
fn a_run_that_follows_a_forks_run_is_refused() {
    assert_eq!(refusal(Some(&after(Some("acme/shop")))), None);
    assert!(refusal(Some(&after(Some("mallory/shop")))).is_some());
    assert!(refusal(Some(&after(None))).is_some());
}

#[test]
fn a_pull_requests_checkout_configures_nothing() {
    assert!(distrusts_checkout(Some(&pull_request(EventKind::PullRequest, Some("acme/shop")))));
    assert!(distrusts_checkout(Some(&after(Some("acme/shop")))));
    assert!(!distrusts_checkout(Some(&job(EventKind::Push))));
    assert!(!distrusts_checkout(None));
}
