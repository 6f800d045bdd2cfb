//! Waiting that costs no minutes: a job pushes and ends, the end of CI starts the one that goes on with its run, on a machine that
//! has nothing of it but the artifact.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};

use super::attempts::keep_as;
use super::delivery::{Site, mends};
use super::killed::{Effect, Trap};
use super::step::Job;
use super::{environment_of_a_step, with_of};
use crate::world::git_server::{PUSHER, TOKEN, git};
use crate::world::github::{FakeGitHub, Run, World};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Scripted};
use crate::world::program::{KEY, Said};

const WORKFLOW: &str = ".github/workflows/upshift.yml";
/// How long CI takes: until a test ends it.
const FOR_EVER_MS: u64 = 100_000_000;

/// A repository with the workflow that `init` writes, and a token that starts CI.
pub(super) struct Repository {
    pub(super) site: Site,
    pub(super) models: ModelServer,
    machines: tempfile::TempDir,
    jobs: u64,
    pub(super) trap: Trap,
    /// Files that stand in the next checkouts in place of those of the commit.
    pub(super) overlay: Vec<(String, String)>,
}

/// A job of the workflow that ended.
pub(super) struct Ended {
    pub(super) gate: Said,
    /// What the step behind the gate said; `None` where the gate let nobody through.
    pub(super) run: Option<Said>,
    job: Job,
    id: u64,
}

impl Ended {
    pub(super) fn output(&self, name: &str) -> String {
        self.job.outputs().get(name).cloned().unwrap_or_default()
    }

    pub(super) fn was_killed(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.code == -9)
    }

    pub(super) fn said(&self) -> String {
        self.gate.all() + &self.run.as_ref().map(Said::all).unwrap_or_default()
    }
}

impl Repository {
    pub(super) fn new(conclusions: &[&str]) -> Self {
        Self::with_models(conclusions, mends)
    }

    pub(super) fn with_models(conclusions: &[&str], script: impl FnMut(&Request) -> Scripted + Send + 'static) -> Self {
        Self::of(Site::new(conclusions), script)
    }

