//! `max-attempts-per-pr` over jobs that share nothing but the forge: counted from the newest audit log that one of them kept as
//! an artifact, checked against the hash in our comment.

use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::comment::job;
use super::gate::{comment_by, labelled_by, world};
use super::step::{Job, replace_line};
use crate::world::github::{Artifact, FakeGitHub, Run};
use crate::world::model_server::{ModelServer, Request, Scripted};
use crate::world::program::Said;
use crate::world::project::Project;

const WORKFLOW: &str = ".github/workflows/upshift.yml";

/// A repository in which a workflow runs upshift again and again.
pub(super) struct Repository {
    pub(super) github: FakeGitHub,
    jobs: u64,
}

/// A job that ended.
pub(super) struct Ended {
    pub(super) said: Said,
    job: Job,
    calls: usize,
    pub(super) requests: Vec<Request>,
    id: u64,
}

impl Repository {
    pub(super) fn new() -> Self {
        Self { github: FakeGitHub::start_in_real_time(world()), jobs: 100 }
    }

    /// One more job, on a machine of its own; its model does not mend anything.
    fn run(&mut self, event: &str, payload: &Value, more: &[(&str, &str)]) -> Ended {
        self.run_by(replace_line("sum(prices) - 1", "sum(prices) - 2"), (event, payload), more)
    }

    /// The same with models that follow a script.
    pub(super) fn run_by(
        &mut self,
        script: impl FnMut(&Request) -> Scripted + Send + 'static,
        (event, payload): (&str, &Value),
        more: &[(&str, &str)],
    ) -> Ended {
        self.jobs += 1;
        let models = ModelServer::start(script);
        let mut job = job(&self.github, &models, event, payload)
            .with("GITHUB_RUN_ID", &self.jobs.to_string())
            .with("GITHUB_WORKFLOW_REF", &format!("acme/shop/{WORKFLOW}@refs/heads/main"))
            .with("UPSHIFT_ACTION", "true")
            .with("GITHUB_SERVER_URL", "https://github.com")
            .with("UPSHIFT_MAX_ATTEMPTS_PER_PR", "2");
        for (name, value) in more {
            job = job.with(name, value);
        }
        let said = job.run(&Project::python());
        let requests = models.requests();
        models.finish();
        let run = Run { id: self.jobs, path: WORKFLOW.to_owned(), ..Run::default() };
        self.github.world().runs.push(run);
        Ended { said, job, calls: requests.len(), requests, id: self.jobs }
    }

    fn labelled(&mut self) -> Ended {
        self.run("pull_request", &labelled_by("ada"), &[])
    }

    fn asked(&mut self, command: &str) -> Ended {
        let mut payload = comment_by("ada");
        payload["comment"]["body"] = json!(command);
        self.run("issue_comment", &payload, &[])
    }

    pub(super) fn keep(&mut self, ended: &Ended) -> PathBuf {
        keep(&self.github, &ended.job, ended.id)
    }

    fn keep_as(&mut self, ended: &Ended, name: &str, files: &[&Path]) {
        keep_as(&self.github, ended.id, name, files);
    }
}

/// What the step behind upshift's does: keeps a job's log as an artifact.
pub(super) fn keep(github: &FakeGitHub, job: &Job, run: u64) -> PathBuf {
    let outputs = job.outputs();
    let log = PathBuf::from(&outputs["audit-db"]);
    keep_as(github, run, &outputs["artifact"], &[&log]);
    log
}

pub(super) fn keep_as(github: &FakeGitHub, run: u64, name: &str, files: &[&Path]) {
    let mut world = github.world();
    let id = world.new_id();
    let name = name.to_owned();
    world.artifacts.push(Artifact { id, name, run, created_ms: id * 1_000, zip: zip(files), ..Artifact::default() });
}

/// A zip archive of files, in base64.
fn zip(files: &[&Path]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.zip");
    let script = "import sys, zipfile, os\nz = zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED)\n\
                  [z.write(f, os.path.basename(f)) for f in sys.argv[2:]]\nz.close()";
    let done = Command::new("python3").args(["-c", script]).arg(&path).args(files).status().expect("python3");
    assert!(done.success());
    STANDARD.encode(std::fs::read(path).expect("an archive"))
}

fn is_refused(ended: &Ended, why: &str) {
    // That they are used up is nobody's fault; that they cannot be told is to be looked into.
    let code = if why.starts_with("pull request #7 has had") { 0 } else { 6 };
    assert_eq!(ended.said.code, code, "{}", ended.said.all());
    assert_eq!(ended.job.outputs()["outcome"], "refused");
    assert_eq!(ended.calls, 0, "{}", ended.said.all());
    assert!(ended.said.err.contains(why) && ended.said.err.contains("/upshift retry"), "{why}: {}", ended.said.all());
    assert!(ended.job.text("summary").contains(why), "{why}");
}

