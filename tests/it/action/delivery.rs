//! The workflow that `init` writes, word for word, under act: a fix goes to a real git remote, and a GitHub says what CI makes of it.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::act::{Ran, Runner};
use crate::world::git_server::{GitServer, Made, PUSHER, TOKEN, git};
use crate::world::github::{Artifact, CiPlan, FakeGitHub, JobPlan, Pull, Run, World};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};

/// A broken project.
pub(super) const FILES: [(&str, &str); 5] = [
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
        Self::of(&FILES, conclusions)
    }

    /// The same of other files.
    pub(super) fn of(files: &[(&str, &str)], conclusions: &[&str]) -> Self {
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, Made::Text(text))).collect();
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
        world.token.accepted = vec![TOKEN.to_owned(), PUSHER.to_owned()];
        // As the workflow of `init` has it.
        world.token.lacks = vec!["actions=write".to_owned()];
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
        self.runner(models).run("pull_request", &self.labelled())
    }

    fn runner(&self, models: &ModelServer) -> Runner {
        let (root, checkout) = self.checkout();
        self.told(Runner::of_clone(root, checkout, upshift::cli::init::WORKFLOW), models)
    }

    /// A clone at the pull request's branch, and what keeps it.
    pub(super) fn checkout(&self) -> (PathBuf, tempfile::TempDir) {
        let checkout = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
        let root = checkout.path().join("shop");
        self.server.clone_to(&root);
        git(&root, &["switch", "--quiet", "topic"]);
        (root, checkout)
    }

    /// A runner that knows where everything is.
    pub(super) fn told(&self, runner: Runner, models: &ModelServer) -> Runner {
        let port = self.server.server_url().rsplit(':').next().expect("a port").to_owned();
        runner
            .token(TOKEN)
            .with("ANTHROPIC_BASE_URL", &models.url())
            .with("GITHUB_API_URL", &self.github.url())
            // Artifacts are refused on a server that is neither github.com nor `*.localhost`.
            .with("GITHUB_SERVER_URL", &format!("http://github.localhost:{port}"))
            .with("UPSHIFT_TEST_CLOCK", "1")
    }

    /// A job that the end of CI starts, in a repository whose `push-token` starts CI; its log is kept and it is over when this returns.
    fn woken(&self, models: &ModelServer, id: u64, payload: &Value) -> Ran {
        let runner = self.runner(models).secret("UPSHIFT_PUSH_TOKEN", PUSHER);
        self.woken_by(runner, (id, "workflow_run"), payload)
    }

    /// The same by any event, on a runner of the caller's.
    pub(super) fn woken_by(&self, runner: Runner, (id, event): (u64, &str), payload: &Value) -> Ran {
        let path = ".github/workflows/upshift.yml".to_owned();
        let run = Run { id, path, status: "in_progress".to_owned(), attempt: 1, ..Run::default() };
        self.github.world().runs.push(run);
        let ran = runner.with("GITHUB_RUN_ID", &id.to_string()).run(event, payload);
        let (name, archive) = ran.archive();
        let zip = STANDARD.encode(std::fs::read(archive).expect("an archive"));
        let mut world = self.github.world();
        let artifact = world.new_id();
        world.artifacts.push(Artifact {
            id: artifact,
            name,
            run: id,
            branch: "main".to_owned(),
            created_ms: id,
            zip,
            ..Artifact::default()
        });
        let own = world.runs.iter_mut().find(|run| run.id == id).expect("the job");
        "completed".clone_into(&mut own.status);
        drop(world);
        ran
    }

    /// The event of the end of CI of the branch's head.
    pub(super) fn ci_ended(&self, conclusion: &str) -> Value {
        let head = self.server.head("topic");
        let message = self.server.git(&["log", "-1", "--format=%B", &head]);
        let (login, kind) =
            if message.contains("Upshift-Run-Id: ") { ("upshift-acme[bot]", "Bot") } else { ("ada", "User") };
        let user = json!({ "login": login, "type": kind });
        let run = json!({
            "id": 55, "run_attempt": 1, "name": "CI", "event": "pull_request", "conclusion": conclusion, "actor": user,
            "triggering_actor": user, "head_sha": head, "head_branch": "topic",
            "head_repository": { "full_name": "acme/shop" }, "head_commit": { "message": message },
            "pull_requests": [{ "number": 7 }],
        });
        json!({ "action": "completed", "workflow_run": run, "sender": user,
            "repository": { "default_branch": "main", "full_name": "acme/shop" } })
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
pub(super) fn reported(world: &World, ending: &str) {
    let [comment] = world.comments.as_slice() else { panic!("{:?}", world.comments) };
    assert_eq!((comment.author.as_str(), comment.issue), ("github-actions[bot]", 7));
    assert!(comment.body.contains(ending), "{}", comment.body);
    assert!(!comment.body.contains(TOKEN), "{}", comment.body);
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn the_workflow_of_init_pushes_a_fix_waits_for_ci_and_reports() {
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
    assert!(began("YOUR-ACCOUNT/upshift@v1"), "{}", ran.log);
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

/// No minute is paid for waiting: a job pushes and ends, the end of CI starts the next, on a machine without anything of it.
#[test]
#[ignore = "needs act, which .ci/act installs"]
fn the_workflow_of_init_comes_to_its_second_iteration_by_the_ends_of_ci_alone() {
    let site = Site::new(&["failure", "success"]);
    site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = 100_000_000);
    let models = ModelServer::start(mends);
    let (mut told, mut outcomes) = (String::new(), Vec::new());
    for (id, conclusion) in [(201, "failure"), (202, "failure"), (203, "success")] {
        let ran = site.woken(&models, id, &site.ci_ended(conclusion));
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        assert!(!ran.log.contains(TOKEN), "{}", ran.log);
        let checked_out = ran.log.lines().any(|line| line.contains("Run Main") && line.contains("actions/checkout@"));
        assert_eq!(checked_out, id != 203, "{}", ran.log);
        told += &ran.log;
        outcomes.push(ran.archive().0);
        // CI goes to its end while nobody waits for it.
        site.github.world().later.iter_mut().for_each(|later| later.at_ms = 0);
    }
    assert_eq!(site.server.git(&["rev-parse", "topic~2"]), site.start, "{told}");
    assert!(site.server.git(&["show", "topic:shop/cart.py"]).contains("round(sum(prices), 2)"), "{told}");
    assert_eq!((models.requests().len(), outcomes.len()), (4, 3), "{told}");
    models.finish();
    let world = site.github.finish();
    assert_eq!(world.pushes.len(), 2);
    reported(&world, "\nFixed by Tier 1");
}