    /// The same of another site.
    pub(super) fn of(site: Site, mut script: impl FnMut(&Request) -> Scripted + Send + 'static) -> Self {
        let trap = Trap::default();
        trap.watch(&site);
        let of_models = trap.clone();
        site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = FOR_EVER_MS);
        let models = ModelServer::start(move |request: &Request| {
            of_models.happened(Effect::ModelAsked);
            script(request)
        });
        let machines = tempfile::Builder::new().prefix("machines-").tempdir().expect("a folder");
        Self { site, models, machines, jobs: 100, trap, overlay: Vec::new() }
    }

    /// CI is over, and told so by an event.
    pub(super) fn ci_ends(&self) -> Value {
        let mut world = self.site.github.world();
        world.later.iter_mut().for_each(|later| later.at_ms = 0);
        drop(world);
        self.told("failure")
    }

    pub(super) fn told(&self, conclusion: &str) -> Value {
        self.site.ci_ended(conclusion)
    }

    /// A name that counts as GitHub's: the default of `wait-for` is another elsewhere.
    fn server_url(&self) -> String {
        self.site.server.server_url().replace("127.0.0.1", "github.localhost")
    }

    fn checkout(&self) -> PathBuf {
        self.machines.path().join("work/shop")
    }

    /// A job of the default branch on a machine of its own, as the workflow has its steps.
    pub(super) fn job(&mut self, payload: &Value) -> Ended {
        self.job_for("workflow_run", payload, &[])
    }

    pub(super) fn job_for(&mut self, event: &str, payload: &Value, more: &[(&str, &str)]) -> Ended {
        self.jobs += 1;
        let id = self.jobs;
        let run = Run { id, path: WORKFLOW.to_owned(), status: "in_progress".to_owned(), attempt: 1, ..Run::default() };
        self.site.github.world().runs.push(run);
        self.attempt((id, 1), event, payload, more)
    }

    /// A person has a job run again.
    pub(super) fn again(&mut self, ended: &Ended, (event, payload): (&str, &Value), more: &[(&str, &str)]) -> Ended {
        let mut world = self.site.github.world();
        let own = world.runs.iter_mut().find(|run| run.id == ended.id).expect("the job");
        own.attempt += 1;
        "in_progress".clone_into(&mut own.status);
        let attempt = own.attempt;
        drop(world);
        self.attempt((ended.id, attempt), event, payload, more)
    }

    fn attempt(&mut self, (id, attempt): (u64, u64), event: &str, payload: &Value, more: &[(&str, &str)]) -> Ended {
        let step = environment_of_a_step(&with_of(upshift::cli::init::WORKFLOW), TOKEN);
        let job = step.into_iter().fold(Job::new(&self.models.url()), |job, (name, value)| job.with(&name, &value));
        let job = job
            .with("ANTHROPIC_API_KEY", KEY)
            .with("UPSHIFT_PUSH_TOKEN", PUSHER)
            .with("UPSHIFT_TIERS", "claude-haiku-4-5 x3")
            .with("GITHUB_API_URL", &self.site.github.url())
            .with("GITHUB_SERVER_URL", &self.server_url())
            .with("GITHUB_EVENT_NAME", event)
            .with("GITHUB_WORKFLOW", "upshift")
            .with("GITHUB_WORKFLOW_REF", &format!("acme/shop/{WORKFLOW}@refs/heads/main"))
            .with("GITHUB_RUN_ID", &id.to_string())
            .with("GITHUB_RUN_ATTEMPT", &attempt.to_string())
            .with("GITHUB_REF", "refs/heads/main")
            .with("GITHUB_SHA", &self.site.start)
            .event(payload);
        let job = more.iter().fold(job, |job, (name, value)| job.with(name, value));
        let _gone = std::fs::remove_dir_all(self.checkout());
        std::fs::create_dir_all(self.checkout()).expect("a folder");
        let gate = job.in_folder(&self.checkout(), &["gate"]);
        let outputs = job.outputs();
        let head = outputs.get("head-sha").cloned().unwrap_or_default();
        let job = job.with("UPSHIFT_HEAD_SHA", &head);
        let run = (outputs["go"] == "true").then(|| {
            if outputs["checkout"] == "true" {
                self.site.server.clone_to(&self.checkout());
                git(&self.checkout(), &["checkout", "--quiet", "--detach", &head]);
                for (name, text) in &self.overlay {
                    std::fs::write(self.checkout().join(name), text).expect("written");
                }
            }
            let mut command = job.program().command(&self.checkout(), &["run"]);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
            self.trap.follow(child.id());
            Said::from(child.wait_with_output().expect("ended"))
        });
        // A job of a pull request's head runs the workflow as that has it.
        let of_a_head = event.starts_with("pull_request").then(|| payload["pull_request"]["head"]["ref"].as_str());
        self.ended(&job, (id, attempt), of_a_head.flatten().unwrap_or("main"));
        Ended { gate, run, job, id }
    }

    /// The step behind it keeps the log, also of one that was killed, and the job is over.
    fn ended(&self, job: &Job, (id, attempt): (u64, u64), branch: &str) {
        let folder = job.file("temp/upshift");
        let fetched = std::fs::read_dir(folder.join("audit")).into_iter().flatten().flatten().map(|entry| entry.path());
        let folders: Vec<PathBuf> = std::iter::once(folder).chain(fetched).collect();
        let logs = folders.iter().flat_map(|folder| [folder.join("audit.db"), folder.join("audit.db-wal")]);
        let logs: Vec<PathBuf> = logs.filter(|log| log.is_file()).collect();
        if !logs.is_empty() {
            let name = job.outputs().get("artifact").cloned();
            let name = name.unwrap_or_else(|| format!("upshift-audit-{id}-{attempt}"));
            keep_as(&self.site.github, id, &name, &logs.iter().map(PathBuf::as_path).collect::<Vec<_>>());
            self.site.github.world().artifacts.last_mut().expect("an artifact").branch = branch.to_owned();
        }
        let mut world = self.site.github.world();
        let own = world.runs.iter_mut().find(|run| run.id == id).expect("the job");
        "completed".clone_into(&mut own.status);
        own.conclusion = Some("success".to_owned());
    }

    fn ci_ran_for(&self, sha: &str) {
        let run = json!({ "id": 54, "name": "CI", "workflowId": 3, "attempt": 1, "path": ".github/workflows/ci.yml",
            "event": "push", "sha": sha, "branch": "main", "status": "completed", "conclusion": "failure" });
        self.site.github.world().runs.push(serde_json::from_value(run).expect("a run"));
    }

    /// The same for the branch of upshift's own pull request.
    pub(super) fn ci_ends_on(&self, number: u64) -> Value {
        self.site.github.world().later.iter_mut().for_each(|later| later.at_ms = 0);
        let pull =
            self.site.github.world().pulls.iter().find(|pull| pull.number == number).cloned().expect("a pull request");
        let mut payload = self.told("success");
        let run = &mut payload["workflow_run"];
        let head = self.site.server.head(&pull.head_branch);
        run["head_commit"]["message"] = json!(self.site.server.git(&["log", "-1", "--format=%B", &head]));
        run["head_sha"] = json!(head);
        run["head_branch"] = json!(pull.head_branch);
        run["pull_requests"] = json!([{ "number": number }]);
        payload
    }

    /// A pull request ends, and the event that tells it.
    pub(super) fn pull_is(&self, number: u64, end: &str) -> Value {
        let mut world = self.site.github.world();
        let pull = world.pulls.iter_mut().find(|pull| pull.number == number).expect("a pull request");
        end.clone_into(&mut pull.state);
        let side = |branch: &str, sha: &str| json!({ "ref": branch, "sha": sha, "repo": { "full_name": "acme/shop" } });
        let (head, base) = (side(&pull.head_branch, &pull.head_sha), side(&pull.base_branch, &self.site.start));
        let pull = json!({ "number": number, "head": head, "base": base, "labels": [] });
        let sender = json!({ "login": "ada", "type": "User" });
        json!({ "action": "closed", "pull_request": pull, "sender": sender, "repository": { "default_branch": "main" } })
    }

    pub(super) fn comment(&self) -> String {
        let world = self.site.github.world();
        let [comment] = world.comments.as_slice() else { panic!("{:?}", world.comments) };
        comment.body.clone()
    }

    pub(super) fn finish(self) -> World {
        self.models.finish();
        let github: FakeGitHub = self.site.github;
        github.finish()
    }
}

