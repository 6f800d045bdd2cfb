//! The recipes of `docs/recipes.md`, word for word, under act.

use serde_json::json;

use super::act::{Ran, Runner};
use super::delivery::{Site, mends, reported};
use super::file;
use crate::world::git_server::{PUSHER, TOKEN, git};
use crate::world::model_server::ModelServer;

/// The block of YAML in a section of the page.
fn recipe(title: &str) -> String {
    let page = file("docs/recipes.md");
    let section = page.split(&format!("## {title}\n")).nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("its text");
    let block = section.split("```yaml\n").nth(1).expect("a block");
    block.split("```").next().expect("its end").to_owned()
}

/// The workflow to be called where the runner tells which commit it is from: act does not.
fn told_its_commit() -> String {
    let text = file(".github/workflows/fix.yml");
    assert!(text.contains("${{ job.workflow_sha }}") && text.contains("${{ job.workflow_repository }}"));
    text.replace("${{ job.workflow_sha }}", "v1").replace("${{ job.workflow_repository }}", "YOUR-ACCOUNT/upshift")
}

fn called(site: &Site, models: &ModelServer, text: &str) -> Runner {
    let caller =
        recipe("One workflow for many repositories").replace("test-command: pytest", "tiers: claude-haiku-4-5 x3");
    let (root, kept) = site.checkout();
    site.told(Runner::of_caller(root, kept, (&caller, text)), models).secret("UPSHIFT_PUSH_TOKEN", PUSHER)
}

fn began(ran: &Ran, action: &str) -> bool {
    ran.log.lines().any(|line| line.contains("Run Main") && line.contains(action))
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn the_workflow_to_be_called_comes_to_its_second_iteration_by_the_ends_of_ci_alone() {
    let site = Site::new(&["failure", "success"]);
    site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = 100_000_000);
    let models = ModelServer::start(mends);
    let mut told = String::new();
    for (id, conclusion) in [(201, "failure"), (202, "failure"), (203, "success")] {
        let runner = called(&site, &models, &told_its_commit());
        let ran = site.woken_by(runner, (id, "workflow_run"), &site.ci_ended(conclusion));
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        assert!(!ran.log.contains(TOKEN), "{}", ran.log);
        told += &ran.log;
        site.github.world().later.iter_mut().for_each(|later| later.at_ms = 0);
    }
    assert_eq!(site.server.git(&["rev-parse", "topic~2"]), site.start, "{told}");
    assert!(site.server.git(&["show", "topic:shop/cart.py"]).contains("round(sum(prices), 2)"), "{told}");
    assert_eq!(
        site.server.git(&["diff", "--name-only", &site.start, "topic"]),
        "shop/cart.py",
        "nothing of the action's"
    );
    assert_eq!(models.requests().len(), 4, "{told}");
    assert!(!models.requests().iter().any(|request| request.all_text().contains("install.sh")), "no model sees it");
    models.finish();
    reported(&site.github.finish(), "\nFixed by Tier 1");
}

/// The shorter workflow that the README prints, word for word.
#[test]
#[ignore = "needs act, which .ci/act installs"]
fn the_readmes_workflow_comes_to_its_second_iteration_by_the_ends_of_ci_alone() {
    let page = file("README.md");
    let block = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let site = Site::new(&["failure", "success"]);
    site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = 100_000_000);
    let models = ModelServer::start(mends);
    let mut told = String::new();
    for (id, conclusion) in [(201, "failure"), (202, "failure"), (203, "success")] {
        let (root, kept) = site.checkout();
        let runner = site.told(Runner::of_clone(root, kept, block), &models).secret("UPSHIFT_PUSH_TOKEN", PUSHER);
        let ran = site.woken_by(runner, (id, "workflow_run"), &site.ci_ended(conclusion));
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        told += &ran.log;
        site.github.world().later.iter_mut().for_each(|later| later.at_ms = 0);
    }
    assert!(site.server.git(&["show", "topic:shop/cart.py"]).contains("round(sum(prices), 2)"), "{told}");
    assert_eq!(models.requests().len(), 4, "{told}");
    models.finish();
    reported(&site.github.finish(), "\nFixed by Tier 1");
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn the_workflow_to_be_called_lets_nobody_in_whom_the_gate_refuses() {
    let site = Site::new(&["success"]);
    site.github.world().roles = [("ada".to_owned(), "read".to_owned())].into();
    let models = ModelServer::start(mends);
    let ran = called(&site, &models, &told_its_commit()).run("workflow_run", &site.ci_ended("failure"));
    assert!(ran.log.contains("ada may not write to acme/shop"), "{}", ran.log);
    assert!(!began(&ran, ".upshift/action"), "{}", ran.log);
    assert!(models.requests().is_empty());
    assert!(site.github.finish().comments.is_empty());
}

/// As it stands, on a runner that does not tell: nothing is checked out, no key is near.
#[test]
#[ignore = "needs act, which .ci/act installs"]
fn the_workflow_to_be_called_ends_where_the_runner_does_not_tell_which_commit_it_is_from() {
    let site = Site::new(&["success"]);
    let models = ModelServer::start(mends);
    let text = file(".github/workflows/fix.yml");
    let ran = called(&site, &models, &text).run("workflow_run", &site.ci_ended("failure"));
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    // What a step says in its last milliseconds is not always in act's log; that it failed is.
    assert!(text.contains("does not say which commit fix.yml is from"), "{text}");
    assert!(ran.log.contains("Failure - Main Know where this file is from"), "{}", ran.log);
    assert!(!began(&ran, "checkout") && !began(&ran, "./"), "{}", ran.log);
    assert!(models.requests().is_empty() && site.github.finish().comments.is_empty());
}

