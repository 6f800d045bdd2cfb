//! A saved state and the phases that are made of it say the same.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::process::confine::Confinement;
use crate::test_run::{ResultFiles, TestCommand};

/// A state as a run of an earlier day saved it, with something in every field.
const SAVED: &str = include_str!("saved.json");

fn saved(changes: &[(&str, Value)]) -> RunState {
    let mut state: Value = serde_json::from_str(SAVED).unwrap();
    for (field, value) in changes {
        state[*field] = value.clone();
    }
    serde_json::from_value(state).unwrap()
}

fn setup(state: &RunState) -> TestSetup {
    let tests = TestCommand {
        command: state.test_command.clone(),
        checks: Vec::new(),
        cwd: PathBuf::from("/somewhere"),
        env: BTreeMap::new(),
        timeout: Duration::from_secs(1),
        memory_mb: None,
        framework: None,
        junit: None,
        confinement: Confinement::default(),
        results: ResultFiles::Unwanted,
        streams: None,
    };
    TestSetup {
        tests,
        network_opened: state.network_opened,
        no_result_files: state.no_result_files,
        with_checks: state.with_checks,
    }
}

/// The state that is saved of the phase that is made of a saved state. Fields that the recorder adds are taken over.
fn again(state: &RunState) -> RunState {
    let stage = Stage::of(&setup(state), state).unwrap();
    let ControlFlow::Continue(stage) = stage else { panic!("it has ended") };
    let again = stage.saved(&Charter::of(state));
    RunState { active_ms: state.active_ms, swept: state.swept.clone(), ..again }
}

fn fix() -> Value {
    json!({
        "tier_index": 1, "iteration": 2, "tree": "b", "model": "anthropic/claude-haiku-4-5", "at": 5, "branch": "topic", "onto": null
    })
}

#[test]
fn nothing_of_a_saved_state_is_lost_on_the_ladder_and_on_the_way_out() {
    let wait = json!({ "fix": fix(), "awaited": "ci", "commit": "c0ffee", "key": "a:ci:c0ffee", "waited_ms": 7 });
    for phase in [
        json!({ "phase": "ready" }),
        json!({ "phase": "iterating" }),
        json!({ "phase": "publishing", "fix": fix() }),
        json!({ "phase": "proposing", "fix": fix() }),
        json!({ "phase": "waiting", "wait": wait }),
        json!({ "phase": "ending", "outcome": { "name": "exhausted" }, "stop_reason": "no tier is left" }),
    ] {
        let state = saved(&[("phase", phase)]);
        assert_eq!(again(&state), state);
    }
}

#[test]
fn what_a_parked_run_waits_for_and_where_it_goes_on_is_kept() {
    let state = saved(&[
        ("phase", json!({ "phase": "ending", "outcome": { "name": "parked" }, "stop_reason": "limited" })),
        ("limited", json!({ "host": "api.example.invalid", "until": "2026-11-25T02:00:00Z" })),
        ("resume_at", json!({ "phase": "iterating" })),
    ]);
    assert_eq!(again(&state), state);
}

/// The fields of a state before the baseline is over.
fn unmeasured(phase: Value) -> Vec<(&'static str, Value)> {
    let nothing = ["best", "current", "last", "baseline", "framework_seen"].map(|field| (field, Value::Null));
    let none = ["prior", "attempts", "past", "touched", "failure"].map(|field| (field, json!([])));
    let mut changes = vec![
        ("phase", phase),
        ("baseline_ms", json!(0)),
        ("judged_by_ci", json!(false)),
        ("run_iterations", json!(0)),
        (
            "position",
            serde_json::to_value(RunState::new(saved(&[]).run_id, saved(&[]).plan, String::new(), None).position)
                .unwrap(),
        ),
        ("delivery", serde_json::to_value(crate::lifecycle::state::Delivery::default()).unwrap()),
    ];
    changes.extend(nothing);
    changes.extend(none);
    changes
}

#[test]
fn a_run_that_was_stopped_at_its_baseline_is_saved_as_it_was() {
    let interrupted =
        json!({ "phase": "ending", "outcome": { "name": "interrupted", "signal": 2 }, "stop_reason": "" });
    for phase in [json!({ "phase": "baseline" }), interrupted] {
        let state = saved(&unmeasured(phase));
        assert_eq!(again(&state), state);
    }
}

#[test]
fn an_iteration_without_a_baseline_is_refused_and_an_end_is_none() {
    let state = saved(&unmeasured(json!({ "phase": "ready" })));
    assert!(matches!(Stage::of(&setup(&state), &state), Err(LifecycleError::State(_))));
    let state = saved(&[("phase", json!({ "phase": "ended", "outcome": { "name": "exhausted" } }))]);
    assert!(matches!(Stage::of(&setup(&state), &state), Ok(ControlFlow::Break(Outcome::Exhausted))));
}

