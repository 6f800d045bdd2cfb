//! A job that waits while the forge is down, its network is gone, or its own time ends: it is still waiting, then parked; what nobody
//! could see is never called fixed.

use upshift::domain::clock::Timestamp;

use super::delivery::{Site, mends};
use super::killed::Stage;
use crate::world::git_server::git;
use crate::world::github::{Effect, FakeGitHub, Fault};
use crate::world::log::Log;

const FOR_EVER_MS: u64 = 100 * 3_600_000;

fn polls(github: &FakeGitHub) -> usize {
    github.seen().iter().filter(|seen| seen.path.contains("/check-runs")).count()
}

/// A label on a pull request whose base is configured so, and CI that is at work for ever.
fn stage(configuration: &str) -> Stage {
    let site = Site::new(&["success"]);
    let seed = site.server.seed();
    git(&seed, &["checkout", "--quiet", "-B", "work", "main"]);
    std::fs::create_dir_all(seed.join(".github")).expect("a folder");
    std::fs::write(seed.join(".github/upshift.yml"), configuration).expect("written");
    let base = site.server.somebody_pushes("main");
    site.github.world().pulls[0].base_sha.clone_from(&base);
    site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = FOR_EVER_MS);
    Stage::labelled_at(site, &base, mends)
}

/// CI is over, and the forge is well again.
fn clears_up(github: &FakeGitHub) {
    let mut world = github.world();
    world.faults.clear();
    world.later.iter_mut().for_each(|later| later.at_ms = 0);
}

/// The next process ends the wait, and nothing was done twice.
fn goes_on(stage: Stage) {
    clears_up(stage.github());
    let resumed = stage.call("resume");
    assert_eq!(stage.job_files().outputs()["outcome"], "fixed", "{}", resumed.all());
    assert!(resumed.out.contains("CI: green in "), "{}", resumed.all());
    assert_eq!((stage.server().pushes(), stage.models().requests().len()), (1, 2), "{}", resumed.all());
    let world = stage.finish();
    assert_eq!(world.comments.len(), 1);
    assert!(world.comments[0].body.contains("\nFixed by Tier 1"), "{}", world.comments[0].body);
}

#[test]
fn five_minutes_before_the_job_ends_a_run_that_waits_in_it_is_parked() {
    let stage = stage("github: { jobTimeoutMinutes: 14, ciTimeoutMinutes: 600 }\n");
    let said = stage.call("run");
    assert_eq!((said.code, stage.job_files().outputs()["outcome"].as_str()), (0, "parked"), "{}", said.all());
    assert!(!said.out.contains('✔'), "{}", said.all());
    let steps = ["Look at the checks of ", "allow more time with `ci-timeout-minutes`"];
    assert!(steps.iter().all(|step| said.out.contains(step)), "{}", said.all());
    assert!(!said.out.contains("Nothing: what is waited for"), "nothing starts a job here: {}", said.all());
    let log = Log::open(&stage.job_files().file("temp/upshift/audit.db"));
    let at = |query: &str| Timestamp(log.value(query)).unix_ms().expect("a time");
    let began = at("SELECT started_at FROM run_metadata");
    let reached = at("SELECT reached_at FROM breakpoints");
    let last = at("SELECT MAX(recorded_at) FROM events");
    assert!((540_000..600_000).contains(&(last - began)), "nine of fourteen minutes: {} {}", last - began, said.all());
    assert!(reached - began < 120_000, "most of it was the wait: {}", said.all());
    goes_on(stage);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_outage_or_a_lost_network_as_long_as_the_wait_parks_the_run_and_claims_nothing() {
    for effect in [Effect::status(503, "Service Unavailable", &[]), Effect::Drop] {
        let stage = stage("github: { ciTimeoutMinutes: 10 }\n");
        let strikes = std::sync::atomic::AtomicBool::new(false);
        let said = stage.call_while("run", |github| {
            if polls(github) >= 2 && !strikes.swap(true, std::sync::atomic::Ordering::Relaxed) {
                let everything = ["GET", "PATCH", "POST"];
                let faults = everything.map(|method| Fault::once(method, "/", effect.clone()).times(1_000_000));
                github.world().faults.extend(faults);
            }
        });
        assert_eq!(stage.job_files().outputs()["outcome"], "parked", "{effect:?}: {}", said.all());
        assert_eq!(said.code, 0, "the step does not fail: {}", said.all());
        for words in ["the state of CI of ", "waited for 10 minutes"] {
            assert!(said.out.contains(words), "{words}: {}", said.all());
        }
        assert!(!said.out.contains('✔') && !said.out.contains("Fixed by"), "{effect:?}: {}", said.all());
        goes_on(stage);
    }
}

/// What is over before the wait is leaves no trace in the end.
#[test]
fn an_outage_within_the_wait_is_waited_out() {
    let stage = stage("github: { ciTimeoutMinutes: 60 }\n");
    let struck = std::sync::atomic::AtomicBool::new(false);
    let said = stage.call_while("run", |github| {
        let seen = polls(github);
        if seen >= 2 && !struck.swap(true, std::sync::atomic::Ordering::Relaxed) {
            let down = Effect::status(503, "Service Unavailable", &[]);
            github.world().faults.push(Fault::once("GET", "/check-runs", down).times(1_000_000));
        }
        if seen >= 40 {
            clears_up(github);
        }
    });
    assert_eq!(stage.job_files().outputs()["outcome"], "fixed", "{}", said.all());
    assert!(said.out.contains("CI: green in "), "{}", said.all());
    assert_eq!(stage.server().pushes(), 1);
    let world = stage.finish();
    assert!(world.comments[0].body.contains("\nFixed by Tier 1"), "{}", world.comments[0].body);
}
