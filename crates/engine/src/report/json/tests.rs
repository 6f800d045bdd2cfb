use super::*;
use crate::domain::event::Event;
use crate::report::fixtures;

#[test]
fn the_document_of_a_fix_is_stable() {
    insta::assert_snapshot!(render(&fixtures::fixed().view()));
}

#[test]
fn every_ending_says_its_outcome_and_exit_code() {
    for (name, view) in fixtures::every_ending() {
        let json: serde_json::Value = serde_json::from_str(&render(&view)).unwrap();
        assert_eq!(json["version"], 1);
        let outcome = match name {
            "died" => "interrupted",
            "limited" => "parked",
            "ci_green" | "ci_unseen" => "fixed",
            "ci_red" | "not_pushed" | "stopped" => "blocked",
            "interrupted_wait" | "interrupted_baseline" => "interrupted",
            name => name,
        };
        assert_eq!(json["outcome"], outcome);
        assert_eq!(json["limited"].is_object(), name == "limited");
        match view.outcome() {
            Some(outcome) => assert_eq!(json["exit_code"], outcome.exit_code()),
            None => assert!(json["exit_code"].is_null()),
        }
        let tiers: u64 =
            json["tiers"].as_array().unwrap().iter().map(|tier| tier["cost_micro_usd"].as_u64().unwrap()).sum();
        assert_eq!(json["cost_micro_usd"], tiers);
    }
}

#[test]
fn a4_a_green_change_that_is_not_in_the_files_is_told_with_the_tests_that_it_fixes() {
    for (name, view) in fixtures::every_ending() {
        let json: serde_json::Value = serde_json::from_str(&render(&view)).unwrap();
        let of = |key: &str| -> Vec<&str> {
            json[key].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect()
        };
        let after = of("failing_after");
        assert!(of("fixed_tests").iter().all(|test| !after.contains(test)), "{name}: {json:#}");
        let undelivered = matches!(name, "objected" | "not_pushed" | "interrupted_wait");
        assert_eq!(json["kept"]["green"] == true, undelivered, "{name}");
        if matches!(name, "exhausted" | "stalled" | "budget") {
            assert_eq!(json["kept"]["fixed_tests"], serde_json::json!(fixtures::F0[1..]), "{name}");
        }
        if undelivered {
            let both = json["failing_before"].clone();
            assert_eq!((&json["kept"]["fixed_tests"], &json["failing_after"]), (&both, &both), "{name}");
            assert_eq!(json["fixed_tests"], serde_json::json!([]), "{name}: they fail in the files");
            assert_eq!((&json["kept"]["green"], &json["diff_stat"]), (&true.into(), &serde_json::json!([])), "{name}");
            let file = serde_json::json!([{ "path": "src/math.rs", "added": 2, "removed": 1 }]);
            assert_eq!(json["kept"]["diff_stat"], file, "{name}");
        }
    }
}

#[test]
fn what_was_left_for_other_tools_is_listed_with_its_kind_and_fate_and_absent_where_there_was_nothing() {
    let of = |ending: &str| -> serde_json::Value {
        let (_, view) = fixtures::every_ending().into_iter().find(|(name, _)| *name == ending).unwrap();
        serde_json::from_str(&render(&view)).unwrap()
    };
    let left = of("exhausted");
    assert_eq!(left["leftovers"][1]["path"], "docs/`sub`/.git");
    assert_eq!(
        (&left["leftovers"][1]["kind"], &left["leftovers"][2]["fate"]),
        (&"git_directory".into(), &"stays".into())
    );
    assert_eq!(left["more_leftovers"], 7);
    let nothing = of("fixed");
    assert_eq!((nothing.get("leftovers"), nothing.get("more_leftovers")), (None, None));
}

#[test]
fn hostile_text_is_printed_escaped_and_parsed_unchanged() {
    let evil = "a\u{9b}31m\u{202e}\u{e0041} ##[error]x\n::error::y\u{1b}[2J ⏸ é";
    let mut script = fixtures::fixed();
    script.push(Event::Warning { message: evil.into() });
    let text = render(&script.view());
    assert!(!text.contains("##["));
    assert!(text.chars().all(|c| c == '\n' || !is_hidden(c)));
    assert!(text.lines().all(|line| !line.trim_start().starts_with("::")));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["warnings"][0], evil);
}

#[test]
fn s4_2_every_end_has_the_seeds_word() {
    let view = RunView::from_events(&[], crate::report::view::Liveness::Dead);
    let why = || String::from("why");
    for (outcome, word) in [
        (Outcome::Fixed { tier_index: 0, iteration: 1 }, "TASK_COMPLETE"),
        (Outcome::AlreadyGreen, "TASK_COMPLETE"),
        (Outcome::Proposed { pull_request: 2 }, "PR_CREATED"),
        (Outcome::Blocked { reason: why() }, "BLOCKED"),
        (Outcome::Exhausted, "MAX_RETRIES"),
        (Outcome::Stalled, "MAX_RETRIES"),
        (Outcome::Objected, "MAX_RETRIES"),
        (Outcome::Budget, "MAX_RETRIES"),
        (Outcome::NoModel, "ERROR"),
        (Outcome::Refused { reason: why() }, "ERROR"),
        (Outcome::Broken { reason: why() }, "ERROR"),
        (Outcome::Ended { code: 0 }, "TASK_COMPLETE"),
        (Outcome::Ended { code: 3 }, "ERROR"),
        (Outcome::Interrupted { signal: 2 }, "SHUTDOWN"),
        (Outcome::Parked, "SHUTDOWN"),
    ] {
        assert_eq!(result_type(&outcome, &view), word, "{outcome:?}");
    }
}