#[test]
fn the_runs_of_a_pull_request_are_counted_over_jobs_and_a_person_may_ask_for_one_more() {
    let mut repository = Repository::new();
    for number in 1..=2 {
        let ended = repository.labelled();
        assert_eq!(ended.said.code, 1, "{}", ended.said.all());
        assert!(
            ended.said.err.contains(&format!("Run {number} of at most 2 for pull request #7")),
            "{}",
            ended.said.err
        );
        let body = repository.github.world().comments[0].body.clone();
        assert!(body.contains(&format!("Run {number} for this pull request")), "{body}");
        repository.keep(&ended);
    }
    let report = repository.github.world().comments[0].body.clone();
    is_refused(&repository.labelled(), "pull request #7 has had 2 runs");
    is_refused(&repository.asked("/upshift fix"), "pull request #7 has had 2 runs");
    let body = repository.github.world().comments[0].body.clone();
    let note = "> **No more runs:** this pull request has had 2 runs, and `max-attempts-per-pr` is 2. Nothing was done for \
                `0123456`. Comment `/upshift retry` for one more.\n";
    assert_eq!(body.matches("No more runs").count(), 1, "{body}");
    assert!(body.contains(note), "{body}");
    let told = report.split_once("\n###").expect("a report").1;
    assert!(body.ends_with(told), "the report stays: {body}");
    let more = repository.asked("/upshift retry");
    assert_eq!(more.said.code, 1, "{}", more.said.all());
    assert!(more.said.err.contains("Run 3 for pull request #7"), "{}", more.said.err);
    repository.keep(&more);
    assert!(!repository.github.world().comments[0].body.contains("No more runs"), "the next report says what is so");
    is_refused(&repository.labelled(), "pull request #7 has had 3 runs");
    assert_eq!(repository.github.finish().comments.len(), 1);
}

