//! A job that the clock starts on a red `main`, night after night.

use serde_json::json;

use super::delivery::{FILES, Site};
use super::killed::Effect;
use super::reentry::Repository;
use super::step::replace_line;
use crate::world::github::Artifact;
use crate::world::log::Log;

/// The events after which a run is killed here.
pub(crate) const KILLS: [&str; 1] = ["failure_counted:1"];

#[test]
fn a_run_that_was_killed_before_it_reached_a_model_has_used_up_nothing() {
    let mut repository = Repository::with_models(&["success"], replace_line("sum(prices) - 1", "sum(prices) - 2"));
    let payload = json!({ "schedule": "0 3 * * *", "repository": { "default_branch": "main" } });
    let more = [("UPSHIFT_PUSH", "pr"), ("UPSHIFT_TIERS", "claude-haiku-4-5 x1"), ("UPSHIFT_CRASH_AFTER", KILLS[0])];
    let killed = repository.job_for("schedule", &payload, &more);
    assert!(repository.models.requests().is_empty() && killed.was_killed(), "{}", killed.said());
    let next = repository.job_for("schedule", &payload, &more[..2]);
    assert!(next.said().contains("Run 1 of at most 3 for this failure"), "{}", next.said());
    let _world = repository.finish();
}

#[test]
fn one_failure_of_a_branch_is_tried_as_often_as_allowed_and_once_more_for_a_person() {
    let mut repository = Repository::with_models(&["success"], replace_line("sum(prices) - 1", "sum(prices) - 2"));
    let payload = json!({ "schedule": "0 3 * * *", "repository": { "default_branch": "main" } });
    let more = [("UPSHIFT_PUSH", "pr"), ("UPSHIFT_TIERS", "claude-haiku-4-5 x1"), ("UPSHIFT_MAX_ATTEMPTS_PER_PR", "2")];
    for night in 1..=2 {
        let ended = repository.job_for("schedule", &payload, &more);
        assert_eq!(ended.output("outcome"), "exhausted", "{}", ended.said());
        let counted = format!("Run {night} of at most 2 for this failure");
        assert!(ended.said().contains(&counted), "{counted}: {}", ended.said());
        assert_eq!(ended.said().contains(" spent before"), night == 2, "{}", ended.said());
    }
    let paid = repository.models.requests().len();
    let refused = repository.job_for("schedule", &payload, &more);
    assert_eq!(refused.output("outcome"), "refused", "{}", refused.said());
    assert!(
        refused.said().contains("this failure has had 2 runs, and `max-attempts-per-pr` is 2"),
        "{}",
        refused.said()
    );
    assert_eq!(repository.models.requests().len(), paid, "nothing is paid: {}", refused.said());

    let by_hand = json!({ "sender": { "login": "ada", "type": "User" }, "repository": { "default_branch": "main" } });
    let once_more = repository.job_for("workflow_dispatch", &by_hand, &more);
    assert_eq!(once_more.output("outcome"), "exhausted", "{}", once_more.said());
    assert!(repository.models.requests().len() > paid);
    let _world = repository.finish();
}

#[test]
fn the_dollars_of_one_failure_are_capped_over_its_nights_for_people_too() {
    let mut repository = Repository::with_models(&["success"], replace_line("sum(prices) - 1", "sum(prices) - 2"));
    let payload = json!({ "schedule": "0 3 * * *", "repository": { "default_branch": "main" } });
    let by_hand = json!({ "sender": { "login": "ada", "type": "User" }, "repository": { "default_branch": "main" } });
    let tiers = |cap: &str| {
        format!(
            "tiers:\n  - {{ name: t, mode: simple, maxIterations: 1, models: {{ artisan: claude-haiku-4-5 }} }}\n\
             global: {{ maxCostUsdPerPr: {cap} }}\n"
        )
    };
    let mut night = |event: &str, payload: &serde_json::Value, cap: &str| {
        let ended = repository.job_for(event, payload, &[("UPSHIFT_PUSH", "pr"), ("UPSHIFT_TIERS", &tiers(cap))]);
        (ended.output("outcome"), ended.said(), repository.models.requests().len())
    };
    let (outcome, said, paid) = night("schedule", &payload, "1");
    assert!(outcome == "exhausted" && paid > 0, "{said}");
    for (event, payload) in [("schedule", &payload), ("workflow_dispatch", &by_hand)] {
        let (outcome, said, now) = night(event, payload, "0.001");
        assert_eq!((outcome.as_str(), now), ("refused", paid), "{said}");
        assert!(said.contains("the runs for this failure have cost $0.00") && said.contains("is $0.0010"), "{said}");
    }
    // Something is left, and not enough for a call.
    let (outcome, said, now) = night("schedule", &payload, "0.004");
    assert_eq!((outcome.as_str(), now), ("budget", paid), "{said}");
    let _world = repository.finish();
}

