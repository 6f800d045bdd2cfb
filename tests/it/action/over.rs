//! Pull requests that were merged or closed, or are to be left alone: before CI ended, while a run is at work, and while one waits.

use serde_json::json;

use super::delivery::{Site, mends};
use super::killed::Stage;
use super::reentry::Repository;
use crate::world::git_server::git;

fn ends(repository: &Repository, state: &str) {
    state.clone_into(&mut repository.site.github.world().pulls[0].state);
}

/// GitHub lists the open pull requests of a workflow run alone.
#[test]
fn red_ci_of_a_pull_request_that_is_over_starts_no_run() {
    for state in ["closed", "merged"] {
        let mut repository = Repository::new(&["success"]);
        ends(&repository, state);
        let mut payload = repository.told("failure");
        payload["workflow_run"]["pull_requests"] = json!([]);
        let refused = repository.job(&payload);
        assert!(refused.run.is_none(), "{state}: {}", refused.said());
        assert!(refused.output("reason").contains("pull request 7 is no longer open"), "{state}: {}", refused.said());
        assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (0, 0), "{state}");
        let _world = repository.finish();
    }
}

#[test]
fn nothing_is_pushed_to_a_pull_request_that_ended_or_is_to_be_left_alone_while_the_run_was_at_work() {
    for (state, why, advice) in [
        ("labelled", "the label `upshift:skip` was put on pull request #7 meanwhile", "Take the label off and comment"),
        ("merged", "pull request #7 was merged meanwhile", "Let upshift run on main, which it was merged into"),
        ("closed", "pull request #7 was closed meanwhile", "Reopen it and comment"),
    ] {
        let stage = Stage::labelled(Site::new(&["success"]), mends);
        let models = stage.models();
        let said = stage.call_while("run", |github| {
            // Behind the gate, which read it as open.
            let pull = &mut github.world().pulls[0];
            if !models.requests().is_empty() && state == "labelled" {
                pull.labels = vec!["upshift:skip".to_owned()];
            } else if !models.requests().is_empty() {
                state.clone_into(&mut pull.state);
            }
        });
        assert_eq!(said.code, 1, "{}", said.all());
        assert_eq!(stage.job_files().outputs()["outcome"], "blocked", "{}", said.all());
        assert_eq!(stage.server().pushes(), 0, "{}", said.all());
        let world = stage.finish();
        let [comment] = world.comments.as_slice() else { panic!("{:?}", world.comments) };
        assert!(comment.body.contains(why) && comment.body.contains(advice), "{}", comment.body);
        assert!(comment.body.contains("sum(prices)"), "the change is kept: {}", comment.body);
    }
}

/// A red CI is no fix, whatever became of the pull request, and green CI says that there is nothing to merge.
#[test]
fn the_end_of_ci_is_told_of_a_run_whose_pull_request_ended_meanwhile() {
    for (state, conclusion, outcome, told) in [
        ("merged", "success", "fixed", &["CI green"][..]),
        (
            "closed",
            "success",
            "fixed",
            &["CI green, but its pull request was closed", "Otherwise reopen the pull request"],
        ),
        ("merged", "failure", "blocked", &["but CI is red", "#7 was merged meanwhile", "Let upshift run on main"]),
        ("closed", "failure", "blocked", &["but CI is red", "#7 was closed meanwhile", "Reopen it and comment"]),
    ] {
        let mut repository = Repository::new(&[conclusion]);
        let first = repository.job(&repository.told("failure"));
        assert_eq!(first.output("outcome"), "parked", "{}", first.said());
        let paid = repository.models.requests().len();
        ends(&repository, state);
        let mut payload = repository.ci_ends();
        payload["workflow_run"]["pull_requests"] = json!([]);
        let last = repository.job(&payload);
        assert_eq!(last.output("outcome"), outcome, "{state}, {conclusion}: {}", last.said());
        let comment = repository.comment();
        let missing: Vec<&str> = told.iter().filter(|words| !comment.contains(**words)).copied().collect();
        assert!(missing.is_empty() && !comment.contains("standing="), "{state}, {conclusion}: {missing:?} {comment}");
        let done = (repository.site.server.pushes(), repository.models.requests().len());
        assert_eq!(done, (1, paid), "{state}, {conclusion}");
        let _world = repository.finish();
    }
}

#[test]
fn the_same_fix_that_somebody_pushed_meanwhile_leaves_nothing_to_do() {
    let stage = Stage::labelled(Site::new(&["success"]), mends);
    let (models, server) = (stage.models(), stage.server());
    let mut is_pushed = false;
    let said = stage.call_while("run", |_github| {
        if is_pushed || models.requests().is_empty() {
            return;
        }
        is_pushed = true;
        let seed = server.seed();
        git(&seed, &["checkout", "--quiet", "-B", "work", "main"]);
        std::fs::write(seed.join("shop/cart.py"), "def total(prices):\n    return sum(prices)\n").expect("written");
        server.somebody_pushes("topic");
    });
    assert_eq!((said.code, stage.job_files().outputs()["outcome"].as_str()), (0, "fixed"), "{}", said.all());
    assert!(said.out.contains("Nothing to do: somebody pushed a fix meanwhile"), "{}", said.all());
    let _world = stage.finish();
}
