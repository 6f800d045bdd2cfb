//! Deliveries of jobs: whose credential pushes, and which branch's rules count.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Site;
use super::waiting::{over, plan};
use crate::world::git_server::{TOKEN, git};
use crate::world::github::{CiPlan, FakeGitHub, Pull};

/// The same site as a job for an event sees it.
pub(super) fn in_a_job(site: Site, event: &str, payload: &Value) -> Site {
    let folder = site.folder.path().to_owned();
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::create_dir_all(folder.join("temp")).expect("a folder");
    std::fs::write(folder.join("event.json"), payload.to_string()).expect("written");
    let (server, start) = (site.server.server_url(), site.start.clone());
    site.with("GITHUB_ACTIONS", "true")
        .with("GITHUB_EVENT_NAME", event)
        .with("GITHUB_EVENT_PATH", &path("event.json"))
        .with("GITHUB_REPOSITORY", "acme/shop")
        .with("GITHUB_SERVER_URL", &server)
        .with("GITHUB_RUN_ID", "77")
        .with("GITHUB_SHA", &start)
        .with("GITHUB_REF", "refs/heads/main")
        .with("RUNNER_TEMP", &path("temp"))
}

/// A job for a pull request by ada, whose branch is `topic`.
pub(super) fn in_a_pull_request(ci: Vec<CiPlan>) -> (Site, FakeGitHub) {
    let site = Site::new();
    git(&site.server.seed(), &["push", "--quiet", site.server.bare().to_str().expect("text"), "HEAD:refs/heads/topic"]);
    let side = |branch: &str| json!({ "ref": branch, "sha": site.start, "repo": { "full_name": "acme/shop" } });
    let payload = json!({
        "action": "labeled",
        "pull_request": { "number": 7, "head": side("topic"), "base": side("main"), "labels": [] },
        "sender": { "login": "ada", "type": "User" },
    });
    let (site, github) = over(site, ci);
    let site = in_a_job(site, "pull_request", &payload);
    {
        let mut world = github.world();
        world.roles.insert("ada".to_owned(), "write".to_owned());
        world.pulls.push(Pull {
            number: 7,
            state: "open".to_owned(),
            author: "ada".to_owned(),
            head_branch: "topic".to_owned(),
            head_sha: site.start.clone(),
            base_branch: "main".to_owned(),
            base_sha: site.start.clone(),
            ..Pull::default()
        });
    }
    (site, github)
}

fn header() -> String {
    format!("AUTHORIZATION: basic {}", STANDARD.encode(format!("x-access-token:{TOKEN}")))
}

/// As checkout leaves it up to its version 5.
fn leave_in_the_configuration(site: &Site) {
    let key = format!("http.{}/.extraheader", site.server.server_url());
    git(&site.root(), &["config", &key, &header()]);
}

/// As it leaves it since.
fn leave_beside(site: &Site) {
    let kept = site.folder.path().join("temp/git-credentials-0a1b.config");
    let text = format!("[http \"{}/\"]\n\textraheader = {}\n", site.server.server_url(), header());
    std::fs::write(&kept, text).expect("written");
    let git_dir = site.root().join(".git");
    let key = format!("includeIf.gitdir:{}.path", git_dir.display());
    git(&site.root(), &["config", &key, kept.to_str().expect("text")]);
}

fn holds_the_token(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.contains(TOKEN) || text.contains(&STANDARD.encode(format!("x-access-token:{TOKEN}")))
}

#[test]
fn github_5_the_credential_that_checkout_left_pushes_and_is_written_nowhere() {
    for leave in [leave_in_the_configuration, leave_beside] {
        let site = in_a_job(Site::new(), "push", &json!({ "ref": "refs/heads/main" }));
        let site = site.with("GITHUB_TOKEN", "").with("UPSHIFT_WAIT_FOR", "none");
        let without = site.run("commit");
        assert_eq!(without.code, 2, "{}", without.all());
        assert!(without.err.contains("there is no token to push with"), "{}", without.all());
        leave(&site);
        let said = site.run("commit");
        assert_eq!(said.code, 0, "{}", said.all());
        assert_ne!(site.server.head("main"), site.start);
        assert!(!said.all().contains(TOKEN), "{}", said.all());
        let mut folders = vec![site.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                let left = path.ends_with(".git/config") || path.to_string_lossy().contains("git-credentials-");
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else {
                    assert!(left || !holds_the_token(&path), "{}", path.display());
                }
            }
        }
        site.models.finish();
    }
}

#[test]
fn a_token_given_for_pushing_comes_first_and_one_that_is_not_let_in_is_told_before_anything_is_paid() {
    let site = in_a_job(Site::new(), "push", &json!({ "ref": "refs/heads/main" }));
    leave_in_the_configuration(&site);
    let site = site.with("UPSHIFT_PUSH_TOKEN", "ghs_another_token_that_is_not_let_in").with("UPSHIFT_WAIT_FOR", "none");
    let said = site.run("commit");
    assert_eq!(said.code, 2, "{}", said.all());
    for words in
        ["`push: commit` cannot be done: the server refused the credential: status 401", "No LLM calls were made."]
    {
        assert!(said.err.contains(words), "{words}: {}", said.all());
    }
    assert!(site.models.requests().is_empty(), "a push that is not let in is not paid for: {}", said.all());
    assert_eq!(site.server.head("main"), site.start);
}

#[test]
fn github_29_what_the_base_of_the_pull_request_requires_counts() {
    let (site, github) = in_a_pull_request(vec![CiPlan { takes_ms: 0, ..plan("success", "") }]);
    let site = site.with("UPSHIFT_COMMENT", "off");
    github.world().required_checks = vec!["deploy".to_owned()];
    let said = site.run("commit");
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("required check `deploy` has not reported"), "{}", said.all());
    assert_eq!(site.server.git(&["rev-list", "--count", "topic"]), "2");
    assert_eq!(site.server.head("main"), site.start);
    site.models.finish();
    github.finish();
}