#[test]
fn the_workflow_of_init_comes_to_its_second_iteration_and_its_end_through_the_ends_of_ci() {
    let mut repository = Repository::new(&["failure", "success"]);
    let first = repository.job(&repository.told("failure"));
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    assert_eq!(first.run.as_ref().map(|run| run.code), Some(0), "{}", first.said());
    assert!(first.said().contains("::notice title=upshift::1 test fixed"), "{}", first.said());
    for text in ["standing=waiting", "### ⏸ 1 test fixed in `cart.py` (+1 −1), pushed, ", "; waiting for CI\n"] {
        assert!(repository.comment().contains(text), "{text}: {}", repository.comment());
    }
    let second = repository.job(&repository.ci_ends());
    assert_eq!(
        (second.output("checkout").as_str(), second.output("outcome").as_str()),
        ("true", "parked"),
        "{}",
        second.said()
    );
    assert_eq!(repository.site.server.pushes(), 2, "{}", second.said());
    let third = repository.job(&repository.ci_ends());
    assert_eq!(
        (third.output("checkout").as_str(), third.output("outcome").as_str()),
        ("false", "fixed"),
        "{}",
        third.said()
    );
    assert!(!repository.checkout().join(".git").exists(), "no checkout");
    let comment = repository.comment();
    assert!(comment.contains("\nFixed by Tier 1") && comment.contains("CI green"), "{comment}");
    assert!(!comment.contains("standing="), "{comment}");
    let log = Log::open(std::path::Path::new(&third.output("audit-db")));
    assert_eq!(log.rows("SELECT iteration, test_status FROM tier_attempts"), [["1", "passed"], ["2", "passed"]]);
    assert_eq!(log.number("SELECT COUNT(*) FROM run_metadata"), 1, "one run over three jobs");
    assert_eq!(repository.models.requests().len(), 4, "two iterations of two turns");
    let branches = repository.site.server.git(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(branches.lines().collect::<Vec<_>>(), ["refs/heads/main", "refs/heads/topic"], "no branch of a state");
    let _world = repository.finish();
}

#[test]
fn while_a_check_is_open_the_run_stays_parked() {
    let mut repository = Repository::new(&["success"]);
    let first = repository.job(&repository.told("failure"));
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    let before = repository.site.github.seen().len();
    let early = repository.job(&repository.told("success"));
    let asked = repository.site.github.seen().len() - before;
    assert!((1..=15).contains(&asked), "docs/waiting.md says what a wake-up costs at most: {asked}");
    assert!(early.run.is_none() && early.gate.code == 0, "{}", early.said());
    assert!(early.output("reason").contains("is still waiting for test"), "{}", early.said());
    let last = repository.job(&repository.ci_ends());
    assert_eq!(last.output("outcome"), "fixed", "{}", last.said());
    let again = repository.job(&repository.told("success"));
    assert!(again.run.is_none() && again.output("reason").contains("upshift's own"), "{}", again.said());
    assert_eq!((repository.models.requests().len(), repository.site.server.pushes()), (2, 1));
    assert_eq!(last.id, 103);
    let _world = repository.finish();
}

/// A red `main`, whose fix is proposed, and whose merge is waited for.
pub(super) fn proposing() -> (Repository, Ended) {
    proposing_with(mends)
}

/// The same by a model of this script.
pub(super) fn proposing_with(script: impl FnMut(&Request) -> Scripted + Send + 'static) -> (Repository, Ended) {
    let mut repository = Repository::with_models(&["success"], script);
    let start = repository.site.start.clone();
    // CI is known here: it ran for the start.
    repository.ci_ran_for(&start);
    let push = json!({ "ref": "refs/heads/main", "after": start, "sender": { "login": "ada", "type": "User" } });
    let more = [("UPSHIFT_WAIT_FOR", "merge"), ("UPSHIFT_PUSH", "pr")];
    let first = repository.job_for("push", &push, &more);
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    (repository, first)
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_merge_is_waited_for_without_a_job_too() {
    for (end, answer) in [("merged", "merged"), ("closed", "was closed without a merge")] {
        let (mut repository, _first) = proposing();
        let number = repository.site.github.world().pulls.last().expect("a pull request").number;
        let by_ci = repository.job(&repository.ci_ends_on(number));
        assert_eq!(
            (by_ci.output("checkout").as_str(), by_ci.output("outcome").as_str()),
            ("false", "parked"),
            "{}",
            by_ci.said()
        );
        let still = repository.job(&repository.ci_ends_on(number));
        assert!(still.output("reason").contains("is still waiting for the merge"), "{}", still.said());
        let payload = repository.pull_is(number, end);
        let last = repository.job_for("pull_request", &payload, &[]);
        assert_eq!(
            (last.output("checkout").as_str(), last.output("outcome").as_str()),
            ("false", "fixed"),
            "{}",
            last.said()
        );
        assert!(last.said().contains(answer), "{}", last.said());
        let report = std::fs::read_to_string(last.output("report-path")).expect("a report");
        assert!(report.contains("CI") && repository.models.requests().len() == 2, "{report}");
        let _world = repository.finish();
    }
}

/// Where a job of a run that parks is killed: its number among the jobs, and after what.
const KILLS: [(usize, Effect, usize); 7] = [
    (0, Effect::CommentMade, 1),
    (0, Effect::CommentEdited, 1),
    (0, Effect::CiAsked, 1),
    (1, Effect::CommentEdited, 1),
    (1, Effect::LogRead, 1),
    (1, Effect::ModelAsked, 1),
    (2, Effect::CommentEdited, 1),
];

/// The worst of them: a push that nobody recorded, before and after the run was taken up.
const WORST: [(usize, Effect, usize); 2] = [(0, Effect::Pushed, 1), (1, Effect::Pushed, 1)];

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn killed_behind_a_push_a_run_pushes_pays_and_comments_once() {
    kill_at(&WORST);
}

#[test]
#[ignore = "seven times four jobs: .ci/nightly sets it off apart"]
fn killed_where_it_parks_or_is_taken_up_a_run_pushes_pays_and_comments_once() {
    kill_at(&KILLS);
}

fn kill_at(kills: &[(usize, Effect, usize)]) {
    for &(at, effect, count) in kills {
        let mut repository = Repository::new(&["failure", "success"]);
        let mut payload = repository.told("failure");
        let (mut told, mut struck) = (String::new(), false);
        let mut last = None;
        for number in 0..5 {
            if number == at {
                repository.trap.arm(effect, count);
            }
            let mut ended = repository.job(&payload);
            struck |= number == at && !repository.trap.disarm();
            told += &ended.said();
            if ended.was_killed() {
                // The head may have moved by its push: then CI's end goes on, not this.
                ended = repository.again(&ended, ("workflow_run", &payload), &[]);
                told += &ended.said();
            }
            let over = ended.output("outcome") == "fixed";
            last = Some(ended);
            if over {
                break;
            }
            payload = repository.ci_ends();
        }
        let what = format!("{effect:?} {count} in job {at}");
        assert!(struck, "{what}: {told}");
        let last = last.expect("a job");
        assert_eq!(last.output("outcome"), "fixed", "{what}: {told}");
        let mid_air = usize::from(effect == Effect::ModelAsked);
        assert_eq!(repository.models.requests().len(), 4 + mid_air, "{what}: {told}");
        assert_eq!(repository.site.server.pushes(), 2, "{what}: {told}");
        assert!(repository.comment().contains("Fixed by Tier 1"), "{what}: {told}");
        let _world = repository.finish();
    }
}

#[test]
fn where_no_ci_runs_at_all_nobody_would_be_woken_so_that_the_job_looks_itself() {
    let mut repository = Repository::new(&["success"]);
    repository.site.github.world().ci.clear();
    let comment = json!({ "id": 9, "body": "/upshift fix", "user": { "login": "ada", "type": "User" } });
    let payload = json!({ "action": "created", "issue": { "number": 7, "pull_request": {} }, "comment": comment,
        "sender": { "login": "ada", "type": "User" }, "repository": { "default_branch": "main" } });
    let ended = repository.job_for("issue_comment", &payload, &[]);
    assert_eq!(ended.output("outcome"), "fixed", "{}", ended.said());
    assert!(ended.said().contains("no check appeared for "), "{}", ended.said());
    let _world = repository.finish();
}

/// The workflows of the base ran, and a `paths` filter leaves the fix out: no check of it ends, and so nothing would wake the run.
#[test]
fn where_ci_leaves_the_fix_out_the_run_does_not_park_for_ever() {
    let mut repository = Repository::new(&["success"]);
    repository.site.github.world().ci.clear();
    repository.ci_ran_for(&repository.site.start);
    let ended = repository.job(&repository.told("failure"));
    assert_eq!(ended.output("outcome"), "fixed", "{}", ended.said());
    assert!(ended.said().contains("no check appeared for "), "{}", ended.said());
    let comment = repository.comment();
    assert!(!comment.contains("standing=waiting"), "{comment}");
    assert!(comment.contains("See whether `paths`") && !comment.contains("push-token"), "one was given: {comment}");
    let _world = repository.finish();
}

/// `push-token: ${{ secrets.PAT || github.token }}` without that secret, and a job of the pull request's own head.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn where_nothing_would_go_on_the_run_waits_in_its_job() {
    let labelled = Repository::new(&["success"]);
    let by_label = labelled.site.labelled();
    let _world = labelled.finish();
    for (event, token, asked, warned) in [
        ("workflow_run", TOKEN, "", None),
        ("workflow_run", TOKEN, "event", Some("`wait-for: event` needs a `push-token` other than the job's own")),
        ("pull_request", PUSHER, "", None),
        (
            "pull_request",
            PUSHER,
            "event",
            Some("`wait-for: event` needs a job that runs the default branch's workflow"),
        ),
    ] {
        let mut repository = Repository::new(&["success"]);
        let mut payload = if event == "pull_request" { by_label.clone() } else { repository.told("failure") };
        if event == "pull_request" {
            for side in ["head", "base"] {
                payload["pull_request"][side]["sha"] = json!(repository.site.start);
            }
        }
        let more = [("UPSHIFT_PUSH_TOKEN", token), ("UPSHIFT_WAIT_FOR", asked)];
        let ended = repository.job_for(event, &payload, &more);
        assert_eq!(ended.output("outcome"), "parked", "{event} {asked}: {}", ended.said());
        assert!(ended.said().contains("waited for 30 minutes"), "{event} {asked}: {}", ended.said());
        let is_warned = ended.said().contains("it waits in this job instead");
        assert_eq!(is_warned, warned.is_some(), "{event} {asked}: {}", ended.said());
        assert!(warned.is_none_or(|words| ended.said().contains(words)), "{event} {asked}: {}", ended.said());
        let _world = repository.finish();
    }
}

/// The next job finds the run by the comment that holds it.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn where_no_comment_holds_the_run_it_waits_in_its_job() {
    for comment in ["off", "on-failure"] {
        let mut repository = Repository::new(&["success"]);
        let payload = repository.told("failure");
        let ended = repository.job_for("workflow_run", &payload, &[("UPSHIFT_COMMENT", comment)]);
        assert!(
            ended.said().contains("needs a comment of upshift's that names the run"),
            "{comment}: {}",
            ended.said()
        );
        assert!(!ended.said().contains("starts the job that goes on"), "{comment}: {}", ended.said());
        let _world = repository.finish();
    }
}

