use super::*;
use serde_json::json;

fn check(tool: Tool, arguments: Value) -> Result<Action, String> {
    Action::of_call(tool, Role::Artisan, &arguments).map(|(action, _)| action)
}

#[test]
fn plain_meanings_are_understood_whatever_their_spelling() {
    let read = Action::ReadFile { path: "a.rs".to_owned(), start: Some(3), end: Some(9) };
    for arguments in [
        json!({"path": "a.rs", "start_line": 3, "end_line": 9}),
        json!({"path": "a.rs", "start_line": "3", "end_line": " 9 "}),
        json!({"path": "a.rs", "start_line": 3.0, "end_line": 9}),
        json!("{\"path\": \"a.rs\", \"start_line\": 3, \"end_line\": 9}"),
    ] {
        assert_eq!(check(Tool::ReadFile, arguments), Ok(read.clone()));
    }
    let all = Action::RunTests { filter: None };
    for arguments in [json!({}), json!(null), json!(""), json!({"filter": null}), json!({"filter": ""})] {
        assert_eq!(check(Tool::RunTests, arguments), Ok(all.clone()));
    }
}

#[test]
fn what_is_wrong_is_said_precisely() {
    for (tool, arguments, said) in [
        (Tool::ReadFile, json!({}), "`path` is missing. Expected: read_file(path, start_line?, end_line?)"),
        (Tool::ReadFile, json!({"path": 3}), "`path` must be a string, not a number"),
        (Tool::ReadFile, json!({"path": " "}), "`path` is empty"),
        (Tool::RunTests, json!({"filter": "a\u{0}b"}), "`filter` holds a NUL byte"),
        (Tool::RunTests, json!({"filter": "x".repeat(9_000)}), "`filter` has 9000 bytes; at most 8192 are taken"),
        (Tool::ReadFile, json!({"path": "a", "start_line": 0}), "`start_line` must be a line number from 1, not 0"),
        (Tool::ReadFile, json!({"path": "a", "start_line": "x"}), "must be a line number from 1, not \"x\""),
        (Tool::ReadFile, json!({"path": "a", "start_line": true}), "must be a line number from 1, not true"),
        (Tool::ReadFile, json!(["a"]), "are no JSON object. Expected: read_file"),
        (Tool::EditFile, json!("{\"path\": \"a\", \"old_te"), "are no valid JSON (EOF while parsing"),
        (Tool::EditFile, json!({"path": "a", "old_text": "x"}), "`new_text` is missing"),
        (Tool::EditFile, json!({"path": "a", "old_text": "", "new_text": "y"}), "`old_text` is empty"),
        (Tool::EditFile, json!({"path": "a", "old_text": "y", "new_text": "y"}), "are the same"),
        (Tool::FinalReport, json!({"summary": "x"}), "`status` is missing"),
        (Tool::FinalReport, json!({"summary": "x", "status": "ok"}), "one of done, blocked, not `ok`"),
        (Tool::FinalReport, json!({"summary": "x", "status": "blocked"}), "`reason` is missing"),
    ] {
        let error = check(tool, arguments).unwrap_err();
        assert!(error.contains(said), "{error}\n  does not say\n{said}");
    }
}

#[test]
fn an_empty_new_text_and_an_empty_file_are_no_mistakes() {
    assert!(check(Tool::EditFile, json!({"path": "a", "old_text": "x", "new_text": ""})).is_ok());
    assert!(check(Tool::WriteFile, json!({"path": "a", "content": ""})).is_ok());
}

#[test]
fn unknown_parameters_are_named_but_do_no_harm() {
    let arguments = json!({"path": "a", "limit": 20, "offset": null});
    let (_, unknown) = Action::of_call(Tool::ReadFile, Role::Artisan, &arguments).unwrap();
    assert_eq!(unknown, ["limit"]);
}

#[test]
fn reports_take_the_shape_of_the_role() {
    let critic = |arguments| Action::of_call(Tool::FinalReport, Role::Critic, &arguments).map(|(action, _)| action);
    let summary = "s".to_owned();
    assert_eq!(
        critic(json!({"summary": "s", "verdict": "REJECT", "issues": ["a", {"line": 3}]})),
        Ok(Action::Report(FinalReport::Reject {
            summary: summary.clone(),
            issues: vec!["a".to_owned(), "{\"line\":3}".to_owned()]
        }))
    );
    assert_eq!(
        critic(json!({"summary": "s", "verdict": "approve"})),
        Ok(Action::Report(FinalReport::Approve { summary: summary.clone(), issues: Vec::new() }))
    );
    assert!(critic(json!({"summary": "s", "status": "done"})).is_err());
    let on = json!([{"kind": "issue", "ref": "5"}]);
    assert_eq!(
        check(Tool::FinalReport, json!({"summary": "s", "status": "blocked", "reason": "r", "blocked_on": on})),
        Ok(Action::Report(FinalReport::Blocked {
            summary: summary.clone(),
            reason: "r".to_owned(),
            on: vec![Blocker::read("issue 5")]
        }))
    );
    assert_eq!(
        check(Tool::FinalReport, json!({"summary": "s", "status": " Blocked", "reason": "r"})),
        Ok(Action::Report(FinalReport::Blocked { summary, reason: "r".to_owned(), on: Vec::new() }))
    );
}