#[test]
fn iterations_that_a_comment_allows_are_saved_in_the_plan() {
    let state = saved(&[]);
    let Ok(ControlFlow::Continue(Stage::Iterating(mut climb))) = Stage::of(&setup(&state), &state) else {
        panic!("an iteration is under way")
    };
    climb.allowance.add_iterations(1, 4);
    let after = Stage::Iterating(climb).saved(&Charter::of(&state)).plan;
    let caps = |plan: &crate::config::Plan| plan.tiers.iter().map(|tier| tier.max_iterations).collect::<Vec<_>>();
    assert_eq!(after.budget.max_iterations, state.plan.budget.max_iterations + 4);
    assert_eq!(caps(&after), [7, 5]);
}

/// The pointers to every key of a JSON document's objects.
fn keys(value: &Value, at: &str, found: &mut Vec<String>) {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(map) => {
            map.iter().map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (key, value) in inside {
        let at = format!("{at}/{key}");
        found.push(at.clone());
        keys(value, &at, found);
    }
}

/// The saved plan with one place of it changed, in a state, by that place.
fn other_plans(change: impl Fn(&mut Value, &str)) -> Vec<(String, Value)> {
    let state: Value = serde_json::from_str(SAVED).unwrap();
    let mut places = Vec::new();
    keys(&state["plan"], "", &mut places);
    let changed = |place: String| {
        let mut state = state.clone();
        change(&mut state["plan"], &place);
        (place, state)
    };
    places.into_iter().map(changed).collect()
}

#[test]
fn a_plan_is_saved_whole() {
    let state: Value = serde_json::from_str(SAVED).unwrap();
    assert_eq!(serde_json::to_value(saved(&[])).unwrap()["plan"], state["plan"]);
}

#[test]
fn a_saved_plan_without_a_key_of_today_is_read_with_its_default() {
    for (place, state) in other_plans(|plan, place| {
        let (above, key) = place.rsplit_once('/').unwrap();
        if let Some(Value::Object(map)) = plan.pointer_mut(above) {
            map.remove(&key.replace("~1", "/"));
        }
    }) {
        assert!(serde_json::from_value::<RunState>(state).is_ok(), "without {place}");
    }
    let mut state: Value = serde_json::from_str(SAVED).unwrap();
    state["plan"] = json!({ "tiers": [{ "artisan": ["anthropic/claude-haiku-4-5"] }] });
    let plan = serde_json::from_value::<RunState>(state).unwrap().plan;
    assert_eq!(plan.github.skip_label, crate::config::DEFAULT_SKIP_LABEL);
    assert_eq!((plan.budget.max_iterations, plan.test.timeout_seconds, plan.agent.max_turns), (30, 300, 40));
    let tier = plan.tiers.first().unwrap();
    assert_eq!((tier.name.as_str(), tier.max_iterations), ("anthropic/claude-haiku-4-5", 5));
    assert_eq!(tier.critic, tier.artisan);
}

#[test]
fn a_saved_plan_with_keys_and_words_of_a_later_version_is_read() {
    for (place, state) in other_plans(|plan, place| {
        // What is called by a person's own names has no keys of a later version.
        if let Some(Value::Object(map)) = plan.pointer_mut(place).filter(|_| place != "/agents") {
            map.insert("of_tomorrow".to_owned(), json!({ "any": ["thing"] }));
        }
    }) {
        let read = serde_json::from_value::<RunState>(state).map(|read| read.plan);
        assert!(read.as_ref().is_ok_and(|plan| *plan == saved(&[]).plan), "{place}: {read:?}");
    }
    for (place, state) in other_plans(|plan, place| {
        if let Some(leaf @ (Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_))) =
            plan.pointer_mut(place)
        {
            *leaf = json!({ "of": "tomorrow" });
        }
    }) {
        assert!(serde_json::from_value::<RunState>(state).is_ok(), "{place}");
    }
}

#[test]
fn a_block_whose_schema_says_what_this_program_does_not_check_is_not_asked_for() {
    let block =
        |name: &str, schema: Value| json!({"name": name, "role": "artisan", "required": true, "schema": schema});
    let mut state: Value = serde_json::from_str(SAVED).unwrap();
    state["plan"]["agent"]["meta"] =
        json!([block("later", json!({"type": "string", "pattern": "^a"})), block("known", json!({"type": "string"}))]);
    let state: RunState = serde_json::from_value(state).unwrap();
    let names: Vec<&str> = state.plan.agent.meta.iter().map(|block| block.name.as_str()).collect();
    assert_eq!(names, ["known"]);
    let told = state.plan.warnings.join("\n");
    assert!(
        told.contains("`agent.meta.later`, which is not asked for: `pattern` in its schema is not a supported keyword"),
        "{told}"
    );
}
