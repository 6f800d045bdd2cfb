//! The workflow of the README, word for word, under act: a fix goes to a real git remote, and a GitHub says what CI makes of it.

use serde_json::{Value, json};

use super::act::{Ran, Runner};
use crate::world::git_server::{GitServer, Made, TOKEN, git};
use crate::world::github::{CiPlan, FakeGitHub, JobPlan, Pull, World};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};

/// A broken project.
const FILES: [(&str, &str); 5] = [
    ("shop/__init__.py", ""),
    ("shop/cart.py", "def total(prices):\n    return sum(prices) - 1\n"),
    (
        "tests/test_cart.py",
        "import unittest\n\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        \
         self.assertEqual(total([1, 2, 3]), 6)\n\n    def test_type(self):\n        self.assertIsInstance(total([]), int)\n",
    ),
    ("tests/__init__.py", ""),
    (".gitignore", "__pycache__/\n"),
];
/// What CI's log says of what only CI sees.
const CI_LOG: &str = "2026-01-01T00:00:00.0000000Z ======================================================================\n\
    2026-01-01T00:00:00.0000000Z FAIL: test_rounding (tests.test_cart.CartTest.test_rounding)\n\
    2026-01-01T00:00:00.0000000Z ----------------------------------------------------------------------\n\
    2026-01-01T00:00:00.0000000Z Traceback (most recent call last):\n\
    2026-01-01T00:00:00.0000000Z   File \"tests/test_cart.py\", line 20, in test_rounding\n\
    2026-01-01T00:00:00.0000000Z AssertionError: a total must be rounded to cents\n\
    2026-01-01T00:00:00.0000000Z \n\
    2026-01-01T00:00:00.0000000Z Ran 3 tests in 0.001s\n\
    2026-01-01T00:00:00.0000000Z FAILED (failures=1)\n";
/// What only that log says.
const FROM_CI: &str = "a total must be rounded to cents";

/// A pull request by ada, a remote that holds it, and a GitHub with one plan for CI after each push.
pub(super) struct Site {
    pub(super) server: GitServer,
    pub(super) github: FakeGitHub,
    pub(super) start: String,
}

impl Site {
    pub(super) fn new(conclusions: &[&str]) -> Self {
        let files: Vec<_> = FILES.iter().map(|(name, text)| (*name, Made::Text(text))).collect();
        let server = GitServer::start(&files);
        server.git(&["branch", "topic", "main"]);
        let start = server.head("topic");
        let plan = |conclusion: &&str| CiPlan {
            appears_after_ms: Some(0),
            workflow: "CI".to_owned(),
            event: "pull_request".to_owned(),
            jobs: vec![JobPlan {
                name: "test".to_owned(),
                conclusion: (*conclusion).to_owned(),
                log: if *conclusion == "success" { String::new() } else { CI_LOG.to_owned() },
                ..JobPlan::default()
            }],
            ..CiPlan::default()
        };
        let mut world = World {
            repository: "acme/shop".to_owned(),
            git_dir: Some(server.bare()),
            roles: [("ada".to_owned(), "write".to_owned())].into(),
            pulls: vec![Pull {
                number: 7,
                state: "open".to_owned(),
                author: "ada".to_owned(),
                head_branch: "topic".to_owned(),
                head_sha: start.clone(),
                base_branch: "main".to_owned(),
                base_sha: start.clone(),
                ..Pull::default()
            }],
            ci: conclusions.iter().map(plan).collect(),
            ..World::default()
        };
        world.token.accepted = vec![TOKEN.to_owned()];
        let github = FakeGitHub::start_in_real_time(world);
        Self { server, github, start }
    }

    pub(super) fn labelled(&self) -> Value {
        let side = |branch: &str| json!({ "ref": branch, "sha": self.start, "repo": { "full_name": "acme/shop" } });
        let pull =
            json!({ "number": 7, "head": side("topic"), "base": side("main"), "labels": [{ "name": "upshift" }] });
        let sender = json!({ "login": "ada", "type": "User" });
        json!({ "action": "labeled", "label": { "name": "upshift" }, "pull_request": pull, "sender": sender })
    }

