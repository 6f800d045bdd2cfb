//! Checks that the branch requires and that never report: they are named, with how long they have not, and what a person can do.

use super::jobs::in_a_pull_request;
use super::waiting::plan;
use crate::world::github::{CiPlan, Status};

/// A check of the name `deploy` is required, and reports nothing, or that it has begun.
fn required(ci: CiPlan) -> String {
    let (site, github) = in_a_pull_request(vec![ci]);
    let site = site.with("UPSHIFT_COMMENT", "off").with("UPSHIFT_CI_TIMEOUT_MINUTES", "5");
    github.world().required_checks = vec!["deploy".to_owned()];
    let said = site.run("commit");
    site.models.finish();
    github.finish();
    said.out
}

#[test]
fn one_that_never_appears_beside_good_ones_is_named() {
    let said = required(CiPlan { takes_ms: 0, ..plan("success", "") });
    assert!(said.contains("required check `deploy` has not reported for 3 minutes"), "{said}");
    assert!(said.contains("Let its workflow run for this change"), "the next step: {said}");
}

#[test]
fn one_that_never_appears_where_nothing_does_is_named() {
    let said = required(CiPlan { appears_after_ms: None, ..plan("success", "") });
    assert!(said.contains("no check appeared for "), "{said}");
    assert!(said.contains("required check `deploy` has not reported for 3 minutes"), "{said}");
}

#[test]
fn one_that_never_appears_while_another_runs_is_named_with_that() {
    let said = required(CiPlan { takes_ms: 100_000_000, ..plan("success", "") });
    assert!(said.contains("waited for 5 minutes; `test` has not ended"), "{said}");
    assert!(said.contains("required check `deploy` has not reported for 5 minutes"), "{said}");
    assert!(said.contains("Let its workflow run for this change"), "the next step: {said}");
}

#[test]
fn one_that_is_pending_for_ever_is_named() {
    let pending = Status {
        context: "deploy".to_owned(),
        state: "pending".to_owned(),
        description: "Expected".to_owned(),
        ..Status::default()
    };
    let said = required(CiPlan { takes_ms: 0, statuses: vec![pending], ..plan("success", "") });
    assert!(said.contains("required check `deploy` has not reported a result for 5 minutes"), "{said}");
    assert!(said.contains("See on its page why it does not end"), "the next step: {said}");
}
