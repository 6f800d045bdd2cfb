//! Talks with an agent of the tests, as pieces of any size.

use super::*;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"authMethods":[{"id":"oauth-personal"},{"id":"gemini-api-key"}]}}"#;
const SESSION: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}"#;

fn said(turn: &Turn) -> Value {
    let Turn::Say(line) = turn else { panic!("{turn:?}") };
    assert!(line.ends_with('\n'));
    serde_json::from_str(line).unwrap()
}

fn update(fields: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": fields}}).to_string()
}

fn opened() -> Talk {
    let mut talk = Talk::new("the task", "/work");
    let hello = said(&talk.begin());
    assert_eq!(
        (&hello["method"], &hello["params"]["clientCapabilities"]["terminal"]),
        (&json!("initialize"), &json!(false))
    );
    let turns = talk.push(format!("{HELLO}\n").as_bytes());
    assert_eq!(said(&turns[0])["params"]["cwd"], "/work");
    talk
}

#[test]
fn a_session_is_opened_told_its_task_and_heard_to_its_end_wherever_it_is_cut() {
    let chunk = |text: &str| {
        update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
    };
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "edit", "title": "Edit", "status": "pending",
        "locations": [{"path": "/work/a.py"}]});
    let lines = [
        SESSION.to_owned(),
        update(
            &json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "<promise>COMPLETE</promise>"}}),
        ),
        chunk("It is "),
        update(&call),
        update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"})),
        update(&json!({"sessionUpdate": "brand_new"})),
        chunk("dön\u{e9}"),
        r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#.to_owned(),
    ];
    let bytes = lines.join("\n") + "\n";
    let whole = opened().push(bytes.as_bytes());
    let mut talk = opened();
    let pieces: Vec<Turn> = bytes.as_bytes().iter().flat_map(|byte| talk.push(&[*byte])).collect();
    assert_eq!(whole, pieces);
    let words = whole.iter().filter_map(|turn| match turn {
        Turn::Heard(AgentEvent::Text { text, .. }) => Some(text.as_str()),
        Turn::Say(_) | Turn::Heard(_) | Turn::Asked(_) | Turn::Over => None,
    });
    assert_eq!(words.collect::<String>(), "It is dön\u{e9}", "what was told to it is not its word");
    let edit = AgentEvent::ToolUse {
        id: "c1".to_owned(),
        name: "edit".to_owned(),
        subject: "/work/a.py".to_owned(),
        by: None,
    };
    assert!(whole.contains(&Turn::Heard(edit)));
    assert!(whole.contains(&Turn::Heard(AgentEvent::Unknown { kind: "brand_new".to_owned() })));
    assert_eq!(said(&whole[1])["params"]["prompt"][0]["text"], "the task");
    assert_eq!(whole.last(), Some(&Turn::Over));
}

#[test]
fn an_agent_that_wants_a_login_gets_the_one_by_a_key_once() {
    let mut talk = opened();
    let wants = |id: u32| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32000,\"message\":\"Authentication required\"}}}}\n"
        )
    };
    let turns = talk.push(wants(2).as_bytes());
    assert_eq!(
        (said(&turns[0])["method"].clone(), said(&turns[0])["params"]["methodId"].clone()),
        (json!("authenticate"), json!("gemini-api-key"))
    );
    let turns = talk.push(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":null}\n");
    assert_eq!(said(&turns[0])["method"], "session/new");
    let turns = talk.push(wants(4).as_bytes());
    assert_eq!(turns.last(), Some(&Turn::Over));
    assert_eq!(turns[0], Turn::Heard(AgentEvent::Trouble { said: "Authentication required".to_owned() }));
}

#[test]
fn what_it_asks_is_asked_of_the_owner_and_what_nobody_knows_is_answered_as_such() {
    let mut talk = opened();
    let line = |id: u32, method: &str, params: &Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
    };
    let write = talk.push(line(9, "fs/write_text_file", &json!({"path": "/work/a", "content": "x"})).as_bytes());
    let Turn::Asked(asked) = &write[0] else { panic!("{write:?}") };
    assert_eq!(asked.wish, Wish::Write { path: "/work/a".to_owned(), content: "x".to_owned() });
    let refused: Value = serde_json::from_str(&Talk::answer(asked, Err("protected".to_owned()))).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["message"]), (&json!(9), &json!("protected")));
    let options = json!([{"optionId": "y", "kind": "allow_always"}, {"optionId": "n", "kind": "reject_once"}]);
    let tool = json!({"toolCallId": "c", "kind": "delete", "locations": [{"path": "/work/a"}]});
    let asks =
        talk.push(line(10, "session/request_permission", &json!({"toolCall": tool, "options": options})).as_bytes());
    let Turn::Asked(asked) = &asks[0] else { panic!("{asks:?}") };
    let expected = Wish::Permission {
        changes: vec!["/work/a".to_owned()],
        is_change: true,
        runs: false,
        yes: Some("y".to_owned()),
        no: Some("n".to_owned()),
    };
    assert_eq!(asked.wish, expected);
    let other = talk.push(line(11, "terminal/create", &json!({})).as_bytes());
    assert_eq!(said(&other[0])["error"]["code"], -32_601);
    assert!(
        talk.push(b"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\nnot JSON\n[1]\n")
            .iter()
            .all(|turn| matches!(turn, Turn::Heard(AgentEvent::Unknown { .. })))
    );
}

#[test]
fn a_request_that_is_too_long_to_be_read_is_answered_too() {
    let long = "x".repeat(9 * 1024 * 1024);
    let params = json!({"sessionId": "s", "path": "/work/a", "content": long});
    let before = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"fs/write_text_file\",\"params\":{params}}}\n");
    let behind = format!("{{\"params\": {params}, \"method\": \"fs/write_text_file\", \"id\": \"w1\"}}\n");
    let nested =
        json!({"session": {"id": 3, "name": "\"id\":4,\""}, "of": [{"id": 5}], "content": long, "meta": {"id": 6}});
    let others = format!("{{\"params\":{nested},\"method\":\"fs/write_text_file\",\"id\":9}}\n");
    for (line, id) in [(before, json!(7)), (behind, json!("w1")), (others, json!(9))] {
        // In one piece, and as a pipe hands it over.
        for size in [line.len(), 65_536] {
            let mut talk = opened();
            let turns: Vec<Turn> = line.as_bytes().chunks(size).flat_map(|piece| talk.push(piece)).collect();
            assert_eq!(
                (said(&turns[0])["id"].clone(), said(&turns[0])["error"]["code"].clone()),
                (id.clone(), json!(-32_600))
            );
            let next = talk.push(b"{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"terminal/create\"}\n");
            assert_eq!(said(&next[0])["id"], 8, "what comes behind it is read");
        }
    }
    let told = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"content\":\"{long}\"}}}}\n");
    assert!(
        matches!(opened().push(told.as_bytes())[..], [Turn::Heard(AgentEvent::Unknown { .. })]),
        "no answer is wanted"
    );
    let nested = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"id\":4,\"content\":\"{long}\",\"of\":{{\"id\":5}}}}}}\n"
    );
    assert!(
        matches!(opened().push(nested.as_bytes())[..], [Turn::Heard(AgentEvent::Unknown { .. })]),
        "no id of its own"
    );
}
