//! Events that anybody may cause: whoever caused one must have write access, also where upshift knows nothing of the event.

use serde_json::{Value, json};

use super::reentry::Repository;

fn opened_by(login: &str) -> Value {
    json!({ "action": "opened", "issue": { "number": 9, "title": "x", "state": "open" },
        "sender": { "login": login, "type": "User" }, "repository": { "default_branch": "main" } })
}

#[test]
fn an_event_that_the_gate_does_not_know_starts_a_run_for_people_with_write_access_alone() {
    for event in ["issues", "discussion", "watch", "fork"] {
        let mut repository = Repository::new(&["success"]);
        let by_eve = repository.job_for(event, &opened_by("eve"), &[]);
        assert!(by_eve.run.is_none() && by_eve.gate.code == 6, "{event}: {}", by_eve.said());
        assert!(by_eve.said().contains("eve may not write to acme/shop"), "{event}: {}", by_eve.said());
        assert!(repository.models.requests().is_empty(), "{event}");
        let _world = repository.finish();
    }
    let mut repository = Repository::new(&["success"]);
    let by_ada = repository.job_for("issues", &opened_by("ada"), &[]);
    assert_eq!(by_ada.output("outcome"), "parked", "{}", by_ada.said());
    let _world = repository.finish();
}
