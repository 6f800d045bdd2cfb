//! The waits of a run under act, each from the job that parks it to the one that tells of its end, every job on a machine that has nothing of
//! it but the artifact: blocked, a check of CI that runs here, a merge with a review before it.

use serde_json::{Value, json};

use super::act::{Ran, Runner};
use super::delivery::{FILES, Site, reported};
use super::step::replace_line;
use super::unblocked::waits;
use super::woken::{LATER_MS, obeys};
use crate::world::git_server::{PUSHER, TOKEN};
use crate::world::github::{Pull, Review, World};
use crate::world::model_server::ModelServer;

/// A repository with the workflow of `init` and a `push-token`, whose CI takes until somebody ends it.
struct Waiting {
    site: Site,
    models: ModelServer,
    workflow: String,
    jobs: u64,
    told: String,
}

impl Waiting {
    fn of(site: Site, models: ModelServer) -> Self {
        site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = 100_000_000);
        let workflow = upshift::cli::init::WORKFLOW.to_owned();
        Self { site, models, workflow, jobs: 200, told: String::new() }
    }

    fn runner(&self) -> Runner {
        let (root, kept) = self.site.checkout();
        let runner = Runner::of_clone(root, kept, &self.workflow);
        self.site.told(runner, &self.models).secret("UPSHIFT_PUSH_TOKEN", PUSHER)
    }

    /// A job by an event, and whether it checks anything out.
    fn job(&mut self, event: &str, payload: &Value, checks_out: bool) {
        self.jobs += 1;
        let ran = self.site.woken_by(self.runner(), (self.jobs, event), payload);
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        assert!(!ran.log.contains(TOKEN), "{}", ran.log);
        assert_eq!(has_checked_out(&ran), checks_out, "{}", ran.log);
        self.told += &ran.log;
    }

    /// CI of what was pushed is over.
    fn ci_ends(&self) {
        self.site.github.world().later.iter_mut().for_each(|later| later.at_ms = 0);
    }

    fn comment(&self) -> String {
        self.site.github.world().comments.last().expect("a comment").body.clone()
    }

    fn pushes_and_calls(&self) -> (usize, usize) {
        (self.site.server.pushes(), self.models.requests().len())
    }

    fn finish(self) -> World {
        self.models.finish();
        self.site.github.finish()
    }
}

