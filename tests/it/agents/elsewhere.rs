//! An agent that reaches a model past the gateway, and is limited there: by its own words (S3-8).

use serde_json::{Value, json};

use super::{Site, done, mend, steps};
use crate::world::project::Project;

/// A site whose claude says such words on standard error instead of asking us. Codex mends.
fn site(words: &str) -> Site {
    let project = Project::python();
    project.write("limited-elsewhere", words);
    let edit = mend(&project);
    Site::new(project, move |request| if request.turn() == 0 { steps(&edit) } else { done("DONE\nmended") })
}

/// Runs it to its end. Returns who was asked in whose place, and the warnings.
fn played(site: &Site) -> (Value, String) {
    let tier = json!({"name": "both", "mode": "simple", "maxIterations": 1,
        "models": {"artisan": ["cli/claude:claude-haiku-4-5", "cli/codex:gpt-4.1"]}});
    let said = site.run(&["--tiers", &json!({ "tiers": [tier] }).to_string()]);
    assert_eq!(said.code, 0, "{}", said.all());
    let switched = site.log().value("SELECT body FROM events WHERE kind = 'agent_switched'");
    let warnings = site.warnings();
    assert!(site.server.requests().iter().all(|request| request.model == "gpt-4.1"));
    (serde_json::from_str(&switched).expect("an event"), warnings)
}

#[test]
fn s3_8_its_words_on_standard_error_are_waited_for_and_then_another_is_asked() {
    let site = site("claude-x is currently overloaded\n");
    let (switched, warnings) = played(&site);
    let waits: Vec<&str> =
        ["in 5 s", "in 15 s", "in 45 s"].into_iter().filter(|wait| warnings.contains(wait)).collect();
    assert_eq!(waits.len(), 3, "{warnings}");
    assert!(switched["reason"].as_str().unwrap().contains("is currently overloaded"), "{switched}");
    assert_eq!((&switched["to"], &switched["until"]), (&json!("cli/codex:gpt-4.1"), &Value::Null));
    site.server.finish();
}

#[test]
fn s3_8_the_time_that_it_names_is_waited_or_told() {
    let short = site("HTTP 429, try again in 30 s\n");
    let (_, warnings) = played(&short);
    assert_eq!(warnings.matches("it is started again in 30 s").count(), 3, "{warnings}");
    short.server.finish();
    let long = site("Rate limit reached: wait 1800 s\n");
    let (switched, warnings) = played(&long);
    assert!(!warnings.contains("started again"), "{warnings}");
    assert!(switched["until"].as_str().is_some_and(|until| until.starts_with("20")), "{switched}");
    long.server.finish();
}

#[test]
fn s3_8_other_words_of_one_that_asked_no_model_are_no_limit() {
    let site = site("line 429: nothing to do\n");
    let (switched, warnings) = played(&site);
    assert!(!warnings.contains("started again"), "{warnings}");
    assert!(switched["reason"].as_str().unwrap().contains("it asked no model and ended"), "{switched}");
    site.server.finish();
}