#[test]
fn where_no_comment_is_wanted_none_is_edited() {
    let mut repository = Repository::new();
    for _ in 0..2 {
        let ended = repository.labelled();
        repository.keep(&ended);
    }
    let before = repository.github.world().comments.clone();
    let ended = repository.run("pull_request", &labelled_by("ada"), &[("UPSHIFT_COMMENT", "off")]);
    is_refused(&ended, "pull request #7 has had 2 runs");
    assert_eq!(repository.github.finish().comments, before);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn only_runs_that_reached_a_model_count() {
    let nobody = [("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"), ("UPSHIFT_MAX_DURATION_MINUTES", "0.05")];
    // With the log as an artifact, and in a script where the comment alone counts.
    for by_comment in [false, true] {
        let mut repository = Repository::new();
        let script = ("UPSHIFT_ACTION", "");
        let more: Vec<(&str, &str)> = if by_comment { vec![script] } else { vec![] };
        for _ in 0..3 {
            let all: Vec<(&str, &str)> = nobody.iter().copied().chain(more.clone()).collect();
            let ended = repository.run("pull_request", &labelled_by("ada"), &all);
            assert_eq!((ended.said.code != 0, ended.calls), (true, 0), "{}", ended.said.all());
            assert!(ended.said.err.contains("Run 1 of at most 2"), "{}", ended.said.all());
            if !by_comment {
                repository.keep(&ended);
            }
        }
        for number in 1..=2 {
            let ended = repository.run("pull_request", &labelled_by("ada"), &more);
            assert!(ended.said.err.contains(&format!("Run {number} of at most 2")), "{}", ended.said.all());
            if !by_comment {
                repository.keep(&ended);
            }
        }
        is_refused(&repository.run("pull_request", &labelled_by("ada"), &more), "pull request #7 has had 2 runs");
        repository.github.finish();
    }
}

#[test]
fn a_log_that_is_gone_counts_as_used_up_and_a_person_may_go_on() {
    let mut repository = Repository::new();
    let ended = repository.labelled();
    assert_eq!(ended.said.code, 1, "{}", ended.said.all());
    is_refused(&repository.labelled(), "with the log of the last run is gone");
    let more = repository.asked("/upshift retry");
    assert_eq!(more.said.code, 1, "{}", more.said.all());
    repository.keep(&more);
    is_refused(&repository.labelled(), "pull request #7 has had 3 runs");
    repository.github.finish();
}

#[test]
fn a_deleted_comment_forgets_nothing_and_an_edited_one_is_not_believed() {
    let mut repository = Repository::new();
    for _ in 0..2 {
        let ended = repository.labelled();
        repository.keep(&ended);
    }
    let kept = repository.github.world().comments.clone();
    repository.github.world().comments.clear();
    is_refused(&repository.labelled(), "pull request #7 has had 2 runs");
    let mut edited = kept;
    let stamp = edited[0].body.lines().nth(1).expect("a line").to_owned();
    edited[0].body = edited[0].body.replace(&stamp, "");
    repository.github.world().comments = edited;
    is_refused(&repository.labelled(), "the hidden line of upshift's comment is gone");
    repository.github.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn only_the_whole_log_that_our_comment_quotes_is_believed() {
    type Forge = fn(&mut Repository, &Ended, &Path);
    let other_run: Forge = |repository, ended, _| {
        // A log of an earlier, innocent run under the name that our comment gives.
        let mut elsewhere = Repository::new();
        let innocent = elsewhere.labelled();
        let log = PathBuf::from(&innocent.job.outputs()["audit-db"]);
        repository.keep_as(ended, &ended.job.outputs()["artifact"], &[&log]);
        elsewhere.github.finish();
    };
    let rewritten: Forge = |repository, ended, log| {
        let sql =
            "UPDATE events SET body = replace(body, '\"attempt\":1', '\"attempt\":0') WHERE kind = 'attempt_counted'";
        let done = Command::new("sqlite3").arg(log).arg(sql).status().expect("sqlite3");
        assert!(done.success());
        repository.keep_as(ended, &ended.job.outputs()["artifact"], &[log]);
    };
    let of_a_fork: Forge = |repository, ended, _| {
        repository.keep(ended);
        repository.github.world().artifacts[0].fork = true;
    };
    let of_another_workflow: Forge = |repository, ended, _| {
        repository.keep(ended);
        repository.github.world().runs[0].path = ".github/workflows/theirs.yml".to_owned();
    };
    let no_archive: Forge = |repository, ended, _| {
        repository.keep(ended);
        repository.github.world().artifacts[0].zip = STANDARD.encode("not a zip");
    };
    for (forge, why) in [
        (other_run, "cannot be used"),
        (rewritten, "cannot be used: broken at events"),
        (of_a_fork, "is gone"),
        (of_another_workflow, "is gone"),
        (no_archive, "not a zip archive"),
    ] {
        let mut repository = Repository::new();
        let ended = repository.labelled();
        assert_eq!(ended.said.code, 1, "{}", ended.said.all());
        let log = PathBuf::from(&ended.job.outputs()["audit-db"]);
        forge(&mut repository, &ended, &log);
        is_refused(&repository.labelled(), why);
        repository.github.finish();
    }
}

#[test]
fn a_killed_run_counts_with_what_it_left_beside_its_log() {
    let mut repository = Repository::new();
    let killed =
        repository.run("pull_request", &labelled_by("ada"), &[("UPSHIFT_CRASH_AFTER", "iteration_finished:1")]);
    assert_eq!(killed.said.code, -9, "{}", killed.said.all());
    // Of its comment only what was written before counts; without one the log alone tells.
    repository.github.world().comments.clear();
    let log = killed.job.file("temp/upshift/audit.db");
    let beside = killed.job.file("temp/upshift/audit.db-wal");
    let name = killed.job.outputs()["artifact"].clone();
    repository.keep_as(&killed, &name, &[&beside, &log]);
    let next = repository.labelled();
    assert!(next.said.err.contains("Run 2 of at most 2"), "{}", next.said.all());
    repository.github.finish();
}

#[test]
fn what_a_pull_request_may_cost_is_counted_over_jobs() {
    let tiers = json!({
        "tiers": [{ "name": "one", "mode": "simple", "maxIterations": 1, "models": { "artisan": "anthropic/claude-haiku-4-5" } }],
        "global": { "maxTotalCostUsd": 0.2, "maxCostUsdPerPr": 0.1 },
        "models": { "anthropic/claude-haiku-4-5": { "inputPer1M": 1, "outputPer1M": 5, "maxOutputTokens": 2_000 } },
    });
    let tiers = tiers.to_string();
    let costly = [("UPSHIFT_TIERS", tiers.as_str()), ("UPSHIFT_MAX_ATTEMPTS_PER_PR", "9")];
    let mut repository = Repository::new();
    let first = repository.run("pull_request", &labelled_by("ada"), &costly);
    assert_eq!(first.said.code, 1, "{}", first.said.all());
    let log = repository.keep(&first);
    // As if the first run had used up nearly all of it.
    let raised = tiers.replace("\"maxCostUsdPerPr\":0.1", "\"maxCostUsdPerPr\":0.0021");
    let second = repository.run("pull_request", &labelled_by("ada"), &[("UPSHIFT_TIERS", &raised), costly[1]]);
    assert_eq!((second.said.code, second.calls), (3, 0), "{}", second.said.all());
    assert!(second.said.out.contains("pull request"), "it says which cap: {}", second.said.all());
    let spent = crate::world::log::Log::open(&log)
        .number("SELECT SUM(cost_micro_usd + unknown_cost_micro_usd) FROM model_calls");
    assert!(spent > 0, "{spent}");
    repository.github.finish();
}

#[test]
fn a_log_that_outlives_its_job_and_a_comment_of_a_script_count_without_artifacts() {
    for more in [vec![("UPSHIFT_ACTION", "")], vec![]] {
        let mut repository = Repository::new();
        let logs = tempfile::tempdir().expect("a folder");
        let log = logs.path().join("audit.db").display().to_string();
        let more: Vec<(&str, &str)> = if more.is_empty() { vec![("UPSHIFT_AUDIT_DB", &log)] } else { more };
        for number in 1..=2 {
            let ended = repository.run("pull_request", &labelled_by("ada"), &more);
            assert!(ended.said.err.contains(&format!("Run {number} of at most 2")), "{more:?}: {}", ended.said.all());
        }
        let ended = repository.run("pull_request", &labelled_by("ada"), &more);
        is_refused(&ended, "pull request #7 has had 2 runs");
        assert!(repository.github.finish().artifacts.is_empty());
    }
}
