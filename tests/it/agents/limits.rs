//! Limits of vendors behind agents (S3-7).

use serde_json::json;

use super::{Site, done, mend, steps};
use crate::world::model_server::{Scripted, Vendor};
use crate::world::project::Project;

fn limited() -> Scripted {
    Scripted::error(Vendor::Anthropic, 429, "rate_limit_error", "slow down")
}

#[test]
fn a_limited_vendor_is_waited_for_and_the_agent_sees_a_slow_call() {
    let project = Project::python();
    let edit = mend(&project);
    let mut calls = 0;
    let site = Site::new(project, move |request| {
        calls += 1;
        match (calls, request.turn()) {
            (1 | 2, _) => limited(),
            (_, 0) => steps(&edit),
            (_, _) => done("DONE\nmended"),
        }
    });
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let warnings = site.warnings();
    assert!(warnings.contains("asked again in 5 s") && warnings.contains("asked again in 15 s"), "{warnings}");
    assert_eq!(site.server.requests().len(), 4);
    let spent = site.spent();
    assert_eq!(spent, site.server.finish().0);
}

#[test]
fn a_vendor_that_stays_limited_is_left_for_the_next_target() {
    let project = Project::python();
    let edit = mend(&project);
    let site = Site::new(project, move |request| match (request.model.as_str(), request.turn()) {
        ("gpt-4.1", 0) => steps(&edit),
        ("gpt-4.1", _) => done("DONE\nmended"),
        (_, _) => limited(),
    });
    let tiers = json!({"tiers": [{"name": "both", "mode": "simple", "maxIterations": 1,
        "models": {"artisan": ["cli/claude:claude-haiku-4-5", "cli/codex:gpt-4.1"]}}]});
    let said = site.run(&["--tiers", &tiers.to_string()]);
    assert_eq!(said.code, 0, "{}", said.all());
    let of_claude = site.server.requests().iter().filter(|request| request.model.starts_with("claude")).count();
    assert_eq!(of_claude, 4, "after 5, 15 and 45 seconds it is given up");
    assert!(site.warnings().contains("cli/codex:gpt-4.1 is asked instead"), "{}", site.warnings());
    let spent = site.spent();
    assert_eq!(spent, site.server.finish().0);
}
