//! Kept reports over jobs that share nothing but the forge (S1-20): from the log that the count of runs fetches, where a resume would
//! believe it, too.

use serde_json::json;

use super::attempts;
use super::gate::labelled_by;
use super::reentry::Repository;
use crate::orchestration::cache::{TIERS, asked, script};

const WRONG: (&str, &str, &str) = ("shop/cart.py", "sum(prices) - 1", "sum(prices) - 2");

#[test]
fn the_next_night_uses_the_brief_of_the_night_before() {
    let mut repository = Repository::with_models(&["success"], script(WRONG, None));
    let payload = json!({ "schedule": "0 3 * * *", "repository": { "default_branch": "main" } });
    let more = [("UPSHIFT_PUSH", "pr"), ("UPSHIFT_TIERS", TIERS)];
    let first = repository.job_for("schedule", &payload, &more);
    assert_eq!(first.output("outcome"), "exhausted", "{}", first.said());
    assert_eq!(asked(&repository.models.requests()), [1, 2, 1]);
    for night in 2..=3 {
        let next = repository.job_for("schedule", &payload, &more);
        assert!(next.said().contains("used again: the librarian's brief of run "), "{night}: {}", next.said());
        assert_eq!(asked(&repository.models.requests()), [1, 2 * night, 1], "{}", next.said());
    }
    let _world = repository.finish();
}

#[test]
fn only_a_log_of_the_default_branch_that_our_comment_quotes_gives_reports() {
    for (branch, expected) in [("main", [0, 2, 0]), ("topic", [1, 2, 1])] {
        let mut repository = attempts::Repository::new();
        let mut payload = labelled_by("ada");
        payload["repository"] = json!({ "default_branch": "main" });
        let more = [("UPSHIFT_TIERS", TIERS)];
        let first = repository.run_by(script(WRONG, None), ("pull_request", &payload), &more);
        assert_eq!(asked(&first.requests), [1, 2, 1], "{}", first.said.all());
        repository.keep(&first);
        branch.clone_into(&mut repository.github.world().artifacts[0].branch);
        let second = repository.run_by(script(WRONG, None), ("pull_request", &payload), &more);
        assert!(second.said.err.contains("Run 2 of at most 2"), "it counts in any case: {}", second.said.all());
        assert_eq!(asked(&second.requests), expected, "{branch}: {}", second.said.all());
        repository.github.finish();
    }
}
