use super::*;
use crate::domain::bill::Bill;
use crate::domain::model_id::ModelId;
use crate::session::end::FinalReport;
use serde_json::json;

fn reply(text: &str, calls: &[(&str, &str, Value)]) -> Reply {
    let tool_calls = calls
        .iter()
        .map(|(id, name, arguments)| ToolCall {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        })
        .collect();
    let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    Reply {
        text: text.to_owned(),
        tool_calls,
        stop,
        usage: None,
        opaque: None,
        billed_model: None,
        bill: Bill::default(),
    }
}

fn read_with(reply: &Reply, protocol: Protocol, final_turn: bool) -> Reading {
    let conversation = Conversation::begin("x");
    let offer = Offer { role: Role::Artisan, tests: true, commands: false };
    read(
        reply,
        &Rules {
            offer,
            protocol,
            final_turn,
            max_calls: 3,
            turn: 2,
            outside: &[],
            destinations: &[],
            meta: Asked::No,
            conversation: &conversation,
        },
    )
}

fn usable(reading: Reading) -> (Vec<Wish>, Vec<ToolCall>) {
    match reading {
        Reading::Usable { wishes, calls } => (wishes, calls),
        Reading::Unusable(unusable) => panic!("{unusable:?}"),
    }
}

fn unusable(reading: Reading) -> Unusable {
    match reading {
        Reading::Unusable(unusable) => unusable,
        Reading::Usable { wishes, .. } => panic!("{wishes:?}"),
    }
}

fn read_a() -> (&'static str, &'static str, Value) {
    ("c1", "read_file", json!({"path": "a"}))
}

#[test]
fn text_that_asks_for_nothing_is_a_failed_attempt_with_guidance() {
    let found = unusable(read_with(&reply("I would read the file now.", &[]), Protocol::Tools, false));
    assert_eq!((found.status, found.retryable), (CallStatus::InvalidResponse, true));
    assert!(found.advice.contains("Call a tool, or final_report"));
    let found = unusable(read_with(&reply("Hm.", &[]), Protocol::Text, false));
    assert!(found.advice.contains("DONE or BLOCKED"));
    assert_eq!(unusable(read_with(&reply(" \n", &[]), Protocol::Tools, false)).what, "an empty reply");
}

#[test]
fn refusals_and_filters_speak_against_the_target() {
    for stop in [StopReason::Refusal, StopReason::ContentFilter] {
        let mut refused = reply("I can't help.", &[read_a()]);
        refused.stop = stop;
        let found = unusable(read_with(&refused, Protocol::Tools, false));
        assert_eq!((found.status, found.retryable), (CallStatus::ModelError, false), "and its call is not carried out");
    }
}

#[test]
fn a_cut_call_is_never_carried_out_but_the_ones_before_it_are() {
    let mut cut = reply("", &[read_a(), ("c2", "write_file", json!({"path": "b", "content": "half"}))]);
    cut.stop = StopReason::Length;
    let (wishes, calls) = usable(read_with(&cut, Protocol::Tools, false));
    assert!(wishes[0].action.is_ok());
    assert!(wishes[1].action.as_ref().unwrap_err().contains("cut off"));
    assert_eq!(calls.len(), 2, "both are answered");
    let mut only = reply("", &[("c2", "write_file", json!({"path": "b", "content": "half"}))]);
    only.stop = StopReason::Length;
    assert_eq!(unusable(read_with(&only, Protocol::Tools, false)).what, "cut off at the output limit");
}

#[test]
fn unknown_tools_and_broken_arguments_are_told_to_the_model() {
    let calls = [("c1", "shell", json!({})), ("c2", "read_file", json!("{\"path\": ")), ("c3", "edit_file", json!({}))];
    let (wishes, _) = usable(read_with(&reply("", &calls), Protocol::Tools, false));
    let said: Vec<&str> = wishes.iter().map(|wish| wish.action.as_ref().unwrap_err().as_str()).collect();
    assert!(said[0].contains("no tool `shell`") && said[0].contains("edit_file"));
    assert!(said[1].contains("no valid JSON"));
    assert!(said[2].contains("`path` is missing"));
}

#[test]
fn repeated_missing_and_known_ids_are_made_unique() {
    let mut conversation = Conversation::begin("x");
    let earlier = ToolCall { id: "c9".to_owned(), name: "search".to_owned(), arguments: json!({}) };
    conversation.reply(&ModelId::parse("a/b").unwrap(), &reply("", &[]), vec![earlier]);
    let offer = Offer { role: Role::Artisan, tests: true, commands: false };
    let rules = Rules {
        offer,
        protocol: Protocol::Tools,
        final_turn: false,
        max_calls: 9,
        turn: 4,
        outside: &[],
        destinations: &[],
        meta: Asked::No,
        conversation: &conversation,
    };
    let read_again = |id| (id, "read_file", json!({"path": "a"}));
    let calls = [read_again("c1"), read_again("c1"), read_again(""), read_again("c9")];
    let (wishes, calls) = usable(read(&reply("", &calls), &rules));
    let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["c1", "t4c2", "t4c3", "t4c4"]);
    assert!(wishes.iter().zip(&ids).all(|(wish, id)| wish.call_id.as_deref() == Some(*id)));
}

#[test]
fn calls_beyond_the_limit_are_answered_but_not_carried_out() {
    let many: Vec<_> = ["1", "2", "3", "4"].iter().map(|id| (*id, "read_file", json!({"path": "a"}))).collect();
    let (wishes, _) = usable(read_with(&reply("", &many), Protocol::Tools, false));
    let done: Vec<bool> = wishes.iter().map(|wish| wish.action.is_ok()).collect();
    assert_eq!(done, [true, true, true, false]);
}

#[test]
fn names_with_a_namespace_are_understood_and_odd_ones_made_sendable() {
    let calls =
        [("1", "functions.read_file", json!({"path": "a"})), ("2", "do it ü!", json!({})), ("3", "", json!({}))];
    let (wishes, calls) = usable(read_with(&reply("", &calls), Protocol::Tools, false));
    assert!(wishes[0].action.is_ok());
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["read_file", "do_it___", "unnamed"]);
}

#[test]
fn on_the_last_turn_only_a_sound_report_counts() {
    let found = unusable(read_with(&reply("", &[read_a()]), Protocol::Tools, true));
    assert!(found.advice.contains("last turn") && found.advice.contains("final_report"));
    let found =
        unusable(read_with(&reply("", &[("1", "final_report", json!({"summary": "s"}))]), Protocol::Tools, true));
    assert!(found.advice.contains("`status` is missing"));
    let sound = ("1", "final_report", json!({"summary": "s", "status": "done"}));
    assert_eq!(usable(read_with(&reply("", &[read_a(), sound]), Protocol::Tools, true)).0.len(), 2);
    let text = unusable(read_with(&reply("All is well.", &[]), Protocol::Text, true));
    assert!(text.advice.contains("DONE or BLOCKED"));
}

#[test]
fn a_report_written_as_text_is_a_report() {
    let text = "{\"name\": \"final_report\", \"arguments\": {\"summary\": \"s\", \"status\": \"done\"}}";
    let (wishes, calls) = usable(read_with(&reply(text, &[]), Protocol::Tools, true));
    assert_eq!(wishes[0].action, Ok(Action::Report(FinalReport::Done { summary: "s".to_owned() })));
    assert_eq!(calls, []);
}