#[test]
fn behind_a_push_nobody_is_paid_to_guess_either() {
    let mut repository = Repository::new(&["failure"]);
    repository.site.github.world().ci[0].jobs[0].log.clear();
    let first = repository.job(&repository.told("failure"));
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    let paid = repository.models.requests().len();
    let second = repository.job(&repository.ci_ends());
    assert_eq!(second.output("outcome"), "blocked", "{}", second.said());
    assert!(second.said().contains("CI is red in test, and no log gives a reason"), "{}", second.said());
    assert_eq!((repository.models.requests().len(), repository.site.server.pushes()), (paid, 1), "{}", second.said());
    let _world = repository.finish();
}

#[test]
fn a_run_whose_log_is_gone_is_no_longer_said_to_wait() {
    let mut repository = Repository::new(&["success"]);
    let first = repository.job(&repository.told("failure"));
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    repository.site.github.world().artifacts.clear();
    let last = repository.job(&repository.ci_ends());
    assert!(last.said().contains("no check failed, and the log of run "), "{}", last.said());
    let comment = repository.comment();
    assert!(comment.contains("> **The wait is over.**") && !comment.contains("standing="), "{comment}");
    assert!(comment.contains("1 test fixed in"), "the report stays: {comment}");
    let _world = repository.finish();
}

