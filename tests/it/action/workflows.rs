//! The workflows that this repository has and ships: its own follows the one that `init` writes, and all events of a pull request come to
//! one group, so that no two jobs are at work on it.

use std::collections::BTreeSet;

use serde_json::json;
use serde_yaml::Value;

use super::delivery::Site;
use super::{file, keys};

fn own() -> Value {
    serde_yaml::from_str(&file(".github/workflows/upshift.yml")).expect("YAML")
}

fn inits() -> Value {
    serde_yaml::from_str(upshift::cli::init::WORKFLOW).expect("YAML")
}

#[test]
fn our_own_workflow_has_the_triggers_the_condition_and_the_job_that_init_writes() {
    let (ours, mut theirs) = (own(), inits());
    theirs["on"]["workflow_run"]["workflows"] = ours["on"]["workflow_run"]["workflows"].clone();
    assert_eq!(ours["on"], theirs["on"]);
    for key in ["if", "permissions", "concurrency", "timeout-minutes"] {
        assert_eq!(ours["jobs"]["fix"][key], theirs["jobs"]["fix"][key], "{key}");
    }
    let last = |workflow: &Value| workflow["jobs"]["fix"]["steps"].as_sequence().expect("steps").last().cloned();
    let (ours, theirs) = (last(&ours).expect("a step"), last(&theirs).expect("a step"));
    let hands_on: BTreeSet<String> = keys(&theirs["with"]);
    assert!(hands_on.is_subset(&keys(&ours["with"])), "{hands_on:?}");
    for name in ["push-token", "head-sha", "binary"] {
        assert_eq!(ours["with"][name], theirs["with"][name], "{name}");
    }
}

#[test]
fn our_own_workflow_follows_workflows_that_there_are_by_their_names() {
    let ours = own();
    let followed = ours["on"]["workflow_run"]["workflows"].as_sequence().expect("a list").clone();
    assert!(!followed.is_empty());
    for name in followed {
        let text = file(&format!(".github/workflows/{}.yml", name.as_str().expect("a name")));
        assert_eq!(serde_yaml::from_str::<Value>(&text).expect("YAML")["name"], name);
    }
}

/// What an expression of `a || b || …` over `github.event` comes to.
fn evaluated(expression: &str, event: &serde_json::Value) -> String {
    let inner = expression.trim_start_matches("upshift-${{").trim_end_matches("}}");
    let at = |path: &str| {
        let path = path.trim().strip_prefix("github.event").expect("of the event").replace(['.', '['], "/");
        event.pointer(&path.replace(']', "")).filter(|found| !found.is_null()).cloned()
    };
    let found = inner.split("||").find_map(at).expect("one of them is there");
    found.as_str().map_or_else(|| found.to_string(), str::to_owned)
}

/// A comment's event names no branch, so that the number of the pull request is what all of its events have; a branch without one
/// has its name.
#[test]
fn all_events_of_a_pull_request_come_to_one_group_and_a_branch_without_one_to_its_own() {
    let site = Site::new(&["success"]);
    let comment = json!({ "issue": { "number": 7, "pull_request": {} }, "comment": { "body": "/upshift" } });
    let review = json!({ "review": { "state": "changes_requested" }, "pull_request": { "number": 7 } });
    let mut of_main = site.ci_ended("failure");
    of_main["workflow_run"]["pull_requests"] = json!([]);
    let workflow = inits();
    let group = workflow["jobs"]["fix"]["concurrency"]["group"].as_str().expect("a group");
    for event in [site.labelled(), site.ci_ended("failure"), site.ci_ended("success"), comment, review] {
        assert_eq!(evaluated(group, &event), "7", "{event}");
    }
    assert_eq!(evaluated(group, &of_main), "topic");
    let _world = site.github.finish();
}

/// A run is kept in the artifact alone: a cache could be poisoned for other jobs, and a branch is everybody's to see.
#[test]
fn nothing_that_we_ship_keeps_a_run_in_a_cache() {
    let shipped = ["action.yml", "action/install.sh", ".github/workflows/upshift.yml", ".github/workflows/fix.yml"];
    let texts = shipped.map(file).into_iter().chain([upshift::cli::init::WORKFLOW.to_owned()]);
    for text in texts {
        assert!(!text.contains("actions/cache") && !text.contains("cache:"), "{text}");
    }
}

/// What the program takes for red starts a job, in every workflow that follows CI.
#[test]
fn every_end_of_ci_that_counts_as_red_starts_a_job() {
    let shipped = [file(".github/workflows/upshift.yml"), file(".github/workflows/fix.yml")];
    let pages = [file("README.md"), file("docs/action.md"), upshift::cli::init::WORKFLOW.to_owned()];
    let asked =
        r#"contains(fromJSON('["failure", "timed_out", "startup_failure"]'), github.event.workflow_run.conclusion)"#;
    for text in shipped.iter().chain(&pages) {
        assert!(text.contains(asked) && !text.contains("workflow_run.conclusion == 'failure'"), "{text}");
    }
}