/// Its newest rows lie beside its log, and are paid for.
#[test]
fn a_night_that_was_killed_behind_a_models_call_counts_for_the_next() {
    let mut repository = Repository::with_models(&["success"], replace_line("sum(prices) - 1", "sum(prices) - 2"));
    let payload = json!({ "schedule": "0 3 * * *", "repository": { "default_branch": "main" } });
    let more = [("UPSHIFT_PUSH", "pr"), ("UPSHIFT_TIERS", "claude-haiku-4-5 x1"), ("UPSHIFT_MAX_ATTEMPTS_PER_PR", "1")];
    repository.trap.arm(Effect::ModelAsked, 2);
    let killed = repository.job_for("schedule", &payload, &more);
    assert!(!repository.trap.disarm() && killed.was_killed(), "{}", killed.said());
    let paid = repository.models.requests().len();
    let next = repository.job_for("schedule", &payload, &more);
    assert_eq!(next.output("outcome"), "refused", "{}", next.said());
    assert!(next.said().contains("this failure has had 1 run, and `max-attempts-per-pr` is 1"), "{}", next.said());
    assert_eq!(repository.models.requests().len(), paid, "{}", next.said());
    let _world = repository.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn where_earlier_nights_cannot_be_looked_up_a_person_alone_may_start_one() {
    for gone in ["may not be read", "is broken"] {
        let mut repository = Repository::with_models(&["success"], replace_line("sum(prices) - 1", "sum(prices) - 2"));
        let payload = json!({ "schedule": "0 3 * * *", "repository": { "default_branch": "main" } });
        let more = [("UPSHIFT_PUSH", "pr"), ("UPSHIFT_TIERS", "claude-haiku-4-5 x1")];
        let first = repository.job_for("schedule", &payload, &more);
        assert_eq!(first.output("outcome"), "exhausted", "{}", first.said());
        let paid = repository.models.requests().len();
        {
            let mut world = repository.site.github.world();
            match gone {
                "is broken" => {
                    let artifact = world.artifacts.last_mut().expect("an artifact");
                    artifact.zip = artifact.zip.chars().take(artifact.zip.len() / 8 * 4).collect();
                }
                _ => world.token.lacks.push("actions=read".to_owned()),
            }
        }
        let refused = repository.job_for("schedule", &payload, &more);
        assert_eq!(refused.output("outcome"), "refused", "{gone}: {}", refused.said());
        let why = "how many runs this failure has had, and what they cost, cannot be determined: ";
        assert!(refused.said().contains(why), "{gone}: {}", refused.said());
        assert_eq!(repository.models.requests().len(), paid, "nobody is paid: {}", refused.said());

        let by_hand =
            json!({ "sender": { "login": "ada", "type": "User" }, "repository": { "default_branch": "main" } });
        let once_more = repository.job_for("workflow_dispatch", &by_hand, &more);
        assert_eq!(once_more.output("outcome"), "exhausted", "{gone}: {}", once_more.said());
        let why = "whether this failure had runs before is not known: ";
        assert!(once_more.said().contains(why), "{gone}: {}", once_more.said());
        let _world = repository.finish();
    }
}

#[test]
fn many_artifacts_of_others_hide_no_night() {
    let mut repository = Repository::with_models(&["success"], replace_line("sum(prices) - 1", "sum(prices) - 2"));
    let payload = json!({ "schedule": "0 3 * * *", "repository": { "default_branch": "main" } });
    let more = [("UPSHIFT_PUSH", "pr"), ("UPSHIFT_TIERS", "claude-haiku-4-5 x1")];
    let first = repository.job_for("schedule", &payload, &more);
    assert_eq!(first.output("outcome"), "exhausted", "{}", first.said());
    let others = |repository: &Repository, many: u64| {
        let mut world = repository.site.github.world();
        for _ in 0..many {
            let id = world.new_id();
            let name = format!("coverage-{id}");
            world.artifacts.push(Artifact { id, name, run: 54, created_ms: id * 1_000, ..Artifact::default() });
        }
    };
    others(&repository, 350);
    let second = repository.job_for("schedule", &payload, &more);
    assert!(second.said().contains("Run 2 of at most 3 for this failure"), "{}", second.said());
    others(&repository, 520);
    let third = repository.job_for("schedule", &payload, &more);
    let why = "whether this failure had runs before is not known: it was not among the newest 500 artifacts";
    assert!(third.said().contains(why), "{}", third.said());
    let _world = repository.finish();
}

/// The key of the failure of a `main` whose module is this, by the log of a night.
fn key_of_a_night(module: &'static str) -> String {
    let mut files = FILES;
    files[1].1 = module;
    let mut repository = Repository::of(Site::of(&files, &["success"]), replace_line("sum(", "add("));
    let payload = json!({ "schedule": "0 3 * * *", "repository": { "default_branch": "main" } });
    let command = "python3 -m py_compile shop/cart.py && python3 -m unittest discover -s tests -t .";
    let more = [("UPSHIFT_PUSH", "pr"), ("UPSHIFT_TIERS", "claude-haiku-4-5 x1"), ("UPSHIFT_TEST_COMMAND", command)];
    let night = repository.job_for("schedule", &payload, &more);
    assert_eq!(night.output("outcome"), "exhausted", "{}", night.said());
    let log = Log::open(std::path::Path::new(&night.output("audit-db")));
    let counted = log.value("SELECT body FROM events WHERE kind = 'failure_counted'");
    let counted: serde_json::Value = serde_json::from_str(&counted).expect("JSON");
    let baseline = log.value("SELECT body FROM events WHERE kind = 'baseline_finished'");
    assert!(baseline.contains("compile_error") && baseline.contains(r#""failing":[]"#), "{baseline}");
    let _world = repository.finish();
    counted["key"].as_str().expect("a key").to_owned()
}

#[test]
fn two_builds_that_are_broken_otherwise_are_two_failures_wherever_they_stand() {
    let unclosed = key_of_a_night("def total(prices):\n    return sum(prices\n");
    assert_eq!(key_of_a_night("# Adds up.\n\ndef total(prices):\n    return sum(prices\n"), unclosed);
    assert_ne!(key_of_a_night("def total(prices)\n    return sum(prices)\n"), unclosed);
}