fn has_checked_out(ran: &Ran) -> bool {
    ran.log.lines().any(|line| line.contains("Run Main") && line.contains("actions/checkout@"))
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn a_blocked_run_goes_on_once_what_is_in_its_way_is_gone() {
    let mut waiting = Waiting::of(Site::new(&["success"]), ModelServer::start(waits));
    let other = waiting.site.github.world().pulls[0].clone();
    waiting.site.github.world().pulls.push(Pull { number: 12, head_branch: "other".to_owned(), ..other });
    let event = waiting.site.ci_ended("failure");
    waiting.job("workflow_run", &event, true);
    assert!(waiting.comment().contains(" standing=blocked "), "{}", waiting.told);
    // Nothing is gone yet: the gate alone, and no artifact.
    let early = waiting.runner().with("GITHUB_RUN_ID", "299").run("workflow_run", &event);
    assert!(early.code == Some(0) && !has_checked_out(&early), "{}", early.log);
    // Both tiers were asked: one hands its reason up, the last parks.
    assert_eq!(waiting.pushes_and_calls(), (0, 2), "{}", waiting.told);

    "merged".clone_into(&mut waiting.site.github.world().pulls[1].state);
    waiting.job("workflow_run", &event, true);
    assert_eq!(waiting.pushes_and_calls(), (1, 4), "{}", waiting.told);
    waiting.ci_ends();
    let event = waiting.site.ci_ended("success");
    waiting.job("workflow_run", &event, false);
    assert_eq!(waiting.pushes_and_calls(), (1, 4), "{}", waiting.told);
    reported(&waiting.finish(), "\nFixed by Tier 2");
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn a_check_that_is_red_in_ci_alone_is_run_here_and_mended() {
    const CI: &str =
        "name: CI\non: pull_request\njobs:\n  lint:\n    runs-on: ubuntu-latest\n    steps:\n      - run: sh lint.sh\n";
    const LINT: &str = "if grep -n 'sum(prices)$' shop/cart.py >/dev/null; then\n  echo 'shop/cart.py:2:12: C999 name the start of the sum'\n  \
                        exit 1\nfi\necho 'All checks passed!'\n";
    let mut files = FILES.to_vec();
    files[1].1 = "def total(prices):\n    return sum(prices)\n";
    files.extend([("lint.sh", LINT), (".github/workflows/ci.yml", CI)]);
    let models = ModelServer::start(replace_line("sum(prices)", "sum(prices, 0)"));
    let mut waiting = Waiting::of(Site::of(&files, &["success"]), models);
    let event = waiting.site.ci_ended("failure");
    {
        let mut world = waiting.site.github.world();
        world.token.lacks = vec!["actions=write".to_owned()];
        let run = json!({ "id": 55, "name": "CI", "workflowId": 3, "attempt": 1, "path": ".github/workflows/ci.yml",
            "event": "pull_request", "sha": waiting.site.start, "branch": "topic", "status": "completed", "conclusion": "failure" });
        world.runs.push(serde_json::from_value(run).expect("a run"));
        let job = json!({ "id": 9, "run": 55, "name": "lint", "status": "completed", "conclusion": "failure",
            "failedStep": "Run sh lint.sh", "log": "shop/cart.py:2:12: C999 name the start of the sum\n" });
        world.jobs.push(serde_json::from_value(job).expect("a job"));
    }
    waiting.job("workflow_run", &event, true);
    assert_eq!(waiting.pushes_and_calls(), (1, 2), "{}", waiting.told);
    assert!(waiting.told.contains("lint failed in the workflow CI; run beside them from now on"), "{}", waiting.told);
    assert!(waiting.site.server.git(&["show", "topic:shop/cart.py"]).contains("sum(prices, 0)"), "{}", waiting.told);
    waiting.ci_ends();
    let event = waiting.site.ci_ended("success");
    waiting.job("workflow_run", &event, false);
    reported(&waiting.finish(), "\nFixed by Tier 1");
}

/// The end of a workflow for the head of upshift's own pull request.
fn ended(site: &Site, name: &str) -> Value {
    let pull = site.github.world().pulls.last().cloned().expect("a pull request");
    let head = site.server.head(&pull.head_branch);
    let mut payload = site.ci_ended("success");
    let run = &mut payload["workflow_run"];
    run["head_commit"]["message"] = json!(site.server.git(&["log", "-1", "--format=%B", &head]));
    (run["head_sha"], run["head_branch"]) = (json!(head), json!(pull.head_branch));
    (run["pull_requests"], run["name"]) = (json!([{ "number": pull.number }]), json!(name));
    payload
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn a_merge_is_waited_for_and_a_review_before_it_is_heeded() {
    let mut waiting = Waiting::of(Site::new(&["success"]), ModelServer::start(obeys));
    waiting.workflow = waiting.workflow.replace("max-cost-usd:", "wait-for: merge\n          max-cost-usd:");
    let mut red = waiting.site.ci_ended("failure");
    let main = waiting.site.server.head("main");
    let run = &mut red["workflow_run"];
    (run["pull_requests"], run["head_branch"], run["head_sha"]) = (json!([]), json!("main"), json!(main));
    run["event"] = json!("push");
    waiting.site.github.world().pulls.clear();
    waiting.job("workflow_run", &red, true);
    assert_eq!(waiting.pushes_and_calls(), (1, 2), "{}", waiting.told);
    waiting.ci_ends();
    let by_ci = ended(&waiting.site, "CI");
    waiting.job("workflow_run", &by_ci, false);
    assert!(waiting.comment().contains(" standing=merging "), "{}", waiting.told);

    let pull = waiting.site.github.world().pulls.last().cloned().expect("a pull request");
    let sha = waiting.site.server.head(&pull.head_branch);
    let (author, at_ms, body) = ("ada".to_owned(), LATER_MS, "Say what it adds up.".to_owned());
    let review = Review { id: 5, pull: pull.number, author, at_ms, body, sha, ..Review::default() };
    waiting.site.github.world().reviews = vec![Review { state: "CHANGES_REQUESTED".to_owned(), ..review }];
    let mut by_review = ended(&waiting.site, "upshift-review");
    let ada = json!({ "login": "ada", "type": "User" });
    let run = &mut by_review["workflow_run"];
    (run["event"], run["actor"], run["triggering_actor"]) = (json!("pull_request_review"), ada.clone(), ada.clone());
    waiting.job("workflow_run", &by_review, true);
    assert_eq!(waiting.pushes_and_calls(), (2, 4), "{}", waiting.told);
    // It is older than the push that heeds it, over which the test's clock may leap.
    waiting.site.github.world().reviews[0].at_ms = 0;
    waiting.ci_ends();
    let by_ci = ended(&waiting.site, "CI");
    waiting.job("workflow_run", &by_ci, false);

    "merged".clone_into(&mut waiting.site.github.world().pulls.last_mut().expect("a pull request").state);
    let side = |branch: &str, sha: &str| json!({ "ref": branch, "sha": sha, "repo": { "full_name": "acme/shop" } });
    let head = side(&pull.head_branch, &waiting.site.server.head(&pull.head_branch));
    let of_it = json!({ "number": pull.number, "head": head, "base": side("main", &main), "labels": [] });
    let closed = json!({ "action": "closed", "pull_request": of_it, "sender": ada,
        "repository": { "default_branch": "main", "full_name": "acme/shop" } });
    waiting.job("pull_request", &closed, false);
    assert_eq!(waiting.pushes_and_calls(), (2, 4), "{}", waiting.told);
    let world = waiting.finish();
    let [comment] = world.comments.as_slice() else { panic!("{:?}", world.comments) };
    assert_eq!(comment.issue, pull.number);
    assert!(comment.body.contains("\nFixed by Tier 1") && comment.body.contains("merged"), "{}", comment.body);
}
