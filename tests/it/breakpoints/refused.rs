//! A push that the remote refuses: what is said of it, and which way on.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::Site;
use super::jobs::{in_a_job, in_a_pull_request};
use super::waiting::{document, over};
use crate::world::github::{Effect, Fault};

/// What a server's rule says.
const RULE: &str = "error: GH013: Repository rule violations found for this branch.";

pub(super) fn refusing(site: &Site) {
    let hooks = site.server.bare().join("hooks");
    std::fs::create_dir_all(&hooks).expect("a folder");
    let hook = hooks.join("pre-receive");
    std::fs::write(&hook, format!("#!/bin/sh\necho '{RULE}' >&2\nexit 1\n")).expect("written");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("permissions");
}

#[test]
fn a_refused_push_is_no_success_anywhere_and_its_advice_is_of_use() {
    for (push, advice) in [
        ("commit", "Use `push: pr`, or let upshift's token bypass the rule"),
        ("pr", "Exempt branches that begin with `upshift/` from the rule"),
    ] {
        let (site, _github) = over(Site::new(), Vec::new());
        refusing(&site);
        let site = in_a_job(site, "push", &json!({ "ref": "refs/heads/main" })).with("UPSHIFT_WAIT_FOR", "none");
        let said = site.run(push);
        assert_eq!(said.code, 1, "{push}: {}", said.all());
        let database = site.database().display().to_string();
        let page = site.program.run(&site.root(), &["report", "--format", "md", "--audit-db", &database]).out;
        for text in [&said.out, &page] {
            let (first, next) = text.split_once("Next").expect("a next step");
            assert!(first.contains("GH013") && first.contains("(pre-receive hook declined)"), "{push}: {text}");
            assert!(next.contains(advice) && !first.contains("Fix:") && !first.contains("http"), "{push}: {text}");
            assert!(!text.contains("✔ 1 test fixed") && !text.contains("pushed,"), "{push}: {text}");
        }
        let document = document(&site);
        assert_eq!((&document["outcome"], &document["exit_code"]), (&json!("blocked"), &json!(1)), "{document:#}");
        assert_eq!(site.server.head("main"), site.start);
        site.models.finish();
    }
}

#[test]
fn the_comment_after_a_refused_push_shows_the_change_and_where_it_is_kept() {
    let (site, github) = in_a_pull_request(Vec::new());
    refusing(&site);
    let said = site.run("commit");
    assert_eq!(said.code, 1, "{}", said.all());
    let world = github.finish();
    let [comment] = world.comments.as_slice() else { panic!("{:?}: {}", world.comments, said.all()) };
    let body = &comment.body;
    assert!(body.contains("### ✖ Found a fix for 1 test in `cart.py`"), "{body}");
    assert!(body.contains("<summary>The change itself</summary>\n\n```diff\n"), "{body}");
    assert!(body.contains("+    return sum(prices)\n"), "{body}");
    assert!(body.contains("- The change was kept on the runner; "), "{body}");
    assert!(body.contains("- Use `push: pr`, or let upshift's token bypass the rule; or apply"), "{body}");
    site.models.finish();
}

/// The pull request that cannot be opened for now: the branch is there, and a resume opens it without another model.
#[test]
fn an_outage_in_front_of_the_pull_request_parks_the_run_and_a_resume_opens_it() {
    let (site, github) = over(Site::new(), Vec::new());
    let site = in_a_job(site, "push", &json!({ "ref": "refs/heads/main" })).with("UPSHIFT_WAIT_FOR", "none");
    let down = Effect::status(503, "Service Unavailable", &[]);
    github.world().faults.push(Fault::once("GET", "/pulls", down).times(100_000));
    let said = site.run("pr");
    assert_eq!((said.code, site.server.pushes()), (0, 1), "{}", said.all());
    assert!(
        said.out.contains("1 test fixed in cart.py") && said.out.contains("parked: the fix is not out yet: "),
        "{}",
        said.all()
    );
    github.world().faults.clear();
    let asked = site.models.requests().len();
    let resumed = site.resume();
    assert_eq!((resumed.code, site.server.pushes()), (0, 1), "{}", resumed.all());
    assert_eq!((github.finish().pulls.len(), site.models.requests().len()), (1, asked), "{}", resumed.all());
}