    fn run(&self, models: &ModelServer) -> Ran {
        let checkout = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
        let root = checkout.path().join("shop");
        self.server.clone_to(&root);
        git(&root, &["switch", "--quiet", "topic"]);
        let port = self.server.server_url().rsplit(':').next().expect("a port").to_owned();
        let runner = Runner::of_clone(root, checkout, upshift::cli::init::WORKFLOW)
            .token(TOKEN)
            .with("ANTHROPIC_BASE_URL", &models.url())
            .with("GITHUB_API_URL", &self.github.url())
            // Artifacts are refused on a server that is neither github.com nor `*.localhost`.
            .with("GITHUB_SERVER_URL", &format!("http://github.localhost:{port}"))
            .with("UPSHIFT_TEST_CLOCK", "1");
        runner.run("pull_request", &self.labelled())
    }
}

/// Mends the bug; when CI said that totals are to be rounded, rounds.
pub(super) fn mends(request: &Request) -> Scripted {
    let edit = |old: &str, new: &str| {
        let edit = json!({ "path": "shop/cart.py", "old_text": old, "new_text": new });
        Say::call("edit_file", edit).usage(1_000, 50).into()
    };
    match (request.turn(), request.all_text().contains(FROM_CI)) {
        (0, false) => edit("sum(prices) - 1", "sum(prices)"),
        (0, true) => edit("return sum(prices)", "return round(sum(prices), 2)"),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}

/// One comment, on the pull request, that says how it ended.
fn reported(world: &World, ending: &str) {
    let [comment] = world.comments.as_slice() else { panic!("{:?}", world.comments) };
    assert_eq!((comment.author.as_str(), comment.issue), ("github-actions[bot]", 7));
    assert!(comment.body.contains(ending), "{}", comment.body);
    assert!(!comment.body.contains(TOKEN), "{}", comment.body);
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn the_readmes_workflow_pushes_a_fix_waits_for_ci_and_reports() {
    let site = Site::new(&["success"]);
    let models = ModelServer::start(mends);
    let ran = site.run(&models);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert_eq!(
        site.server.git(&["rev-parse", "topic^"]),
        site.start,
        "one commit on top of the pinned head: {}",
        ran.log
    );
    assert!(site.server.git(&["show", "topic:shop/cart.py"]).contains("return sum(prices)"));
    let head = site.server.head("topic");
    assert!(ran.log.contains(&head), "the output `commit-sha`: {}", ran.log);
    let log = Log::open(&ran.artifact().join("audit.db"));
    assert_eq!(log.value("SELECT outcome FROM run_metadata"), "success");
    assert!(!ran.log.contains(TOKEN), "{}", ran.log);
    models.finish();
    let world = site.github.finish();
    reported(&world, "\nFixed by Tier 1");
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn where_the_gate_is_closed_nothing_is_checked_out_and_no_model_is_asked() {
    let site = Site::new(&["success"]);
    site.github.world().roles = [("ada".to_owned(), "read".to_owned())].into();
    let models = ModelServer::start(mends);
    let ran = site.run(&models);
    assert!(ran.log.contains("ada may not write to acme/shop"), "{}", ran.log);
    let began = |step: &str| ran.log.lines().any(|line| line.contains("Run Main") && line.contains(step));
    assert!(began("OWNER/upshift@v1"), "{}", ran.log);
    assert!(!began("actions/checkout@"), "{}", ran.log);
    assert_eq!(site.server.head("topic"), site.start);
    assert!(models.requests().is_empty());
    assert!(site.github.finish().comments.is_empty());
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn what_red_ci_says_is_the_next_iterations_input_and_the_second_push_is_green() {
    let site = Site::new(&["failure", "success"]);
    let models = ModelServer::start(mends);
    let ran = site.run(&models);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(models.requests().iter().any(|request| request.all_text().contains(FROM_CI)), "{}", ran.log);
    assert_eq!(site.server.git(&["rev-parse", "topic~2"]), site.start, "{}", ran.log);
    assert!(site.server.git(&["show", "topic:shop/cart.py"]).contains("round(sum(prices), 2)"));
    let log = Log::open(&ran.artifact().join("audit.db"));
    assert_eq!(log.number("SELECT COUNT(*) FROM tier_attempts"), 2);
    models.finish();
    let world = site.github.finish();
    assert_eq!(world.pushes.len(), 2);
    reported(&world, "\nFixed by Tier 1");
}
