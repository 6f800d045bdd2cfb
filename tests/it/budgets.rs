//! Caps that runs share: real processes, one audit log (issue 5).

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use upshift::domain::catalogue::Price;
use upshift::domain::units::MicroUsd;

use crate::world::git_server::git;
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Options, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

const PRICE: Price = Price { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 };
const MODEL: &str = "anthropic/claude-haiku-4-5";

/// A vendor whose model reads for ever: 0.02 dollars a reply.
fn reader() -> ModelServer {
    let read = |request: &Request| -> Scripted {
        Say::call("read_file", json!({"path": "shop/cart.py", "start_line": request.turn() + 1}))
            .usage(10_000, 2_000)
            .into()
    };
    ModelServer::start_with(Options::default().price("claude", PRICE), read)
}

/// A job of the repository `O/r` that the clock started.
fn job(server: &ModelServer) -> Program {
    let program = Program::with_anthropic(&server.url())
        .with("GITHUB_ACTIONS", "true")
        .with("GITHUB_REPOSITORY", "O/r")
        .with("GITHUB_RUN_ID", "1")
        .with("GITHUB_RUN_ATTEMPT", "1")
        .with("GITHUB_WORKFLOW", "ci")
        .with("GITHUB_JOB", "fix")
        .with("GITHUB_ACTOR", "ada")
        .with("GITHUB_TRIGGERING_ACTOR", "ada")
        .with("GITHUB_SHA", "0123456789012345678901234567890123456789")
        .with("GITHUB_REF", "refs/heads/main")
        .with("GITHUB_SERVER_URL", "https://github.com")
        .with("GITHUB_API_URL", "https://api.github.com");
    program.with("GITHUB_EVENT_NAME", "schedule")
}

/// The ladder and its caps as inline text.
fn tiers(caps: &serde_json::Value) -> String {
    let mut global = json!({"maxTotalCostUsd": 50.0});
    if let (Some(map), Some(caps)) = (global.as_object_mut(), caps.as_object()) {
        map.extend(caps.clone());
    }
    json!({
        "tiers": [{"name": "one", "mode": "simple", "maxIterations": 1, "models": {"artisan": MODEL}}],
        "global": global,
        "models": {MODEL: {"inputPer1M": 1, "outputPer1M": 5, "cacheReadPer1M": 0.1, "cacheWritePer1M": 1.25,
            "maxOutputTokens": 4_000}},
    })
    .to_string()
}

fn command(program: &Program, project: &Project, log: &Path, caps: &serde_json::Value) -> Command {
    let (log, tiers) = (log.display().to_string(), tiers(caps));
    let args = ["run", "--tiers", &tiers, "--audit-db", &log, "--test-command", project.test_command, "--push", "none"];
    program.command(project.path(), &args)
}

fn run(program: &Program, project: &Project, log: &Path, caps: &serde_json::Value) -> Said {
    Said::from(command(program, project, log, caps).output().expect("the program starts"))
}

#[test]
fn two_processes_that_share_a_log_share_the_days_cap() {
    const CAP: MicroUsd = MicroUsd(400_000);
    let server = reader();
    let shared = tempfile::tempdir().expect("a folder");
    let log = shared.path().join("audit.db");
    let projects = [Project::python(), Project::python()];
    let programs: Vec<Program> = projects.iter().map(|_| job(&server)).collect();
    let started: Vec<_> = programs
        .iter()
        .zip(&projects)
        .map(|(program, project)| {
            let mut command = command(program, project, &log, &json!({"maxCostUsdPerDay": 0.4}));
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
        })
        .collect();
    for child in started {
        let said = Said::from(child.wait_with_output().expect("an end"));
        assert_eq!(said.code, 3, "{}", said.all());
        assert!(said.all().contains("the cap of all runs of the day, o/r@"), "{}", said.all());
    }
    let billed = server.finish();
    assert!(billed <= CAP, "{billed} of {CAP}");
    assert!(billed > MicroUsd(CAP.0 / 2), "the cap is there to be used: {billed}");
    let booked = Log::open(&log).number("SELECT sum(cost_micro_usd + unknown_cost_micro_usd) FROM model_calls");
    // How they share it is a race, which the slower one may lose wholly.
    assert_eq!(u64::try_from(booked).expect("money"), billed.0);
}

#[test]
fn a_days_cap_knows_what_earlier_runs_spent_although_nothing_capped_them() {
    let project = Project::python();
    let shared = tempfile::tempdir().expect("a folder");
    let log = shared.path().join("audit.db");
    let server = reader();
    let said = run(&job(&server), &project, &log, &json!({"maxTotalCostUsd": 0.2}));
    assert_eq!(said.code, 3, "{}", said.all());
    let spent = server.finish();
    assert!(spent > MicroUsd(100_000), "{spent}");

    let again = ModelServer::serving([]);
    let said = run(&job(&again), &project, &log, &json!({"maxCostUsdPerDay": 0.1}));
    assert_eq!(said.code, 3, "{}", said.all());
    assert!(said.all().contains("the cap of all runs of the day, o/r@"), "{}", said.all());
    let next = "raise `global.maxCostUsdPerDay`";
    assert!(said.out.contains(next) && !said.out.contains("--max-cost-usd"), "the cap that was hit: {}", said.all());
    again.finish();
}

#[test]
fn clones_of_one_repository_share_the_days_cap_on_a_laptop() {
    let shared = tempfile::tempdir().expect("a folder");
    let log = shared.path().join("audit.db");
    let caps = json!({"maxCostUsdPerDay": 0.1});
    let clone = |origin: &str| {
        let project = Project::python();
        project.commit();
        git(project.path(), &["remote", "add", "origin", origin]);
        project
    };
    let (first, second) = (clone("https://github.com/Acme/shop.git"), clone("git@github.com:acme/shop"));
    let server = reader();
    let said = run(&Program::with_anthropic(&server.url()), &first, &log, &caps);
    assert_eq!(said.code, 3, "{}", said.all());
    assert!(server.finish() > MicroUsd(50_000), "the cap is there to be used: {}", said.all());

    let again = ModelServer::serving([]);
    let said = run(&Program::with_anthropic(&again.url()), &second, &log, &caps);
    assert_eq!(said.code, 3, "{}", said.all());
    assert!(said.all().contains("the cap of all runs of the day, acme/shop@"), "{}", said.all());
    again.finish();
}
