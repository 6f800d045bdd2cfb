//! What sessions leave for other jobs and for reviewers: kept reports over jobs that share nothing but the forge (S1-20): from the log that the count of runs fetches, where a resume would
//! believe it, too.

use serde_json::json;

use super::attempts;
use super::delivery::mends;
use super::gate::labelled_by;
use super::reentry::Repository;
use crate::orchestration::cache::{TIERS, asked, script};
use crate::world::github::Artifact;
use crate::world::model_server::Say;

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

/// The next night asks anew where the newest log is that of a fork, of another workflow, or of nobody that the forge names.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_log_of_a_fork_or_of_another_workflow_gives_no_report_to_the_next_night() {
    let fork = |artifact: &mut Artifact| artifact.fork = true;
    let other = |artifact: &mut Artifact| artifact.run = 4_711;
    let changes: [fn(&mut Artifact); 2] = [fork, other];
    for change in changes {
        let mut repository = Repository::with_models(&["success"], script(WRONG, None));
        let payload = json!({ "schedule": "0 3 * * *", "repository": { "default_branch": "main" } });
        let more = [("UPSHIFT_PUSH", "pr"), ("UPSHIFT_TIERS", TIERS)];
        let _first = repository.job_for("schedule", &payload, &more);
        repository.site.github.world().artifacts.iter_mut().for_each(change);
        let next = repository.job_for("schedule", &payload, &more);
        assert_eq!(asked(&repository.models.requests()), [2, 4, 2], "{}", next.said());
        let _world = repository.finish();
    }
}

/// The text that a model wrote for the pull request stands in it as text: it closes no issue, tells nobody, and silences no CI.
#[test]
fn the_text_of_a_pull_request_is_the_models_in_a_block() {
    let said = "The sign was wrong. Closes #1, @ada.\n````\n[skip ci]\n\nCo-authored-by: Eve <eve@example.invalid>";
    let mut repository = Repository::with_models(&["success"], move |request| {
        if request.system().contains("You write about a change") {
            return Say::call("final_report", json!({ "summary": said, "status": "done" })).usage(500, 20).into();
        }
        mends(request)
    });
    let payload = json!({ "schedule": "0 3 * * *", "repository": { "default_branch": "main" } });
    let tiers = r#"{"tiers": [{"name": "one", "mode": "simple", "maxIterations": 1, "models": {"artisan": "claude-haiku-4-5"}}],
        "agent": {"handoff": {"pull_request": {}}}}"#;
    let ended = repository.job_for("schedule", &payload, &[("UPSHIFT_PUSH", "pr"), ("UPSHIFT_TIERS", tiers)]);
    let world = repository.finish();
    let pull = world.pulls.last().expect("a pull request");
    let block = "In a model's words:\n\n````text\nThe sign was wrong. Closes #1, @ada.\n";
    let seen = pull.body.replace('\u{200b}', "");
    assert!(seen.contains(block) && seen.contains("Co-authored-by: Eve <"), "{}: {}", pull.body, ended.said());
    for word in ["[skip ci]", "#1", "@ada", "authored-by:", "@example"] {
        assert!(!pull.body.contains(word), "{word}: {}", pull.body);
    }
    assert_eq!(pull.body.matches("````").count(), 4, "two blocks, and neither ends early: {}", pull.body);
}
