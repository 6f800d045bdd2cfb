//! A job that the clock starts on a red `main`, night after night.

use serde_json::json;

use super::reentry::Repository;
use super::step::replace_line;

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