/// A branch of the repository that nobody asked for upshift: the caller's events are let through by the called job's condition.
#[test]
#[ignore = "needs act, which .ci/act installs"]
fn the_workflow_to_be_called_does_nothing_for_green_ci_of_somebody_elses_commit() {
    let site = Site::new(&["success"]);
    let models = ModelServer::start(mends);
    let mut payload = site.ci_ended("success");
    payload["workflow_run"]["pull_requests"] = json!([]);
    let ran = called(&site, &models, &told_its_commit()).run("workflow_run", &payload);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(!began(&ran, "checkout"), "{}", ran.log);
    assert!(models.requests().is_empty() && site.github.finish().comments.is_empty());
}

/// A nightly workflow on `main`, followed beside CI: its fix is proposed, and the next night nobody is paid while that is open.
#[test]
#[ignore = "needs act, which .ci/act installs"]
fn a_red_night_on_the_default_branch_is_proposed_once() {
    let triggers = recipe("A red default branch");
    let theirs = "  workflow_run:\n    workflows: [CI, nightly, upshift-review]\n    types: [completed]\n";
    assert!(triggers.contains(theirs), "{triggers}");
    let inits = upshift::cli::init::WORKFLOW;
    let workflow =
        inits.replace("    workflows: [CI, upshift-review]\n", "    workflows: [CI, nightly, upshift-review]\n");
    assert_ne!(workflow, inits);
    let site = Site::new(&["success"]);
    let models = ModelServer::start(mends);
    let mut payload = site.ci_ended("failure");
    let run = &mut payload["workflow_run"];
    (run["name"], run["event"], run["head_branch"]) = (json!("nightly"), json!("schedule"), json!("main"));
    (run["pull_requests"], run["head_sha"]) = (json!([]), json!(site.server.head("main")));
    site.github.world().pulls.clear();
    let mut told = String::new();
    for (id, outcome) in [(201, "outcome=fixed"), (202, "outcome=proposed")] {
        let (root, kept) = site.checkout();
        let runner = site.told(Runner::of_clone(root, kept, &workflow), &models).with("UPSHIFT_WAIT_FOR", "none");
        let ran = site.woken_by(runner, (id, "workflow_run"), &payload);
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        assert!(
            ran.log.contains(outcome) || ran.log.contains(&outcome.replace('=', "\": \"")),
            "{outcome}: {}",
            ran.log
        );
        told += &ran.log;
    }
    assert_eq!(models.requests().len(), 2, "the second night costs nothing: {told}");
    models.finish();
    let world = site.github.finish();
    let [pull] = world.pulls.as_slice() else { panic!("{:?}", world.pulls) };
    assert!(pull.base_branch == "main" && pull.head_branch.starts_with("upshift/fix-"), "{pull:?}");
    assert_eq!(site.server.head("main"), site.start, "{told}");
}

/// A fork's pull request is judged without a key, started by upshift in no way, and mended once a maintainer pushed its head here.
#[test]
#[ignore = "needs act, which .ci/act installs"]
fn the_pull_request_of_a_fork_is_judged_and_mended_once_its_head_is_on_a_branch_here() {
    let site = Site::new(&["success"]);
    let models = ModelServer::start(mends);
    let mut payload = site.labelled();
    payload["pull_request"]["head"]["repo"]["full_name"] = json!("mallory/shop");
    payload["action"] = json!("opened");
    // As GitHub gives it to a fork's pull request: a token that reads.
    site.github.world().token.lacks = vec!["pull_requests=write".to_owned(), "contents=write".to_owned()];
    let (root, kept) = site.checkout();
    let seed = site.server.seed();
    std::fs::write(seed.join("shop/cart.py"), "def total(prices):\n    return sum(prices)\n").expect("written");
    git(&root, &["fetch", "--quiet", "origin"]);
    let judged = site.server.somebody_pushes("of-the-fork");
    git(&root, &["fetch", "--quiet", "origin"]);
    git(&root, &["checkout", "--quiet", "--detach", &judged]);
    payload["pull_request"]["head"]["sha"] = json!(judged);
    let judge = upshift::cli::init::JUDGE
        .replace("mode: judge\n", "mode: judge\n          test-command: python3 -m unittest -v\n");
    let ran = site.told(Runner::of_judge(root, kept, &judge), &models).run("pull_request", &payload);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    // The workflow lies in the checkout beside the head: a changed file that decides how tests are run.
    let told = "Proven, with 1 place to look at: the tests fail without the change";
    assert!(ran.log.contains(told) && ran.log.contains("standing=proven"), "{}", ran.log);

    payload = site.ci_ended("failure");
    payload["workflow_run"]["head_repository"]["full_name"] = json!("mallory/shop");
    let (root, kept) = site.checkout();
    let fork = site.told(Runner::of_clone(root, kept, upshift::cli::init::WORKFLOW), &models);
    let ran = fork.run("workflow_run", &payload);
    assert!(!began(&ran, "checkout") && models.requests().is_empty(), "{}", ran.log);

    // The same head on a branch of the repository.
    site.github.world().token.lacks.clear();
    let (root, kept) = site.checkout();
    let here = site.told(Runner::of_clone(root, kept, upshift::cli::init::WORKFLOW), &models);
    let ran = site.woken_by(here, (201, "workflow_run"), &site.ci_ended("failure"));
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    models.finish();
    reported(&site.github.finish(), "\nFixed by Tier 1");
}