/// CI of the run's commit is red, once its log is gone: the event that says so.
fn red_without_log(repository: &Repository) -> Value {
    let mut world = repository.site.github.world();
    world.artifacts.clear();
    // As in a job of ours: what failed cannot be had once more.
    world.token.lacks = vec!["actions=write".to_owned()];
    drop(world);
    let mut payload = repository.ci_ends();
    let head = repository.site.server.head("topic");
    let of_head = repository.site.github.world().runs.iter().find(|run| run.sha == head).map(|run| run.id);
    payload["workflow_run"]["id"] = json!(of_head.expect("CI's run"));
    payload
}

#[test]
fn a_run_whose_log_is_gone_is_followed_by_none_where_the_money_is_capped() {
    let mut repository = Repository::new(&["success", "failure", "success"]);
    let seed = repository.site.server.seed();
    git(&seed, &["checkout", "--quiet", "-B", "work", "main"]);
    std::fs::create_dir_all(seed.join(".github")).expect("a folder");
    std::fs::write(seed.join(".github/upshift.yml"), "global: { maxCostUsdPerPr: 1 }\n").expect("written");
    let base = repository.site.server.somebody_pushes("main");
    repository.site.github.world().pulls[0].base_sha.clone_from(&base);
    let first = repository.job(&repository.told("failure"));
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    let asked = repository.models.requests().len();
    let payload = red_without_log(&repository);
    let second = repository.job(&payload);
    assert!(
        second.said().contains("what the pull request has cost, which global.maxCostUsdPerPr caps"),
        "{}",
        second.said()
    );
    assert_eq!(repository.models.requests().len(), asked, "{}", second.said());
    let _world = repository.finish();
}

#[test]
fn a_run_whose_log_is_gone_is_followed_by_a_fresh_one_that_counts() {
    let mut repository = Repository::new(&["failure", "success"]);
    let first = repository.job(&repository.told("failure"));
    let payload = red_without_log(&repository);
    let second = repository.job(&payload);
    assert!(second.said().contains("cannot continue, a new one starts"), "{}", second.said());
    assert!(second.said().contains("Run 2 of at most 3 for pull request #7"), "{}", second.said());
    assert_ne!(first.output("run-id"), second.output("run-id"), "{}", second.said());
    let asked = repository.models.requests();
    assert!(
        asked.last().is_some_and(|request| request.all_text().contains("CI is red on the commit")),
        "{}",
        second.said()
    );
    let _world = repository.finish();
}
